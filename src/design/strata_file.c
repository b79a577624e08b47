/* Reads what is known about strata from a file (docs/formats.md): a prevalence and a proportion for each, or the counts
 * of a cohort by stratum and label.
 *
 * Counts N_sy are a prevalence N_sy/N_s that rests on N_s people. They include the people of the rows, because the
 * rows' likelihood is that of x given stratum and label.
 */
#include <math.h>
#include <string.h>

#include "data/data.h"
#include "data/schema_learn.h"
#include "design/design.h"

/* The file as a table, read as text except for the column of numbers, and the stratum of each row. */
typedef struct strata_file {
    const pv_table *table;
    pv_table *own;    /* NULL: borrowed from the caller */
    int32_t *stratum; /* [rows] */
} strata_file;

static const char OF_THE_DATA[] = "a stratum of the data";

/* A cell as text, for any column type. */
static const char *cell_text(const pv_column *column, size_t row, char number[PV__NUMBER_TEXT]) {
    return pv__cell_missing(column, row) ? "" : pv__cell_text(column, row, number);
}

static pv_status file_open(pv_ctx *ctx, const char *path, const pv_table *known, const pv_csv_options *csv,
                           const pv_strata *strata, const char *what, const char *number, strata_file *file) {
    pv_csv_options options = {0};
    if (csv)
        options = *csv;
    options.roles = NULL;
    options.schema = NULL;
    options.number_prefix = number;
    if (!known)
        PV_TRY(pv_table_read(ctx, path, &options, &file->own));
    file->table = known ? known : file->own;
    const pv_table *table = file->table;
    for (size_t c = 0; c < strata->columns; c++)
        if (pv__table_lookup(table, strata->column[c].name) == table->columns)
            return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                               "has no column '%s', which `strata` names;\nadd it, as the data have it",
                               pv__show(strata->column[c].name).text);
    PV_TRY(pv__alloc(ctx, table->rows, sizeof *file->stratum, &file->stratum));
    PV_TRY(pv__strata_of_table(ctx, strata, table, what, file->stratum));
    for (size_t i = 0; i < table->rows; i++)
        if (file->stratum[i] == -1)
            return PV__FAIL_CELL(ctx, table, i, pv__table_lookup(table, strata->column[0].name),
                                 "this row does not name its stratum;\nfill the empty cell, or leave the row out");
    return PV_OK;
}

static void file_close(pv_ctx *ctx, strata_file *file) {
    pv_table_free(ctx, file->own);
    pv__free(ctx, file->stratum);
}

static pv_status find_column(pv_ctx *ctx, const pv_table *table, const char *name, const char *what, size_t *column) {
    *column = pv__table_lookup(table, name);
    return *column < table->columns ? PV_OK
                                    : pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                                                  "has no column '%s': %s;\nadd it", pv__show(name).text, what);
}

/* Reads a number above `least` from a cell; errors name its position. */
static pv_status cell_number(pv_ctx *ctx, const pv_table *table, size_t row, size_t c, double least, const char *what,
                             double *value) {
    const pv_column *column = &table->column[c];
    bool number = column->type == PV_COLUMN_NUMBER && !pv__cell_missing(column, row);
    *value = number ? pv__cell_number(column, row) : (double)NAN;
    if (*value >= least && isfinite(*value))
        return PV_OK;
    return PV__FAIL_CELL(ctx, table, row, c, "column '%s' must hold %s in every row", pv__show(column->name).text,
                         what);
}

/* ---- prevalences ------------------------------------------------------------------------------------------------- */

static pv_status read_one(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, size_t row, size_t c,
                          double *prevalence, double *n) {
    const pv_column *column = &table->column[c];
    double low, high, mean;
    if (pv__cell_missing(column, row))
        return PV__FAIL_CELL(ctx, table, row, c, "this stratum has no prevalence;\nfill the cell");
    char option[400], number[PV__NUMBER_TEXT];
    const char *text = cell_text(column, row, number);
    pv__format(option, sizeof option, "%s:%zu: prevalence", pv__show(table->source).text, pv_table_line(table, row));
    PV_TRY(pv_prevalence_parse(ctx, option, text, schema->labels, schema->classes, prevalence, &low, &high));
    if (schema->positive_guessed && schema->classes == 2 && !strchr(text, '=') && !strchr(text, ','))
        return PV__FAIL_CELL(
            ctx, table, row, c,
            "prevalence %s: which label has it, '%s' or '%s'? Write %s=%s, or name the one of interest with `positive`",
            text, schema->labels[0], schema->labels[1], schema->labels[1], text);
    *n = HUGE_VAL;
    if (isnan(low))
        return PV_OK;
    PV_TRY(pv__beta_from_interval(ctx, low, high, &mean, n));
    prevalence[1] = mean;
    prevalence[0] = 1 - mean;
    return PV_OK;
}

