/* src/validate/checks.h: how checks of a fit are written down. */
#ifndef PV_SRC_CHECKS_H
#define PV_SRC_CHECKS_H

#include <math.h>

#include "base/base.h"
#include "prevail/diagnose.h"

enum { PV_CHECKS_MAX = 16 };

/* Appends a check that is fine so far. There is room for PV_CHECKS_MAX, more than there are. */
pv_check *pv__check_add(pv_diagnosis *diagnosis, const char *name, const char *title, double value);
void pv__check_say(pv_check *check, const char *format, ...) PV_PRINTF(2, 3);
/* Says that it is not fine, and what to do. */
void pv__check_fail(pv_diagnosis *diagnosis, pv_check *check, const char *format, ...) PV_PRINTF(3, 4);

/* Whether value is to take the place of the worst so far. A NaN is the worst, and stays. */
static inline bool pv__worse(double value, double worst) {
    return !isnan(worst) && !(value <= worst);
}

/* Each parameter's mean over the draws and, where sd is not NULL, standard deviation, [pv_model_params]; without a
 * posterior the estimate, and sd is not touched. */
void pv__parameter_moments(const pv_classifier *classifier, double *mean, double *sd);

/* (weighting.c) Whether the linear model is adequate in the population, and whether a handful of rows decide. */
void pv__check_weighting(pv_diagnosis *diagnosis, const pv_classifier *classifier);

/* (seed.c) The checks that need the data of the fit. */
PV_MUST_USE pv_status pv__check_data(pv_ctx *ctx, pv_diagnosis *diagnosis, const pv_classifier *classifier,
                                     const pv_fit_options *fit, const pv_diagnose_options *options);

#endif
