/* prevail/assess.h: metrics of predictions with confidence intervals, and curves (section 8 of the paper).
 *
 * A population is a label distribution. Two populations are distinguished: the one the predictions are made for
 * (pv_judged.prevalence) and the one the metrics are stated for (pv_assess_options.prevalence).
 */
#ifndef PREVAIL_ASSESS_H
#define PREVAIL_ASSESS_H

#include "prevail/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- metrics -------------------------------------------------------------------------------------------------------
 * The decision is the most probable label, the first if tied. The positive class is the last unless another is named;
 * tpr, tnr, ppv and npv compare it with all others. A row of weight v and soft labels t counts as v t(y) rows of each
 * label y. Undefined metrics, such as a rate without rows, are NaN. */
/* Columns: name; whether the metric depends on the prevalence it is stated for (ALWAYS, NEVER, or MANY: only with more
 * than two labels, through the shares of the others); smallest number of labels it is defined for; description. */
#define PV_METRIC_LIST(X)                                                                                              \
    X(calibration_ratio, ALWAYS, 2,                                                                                    \
      "two labels: mean predicted probability over observed proportion (E/O); above 1: too high")                      \
    X(calibration_slope, ALWAYS, 2, "two labels: slope of the label on the predicted log odds; below 1: too extreme")  \
    X(log_loss, ALWAYS, 2, "mean -log of the probability given to the observed label")                                 \
    X(brier, ALWAYS, 2, "mean squared error of the probabilities, summed over classes, halved for two")                \
    X(auc, NEVER, 2, "area under the ROC curve; more than two classes: mean over pairs (Hand and Till)")               \
    X(average_precision, ALWAYS, 2,                                                                                    \
      "two labels: area under precision and recall; the prevalence for an uninformative model")                        \
    X(tpr, NEVER, 2, "true positive rate (sensitivity): proportion of the positive rows called positive")              \
    X(tnr, MANY, 2, "true negative rate (specificity): proportion of the other rows not called positive")              \
    X(ppv, ALWAYS, 2, "positive predictive value: proportion of the rows called positive that are")                    \
    X(npv, ALWAYS, 2, "negative predictive value: proportion of the rows not called positive that are not")            \
    X(accuracy, ALWAYS, 2, "proportion of rows whose most probable label is the observed one")                         \
    X(one_off_accuracy, ALWAYS, 3, "three or more ordered labels: proportion of rows at most one label off")           \
    X(mcc, ALWAYS, 2, "Matthews correlation coefficient; more than two classes: Gorodkin's R_K")                       \
    X(ece, ALWAYS, 2, "expected calibration error, ten bins of equal count; more than two classes: of the decision")   \
    X(informedness, MANY, 2, "tpr + tnr - 1, each class against the rest, averaged by label proportion; 0 at chance")  \
    X(markedness, ALWAYS, 2, "ppv + npv - 1, each class against the rest, averaged by label proportion; 0 at chance")  \
    X(information_gain, ALWAYS, 2, "mean log p(y|x)/p(y), in nats; above 0: better than predicting the prevalence")    \
    X(holdout_nll, ALWAYS, 2, "log_loss after adapting the predictions to the population of the metrics")              \
    X(log_loss_upper, ALWAYS, 2, "log_loss plus two of its standard errors, as in the paper")

typedef struct pv_metrics {
#define PV_METRIC_FIELD(name, depends, least, text) double name;
    PV_METRIC_LIST(PV_METRIC_FIELD)
#undef PV_METRIC_FIELD
    double
        log_loss_sd; /* standard deviation of the estimate log_loss (Eq. g2 variance); weights count as repeated rows */
} pv_metrics;

/* The metrics as a table, ended by a row with a NULL name. offset is the field's offset in pv_metrics. */
typedef struct pv_metric_row {
    const char *name;
    const char *text;
    size_t offset;
    int least; /* smallest number of labels the metric is defined for */
    int from;  /* smallest number of labels with which it depends on the prevalence it is stated for */
} pv_metric_row;
extern const pv_metric_row pv_metric_table[];

