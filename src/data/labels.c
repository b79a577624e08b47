/* Labels of rows by themselves, from a column of a table. */
#include <string.h>

#include "data/data.h"

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

pv_status pv__no_label(pv_ctx *ctx, const char *option, const char *name, size_t length, char *const *labels,
                       int classes) {
    char joined[240];
    pv__join(labels, (size_t)classes, 12, joined, sizeof joined);
    return pv__fail(ctx, PV_ERR_USAGE, "%s: there is no label '%s'; the labels are %s", option,
                    pv__show_n(name, length).text, joined);
}
