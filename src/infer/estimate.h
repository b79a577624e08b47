/* src/infer/estimate.h: a fit's log posterior estimated from minibatches. */
#ifndef PV_SRC_ESTIMATE_H
#define PV_SRC_ESTIMATE_H

#include "infer/density.h"

typedef struct pv__estimator pv__estimator;

/* density: that of the full data, with the marginal summed over all rows instead of an auxiliary network's, and with an
 * `estimate` from minibatches. w: the centre, ideally a maximum. The estimator owns what density borrows; the problem
 * must outlive it. */
pv_status pv__estimator_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__estimator **estimator,
                            pv_density *density);
void pv__estimator_free(pv_ctx *ctx, pv__estimator *estimator);

#endif
