/* prevail/posterior.h: posteriors of any differentiable density: Laplace's approximation, a mixture of Gaussians fitted
 * by variational inference, Hamiltonian Monte Carlo with the no-U-turn criterion.
 *
 * The engines know nothing of models: they take a density and give draws. pv_fit uses them with --infer laplace, vi,
 * hmc.
 */
#ifndef PREVAIL_POSTERIOR_H
#define PREVAIL_POSTERIOR_H

#include "prevail/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is sampled --------------------------------------------------------------------------------------------- */

/* A negative log density, normalised or not, with its gradient.
 *   eval      writes *value and gradient [dims]; *value = +INFINITY where the density is 0 (then the gradient is not
 *             read). Returns a status other than PV_OK only where the work must stop (memory, a defect).
 *   clone     optional: a density of its own for another thread; released with release. NULL: one thread at a time. ctx
 *             is the context the clone is to use.
 *   estimate  optional: an unbiased estimate at count points w [count][dims], another one at each call (a minibatch of
 *             the data, say): values [count], gradients [count][dims]. vi takes its steps with it; all else is exact.
 *   memory    optional: what a state remembers from one evaluation to the next (where an inner solution began, say),
 *             for checkpoints; at most PV_MEMORY_FIELDS. Returns how many. Without, a state must remember nothing.
 *   source_memory, source_recalled
 *             optional: the same of source; what was put back into it is to be checked.
 *   many      optional: eval at count points w [count][dims] in one call, each with its state, states [count]: values
 *             [count], gradients [count][dims]. The same bytes at one point or at many. vi asks for all points of a
 *             step at once, hmc for those of its chains.
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

/* ---- what comes out ---------------------------------------------------------------------------------------------- */

typedef enum pv_posterior_kind { PV_POSTERIOR_LAPLACE, PV_POSTERIOR_VI, PV_POSTERIOR_HMC } pv_posterior_kind;
#define PV_POSTERIOR_KIND_LIST(X)                                                                                      \
    X(LAPLACE, "laplace")                                                                                              \
    X(VI, "vi")                                                                                                        \
    X(HMC, "hmc")
const char *pv_posterior_kind_name(pv_posterior_kind kind);
bool pv_posterior_kind_find(const char *name, pv_posterior_kind *kind);

/* Gaussian mixture: weights [components], means [components][dims], lower Cholesky factors of the covariances
 * [components][dims][dims], or where they are diagonal the standard deviations [components][dims]. laplace and robust:
 * one component. rank above 0: of low rank beside a diagonal, scale (I + basis^T (F F^T - I) basis) scale with basis
 * [rank][dims] orthonormal, scale [dims], and F the factors [components][rank][rank]. */
enum { PV_MIXTURE_RANK_MAX = 64 };
typedef struct pv_mixture {
    size_t components, dims;
    double *weight, *mean, *factor;
    bool diagonal;
    size_t rank;
    double *scale, *basis; /* NULL with rank 0 */
} pv_mixture;

typedef struct pv_posterior {
    pv_posterior_kind kind;
    size_t dims, count;
    double *draws;      /* [count][dims], of equal weight; hmc: chain after chain */
    pv_mixture mixture; /* laplace, vi, robust; no components for hmc */
    pv_stop stop;
    int64_t iterations;
    double elbo, elbo_se; /* vi: at the end, with fresh samples, and its Monte-Carlo standard error; else NaN.
                             laplace: its own estimate of the log evidence, se 0 */
    double evidence;      /* vi: the best that is known of the log evidence, by importance weights and Laplace's method;
                             else NaN. A bound more than 0.5 below it has the stop `poor` */
    size_t chains;        /* hmc */
    double *rhat, *ess;   /* hmc: [dims], split R-hat (rank-normalised) and bulk effective sample size; else NULL */
    int64_t divergences;  /* hmc, after warm-up */
    int64_t max_depth_hits;
    double acceptance; /* hmc: mean acceptance statistic */
    double step_size;  /* hmc: mean over chains */
} pv_posterior;

void pv_posterior_free(pv_ctx *ctx, pv_posterior *posterior);
/* The largest R-hat and the smallest effective size of any parameter; NaN where one of them is, or there are none. */
double pv_posterior_rhat_max(const pv_posterior *posterior);
double pv_posterior_ess_min(const pv_posterior *posterior);

/* ---- engines ----------------------------------------------------------------------------------------------------- */

/* Each starts at w [dims], best a maximum of the density, and works in coordinates in which the curvature there is the
 * identity (central differences of the gradient; made positive definite where it is not). Options may be NULL for the
 * defaults. The caller frees *posterior. */

typedef struct pv_laplace_options {
    int64_t draws; /* 4000 */
    uint64_t seed;
} pv_laplace_options;

typedef struct pv_vi_options {
    int64_t components; /* 8 */
    int64_t samples;    /* per component and step: 8 */
    int64_t steps;      /* 500 */
    double rate;        /* Adam's, in the scaled coordinates */
    int64_t draws;      /* 4000 */
    bool diagonal;      /* diagonal covariances: mean field with components = 1 */
    uint64_t seed;
} pv_vi_options;

typedef struct pv_hmc_options {
    int64_t chains; /* 4 */
    int64_t warmup; /* 1000 each */
    int64_t draws;  /* 1000 each */
    double accept;  /* target acceptance: 0.8 */
    int64_t depth;  /* most doublings: 10 */
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

/* Numbers in a component's factor. */
size_t pv_mixture_factor_size(size_t dims, bool diagonal, size_t rank);
/* log density of a mixture at w. */
double pv_mixture_log_density(const pv_mixture *mixture, const double *w);

/* ---- summaries of draws ------------------------------------------------------------------------------------------ */

/* Split R-hat and bulk effective sample size of one quantity (Vehtari et al. 2021), draws [chains][each]. */
double pv_split_rhat(pv_ctx *ctx, size_t chains, size_t each, const double *draws);
double pv_effective_size(pv_ctx *ctx, size_t chains, size_t each, const double *draws);

/* Quantile p of n values (linear interpolation, R's type 7); sorts values. NaN for n = 0. */
double pv_quantile(size_t n, double *values, double p);

/* What draws of one quantity say of it. */
typedef struct pv_spread {
    double mean, sd; /* sd: n - 1 */
    double lo, hi;   /* central interval */
    double sign;     /* share of the draws on the mean's side of zero */
} pv_spread;

/* Of n >= 1 draws, with an interval of the given level; sorts values. */
pv_spread pv_spread_of(size_t n, double *values, double level);

#ifdef __cplusplus
}
#endif
#endif
