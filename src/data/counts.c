/* An outcome given as two columns of counts, CASES/CONTROLS: a row of the table stands for that many people with the
 * label named by the first column and with the label named by the second. It becomes two rows of the data, one per
 * label, with the counts as weights; a count of 0 adds no row.
 */
#include <string.h>

#include "data/schema_learn.h"

const char *pv__counts_slash(const char *target) {
    const char *slash = target ? strchr(target, '/') : NULL;
    return slash && slash > target && slash[1] && !strchr(slash + 1, '/') ? slash : NULL;
}

/* If a column has the whole text as its name, it is the outcome. */
pv_status pv__counts_find(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__encoding *plan) {
    const char *slash = pv__counts_slash(roles->target);
    plan->count[0] = plan->count[1] = table->columns;
    if (!slash || pv__table_lookup(table, roles->target) < table->columns)
        return PV_OK;
    if (roles->weights && strcmp(roles->weights, "") != 0)
        return pv__fail(ctx, PV_ERR_USAGE, "`outcome=%s` already counts the people of each row:\nleave `weights` out",
                        pv__show(roles->target).text);
    if (roles->matched)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`outcome=%s` has counts, but matched sets need one row per person:\nwrite a row for each",
                        pv__show(roles->target).text);
    char *first;
    PV_TRY(pv__strdup(ctx, roles->target, &first));
    first[slash - roles->target] = '\0';
    pv_status status;
    PV_GOTO(done, pv__number_column(ctx, table, "`outcome`", first, &plan->count[0]));
    PV_GOTO(done, pv__number_column(ctx, table, "`outcome`", slash + 1, &plan->count[1]));
    if (plan->count[0] == plan->count[1])
        status = pv__fail(ctx, PV_ERR_USAGE, "`outcome=%s`: cases and controls are two columns",
                          pv__show(roles->target).text);
done:
    pv__free(ctx, first);
    return status;
}

/* Other programs take cases and totals, which are also two numbers; warns if the second column's name suggests a
 * total. */
static void suspect_total(pv_ctx *ctx, const pv_table *table, const char *controls) {
    static const char *const words[] = {"n", "total", "totals", "size", "trials", "all", "denominator", "at_risk"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (pv__same_letters(controls, words[i], SIZE_MAX))
            pv__log(ctx, PV_LOG_WARNING,
                    "%s: column '%s' is taken as the number of people without the outcome; if it counts all people, "
                    "subtract the others",
                    table->source, pv__show(controls).text);
}

pv_status pv__counts_rows(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, pv_dataset *data) {
    size_t rows = 0, kept = data->rows;
    const pv_column *count[2] = {&table->column[plan->count[1]], &table->column[plan->count[0]]};
    size_t *table_row = NULL;
    suspect_total(ctx, table, count[0]->name);
    data->zero_weight = 0;
    for (size_t i = 0; i < kept; i++) {
        size_t own = 0;
        for (int y = 0; y < 2; y++)
            own += pv__cell_number(count[y], data->table_row[i]) > 0;
        rows += own;
        data->zero_weight += own == 0;
    }
    if (rows == 0)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, plan->count[0] + 1,
                           "all counts are 0;\ncheck the columns of `outcome`");
    PV_TRY(pv__alloc(ctx, rows, sizeof *table_row, &table_row));
    pv_status status;
    PV_GOTO(done, pv__resize(ctx, rows, sizeof *data->weight, &data->weight));
    PV_GOTO(done, pv__resize(ctx, rows, sizeof *data->label, &data->label));
    size_t at = 0;
    for (size_t i = 0; i < kept; i++)
        for (int y = 0; y < 2; y++) {
            double n = pv__cell_number(count[y], data->table_row[i]);
            if (!(n > 0))
                continue;
            table_row[at] = data->table_row[i];
            data->label[at] = y;
            data->weight[at++] = n;
        }
    pv__free(ctx, data->table_row);
    data->table_row = table_row;
    data->rows = rows;
    table_row = NULL;
done:
    pv__free(ctx, table_row);
    return status;
}

pv_status pv__counts_learn(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const char *positive,
                           pv_schema *schema, pv_dataset *data) {
    const char *names[2] = {table->column[plan->count[1]].name, table->column[plan->count[0]].name};
    bool swap = positive && strcmp(positive, names[0]) == 0;
    if (positive && !swap && strcmp(positive, names[1]) != 0)
        return pv__fail(ctx, PV_ERR_USAGE, "the labels are '%s' and '%s', the columns of `outcome`; '%s' is neither",
                        pv__show(names[1]).text, pv__show(names[0]).text, pv__show(positive).text);
    for (int y = 0; y < 2; y++) {
        double total = 0;
        for (size_t i = 0; i < data->rows; i++)
            total += data->label[i] == y ? data->weight[i] : 0;
        if (!(total > 0))
            return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, plan->count[1 - y] + 1,
                               "there are no %s: all counts are 0 in the rows that are used", pv__show(names[y]).text);
    }
    if (swap) {
        const char *first = names[0];
        names[0] = names[1];
        names[1] = first;
        for (size_t i = 0; i < data->rows; i++)
            data->label[i] = 1 - data->label[i];
    }
    data->classes = schema->classes = 2; /* set first, so that a failed copy can be freed with the schema */
    return pv__names_copy(ctx, names, 2, &schema->labels);
}

pv_status pv__counts_apply(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const pv_schema *schema,
                           pv_dataset *data) {
    const char *cases = table->column[plan->count[0]].name;
    int y = 0;
    while (y < schema->classes && strcmp(schema->labels[y], cases) != 0)
        y++;
    if (schema->classes != 2 || y == 2)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`outcome`: the model does not know '%s';\nname the columns of counts as in training, or a "
                        "column of its labels",
                        pv__show(cases).text);
    for (size_t i = 0; y == 0 && i < data->rows; i++)
        data->label[i] = 1 - data->label[i];
    data->classes = schema->classes;
    return PV_OK;
}
