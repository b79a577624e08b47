/* src/predict/calibrated.h: an unknown prevalence by ratios that reference rows calibrate (calibrated.c). */
#ifndef PV_PREDICT_CALIBRATED_H
#define PV_PREDICT_CALIBRATED_H

#include "predict/mixture.h"

/* log f_1(s)/f_0(s) = a + b s; c: the multiplier. */
typedef struct pv__tilt {
    double a, b, c;
} pv__tilt;

/* Reference and target rows together, as points with weights. */
typedef struct pv__calibrated {
    size_t reference, points; /* of the points, the reference's come first */
    double *score;            /* [points]; the memory of all the others too */
    double *target;           /* [points], weight among the target rows */
    double *known[2];         /* [points], among the reference rows of each label */
    double *f[2];             /* [points], f_0 and f_1 at the mode */
    double mass[2], targets, total, unit;
    pv__tilt at; /* at the mode */
    double mode; /* logit pi there */
} pv__calibrated;

PV_MUST_USE pv_status pv__calibrated_new(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_reference *reference,
                                         pv__calibrated *calibrated);
/* log r(1)/r(0) of a row, within the reference's bounds. */
double pv__calibrated_score(const pv_unknown_sample *sample, size_t i);
void pv__calibrated_clear(pv_ctx *ctx, pv__calibrated *calibrated);
/* The posterior of logit pi with prior and known labels alpha [2], on an even grid, and the tilt at each of its points,
 * which the caller frees. *solved is false where the reference cannot tell: pair is then left alone. */
PV_MUST_USE pv_status pv__calibrated_solve(pv_ctx *ctx, pv__calibrated *calibrated, const double *alpha, pv__pair *pair,
                                           pv__tilt **tilt, bool *solved);
void pv__calibrated_densities(pv__calibrated *calibrated);

#endif
