/* prevail/assess.h: how good are predictions? Metrics with intervals, and curves (section 8 of the paper).
 *
 * A population is a label distribution. Two of them play a part: the one the predictions are for, and the one the
 * metrics are stated for (pv_judged.prevalence, pv_assess_options.prevalence).
 */
#ifndef PREVAIL_ASSESS_H
#define PREVAIL_ASSESS_H

#include "prevail/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- metrics -------------------------------------------------------------------------------------------------------
 * Decisions are the most probable label, the first if tied. The positive class is the last unless another is named;
 * tpr, tnr, ppv and npv set it against all others. A row of weight v and soft labels t counts as v t(y) rows of each
 * label y. NaN where undefined: a rate without rows, say. */
/* Name; whether it changes with the prevalence it is stated for: ALWAYS, NEVER, or with MANY labels only, more than
 * two, by the shares of the others; the fewest labels that it is for; what it is. */
#define PV_METRIC_LIST(X)                                                                                              \
    X(calibration_ratio, ALWAYS, 2,                                                                                    \
      "two labels, calibration in the large: mean probability over observed share (E/O)")                              \
    X(calibration_slope, ALWAYS, 2, "two labels: slope of the observed label on the log odds; below 1 overfits")       \
    X(nell, ALWAYS, 2, "log-loss: mean -log probability of the observed label")                                        \
    X(brier, ALWAYS, 2, "mean squared error of the probabilities, summed over classes, halved for two")                \
    X(auc, NEVER, 2, "area under the ROC curve; more than two classes: mean over pairs (Hand and Till)")               \
    X(average_precision, ALWAYS, 2,                                                                                    \
      "two labels: mean of the precision over the positive rows; chance has their share")                              \
    X(tpr, NEVER, 2, "true positive rate (sensitivity): share of the positive rows called positive")                   \
    X(tnr, MANY, 2, "true negative rate (specificity): share of the other rows not called positive")                   \
    X(ppv, ALWAYS, 2, "positive predictive value: share of the rows called positive that are")                         \
    X(npv, ALWAYS, 2, "negative predictive value: share of the rows not called positive that are not")                 \
    X(accuracy, ALWAYS, 2, "share of rows whose most probable label is the observed one")                              \
    X(one_off_accuracy, ALWAYS, 3, "three or more ordered labels: share of rows at most one label off")                \
    X(mcc, ALWAYS, 2, "Matthews correlation coefficient; more than two classes: Gorodkin's R_K")                       \
    X(ece, ALWAYS, 2, "expected calibration error, ten bins of equal count; more than two classes: of the decision")   \
    X(informedness, MANY, 2, "tpr + tnr - 1, each class against the rest, averaged by label share; 0 at chance")       \
    X(markedness, ALWAYS, 2, "ppv + npv - 1, each class against the rest, averaged by label share; 0 at chance")       \
    X(information_gain, ALWAYS, 2, "mean log p(y|x)/p(y), in nats; above 0 is better than guessing")                   \
    X(holdout_nll, ALWAYS, 2, "nell of the predictions adapted to the label shares it is stated for")                  \
    X(nell_upper, ALWAYS, 2, "nell plus two of its standard deviations")

typedef struct pv_metrics {
#define PV_METRIC_FIELD(name, depends, least, text) double name;
    PV_METRIC_LIST(PV_METRIC_FIELD)
#undef PV_METRIC_FIELD
    double nell_sd; /* standard deviation of nell as an estimate (Eq. g2 variance); weights count as repeated rows */
} pv_metrics;

/* The metrics as a table. Ends with a NULL name; offset: into pv_metrics. */
typedef struct pv_metric_row {
    const char *name;
    const char *text;
    size_t offset;
    int least; /* the fewest labels that it is for */
    int from;  /* the fewest labels with which it changes with the prevalence that it is stated for */
} pv_metric_row;
extern const pv_metric_row pv_metric_table[];

double pv_metric_get(const pv_metrics *metrics, const pv_metric_row *row);
void pv_metric_set(pv_metrics *metrics, const pv_metric_row *row, double value);

/* targets [n]; loglik [n][classes] the model's likelihood in the true population and log_marginal its p(y|w);
 * log_p [n][classes] the predictions judged (those of the population asked for); prevalence [classes] of the true
 * population (NULL: that of the targets). nell, nell_upper, holdout_nll and information_gain judge loglik, the others
 * log_p. Time n log n. A row of loglik or log_p with a NaN, or without a finite entry, is refused with
 * PV_ERR_NUMERIC; rows without any weight with PV_ERR_INPUT. */
PV_MUST_USE pv_status pv_assess(pv_ctx *ctx, const pv_targets *targets, const double *loglik,
                                const double *log_marginal, const double *log_p, const double *prevalence,
                                pv_metrics *metrics);

