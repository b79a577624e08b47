/* The density for variational inference: in scaled coordinates, at many points at once, with several threads.
 *
 *   u = L^T (w - centre), where L L^T is the curvature at the start (posterior/whiten.h); with diagonal factors
 *   u = (w - centre)/scale, so that diagonal in u is diagonal in w. log p(u) = log p(w) + log |dw/du|.
 */
#include <math.h>
#include <string.h>

#include "base/reduce.h"
#include "core/core.h"
#include "posterior/vi.h"

enum {
    PARTS = 8, /* number of clones, which is fixed so that the state of each does not depend on the threads */
    MOST_FOR_CURVATURE =
        500 /* parameters; computing the curvature takes two evaluations per parameter and its square in memory */
};
static const double scale_without_curvature = 0.1;

typedef struct part {
    pv_ctx *ctx; /* separate, so that errors of threads do not conflict */
    void *state;
    pv_status status;
} part;

/* With a slice, u has only a few of the coordinates (vi.h). */
typedef struct slice {
    const pv__vi_mix *gaussian; /* NULL: no slice */
    const double *basis;        /* [rank][dims] */
    size_t rank;
    uint64_t seed, calls;   /* the other coordinates get new normals at each call */
    double *v, *u, *buffer; /* [dims][most] */
    double *log_rest;       /* [most], log density of the other coordinates */
    double *along;          /* [most] */
} slice;

struct pv__vi_target {
    double seconds; /* time per point on one thread, in the last call */
    const pv_density *density;
    const pv__vi_kernels *kernels;
    size_t dims, most;
    bool diagonal;
    double *centre;  /* [dims] */
    double *scale;   /* [dims], diagonal only */
    double *inverse; /* [dims][dims], L^-1, otherwise */
    double log_jacobian;
    double laplace; /* log evidence by Laplace's method; NaN: the curvature is unknown or not positive definite */
    slice slice;
    double *columns; /* [dims][most]; the arrays below store points contiguously */
    double *w, *dw;  /* [most][dims] */
    double *values;  /* [most] */
    void **states;   /* [most], the part of each point, if the density takes many at once */
    part parts[PARTS];
    size_t clones, points; /* points: number being evaluated */
};

/* ---- initialisation ---------------------------------------------------------------------------------------------- */

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

static pv_status check_start(pv_ctx *ctx, const pv_density *density, const double *w, double *value, double *gradient) {
    PV_TRY(density->eval(ctx, density->state, w, value, gradient));
    if (!isfinite(*value))
        return pv__fail(ctx, PV_ERR_NUMERIC, "the density is zero or not a number at the starting point");
    return PV_OK;
}

static pv_status find_scale(pv_ctx *ctx, pv__vi_target *t, const double *w, double value) {
    size_t d = t->dims;
    if (t->diagonal && d > MOST_FOR_CURVATURE) {
        for (size_t i = 0; i < d; i++)
            t->scale[i] = scale_without_curvature;
    } else {
        pv__whiten whiten;
        PV_TRY(pv__whiten_new(ctx, t->density, w, &whiten));
        if (!whiten.repaired)
            t->laplace = whiten.log_det + 0.5 * (double)d * log(2 * 3.14159265358979323846) - value;
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
    *t = (pv__vi_target){
        .density = density, .dims = d, .diagonal = diagonal, .most = pv__vi_padded(most), .laplace = (double)NAN};
    double value;
    t->kernels = pv__vi_kernels_get();
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, d, sizeof(double), &t->centre));
    PV_GOTO(fail, pv__alloc(ctx, d, sizeof(double), &t->scale));
    PV_GOTO(fail, pv__alloc(ctx, diagonal ? 0 : d, d * sizeof(double), &t->inverse));
    PV_GOTO(fail, pv__alloc(ctx, t->most, d * sizeof(double), &t->columns));
    PV_GOTO(fail, pv__alloc(ctx, t->most, d * sizeof(double), &t->w));
    PV_GOTO(fail, pv__alloc(ctx, t->most, d * sizeof(double), &t->dw));
    PV_GOTO(fail, pv__alloc(ctx, t->most, sizeof(double), &t->values));
    PV_GOTO(fail, pv__alloc(ctx, density->many ? t->most : 0, sizeof *t->states, &t->states));
    memcpy(t->centre, w, d * sizeof *w);
    PV_GOTO(fail, check_start(ctx, density, w, &value, t->dw));
    PV_GOTO(fail, find_scale(ctx, t, w, value));
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
    pv__free(ctx, t->states);
    pv__free(ctx, t->slice.v);
    pv__free(ctx, t);
}