/* The metric of that number, from 0, in the order of the table: its name and, where not NULL, what it is and the fewest
 * labels it is for. NULL outside. */
const char *pv_metric_name(size_t index, const char **text, int *least);

double pv_metric_get(const pv_metrics *metrics, const pv_metric_row *row);
void pv_metric_set(pv_metrics *metrics, const pv_metric_row *row, double value);

/* Computes the metrics of one model. loglik [n][classes] is the model's likelihood in the true population and
 * log_marginal its p(y|w). log_p [n][classes] are the predictions for the requested population. prevalence [classes] is
 * that of the true population (NULL: the label shares of targets). log_loss, log_loss_upper, holdout_nll and
 * information_gain are computed from loglik, the others from log_p. Takes O(n log n). Fails with PV_ERR_NUMERIC if a
 * row of loglik or log_p has a NaN or no finite entry, with PV_ERR_INPUT if no row has weight. */
PV_MUST_USE pv_status pv_assess(pv_ctx *ctx, const pv_targets *targets, const double *loglik,
                                const double *log_marginal, const double *log_p, const double *prevalence,
                                pv_metrics *metrics);

/* The predictions to evaluate, one row for each row of the targets. The arrays are borrowed. */
typedef struct pv_judged {
    const double *log_p;      /* [n][classes], the predictions */
    const double *prevalence; /* [classes], the population they are made for, in which log_loss is stated; NULL: the
                                 rows' label shares */
    const double *loglik; /* [n][classes], used with log_marginal for holdout_nll and information_gain; NULL: log_p */
    const double
        *log_marginal; /* [classes], p(y|w) of loglik; NULL: unknown, so that those two metrics are undefined */
} pv_judged;

typedef struct pv_assess_options {
    /* [classes], the population the metrics are stated for: rows of label y are weighted by prevalence(y) over the
     * label's share, and holdout_nll is adapted to it. NULL: the rows as they are, with log_loss in
     * pv_judged.prevalence. */
    const double *prevalence;
    /* [strata][classes], the share of that population in stratum s with label y; needs prevalence too, which is its sum
     * over the strata. The targets must have strata. Rows are then weighted by stratum and label, and the bootstrap
     * resamples within these cells. NULL: by label alone. */
    const double *stratum_mass;
    int strata;
    int positive;      /* the positive label of the rates; -1: the last */
    int64_t bootstrap; /* replicates of the bootstrap; 0: no intervals; -1: chosen automatically from the
                          number of rows */
    double level;      /* of the intervals */
    uint64_t seed;
    bool keep; /* resample single rows however many there are, and keep the replicates for pv_assessment_compare */
} pv_assess_options;

pv_assess_options pv_assess_options_default(void); /* defaults: no prevalence, last label, -1, 0.95, seed 1 */
extern const pv_option pv_assess_option_table[];   /* bootstrap, interval, seed; ends with a NULL name */

/* The same table as settings. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_assess_settings_new(pv_ctx *ctx, pv_settings **settings);
/* The pv_assess_options inside settings, borrowed; NULL if settings were made without pv_assess_option_table. */
const pv_assess_options *pv_assess_options_of(const pv_settings *settings);

/* Rows sorted by score, with equal scores grouped. All curves are computed from it. */
typedef struct pv_ranking pv_ranking;

typedef struct pv_assessment {
    pv_metrics value;
    pv_metrics lo, hi;     /* bounds of the intervals of the given level; NaN where there is no interval */
    int64_t replicates;    /* number of replicates used */
    const char *drawn;     /* how they were drawn: "within labels", "by cluster"; NULL: there are none. Static */
    size_t units;          /* number of clusters, matched sets, or rows with sampling weights; 0: drawn within labels */
    pv_ranking *ranking;   /* of the positive label against all others; freed by pv_assessment_clear */
    pv_metrics *replicate; /* [replicates], if they were kept, else NULL; freed by pv_assessment_clear */
} pv_assessment;

