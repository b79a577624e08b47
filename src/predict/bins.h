/* src/predict/bins.h: an unknown prevalence of two labels by bins of the scores (bins.c, bins_interval.c). */
#ifndef PV_PREDICT_BINS_H
#define PV_PREDICT_BINS_H

#include "predict/mixture.h"

enum { PV__BINS_MOST = 10 };

/* People of each label and target rows, by bin of their score. */
typedef struct pv__counts {
    size_t bins;
    double known[2][PV__BINS_MOST], target[PV__BINS_MOST];
    double mass[2], targets; /* their sums */
    double told[2];          /* target rows whose labels are known */
} pv__counts;

typedef struct pv__bins {
    pv__counts counts;
    double edge[PV__BINS_MOST]; /* [bins - 1], rising: bin j has the scores above edge[j - 1], up to edge[j] */
    double top;                 /* the largest score of the reference */
} pv__bins;

/* The most likely shares of the bins where the prevalence is pi. */
typedef struct pv__bins_fit {
    double pi, value; /* value: the log-likelihood */
    double f[2][PV__BINS_MOST];
} pv__bins_fit;

/* log r(1)/r(0) of a row, within the reference's bounds. */
double pv__score_of(const pv_unknown_sample *sample, size_t i);
PV_MUST_USE pv_status pv__bins_new(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options,
                                   pv__bins *bins);
/* The log-likelihood of pi with both labels' shares profiled out. */
void pv__bins_profile(const pv__counts *counts, double pi, pv__bins_fit *fit);
/* The most likely pi. */
void pv__bins_mode(const pv__counts *counts, pv__bins_fit *fit);

/* (bins_interval.c) The prevalences that the likelihood ratio does not refuse, by a bootstrap; *scale: what the
 * logarithm of the likelihood is worth, 1 where the ratio is distributed as with many rows. */
PV_MUST_USE pv_status pv__bins_interval(pv_ctx *ctx, const pv__counts *counts, double level, int64_t seed,
                                        double ends[2], double *scale);
/* Counts of `total` people, to the nearest whole, with probabilities p [bins]; returns how many. */
double pv__multinomial(pv_rng *rng, size_t bins, double total, const double *p, double *count);
/* The posterior with prior and known labels alpha [2], the likelihood taken to the power `scale`. */
PV_MUST_USE pv_status pv__bins_posterior(pv_ctx *ctx, const pv__counts *counts, const double *alpha, double scale,
                                         pv__pair *pair);
/* How often counts of a mixture are as far from one as these. *statistic: twice the log-likelihood ratio. */
PV_MUST_USE pv_status pv__bins_test(pv_ctx *ctx, const pv__counts *counts, int64_t seed, double *statistic, double *p);

#endif
