/* src/core/profile.h: declarations shared by profile.c, which solves, and profile_rows.c, which sums over rows. */
#ifndef PV_CORE_PROFILE_H
#define PV_CORE_PROFILE_H

#include "core/core.h"

/* Sums over rows at (log lambda, m), in one block so that chunks can be added: see pv__profile_moments(). */
typedef struct pv__sums {
    double weight;   /* sum v/q */
    double smallest; /* min q */
    double log_q;    /* sum v log q */
    double *r;       /* [J] sum v r_j/q */
    double *rq;      /* [J] sum v r_j/q^2 */
    double *rr;      /* [J][J] sum v r_i r_j/q^2 */
} pv__sums;

/* The current point: log lambda of all classes except the reference, and quantities derived from it. */
typedef struct pv__point {
    double *log_lambda; /* [J] */
    double *ratio;      /* [J] lambda_j / lambda_ref */
    double *lambda;     /* [J] */
    double log_reference;
    double *scale; /* [J] lambda_start / lambda */
    double *m;     /* [J] */
} pv__point;

/* The number of multipliers. */
static inline size_t dims(const pv__profile *profile) {
    return (size_t)profile->classes - 1;
}

/* Class of the j-th multiplier. */
static inline size_t class_of(const pv__profile *profile, size_t j) {
    return j < (size_t)profile->reference ? j : j + 1;
}

static inline size_t block_size(size_t J) {
    return 3 + 2 * J + J * J;
}

/* All sums at log lambda (given as scale = lambda_start/lambda) and m. False outside the domain (some q <= 0). */
bool pv__profile_moments(pv_ctx *ctx, const pv__profile *profile, const double *scale, const double *m, bool want_log,
                         pv__sums *out);
/* The largest log p over rows, for each class except the reference. */
void pv__profile_top(pv_ctx *ctx, const pv__profile *profile, const double *loglik, double *top);
/* a = p / exp(start), without the reference class. */
void pv__profile_ratios(pv_ctx *ctx, pv__profile *profile, const double *loglik, const double *start);
/* log of the mean of p over rows, which is always inside their convex hull. a must hold p / exp(start). */
void pv__profile_mean(pv_ctx *ctx, const pv__profile *profile, const double *start, double *mean);
/* Stores the solution (lambda, m, a at lambda, theta) and returns sum v log q. */
double pv__profile_keep(pv_ctx *ctx, pv__profile *profile, const pv__point *at);
/* Solves and stores if all counts have one sign, and sets *log_q to what pv__profile_keep returns; otherwise *solved is
 * false (profile_convex.c). */
pv_status pv__profile_convex(pv_ctx *ctx, pv__profile *profile, const double *loglik, double *log_q, bool *solved);
/* The class with the highest mean probability over rows. */
int pv__profile_commonest(pv_ctx *ctx, const pv__profile *profile, const double *loglik);

#endif
