/* src/assess/assess.h: the groups of metrics that pv_assess gathers; each writes its own fields only. */
#ifndef PV_SRC_ASSESS_H
#define PV_SRC_ASSESS_H

#include "base/base.h"
#include "prevail/assess.h"

/* The labels a row counts for: first <= y < last, each with pv__row_mass > 0 or to be skipped. */
typedef struct pv__row {
    int first, last;
} pv__row;

static inline pv__row pv__row_labels(const pv_targets *targets, size_t n) {
    return targets->label ? (pv__row){targets->label[n], targets->label[n] + 1} : (pv__row){0, targets->classes};
}

static inline double pv__row_weight(const pv_targets *targets, size_t n) {
    return targets->weight ? targets->weight[n] : 1.0;
}

/* The mass row n lends to label y, one of pv__row_labels. */
static inline double pv__row_mass(const pv_targets *targets, size_t n, int y) {
    double share = targets->label ? 1.0 : targets->frequency[n * (size_t)targets->classes + (size_t)y];
    return pv__row_weight(targets, n) * share;
}

/* accuracy, rates, predictive values, informedness, markedness, mcc, one_off_accuracy. */
PV_MUST_USE pv_status pv__assess_decisions(pv_ctx *ctx, const pv_targets *targets, const double *log_p,
                                           pv_metrics *metrics);
/* auc, ece. */
PV_MUST_USE pv_status pv__assess_ranks(pv_ctx *ctx, const pv_targets *targets, const double *log_p,
                                       pv_metrics *metrics);

/* The most probable label, the first of equals. */
int pv__decision(int classes, const double *log_p);

#endif
