/* src/validate/validate.h: how a validation is made and its predictions are judged. */
#ifndef PV_SRC_VALIDATE_H
#define PV_SRC_VALIDATE_H

#include "base/base.h"
#include "prevail/validate.h"

/* Where metrics are stated, from the text of stated_for (judge.c). GIVEN: share [classes] is set. */
typedef enum pv__stated { PV__STATED_ROWS, PV__STATED_POPULATION, PV__STATED_GIVEN } pv__stated;
PV_MUST_USE pv_status pv__stated_read(pv_ctx *ctx, const char *text, char *const *labels, int classes,
                                      pv__stated *stated, double *share);

/* Room for all predictions; fold, loglik, log_p and so on are the caller's to fill. with_prevalence: room for it. */
PV_MUST_USE pv_status pv__validation_new(pv_ctx *ctx, const pv_dataset *data, size_t folds, size_t repeats,
                                         bool with_prevalence, pv_validation **validation);
/* Fills metrics, pooled and its intervals from the rest. bootstrap, level, seed: as in pv_assess_options. */
PV_MUST_USE pv_status pv__validation_judge(pv_ctx *ctx, pv_validation *validation, int64_t bootstrap, double level,
                                           uint64_t seed);

#endif
