/* Variational inference with a mixture of Gaussians q = sum_k pi_k N(m_k, C_k C_k^T), in scaled coordinates u
 * (vi_target.c).
 *
 *   ELBO = sum_k pi_k E_eps[f(m_k + C_k eps)],   f = log p - log q,   eps ~ N(0, I)
 *
 * Points are reparametrised within each component, so no score-function estimator is needed:
 *   d/dm_k   = pi_k E[h],  d/dC_k = pi_k E[h eps^T],  h = grad f;   d/dpi_k = E_k[f].
 * The omitted term is E_q[d log q / d parameter] over the whole mixture, which is 0 (for the weights it is a common
 * constant, without effect on the simplex). h vanishes where q = p, so the noise disappears as the fit improves (Roeder
 * et al. 2017).
 *
 * Steps are taken in each component's own frame: m_k + C_k dm, C_k exp(dM) with dM lower triangular, whose gradients
 * are C^T h and the lower triangle of C^T h eps^T. There the Fisher information is a constant diagonal: these are
 * natural gradients (Lin et al. 2021) up to a factor each; pi_k cancels. They are scaled by Adam: a gradient below 1,
 * as near the target, is normalised; a larger one is used without scaling, up to 3. A rate is thus a step in units of
 * the component's own width, the same for all targets, and components of small weight move as fast as others. The rate
 * decreases along a cosine; the result is the mean of the parameters over the last two fifths.
 *
 * Adam makes all noise as large as the step. With the d^2 entries of a factor that is too much beyond some tens of
 * dimensions. There a single Gaussian takes plain natural gradients (`natural`): dm = eta E[C^T h], and with G the
 * symmetric part of E[C^T h eps^T], dM = eta G below the diagonal and eta G/2 on it, which for eta = 1 is Newton's step
 * on the divergence. Since C^T h = C^T grad log p + eps, no inverse is needed, and starting from Laplace's
 * approximation the only noise is that of the density's departure from a Gaussian. An error X of M causes noise of
 * |X|^2 d/(2 samples), so eta stays below samples/(2 d).
 *
 * Points where the density is 0 (or NaN) count as truncation of q: the value is that of the restricted mixture
 * (vi_result.c). In place of the gradient of log Z they use a pull towards the mixture's centre (grad log q), which is
 * a good approximation of it.
 */
#include <math.h>
#include <string.h>

#include "posterior/vi.h"

enum { WINDOW = 20 }; /* if the run diverges, the best mean bound over this many steps decides what is kept */

static const double spread = 0.8;        /* of the starting means, in standard deviations of Laplace's approximation */
static const double last_rate = 0.1;     /* relative to the first */
static const double averaged_from = 0.6; /* fraction of the steps */
static const double most_gradient = 10;  /* in a component's own frame, where 1 is typical */
static const double most_turn = 0.5;     /* norm of a step's off-diagonal part */
static const double most_shift = 0.5;    /* natural: root mean square of a step of the mean */
static const double half_log_2pi = 0.91893853320467274178;
static const double least_log_weight = -12; /* keeps components of small weight from disappearing */
static const double settled = 1e-3;         /* a change of the bound that never matters */

/* Mean and variance, one value at a time. */
typedef struct moments {
    double n, mean, squares;
} moments;

static void moments_add(moments *m, double x) {
    double step = x - m->mean;
    m->n++;
    m->mean += step / m->n;
    m->squares += step * (x - m->mean);
}

typedef struct run {
    pv__vi_plan plan;
    size_t dims, components, samples;
    size_t padded, stride; /* points of a component and of all components, with padding */
    size_t each;           /* gradient entries per component: mean, factor, weight */
    double most; /* limit of a gradient entry; none if gradients are noisy, because clipping would bias their mean */
    const pv__vi_kernels *kernels;
    pv__vi_target *target; /* borrowed */
    pv__vi_mix mix, average, best;
    double *block;
    double *eps, *u, *h, *dlog_q;      /* [dims][stride] */
    double *log_p, *log_q;             /* [stride] */
    double *value;                     /* [components], E_k[f] */
    double *gradient, *first, *second; /* [components][each], with Adam's moments */
    double *buffer, *scratch;
    struct {
        int64_t iterations;
        double elbo, best_window;
        double averaged;               /* number of iterates in average */
        moments window, before, after; /* before, after: halves of the last fifth of the steps */
    } at;
    pv_stop stop;
} run;