size_t pv__vi_target_dims(const pv__vi_target *t) {
    return t->dims;
}

double pv__vi_target_laplace(const pv__vi_target *t) {
    return t->laplace;
}

/* ---- slice ------------------------------------------------------------------------------------------------------- */

pv_status pv__vi_target_slice(pv_ctx *ctx, pv__vi_target *t, const pv__vi_mix *gaussian, size_t rank,
                              const double *basis, uint64_t seed) {
    slice *s = &t->slice;
    size_t d = t->dims, buffer = pv__vi_normals_buffer(d, t->most);
    if (!s->v) {
        PV_TRY(pv__alloc(ctx, 2 * (d + 1) * t->most + buffer, sizeof *s->v, &s->v));
        s->u = s->v + d * t->most;
        s->log_rest = s->u + d * t->most;
        s->along = s->log_rest + t->most;
        s->buffer = s->along + t->most;
    }
    s->gaussian = gaussian;
    s->basis = basis;
    s->rank = rank;
    s->seed = seed;
    s->calls = 0;
    return PV_OK;
}

/* v += basis^T (u - basis v): v gets the coordinates u along the basis and keeps the others. moved: the increase of
 * |v|^2 minus |u|^2. */
static void put_along(const slice *s, size_t d, size_t stride, size_t padded, const double *u, double *v) {
    for (size_t r = 0; r < s->rank; r++) {
        const double *direction = s->basis + r * d;
        memset(s->along, 0, padded * sizeof *s->along);
        for (size_t i = 0; i < d; i++)
            for (size_t p = 0; p < padded; p++)
                s->along[p] += direction[i] * v[i * stride + p];
        for (size_t p = 0; p < padded; p++) {
            s->log_rest[p] += 0.5 * s->along[p] * s->along[p];
            s->along[p] = u[r * stride + p] - s->along[p];
        }
        for (size_t i = 0; i < d; i++)
            for (size_t p = 0; p < padded; p++)
                v[i * stride + p] += direction[i] * s->along[p];
    }
}

/* Points [dims][stride] of the whole space, with coordinates u [rank][stride] along the basis and random ones
 * elsewhere. */
static const double *widen(pv__vi_target *t, size_t groups, size_t count, size_t padded, const double *u) {
    slice *s = &t->slice;
    size_t d = t->dims, stride = groups * padded;
    for (size_t g = 0; g < groups; g++) {
        pv_rng rng = pv_rng_stream(s->seed, PV_STREAM_VI_REST, s->calls++);
        pv__vi_normals(t->kernels, &rng, d, count, stride, s->buffer, s->v + g * padded);
    }
    for (size_t p = 0; p < stride; p++)
        s->log_rest[p] = -0.91893853320467274178 * (double)(d - s->rank);
    for (size_t i = 0; i < d; i++)
        for (size_t p = 0; p < stride; p++)
            s->log_rest[p] -= 0.5 * s->v[i * stride + p] * s->v[i * stride + p];
    put_along(s, d, stride, stride, u, s->v);
    t->kernels->place(s->gaussian, 0, stride, stride, s->v, s->u);
    return s->u;
}

