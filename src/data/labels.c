/* Reads labels of rows from a column of a table. */
#include <string.h>

#include "data/schema_learn.h"

pv_status pv__labels_match(pv_ctx *ctx, const pv_column *column, char *const *labels, int classes, size_t n,
                           const size_t *row, int32_t *label) {
    int32_t *match; /* label of each level */
    PV_TRY(pv__alloc(ctx, (size_t)column->levels, sizeof *match, &match));
    for (int32_t i = 0; i < column->levels; i++)
        match[i] = pv__label_find(labels, classes, column->level[i], strlen(column->level[i]));
    for (size_t i = 0; i < n; i++) {
        size_t at = row ? row[i] : i;
        char number[PV__NUMBER_TEXT];
        if (pv__cell_missing(column, at)) {
            label[i] = PV__MISSING;
            continue;
        }
        const char *text = pv__cell_text(column, at, number);
        label[i] = text == number ? pv__label_find(labels, classes, text, strlen(text)) : match[column->code[at]];
        label[i] = label[i] < 0 ? PV__UNSEEN : label[i];
    }
    pv__free(ctx, match);
    return PV_OK;
}

pv_status pv_table_labels(pv_ctx *ctx, const pv_table *table, const char *option, const char *name, char *const *labels,
                          int classes, size_t n, const size_t *row, int32_t *label) {
    size_t c;
    PV_TRY(pv_table_find(ctx, table, option, name, &c));
    const pv_column *column = &table->column[c];
    PV_TRY(pv__labels_match(ctx, column, labels, classes, n, row, label));
    for (size_t i = 0; i < n; i++) {
        size_t at = row ? row[i] : i;
        char joined[240], number[PV__NUMBER_TEXT];
        if (label[i] != PV__UNSEEN)
            continue;
        pv__join(labels, (size_t)classes, 8, joined, sizeof joined);
        return PV__FAIL_CELL(ctx, table, at, c, "'%s' in column '%s' is not one of the labels: %s",
                             pv__show(pv__cell_text(column, at, number)).text, pv__show(name).text, joined);
    }
    return PV_OK;
}

pv_status pv__no_label(pv_ctx *ctx, const char *option, const char *name, size_t length, char *const *labels,
                       int classes) {
    char joined[240];
    pv__join(labels, (size_t)classes, 12, joined, sizeof joined);
    return pv__fail(ctx, PV_ERR_USAGE, "%s: there is no label '%s'; the labels are %s", option,
                    pv__show_n(name, length).text, joined);
}
