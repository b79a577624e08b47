/* src/model/stack.h: a mixture of models (stack.c), and what its fit shares with it. */
#ifndef PV_SRC_STACK_H
#define PV_SRC_STACK_H

#include "model/model.h"

enum { PV__STACK_MEMBERS_MAX = 64 };

/* "auto:prevalence+linear" of members' specs; NULL is the prevalence. The caller frees *spec with pv__free. */
PV_MUST_USE pv_status pv__stack_spec(pv_ctx *ctx, size_t members, const char *const *member, char **spec);
/* Of one member: log v, its log marginals and its own; of the prevalence log v alone. */
size_t pv__stack_member_params(const pv_model *model, size_t member);
/* log v [members], normalised. */
void pv__stack_weights(const pv_model *model, const double *w, double *log_weight);
/* A member's log p(y|x) [classes] moved to the prevalence exp(log_prior), its ratio capped; in place. */
void pv__stack_move(size_t classes, const double *log_marginal, double cap, const double *log_prior, double *loglik);
double pv__stack_log_sum(double a, double b); /* log(exp(a) + exp(b)) */

#endif
