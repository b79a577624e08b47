/* Votes in columns of a table as soft labels: a column for each label, "A,B,..." or "LABEL=A,...". */
#include <string.h>

#include "data/encode.h"
#include "prevail/probs.h"

/* Where the name of the column begins: behind "LABEL=", unless the whole is a column. */
static const char *column_of(const pv_table *table, const char *name) {
    const char *equals = strchr(name, '=');
    return equals && pv__table_lookup(table, name) == table->columns ? equals + 1 : name;
}

pv_status pv__plan_votes(pv_ctx *ctx, const pv_table *table, const char *text, pv__plan *plan) {
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
    if (!weighted) { /* rows without votes were left out before */
        pv__free(ctx, data->weight);
        data->weight = NULL;
    }
    return PV_OK;
}

pv_status pv__votes_learn(pv_ctx *ctx, const pv_table *table, const char *text, pv_schema *schema, pv_dataset *data) {
    char **names;
    size_t n;
    PV_TRY(pv__names_split(ctx, "`votes`", text, &names, &n));
    for (size_t i = 0; i < n; i++) { /* of "LABEL=COL" the label is left */
        const char *column = column_of(table, names[i]);
        if (column != names[i])
            names[i][column - names[i] - 1] = '\0';
    }
    pv_status status = PV_OK;
    if (n < 2 || n > PV__CLASSES_MAX)
        status = pv__fail(ctx, PV_ERR_USAGE, "`votes` names %zu column%s: name one for each of 2 to %d labels", n,
                          n == 1 ? "" : "s", PV__CLASSES_MAX);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i && status == PV_OK; j++)
            if (strcmp(names[i], names[j]) == 0)
                status = pv__fail(ctx, PV_ERR_USAGE, "`votes`: label '%s' is given twice; give each once",
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
