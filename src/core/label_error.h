/* src/core/label_error.h: the likelihood of labels that were recorded with errors. */
#ifndef PV_SRC_LABEL_ERROR_H
#define PV_SRC_LABEL_ERROR_H

#include "core/core.h"

/* Completes an error of which value and predictive are set, for a population in which the true label 1 has this
 * prevalence (NaN: rows are a random sample, so that it does not matter). False if no population has these values. */
PV_MUST_USE bool pv__label_error_complete(pv_label_error *error, double prevalence);

/* The variance of value[y]: that of a probability estimated from units[y] observations, with Jeffreys' prior. */
double pv__label_error_variance(const pv_label_error *error, int y);

/* One row at log-likelihoods of the true label; ratio: log of the sampled over the population's odds of the observed
 * label. */
typedef struct pv__recorded {
    double log_p[2]; /* of the observed label among sampled rows */
    double slope;    /* d logit / d eta, where eta is the log odds of the true label */
    double bend;     /* d slope / d eta */
} pv__recorded;
pv__recorded pv__recorded_of(const pv_label_error *error, double ratio, const double *loglik);

/* The negative log-likelihood of hard labels; its gradient replaces dloglik [n][2]. */
double pv__label_error_rows(const pv_targets *targets, const pv_label_error *error, double ratio, const double *loglik,
                            double *dloglik);

#endif