/* ---- initialisation ---------------------------------------------------------------------------------------------- */

/* Laplace's approximation for one component, randomly shifted for the others: components that start equal would stay
 * equal. */
static void start(run *r) {
    size_t d = r->dims, step = r->mix.diagonal ? 1 : d + 1;
    for (size_t k = 0; k < r->components; k++) {
        pv_rng rng = pv_rng_stream(r->plan.seed, PV_STREAM_VI_START, k);
        for (size_t i = 0; i < d; i++) {
            r->mix.mean[k * d + i] = k ? spread * pv_rng_normal(&rng) : 0;
            r->mix.factor[k * r->mix.size + i * step] = 1;
        }
    }
    pv__vi_mix_refresh(&r->mix);
    pv__vi_mix_copy(&r->mix, &r->best);
}

static pv_status run_new(pv_ctx *ctx, const pv_density *density, size_t d, run *r) {
    const pv__vi_plan *o = &r->plan;
    size_t k = o->components;
    r->dims = d;
    r->components = k;
    r->samples = o->samples;
    r->padded = pv__vi_padded(r->samples);
    r->stride = k * r->padded;
    r->kernels = pv__vi_kernels_get();
    r->at.best_window = -INFINITY;
    r->most = density->estimate ? HUGE_VAL : most_gradient;
    PV_TRY(pv__vi_mix_new(ctx, k, d, o->diagonal, o->natural, &r->mix));
    PV_TRY(pv__vi_mix_new(ctx, k, d, o->diagonal, o->natural, &r->average));
    PV_TRY(pv__vi_mix_new(ctx, k, d, o->diagonal, o->natural, &r->best));
    r->each = d + r->mix.size + 1;
    size_t points = d * r->stride, gradients = k * r->each, adams = o->natural ? 0 : gradients;
    size_t buffer = pv__vi_normals_buffer(d, r->samples), scratch = pv__vi_scratch(&r->mix);
    size_t total = 4 * points + 2 * r->stride + k + gradients + 2 * adams + buffer + scratch;
    PV_TRY(pv__alloc(ctx, total, sizeof(double), &r->block));
    r->eps = r->block;
    r->u = r->eps + points;
    r->h = r->u + points;
    r->dlog_q = r->h + points;
    r->log_p = r->dlog_q + points;
    r->log_q = r->log_p + r->stride;
    r->value = r->log_q + r->stride;
    r->gradient = r->value + k;
    r->first = r->gradient + gradients;
    r->second = r->first + adams;
    r->buffer = r->second + adams;
    r->scratch = r->buffer + buffer;
    start(r);
    return PV_OK;
}