/* What is judged, one row for each of the targets'. Borrowed. */
typedef struct pv_judged {
    const double *log_p;        /* [n][classes], the predictions */
    const double *prevalence;   /* [classes] of the population they are for, where nell is stated; NULL: the rows' */
    const double *loglik;       /* [n][classes], with log_marginal for holdout_nll and information_gain; NULL: log_p */
    const double *log_marginal; /* [classes], p(y|w) of loglik; NULL: unknown, those two are undefined */
} pv_judged;

typedef struct pv_assess_options {
    /* [classes], the population that the metrics are stated for: rows of label y are weighted by prevalence(y) over the
     * label's share, and holdout_nll adapts to it. NULL: the rows as they are, nell in pv_judged.prevalence. */
    const double *prevalence;
    /* [strata][classes], the part of that population which is of stratum s and label y; prevalence, its sum over the
     * strata, is then needed as well. Rows, whose targets have strata, are weighted by stratum and label, and drawn
     * within these by the bootstrap. NULL: by label alone. */
    const double *stratum_mass;
    int strata;
    int positive;      /* the label that rates speak of; -1: the last */
    int64_t bootstrap; /* replicates of the stratified bootstrap; 0: no intervals; -1: as many as are worth the time */
    double level;      /* of the intervals */
    uint64_t seed;
    bool keep; /* rows are drawn one by one, however many, and the replicates kept, for pv_assessment_compare */
} pv_assess_options;

pv_assess_options pv_assess_options_default(void); /* no prevalence, the last, -1, 0.95, 1 */
extern const pv_option pv_assess_option_table[];   /* bootstrap, interval, seed; ends with a NULL name */

/* That table by name. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_assess_settings_new(pv_ctx *ctx, pv_settings **settings);
/* The options in settings that have the table, borrowed from them; NULL: they have not. */
const pv_assess_options *pv_assess_options_of(const pv_settings *settings);

/* Rows of equal score together, in order of the score: what every curve is made from. */
typedef struct pv_ranking pv_ranking;

typedef struct pv_assessment {
    pv_metrics value;
    pv_metrics lo, hi;     /* of level; NaN where there is no interval */
    int64_t replicates;    /* used */
    pv_ranking *ranking;   /* of the positive label against all others; pv_assessment_clear frees it */
    pv_metrics *replicate; /* [replicates], where they were kept; NULL: they were not. Freed with it */
} pv_assessment;

/* The metrics with intervals, and the ranking for curves. One pass over the rows, and one sort (more than two classes:
 * one for each class and one for ece), on all threads; the result does not depend on their number. Memory is linear in
 * the rows. Intervals are percentiles of bootstrap replicates drawn within labels, so the label shares are those of the
 * design in each; a row of weight v is drawn as v rows. Beyond 8,192 rows of two classes neighbours in rank are drawn
 * together (4,096 groups; docs/method.md). ece, which resampling inflates, has its interval turned about the value.
 * A decision that no row of a label has got counts as half a row of it, give or take. Where all replicates agree there
 * is no interval.
 * Fails as pv_assess does. */
PV_MUST_USE pv_status pv_assess_intervals(pv_ctx *ctx, const pv_targets *targets, const pv_judged *judged,
                                          const pv_assess_options *options, pv_assessment *assessment);
void pv_assessment_clear(pv_ctx *ctx, pv_assessment *assessment);
/* What found has more than first, of other predictions for the same rows, both kept and of one seed: replicates drew
 * the same rows, so that the interval is of the paired difference. *difference is cleared like any other. Refused:
 * other numbers of replicates. */
PV_MUST_USE pv_status pv_assessment_compare(pv_ctx *ctx, const pv_assessment *first, const pv_assessment *found,
                                            double level, pv_assessment *difference);

/* Whether a metric changes with the prevalence of the population it is stated for. */
bool pv_metric_depends(const pv_metric_row *row, int classes);

/* ---- grades --------------------------------------------------------------------------------------------------------
 * Ordered labels as two sides of a middle one (the paper's section 9: below 3 benign, above 3 malignant). The targets:
 * frequency [n][2] of a row's votes below and above, and its weight [n], what it had times the share of its votes on
 * either side. *uncertain counts the rows with more than half of their votes on the middle grade; their weight is 0.
 * Refused: a middle that is the first or last label; uncertain rows only. */
PV_MUST_USE pv_status pv_binarise(pv_ctx *ctx, const pv_targets *targets, int middle, double *frequency, double *weight,
                                  size_t *uncertain);
/* The predictions: log_p [n][classes] to sides [n][2], log p(side | not the middle). In place is fine. */
void pv_binarise_log(size_t n, int classes, int middle, const double *log_p, double *sides);

