/* src/model/stack.h: a mixture of models (stack.c), and what its fit needs of it. */
#ifndef PV_SRC_STACK_H
#define PV_SRC_STACK_H

#include "model/model.h"

enum { PV__STACK_MEMBERS_MAX = 64 };

/* Builds "auto:prevalence+linear" from members' specs; NULL is the prevalence. The caller frees *spec with pv__free. */
PV_MUST_USE pv_status pv__stack_spec(pv_ctx *ctx, size_t members, const char *const *member, char **spec);
/* The number of parameters of a member: log v, its log marginals and its own; for the prevalence log v alone. */
size_t pv__stack_member_params(const pv_model *model, size_t member);
/* log v [members], normalised. */
void pv__stack_weights(const pv_model *model, const double *w, double *log_weight);
/* Converts a member's log p(y|x) [classes] in place to the prevalence exp(log_prior), with its ratio capped. */
void pv__stack_move(size_t classes, const double *log_marginal, double cap, const double *log_prior, double *loglik);

#endif
