/* Another model's probabilities, and labels by themselves, from tables. */
#include <math.h>
#include <string.h>

#include "data/data.h"

static const char PREFIX[] = "p__";
static const double ROUNDING = 0.5e-6; /* of each probability: six decimals */

/* ---- labels ------------------------------------------------------------------------------------------------------ */

pv_status pv_table_labels(pv_ctx *ctx, const pv_table *table, const char *option, const char *name, char *const *labels,
                          int classes, size_t n, const size_t *row, int32_t *label) {
    size_t c;
    PV_TRY(pv_table_find(ctx, table, option, name, &c));
    const pv_column *column = &table->column[c];
    if (column->type != PV_COLUMN_TEXT)
        return pv__fail(ctx, PV_ERR_USAGE, "column '%s' was not read as text", pv__show(name).text);
    int32_t *match;
    PV_TRY(pv__alloc(ctx, (size_t)column->levels, sizeof *match, &match));
    for (int32_t i = 0; i < column->levels; i++)
        match[i] = pv__label_find(labels, classes, column->level[i], strlen(column->level[i]));
    pv_status status = PV_OK;
    for (size_t i = 0; i < n && status == PV_OK; i++) {
        int32_t code = column->code[row ? row[i] : i];
        label[i] = code < 0 ? -1 : match[code];
        if (code >= 0 && match[code] < 0) {
            char joined[240];
            pv__join(labels, (size_t)classes, 8, joined, sizeof joined);
            status = PV__FAIL_CELL(ctx, table, row ? row[i] : i, c, "'%s' in column '%s' is none of the labels: %s",
                                   pv__show(column->level[code]).text, pv__show(name).text, joined);
        }
    }
    pv__free(ctx, match);
    return status;
}

/* ---- probabilities ----------------------------------------------------------------------------------------------- */

void pv_probs_free(pv_ctx *ctx, pv_probs *probs) {
    if (!probs)
        return;
    pv_string_list_free(ctx, probs->label, (size_t)probs->classes);
    pv_table_free(ctx, probs->table);
    pv__free(ctx, probs->column);
    pv__free(ctx, probs->p);
    pv__free(ctx, probs);
}

static bool has_prefix(const char *name) {
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && name[strlen(PREFIX)] != '\0';
}

/* The columns that hold probabilities, in order. *found has room for every column. */
static pv_status find_columns(pv_ctx *ctx, const pv_table *table, char *const *names, size_t n, size_t *found,
                              size_t *count) {
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        PV_TRY(pv_table_find(ctx, table, "--columns", names[i], &found[i]));
        *count = i + 1;
    }
    for (size_t c = 0; n == 0 && c < table->columns; c++)
        if (has_prefix(table->column[c].name))
            found[(*count)++] = c;
    if (*count == 0)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                           "there is no column of probabilities: name them p__LABEL, one for each label, or say which "
                           "they are with --columns");
    if (*count == 1 && n == 0)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, found[0] + 1,
                           "'%s' is the only column of probabilities; if it is that of one of two labels, say so with "
                           "--columns %s",
                           pv__show(table->column[found[0]].name).text, pv__show(table->column[found[0]].name).text);
    return PV_OK;
}

/* What the labels are called: as given, or after the columns. */
static pv_status name_labels(pv_ctx *ctx, pv_probs *probs, const size_t *found, size_t count, char *const *given,
                             size_t n_given) {
    size_t classes = count == 1 ? 2 : count;
    if (n_given && n_given != classes)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "%zu label%s given for %zu classes; --names has each, in the order of the columns", n_given,
                        n_given == 1 ? "" : "s", classes);
    PV_TRY(pv__alloc(ctx, classes, sizeof *probs->label, &probs->label));
    PV_TRY(pv__alloc(ctx, classes, sizeof *probs->column, &probs->column));
    probs->classes = (int)classes;
    for (size_t y = 0; y < classes; y++) {
        bool other = count == 1 && y == 0;
        const char *name = probs->table->column[found[count == 1 ? 0 : y]].name;
        name += has_prefix(name) ? strlen(PREFIX) : 0;
        probs->column[y] = other ? probs->table->columns : found[count == 1 ? 0 : y];
        if (n_given || !other) {
            PV_TRY(pv__strdup(ctx, n_given ? given[y] : name, &probs->label[y]));
            continue;
        }
        PV_TRY(pv__alloc(ctx, strlen(name) + 5, 1, &probs->label[y]));
        memcpy(probs->label[y], "not ", 4);
        memcpy(probs->label[y] + 4, name, strlen(name));
    }
    size_t at, earlier;
    PV_TRY(pv__names_duplicate(ctx, probs->label, classes, &at, &earlier));
    if (at < classes)
        return pv__fail(ctx, PV_ERR_USAGE, "the label '%s' has two columns of probabilities",
                        pv__show(probs->label[at]).text);
    return PV_OK;
}

