/* src/infer/recession.h: directions in which no row of a matrix loses. */
#ifndef PV_SRC_INFER_RECESSION_H
#define PV_SRC_INFER_RECESSION_H

#include "base/base.h"

typedef struct pv__recession {
    double *direction; /* [size], in the relative interior of the cone {d : A d >= 0}, up to directions with A d = 0 */
    double *unseen;    /* [size], with A d = 0; a direction of no special kind among those. 0: A has full column rank */
    bool *gains;       /* [rows], whether A d > 0 for that direction; the others have A d = 0 in all of the cone */
    size_t gained;     /* how many do. 0: A d >= 0 implies A d = 0 */
    bool full;         /* whether A has full column rank */
    bool decided;      /* false: double precision did not suffice, and `gains` may lack rows */
} pv__recession;

/* A [rows][size]. start [size] or NULL: a guess at which A d is large. The caller frees *made with _free, also on
 * failure. */
PV_MUST_USE pv_status pv__recession_find(pv_ctx *ctx, size_t rows, size_t size, const double *A, const double *start,
                                         pv__recession *made);
void pv__recession_free(pv_ctx *ctx, pv__recession *made);

#endif
