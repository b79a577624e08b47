/* src/infer/estimate.h: a fit's posterior as minibatches estimate it. */
#ifndef PV_SRC_ESTIMATE_H
#define PV_SRC_ESTIMATE_H

#include "infer/density.h"

typedef struct pv__estimator pv__estimator;

/* density: the full data's, with the marginal summed over all rows in the place of an auxiliary network's, and
 * `estimate` from minibatches. w: the centre, best a maximum. The estimator owns what density borrows; the problem must
 * outlive it. */
pv_status pv__estimator_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__estimator **estimator,
                            pv_density *density);
void pv__estimator_free(pv_ctx *ctx, pv__estimator *estimator);

#endif
