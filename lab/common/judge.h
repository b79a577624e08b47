/* lab/common/judge.h: how well probabilities of one of two labels are calibrated. Rows have an observed label, or
 * its true probability; weights bring rows towards a population. */
#ifndef PREVAIL_LAB_COMMON_JUDGE_H
#define PREVAIL_LAB_COMMON_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

/* p [n]: probabilities judged; y [n]: 0 or 1, or the true probability; weight [n], NULL: 1 each. */
typedef struct judge_rows {
    size_t n;
    const double *p, *y, *weight;
} judge_rows;

/* Sums in bins of p, to be added up over data sets. Linear: ten of equal width in p. Log: of half a decade each, the
 * first from 0 up. */
enum { JUDGE_BINS = 14 };
typedef struct judge_bins {
    double mass[JUDGE_BINS], p[JUDGE_BINS], y[JUDGE_BINS];
} judge_bins;
bool judge_bins_sound(const judge_bins *bins); /* whether they can be sums at all */
void judge_bins_add(judge_bins *bins, const judge_rows *rows, int log_scale);
void judge_bins_sum(judge_bins *sum, const judge_bins *more);

/* Expected and empirical false positive and false negative rates at threshold theta, "positive" being p >= theta:
 * expected FPR = sum (1 - p) [p >= theta] / sum (1 - p), empirical the same with y for p; FNR likewise (section 6 of
 * the paper). */
typedef struct judge_rates {
    double expected_fpr, expected_fnr, fpr, fnr;
} judge_rates;
judge_rates judge_rates_at(const judge_rows *rows, double theta);
/* The largest differences of expected and empirical rates over all thresholds. */
void judge_gaps(const judge_rows *rows, double *fpr, double *fnr);

/* Sum of p over sum of y: 1 where as many are expected as there are. */
double judge_in_the_large(const judge_rows *rows);
/* Intercept a and slope b of logit P(y=1) = a + b logit p, by maximum likelihood: 0 and 1 where calibrated. NaN where
 * it has no maximum. */
void judge_recalibrate(const judge_rows *rows, double *intercept, double *slope);
/* Mean log-loss beyond that of the true probabilities y: sum of KL(y, p), in nats. */
double judge_excess(const judge_rows *rows);

#endif
