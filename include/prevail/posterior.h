/* prevail/posterior.h: posteriors of any differentiable density: Laplace's approximation, a mixture of Gaussians fitted
 * by variational inference, and Hamiltonian Monte Carlo with the no-U-turn criterion.
 *
 * The functions take a density and return draws; they do not depend on models. pv_fit uses them for --infer laplace, vi
 * and hmc.
 */
#ifndef PREVAIL_POSTERIOR_H
#define PREVAIL_POSTERIOR_H

#include "prevail/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- densities --------------------------------------------------------------------------------------------------- */

/* A negative log density, normalised or not, with its gradient.
 *   eval      writes *value and gradient [dims]; *value is +INFINITY where the density is 0 (the gradient is then not
 *             used). Returns a status other than PV_OK only if the work must stop (out of memory, a defect).
 *   clone     optional: makes a copy for another thread, which will use the context ctx; freed by release. NULL: only
 *             one thread is used.
 *   estimate  optional: an unbiased estimate at count points w [count][dims], different in each call (for example from
 * a minibatch): values [count], gradients [count][dims]. vi uses it for its steps; all else is exact. memory optional:
 * the data a state keeps between evaluations (for example the start of an inner solver), stored in checkpoints; at most
 * PV_MEMORY_FIELDS. Returns their number. NULL: a state keeps nothing. source_memory, source_recalled optional: the
 * same for source; source_recalled checks the restored data. many      optional: eval at count points w [count][dims]
 * in one call, each with its own state, states [count]: values [count], gradients [count][dims]. Results must not
 * depend on the number of points. vi uses it for all points of a step, hmc for those of its chains.
 */
enum { PV_MEMORY_FIELDS = 16 };
typedef struct pv_density {
    size_t dims;
    void *state;
    pv_status (*eval)(pv_ctx *ctx, void *state, const double *w, double *value, double *gradient);
    pv_status (*clone)(pv_ctx *ctx, void *state, void **copy);
    void (*release)(pv_ctx *ctx, void *copy);
    void *source;
    pv_status (*estimate)(pv_ctx *ctx, void *source, size_t count, const double *w, double *values, double *gradients);
    size_t (*memory)(void *state, pv_field *field);
    size_t (*source_memory)(void *source, pv_field *field);
    pv_status (*source_recalled)(pv_ctx *ctx, void *source);
    pv_status (*many)(pv_ctx *ctx, size_t count, void *const *states, const double *w, double *values,
                      double *gradients);
} pv_density;

/* ---- results ----------------------------------------------------------------------------------------------------- */

typedef enum pv_posterior_kind { PV_POSTERIOR_LAPLACE, PV_POSTERIOR_VI, PV_POSTERIOR_HMC } pv_posterior_kind;
#define PV_POSTERIOR_KIND_LIST(X)                                                                                      \
    X(LAPLACE, "laplace")                                                                                              \
    X(VI, "vi")                                                                                                        \
    X(HMC, "hmc")
const char *pv_posterior_kind_name(pv_posterior_kind kind);
bool pv_posterior_kind_find(const char *name, pv_posterior_kind *kind);

/* Gaussian mixture: weights [components], means [components][dims], and lower Cholesky factors of the covariances
 * [components][dims][dims], or, if these are diagonal, standard deviations [components][dims]. laplace and robust have
 * one component. rank > 0: the covariance is low-rank plus diagonal, scale (I + basis^T (F F^T - I) basis) scale with
 * basis [rank][dims] orthonormal, scale [dims], and F the factors [components][rank][rank]. */
enum { PV_MIXTURE_RANK_MAX = 64 };
typedef struct pv_mixture {
    size_t components, dims;
    double *weight, *mean, *factor;
    bool diagonal;
    size_t rank;
    double *scale, *basis; /* NULL if rank is 0 */
} pv_mixture;

