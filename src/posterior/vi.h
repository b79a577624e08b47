/* src/posterior/vi.h: the Gaussian mixture being fitted, in scaled coordinates, and the loops over its sample points.
 *
 * vi.c decides what is fitted, vi_run.c fits, vi_target.c is the density in scaled coordinates, vi_slice.c the few
 * directions of many in which a mixture is fitted, vi_result.c what is reported, vi_check.c whether it is any good. */
#ifndef PV_SRC_VI_H
#define PV_SRC_VI_H

#include "base/base.h"
#include "posterior/whiten.h"

/* One vector of the widest instruction set; arrays over points are padded to whole ones, whatever set is used. */
enum { PV_VI_LANES = 8 };
static inline size_t pv__vi_padded(size_t count) {
    return (count + PV_VI_LANES - 1) / PV_VI_LANES * PV_VI_LANES;
}

/* The mixture in coordinates u. size = dims for diagonal factors, dims x dims for lower triangles. */
typedef struct pv__vi_mix {
    size_t components, dims, size;
    bool diagonal;
    bool lean;          /* no inverse is kept: for one component whose density is asked for at its own points only */
    double *log_weight; /* [components], normalised */
    double *mean;       /* [components][dims] */
    double *factor;     /* [components][size], C: covariance C C^T, positive diagonal */
    double *inverse;    /* [components][size], C^-1 */
    double *log_det;    /* [components], of C */
} pv__vi_mix;

pv_status pv__vi_mix_new(pv_ctx *ctx, size_t components, size_t dims, bool diagonal, bool lean, pv__vi_mix *mix);
void pv__vi_mix_free(pv_ctx *ctx, pv__vi_mix *mix);
void pv__vi_mix_copy(const pv__vi_mix *from, pv__vi_mix *to);
void pv__vi_mix_refresh(pv__vi_mix *mix); /* inverse, log_det and the weights' sum after a change of the others */

/* Points stand in columns: u[dims][stride]. Counts and offsets of points are multiples of PV_VI_LANES except in local.
 */
typedef struct pv__vi_kernels {
    const char *name;
    /* n standard normals from as many uniforms, in place; n a multiple of 2 PV_VI_LANES */
    void (*normals)(size_t n, double *x);
    /* u = mean + C eps of one component */
    void (*place)(const pv__vi_mix *mix, size_t component, size_t count, size_t stride, const double *eps, double *u);
    /* log q [count] and its gradient [dims][stride] at u; scratch of pv__vi_scratch */
    void (*density)(const pv__vi_mix *mix, size_t count, size_t stride, const double *u, double *scratch, double *log_q,
                    double *gradient);
    /* y = A x or A^T x at every point, A [dims][dims] lower triangular */
    void (*lower)(size_t dims, const double *a, bool transposed, size_t count, size_t stride, const double *x,
                  double *y);
    /* h, the gradient of log p, becomes that of log p - log q; where p is 0, q's alone: a pull towards its centre */
    void (*contrast)(size_t dims, size_t stride, const double *log_p, const double *dlog_q, double *h);
    /* Sums over count points (any number) of one component, of C^T h and of the lower triangle (or the diagonal) of
     * (C^T h) eps^T; scratch [dims][PV_VI_LANES] */
    void (*local)(const pv__vi_mix *mix, size_t component, size_t count, size_t stride, const double *h,
                  const double *eps, double *scratch, double *dmean, double *dfactor);
    /* Below the diagonal of turn [dims][dims]: scale times the sums over points of (t_i eps_l + t_l eps_i)/2; eps is 0
     * in the padding */
    void (*turns)(size_t dims, size_t stride, const double *t, const double *eps, double scale, double *turn);
    /* A step of Adam uphill, step counted from 1: the gradient becomes the move. */
    void (*adam)(size_t n, double rate, double step, double *gradient, double *first, double *second);
} pv__vi_kernels;

const pv__vi_kernels *pv__vi_kernels_get(void);

/* The density at points in columns, in scaled coordinates. */
typedef struct pv__vi_target pv__vi_target;

/* Scaled by the curvature at w; diagonal: by that of each parameter alone, or by a fixed step where there are too many
 * parameters for the curvature to be affordable. most: points asked for at once, at most. */
pv_status pv__vi_target_new(pv_ctx *ctx, const pv_density *density, const double *w, bool diagonal, size_t most,
                            pv__vi_target **target);
