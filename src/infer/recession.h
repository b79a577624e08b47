/* src/infer/recession.h: finds the directions in which no row of a matrix has a negative product. */
#ifndef PV_SRC_INFER_RECESSION_H
#define PV_SRC_INFER_RECESSION_H

#include "base/base.h"

typedef struct pv__recession {
    double *direction; /* [size], in the relative interior of the cone {d : A d >= 0}, up to directions with A d = 0 */
    double *unseen;    /* [size], an arbitrary direction with A d = 0. 0: A has full column rank */
    bool *gains;       /* [rows], whether A d > 0 for `direction`; the other rows have A d = 0 in the whole cone */
    size_t gained;     /* number of rows that gain. 0: A d >= 0 implies A d = 0 */
    bool full;         /* whether A has full column rank */
    bool decided;      /* false: double precision was not enough, and `gains` may lack rows */
} pv__recession;

/* A [rows][size]. start [size]: a guess of a d with large A d, or NULL. The caller frees *made with _free, also on
 * failure. */
PV_MUST_USE pv_status pv__recession_find(pv_ctx *ctx, size_t rows, size_t size, const double *A, const double *start,
                                         pv__recession *made);
void pv__recession_free(pv_ctx *ctx, pv__recession *made);

#endif
