/* src/predict/bins.h: inference of an unknown prevalence of two labels from binned scores (bins.c, bins_interval.c). */
#ifndef PV_PREDICT_BINS_H
#define PV_PREDICT_BINS_H

#include "predict/mixture.h"

enum { PV__BINS_MOST = 10 };

/* Numbers of people of each label and of target rows, by bin of their score. */
typedef struct pv__counts {
    size_t bins;
    double known[2][PV__BINS_MOST], target[PV__BINS_MOST];
    double mass[2], targets; /* sums over bins */
    double told[2];          /* target rows with known labels */
} pv__counts;

typedef struct pv__bins {
    pv__counts counts;
    double edge[PV__BINS_MOST]; /* [bins - 1], ascending: bin j has the scores above edge[j - 1] up to edge[j] */
    double top;                 /* the largest score of the reference */
} pv__bins;

/* The most likely bin probabilities at a given prevalence. */
typedef struct pv__bins_fit {
    double pi, value; /* value: the log-likelihood */
    double f[2][PV__BINS_MOST];
} pv__bins_fit;

/* log r(1)/r(0) of a row, limited to the range of the reference. */
double pv__score_of(const pv_unknown_sample *sample, size_t i);
PV_MUST_USE pv_status pv__bins_new(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options,
                                   pv__bins *bins);
/* The log-likelihood of pi, maximised over both labels' bin probabilities. */
void pv__bins_profile(const pv__counts *counts, double pi, pv__bins_fit *fit);
/* The most likely pi. */
void pv__bins_mode(const pv__counts *counts, pv__bins_fit *fit);

/* (bins_interval.c) The interval of prevalences that the likelihood-ratio test does not reject, by a bootstrap. *scale:
 * a power for the likelihood; 1 if the ratio has its asymptotic distribution. */
PV_MUST_USE pv_status pv__bins_interval(pv_ctx *ctx, const pv__counts *counts, double level, int64_t seed,
                                        double ends[2], double *scale);
/* Draws counts of `total` people, rounded to whole numbers, with probabilities p [bins]; returns their sum. */
double pv__multinomial(pv_rng *rng, size_t bins, double total, const double *p, double *count);
/* The posterior with alpha [2] (prior plus known labels) and the likelihood raised to the power `scale`. */
PV_MUST_USE pv_status pv__bins_posterior(pv_ctx *ctx, const pv__counts *counts, const double *alpha, double scale,
                                         pv__pair *pair);
/* Test of whether the target counts are a mixture: *p, how often counts of a true mixture deviate as much. *statistic:
 * twice the log-likelihood ratio. */
PV_MUST_USE pv_status pv__bins_test(pv_ctx *ctx, const pv__counts *counts, int64_t seed, double *statistic, double *p);

#endif