static pv_status is_twice(pv_ctx *ctx, const pv_table *table, size_t row, const char *stratum) {
    return PV__FAIL_CELL(ctx, table, row, 0, "stratum '%s' appears twice;\nleave one row out", pv__show(stratum).text);
}

static pv_status has_none(pv_ctx *ctx, const pv_table *table, const char *stratum) {
    return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                       "has no prevalence for stratum '%s', which the data have;\nadd a row for it",
                       pv__show(stratum).text);
}

static pv_status read_rows(pv_ctx *ctx, const pv_schema *schema, const strata_file *file, pv_stratified *to) {
    const pv_table *table = file->table;
    size_t prevalence, share, k = (size_t)to->classes;
    double sum = 0;
    PV_TRY(find_column(ctx, table, "prevalence", "how common each label is in the stratum", &prevalence));
    PV_TRY(find_column(ctx, table, "share", "the stratum's proportion of the population", &share));
    for (size_t i = 0; i < table->rows; i++) {
        size_t s = (size_t)file->stratum[i];
        if (to->n[s] > 0)
            return is_twice(ctx, table, i, schema->strata->name[s]);
        PV_TRY(read_one(ctx, schema, table, i, prevalence, to->prevalence + s * k, &to->n[s]));
        PV_TRY(cell_number(ctx, table, i, share, 1e-300, "a number above 0", &to->share[s]));
        sum += to->share[s];
    }
    for (int s = 0; s < to->strata; s++)
        if (!(to->n[s] > 0))
            return has_none(ctx, table, schema->strata->name[s]);
    if (!(fabs(sum - 1) <= 1e-3))
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, share + 1,
                           "the shares add up to %.6g; they are proportions of the population and must add up to 1",
                           sum);
    for (int s = 0; s < to->strata; s++)
        to->share[s] /= sum;
    return PV_OK;
}

pv_status pv__prevalence_by_read(pv_ctx *ctx, const char *path, const pv_table *known, const pv_csv_options *csv,
                                 const pv_schema *schema, pv_stratified *to) {
    strata_file file = {0};
    pv_status status;
    PV_GOTO(done, file_open(ctx, path, known, csv, schema->strata, OF_THE_DATA, "share", &file));
    status = read_rows(ctx, schema, &file, to);
done:
    file_close(ctx, &file);
    return status;
}

static pv_status read_prevalences(pv_ctx *ctx, const pv_schema *schema, const strata_file *file, double *prevalence) {
    const pv_table *table = file->table;
    size_t column, k = (size_t)schema->classes;
    PV_TRY(find_column(ctx, table, "prevalence", "how common each label is in the stratum", &column));
    for (size_t i = 0; i < table->rows; i++) {
        if (file->stratum[i] < 0)
            continue;
        double *own = prevalence + (size_t)file->stratum[i] * k, n;
        if (own[0] > 0)
            return is_twice(ctx, table, i, schema->strata->name[file->stratum[i]]);
        PV_TRY(read_one(ctx, schema, table, i, column, own, &n));
        if (isfinite(n))
            return PV__FAIL_CELL(ctx, table, i, column, "give one prevalence here, not an interval");
    }
    for (int s = 0; s < schema->strata->count; s++)
        if (!(prevalence[(size_t)s * k] > 0))
            return has_none(ctx, table, schema->strata->name[s]);
    return PV_OK;
}

pv_status pv_prevalences_read(pv_ctx *ctx, const char *path, const pv_csv_options *csv, const pv_schema *schema,
                              double *prevalence) {
    strata_file file = {0};
    pv_status status;
    memset(prevalence, 0, (size_t)schema->strata->count * (size_t)schema->classes * sizeof *prevalence);
    PV_GOTO(done, file_open(ctx, path, NULL, csv, schema->strata, NULL, "share", &file));
    status = read_prevalences(ctx, schema, &file, prevalence);
done:
    file_close(ctx, &file);
    return status;
}

