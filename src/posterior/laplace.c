/* Laplace's approximation: N(w, H^-1), the Gaussian with the density's curvature H at w. Its estimate of the log
 * evidence is log p(w) + d/2 log 2 pi - 1/2 log det H. Accurate if w is a maximum and the posterior nearly Gaussian;
 * exact if it is Gaussian.
 */
#include "posterior/whiten.h"

#include <math.h>
#include <string.h>

enum { FEWEST = 16 }; /* draws, if an interruption leaves fewer than requested */

pv_laplace_options pv_laplace_options_default(void) {
    return (pv_laplace_options){.draws = 4000, .seed = 1};
}

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The lower factor C of H^-1 = R R^T with rows R_i = L^-1 e_i: R = C Q with orthonormal rows of Q, by Gram-Schmidt.
 * Unlike a factorisation of the product, it cannot fail for ill-conditioned matrices. */
static void covariance_factor(const pv__whiten *whiten, double *rows, double *unit, double *factor) {
    size_t d = whiten->dims;
    for (size_t i = 0; i < d; i++) {
        double *row = rows + i * d;
        unit[i] = 1;
        pv__whiten_gradient(whiten, unit, row);
        unit[i] = 0;
        for (size_t j = 0; j < i; j++) {
            double along = dot(d, row, rows + j * d);
            factor[i * d + j] = along;
            for (size_t l = 0; l < d; l++)
                row[l] -= along * rows[j * d + l];
        }
        double length = sqrt(dot(d, row, row));
        factor[i * d + i] = length;
        for (size_t l = 0; l < d && length > 0; l++)
            row[l] /= length;
    }
}

static pv_status fill(pv_ctx *ctx, const pv_laplace_options *options, const pv__whiten *whiten, pv_posterior *p) {
    size_t d = whiten->dims;
    double *block = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, (size_t)options->draws, d * sizeof *p->draws, &p->draws));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *p->mixture.weight, &p->mixture.weight));
    PV_GOTO(done, pv__alloc(ctx, d, sizeof *p->mixture.mean, &p->mixture.mean));
    PV_GOTO(done, pv__alloc(ctx, d, d * sizeof *p->mixture.factor, &p->mixture.factor));
    PV_GOTO(done, pv__alloc(ctx, d * d + d, sizeof *block, &block));
    double *factor = p->mixture.factor, *z = block + d * d;
    p->count = (size_t)options->draws;
    p->mixture.components = 1;
    p->mixture.dims = d;
    p->mixture.weight[0] = 1;
    memcpy(p->mixture.mean, whiten->centre, d * sizeof *z);
    covariance_factor(whiten, block, z, factor);
    for (size_t n = 0; n < p->count; n++) {
        if (n >= FEWEST && pv__interrupted(ctx)) {
            p->count = n;
            p->stop = PV_STOP_INTERRUPTED;
            break;
        }
        pv_rng rng = pv_rng_stream(options->seed, PV_STREAM_LAPLACE, n);
        for (size_t i = 0; i < d; i++) {
            z[i] = pv_rng_normal(&rng);
            p->draws[n * d + i] = whiten->centre[i] + dot(i + 1, factor + i * d, z);
        }
    }
done:
    pv__free(ctx, block);
    return status;
}

pv_status pv_laplace(pv_ctx *ctx, const pv_density *density, const double *w, const pv_laplace_options *options,
                     pv_posterior **posterior) {
    *posterior = NULL;
    pv_laplace_options chosen = options ? *options : pv_laplace_options_default();
    size_t d = density->dims;
    if (d == 0)
        return pv__fail(ctx, PV_ERR_USAGE, "the density has no parameters");
    if (chosen.draws < 0)
        return pv__fail(ctx, PV_ERR_USAGE, "the number of draws is %lld; it must not be negative",
                        (long long)chosen.draws);
    pv__whiten whiten = {0};
    pv_posterior *p = NULL;
    double *gradient = NULL, value;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *p, &p));
    PV_GOTO(done, pv__alloc(ctx, d, sizeof *gradient, &gradient));
    PV_GOTO(done, density->eval(ctx, density->state, w, &value, gradient));
    if (!isfinite(value)) {
        status = pv__fail(ctx, PV_ERR_NUMERIC, "the density is zero at the starting point");
        goto done;
    }
    PV_GOTO(done, pv__whiten_new(ctx, density, w, &whiten));
    if (whiten.repaired)
        pv__log(ctx, PV_LOG_WARNING,
                "laplace: the curvature is not positive in every direction; a small one was added, and intervals along "
                "those directions are meaningless");
    p->kind = PV_POSTERIOR_LAPLACE;
    p->dims = d;
    p->stop = PV_STOP_CONVERGED;
    p->evidence = (double)NAN;
    PV_GOTO(done, fill(ctx, &chosen, &whiten, p));
    p->elbo = -value + 0.5 * (double)d * log(2 * 3.14159265358979323846) + whiten.log_det;
    *posterior = p;
    p = NULL;
done:
    pv__free(ctx, gradient);
    pv__whiten_free(ctx, &whiten);
    pv_posterior_free(ctx, p);
    return status;
}
