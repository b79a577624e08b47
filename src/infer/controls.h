/* src/infer/controls.h: a sample of the population as control variates of the weighted estimate (controls.c). */
#ifndef PV_SRC_CONTROLS_H
#define PV_SRC_CONTROLS_H

#include "infer/side.h"

/* What they are taken of, and what they improve. */
typedef struct pv__controlled {
    const pv__problem *whole; /* with the sample's rows behind the labelled ones */
    pv__side *side;           /* the weighted estimate, with its residuals */
    const pv__units *units;   /* of the labelled rows */
    const double *square;     /* [P][P], the squares of its influences by unit */
    const double *chance;     /* [cells], the variance of the logarithm of each prevalence; 0: known */
    double *estimate;         /* [P], its bias reduced */
    double *covariance;       /* [P][P]: becomes the estimate's, but for what is uncertain of the prevalences */
    double *prevalence;       /* [cells][P], derivatives of the estimate by log prevalences */
} pv__controlled;

/* Whether the sample and the labelled rows can be of one population with these prevalences. */
typedef struct pv__control_test {
    size_t controls; /* that count; 0: they are collinear, or the people of the sample are too few */
    double statistic, p, people;
} pv__control_test;

static inline bool pv__control_holds(const pv__control_test *test) {
    return test->controls == 0 || test->p >= 1e-3;
}

/* Whether there are units enough for as many controls as there are coefficients. Warns where a sample has too few. */
bool pv__controls_fit(pv_ctx *ctx, const pv__problem *whole, const pv__units *units);
/* Without controls that count, or where the test does not hold, nothing changes, with a warning. */
PV_MUST_USE pv_status pv__control(pv_ctx *ctx, const pv__controlled *of, pv__control_test *test);

#endif