pv_status pv_stratified_read(pv_ctx *ctx, const char *path, const pv_csv_options *csv, const pv_schema *schema,
                             pv_stratified **stratified) {
    *stratified = NULL;
    if (!schema->strata)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the model was fitted without strata, but the file has a prevalence for each stratum");
    pv_stratified *made = NULL;
    pv_status status = pv__stratified_alloc(ctx, schema->strata->count, schema->classes, &made);
    if (status == PV_OK)
        status = pv__prevalence_by_read(ctx, path, NULL, csv, schema, made);
    if (status == PV_OK)
        *stratified = made;
    else
        pv_stratified_free(ctx, made);
    return status;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

/* Sums the cohort's people into people [strata][classes]. */
static pv_status count_people(pv_ctx *ctx, const pv_schema *schema, const strata_file *file, double *people) {
    const pv_table *table = file->table;
    size_t target, count = pv__table_lookup(table, "count"), k = (size_t)schema->classes;
    PV_TRY(find_column(ctx, table, schema->target, "the outcome of the data", &target));
    const pv_column *column = &table->column[target];
    for (size_t i = 0; i < table->rows; i++) {
        double n = 1;
        char number[PV__NUMBER_TEXT];
        const char *text = cell_text(column, i, number);
        int32_t y = pv__label_find(schema->labels, schema->classes, text, strlen(text));
        if (y < 0)
            return PV__FAIL_CELL(ctx, table, i, target, "'%s' is not a label of the data;\ncorrect the cell",
                                 pv__show(text).text);
        if (count < table->columns)
            PV_TRY(cell_number(ctx, table, i, count, 0, "a number of people, 0 or more,", &n));
        people[(size_t)file->stratum[i] * k + (size_t)y] += n;
    }
    return PV_OK;
}

static pv_status use_people(pv_ctx *ctx, const pv_schema *schema, const char *source, const double *people,
                            const double *mass, pv_stratified *to) {
    size_t k = (size_t)to->classes;
    double all = 0;
    bool same = true;
    for (size_t i = 0; i < (size_t)to->strata * k; i++) {
        same = same && fabs(people[i] - mass[i]) <= mass[i] * 1e-9;
        if (people[i] < mass[i] * (1 - 1e-9))
            return pv__fail_at(ctx, PV_ERR_INPUT, source, 0, 0,
                               "counts %.10g people of stratum '%s' with label '%s', fewer than the %.10g in the "
                               "data;\ngive the counts of the whole cohort, including the people in the rows",
                               people[i], pv__show(schema->strata->name[i / k]).text,
                               pv__show(schema->labels[i % k]).text, mass[i]);
        to->n[i / k] += people[i];
        all += people[i];
    }
    if (!(all <= 1e15))
        return pv__fail_at(ctx, PV_ERR_INPUT, source, 0, 0, "counts more people than 1e15;\ncorrect the counts");
    if (same)
        pv__log(ctx, PV_LOG_WARNING,
                "%s: counts only the rows of the data, so that nothing would be corrected: give the counts of the "
                "whole cohort",
                pv__show(source).text);
    for (size_t i = 0; i < (size_t)to->strata * k; i++) {
        to->prevalence[i] = people[i] / to->n[i / k];
        to->share[i / k] = to->n[i / k] / all;
    }
    return PV_OK;
}

pv_status pv__phase_one_read(pv_ctx *ctx, const char *path, const pv_table *known, const pv_csv_options *csv,
                             const pv_schema *schema, const double *mass, pv_stratified *to) {
    strata_file file = {0};
    double *people;
    PV_TRY(pv__alloc(ctx, (size_t)to->strata * (size_t)to->classes, sizeof *people, &people));
    pv_status status;
    PV_GOTO(done, file_open(ctx, path, known, csv, schema->strata, OF_THE_DATA, "count", &file));
    PV_GOTO(done, count_people(ctx, schema, &file, people));
    status = use_people(ctx, schema, file.table->source, people, mass, to);
done:
    file_close(ctx, &file);
    pv__free(ctx, people);
    return status;
}
