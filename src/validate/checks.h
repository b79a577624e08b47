/* src/validate/checks.h: functions that write the checks of a fit. */
#ifndef PV_SRC_CHECKS_H
#define PV_SRC_CHECKS_H

#include <math.h>

#include "base/base.h"
#include "prevail/diagnose.h"

enum { PV_CHECKS_MAX = 16 };

/* Appends a check without a problem. There is space for PV_CHECKS_MAX, which is more than there are. */
pv_check *pv__check_add(pv_diagnosis *diagnosis, const char *name, const char *title, double value);
void pv__check_say(pv_check *check, const char *format, ...) PV_PRINTF(2, 3);
/* Marks the check as a problem, and says what to do. */
void pv__check_fail(pv_diagnosis *diagnosis, pv_check *check, const char *format, ...) PV_PRINTF(3, 4);

/* Whether value replaces the worst value so far. NaN counts as the worst. */
static inline bool pv__worse(double value, double worst) {
    return !isnan(worst) && !(value <= worst);
}

/* Each parameter's mean over the draws and, unless sd is NULL, standard deviation, [pv_model_params]. Without a
 * posterior, mean is the estimate and sd is not changed. */
void pv__parameter_moments(const pv_classifier *classifier, double *mean, double *sd);

/* (weighting.c) Checks whether the linear model is adequate in the population, and whether a handful of rows
 * dominate. */
void pv__check_weighting(pv_diagnosis *diagnosis, const pv_classifier *classifier);

/* (seed.c) Runs the checks that need the data of the fit. */
PV_MUST_USE pv_status pv__check_data(pv_ctx *ctx, pv_diagnosis *diagnosis, const pv_classifier *classifier,
                                     const pv_fit_options *fit, const pv_diagnose_options *options);

#endif
