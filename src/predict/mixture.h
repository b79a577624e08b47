/* src/predict/mixture.h: the likelihood of a label distribution pi with the labels summed out,
 *
 *   l(pi) = sum_n v_n log q_n(pi),   q_n = sum_y pi_y r_n(y),   r_n(y) = p(y|x_n,w) / p(y|w),
 *
 * a mixture with known components and unknown weights. A row's ratios matter only up to a factor: for two classes u_n =
 * r_n(1) / (r_n(0) + r_n(1)) is stored, for more r_n divided by its largest entry.
 */
#ifndef PV_PREDICT_MIXTURE_H
#define PV_PREDICT_MIXTURE_H

#include "core/core.h"
#include "model/device_table.h"
#include "prevail/predict.h"

typedef struct pv__mixture_kernels {
    /* u[n] = 1 / (1 + exp(-(l1 - l0 - shift))) of rows l[n][2]. */
    void (*pair_ratios)(size_t n, const double *loglik, double shift, double *u);
    /* Planes r[k][stride]: exp(l - shift_k), divided by the row's maximum; and its logarithm, unless log_r is NULL. */
    void (*ratios)(size_t n, int k, const double *loglik, const double *shift, size_t stride, double *r, double *log_r);
    /* sums[0] = sum v rho, sums[1] = sum v rho^2 with rho = pi u / q; v NULL: all 1. */
    void (*pair_sums)(size_t n, const double *u, const double *v, double pi0, double pi1, double *sums);
    /* log_q[j] = sum v log q at each of the points pi [points][2]. */
    void (*pair_logs)(size_t n, const double *u, const double *v, size_t points, const double *pi, double *log_q);
    /* sums[k] = sum v rho_k; cross [k][k] (NULL: not wanted) = sum v rho rho'; work [k][PV__BLOCK]. */
    void (*sums)(size_t n, int k, size_t stride, const double *r, const double *v, const double *pi, double *sums,
                 double *cross, double *work);
    void (*logs)(size_t n, int k, size_t stride, const double *r, const double *v, size_t points, const double *pi,
                 double *log_q);
    /* out[k][stride] = sum_j weight_j pi_jk / q_j: times r this is the mean of pi_k r_k / q. */
    void (*average)(size_t n, int k, size_t stride, const double *r, size_t points, const double *pi,
                    const double *weight, double *out);
} pv__mixture_kernels;

enum { PV__BLOCK = 64 };

const pv__mixture_kernels *pv__mixture_kernels_get(void);

typedef struct pv__mixture {
    size_t n;
    int classes;
    double *r;       /* two classes: [n], u; more: [classes][n] */
    double *weight;  /* [n]: 0 for rows with known label; NULL: all 1 */
    double *known;   /* [classes], mass of the rows with known labels */
    double total;    /* sum of weight */
    double *partial; /* [chunks][room] */
    double *work;    /* [threads][classes][PV__BLOCK] */
    size_t room;
    pv__loaded_passes *aboard; /* two classes: rows on a device, and then r is not used; NULL: rows in memory. Owned */
    double shift;              /* with rows on a device: log p(1|w) - log p(0|w) */
    pv_status status;          /* of the device; after a failure sums are NaN */
} pv__mixture;

enum { PV__POINTS = 64 }; /* most points evaluated in one pass */

/* Computes the ratios of a sample. cross: allocates for pv__mixture_sums with cross products. The caller clears. */
PV_MUST_USE pv_status pv__mixture_init(pv_ctx *ctx, const pv_unknown_sample *sample, bool cross, pv__mixture *mixture);
/* The same with rows on a device, for a model of two classes with coefficients; then sets the coefficients w. */
PV_MUST_USE pv_status pv__mixture_board(pv_ctx *ctx, const pv_unknown_sample *shape, const pv__loaded *loaded,
                                        const pv_model *model, pv__mixture *mixture);
PV_MUST_USE pv_status pv__mixture_board_at(pv_ctx *ctx, pv__mixture *mixture, const double *w,
                                           const double *log_marginal);