/* Computes the metrics with intervals, and the ranking for curves, in one pass over the rows and one sort (with more
 * than two classes: one sort for each class and one for ece). Uses all threads; the result does not depend on their
 * number. Memory is linear in the rows. Intervals are percentiles of bootstrap replicates drawn within labels, so that
 * each replicate has the label shares of the design; a row of weight v is drawn as v rows. With targets->unit or
 * sampling weights whole units are drawn, and the label shares are restored. With more than 8,192 rows of two classes
 * that are units, rows of neighbouring rank are drawn together in 4,096 groups (docs/method.md). Since resampling
 * inflates ece, its interval is reflected about the value. Half a row is added to or taken from a decision that no row
 * of some label got. There is no interval if all replicates agree. Fails like pv_assess. */
PV_MUST_USE pv_status pv_assess_intervals(pv_ctx *ctx, const pv_targets *targets, const pv_judged *judged,
                                          const pv_assess_options *options, pv_assessment *assessment);
void pv_assessment_clear(pv_ctx *ctx, pv_assessment *assessment);
/* Computes the metrics of `found` minus those of `first`, for two sets of predictions for the same rows. Both must have
 * kept their replicates and used the same seed: the replicates then drew the same rows, and the interval is that of the
 * paired difference. Free *difference with pv_assessment_clear. Different numbers of replicates are rejected. */
PV_MUST_USE pv_status pv_assessment_compare(pv_ctx *ctx, const pv_assessment *first, const pv_assessment *found,
                                            double level, pv_assessment *difference);

/* Whether a metric depends on the prevalence of the population it is stated for. */
bool pv_metric_depends(const pv_metric_row *row, int classes);

/* ---- grades --------------------------------------------------------------------------------------------------------
 * Splits ordered labels into two sides of a middle label (section 9 of the paper: below 3 benign, above 3 malignant).
 * frequency [n][2] gets a row's votes below and above, and weight [n] the row's weight times the share of its votes on
 * either side. *uncertain counts the rows with more than half of their votes on the middle grade; their weight is 0.
 * Refused: a middle that is the first or last label; data in which all rows are uncertain. */
PV_MUST_USE pv_status pv_binarise(pv_ctx *ctx, const pv_targets *targets, int middle, double *frequency, double *weight,
                                  size_t *uncertain);
/* Converts predictions log_p [n][classes] to sides [n][2], log p(side | not the middle). May be done in place. */
void pv_binarise_log(size_t n, int classes, int middle, const double *log_p, double *sides);

/* ---- curves --------------------------------------------------------------------------------------------------------
 * Curves of one label against all others. A curve is a table of numbers that can be plotted with any tool; undefined
 * values are NaN. A threshold t calls rows of probability p >= t positive. Intervals: Wilson's for shares; for
 * predictive values those of the logarithm of the likelihood ratios, which hold for label-based sampling (Mercaldo et
 * al. 2007); normal for net benefit. A label mass counts as that number of rows.
 */
#define PV_CURVE_LIST(X)                                                                                               \
    X(roc, "true against false positive rate")                                                                         \
    X(pr, "precision (ppv) against recall (tpr)")                                                                      \
    X(im, "informedness and markedness, at several prevalences")                                                       \
    X(calibration, "observed proportion of positives against mean probability, in bins of equal numbers of rows")      \
    X(calibration_smooth, "the same as a smooth curve of the probability, with a pointwise band")                      \
    X(expected, "false positives and negatives expected from the probabilities themselves against those observed")     \
    X(net_benefit,                                                                                                     \
      "decision curve: net benefit: true positives minus false positives times the odds of the threshold, per row")    \
    X(predictive_values, "ppv and npv of the decision at a fixed threshold, against the prevalence")

