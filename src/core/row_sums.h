/* src/core/row_sums.h: sums over rows that do not depend on threads or ranks, nor, but for rounding, on the rows'
 * order.
 */
#ifndef PV_SRC_CORE_ROW_SUMS_H
#define PV_SRC_CORE_ROW_SUMS_H

#include "base/reduce.h"

enum { PV__ROW_BLOCK = 256, PV__ROW_SLOTS = 8 };

/* Adds rows begin .. begin+n-1, at most PV__ROW_BLOCK, to sums. Calls of one slot do not overlap. */
typedef void (*pv__row_add)(void *state, size_t slot, size_t begin, size_t n, double *sums);

/* total [width] = the sums of all n rows; shared: the context's ranks divide the rows among them. */
PV_MUST_USE pv_status pv__sum_rows(pv_ctx *ctx, size_t n, bool shared, size_t width, pv__row_add add, void *state,
                                   double *total);

#endif