/* Replaces the log-likelihoods of the rows. */
void pv__mixture_load(pv_ctx *ctx, pv__mixture *mixture, const double *loglik, const double *log_marginal);
void pv__mixture_clear(pv_ctx *ctx, pv__mixture *mixture);

/* Expected labels sum_n v_n rho_n(y), [classes], without known labels; cross [classes][classes] may be NULL. */
void pv__mixture_sums(pv_ctx *ctx, pv__mixture *mixture, const double *pi, double *sums, double *cross);
/* l(pi) at any number of points, pi [points][classes]. */
void pv__mixture_logs(pv_ctx *ctx, pv__mixture *mixture, size_t points, const double *pi, double *log_q);

/* ---- posteriors of pi -------------------------------------------------------------------------------------------- */

/* Weighted points that represent a distribution of pi. */
typedef struct pv__points {
    size_t count, classes;
    double *pi;     /* [count][classes] */
    double *weight; /* [count], sum 1 */
} pv__points;

void pv__points_clear(pv_ctx *ctx, pv__points *points);
PV_MUST_USE pv_status pv__points_one(pv_ctx *ctx, size_t classes, const double *pi, pv__points *points);

/* Two classes: quadrature in the logit of pi (quadrature.c). alpha [2] includes the known labels. */
typedef struct pv__pair {
    double *z, *pi, *weight; /* [count], [count][2], [count]: an even grid with spacing `step` */
    double *logs;
    size_t count, room;
    double step;
    int64_t passes; /* evaluations of the likelihood or its derivatives */
    bool converged; /* another halving of the step changed nothing */
} pv__pair;

PV_MUST_USE pv_status pv__pair_solve(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, pv__pair *pair);
/* Fills the pair from densities evaluated elsewhere, on an even grid of z. */
PV_MUST_USE pv_status pv__pair_fill(pv_ctx *ctx, pv__pair *pair, size_t count, const double *z, const double *logs);
/* The logit of the mode; *scale: 1/sqrt of the curvature there; adds to *passes. */
double pv__pair_mode(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, double *scale, int64_t *passes);
/* The quantile p of pi_1, as a logit. */
double pv__pair_quantile(const pv__pair *pair, double p);
double pv__sine_integral(double x);
void pv__pair_clear(pv_ctx *ctx, pv__pair *pair);

/* More classes (sampler.c): the mode, and draws around it. */
typedef struct pv__many {
    int classes, reference;
    double *mode;   /* [classes] */
    double *factor; /* [classes-1][classes-1]: lower Cholesky factor of the precision of log(pi_y/pi_reference) */
    double *centre; /* [classes-1] */
    double *work;
    int64_t passes;
    bool converged; /* the mode was found */
    bool diverged;  /* the Hamiltonian Monte Carlo of the draws diverged */
} pv__many;

PV_MUST_USE pv_status pv__many_init(pv_ctx *ctx, int classes, pv__many *many);
/* Finds the mode of prod pi^alpha prod q and the curvature there. */
PV_MUST_USE pv_status pv__many_mode(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, pv__many *many);
void pv__many_clear(pv_ctx *ctx, pv__many *many);
/* Weighted draws. *effective: their effective number. */
PV_MUST_USE pv_status pv__many_draws(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, pv__many *many,
                                     int64_t draws, int64_t seed, pv__points *points, double *effective);
/* One draw pi by a short chain of its own, and points that represent the distribution: those of the chain, or more if
 * it hardly moves. The caller clears points. */
PV_MUST_USE pv_status pv__many_draw(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, pv__many *many,
                                    int64_t seed, uint64_t index, double *pi, pv__points *points);
/* Proposes a step x [classes - 1] and returns its log density up to a constant. pv__many_place computes pi at centre +
 * side x.
 */
double pv__many_propose(const pv__many *many, pv_rng *rng, double *x);
void pv__many_place(const pv__many *many, const double *x, double side, double *pi);

#endif
