/* src/core/core.h: declarations shared by the files of core. */
#ifndef PV_SRC_CORE_H
#define PV_SRC_CORE_H

#include "base/base.h"
#include "base/reduce.h"
#include "core/vector.h"
#include "prevail/core.h"

/* The frequency of class y in row n; 1 or 0 for hard labels. */
static inline double pv__share(const pv_targets *targets, size_t n, int y) {
    if (targets->label)
        return targets->label[n] == y ? 1 : 0;
    return targets->frequency[n * (size_t)targets->classes + (size_t)y];
}

static inline double pv__weight(const pv_targets *targets, size_t n) {
    return targets->weight ? targets->weight[n] : 1;
}

/* The log ratios [classes] that apply to row n: those of its stratum, or log_ratio itself if there are no strata. */
static inline const double *pv__ratio_of(const pv_targets *targets, const double *log_ratio, size_t n) {
    return log_ratio + (targets->stratum ? (size_t)targets->stratum[n] * (size_t)targets->classes : 0);
}

/* pv_targets_check, with `unlabelled` saying whether unlabelled rows are allowed. */
pv_status pv__targets_check(pv_ctx *ctx, const pv_targets *targets, bool unlabelled);

/* Lists the state of an auxiliary network that a checkpoint stores; returns the number of fields. */
size_t pv__auxiliary_fields(pv_auxiliary *auxiliary, pv_field *field /* [7] */);
/* Adam's moments of the bias [classes] and the number of steps taken, for training on a device. Borrowed.
 */
typedef struct pv__bias_moments {
    float *mean, *square;
    int64_t *steps;
} pv__bias_moments;
pv__bias_moments pv__auxiliary_moments(pv_auxiliary *auxiliary);

/* Rows begin .. begin+n-1 of targets, borrowed. */
pv_targets pv__targets_slice(const pv_targets *targets, size_t begin, size_t n);

/* Returns -sum_n v_n sum_y factor_y t_ny f_ny. Writes its gradient to dloglik [n][classes], or adds it if `add`. */
double pv__data_term(const pv_targets *targets, const double *factor, const double *loglik, double *dloglik, bool add);

/* The selection likelihood of rows, single-threaded. dloglik serves as scratch as well as output and must not be NULL.
 * log_ratio has one row per stratum if there are strata. row_factor [n] multiplies the row weights (NULL: 1). The
 * gradient with respect to log_ratio is added to dlog_ratio (NULL: not wanted). sums [n] is scratch. */
double pv__selection_rows(const pv_targets *targets, const double *row_factor, const double *log_ratio,
                          const double *loglik, double *dloglik, double *dlog_ratio, double *sums);

/* rho_n = v_n sum_y t_ny prevalence_y / mass_y: the weights of the plug-in marginal, summing to 1. If there are
 * unlabelled rows (a sample of the population), only they count, in proportion to their weights. */
void pv__plugin_weights(const pv_targets *targets, const double *prevalence, const double *mass, double *rho);

/* log sum_n rho_n exp f_n(y). Also writes e [n][classes] = exp(f_n(y) - top_y) and sum [classes] = sum_n rho_n e_n(y),
 * so that rho_n e_ny / sum_y is the fraction of the marginal contributed by row n. part: this process's chunks of
 * rows. */
pv_status pv__log_mixture(pv_ctx *ctx, const pv__part *part, size_t n, int classes, const double *rho,
                          const double *loglik, double *log_marginal, double *sum, double *e);

/* ---- inner problem of the profile (profile.c) -------------------------------------------------------------------- */

typedef struct pv__profile {
    size_t n;
    pv__part part;          /* this process's chunks of rows */
    int classes, reference; /* reference: the class without a multiplier, chosen among the common ones */
    const double *weight;   /* v, NULL: all 1 */
    double total;           /* W = sum v */
    double *counts;         /* [classes], c; if the prevalence is known: n_y */
    bool known;
    double *log_lambda; /* [classes], the solution, and the starting point of the next solve */
    double *multiplier; /* [classes], m_y = mu_y lambda_y; 0 for the reference */
    double *a;          /* [n][classes-1]: p_ny / lambda_y at the solution, without the reference class */
    double *theta;      /* [n] */
    double *partial;    /* sums per chunk */
    double *scratch;    /* small matrices */
} pv__profile;

pv_status pv__profile_init(pv_ctx *ctx, pv__profile *profile, const pv_targets *targets, const double *mass,
                           const pv_prevalence *population);
void pv__profile_clear(pv_ctx *ctx, pv__profile *profile);

/* Solves for loglik. *value = sum v log q + sum c log lambda, the term to add to the plain loss; +INFINITY if a known
 * prevalence lies outside the convex hull of the rows. */
pv_status pv__profile_solve(pv_ctx *ctx, pv__profile *profile, const double *loglik, double *value);

/* Adds d value / d loglik. */
void pv__profile_backward(pv_ctx *ctx, const pv__profile *profile, double *dloglik);

/* ---- one profile per stratum (profiles.c) ---------------------------------------------------------------------------
 */

typedef struct pv__profiles {
    size_t count; /* 0: no strata */
    size_t n, classes;
    const double *share; /* [count], borrowed */
    size_t *row;         /* [n], indices of the rows, ordered by stratum */
    size_t *first;       /* [count + 1], start of each stratum in `row` */
    double *weight;      /* [n], in the order of `row` */
    pv__profile *profile;
    double *loglik, *dloglik;    /* [n][classes], in the order of `row` */
    double *marginal;            /* [1 + count][classes]: log p(y|w) of the mixture, then of each stratum */
    double *lambda, *multiplier; /* [count][classes]: starting points of all profiles, in one array each */
} pv__profiles;

pv_status pv__profiles_init(pv_ctx *ctx, pv__profiles *strata, const pv_targets *targets,
                            const pv_prevalence *population);
void pv__profiles_clear(pv_ctx *ctx, pv__profiles *strata);
/* Like pv__profile_solve: the sum over strata, with the gradient added to dloglik [n][classes] (NULL: not wanted). */
pv_status pv__profiles_solve(pv_ctx *ctx, pv__profiles *strata, const double *loglik, double *value, double *dloglik);
/* Label mass of each stratum, [strata][classes]. */
void pv__strata_mass(const pv_targets *targets, int strata, double *mass);
/* Rejects targets whose strata are not 0 .. strata-1, and strata without rows of some class. */
pv_status pv__strata_check(pv_ctx *ctx, const pv_targets *targets, int strata);

/* Solves A x = b in place by elimination with pivoting: A [n][n] is destroyed, b becomes x. False if A is singular. */
bool pv__solve_small(int n, double *a, double *b);
/* Lower Cholesky factor of the symmetric matrix a [n][n], in place; the upper triangle is not read. A pivot at or below
 * floor times its diagonal entry is replaced by that value; with floor 0 the function returns false instead. It also
 * returns false if an entry is not finite. */
PV_MUST_USE bool pv__cholesky(size_t n, double *a, double floor);
/* Whether the symmetric part of a [n][n] is positive definite. Destroys a. */
bool pv__positive_definite(size_t n, double *a);

#endif