/* Projects the gradient [dims][stride] in s->u to [rank][stride] along the basis. */
static void narrow(pv__vi_target *t, size_t stride, double *log_p, double *gradient) {
    const slice *s = &t->slice;
    size_t d = t->dims;
    const double *c = s->gaussian->factor;
    if (s->gaussian->diagonal)
        for (size_t i = 0; i < d; i++)
            for (size_t p = 0; p < stride; p++)
                s->v[i * stride + p] = c[i] * s->u[i * stride + p];
    else
        t->kernels->lower(d, c, true, stride, stride, s->u, s->v);
    memset(gradient, 0, s->rank * stride * sizeof *gradient);
    for (size_t r = 0; r < s->rank; r++)
        for (size_t i = 0; i < d; i++)
            for (size_t p = 0; p < stride; p++)
                gradient[r * stride + p] += s->basis[r * d + i] * s->v[i * stride + p];
    for (size_t p = 0; p < stride; p++)
        log_p[p] += s->gaussian->log_det[0] - s->log_rest[p];
}

/* ---- evaluating -------------------------------------------------------------------------------------------------- */

static pv_status eval_range(pv_ctx *ctx, const pv__vi_target *t, void *state, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        PV_TRY(t->density->eval(ctx, state, t->w + i * t->dims, t->values + i, t->dw + i * t->dims));
    return PV_OK;
}

/* The results of a part, which another rank may have computed: its points and the state of its clone. */
static size_t part_fields(void *state, size_t i, pv_field *field) {
    pv__vi_target *t = state;
    size_t first = t->points * i / PARTS, count = t->points * (i + 1) / PARTS - first;
    field[0] = (pv_field){t->values + first, count * sizeof *t->values};
    field[1] = (pv_field){t->dw + first * t->dims, count * t->dims * sizeof *t->dw};
    return 2 + (t->density->memory ? t->density->memory(t->parts[i].state, field + 2) : 0);
}

/* Evaluates all points in one call, each with the state that it would have alone. */
static pv_status eval_many(pv_ctx *ctx, pv__vi_target *t, size_t n) {
    for (size_t i = 0; i < n; i++)
        t->states[i] = t->density->state;
    for (size_t i = 0; t->clones && i < PARTS; i++)
        for (size_t at = n * i / PARTS; at < n * (i + 1) / PARTS; at++)
            t->states[at] = t->parts[i].state;
    return t->density->many(ctx, n, t->states, t->w, t->values, t->dw);
}

/* Computes t->values and t->dw at the first n points of t->w. */
static pv_status eval_points(pv_ctx *ctx, pv__vi_target *t, size_t n) {
    if (t->density->many && !pv__shares(ctx))
        return eval_many(ctx, t, n);
    if (!t->clones)
        return eval_range(ctx, t, t->density->state, 0, n);
    /* Threads are used only if there is enough work; the result is the same either way. */
    int team = t->seconds * (double)n < 2e-5 ? 1 : pv__threads_for(ctx, PARTS);
    double began = pv__seconds();
#pragma omp parallel for num_threads(pv_threads_ready(team)) schedule(dynamic)
    for (int i = 0; i < PARTS; i++) {
        part *each = &t->parts[i];
        if (!pv__makes(ctx, (size_t)i))
            continue;
        each->status = eval_range(each->ctx, t, each->state, n * (size_t)i / PARTS, n * ((size_t)i + 1) / PARTS);
    }
    if (team == 1)
        t->seconds = (pv__seconds() - began) / (double)n;
    for (int i = 0; i < PARTS; i++)
        if (t->parts[i].status != PV_OK)
            return pv__ctx_adopt(ctx, t->parts[i].ctx);
    t->points = n;
    return pv__share_items(ctx, PARTS, part_fields, t);
}

/* Converts columns u to contiguous points w without padding. */
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

