/* The density as variational inference sees it: in scaled coordinates, at many points at once, on several threads.
 *
 *   u = L^T (w - centre), L L^T the curvature at the start (posterior/whiten.h); with diagonal factors u = (w -
 * centre)/scale, so that what is diagonal in u is diagonal in w. log p(u) = log p(w) + log |dw/du|.
 */
#include <math.h>
#include <string.h>

#include "posterior/vi.h"

enum {
    PARTS = 8,               /* clones: a fixed number, so that what each remembers does not depend on the threads */
    MOST_FOR_CURVATURE = 500 /* parameters; the curvature costs two evaluations each and their square in memory */
};
static const double scale_without_curvature = 0.1;

typedef struct part {
    pv_ctx *ctx; /* of its own: errors of threads do not meet */
    void *state;
    pv_status status;
} part;

struct pv__vi_target {
    double seconds; /* that a point took on one thread, the last time */
    const pv_density *density;
    const pv__vi_kernels *kernels;
    size_t dims, most;
    bool diagonal;
    double *centre;  /* [dims] */
    double *scale;   /* [dims], diagonal only */
    double *inverse; /* [dims][dims], L^-1, otherwise */
    double log_jacobian;
    double *columns; /* [dims][most]; the arrays below are for points one after the other */
    double *w, *dw;  /* [most][dims] */
    double *values;  /* [most] */
    part parts[PARTS];
    size_t clones;
};

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static pv_status clone_density(pv_ctx *ctx, pv__vi_target *t) {
    if (!t->density->clone)
        return PV_OK;
    for (; t->clones < PARTS; t->clones++) {
        part *each = &t->parts[t->clones];
        PV_TRY(pv__ctx_child(ctx, &each->ctx));
        pv_status status = t->density->clone(each->ctx, t->density->state, &each->state);
        if (status != PV_OK) {
            pv__ctx_adopt(ctx, each->ctx);
            pv_ctx_free(each->ctx);
            return status;
        }
    }
    return PV_OK;
}

static void invert(size_t d, const double *l, double *inverse) {
    for (size_t j = 0; j < d; j++)
        for (size_t i = j; i < d; i++) {
            double sum = i == j;
            for (size_t m = j; m < i; m++)
                sum -= l[i * d + m] * inverse[m * d + j];
            inverse[i * d + j] = sum / l[i * d + i];
        }
}

static pv_status check_start(pv_ctx *ctx, const pv_density *density, const double *w, double *gradient) {
    double value;
    PV_TRY(density->eval(ctx, density->state, w, &value, gradient));
    if (!isfinite(value))
        return pv__fail(ctx, PV_ERR_NUMERIC, "the density is zero or not a number at the starting point");
    return PV_OK;
}

static pv_status find_scale(pv_ctx *ctx, pv__vi_target *t, const double *w) {
    size_t d = t->dims;
    if (t->diagonal && d > MOST_FOR_CURVATURE) {
        for (size_t i = 0; i < d; i++)
            t->scale[i] = scale_without_curvature;
    } else {
        pv__whiten whiten;
        PV_TRY(pv__whiten_new(ctx, t->density, w, &whiten));
        if (!t->diagonal) {
            invert(d, whiten.factor, t->inverse);
            t->log_jacobian = whiten.log_det;
        }
        for (size_t i = 0; t->diagonal && i < d; i++) {
            double curvature = 0;
            for (size_t j = 0; j <= i; j++)
                curvature += whiten.factor[i * d + j] * whiten.factor[i * d + j];
            t->scale[i] = 1 / sqrt(curvature);
        }
        pv__whiten_free(ctx, &whiten);
    }
    for (size_t i = 0; t->diagonal && i < d; i++)
        t->log_jacobian += log(t->scale[i]);
    return PV_OK;
}

