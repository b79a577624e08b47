/* src/core/core.h: what the core's files share. */
#ifndef PV_SRC_CORE_H
#define PV_SRC_CORE_H

#include "base/base.h"
#include "base/reduce.h"
#include "core/vector.h"
#include "prevail/core.h"

/* Row n's share of class y: 1 or 0 for hard labels. */
static inline double pv__share(const pv_targets *targets, size_t n, int y) {
    if (targets->label)
        return targets->label[n] == y ? 1 : 0;
    return targets->frequency[n * (size_t)targets->classes + (size_t)y];
}

static inline double pv__weight(const pv_targets *targets, size_t n) {
    return targets->weight ? targets->weight[n] : 1;
}

/* Row n's log ratios [classes], of log_ratio [classes], or of its stratum's where there are any. */
static inline const double *pv__ratio_of(const pv_targets *targets, const double *log_ratio, size_t n) {
    return log_ratio + (targets->stratum ? (size_t)targets->stratum[n] * (size_t)targets->classes : 0);
}

/* pv_targets_check, with unlabelled rows allowed or not. */
pv_status pv__targets_check(pv_ctx *ctx, const pv_targets *targets, bool unlabelled);

/* What a checkpoint keeps of an auxiliary network. */
size_t pv__auxiliary_fields(pv_auxiliary *auxiliary, pv_field *field /* [7] */);
/* Adam's moments of its bias [classes] and how many steps it has taken, for steps that are taken on a device. Borrowed.
 */
typedef struct pv__bias_moments {
    float *mean, *square;
    int64_t *steps;
} pv__bias_moments;
pv__bias_moments pv__auxiliary_moments(pv_auxiliary *auxiliary);

/* rows begin .. begin+n-1 of targets, borrowed. */
pv_targets pv__targets_slice(const pv_targets *targets, size_t begin, size_t n);

/* Returns -sum_n v_n sum_y factor_y t_ny f_ny and writes (add: adds) its gradient to dloglik [n][classes]. */
double pv__data_term(const pv_targets *targets, const double *factor, const double *loglik, double *dloglik, bool add);

/* The selection likelihood of rows, single-threaded; dloglik is scratch as well as output and must not be NULL.
 * With strata log_ratio has a row for each. row_factor [n] multiplies rows beside their weights (NULL: 1); dlog_ratio
 * is added to (NULL: not wanted). sums [n] is scratch. */
double pv__selection_rows(const pv_targets *targets, const double *row_factor, const double *log_ratio,
                          const double *loglik, double *dloglik, double *dlog_ratio, double *sums);

/* rho_n = v_n sum_y t_ny prevalence_y / mass_y: the weights of the plug-in marginal, summing to 1. Where there are
 * unlabelled rows, a sample of the population, they alone count, by their weights. */
void pv__plugin_weights(const pv_targets *targets, const double *prevalence, const double *mass, double *rho);

/* log sum_n rho_n exp f_n(y), and e [n][classes] = exp(f_n(y) - top_y) with sum [classes] = sum_n rho_n e_n(y) on the
 * way: rho_n e_ny / sum_y is the row's share of the marginal. part: of the chunks of rows. */
pv_status pv__log_mixture(pv_ctx *ctx, const pv__part *part, size_t n, int classes, const double *rho,
                          const double *loglik, double *log_marginal, double *sum, double *e);

/* ---- the profile's inner problem (profile.c) --------------------------------------------------------------------- */

typedef struct pv__profile {
    size_t n;
    pv__part part;          /* of its chunks of rows */
    int classes, reference; /* the class without a multiplier: a common one */
    const double *weight;   /* v, NULL: all 1 */
    double total;           /* W = sum v */
    double *counts;         /* [classes], c; where known: n_y */
    bool known;
    double *log_lambda; /* [classes], the solution, and the start of the next solve */
    double *multiplier; /* [classes], m_y = mu_y lambda_y; 0 for the reference */
    double *a;          /* [n][classes-1]: p_ny / lambda_y at the solution, the reference left out */
    double *theta;      /* [n] */
    double *partial;    /* per chunk sums */
    double *scratch;    /* small matrices */
} pv__profile;

pv_status pv__profile_init(pv_ctx *ctx, pv__profile *profile, const pv_targets *targets, const double *mass,
                           const pv_prevalence *population);
void pv__profile_clear(pv_ctx *ctx, pv__profile *profile);

/* Solves for loglik. *value = sum v log q + sum c log lambda (what is added to the plain loss), +INFINITY where the
 * known prevalence lies outside the hull of the rows. */
pv_status pv__profile_solve(pv_ctx *ctx, pv__profile *profile, const double *loglik, double *value);

/* Adds d value / d loglik. */
void pv__profile_backward(pv_ctx *ctx, const pv__profile *profile, double *dloglik);

/* ---- a profile for each stratum (profiles.c) -----------------------------------------------------------------------
 */

typedef struct pv__profiles {
    size_t count; /* 0: there are none */
    size_t n, classes;
    const double *share; /* [count], borrowed */
    size_t *row;         /* [n], rows of the data stratum by stratum */
    size_t *first;       /* [count + 1], into row */
    double *weight;      /* [n], in that order */
    pv__profile *profile;
    double *loglik, *dloglik;    /* [n][classes], in that order */
    double *marginal;            /* [1 + count][classes]: log p(y|w) of the mixture, then of each */
    double *lambda, *multiplier; /* [count][classes]: what the profiles remember, together */
} pv__profiles;

pv_status pv__profiles_init(pv_ctx *ctx, pv__profiles *strata, const pv_targets *targets,
                            const pv_prevalence *population);
void pv__profiles_clear(pv_ctx *ctx, pv__profiles *strata);
/* As the profile's: the sum over strata, and its gradient added to dloglik [n][classes] (NULL: not wanted). */
pv_status pv__profiles_solve(pv_ctx *ctx, pv__profiles *strata, const double *loglik, double *value, double *dloglik);
/* Label mass of each stratum, [strata][classes]. */
void pv__strata_mass(const pv_targets *targets, int strata, double *mass);
/* Refuses targets whose strata are not 0 .. strata-1, and strata that lack a label. */
pv_status pv__strata_check(pv_ctx *ctx, const pv_targets *targets, int strata);

/* Solves A x = b in place (A [n][n] is destroyed, b becomes x) by elimination with pivoting; false where singular. */
bool pv__solve_small(int n, double *a, double *b);
/* Lower Cholesky factor of the symmetric a [n][n], in place (the upper triangle is not read). A pivot not above floor
 * times its own diagonal entry is set to that; with floor 0 the function returns false there. Entries that are not
 * finite make it return false too. */
PV_MUST_USE bool pv__cholesky(size_t n, double *a, double floor);
/* Whether the symmetric part of a [n][n] is positive definite; a is destroyed. */
bool pv__positive_definite(size_t n, double *a);

#endif
