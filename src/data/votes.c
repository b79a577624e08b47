/* Votes in columns of a table as soft labels: one column per label, "A,B,..." or "LABEL=A,...". */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"
#include "prevail/probs.h"

/* Start of the column's name: after "LABEL=", unless the whole text is a column. */
static const char *column_of(const pv_table *table, const char *name) {
    const char *equals = strchr(name, '=');
    return equals && pv__table_lookup(table, name) == table->columns ? equals + 1 : name;
}

pv_status pv__encoding_votes(pv_ctx *ctx, const pv_table *table, const char *text, pv__encoding *plan) {
    char **names;
    size_t n;
    PV_TRY(pv__names_split(ctx, "`votes`", text, &names, &n));
    pv_status status = pv__alloc(ctx, n, sizeof *plan->vote, &plan->vote);
    for (size_t i = 0; i < n && status == PV_OK; i++) {
        status = pv__number_column(ctx, table, "`votes`", column_of(table, names[i]), &plan->vote[i]);
        if (status == PV_OK && plan->vote[i] == plan->weights)
            status = pv__fail(ctx, PV_ERR_USAGE, "column '%s' cannot be both `votes` and `weights`",
                              pv__show(column_of(table, names[i])).text);
        plan->votes += status == PV_OK;
    }
    pv_string_list_free(ctx, names, n);
    return status;
}

pv_status pv__votes_apply(pv_ctx *ctx, const pv_table *table, const char *text, char *const *labels, int classes,
                          pv_dataset *data) {
    bool weighted = data->weight != NULL;
    PV_TRY(pv_dataset_votes(ctx, table, text, labels, classes, false, data));
    if (!weighted) { /* rows without votes were excluded earlier */
        pv__free(ctx, data->weight);
        data->weight = NULL;
    }
    return PV_OK;
}

pv_status pv__votes_learn(pv_ctx *ctx, const pv_table *table, const char *text, pv_schema *schema, pv_dataset *data) {
    char **names;
    size_t n;
    PV_TRY(pv__names_split(ctx, "`votes`", text, &names, &n));
    for (size_t i = 0; i < n; i++) { /* of "LABEL=COL" keeps the label */
        const char *column = column_of(table, names[i]);
        if (column != names[i])
            names[i][column - names[i] - 1] = '\0';
    }
    pv_status status = PV_OK;
    if (n < 2 || n > PV__CLASSES_MAX)
        status = pv__fail(ctx, PV_ERR_USAGE, "`votes` names %zu column%s:\nname one for each of 2 to %d labels", n,
                          n == 1 ? "" : "s", PV__CLASSES_MAX);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i && status == PV_OK; j++)
            if (strcmp(names[i], names[j]) == 0)
                status = pv__fail(ctx, PV_ERR_USAGE, "`votes`: label '%s' is given twice;\ngive each once",
                                  pv__show(names[i]).text);
    if (status == PV_OK)
        status = pv__votes_apply(ctx, table, text, names, (int)n, data);
    if (status != PV_OK) {
        pv_string_list_free(ctx, names, n);
        return status;
    }
    schema->labels = names;
    schema->classes = (int)n;
    schema->votes = true;
    return PV_OK;
}

/* ---- tables of probabilities ------------------------------------------------------------------------------------- */

/* Parses "A,B,..." or "LABEL=A,..." into column [classes]. */
static pv_status find_votes(pv_ctx *ctx, const pv_table *table, const char *text, char *const *labels, int classes,
                            size_t *column) {
    char **names;
    size_t n;
    PV_TRY(pv__names_split(ctx, "`votes`", text, &names, &n));
    pv_status status = PV_OK;
    if (n != (size_t)classes)
        status = pv__fail(ctx, PV_ERR_USAGE, "`votes`: %zu column%s named for %d labels;\nname one for each", n,
                          n == 1 ? "" : "s", classes);
    for (int y = 0; y < classes; y++)
        column[y] = table->columns;
    for (size_t i = 0; status == PV_OK && i < n; i++) {
        const char *equals = strchr(names[i], '='), *name = names[i];
        int32_t y = (int32_t)i;
        size_t c;
        if (equals && pv__table_lookup(table, names[i]) == table->columns) {
            y = pv__label_find(labels, classes, names[i], (size_t)(equals - names[i]));
            name = equals + 1;
        }
        if (y < 0)
            status = pv__no_label(ctx, "`votes`", names[i], (size_t)(equals - names[i]), labels, classes);
        else if (column[y] != table->columns)
            status = pv__fail(ctx, PV_ERR_USAGE, "`votes`: label '%s' is given twice;\ngive each once",
                              pv__show(labels[y]).text);
        else if ((status = pv__number_column(ctx, table, "`votes`", name, &c)) == PV_OK)
            column[y] = c;
    }
    pv_string_list_free(ctx, names, n);
    return status;
}

