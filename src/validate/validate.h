/* src/validate/validate.h: how a validation is made and its predictions are judged. */
#ifndef PV_SRC_VALIDATE_H
#define PV_SRC_VALIDATE_H

#include "base/base.h"
#include "prevail/validate.h"

/* Where metrics are stated, from the text of stated_for (judge.c). GIVEN: share [classes] is set. */
typedef enum pv__stated { PV__STATED_ROWS, PV__STATED_POPULATION, PV__STATED_GIVEN } pv__stated;
PV_MUST_USE pv_status pv__stated_read(pv_ctx *ctx, const char *text, char *const *labels, int classes,
                                      pv__stated *stated, double *share);

/* ---- strata (strata.c) ------------------------------------------------------------------------------------------- */

/* mass [strata][classes] of the population moved to these label shares, all strata alike; given NULL: left alone. */
void pv__strata_state(int strata, int classes, const double *given, double *mass);
/* Refuses rows that cannot be stated for that population: strata that rows do not name, or that lack a label's rows.
 * least: so many of each. */
PV_MUST_USE pv_status pv__strata_check_rows(pv_ctx *ctx, const pv_targets *targets, char *const *names,
                                            char *const *labels, int strata, const double *mass, size_t least);
/* Rows as they are: f [n][classes] becomes f + log d_s(y) - log d(y) of the row's stratum, d the label shares of the
 * rows, less marginal [strata][classes]. Rows without a stratum lose whole [classes]. */
PV_MUST_USE pv_status pv__strata_gain(pv_ctx *ctx, const pv_targets *targets, int strata, const double *marginal,
                                      const double *whole, double *f);
/* The marginals of a prediction's likelihoods, or of its probabilities where they are moved elsewhere: logs [1 +
 * strata][classes], of all together first. The caller frees. */
PV_MUST_USE pv_status pv__strata_logs(pv_ctx *ctx, const pv_prediction *said, double **logs);
/* What is judged by strata: the case as all rows have it, and mass [strata][classes] where it is stated for them. */
typedef struct pv__strata_case {
    const pv_targets *targets;
    const double *log_p, *loglik; /* loglik NULL: no marginals */
    const pv_predicted_strata *of;
    bool elsewhere;
    const double *mass; /* NULL: the rows as they are */
} pv__strata_case;
PV_MUST_USE pv_status pv__strata_judge(pv_ctx *ctx, const pv__strata_case *it, const pv_judge_options *options,
                                       pv_judgement *judgement);
void pv__strata_clear(pv_ctx *ctx, pv_judgement *judgement);

/* The charts of judged predictions, from calibration to the decision curve (report_curves.c). */
PV_MUST_USE pv_status pv__report_curves(pv_ctx *ctx, pv_report *report, const pv_report_judged *judged,
                                        const pv_operating *at);

/* Room for all predictions; fold, loglik, log_p and so on are the caller's to fill. with_prevalence: room for it. */
PV_MUST_USE pv_status pv__validation_new(pv_ctx *ctx, const pv_dataset *data, size_t folds, size_t repeats,
                                         bool with_prevalence, pv_validation **validation);
/* Fills metrics, pooled and its intervals from the rest. bootstrap, level, seed: as in pv_assess_options. */
PV_MUST_USE pv_status pv__validation_judge(pv_ctx *ctx, pv_validation *validation, int64_t bootstrap, double level,
                                           uint64_t seed);

#endif
