/* prevail/assess.h: how good are predictions? Metrics that need no curve (section 8 of the paper). */
#ifndef PREVAIL_ASSESS_H
#define PREVAIL_ASSESS_H

#include "prevail/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Decisions are the most probable label, the first of equals. The positive class is the last; tpr, tnr, ppv and npv set
 * it against all others. A row of weight v and soft labels t counts as v t(y) rows of each label y. NaN where
 * undefined: a rate without rows, say. */
#define PV_METRIC_LIST(X)                                                                                              \
    X(nell, "negative expected log-likelihood in the true population (Eq. expected log-likelihood estimate)")          \
    X(nell_upper, "nell plus two of its standard deviations")                                                          \
    X(holdout_nll, "mean -log probability of the observed label, predictions adapted to these rows' label shares")     \
    X(information_gain, "mean log p(y|x)/p(y), in nats; above 0 is better than guessing")                              \
    X(accuracy, "share of rows whose most probable label is the observed one")                                         \
    X(tnr, "true negative rate (specificity): share of the other rows not called positive")                            \
    X(tpr, "true positive rate (sensitivity): share of the positive rows called positive")                             \
    X(npv, "negative predictive value: share of the rows not called positive that are not")                            \
    X(ppv, "positive predictive value: share of the rows called positive that are")                                    \
    X(auc, "area under the ROC curve; more than two classes: mean over pairs (Hand and Till)")                         \
    X(informedness, "tpr + tnr - 1, each class against the rest, averaged by label share; 0 at chance")                \
    X(markedness, "ppv + npv - 1, each class against the rest, averaged by label share; 0 at chance")                  \
    X(mcc, "Matthews correlation coefficient; more than two classes: Gorodkin's R_K")                                  \
    X(brier, "mean squared error of the probabilities, summed over classes, halved for two")                           \
    X(ece, "expected calibration error, ten bins of equal count; more than two classes: of the decision")              \
    X(one_off_accuracy, "three or more ordered labels: share of rows at most one label off")

typedef struct pv_metrics {
#define PV_METRIC_FIELD(name, text) double name;
    PV_METRIC_LIST(PV_METRIC_FIELD)
#undef PV_METRIC_FIELD
    double nell_sd; /* standard deviation of nell as an estimate (Eq. g2 variance); weights count as repeated rows */
} pv_metrics;

/* The metrics as a table: name, text, offset into pv_metrics. Ends with a NULL name. */
typedef struct pv_metric_row {
    const char *name;
    const char *text;
    size_t offset;
} pv_metric_row;
extern const pv_metric_row pv_metric_table[];

/* targets [n]; loglik [n][classes] the model's likelihood in the true population and log_marginal its p(y|w);
 * log_p [n][classes] the predictions judged (those of the population asked for); prevalence [classes] of the true
 * population (NULL: that of the targets). nell, nell_upper, holdout_nll and information_gain judge loglik, the others
 * log_p. Time n log n. A row of loglik or log_p with a NaN, or without a finite entry, is refused with
 * PV_ERR_NUMERIC; rows without any weight with PV_ERR_INPUT. */
PV_MUST_USE pv_status pv_assess(pv_ctx *ctx, const pv_targets *targets, const double *loglik,
                                const double *log_marginal, const double *log_p, const double *prevalence,
                                pv_metrics *metrics);

#ifdef __cplusplus
}
#endif
#endif