void pv__vi_target_free(pv_ctx *ctx, pv__vi_target *target);
size_t pv__vi_target_dims(const pv__vi_target *target);    /* of the density */
double pv__vi_target_laplace(const pv__vi_target *target); /* log evidence by Laplace's method; NaN: none */
/* From here on u has rank coordinates: those along basis [rank][dims], orthonormal, in the coordinates in which the
 * Gaussian (one component; borrowed, as the basis is) is the standard normal. The others are drawn from that. */
pv_status pv__vi_target_slice(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *gaussian, size_t rank,
                              const double *basis, uint64_t seed);

/* log p [stride] and its gradient [dims][stride] in u at the first `count` of every `padded` points, `groups` times;
 * stride = groups x padded. exact: not the density's estimate, where it has one. log p is -INFINITY where the density
 * is 0 or not a number; the gradient is then 0. */
pv_status pv__vi_target_eval(pv_ctx *ctx, pv__vi_target *target, bool exact, size_t groups, size_t count, size_t padded,
                             const double *u, double *log_p, double *gradient);

/* What the density and its copies remember, for checkpoints. */
enum { PV_VI_TARGET_FIELDS = 9 * PV_MEMORY_FIELDS + 1 };
size_t pv__vi_target_fields(pv__vi_target *target, pv_field *field /* [PV_VI_TARGET_FIELDS] */);

/* Whether the density is above 0 at n points w [n][dims]. */
pv_status pv__vi_target_inside(pv_ctx *ctx, pv__vi_target *target, size_t n, const double *w, bool *inside);

/* One point of u to w, and the mixture to w. rest [dims]: standard normals for what a slice leaves out; not read
 * without one. */
void pv__vi_target_point(pv__vi_target *target, const double *u, const double *rest, double *w);
pv_status pv__vi_target_mixture(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, pv_mixture *mixture);

/* ---- fitting (vi_run.c) ------------------------------------------------------------------------------------------ */

typedef struct pv__vi_plan {
    const char *key; /* in checkpoints */
    size_t components, samples;
    int64_t steps;
    double rate;
    bool diagonal;
    bool natural; /* one component, plain natural gradients: for many dimensions */
    uint64_t seed;
    int64_t before, in_all; /* steps, for the progress */
} pv__vi_plan;

typedef struct pv__vi_outcome {
    pv__vi_mix mix; /* the caller's to free */
    pv_stop stop;
    int64_t iterations;
} pv__vi_outcome;

/* dims: of u. */
pv_status pv__vi_run(pv_ctx *ctx, const pv_density *density, pv__vi_target *target, size_t dims,
                     const pv__vi_plan *plan, pv__vi_outcome *outcome);

/* ---- directions (vi_slice.c) ------------------------------------------------------------------------------------- */

/* basis [rank][dims]: the directions in which the density differs most from the Gaussian, in the coordinates in which
 * that is the standard normal. */
pv_status pv__vi_directions(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *gaussian, uint64_t seed, size_t rank,
                            double *basis);

/* ---- what came out (vi_result.c) --------------------------------------------------------------------------------- */

/* The bound with fresh points, its standard error, and the mixture's mass where the density is above 0. evidence: log
 * evidence by the points' importance weights, effective: how many of them count. */
typedef struct pv__vi_value {
    double elbo, se, support, evidence, evidence_se, effective;
} pv__vi_value;
/* points: 0 for as many as a report needs. PV_ERR_INTERRUPTED where that was asked for. */
pv_status pv__vi_bound(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, uint64_t seed, size_t points,
                       pv__vi_value *value);

/* Draws stratified by weight. whole: none needs to be checked for a density of 0; such are drawn again. */
pv_status pv__vi_draws(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, uint64_t seed, bool whole,
                       size_t count, double *draws);

/* Normals [dims][stride] for count points: pairs of opposite sign, the last alone where count is odd. The others are 0.
 */
void pv__vi_normals(const pv__vi_kernels *kernels, pv_rng *rng, size_t dims, size_t count, size_t stride,
                    double *buffer, double *eps);
static inline size_t pv__vi_normals_buffer(size_t dims, size_t count) {
    return (dims * ((count + 1) / 2) + 2 * PV_VI_LANES - 1) / (2 * PV_VI_LANES) * (2 * PV_VI_LANES);
}

static inline size_t pv__vi_scratch(const pv__vi_mix *mix) {
    return mix->components * (mix->dims + 1) * 4 * PV_VI_LANES;
}
enum { PV_VI_CHUNK = 64 }; /* points at a time where their number is free */

#endif
