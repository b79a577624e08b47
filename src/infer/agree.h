/* src/infer/agree.h: what the tests of a line in the population share, with and without strata. */
#ifndef PV_SRC_INFER_AGREE_H
#define PV_SRC_INFER_AGREE_H

#include "core/core.h"
#include "infer/infer.h"

enum { PV__AGREE_ROWS = 1 << 14, PV__AGREE_PARAMS = 300 }; /* that covariances are from; that are tested together */

/* The weighted score and what is tested of it, [J * size]: size terms of each of J logits, the intercept first. */
typedef struct pv__agree_parts {
    size_t J, size;
    const double *prevalence; /* [J + 1], as stated, or as the fit has it */
    double total;             /* mass of the rows */
    const double *g;          /* the score of importance weighting */
    double *own;              /* the same, less what the profile's score explains */
    double *V;                /* [P][P], variance of own. Both are used up */
    const double *scale;      /* of g's variance: below it by far, one of V's is rounding */
} pv__agree_parts;

/* Means and their distances; and of the whole line, the test. */
PV_MUST_USE pv_status pv__agree_conclude(pv_ctx *ctx, const pv__agree_parts *parts, bool line, pv_agreement *found);

#endif
