/* src/validate/validate.h: internal declarations for validations and the evaluation of their predictions. */
#ifndef PV_SRC_VALIDATE_H
#define PV_SRC_VALIDATE_H

#include "base/base.h"
#include "prevail/validate.h"

/* The population for which metrics are reported, parsed from stated_for (judge.c). GIVEN: share [classes] is set. */
typedef enum pv__stated { PV__STATED_ROWS, PV__STATED_POPULATION, PV__STATED_GIVEN } pv__stated;
PV_MUST_USE pv_status pv__stated_read(pv_ctx *ctx, const char *text, char *const *labels, int classes,
                                      pv__stated *stated, double *share);

/* ---- strata (judged_strata.c) ------------------------------------------------------------------------------------ */

/* Scales mass [strata][classes] of the population to these label proportions, in the same way in all strata; given
 * NULL: unchanged. */
void pv__strata_state(int strata, int classes, const double *given, double *mass);
/* Rejects rows that cannot represent that population: rows without a stratum, and strata with fewer than `least` rows
 * of a label. */
PV_MUST_USE pv_status pv__strata_check_rows(pv_ctx *ctx, const pv_targets *targets, char *const *names,
                                            char *const *labels, int strata, const double *mass, size_t least);
/* For unweighted rows: f [n][classes] becomes f + log d_s(y) - log d(y), where d are the label proportions of the rows,
 * in the row's stratum and overall, minus marginal [strata][classes]. Rows without a stratum subtract whole
 * [classes]. */
PV_MUST_USE pv_status pv__strata_gain(pv_ctx *ctx, const pv_targets *targets, int strata, const double *marginal,
                                      const double *whole, double *f);
/* The marginals of a prediction's likelihoods, or of its probabilities if those were converted: logs [1 +
 * strata][classes], that of all rows first. The caller frees. */
PV_MUST_USE pv_status pv__strata_logs(pv_ctx *ctx, const pv_prediction *said, double **logs);
/* The input for evaluating strata: the case of all rows, and mass [strata][classes] if metrics are reported for
 * strata. */
typedef struct pv__strata_case {
    const pv_targets *targets;
    const double *log_p, *loglik; /* loglik NULL: no marginals */
    const pv_predicted_strata *of;
    bool elsewhere;
    const double *mass; /* NULL: unweighted rows */
} pv__strata_case;
PV_MUST_USE pv_status pv__strata_judge(pv_ctx *ctx, const pv__strata_case *it, const pv_judge_options *options,
                                       pv_judgement *judgement);
void pv__strata_clear(pv_ctx *ctx, pv_judgement *judgement);

/* Adds the charts of evaluated predictions, from calibration to the decision curve (report_curves.c). */
PV_MUST_USE pv_status pv__report_curves(pv_ctx *ctx, pv_report *report, const pv_report_judged *judged,
                                        const pv_operating *at);

/* Allocates the predictions; the caller fills fold, loglik, log_p and so on. with_prevalence: allocates prevalences
 * too. */
PV_MUST_USE pv_status pv__validation_new(pv_ctx *ctx, const pv_dataset *data, size_t folds, size_t repeats,
                                         bool with_prevalence, pv_validation **validation);
/* Computes metrics, pooled metrics and their intervals from the predictions. bootstrap, level, seed: as in
 * pv_assess_options. */
PV_MUST_USE pv_status pv__validation_judge(pv_ctx *ctx, pv_validation *validation, int64_t bootstrap, double level,
                                           uint64_t seed);

#endif