static void run_free(pv_ctx *ctx, run *r) {
    pv__vi_mix_free(ctx, &r->mix);
    pv__vi_mix_free(ctx, &r->average);
    pv__vi_mix_free(ctx, &r->best);
    pv__free(ctx, r->block);
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* log q and C^T h of the only component, into dlog_q, from the normals that generated its points. */
static void contrast_one(run *r) {
    size_t d = r->dims, stride = r->stride;
    const double *c = r->mix.factor;
    if (!r->mix.diagonal)
        r->kernels->lower(d, c, true, stride, stride, r->h, r->dlog_q);
    for (size_t p = 0; p < r->samples; p++)
        r->log_q[p] = -r->mix.log_det[0] - half_log_2pi * (double)d;
    for (size_t i = 0; i < d; i++)
        for (size_t p = 0; p < r->samples; p++) {
            double eps = r->eps[i * stride + p], *t = r->dlog_q + i * stride + p;
            if (r->mix.diagonal)
                *t = c[i] * r->h[i * stride + p];
            *t = r->log_p[p] > -INFINITY ? *t + eps : -eps;
            r->log_q[p] -= 0.5 * eps * eps;
        }
}

/* Computes log p, log q and h at new points of every component. */
static pv_status sample(pv_ctx *ctx, run *r, int64_t step) {
    for (size_t k = 0; k < r->components; k++) {
        pv_rng rng = pv_rng_stream(r->plan.seed, PV_STREAM_VI_STEP, (uint64_t)step * r->components + k);
        double *eps = r->eps + k * r->padded;
        pv__vi_normals(r->kernels, &rng, r->dims, r->samples, r->stride, r->buffer, eps);
        r->kernels->place(&r->mix, k, r->padded, r->stride, eps, r->u + k * r->padded);
    }
    PV_TRY(pv__vi_target_eval(ctx, r->target, false, r->components, r->samples, r->padded, r->u, r->log_p, r->h));
    if (r->plan.natural) {
        contrast_one(r);
        return PV_OK;
    }
    r->kernels->density(&r->mix, r->stride, r->stride, r->u, r->scratch, r->log_q, r->dlog_q);
    r->kernels->contrast(r->dims, r->stride, r->log_p, r->dlog_q, r->h);
    return PV_OK;
}

/* Computes E_k[f] of each component and the bound; false if no point has a positive density. */
static bool evaluate(run *r) {
    double weights = 0;
    r->at.elbo = 0;
    for (size_t k = 0; k < r->components; k++) {
        double sum = 0, inside = 0, weight = exp(r->mix.log_weight[k]);
        for (size_t p = k * r->padded; p < k * r->padded + r->samples; p++)
            if (r->log_p[p] > -INFINITY) {
                sum += r->log_p[p] - r->log_q[p];
                inside++;
            }
        r->value[k] = inside > 0 ? sum / inside + log(inside / (double)r->samples) : -INFINITY;
        if (inside > 0) {
            r->at.elbo += weight * r->value[k];
            weights += weight;
        }
    }
    r->at.elbo = weights > 0 ? r->at.elbo / weights + log(weights) : -INFINITY;
    return isfinite(r->at.elbo);
}

static double clamp(double x, double most) {
    return x > most ? most : x < -most ? -most : x;
}

/* Natural gradients of the only component. */
static void gradients_one(run *r) {
    size_t d = r->dims, step = r->mix.diagonal ? 1 : d + 1;
    double *g = r->gradient, share = 1 / (double)r->samples;
    for (size_t i = 0; i < d; i++) {
        double sum = 0, along = 0;
        for (size_t p = 0; p < r->samples; p++) {
            sum += r->dlog_q[i * r->stride + p];
            along += r->dlog_q[i * r->stride + p] * r->eps[i * r->stride + p];
        }
        g[i] = share * sum;
        g[d + i * step] = share * along;
    }
    if (!r->mix.diagonal)
        r->kernels->turns(d, r->stride, r->dlog_q, r->eps, share, g + d);
    for (size_t i = 0; i < d; i++)
        g[d + i * step] *= 0.5;
    g[r->each - 1] = 0;
}

static void gradients(run *r) {
    if (r->plan.natural) {
        gradients_one(r);
        return;
    }
    for (size_t k = 0; k < r->components; k++) {
        double *g = r->gradient + k * r->each;
        r->kernels->local(&r->mix, k, r->samples, r->stride, r->h + k * r->padded, r->eps + k * r->padded, r->scratch,
                          g, g + r->dims);
        for (size_t i = 0; i + 1 < r->each; i++)
            g[i] = clamp(g[i] / (double)r->samples, r->most);
        g[r->each - 1] = clamp(r->value[k] - r->at.elbo, r->most);
    }
}

/* m += C dm, C = C exp(dM), to first order off the diagonal. */
static void move_full(size_t d, double most, const double *move, double *sum, double *mean, double *c) {
    const double *turn = move + d;
    double norm = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            norm += turn[i * d + j] * turn[i * d + j];
    double shrink = norm > most * most ? most / sqrt(norm) : 1;
    for (size_t i = 0; i < d; i++)
        for (size_t l = 0; l <= i; l++)
            mean[i] += c[i * d + l] * move[l];
    for (size_t i = 0; i < d; i++) {
        double *row = c + i * d;
        memset(sum, 0, (i + 1) * sizeof *sum);
        for (size_t l = 1; l <= i; l++)
            for (size_t j = 0; j < l; j++)
                sum[j] += row[l] * turn[l * d + j];
        for (size_t j = 0; j <= i; j++)
            row[j] = row[j] * exp(turn[j * d + j]) + shrink * sum[j];
    }
}

/* Limits the size of a natural-gradient step, which would overshoot far from the optimum. */
static void shorten(const run *r, double rate, double *by) {
    size_t d = r->dims, step = r->mix.diagonal ? 1 : d + 1;
    double norm = 0;
    for (size_t i = 0; i + 1 < r->each; i++)
        by[i] *= rate;
    for (size_t i = 0; i < d; i++)
        norm += by[i] * by[i];
    double shrink = norm > (double)d * most_shift * most_shift ? most_shift * sqrt((double)d / norm) : 1;
    for (size_t i = 0; i < d; i++) {
        by[i] *= shrink;
        by[d + i * step] = clamp(by[d + i * step], most_turn);
    }
}

static void move(run *r, double rate) {
    size_t d = r->dims;
    if (r->plan.natural)
        shorten(r, rate, r->gradient);
    else
        r->kernels->adam(r->components * r->each, rate, (double)r->at.iterations, r->gradient, r->first, r->second);
    double most = r->plan.natural ? 0.25 * sqrt((double)d) : most_turn;
    for (size_t k = 0; k < r->components; k++) {
        const double *by = r->gradient + k * r->each;
        double *mean = r->mix.mean + k * d, *c = r->mix.factor + k * r->mix.size;
        if (!r->mix.diagonal)
            move_full(d, most, by, r->scratch, mean, c);
        for (size_t i = 0; r->mix.diagonal && i < d; i++) {
            mean[i] += c[i] * by[i];
            c[i] *= exp(by[d + i]);
        }
        r->mix.log_weight[k] = fmax(r->mix.log_weight[k] + by[r->each - 1], least_log_weight);
    }
    pv__vi_mix_refresh(&r->mix);
}

static void add_to_mean(size_t n, double share, const double *x, double *mean) {
    for (size_t i = 0; i < n; i++)
        mean[i] += share * (x[i] - mean[i]);
}

/* Updates statistics of the run; memory does not grow with the number of steps. */
static void remember(run *r, double progress) {
    size_t k = r->components;
    moments_add(&r->at.window, r->at.elbo);
    if (r->at.window.n >= WINDOW) {
        if (r->at.window.mean > r->at.best_window) {
            r->at.best_window = r->at.window.mean;
            pv__vi_mix_copy(&r->mix, &r->best);
        }
        r->at.window = (moments){0};
    }
    if (progress > 0.8)
        moments_add(progress > 0.9 ? &r->at.after : &r->at.before, r->at.elbo);
    if (progress > averaged_from) {
        double share = 1 / ++r->at.averaged;
        add_to_mean(k, share, r->mix.log_weight, r->average.log_weight);
        add_to_mean(k * r->dims, share, r->mix.mean, r->average.mean);
        add_to_mean(k * r->mix.size, share, r->mix.factor, r->average.factor);
    }
}

static bool is_finite(const pv__vi_mix *mix) {
    double sum = 0;
    for (size_t k = 0; k < mix->components; k++)
        sum += 0 * (mix->log_det[k] + mix->log_weight[k]);
    for (size_t i = 0; i < mix->components * mix->dims; i++)
        sum += 0 * mix->mean[i];
    return sum == 0;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static bool has_settled(const run *r) {
    const moments *a = &r->at.before, *b = &r->at.after;
    if (a->n < 2 || b->n < 2)
        return false;
    double noise = sqrt(a->squares / (a->n - 1) / a->n + b->squares / (b->n - 1) / b->n);
    return fabs(b->mean - a->mean) <= 3 * noise + settled;
}

enum { FIELDS = 20 + PV_MEMORY_FIELDS + PV_VI_TARGET_FIELDS };

static size_t fields_of(run *r, const pv_density *density, pv_field *field) {
    size_t n = 0, k = r->components, moves = r->plan.natural ? 0 : k * r->each * sizeof(double);
    const pv__vi_mix *mix[] = {&r->mix, &r->average, &r->best};
    field[n++] = (pv_field){&r->at, sizeof r->at};
    field[n++] = (pv_field){r->first, moves};
    field[n++] = (pv_field){r->second, moves};
    for (size_t i = 0; i < 3; i++) {
        field[n++] = (pv_field){mix[i]->log_weight, k * sizeof(double)};
        field[n++] = (pv_field){mix[i]->mean, k * r->dims * sizeof(double)};
        field[n++] = (pv_field){mix[i]->factor, k * mix[i]->size * sizeof(double)};
        field[n++] = (pv_field){mix[i]->inverse, mix[i]->lean ? 0 : k * mix[i]->size * sizeof(double)};
        field[n++] = (pv_field){mix[i]->log_det, k * sizeof(double)};
    }
    if (density->source_memory)
        n += density->source_memory(density->source, field + n);
    return n + pv__vi_target_fields(r->target, field + n);
}

static pv_status keep(pv_ctx *ctx, run *r, const pv_density *density) {
    pv_field field[FIELDS];
    size_t n = fields_of(r, density, field);
    return pv_checkpoint_keep(ctx, r->plan.key, field, n);
}

static pv_status recall(pv_ctx *ctx, run *r, const pv_density *density) {
    pv_field field[FIELDS];
    size_t n = fields_of(r, density, field);
    bool found;
    PV_TRY(pv_checkpoint_recall(ctx, r->plan.key, field, n, &found));
    if (found && (r->at.iterations < 0 || r->at.iterations > r->plan.steps))
        return pv__checkpoint_damaged(ctx, "its step is not one of the inference's");
    if (found) /* the moves, and three states of the mixture */
        PV_TRY(pv__checkpoint_finite(ctx, field + 1, 2 + 3 * 5));
    return found && density->source_recalled ? density->source_recalled(ctx, density->source) : PV_OK;
}

static pv_status optimise(pv_ctx *ctx, run *r, const pv_density *density) {
    double began = pv__seconds();
    int64_t steps = r->plan.steps;
    PV_TRY(recall(ctx, r, density));
    for (int64_t step = r->at.iterations; step < steps; step++) {
        bool due = pv_checkpoint_due(ctx), interrupted = pv__interrupted(ctx);
        if (due || interrupted)
            PV_TRY(keep(ctx, r, density));
        if (interrupted) {
            r->stop = PV_STOP_INTERRUPTED;
            return PV_OK;
        }
        PV_TRY(sample(ctx, r, step));
        r->at.iterations = step + 1;
        double progress = (double)r->at.iterations / (double)steps;
        double cosine = 0.5 * (1 + cos(3.14159265358979323846 * (double)step / (double)steps));
        bool sound = evaluate(r);
        if (sound) {
            gradients(r);
            move(r, r->plan.rate * (last_rate + (1 - last_rate) * cosine));
        }
        if (!sound || !is_finite(&r->mix)) {
            pv__vi_mix_copy(&r->best, &r->mix);
            r->at.averaged = 0;
            r->stop = PV_STOP_DIVERGED;
            return PV_OK;
        }
        remember(r, progress);
        if (r->at.iterations % WINDOW == 0)
            pv__progress(ctx, &(pv_progress){.what = "vi",
                                             .step = (size_t)(r->plan.before + r->at.iterations),
                                             .steps = (size_t)r->plan.in_all,
                                             .value = r->at.elbo,
                                             .seconds = pv__seconds() - began});
    }
    r->stop = has_settled(r) ? PV_STOP_CONVERGED : PV_STOP_COMPLETED;
    return r->plan.before + steps < r->plan.in_all ? keep(ctx, r, density)
                                                   : PV_OK; /* a later run continues from here */
}

pv_status pv__vi_run(pv_ctx *ctx, const pv_density *density, pv__vi_target *target, size_t dims,
                     const pv__vi_plan *plan, pv__vi_outcome *outcome) {
    run r = {.plan = *plan, .target = target};
    pv_status status;
    *outcome = (pv__vi_outcome){0};
    PV_GOTO(done, run_new(ctx, density, dims, &r));
    PV_GOTO(done, optimise(ctx, &r, density));
    if (r.at.averaged > 0) {
        pv__vi_mix_copy(&r.average, &r.mix);
        pv__vi_mix_refresh(&r.mix);
    }
    *outcome = (pv__vi_outcome){.mix = r.mix, .stop = r.stop, .iterations = r.at.iterations};
    r.mix = (pv__vi_mix){0};
done:
    run_free(ctx, &r);
    return status;
}
