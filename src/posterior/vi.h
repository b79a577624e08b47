/* src/posterior/vi.h: the Gaussian mixture being fitted, in scaled coordinates, and the loops over its sample points.
 *
 * vi.c chooses what is fitted, vi_run.c fits, vi_target.c is the density in scaled coordinates, vi_slice.c finds the
 * directions in which a mixture is fitted if there are many, vi_result.c computes the results, vi.c checks them. */
#ifndef PV_SRC_VI_H
#define PV_SRC_VI_H

#include "base/base.h"
#include "posterior/whiten.h"

/* The vector width of the widest instruction set; arrays over points are padded to multiples of it on all of them. */
enum { PV_VI_LANES = 8 };
static inline size_t pv__vi_padded(size_t count) {
    return (count + PV_VI_LANES - 1) / PV_VI_LANES * PV_VI_LANES;
}

/* A mixture in coordinates u. size = dims for diagonal factors, dims x dims for lower triangles. */
typedef struct pv__vi_mix {
    size_t components, dims, size;
    bool diagonal;
    bool lean;          /* has no inverse: for one component whose density is needed only at its own points */
    double *log_weight; /* [components], normalised */
    double *mean;       /* [components][dims] */
    double *factor;     /* [components][size], C with positive diagonal: the covariance is C C^T */
    double *inverse;    /* [components][size], C^-1 */
    double *log_det;    /* [components], of C */
} pv__vi_mix;

pv_status pv__vi_mix_new(pv_ctx *ctx, size_t components, size_t dims, bool diagonal, bool lean, pv__vi_mix *mix);
void pv__vi_mix_free(pv_ctx *ctx, pv__vi_mix *mix);
void pv__vi_mix_copy(const pv__vi_mix *from, pv__vi_mix *to);
void pv__vi_mix_refresh(
    pv__vi_mix *mix); /* updates inverse, log_det and the normalisation of the weights after other members changed */

/* Points are stored in columns: u[dims][stride]. Counts and offsets of points are multiples of PV_VI_LANES except in
 * local.
 */
typedef struct pv__vi_kernels {
    const char *name;
    /* n standard normals from as many uniforms, in place; n must be a multiple of 2 PV_VI_LANES */
    void (*normals)(size_t n, double *x);
    /* u = mean + C eps for one component */
    void (*place)(const pv__vi_mix *mix, size_t component, size_t count, size_t stride, const double *eps, double *u);
    /* log q [count] and its gradient [dims][stride] at u; scratch of pv__vi_scratch */
    void (*density)(const pv__vi_mix *mix, size_t count, size_t stride, const double *u, double *scratch, double *log_q,
                    double *gradient);
    /* y = A x or A^T x at every point, A [dims][dims] lower triangular */
    void (*lower)(size_t dims, const double *a, bool transposed, size_t count, size_t stride, const double *x,
                  double *y);
    /* replaces h, the gradient of log p, by that of log p - log q; where p is 0, by that of log q, a pull to its
     * centre */
    void (*contrast)(size_t dims, size_t stride, const double *log_p, const double *dlog_q, double *h);
    /* Sums over count points (any number) of one component of C^T h, and of the lower triangle (or the diagonal) of
     * (C^T h) eps^T; scratch [dims][PV_VI_LANES] */
    void (*local)(const pv__vi_mix *mix, size_t component, size_t count, size_t stride, const double *h,
                  const double *eps, double *scratch, double *dmean, double *dfactor);
    /* Below the diagonal of turn [dims][dims]: scale times the sums over points of (t_i eps_l + t_l eps_i)/2; eps must
     * be 0 in the padding */
    void (*turns)(size_t dims, size_t stride, const double *t, const double *eps, double scale, double *turn);
    /* An ascent step of Adam, with steps counted from 1: replaces the gradient by the move. */
    void (*adam)(size_t n, double rate, double step, double *gradient, double *first, double *second);
} pv__vi_kernels;

const pv__vi_kernels *pv__vi_kernels_get(void);

/* The density at points in columns, in scaled coordinates. */
typedef struct pv__vi_target pv__vi_target;

/* Scaled by the curvature at w; diagonal: by that of each parameter alone, or by a constant if there are too many
 * parameters to compute the curvature. most: the largest number of points per call. */
pv_status pv__vi_target_new(pv_ctx *ctx, const pv_density *density, const double *w, bool diagonal, size_t most,
                            pv__vi_target **target);
