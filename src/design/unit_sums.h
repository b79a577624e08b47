/* src/design/unit_sums.h: sums over units of what their people have in an estimating equation.
 *
 * The score of a person of row i is r_i (x) x~_i: a residual for each of J logits, times the row of a matrix. A unit's
 * is the sum of its people's, about the mean of the cell and the block that it was drawn in.
 */
#ifndef PV_SRC_UNIT_SUMS_H
#define PV_SRC_UNIT_SUMS_H

#include "design/units.h"

/* x~ [n][size] of rows begin .. begin+n-1; calls of one slot do not overlap. */
typedef const double *(*pv__rows_of)(void *state, size_t slot, size_t begin, size_t n);

typedef struct pv__scores {
    size_t parts;              /* estimates: one or two */
    size_t logits, size;       /* J, and the length of x~ */
    const double *residual[2]; /* [rows][J], of one person */
    pv__rows_of x;
    void *state;
} pv__scores;

typedef struct pv__unit_sums {
    double *square; /* [P][P] of the first estimate, then of the second, then their product, the second's by rows */
    double *mean;   /* [parts][cells][P], of the rows of each cell */
} pv__unit_sums;

/* Sums of products of the units' scores, P = J size of them, with the factor G/(G-1) of each block. The arrays are the
 * caller's. */
PV_MUST_USE pv_status pv__units_sum(pv_ctx *ctx, const pv__units *units, const pv__scores *scores, pv__unit_sums *sums);
/* Of the first estimate's scores S, after pv__units_sum: fourth [P] = the sum over units of (map S)^4, and spread that
 * of (S^T form S)^2; map and form are [P][P], form symmetric. */
PV_MUST_USE pv_status pv__units_moments(pv_ctx *ctx, const pv__units *units, const pv__scores *scores,
                                        const pv__unit_sums *sums, const double *map, const double *form,
                                        double *fourth, double *spread);

#endif
