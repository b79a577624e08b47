/* Coordinates in which the curvature at a point is the identity.
 *
 * The Hessian is computed from central differences of the gradient, H_ij ~ (g_i(w + h e_j) - g_i(w - h e_j)) / 2h,
 * symmetrised, which works for any density, including the profiled marginal. A direction whose curvature is not
 * positive (a flat or non-convex prior, or a point that is not a maximum) gets a small positive one; the engines then
 * find its scale themselves.
 */
#include "core/core.h"
#include "posterior/whiten.h"

#include <math.h>
#include <string.h>

/* Computes a column of the Hessian, with steps in units of each parameter's scale, which a first pass with a small step
 * finds. */
static pv_status column(pv_ctx *ctx, const pv_density *density, double *w, size_t j, double h, double *up, double *down,
                        bool *finite) {
    double held = w[j], value_up = (double)NAN, value_down = (double)NAN;
    w[j] = held + h;
    pv_status status = density->eval(ctx, density->state, w, &value_up, up);
    w[j] = held - h;
    if (status == PV_OK)
        status = density->eval(ctx, density->state, w, &value_down, down);
    w[j] = held;
    *finite = status == PV_OK && isfinite(value_up) && isfinite(value_down);
    return status;
}

static pv_status hessian(pv_ctx *ctx, const pv_density *density, double *w, double *up, double *down, double *h) {
    size_t d = density->dims;
    for (size_t j = 0; j < d; j++) {
        if (pv__interrupted(ctx))
            return pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request before the posterior's curvature was known");
        double step = 1e-4 * (1 + fabs(w[j]));
        /* The second pass uses a step that changes the density slightly: a hundredth of a standard deviation. */
        for (int pass = 0; pass < 2; pass++) {
            bool finite = false;
            for (int shrink = 0; shrink < 12 && !finite; shrink++) {
                step *= shrink ? 0.1 : 1;
                PV_TRY(column(ctx, density, w, j, step, up, down, &finite));
            }
            if (!finite)
                return pv__fail(ctx, PV_ERR_NUMERIC, "the density is zero next to the starting point");
            double curvature = (up[j] - down[j]) / (2 * step);
            if (pass == 0 && curvature > 0)
                step = fmin(fmax(1e-2 / sqrt(curvature), 1e-8), 1e2);
            for (size_t i = 0; pass == 1 && i < d; i++)
                h[i * d + j] = (up[i] - down[i]) / (2 * step);
        }
    }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            h[i * d + j] = h[j * d + i] = 0.5 * (h[i * d + j] + h[j * d + i]);
    return PV_OK;
}

/* Adds to the diagonal, relative to each entry's size, until the matrix has a Cholesky factor. */
static pv_status factorise(pv_ctx *ctx, size_t d, const double *h, pv__whiten *whiten) {
    double most = 0;
    for (size_t i = 0; i < d; i++)
        most = fmax(most, fabs(h[i * d + i]));
    if (!isfinite(most) || !(most > 0))
        return pv__fail(ctx, PV_ERR_NUMERIC, "the density has no curvature at the starting point");
    double add = 0;
    for (int round = 0; round < 60; round++) {
        memcpy(whiten->factor, h, d * d * sizeof *h);
        for (size_t i = 0; i < d; i++)
            whiten->factor[i * d + i] += add * fmax(fabs(h[i * d + i]), 1e-8 * most);
        if (pv__cholesky(d, whiten->factor, 0)) {
            whiten->repaired = add > 0;
            for (size_t i = 0; i < d; i++)
                whiten->log_det -= log(whiten->factor[i * d + i]);
            return PV_OK;
        }
        add = add > 0 ? 4 * add : 1e-8;
    }
    return pv__fail(ctx, PV_ERR_NUMERIC, "the density's curvature at the starting point is not finite");
}

pv_status pv__whiten_new(pv_ctx *ctx, const pv_density *density, const double *w, pv__whiten *whiten) {
    size_t d = density->dims;
    *whiten = (pv__whiten){.dims = d};
    double *block = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, d, sizeof(double), &whiten->centre));
    PV_GOTO(done, pv__alloc(ctx, d, d * sizeof(double), &whiten->factor));
    PV_GOTO(done, pv__alloc(ctx, d * d + 3 * d, sizeof *block, &block));
    double *h = block, *up = h + d * d, *down = up + d, *moving = down + d;
    memcpy(whiten->centre, w, d * sizeof *w);
    memcpy(moving, w, d * sizeof *w);
    PV_GOTO(done, hessian(ctx, density, moving, up, down, h));
    status = factorise(ctx, d, h, whiten);
done:
    pv__free(ctx, block);
    if (status != PV_OK)
        pv__whiten_free(ctx, whiten);
    return status;
}

void pv__whiten_free(pv_ctx *ctx, pv__whiten *whiten) {
    pv__free(ctx, whiten->centre);
    pv__free(ctx, whiten->factor);
    *whiten = (pv__whiten){0};
}

void pv__whiten_to_w(const pv__whiten *whiten, const double *u, double *w) {
    size_t d = whiten->dims;
    for (size_t i = d; i-- > 0;) {
        double sum = u[i];
        for (size_t j = i + 1; j < d; j++)
            sum -= whiten->factor[j * d + i] * w[j];
        w[i] = sum / whiten->factor[i * d + i];
    }
    for (size_t i = 0; i < d; i++)
        w[i] += whiten->centre[i];
}

void pv__whiten_gradient(const pv__whiten *whiten, const double *dw, double *du) {
    size_t d = whiten->dims;
    for (size_t i = 0; i < d; i++) {
        double sum = dw[i];
        for (size_t j = 0; j < i; j++)
            sum -= whiten->factor[i * d + j] * du[j];
        du[i] = sum / whiten->factor[i * d + i];
    }
}
