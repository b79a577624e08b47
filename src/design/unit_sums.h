/* src/design/unit_sums.h: sums over units of their scores in an estimating equation.
 *
 * The score of a person of row i is r_i (x) x~_i: a residual for each of J logits times a row of a matrix. The score of
 * a unit is the sum over its people, centred about the mean of the cell and of the block in which it was drawn.
 */
#ifndef PV_SRC_UNIT_SUMS_H
#define PV_SRC_UNIT_SUMS_H

#include "design/units.h"

/* Returns x~ [n][size] of rows begin .. begin+n-1. Calls with the same slot never overlap in time. */
typedef const double *(*pv__rows_of)(void *state, size_t slot, size_t begin, size_t n);

typedef struct pv__scores {
    size_t parts;              /* number of estimates: one or two */
    size_t logits, size;       /* J, and the length of x~ */
    const double *residual[2]; /* [rows][J], per person */
    pv__rows_of x;
    void *state;
    size_t like; /* residuals are available for the rows that this rank visits in sums of this many numbers; 0: for all
                    rows */
} pv__scores;

typedef struct pv__unit_sums {
    double *square; /* [P][P] of the first estimate, then of the second, then their product with the second's scores as
                       rows */
    double *mean;   /* [parts][cells][P], over the rows of each cell */
} pv__unit_sums;

/* Sums of products of the units' scores, of P = J size numbers each, with the factor G/(G-1) of each block. The caller
 * owns the arrays. */
PV_MUST_USE pv_status pv__units_sum(pv_ctx *ctx, const pv__units *units, const pv__scores *scores, pv__unit_sums *sums);
/* The same within a pass that the caller makes, if units are rows (units->of is NULL). _add adds rows begin ..
 * begin+n-1, with x~ [n][size], to sums of _width numbers; _take computes squares and means from the total sums.
 * Borrows units and scores. The caller frees *made, also on failure. */
typedef struct pv__unit_squares pv__unit_squares;
PV_MUST_USE pv_status pv__unit_squares_new(pv_ctx *ctx, const pv__units *units, const pv__scores *scores,
                                           pv__unit_squares **made);
void pv__unit_squares_free(pv_ctx *ctx, pv__unit_squares *squares); /* NULL is allowed */
size_t pv__unit_squares_width(const pv__unit_squares *squares);
void pv__unit_squares_add(const pv__unit_squares *squares, size_t slot, size_t begin, size_t n, const double *x,
                          double *sums);
void pv__unit_squares_take(pv__unit_squares *squares, const double *sums, pv__unit_sums *to);
/* Afterwards, for the first estimate's scores S: fourth [P] = the sum over units of (map S)^4, and *spread =
 * that of (S^T form S)^2. map and form are [P][P]; form is symmetric. */
PV_MUST_USE pv_status pv__units_moments(pv_ctx *ctx, const pv__units *units, const pv__scores *scores,
                                        const pv__unit_sums *sums, const double *map, const double *form,
                                        double *fourth, double *spread);

#endif
