/* src/core/row_sums.h: sums over rows whose bits do not depend on threads or ranks, and which depend on the order of
 * the rows only through rounding.
 */
#ifndef PV_SRC_CORE_ROW_SUMS_H
#define PV_SRC_CORE_ROW_SUMS_H

#include "base/reduce.h"

enum { PV__ROW_BLOCK = 256, PV__ROW_SLOTS = 8 };

/* Adds rows begin .. begin+n-1, at most PV__ROW_BLOCK, to sums. Calls with the same slot never overlap in time. */
typedef void (*pv__row_add)(void *state, size_t slot, size_t begin, size_t n, double *sums);

/* Writes the sums over all n rows to total [width]. shared: the context's ranks divide the rows among them. */
PV_MUST_USE pv_status pv__sum_rows(pv_ctx *ctx, size_t n, bool shared, size_t width, pv__row_add add, void *state,
                                   double *total);
/* The same with the grouping of sums of width `like`, so that a rank visits the same rows as there; 0: that of
 * width. */
PV_MUST_USE pv_status pv__sum_rows_like(pv_ctx *ctx, size_t n, bool shared, size_t like, size_t width, pv__row_add add,
                                        void *state, double *total);

#endif