typedef struct pv_posterior {
    pv_posterior_kind kind;
    size_t dims, count;
    double *draws;      /* [count][dims], of equal weight; hmc: ordered by chain */
    pv_mixture mixture; /* laplace, vi, robust; no components for hmc */
    pv_stop stop;
    int64_t iterations;
    double elbo, elbo_se; /* vi: final bound from new samples, and its Monte-Carlo standard error; laplace: its estimate
                             of the log evidence, with se 0; else NaN */
    double evidence; /* vi: best available estimate of the log evidence, from importance weights and Laplace's method;
                        else NaN. If the bound is more than 0.5 below it, stop is PV_STOP_POOR */
    size_t chains;   /* hmc */
    double *rhat, *ess;  /* hmc: [dims], split R-hat (rank-normalised) and bulk effective sample size; else NULL */
    int64_t divergences; /* hmc, after warm-up */
    int64_t max_depth_hits;
    double acceptance; /* hmc: mean acceptance statistic */
    double step_size;  /* hmc: mean over chains */
} pv_posterior;

void pv_posterior_free(pv_ctx *ctx, pv_posterior *posterior);
/* The largest R-hat and the smallest effective size over all parameters; NaN if one of them is NaN, or there are
 * none. */
double pv_posterior_rhat_max(const pv_posterior *posterior);
double pv_posterior_ess_min(const pv_posterior *posterior);

/* ---- engines ----------------------------------------------------------------------------------------------------- */

/* Each starts at w [dims], preferably a maximum of the density, and works in coordinates in which the curvature there
 * is the identity. The curvature comes from central differences of the gradient and is made positive definite if
 * necessary. options NULL: the defaults. The caller frees *posterior with pv_posterior_free. */

typedef struct pv_laplace_options {
    int64_t draws; /* default 4000 */
    uint64_t seed;
} pv_laplace_options;

typedef struct pv_vi_options {
    int64_t components; /* default 8 */
    int64_t samples;    /* per component and step; default 8 */
    int64_t steps;      /* default 500 */
    double rate;        /* learning rate of Adam in the scaled coordinates */
    int64_t draws;      /* default 4000 */
    bool diagonal;      /* diagonal covariances; mean field if components is 1 */
    uint64_t seed;
} pv_vi_options;

typedef struct pv_hmc_options {
    int64_t chains; /* default 4 */
    int64_t warmup; /* per chain; default 1000 */
    int64_t draws;  /* per chain; default 1000 */
    double accept;  /* target acceptance; default 0.8 */
    int64_t depth;  /* maximum number of doublings; default 10 */
    uint64_t seed;
} pv_hmc_options;

pv_laplace_options pv_laplace_options_default(void);
pv_vi_options pv_vi_options_default(void);
pv_hmc_options pv_hmc_options_default(void);

PV_MUST_USE pv_status pv_laplace(pv_ctx *ctx, const pv_density *density, const double *w,
                                 const pv_laplace_options *options, pv_posterior **posterior);
PV_MUST_USE pv_status pv_vi(pv_ctx *ctx, const pv_density *density, const double *w, const pv_vi_options *options,
                            pv_posterior **posterior);
PV_MUST_USE pv_status pv_hmc(pv_ctx *ctx, const pv_density *density, const double *w, const pv_hmc_options *options,
                             pv_posterior **posterior);

/* Number of entries of a component's factor. */
size_t pv_mixture_factor_size(size_t dims, bool diagonal, size_t rank);
/* log density of a mixture at w. */
double pv_mixture_log_density(const pv_mixture *mixture, const double *w);

/* ---- summaries of draws ------------------------------------------------------------------------------------------ */

/* Split R-hat and bulk effective sample size of one quantity (Vehtari et al. 2021); draws [chains][each]. */
double pv_split_rhat(pv_ctx *ctx, size_t chains, size_t each, const double *draws);
double pv_effective_size(pv_ctx *ctx, size_t chains, size_t each, const double *draws);

/* Quantile p of n values (linear interpolation, R's type 7). Sorts values. NaN if n is 0. */
double pv_quantile(size_t n, double *values, double p);

/* Summary of the draws of one quantity. */
typedef struct pv_spread {
    double mean, sd; /* sd: divisor n - 1 */
    double lo, hi;   /* central interval */
    double sign;     /* share of the draws on the mean's side of zero */
} pv_spread;

/* Summarises n >= 1 draws, with an interval of the given level. Sorts values. */
pv_spread pv_spread_of(size_t n, double *values, double level);

#ifdef __cplusplus
}
#endif
#endif