pv_status pv__vi_target_new(pv_ctx *ctx, const pv_density *density, const double *w, bool diagonal, size_t most,
                            pv__vi_target **target) {
    size_t d = density->dims;
    pv__vi_target *t;
    *target = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *t, &t));
    *t = (pv__vi_target){.density = density, .dims = d, .diagonal = diagonal, .most = pv__vi_padded(most)};
    t->kernels = pv__vi_kernels_get();
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, d, sizeof(double), &t->centre));
    PV_GOTO(fail, pv__alloc(ctx, d, sizeof(double), &t->scale));
    PV_GOTO(fail, pv__alloc(ctx, diagonal ? 0 : d, d * sizeof(double), &t->inverse));
    PV_GOTO(fail, pv__alloc(ctx, t->most, d * sizeof(double), &t->columns));
    PV_GOTO(fail, pv__alloc(ctx, t->most, d * sizeof(double), &t->w));
    PV_GOTO(fail, pv__alloc(ctx, t->most, d * sizeof(double), &t->dw));
    PV_GOTO(fail, pv__alloc(ctx, t->most, sizeof(double), &t->values));
    memcpy(t->centre, w, d * sizeof *w);
    PV_GOTO(fail, check_start(ctx, density, w, t->dw));
    PV_GOTO(fail, find_scale(ctx, t, w));
    PV_GOTO(fail, clone_density(ctx, t));
    *target = t;
    return PV_OK;
fail:
    pv__vi_target_free(ctx, t);
    return status;
}

void pv__vi_target_free(pv_ctx *ctx, pv__vi_target *t) {
    if (!t)
        return;
    for (size_t i = 0; i < t->clones; i++) {
        if (t->density->release)
            t->density->release(t->parts[i].ctx, t->parts[i].state);
        pv_ctx_free(t->parts[i].ctx);
    }
    pv__free(ctx, t->centre);
    pv__free(ctx, t->scale);
    pv__free(ctx, t->inverse);
    pv__free(ctx, t->columns);
    pv__free(ctx, t->w);
    pv__free(ctx, t->dw);
    pv__free(ctx, t->values);
    pv__free(ctx, t);
}

/* ---- evaluating -------------------------------------------------------------------------------------------------- */

static pv_status eval_range(pv_ctx *ctx, const pv__vi_target *t, void *state, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        PV_TRY(t->density->eval(ctx, state, t->w + i * t->dims, t->values + i, t->dw + i * t->dims));
    return PV_OK;
}

/* t->values and t->dw at the first n points of t->w. */
static pv_status eval_points(pv_ctx *ctx, pv__vi_target *t, size_t n) {
    if (!t->clones)
        return eval_range(ctx, t, t->density->state, 0, n);
    /* Threads are woken only where there is enough to do; the result is the same either way. */
    int team = t->seconds * (double)n < 2e-5 ? 1 : pv__threads_for(ctx, PARTS);
    double began = pv__seconds();
#pragma omp parallel for num_threads(pv_threads_ready(team)) schedule(dynamic)
    for (int i = 0; i < PARTS; i++) {
        part *each = &t->parts[i];
        each->status = eval_range(each->ctx, t, each->state, n * (size_t)i / PARTS, n * ((size_t)i + 1) / PARTS);
    }
    if (team == 1)
        t->seconds = (pv__seconds() - began) / (double)n;
    for (int i = 0; i < PARTS; i++)
        if (t->parts[i].status != PV_OK)
            return pv__ctx_adopt(ctx, t->parts[i].ctx);
    return PV_OK;
}

/* Columns u to points w, one after the other without the padding. */
static void to_points(pv__vi_target *t, size_t groups, size_t count, size_t padded, const double *u) {
    size_t d = t->dims, stride = groups * padded;
    const double *from = u;
    if (!t->diagonal) {
        t->kernels->lower(d, t->inverse, true, stride, stride, u, t->columns);
        from = t->columns;
    }
    for (size_t i = 0; i < d; i++) {
        double scale = t->diagonal ? t->scale[i] : 1, *to = t->w + i;
        for (size_t g = 0; g < groups; g++)
            for (size_t p = 0; p < count; p++, to += d)
                *to = t->centre[i] + scale * from[i * stride + g * padded + p];
    }
}

