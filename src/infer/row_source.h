/* src/infer/row_source.h: where the rows of a fit come from: a matrix; the columns of a packed table whose matrix does
 * not fit in memory; or images, from which views are cut. Passes over all rows are in infer/pass.h.
 */
#ifndef PV_SRC_ROW_SOURCE_H
#define PV_SRC_ROW_SOURCE_H

#include "base/base.h"
#include "prevail/data.h"

typedef struct pv__row_source {
    size_t n, width;                 /* number of rows, and of numbers per row */
    const double *matrix;            /* [n][width]; NULL: rows are assembled on demand */
    const pv_dataset *made;          /* the data they are assembled from; NULL: there is a matrix */
    const struct pv__loaded *device; /* a copy of the rows on a device (model/device_table.h); NULL: none */
} pv__row_source;

static inline pv__row_source pv__rows_matrix(size_t n, size_t width, const double *x) {
    return (pv__row_source){.n = n, .width = width, .matrix = x};
}
pv__row_source pv__rows_from(const pv_dataset *data); /* borrows */
bool pv__rows_are_images(const pv__row_source *rows);
/* Rows are read from a file on every access, which is cheaper in long runs. */
static inline bool pv__rows_are_far(const pv__row_source *rows) {
    return rows->made && !pv__rows_are_images(rows);
}
/* The size of the buffer, in numbers, for requests of n rows. */
static inline size_t pv__rows_room(const pv__row_source *rows, size_t n) {
    return rows->made ? n * rows->width : 0;
}

/* Rows begin .. as [n][width]: in the matrix, or assembled in room [n][width]; for images their fixed views.
 * Thread-safe for columns; images use threads of their own. */
const double *pv__rows_get(const pv_ctx *ctx, const pv__row_source *rows, size_t begin, size_t n, double *room);
/* The same, copied to x. */
void pv__rows_copy(const pv_ctx *ctx, const pv__row_source *rows, size_t begin, size_t n, double *x);
/* Fails if a file from which rows are read was written to meanwhile. */
PV_MUST_USE pv_status pv__rows_unchanged(pv_ctx *ctx, const pv__row_source *rows);

/* Row i of a sample spread evenly over all rows, one out of `every`. It consists of short runs, because rows of columns
 * in a file are cheaper to read in runs. All rows if every is 1. */
enum { PV__RUN = 16 };
static inline size_t pv__spread_row(size_t i, double every) {
    return (size_t)((double)(i - i % PV__RUN) * every) + i % PV__RUN;
}
/* Rows first .. first+n-1 of such a sample, copied to x [n][width]. */
void pv__rows_spread(const pv__row_source *rows, size_t first, size_t n, double every, double *x);

#endif