/* ---- curves --------------------------------------------------------------------------------------------------------
 * One label against all others. A curve is a table of numbers: for plotting, in any tool. Undefined is NaN. A threshold
 * t calls rows of probability p >= t positive. Intervals: Wilson's for shares; for predictive values those of the
 * logarithm of the likelihood ratios, which hold for label-based sampling (Mercaldo et al. 2007); normal for net
 * benefit. Label masses count as numbers of rows in them.
 */
#define PV_CURVE_LIST(X)                                                                                               \
    X(roc, "true against false positive rate")                                                                         \
    X(pr, "precision (ppv) against recall (tpr)")                                                                      \
    X(im, "informedness and markedness, at several prevalences")                                                       \
    X(calibration, "observed share of positives against mean probability, in bins of equal numbers of rows")           \
    X(calibration_smooth, "the same as a smooth curve of the probability, with a pointwise band")                      \
    X(expected, "false positives and negatives expected from the probabilities themselves against those observed")     \
    X(net_benefit, "decision curve: true positives less the false ones at the threshold's odds, per row")              \
    X(predictive_values, "ppv and npv of the decision at a fixed threshold, against the prevalence")

typedef enum pv_curve_kind {
#define PV_CURVE_ENUM(name, text) PV_CURVE_##name,
    PV_CURVE_LIST(PV_CURVE_ENUM)
#undef PV_CURVE_ENUM
        PV_CURVES
} pv_curve_kind;
const char *pv_curve_kind_name(pv_curve_kind kind);
bool pv_curve_kind_find(const char *name, pv_curve_kind *kind);

enum { PV_CURVE_COLUMNS = 16 };

typedef struct pv_curve {
    const char *name;
    const char *text;
    size_t points, columns;
    const char *column[PV_CURVE_COLUMNS]; /* [columns], names */
    double *value;                        /* [points][columns] */
} pv_curve;

typedef struct pv_curve_options {
    size_t points;             /* at most so many thresholds, evenly spread over both labels; 0: every distinct one */
    int bins;                  /* of the calibration curve */
    double level;              /* of the intervals */
    double threshold;          /* of predictive_values */
    const double *prevalences; /* [n_prevalences] of im; NULL: that of the ranking, then 0.001, 0.01, 0.1, 0.5, 0.9 */
    size_t n_prevalences;
} pv_curve_options;

pv_curve_options pv_curve_options_default(void); /* 500, 10, 0.95, 0.5, NULL */

/* Rows by their probability of the label positive (-1: the last). prevalence [classes] as in pv_assess_options. The
 * caller frees. */
PV_MUST_USE pv_status pv_ranking_new(pv_ctx *ctx, const pv_targets *targets, const double *log_p, int positive,
                                     const double *prevalence, pv_ranking **ranking);
void pv_ranking_free(pv_ctx *ctx, pv_ranking *ranking); /* NULL is fine */

/* A number with its interval; NaN where it is undefined. */
typedef struct pv_rate {
    double value, lo, hi;
} pv_rate;

/* Rates of the decision that calls rows of probability p >= threshold positive, in the population that the ranking is
 * stated for. */
#define PV_RATE_LIST(X)                                                                                                \
    X(tpr, "true positive rate (sensitivity)")                                                                         \
    X(tnr, "true negative rate (specificity)")                                                                         \
    X(ppv, "positive predictive value")                                                                                \
    X(npv, "negative predictive value")                                                                                \
    X(called, "share of people called positive")                                                                       \
    X(net_benefit, "true positives less the false ones at the threshold's odds, per person")

typedef struct pv_rates {
    double threshold;
#define PV_RATE_FIELD(name, text) pv_rate name;
    PV_RATE_LIST(PV_RATE_FIELD)
#undef PV_RATE_FIELD
} pv_rates;

/* Intervals as those of the curves. Refused: a threshold that is not between 0 and 1. */
PV_MUST_USE pv_status pv_rates_at(pv_ctx *ctx, const pv_ranking *ranking, double threshold, double level,
                                  pv_rates *rates);
/* The mean cost of a person where actions are chosen by the probability of the positive label: the first below
 * threshold[0], the next from there on, and so on. cost [actions][2]: of the other labels, of the positive one;
 * threshold [actions - 1], rising. */
PV_MUST_USE pv_status pv_ranking_cost(pv_ctx *ctx, const pv_ranking *ranking, size_t actions, const double *cost,
                                      const double *threshold, double level, pv_rate *mean);

/* calibration: bins of as many rows each as ties allow, right end included, so that none is empty and mean_p lies in
 * its bin. calibration_smooth: local logistic regression on the log odds; no points where a label has no rows. The
 * caller frees with pv_curve_clear. */
PV_MUST_USE pv_status pv_curve_make(pv_ctx *ctx, const pv_ranking *ranking, pv_curve_kind kind,
                                    const pv_curve_options *options, pv_curve *curve);
void pv_curve_clear(pv_ctx *ctx, pv_curve *curve);

#ifdef __cplusplus
}
#endif
#endif