static pv_status eval_unsliced(pv_ctx *ctx, pv__vi_target *t, bool exact, size_t groups, size_t count, size_t padded,
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
                sum += slope * 0; /* NaN if any entry is not finite, else 0 */
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

pv_status pv__vi_target_eval(pv_ctx *ctx, pv__vi_target *t, bool exact, size_t groups, size_t count, size_t padded,
                             const double *u, double *log_p, double *gradient) {
    if (!t->slice.gaussian)
        return eval_unsliced(ctx, t, exact, groups, count, padded, u, log_p, gradient);
    const double *wide = widen(t, groups, count, padded, u);
    PV_TRY(eval_unsliced(ctx, t, exact, groups, count, padded, wide, log_p, t->slice.u));
    narrow(t, groups * padded, log_p, gradient);
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

/* ---- conversion to w --------------------------------------------------------------------------------------------- */

/* Converts one point of the whole scaled space to w. */
static void to_point(const pv__vi_target *t, const double *u, double *w) {
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

/* u = mean + C v for the slice's Gaussian. */
static void from_gaussian(const pv__vi_mix *gaussian, const double *v, double *u) {
    size_t d = gaussian->dims;
    const double *c = gaussian->factor;
    for (size_t i = 0; i < d; i++) {
        u[i] = gaussian->mean[i];
        if (gaussian->diagonal)
            u[i] += c[i] * v[i];
        for (size_t l = 0; !gaussian->diagonal && l <= i; l++)
            u[i] += c[i * d + l] * v[l];
    }
}

void pv__vi_target_point(pv__vi_target *t, const double *u, const double *rest, double *w) {
    slice *s = &t->slice;
    if (!s->gaussian) {
        to_point(t, u, w);
        return;
    }
    memcpy(s->v, rest, t->dims * sizeof *rest);
    put_along(s, t->dims, 1, 1, u, s->v);
    from_gaussian(s->gaussian, s->v, s->u);
    to_point(t, s->u, w);
}

/* The lower triangle F with F F^T = A A^T: Gram-Schmidt on the rows of A, done twice for accuracy. */
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

/* A = L^-T C */
static void compose(const pv__vi_target *t, const double *c, double *a) {
    size_t d = t->dims;
    memset(a, 0, d * d * sizeof *a);
    for (size_t i = 0; i < d; i++)
        for (size_t l = i; l < d; l++)
            for (size_t j = 0; j <= l; j++)
                a[i * d + j] += t->inverse[l * d + i] * c[l * d + j];
}

static pv_status whole_mixture(pv_ctx *ctx, const pv__vi_target *t, const pv__vi_mix *mix, pv_mixture *mixture) {
    size_t d = t->dims;
    double *a;
    PV_TRY(pv__alloc(ctx, t->diagonal ? 0 : d, d * sizeof *a, &a));
    for (size_t k = 0; k < mix->components; k++) {
        const double *c = mix->factor + k * mix->size;
        double *f = mixture->factor + k * mix->size;
        to_point(t, mix->mean + k * d, mixture->mean + k * d);
        memset(f, 0, mix->size * sizeof *f);
        for (size_t i = 0; t->diagonal && i < d; i++)
            f[i] = t->scale[i] * c[i];
        if (t->diagonal)
            continue;
        compose(t, c, a);
        triangle(d, a, f);
    }
    pv__free(ctx, a);
    return PV_OK;
}

/* With L^-T C = F0 Q, F0 lower and Q orthogonal, and P = Q B^T, a component's covariance is F0 (I + P (S - I) P^T)
 * F0^T, where S is its covariance along the basis B. Its factor is F0 times that of the bracket, whose entries are of
 * order 1.
 */
static bool sliced_factor(const pv__vi_target *t, const pv__vi_mix *mix, size_t k, const double *f0, const double *p,
                          double *s, double *bracket, double *factor) {
    size_t d = t->dims, r = mix->dims;
    const double *c = mix->factor + k * mix->size;
    for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j < r; j++) {
            s[i * r + j] = i == j ? -1 : 0;
            for (size_t l = 0; l <= i && l <= j; l++)
                s[i * r + j] += c[i * r + l] * c[j * r + l];
        }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = i == j;
            for (size_t a = 0; a < r; a++) {
                double along = 0;
                for (size_t b = 0; b < r; b++)
                    along += s[a * r + b] * p[j * r + b];
                sum += p[i * r + a] * along;
            }
            bracket[i * d + j] = bracket[j * d + i] = sum;
        }
    if (!pv__cholesky(d, bracket, 0)) /* its eigenvalues are 1 and those of S */
        return false;
    memset(factor, 0, d * d * sizeof *factor);
    for (size_t i = 0; i < d; i++)
        for (size_t l = 0; l <= i; l++)
            for (size_t j = 0; j <= l; j++)
                factor[i * d + j] += f0[i * d + l] * bracket[l * d + j];
    return true;
}

static pv_status sliced_mixture(pv_ctx *ctx, pv__vi_target *t, const pv__vi_mix *mix, pv_mixture *mixture) {
    size_t d = t->dims, r = mix->dims;
    double *block, *none = NULL;
    PV_TRY(pv__alloc(ctx, 3 * d * d + d * r + r * r + d, sizeof *block, &block));
    double *q = block, *f0 = q + d * d, *bracket = f0 + d * d, *p = bracket + d * d, *s = p + d * r;
    none = s + r * r;
    compose(t, t->slice.gaussian->factor, q);
    triangle(d, q, f0);
    for (size_t i = 0; i < d; i++)
        for (size_t a = 0; a < r; a++)
            for (size_t l = 0; l < d; l++)
                p[i * r + a] += q[i * d + l] * t->slice.basis[a * d + l];
    bool sound = true;
    for (size_t k = 0; k < mix->components && sound; k++) {
        pv__vi_target_point(t, mix->mean + k * r, none, mixture->mean + k * d);
        sound = sliced_factor(t, mix, k, f0, p, s, bracket, mixture->factor + k * d * d);
    }
    pv__free(ctx, block);
    return sound ? PV_OK
                 : pv__fail(ctx, PV_ERR_NUMERIC,
                            "vi: the covariance of a component is not positive definite;\nuse fewer `components`");
}

/* A diagonal Gaussian, with components that differ from it along the basis. */
static pv_status low_rank_mixture(pv_ctx *ctx, pv__vi_target *t, const pv__vi_mix *mix, pv_mixture *mixture) {
    size_t d = t->dims, r = mix->dims;
    double *none;
    PV_TRY(pv__alloc(ctx, d, sizeof(double), &mixture->scale));
    PV_TRY(pv__alloc(ctx, r, d * sizeof(double), &mixture->basis));
    PV_TRY(pv__alloc(ctx, d, sizeof(double), &none));
    for (size_t i = 0; i < d; i++)
        mixture->scale[i] = t->scale[i] * t->slice.gaussian->factor[i];
    memcpy(mixture->basis, t->slice.basis, r * d * sizeof(double));
    memcpy(mixture->factor, mix->factor, mix->components * r * r * sizeof(double));
    for (size_t k = 0; k < mix->components; k++)
        pv__vi_target_point(t, mix->mean + k * r, none, mixture->mean + k * d);
    pv__free(ctx, none);
    return PV_OK;
}

pv_status pv__vi_target_mixture(pv_ctx *ctx, pv__vi_target *t, const pv__vi_mix *mix, pv_mixture *mixture) {
    size_t d = t->dims, k = mix->components, rank = t->diagonal && t->slice.gaussian ? mix->dims : 0;
    size_t size = pv_mixture_factor_size(d, t->diagonal, rank);
    PV_TRY(pv__alloc(ctx, k, sizeof(double), &mixture->weight));
    PV_TRY(pv__alloc(ctx, k, d * sizeof(double), &mixture->mean));
    PV_TRY(pv__alloc(ctx, k, size * sizeof(double), &mixture->factor));
    mixture->components = k;
    mixture->dims = d;
    mixture->diagonal = t->diagonal && !rank;
    mixture->rank = rank;
    for (size_t i = 0; i < k; i++)
        mixture->weight[i] = exp(mix->log_weight[i]);
    if (rank)
        return low_rank_mixture(ctx, t, mix, mixture);
    return t->slice.gaussian ? sliced_mixture(ctx, t, mix, mixture) : whole_mixture(ctx, t, mix, mixture);
}

size_t pv__vi_target_fields(pv__vi_target *t, pv_field *field) {
    const pv_density *density = t->density;
    size_t n = 0;
    field[n++] = (pv_field){&t->slice.calls, sizeof t->slice.calls};
    if (density->memory) {
        n += density->memory(density->state, field + n);
        for (size_t i = 0; i < t->clones; i++)
            n += density->memory(t->parts[i].state, field + n);
    }
    return n;
}