void pv__vi_target_free(pv_ctx *ctx, pv__vi_target *target);
size_t pv__vi_target_dims(const pv__vi_target *target);    /* of the density */
double pv__vi_target_laplace(const pv__vi_target *target); /* log evidence by Laplace's method; NaN: not available */
/* From this call on u has `rank` coordinates: those along basis [rank][dims], orthonormal, in the coordinates in which
 * the Gaussian (one component; borrowed like the basis) is standard normal. The other coordinates are drawn from it. */
pv_status pv__vi_target_slice(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *gaussian, size_t rank,
                              const double *basis, uint64_t seed);

/* log p [stride] and its gradient [dims][stride] in u at the first `count` of every `padded` points, `groups` times;
 * stride = groups x padded. exact: uses the density itself even if it has an estimate. log p is -INFINITY, and the
 * gradient 0, if the density is 0 or NaN. */
pv_status pv__vi_target_eval(pv_ctx *ctx, pv__vi_target *target, bool exact, size_t groups, size_t count, size_t padded,
                             const double *u, double *log_p, double *gradient);

/* The state of the density and its copies, for checkpoints. */
enum { PV_VI_TARGET_FIELDS = 9 * PV_MEMORY_FIELDS + 1 };
size_t pv__vi_target_fields(pv__vi_target *target, pv_field *field /* [PV_VI_TARGET_FIELDS] */);

/* Whether the density is positive at n points w [n][dims]. */
pv_status pv__vi_target_inside(pv_ctx *ctx, pv__vi_target *target, size_t n, const double *w, bool *inside);

/* Convert one point u, and a mixture, to w. rest [dims]: standard normals for the dimensions outside a slice; not read
 * without one. */
void pv__vi_target_point(pv__vi_target *target, const double *u, const double *rest, double *w);
pv_status pv__vi_target_mixture(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, pv_mixture *mixture);

/* ---- fitting (vi_run.c) ------------------------------------------------------------------------------------------ */

typedef struct pv__vi_plan {
    const char *key; /* name in checkpoints */
    size_t components, samples;
    int64_t steps;
    double rate;
    bool diagonal;
    bool natural; /* one component, plain natural gradients: for many dimensions */
    uint64_t seed;
    int64_t before, in_all; /* steps done before and in total, for the progress */
} pv__vi_plan;

typedef struct pv__vi_outcome {
    pv__vi_mix mix; /* the caller frees it */
    pv_stop stop;
    int64_t iterations;
} pv__vi_outcome;

/* dims: that of u. */
pv_status pv__vi_run(pv_ctx *ctx, const pv_density *density, pv__vi_target *target, size_t dims,
                     const pv__vi_plan *plan, pv__vi_outcome *outcome);

/* ---- directions (vi_slice.c) ------------------------------------------------------------------------------------- */

/* basis [rank][dims]: the directions in which the density differs most from the Gaussian, in the coordinates in which
 * that is standard normal. */
pv_status pv__vi_directions(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *gaussian, uint64_t seed, size_t rank,
                            double *basis);

/* ---- results (vi_result.c) --------------------------------------------------------------------------------------- */

/* The bound from new points, its standard error, and the mixture's mass where the density is positive. evidence: log
 * evidence from the points' importance weights; effective: the effective number of points. */
typedef struct pv__vi_value {
    double elbo, se, support, evidence, evidence_se, effective;
} pv__vi_value;
/* points: 0 for as many as a report needs. Can return PV_ERR_INTERRUPTED. */
pv_status pv__vi_bound(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, uint64_t seed, size_t points,
                       pv__vi_value *value);

/* Draws stratified by weight. whole: the density is known to be positive everywhere; otherwise draws where it is 0 are
 * redrawn. */
pv_status pv__vi_draws(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, uint64_t seed, bool whole,
                       size_t count, double *draws);

/* Normals [dims][stride] for count points: pairs of opposite sign, with a single last one if count is odd. The padding
 * is 0.
 */
void pv__vi_normals(const pv__vi_kernels *kernels, pv_rng *rng, size_t dims, size_t count, size_t stride,
                    double *buffer, double *eps);
static inline size_t pv__vi_normals_buffer(size_t dims, size_t count) {
    return (dims * ((count + 1) / 2) + 2 * PV_VI_LANES - 1) / (2 * PV_VI_LANES) * (2 * PV_VI_LANES);
}

static inline size_t pv__vi_scratch(const pv__vi_mix *mix) {
    return mix->components * (mix->dims + 1) * 4 * PV_VI_LANES;
}
enum { PV_VI_CHUNK = 64 }; /* points per call if their number is free */

#endif
