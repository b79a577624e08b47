/* lab/common/judge.h: calibration of the probabilities of one of two labels. Rows have an observed label or its true
 * probability; weights convert rows to a population. */
#ifndef PREVAIL_LAB_COMMON_JUDGE_H
#define PREVAIL_LAB_COMMON_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

/* p [n]: the probabilities to evaluate; y [n]: 0 or 1, or the true probability; weight [n], NULL: all 1. */
typedef struct judge_rows {
    size_t n;
    const double *p, *y, *weight;
} judge_rows;

/* Sums in bins of p, which can be added over data sets. Linear: ten bins of equal width in p. Log: bins of half a
 * decade, the first beginning at 0. */
enum { JUDGE_BINS = 14 };
typedef struct judge_bins {
    double mass[JUDGE_BINS], p[JUDGE_BINS], y[JUDGE_BINS];
} judge_bins;
bool judge_bins_sound(const judge_bins *bins); /* whether they are valid sums */
void judge_bins_add(judge_bins *bins, const judge_rows *rows, int log_scale);
void judge_bins_sum(judge_bins *sum, const judge_bins *more);

/* Expected and empirical false positive and false negative rates at threshold theta, where "positive" means p >= theta:
 * expected FPR = sum (1 - p) [p >= theta] / sum (1 - p), empirical FPR the same with y for p, and FNR likewise (section
 * 6 of the paper). */
typedef struct judge_rates {
    double expected_fpr, expected_fnr, fpr, fnr;
} judge_rates;
judge_rates judge_rates_at(const judge_rows *rows, double theta);
/* The largest difference between expected and empirical rates over all thresholds. */
void judge_gaps(const judge_rows *rows, double *fpr, double *fnr);

/* Sum of p over sum of y: 1 if the expected and actual numbers are equal. */
double judge_in_the_large(const judge_rows *rows);
/* Intercept a and slope b of logit P(y=1) = a + b logit p by maximum likelihood: 0 and 1 if calibrated. NaN if there is
 * no maximum. */
void judge_recalibrate(const judge_rows *rows, double *intercept, double *slope);
/* Mean log-loss minus that of the true probabilities y: mean of KL(y, p), in nats. */
double judge_excess(const judge_rows *rows);

#endif