pv_status pv__vi_target_eval(pv_ctx *ctx, pv__vi_target *t, bool exact, size_t groups, size_t count, size_t padded,
                             const double *u, double *log_p, double *gradient) {
    size_t d = t->dims, stride = groups * padded;
    to_points(t, groups, count, padded, u);
    if (!exact && t->density->estimate)
        PV_TRY(t->density->estimate(ctx, t->density->source, groups * count, t->w, t->values, t->dw));
    else
        PV_TRY(eval_points(ctx, t, groups * count));
    double *to = t->diagonal ? gradient : t->columns;
    for (size_t g = 0, n = 0; g < groups; g++)
        for (size_t p = g * padded; p < g * padded + count; p++, n++) {
            const double *dw = t->dw + n * d;
            double sum = 0;
            for (size_t i = 0; i < d; i++) {
                double slope = t->diagonal ? -t->scale[i] * dw[i] : -dw[i];
                to[i * stride + p] = slope;
                sum += slope * 0; /* 0 unless some slope is not finite */
            }
            bool fine = isfinite(t->values[n]) && sum == 0;
            log_p[p] = fine ? t->log_jacobian - t->values[n] : -INFINITY;
            for (size_t i = 0; !fine && i < d; i++)
                to[i * stride + p] = 0;
        }
    if (!t->diagonal)
        t->kernels->lower(d, t->inverse, false, stride, stride, t->columns, gradient);
    return PV_OK;
}

pv_status pv__vi_target_inside(pv_ctx *ctx, pv__vi_target *t, size_t n, const double *w, bool *inside) {
    size_t d = t->dims;
    for (size_t first = 0; first < n; first += t->most) {
        size_t count = n - first < t->most ? n - first : t->most;
        memcpy(t->w, w + first * d, count * d * sizeof *w);
        PV_TRY(eval_points(ctx, t, count));
        for (size_t i = 0; i < count; i++)
            inside[first + i] = isfinite(t->values[i]);
    }
    return PV_OK;
}

/* ---- back to w --------------------------------------------------------------------------------------------------- */

void pv__vi_target_point(const pv__vi_target *t, const double *u, double *w) {
    size_t d = t->dims;
    for (size_t i = 0; i < d; i++) {
        double sum = 0;
        if (t->diagonal)
            sum = t->scale[i] * u[i];
        else
            for (size_t l = i; l < d; l++)
                sum += t->inverse[l * d + i] * u[l];
        w[i] = t->centre[i] + sum;
    }
}

/* The lower triangle F with F F^T = A A^T: Gram and Schmidt on the rows of A, twice, as once is not exact enough. */
static void triangle(size_t d, double *a, double *f) {
    for (size_t i = 0; i < d; i++) {
        double *row = a + i * d, norm = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t j = 0; j < i; j++) {
                double dot = 0;
                for (size_t l = 0; l < d; l++)
                    dot += row[l] * a[j * d + l];
                for (size_t l = 0; l < d; l++)
                    row[l] -= dot * a[j * d + l];
                f[i * d + j] += dot;
            }
        for (size_t l = 0; l < d; l++)
            norm += row[l] * row[l];
        f[i * d + i] = sqrt(norm);
        for (size_t l = 0; l < d; l++)
            row[l] /= f[i * d + i];
    }
}

pv_status pv__vi_target_mixture(pv_ctx *ctx, const pv__vi_target *t, const pv__vi_mix *mix, pv_mixture *mixture) {
    size_t d = t->dims;
    double *a;
    PV_TRY(pv__alloc(ctx, t->diagonal ? 0 : d, d * sizeof *a, &a));
    for (size_t k = 0; k < mix->components; k++) {
        const double *c = mix->factor + k * mix->size;
        double *f = mixture->factor + k * mix->size;
        mixture->weight[k] = exp(mix->log_weight[k]);
        pv__vi_target_point(t, mix->mean + k * d, mixture->mean + k * d);
        memset(f, 0, mix->size * sizeof *f);
        for (size_t i = 0; t->diagonal && i < d; i++)
            f[i] = t->scale[i] * c[i];
        if (t->diagonal)
            continue;
        memset(a, 0, d * d * sizeof *a);
        for (size_t i = 0; i < d; i++) /* A = L^-T C */
            for (size_t l = i; l < d; l++)
                for (size_t j = 0; j <= l; j++)
                    a[i * d + j] += t->inverse[l * d + i] * c[l * d + j];
        triangle(d, a, f);
    }
    pv__free(ctx, a);
    return PV_OK;
}

size_t pv__vi_target_fields(pv__vi_target *t, pv_field *field) {
    const pv_density *density = t->density;
    size_t n = 0;
    if (density->memory) {
        n = density->memory(density->state, field);
        for (size_t i = 0; i < t->clones; i++)
            n += density->memory(t->parts[i].state, field + n);
    }
    return n;
}
