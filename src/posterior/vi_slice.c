/* The directions in which a density differs most from a Gaussian fitted to it.
 *
 * In coordinates v in which the Gaussian is standard normal, h(v) = grad log p(v) + v is 0 wherever the two agree, and
 * by the logarithmic Sobolev inequality the loss from keeping the Gaussian in a direction is bounded by the mean square
 * of h in that direction (Zahm, Cui, Law, Spantini and Marzouk 2022). A mixture can therefore gain most in the first
 * eigenvectors of E[h h^T], which are found by subspace iteration from points of the Gaussian.
 */
#include <math.h>
#include <string.h>

#include "posterior/vi.h"

enum { POINTS = 512, ROUNDS = 12 };

/* h at POINTS points, [dims][POINTS]; 0 where the density is 0. room [4][dims][PV_VI_CHUNK]. */
static pv_status residuals(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *gaussian, uint64_t seed, double *room,
                           double *buffer, double *h) {
    const pv__vi_kernels *kernels = pv__vi_kernels_get();
    enum { CHUNK = PV_VI_CHUNK };
    size_t d = gaussian->dims;
    double *eps = room, *u = eps + d * CHUNK, *gradient = u + d * CHUNK, *turned = gradient + d * CHUNK;
    double log_p[CHUNK];
    for (size_t first = 0; first < POINTS; first += CHUNK) {
        if (pv__interrupted(ctx))
            return PV_OK; /* the others are 0 */
        pv_rng rng = pv_rng_stream(seed, PV_STREAM_VI_DIRECTIONS, first);
        pv__vi_normals(kernels, &rng, d, CHUNK, CHUNK, buffer, eps);
        kernels->place(gaussian, 0, CHUNK, CHUNK, eps, u);
        PV_TRY(pv__vi_target_eval(ctx, target, true, 1, CHUNK, CHUNK, u, log_p, gradient));
        if (!gaussian->diagonal)
            kernels->lower(d, gaussian->factor, true, CHUNK, CHUNK, gradient, turned);
        for (size_t i = 0; i < d; i++)
            for (size_t p = 0; p < CHUNK; p++) {
                size_t at = i * CHUNK + p;
                double slope = gaussian->diagonal ? gaussian->factor[i] * gradient[at] : turned[at];
                h[i * POINTS + first + p] = log_p[p] > -INFINITY ? slope + eps[at] : 0;
            }
    }
    return PV_OK;
}

/* Orthonormalises the rows of basis [rank][d]; a row that vanishes becomes an axis. */
static void orthonormal(size_t rank, size_t d, double *basis) {
    for (size_t r = 0; r < rank; r++) {
        double *row = basis + r * d, norm = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t other = 0; other < r; other++) {
                double dot = 0;
                for (size_t i = 0; i < d; i++)
                    dot += row[i] * basis[other * d + i];
                for (size_t i = 0; i < d; i++)
                    row[i] -= dot * basis[other * d + i];
            }
        for (size_t i = 0; i < d; i++)
            norm += row[i] * row[i];
        for (size_t i = 0; i < d; i++)
            row[i] = norm > 0 ? row[i] / sqrt(norm) : i == r;
    }
}

/* basis = basis H H^T; along [POINTS] */
static void apply(size_t rank, size_t d, const double *h, double *along, double *basis) {
    for (size_t r = 0; r < rank; r++) {
        double *row = basis + r * d;
        memset(along, 0, POINTS * sizeof *along);
        for (size_t i = 0; i < d; i++)
            for (size_t p = 0; p < POINTS; p++)
                along[p] += row[i] * h[i * POINTS + p];
        for (size_t i = 0; i < d; i++) {
            row[i] = 0;
            for (size_t p = 0; p < POINTS; p++)
                row[i] += along[p] * h[i * POINTS + p];
        }
    }
}

pv_status pv__vi_directions(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *gaussian, uint64_t seed, size_t rank,
                            double *basis) {
    size_t d = gaussian->dims, buffer = pv__vi_normals_buffer(d, PV_VI_CHUNK);
    double *block, *h, *room, *along;
    PV_TRY(pv__alloc(ctx, d * (POINTS + 4 * PV_VI_CHUNK) + POINTS + buffer, sizeof *block, &block));
    h = block;
    room = h + d * POINTS;
    along = room + 4 * d * PV_VI_CHUNK;
    pv_status status = residuals(ctx, target, gaussian, seed, room, along + POINTS, h);
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_VI_DIRECTIONS, POINTS);
    for (size_t i = 0; i < rank * d; i++)
        basis[i] = pv_rng_normal(&rng);
    orthonormal(rank, d, basis);
    for (int round = 0; status == PV_OK && round < ROUNDS; round++) {
        apply(rank, d, h, along, basis);
        orthonormal(rank, d, basis);
    }
    pv__free(ctx, block);
    return status;
}
