/* src/infer/deal_units.h: folds of units, for what a fit learns from rows that a part of it has not used. */
#ifndef PV_SRC_DEAL_UNITS_H
#define PV_SRC_DEAL_UNITS_H

#include "infer/infer.h"

enum { PV__DEAL_MANY_ROWS = 100000 }; /* with more rows, one held-out fold is enough */

/* The number of independently sampled units, and the smallest number for any label. A cluster counts for each of its
 * labels. */
PV_MUST_USE pv_status pv__count_units(pv_ctx *ctx, const pv_dataset *data, double *units, double *least);

typedef struct pv__dealing {
    uint64_t seed, first; /* repeats are those of pv_folds_make from this number on */
    size_t repeats;
    double least; /* number of units of the rarest label */
} pv__dealing;
/* Folds of all rows: *folds of them or, with too few units, fewer; below 2: none. fold [repeats][rows] refers to the
 * rows, or to those of *split if that is not NULL: counts in pieces. The caller frees both. */
PV_MUST_USE pv_status pv__deal_units(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *all,
                                     const pv__dealing *how, size_t *folds, pv_dataset **split, int32_t **fold);

#endif
