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
    double *estimate;         /* [P], its bias reduced */
    double *covariance;       /* [P][P]: becomes the estimate's, but for what is uncertain of the prevalences */
    double *prevalence;       /* [cells][P], derivatives of the estimate by log prevalences */
} pv__controlled;

/* Whether there are units enough for as many controls as there are coefficients. */
bool pv__controls_fit(const pv__problem *whole, const pv__units *units);
/* *controls: how many there were; 0 where they are collinear, and nothing changed. */
PV_MUST_USE pv_status pv__control(pv_ctx *ctx, const pv__controlled *of, int64_t *controls);

#endif
