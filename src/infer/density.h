/* src/infer/density.h: a fit's posterior as a density for the engines, and the kernels of its fast path. */
#ifndef PV_SRC_DENSITY_H
#define PV_SRC_DENSITY_H

#include "infer/infer.h"
#include "prevail/posterior.h"

/* Logistic rows, column by column so that a vector holds as many rows as it can; padded to whole vectors with rows of
 * weight 0. */
typedef struct pv__rows {
    size_t n, padded, inputs;
    double *x;      /* [inputs][padded] */
    double *weight; /* [padded], v times the class factor of iw; 0 in the padding */
    double *target; /* [padded], the positive class's share times that weight */
    double *rho;    /* [padded], weights of the plug-in marginal; 0 in the padding */
    bool unit;      /* every weight is 1 (0 in the padding): logarithms of rows can be taken together */
} pv__rows;

typedef struct pv__row_sums {
    double loss;         /* - sum of log-likelihoods */
    double mean0, mean1; /* sum rho p0, sum rho p1 */
} pv__row_sums;

typedef struct pv__density_kernels {
    /* p1 and p0 of each row, and sums. w: intercept, slopes. */
    pv__row_sums (*forward)(const pv__rows *rows, const double *w, double *p1, double *p0);
    /* dw [1 + inputs] = sum_n ((v p1 - t) + e p0 p1) x~; e_n = scale extra_n, or scale where extra is NULL (0: none).
     */
    void (*backward)(const pv__rows *rows, const double *p1, const double *p0, const double *extra, double scale,
                     double *dw);
    /* extra_n = v_n/q_n with q_n = 1 + m (scale p1_n - 1), none below least; returns sum_n v_n log q_n. v NULL: all 1
     */
    double (*profile_rows)(size_t n, const double *p1, const double *v, double scale, double m, double least,
                           double *extra);
} pv__density_kernels;

const pv__density_kernels *pv__density_kernels_get(void);

/* The posterior of a full-batch problem. clone, batch and all; the problem must outlive it. */
pv_status pv__density_new(pv_ctx *ctx, const pv__problem *problem, pv_density *density);
void pv__density_free(pv_ctx *ctx, pv_density *density);
/* log p(y|w) at w, [classes]. */
pv_status pv__density_marginal(pv_ctx *ctx, const pv_density *density, const double *w, double *log_marginal);

/* (laplace_prevalence.c) Whether the posterior has the prevalence of finite strength as stated; then Laplace's draws
 * get it, and log_marginal [count][classes], what they had, becomes what they have. */
bool pv__states_prevalence(const pv__problem *problem);
pv_status pv__state_prevalence(pv_ctx *ctx, const pv__problem *problem, pv_posterior *p, double *log_marginal);

#endif
