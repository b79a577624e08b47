/* lab/common/density.h: a logistic model with normal priors, as a density for the engines. */
#ifndef PREVAIL_LAB_COMMON_DENSITY_H
#define PREVAIL_LAB_COMMON_DENSITY_H

#include "prevail/prevail.h"

/* p(Y=1|x,w) = sigmoid(x . w), w ~ N(0, prior_sd^2) each; loss and prior are normalised as in pv_full_loss. All arrays
 * are borrowed and must outlive the density. */
typedef struct study_problem {
    size_t dims;
    const double *x; /* [targets.n][dims] */
    pv_targets targets;
    pv_loss loss;
    pv_marginal marginal;
    pv_prevalence population;
    double prior_sd;
} study_problem;

PV_MUST_USE pv_status study_density_new(pv_ctx *ctx, const study_problem *problem, pv_density *density);
void study_density_free(pv_ctx *ctx, pv_density *density);
/* The value without gradient. marginal, if not NULL: p(Y=1|w); for plain and iw that of the plug-in. */
PV_MUST_USE pv_status study_density_value(pv_ctx *ctx, const pv_density *density, const double *w, double *value,
                                          double *marginal);
/* Moves w [dims] to the maximum by damped Newton steps. */
PV_MUST_USE pv_status study_density_mode(pv_ctx *ctx, const pv_density *density, double *w);

#endif
