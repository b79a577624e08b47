/* src/infer/density.h: a fit's posterior as a density for the engines, and the kernels of its fast path. */
#ifndef PV_SRC_DENSITY_H
#define PV_SRC_DENSITY_H

#include "infer/infer.h"
#include "prevail/posterior.h"

/* Rows for logistic models, stored by column so that a vector holds as many rows as possible; padded to whole vectors
 * with rows of weight 0. */
typedef struct pv__density_rows {
    size_t n, padded, inputs;
    double *x;      /* [inputs][padded] */
    double *weight; /* [padded], v times the class factor of iw; 0 in the padding */
    double *target; /* [padded], the fraction of the positive class times that weight */
    double *rho;    /* [padded], weights of the plug-in marginal; 0 in the padding */
    bool unit;      /* every weight is 1 (0 in the padding), so logarithms of rows can be combined */
} pv__density_rows;

typedef struct pv__row_sums {
    double loss;         /* - sum of log-likelihoods */
    double mean0, mean1; /* sum rho p0, sum rho p1 */
} pv__row_sums;

typedef struct pv__density_kernels {
    /* p1 and p0 of each row, and the sums. w: intercept, slopes. */
    pv__row_sums (*forward)(const pv__density_rows *rows, const double *w, double *p1, double *p0);
    /* dw [1 + inputs] = sum_n ((v p1 - t) + e p0 p1) x~; e_n = scale extra_n, or scale where extra is NULL (0: none).
     */
    void (*backward)(const pv__density_rows *rows, const double *p1, const double *p0, const double *extra,
                     double scale, double *dw);
    /* extra_n = v_n/q_n with q_n = 1 + m (scale p1_n - 1), at least `least`; returns sum_n v_n log q_n. v NULL: all 1
     */
    double (*profile_rows)(size_t n, const double *p1, const double *v, double scale, double m, double least,
                           double *extra);
} pv__density_kernels;

const pv__density_kernels *pv__density_kernels_get(void);

/* The posterior of a full-batch problem, which can be cloned and evaluated at many points. The problem must outlive
 * it. */
pv_status pv__density_new(pv_ctx *ctx, const pv__problem *problem, pv_density *density);
void pv__density_free(pv_ctx *ctx, pv_density *density);
/* log p(y|w) at w, [classes]. */
pv_status pv__density_marginal(pv_ctx *ctx, const pv_density *density, const double *w, double *log_marginal);

/* At each w [count][params]: log_marginal [count][classes]. pv__density_together is a good number of points per call, 1
 * unless rows are on a device. */
pv_status pv__density_marginals(pv_ctx *ctx, const pv_density *density, size_t count, const double *w,
                                double *log_marginal);
size_t pv__density_together(const pv_density *density);
/* The weight of each row with the class factor of iw, the part of it that belongs to label 1, and the weights of the
 * plug-in marginal; [n] each. Returns whether all weights are 1. */
bool pv__density_masses(const pv__problem *problem, double *weight, double *target, double *rho);
/* The loss of the prior at w; adds its gradient. */
double pv__density_prior(const pv__problem *problem, const double *w, double *gradient);

/* ---- inner problem of the profile for two classes (density_inner.c) ---------------------------------------------- */

typedef struct pv__inner {
    bool known; /* the prevalence is known */
    double c0, c1, total;
    double log_lambda, lambda, ratio, m;
    int steps;
    bool settled; /* converged: lambda and m are the solution */
    double least; /* then a lower bound of all q */
} pv__inner;
pv__inner pv__inner_new(const pv__problem *problem, double mean1);
/* Where sums over rows are needed next; false: converged or failed. */
bool pv__inner_next(pv__inner *inner, double *scale, double *m);
/* Makes a step with these sums; false: failed. */
bool pv__inner_step(pv__inner *inner, const pv__profile_sums *sums);
/* The part of the loss other than sum v log q. */
double pv__inner_term(const pv__inner *inner);

/* ---- rows on a device (density_device.c) ------------------------------------------------------------------------- */

/* For two labels and a model with coefficients: the loss and its marginal at several w per call. Thread-safe. */
typedef struct pv__density_aboard pv__density_aboard;
bool pv__density_fits(const pv__problem *problem); /* (density.c) whether a device supports the problem */
bool pv__density_goes(const pv__problem *problem); /* whether it does and its rows are on one */
PV_MUST_USE pv_status pv__density_aboard_new(pv_ctx *ctx, const pv__problem *problem, pv__density_aboard **made);
void pv__density_aboard_free(pv_ctx *ctx, pv__density_aboard *aboard);
/* Negative log posterior, +INFINITY if a double cannot tell its density from 0, and gradient, at w [count][params].
 * Bit-identical for one w and for many. */
PV_MUST_USE pv_status pv__density_aboard_eval(pv_ctx *ctx, pv__density_aboard *aboard, size_t count, const double *w,
                                              double *values, double *gradients);
PV_MUST_USE pv_status pv__density_aboard_marginals(pv_ctx *ctx, pv__density_aboard *aboard, size_t count,
                                                   const double *w, double *log_marginal);

/* (laplace_prevalence.c) Whether the posterior of a prevalence of finite strength should be exact; then it replaces the
 * prevalence in Laplace's draws, and updates log_marginal [count][classes]. */
bool pv__states_prevalence(const pv__problem *problem);
pv_status pv__state_prevalence(pv_ctx *ctx, const pv__problem *problem, pv_posterior *p, double *log_marginal);

#endif
