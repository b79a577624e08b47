/* src/infer/controls.h: a population sample as control variates for the weighted estimate (controls.c). */
#ifndef PV_SRC_CONTROLS_H
#define PV_SRC_CONTROLS_H

#include "infer/side.h"

/* The inputs of the correction, and the estimate to improve. */
typedef struct pv__controlled {
    const pv__problem *whole; /* with the sample's rows after the labelled ones */
    pv__side *side;           /* the weighted estimate, with its residuals */
    const pv__units *units;   /* of the labelled rows */
    const double *square;     /* [P][P], sums of squares of its influences by unit */
    const double *chance;     /* [cells], variance of the logarithm of each prevalence; 0: known */
    double *estimate;         /* [P], after bias reduction */
    double
        *covariance; /* [P][P]: replaced by that of the improved estimate, without the uncertainty of the prevalences */
    double *prevalence; /* [cells][P], derivatives of the estimate with respect to log prevalences */
} pv__controlled;

/* Whether the sample and the labelled rows are compatible with one population with these prevalences. */
typedef struct pv__control_test {
    size_t controls; /* number of effective controls; 0: they are collinear, or the sample has too few people */
    double statistic, p, people;
} pv__control_test;

static inline bool pv__control_holds(const pv__control_test *test) {
    return test->controls == 0 || test->p >= 1e-3;
}

/* Whether there are enough units for as many controls as coefficients. Warns if the sample has too few. */
bool pv__controls_fit(pv_ctx *ctx, const pv__problem *whole, const pv__units *units);
/* Changes nothing, except for a warning, if there are no effective controls or the test rejects the sample. */
PV_MUST_USE pv_status pv__control(pv_ctx *ctx, const pv__controlled *of, pv__control_test *test);

#endif
