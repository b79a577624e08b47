/* src/predict/mixture.h: the likelihood of a label distribution pi with the labels summed out,
 *
 *   l(pi) = sum_n v_n log q_n(pi),   q_n = sum_y pi_y r_n(y),   r_n(y) = p(y|x_n,w) / p(y|w),
 *
 * a mixture with known components and unknown weights. A row's ratios matter up to a factor: two classes keep
 * u_n = r_n(1) / (r_n(0) + r_n(1)), more keep r_n over its largest entry.
 */
#ifndef PV_PREDICT_MIXTURE_H
#define PV_PREDICT_MIXTURE_H

#include "core/core.h"
#include "model/device_table.h"
#include "prevail/predict.h"

typedef struct pv__mixture_kernels {
    /* u[n] = 1 / (1 + exp(-(l1 - l0 - shift))) of rows l[n][2]. */
    void (*pair_ratios)(size_t n, const double *loglik, double shift, double *u);
    /* Planes r[k][stride]: exp(l - shift_k), over the row's largest. Also its logarithm, where log_r is not NULL. */
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
    /* out[k][stride] = sum_j weight_j pi_jk / q_j: times r it is the mean of pi_k r_k / q. */
    void (*average)(size_t n, int k, size_t stride, const double *r, size_t points, const double *pi,
                    const double *weight, double *out);
} pv__mixture_kernels;

enum { PV__BLOCK = 64 };

const pv__mixture_kernels *pv__mixture_kernels_get(void);

typedef struct pv__mixture {
    size_t n;
    int classes;
    double *r;       /* two classes: [n], u; more: [classes][n] */
    double *weight;  /* [n]: 0 where the label is known; NULL: all 1 */
    double *known;   /* [classes], mass of the known labels */
    double total;    /* sum of weight */
    double *partial; /* [chunks][room] */
    double *work;    /* [threads][classes][PV__BLOCK] */
    size_t room;
    pv__loaded_passes *aboard; /* two classes, rows on a device: there is no r; NULL: they are here. Owned */
    double shift;              /* log p(1|w) - log p(0|w), there */
    pv_status status;          /* of the device: sums are NaN after a failure */
} pv__mixture;

enum { PV__POINTS = 64 }; /* at most evaluated in one pass */

/* The ratios of a sample. cross: room for pv__mixture_sums with cross products. The caller clears. */
PV_MUST_USE pv_status pv__mixture_init(pv_ctx *ctx, const pv_unknown_sample *sample, bool cross, pv__mixture *mixture);
/* The same with the rows on a device, by a model of two classes with coefficients; then those of w. */
PV_MUST_USE pv_status pv__mixture_board(pv_ctx *ctx, const pv_unknown_sample *shape, const pv__loaded *loaded,
                                        const pv_model *model, pv__mixture *mixture);
PV_MUST_USE pv_status pv__mixture_board_at(pv_ctx *ctx, pv__mixture *mixture, const double *w,
                                           const double *log_marginal);
/* Other log-likelihoods of the same rows. */
void pv__mixture_load(pv_ctx *ctx, pv__mixture *mixture, const double *loglik, const double *log_marginal);
void pv__mixture_clear(pv_ctx *ctx, pv__mixture *mixture);

/* Expected labels sum_n v_n rho_n(y), [classes], known labels not included; cross [classes][classes] may be NULL. */
void pv__mixture_sums(pv_ctx *ctx, pv__mixture *mixture, const double *pi, double *sums, double *cross);
/* l(pi) at any number of points, pi [points][classes]. */
void pv__mixture_logs(pv_ctx *ctx, pv__mixture *mixture, size_t points, const double *pi, double *log_q);

/* ---- posteriors of pi -------------------------------------------------------------------------------------------- */

/* Points with weights that stand for a distribution of pi. */
typedef struct pv__points {
    size_t count, classes;
    double *pi;     /* [count][classes] */
    double *weight; /* [count], sum 1 */
} pv__points;

void pv__points_clear(pv_ctx *ctx, pv__points *points);
PV_MUST_USE pv_status pv__points_one(pv_ctx *ctx, size_t classes, const double *pi, pv__points *points);

/* Two classes: quadrature in the logit of pi (quadrature.c). alpha [2] includes the known labels. */
typedef struct pv__pair {
    double *z, *pi, *weight; /* [count], [count][2], [count]: an even grid of step h */
    double *logs;
    size_t count, room;
    double step;
    int64_t passes; /* evaluations of the likelihood or its derivatives */
    bool converged; /* halving the step once more changed nothing */
} pv__pair;

PV_MUST_USE pv_status pv__pair_solve(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, pv__pair *pair);
/* From densities that were evaluated elsewhere, on an even grid of z. */
PV_MUST_USE pv_status pv__pair_fill(pv_ctx *ctx, pv__pair *pair, size_t count, const double *z, const double *logs);
/* The logit of the mode; *scale: 1/sqrt of the curvature there; *passes is added to. */
double pv__pair_mode(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, double *scale, int64_t *passes);
/* The quantile p of pi_1, as its logit. */
double pv__pair_quantile(const pv__pair *pair, double p);
double pv__sine_integral(double x);
void pv__pair_clear(pv_ctx *ctx, pv__pair *pair);

/* More classes (sampler.c): the mode, then draws around it. */
typedef struct pv__many {
    int classes, reference;
    double *mode;   /* [classes] */
    double *factor; /* [classes-1][classes-1]: lower Cholesky factor of the precision of log(pi_y/pi_reference) */
    double *centre; /* [classes-1] */
    double *work;
    int64_t passes;
    bool converged; /* the mode was found */
    bool diverged;  /* the draws' Hamiltonian Monte Carlo did */
} pv__many;

PV_MUST_USE pv_status pv__many_init(pv_ctx *ctx, int classes, pv__many *many);
/* The mode of prod pi^alpha prod q and the curvature there. */
PV_MUST_USE pv_status pv__many_mode(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, pv__many *many);
void pv__many_clear(pv_ctx *ctx, pv__many *many);
/* Weighted draws. *effective: their effective number. */
PV_MUST_USE pv_status pv__many_draws(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, pv__many *many,
                                     int64_t draws, int64_t seed, pv__points *points, double *effective);
/* One draw pi by a short chain of its own, and points that stand for the distribution: the chain's, or more where it
 * hardly moves. The caller clears points. */
PV_MUST_USE pv_status pv__many_draw(pv_ctx *ctx, pv__mixture *mixture, const double *alpha, pv__many *many,
                                    int64_t seed, uint64_t index, double *pi, pv__points *points);
/* A step x [classes - 1] of the proposal; returns the log density there, up to a constant. And pi at centre + side x.
 */
double pv__many_propose(const pv__many *many, pv_rng *rng, double *x);
void pv__many_place(const pv__many *many, const double *x, double side, double *pi);

#endif