pv_status pv_votes_read(pv_ctx *ctx, const pv_table *table, const char *columns, char *const *labels, int classes,
                        const size_t *table_row, size_t rows, bool drop, double *frequency, double *weight,
                        size_t *dropped) {
    size_t *column, k = (size_t)classes;
    PV_TRY(pv__alloc(ctx, k, sizeof *column, &column));
    pv_status status = find_votes(ctx, table, columns, labels, classes, column);
    for (size_t n = 0; status == PV_OK && n < rows; n++) {
        double sum = 0, *to = frequency + n * k;
        size_t row = table_row[n], missing = k;
        for (size_t y = 0; y < k && status == PV_OK; y++) {
            to[y] = pv__cell_number(&table->column[column[y]], row);
            if (isnan(to[y]))
                missing = y;
            else if (!pv_weight_sound(to[y]))
                status =
                    PV__FAIL_CELL(ctx, table, row, column[y], "%g votes; votes are 0, or from 1e-100 to 1e100", to[y]);
            sum += to[y];
        }
        if (status == PV_OK && missing < k && !drop)
            status = PV__FAIL_CELL(ctx, table, row, column[missing],
                                   "a vote is missing here;\nfill it in, or leave such rows out with `missing=drop`");
        else if (status == PV_OK && missing == k && !(sum > 0))
            status = pv__fail_at(ctx, PV_ERR_INPUT, table->source, pv_table_line(table, row), 0,
                                 "no votes in this row;\nleave it out");
        for (size_t y = 0; y < k; y++)
            to[y] = missing < k ? 1.0 / classes : to[y] / sum;
        if (status == PV_OK && missing < k) {
            weight[n] = 0;
            ++*dropped;
        }
    }
    pv__free(ctx, column);
    return status;
}

/* The label with the most votes; the first among equals. */
static int32_t largest(int classes, const double *frequency) {
    int32_t best = 0;
    for (int32_t y = 1; y < classes; y++)
        best = frequency[y] > frequency[best] ? y : best;
    return best;
}

pv_status pv_dataset_votes(pv_ctx *ctx, const pv_table *table, const char *columns, char *const *labels, int classes,
                           bool drop, pv_dataset *dataset) {
    size_t rows = dataset->rows, voteless = 0;
    double *frequency = NULL, *weight = NULL;
    int32_t *label = NULL;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, rows, (size_t)classes * sizeof *frequency, &frequency));
    PV_GOTO(fail, pv__alloc(ctx, rows, sizeof *weight, &weight));
    PV_GOTO(fail, pv__alloc(ctx, rows, sizeof *label, &label));
    for (size_t n = 0; n < rows; n++)
        weight[n] = dataset->weight ? dataset->weight[n] : 1;
    PV_GOTO(fail, pv_votes_read(ctx, table, columns, labels, classes, dataset->table_row, rows, drop, frequency, weight,
                                &voteless));
    for (size_t n = 0; n < rows; n++)
        label[n] = largest(classes, frequency + n * (size_t)classes);
    pv__free(ctx, dataset->frequency);
    pv__free(ctx, dataset->weight);
    pv__free(ctx, dataset->label);
    dataset->frequency = frequency;
    dataset->weight = weight;
    dataset->label = label;
    dataset->classes = classes;
    dataset->voteless = voteless;
    dataset->dropped += voteless;
    return PV_OK;
fail:
    pv__free(ctx, frequency);
    pv__free(ctx, weight);
    pv__free(ctx, label);
    return status;
}