typedef enum pv_curve_kind {
#define PV_CURVE_ENUM(name, text) PV_CURVE_##name,
    PV_CURVE_LIST(PV_CURVE_ENUM)
#undef PV_CURVE_ENUM
        PV_CURVES
} pv_curve_kind;
bool pv_curve_kind_find(const char *name, pv_curve_kind *kind);

enum { PV_CURVE_COLUMNS = 16 };

typedef struct pv_curve {
    const char *name;
    const char *text;
    size_t points, columns;
    const char *column[PV_CURVE_COLUMNS]; /* [columns], column names */
    double *value;                        /* [points][columns] */
} pv_curve;

typedef struct pv_curve_options {
    size_t points;             /* maximum number of thresholds, evenly spread over both labels; 0: every distinct one */
    int bins;                  /* number of bins of the calibration curve */
    double level;              /* of the intervals */
    double threshold;          /* for predictive_values */
    const double *prevalences; /* [n_prevalences], for im; NULL: that of the ranking, then 0.001, 0.01, 0.1, 0.5, 0.9 */
    size_t n_prevalences;
} pv_curve_options;

pv_curve_options pv_curve_options_default(void); /* defaults: 500, 10, 0.95, 0.5, NULL */

/* Ranks the rows by their probability of the label positive (-1: the last). prevalence [classes] as in
 * pv_assess_options. The caller frees *ranking with pv_ranking_free. */
PV_MUST_USE pv_status pv_ranking_new(pv_ctx *ctx, const pv_targets *targets, const double *log_p, int positive,
                                     const double *prevalence, pv_ranking **ranking);
void pv_ranking_free(pv_ctx *ctx, pv_ranking *ranking); /* NULL is allowed */

/* A number with its interval; NaN where undefined. */
typedef struct pv_rate {
    double value, lo, hi;
} pv_rate;

/* Rates of the decision that calls rows of probability p >= threshold positive, in the population the ranking is stated
 * for. */
#define PV_RATE_LIST(X)                                                                                                \
    X(tpr, "true positive rate (sensitivity)")                                                                         \
    X(tnr, "true negative rate (specificity)")                                                                         \
    X(ppv, "positive predictive value")                                                                                \
    X(npv, "negative predictive value")                                                                                \
    X(called, "proportion of people called positive")                                                                  \
    X(net_benefit, "true positives less the false ones at the threshold's odds, per person")

typedef struct pv_rates {
    double threshold;
#define PV_RATE_FIELD(name, text) pv_rate name;
    PV_RATE_LIST(PV_RATE_FIELD)
#undef PV_RATE_FIELD
} pv_rates;

/* Intervals are computed as for the curves. A threshold outside (0, 1) is rejected. */
PV_MUST_USE pv_status pv_rates_at(pv_ctx *ctx, const pv_ranking *ranking, double threshold, double level,
                                  pv_rates *rates);
/* Mean cost per person if actions are chosen by the probability of the positive label: the first action below
 * threshold[0], the second from threshold[0] on, and so on. cost [actions][2] is the cost for people of the other
 * labels and of the positive label; threshold [actions - 1] must increase. */
PV_MUST_USE pv_status pv_ranking_cost(pv_ctx *ctx, const pv_ranking *ranking, size_t actions, const double *cost,
                                      const double *threshold, double level, pv_rate *mean);

/* calibration: bins have equal numbers of rows as far as ties allow and include their right end, so that none is empty
 * and mean_p lies in its bin. calibration_smooth: local logistic regression on the log odds; it has no points if a
 * label has no rows. The caller frees *curve with pv_curve_clear. */
PV_MUST_USE pv_status pv_curve_make(pv_ctx *ctx, const pv_ranking *ranking, pv_curve_kind kind,
                                    const pv_curve_options *options, pv_curve *curve);
void pv_curve_clear(pv_ctx *ctx, pv_curve *curve);

#ifdef __cplusplus
}
#endif
#endif