/* One cell, checked. */
static pv_status take_cell(pv_ctx *ctx, const pv_table *table, size_t row, size_t c, double *p) {
    const pv_column *column = &table->column[c];
    if (pv__cell_missing(column, row))
        return PV__FAIL_CELL(ctx, table, row, c, "the probability '%s' is missing in row %zu",
                             pv__show(column->name).text, row + 1);
    if (column->type != PV_COLUMN_NUMBER)
        return PV__FAIL_CELL(ctx, table, row, c, "'%s' is not a number: column '%s' is to hold probabilities",
                             pv__show(column->level[column->code[row]]).text, pv__show(column->name).text);
    *p = column->number[row];
    if (!(*p >= 0 && *p <= 1))
        return PV__FAIL_CELL(ctx, table, row, c,
                             "%g in column '%s', row %zu, is no probability: it lies outside [0,1]%s", *p,
                             pv__show(column->name).text, row + 1,
                             *p > 1 && *p <= 100 ? "; percentages are to be divided by 100"
                             : *p < 0            ? "; a log probability or logit is to be turned into one first"
                                                 : "");
    return PV_OK;
}

static pv_status take_rows(pv_ctx *ctx, pv_probs *probs) {
    const pv_table *table = probs->table;
    size_t k = (size_t)probs->classes;
    PV_TRY(pv__alloc(ctx, table->rows * k, sizeof *probs->p, &probs->p));
    for (size_t i = 0; i < table->rows; i++) {
        double *p = probs->p + i * k, sum = 0;
        for (size_t y = 0; y < k; y++)
            if (probs->column[y] < table->columns)
                PV_TRY(take_cell(ctx, table, i, probs->column[y], &p[y]));
        if (probs->column[0] == table->columns)
            p[0] = 1 - p[1];
        for (size_t y = 0; y < k; y++)
            sum += p[y];
        if (!(fabs(sum - 1) <= ROUNDING * (double)k + 1e-12))
            return pv__fail_at(ctx, PV_ERR_INPUT, table->source, pv_table_line(table, i), 0,
                               "the probabilities of row %zu add up to %.10g, not to 1", i + 1, sum);
        for (size_t y = 0; y < k; y++)
            p[y] /= sum;
    }
    return PV_OK;
}

/* pv__names_split, where a name given twice is a mistake. */
static pv_status split(pv_ctx *ctx, const char *option, const char *text, char ***names, size_t *n) {
    PV_TRY(pv__names_split(ctx, option, text, names, n));
    size_t given = text && *text ? 1 : 0;
    bool quoted = false;
    for (const char *at = text; at && *at; at++) {
        quoted = quoted != (*at == '"');
        given += *at == ',' && !quoted;
    }
    return given == *n ? PV_OK
                       : pv__fail(ctx, PV_ERR_USAGE, "%s: a name is there twice, in '%s'", option, pv__show(text).text);
}

pv_status pv_probs_read(pv_ctx *ctx, const char *path, const pv_probs_options *options, pv_probs **probs) {
    *probs = NULL;
    pv_probs *made = NULL;
    char **names = NULL, **labels = NULL;
    size_t n = 0, n_labels = 0, *found = NULL, count;
    pv_status status;
    PV_GOTO(done, split(ctx, "--columns", options ? options->columns : NULL, &names, &n));
    PV_GOTO(done, split(ctx, "--names", options ? options->labels : NULL, &labels, &n_labels));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made, &made));
    pv_csv_options csv = {.number_prefix = n ? "" : PREFIX, .number = (const char *const *)names, .n_number = n};
    PV_GOTO(done, pv_table_read(ctx, path, &csv, &made->table));
    PV_GOTO(done, pv__alloc(ctx, made->table->columns, sizeof *found, &found));
    PV_GOTO(done, find_columns(ctx, made->table, names, n, found, &count));
    PV_GOTO(done, name_labels(ctx, made, found, count, labels, n_labels));
    PV_GOTO(done, take_rows(ctx, made));
    *probs = made;
    made = NULL;
done:
    pv_probs_free(ctx, made);
    pv__free(ctx, found);
    pv_string_list_free(ctx, names, n);
    pv_string_list_free(ctx, labels, n_labels);
    return status;
}
