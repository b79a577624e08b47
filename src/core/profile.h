/* src/core/profile.h: what the profile's two files share: profile.c solves, profile_rows.c sums over rows. */
#ifndef PV_CORE_PROFILE_H
#define PV_CORE_PROFILE_H

#include "core/core.h"

/* Sums over rows at (log lambda, m), laid out in one block so that chunks can be added: see pv__profile_moments(). */
typedef struct pv__sums {
    double weight;   /* sum v/q */
    double smallest; /* min q */
    double log_q;    /* sum v log q */
    double *r;       /* [J] sum v r_j/q */
    double *rq;      /* [J] sum v r_j/q^2 */
    double *rr;      /* [J][J] sum v r_i r_j/q^2 */
} pv__sums;

/* Where we are: log lambda of all classes but the reference, and what follows from it. */
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

/* All sums at log lambda (as scale = lambda_start/lambda) and m. False outside the domain (some q <= 0). */
bool pv__profile_moments(pv_ctx *ctx, const pv__profile *profile, const double *scale, const double *m, bool want_log,
                         pv__sums *out);
/* The largest log p over rows, by class but the reference. */
void pv__profile_top(pv_ctx *ctx, const pv__profile *profile, const double *loglik, double *top);
/* a = p / exp(start), the reference class left out. */
void pv__profile_ratios(pv_ctx *ctx, pv__profile *profile, const double *loglik, const double *start);
/* log of the mean of p over rows: always inside their hull. a holds p / exp(start). */
void pv__profile_mean(pv_ctx *ctx, const pv__profile *profile, const double *start, double *mean);
/* Stores the solution: lambda, m, a at lambda, theta; returns sum v log q. */
double pv__profile_keep(pv_ctx *ctx, pv__profile *profile, const pv__point *at);
/* Solves and stores where the counts all have one sign, with *log_q as pv__profile_keep returns it; *solved is false
 * otherwise (profile_convex.c). */
pv_status pv__profile_convex(pv_ctx *ctx, pv__profile *profile, const double *loglik, double *log_q, bool *solved);
/* The class the rows give most probability on average. */
int pv__profile_commonest(pv_ctx *ctx, const pv__profile *profile, const double *loglik);

#endif
