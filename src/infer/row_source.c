/* Sources of rows: a matrix, columns, images. */
#include "infer/row_source.h"

#include <string.h>

#include "data/data.h"

pv__row_source pv__rows_from(const pv_dataset *data) {
    bool made = data->images || data->columns;
    return (pv__row_source){
        .n = data->rows, .width = (size_t)data->features, .matrix = data->x, .made = made ? data : NULL};
}

bool pv__rows_are_images(const pv__row_source *rows) {
    return rows->made && rows->made->images;
}

const double *pv__rows_get(const pv_ctx *ctx, const pv__row_source *rows, size_t begin, size_t n, double *room) {
    return rows->made ? pv_dataset_rows(ctx, rows->made, begin, n, room) : rows->matrix + begin * rows->width;
}

void pv__rows_copy(const pv_ctx *ctx, const pv__row_source *rows, size_t begin, size_t n, double *x) {
    const double *from = pv__rows_get(ctx, rows, begin, n, x);
    if (from != x && rows->width > 0)
        memcpy(x, from, n * rows->width * sizeof *x);
}

void pv__rows_spread(const pv__row_source *rows, size_t first, size_t n, double every, double *x) {
    for (size_t at = first, end; at < first + n; x += (end - at) * rows->width, at = end) {
        end = at - at % PV__RUN + PV__RUN;
        end = end < first + n ? end : first + n;
        pv__rows_copy(NULL, rows, pv__spread_row(at, every), end - at, x);
    }
}

pv_status pv__rows_unchanged(pv_ctx *ctx, const pv__row_source *rows) {
    return rows->made ? pv__columns_unchanged(ctx, rows->made) : PV_OK;
}
