/* Variational inference with a mixture of Gaussians q = sum_k pi_k N(m_k, C_k C_k^T), in scaled coordinates u
 * (vi_target.c).
 *
 *   ELBO = sum_k pi_k E_eps[f(m_k + C_k eps)],   f = log p - log q,   eps ~ N(0, I)
 *
 * Points are reparametrised within each component, so no score-function estimator is needed:
 *   d/dm_k   = pi_k E[h],  d/dC_k = pi_k E[h eps^T],  h = grad f;   d/dpi_k = E_k[f].
 * What is left out is E_q[d log q / d parameter] over the whole mixture, which is 0 (weights: the same for all, and so
 * without effect on the simplex). h vanishes where q = p: the noise dies out as the fit gets better (Roeder et al.
 * 2017).
 *
 * Steps are taken in each component's own frame: m_k + C_k dm, C_k exp(dM) with dM lower triangular, whose gradients
 * are C^T h and the lower triangle of C^T h eps^T. There the Fisher information is a constant diagonal: these are
 * natural gradients (Lin et al. 2021) up to a factor each; pi_k drops out. On top, Adam: where the gradient is below 1,
 * as near the target, it is normalised; above, it is taken as it is, up to 3. A rate is thus a step in units of the
 * component's own width, the same for all targets, and components of little weight move as fast as others. The rate
 * falls along a cosine; the result is the mean of the parameters over the last two fifths.
 *
 * Points where the density is 0 (or not a number) count as truncation of q: the value is that of the restricted mixture
 * (vi_result.c); in place of the gradient of log Z, they pull towards the mixture's centre (grad log q), which is close
 * to it but not exact.
 */
#include <math.h>
#include <string.h>

#include "posterior/vi.h"

enum { WINDOW = 20 }; /* steps whose mean bound decides what is kept should the run diverge */

static const double spread = 0.8;        /* of the starting means, in standard deviations of Laplace's approximation */
static const double last_rate = 0.1;     /* of the first */
static const double averaged_from = 0.6; /* of the steps */
static const double most_gradient = 10;  /* in a component's own frame, where 1 is ordinary */
static const double most_turn = 0.5;     /* norm of a step's off-diagonal part */
static const double least_log_weight = -12; /* light components stay in the race */
static const double settled = 1e-3;         /* a change of the bound that never matters */

pv_vi_options pv_vi_options_default(void) {
    return (pv_vi_options){.components = 8, .samples = 8, .steps = 500, .rate = 0.05, .draws = 4000};
}

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
    pv_vi_options options;
    size_t dims, components, samples;
    size_t padded, stride; /* points of a component and of all, with the padding */
    size_t each;           /* gradient entries of a component: mean, factor, weight */
    double most;           /* a gradient entry may be; none where they are noisy, as cutting would bias their mean */
    const pv__vi_kernels *kernels;
    pv__vi_target *target;
    pv__vi_mix mix, average, best;
    double *block;
    double *eps, *u, *h, *dlog_q;      /* [dims][stride] */
    double *log_p, *log_q;             /* [stride] */
    double *value;                     /* [components], E_k[f] */
    double *gradient, *first, *second; /* [components][each], Adam's */
    double *buffer, *scratch;
    struct {
        int64_t iterations;
        double elbo, best_window;
        double averaged;               /* number of iterates in average */
        moments window, before, after; /* before, after: the halves of the last fifth */
    } at;
    pv_stop stop;
} run;

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static pv_status check(pv_ctx *ctx, const pv_density *density, const pv_vi_options *o) {
    if (density->dims < 1 || !density->eval)
        return pv__fail(ctx, PV_ERR_USAGE, "the density has no parameters or cannot be evaluated");
    if (o->components < 1 || o->components > 1000)
        return pv__fail(ctx, PV_ERR_USAGE, "components: %lld is not in 1 .. 1000", (long long)o->components);
    if (o->samples < 1 || o->samples > 100000)
        return pv__fail(ctx, PV_ERR_USAGE, "samples: %lld is not in 1 .. 100000", (long long)o->samples);
    if (o->steps < 1)
        return pv__fail(ctx, PV_ERR_USAGE, "steps: %lld is not at least 1", (long long)o->steps);
    if (o->draws < 0)
        return pv__fail(ctx, PV_ERR_USAGE, "draws: %lld is negative", (long long)o->draws);
    if (!(o->rate > 0 && o->rate <= 1))
        return pv__fail(ctx, PV_ERR_USAGE, "rate: %g is not above 0 and at most 1", o->rate);
    return PV_OK;
}

/* Laplace's approximation, once in place and otherwise shifted at random: components that start alike would stay so. */
static void start(run *r) {
    size_t d = r->dims, step = r->mix.diagonal ? 1 : d + 1;
    for (size_t k = 0; k < r->components; k++) {
        pv_rng rng = pv_rng_stream(r->options.seed, PV_STREAM_VI_START, k);
        for (size_t i = 0; i < d; i++) {
            r->mix.mean[k * d + i] = k ? spread * pv_rng_normal(&rng) : 0;
            r->mix.factor[k * r->mix.size + i * step] = 1;
        }
    }
    pv__vi_mix_refresh(&r->mix);
    pv__vi_mix_copy(&r->mix, &r->best);
}

static pv_status run_new(pv_ctx *ctx, const pv_density *density, const double *w, run *r) {
    const pv_vi_options *o = &r->options;
    size_t d = density->dims, k = (size_t)o->components;
    r->dims = d;
    r->components = k;
    r->samples = (size_t)o->samples;
    r->padded = pv__vi_padded(r->samples);
    r->stride = k * r->padded;
    r->kernels = pv__vi_kernels_get();
    r->at.best_window = -INFINITY;
    r->most = density->estimate ? HUGE_VAL : most_gradient;
    PV_TRY(pv__vi_mix_new(ctx, k, d, o->diagonal, &r->mix));
    PV_TRY(pv__vi_mix_new(ctx, k, d, o->diagonal, &r->average));
    PV_TRY(pv__vi_mix_new(ctx, k, d, o->diagonal, &r->best));
    r->each = d + r->mix.size + 1;
    size_t points = d * r->stride, gradients = k * r->each;
    size_t buffer = pv__vi_normals_buffer(d, r->samples), scratch = pv__vi_scratch(&r->mix);
    size_t total = 4 * points + 2 * r->stride + k + 3 * gradients + buffer + scratch;
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
    r->second = r->first + gradients;
    r->buffer = r->second + gradients;
    r->scratch = r->buffer + buffer;
    size_t most = r->stride > PV_VI_CHUNK ? r->stride : PV_VI_CHUNK;
    PV_TRY(pv__vi_target_new(ctx, density, w, o->diagonal, most, &r->target));
    start(r);
    return PV_OK;
}

static void run_free(pv_ctx *ctx, run *r) {
    pv__vi_target_free(ctx, r->target);
    pv__vi_mix_free(ctx, &r->mix);
    pv__vi_mix_free(ctx, &r->average);
    pv__vi_mix_free(ctx, &r->best);
    pv__free(ctx, r->block);
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* log p, log q and h at fresh points of every component. */
static pv_status sample(pv_ctx *ctx, run *r, int64_t step) {
    for (size_t k = 0; k < r->components; k++) {
        pv_rng rng = pv_rng_stream(r->options.seed, PV_STREAM_VI_STEP, (uint64_t)step * r->components + k);
        double *eps = r->eps + k * r->padded;
        pv__vi_normals(r->kernels, &rng, r->dims, r->samples, r->stride, r->buffer, eps);
        r->kernels->place(&r->mix, k, r->padded, r->stride, eps, r->u + k * r->padded);
    }
    PV_TRY(pv__vi_target_eval(ctx, r->target, false, r->components, r->samples, r->padded, r->u, r->log_p, r->h));
    r->kernels->density(&r->mix, r->stride, r->stride, r->u, r->scratch, r->log_q, r->dlog_q);
    r->kernels->contrast(r->dims, r->stride, r->log_p, r->dlog_q, r->h);
    return PV_OK;
}

/* E_k[f] of each component and the bound; false where no point has a density above 0. */
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

static void gradients(run *r) {
    for (size_t k = 0; k < r->components; k++) {
        double *g = r->gradient + k * r->each;
        r->kernels->local(&r->mix, k, r->samples, r->stride, r->h + k * r->padded, r->eps + k * r->padded, r->scratch,
                          g, g + r->dims);
        for (size_t i = 0; i + 1 < r->each; i++)
            g[i] = clamp(g[i] / (double)r->samples, r->most);
        g[r->each - 1] = clamp(r->value[k] - r->at.elbo, r->most);
    }
}

/* m += C dm, C = C exp(dM) to first order off the diagonal. */
static void move_full(size_t d, const double *move, double *mean, double *c) {
    const double *turn = move + d;
    double norm = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            norm += turn[i * d + j] * turn[i * d + j];
    double shrink = norm > most_turn * most_turn ? most_turn / sqrt(norm) : 1;
    for (size_t i = 0; i < d; i++)
        for (size_t l = 0; l <= i; l++)
            mean[i] += c[i * d + l] * move[l];
    for (size_t j = 0; j < d; j++) { /* column by column: entry (i, j) needs only columns j and later */
        double stretch = exp(turn[j * d + j]);
        for (size_t i = j; i < d; i++) {
            double sum = 0;
            for (size_t l = j + 1; l <= i; l++)
                sum += c[i * d + l] * turn[l * d + j];
            c[i * d + j] = c[i * d + j] * stretch + shrink * sum;
        }
    }
}

static void move(run *r, double rate) {
    size_t d = r->dims;
    r->kernels->adam(r->components * r->each, rate, (double)r->at.iterations, r->gradient, r->first, r->second);
    for (size_t k = 0; k < r->components; k++) {
        const double *by = r->gradient + k * r->each;
        double *mean = r->mix.mean + k * d, *c = r->mix.factor + k * r->mix.size;
        if (!r->mix.diagonal)
            move_full(d, by, mean, c);
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

/* What the run remembers of a step: memory does not grow with their number. */
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
    size_t n = 0, k = r->components, moves = k * r->each * sizeof(double);
    const pv__vi_mix *mix[] = {&r->mix, &r->average, &r->best};
    field[n++] = (pv_field){&r->at, sizeof r->at};
    field[n++] = (pv_field){r->first, moves};
    field[n++] = (pv_field){r->second, moves};
    for (size_t i = 0; i < 3; i++) {
        field[n++] = (pv_field){mix[i]->log_weight, k * sizeof(double)};
        field[n++] = (pv_field){mix[i]->mean, k * r->dims * sizeof(double)};
        field[n++] = (pv_field){mix[i]->factor, k * mix[i]->size * sizeof(double)};
        field[n++] = (pv_field){mix[i]->inverse, k * mix[i]->size * sizeof(double)};
        field[n++] = (pv_field){mix[i]->log_det, k * sizeof(double)};
    }
    if (density->source_memory)
        n += density->source_memory(density->source, field + n);
    return n + pv__vi_target_fields(r->target, field + n);
}

static pv_status keep(pv_ctx *ctx, run *r, const pv_density *density) {
    pv_field field[FIELDS];
    size_t n = fields_of(r, density, field);
    return pv_checkpoint_keep(ctx, "vi", field, n);
}

static pv_status recall(pv_ctx *ctx, run *r, const pv_density *density) {
    pv_field field[FIELDS];
    size_t n = fields_of(r, density, field);
    bool found;
    PV_TRY(pv_checkpoint_recall(ctx, "vi", field, n, &found));
    if (found && (r->at.iterations < 0 || r->at.iterations > r->options.steps))
        return pv__checkpoint_damaged(ctx, "its step is not one of the inference's");
    return found && density->source_recalled ? density->source_recalled(ctx, density->source) : PV_OK;
}

static pv_status optimise(pv_ctx *ctx, run *r, const pv_density *density) {
    double began = pv__seconds();
    int64_t steps = r->options.steps;
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
            move(r, r->options.rate * (last_rate + (1 - last_rate) * cosine));
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
                                             .step = (size_t)r->at.iterations,
                                             .steps = (size_t)steps,
                                             .value = r->at.elbo,
                                             .seconds = pv__seconds() - began});
    }
    r->stop = has_settled(r) ? PV_STOP_CONVERGED : PV_STOP_COMPLETED;
    return PV_OK;
}

static pv_status report(pv_ctx *ctx, run *r, pv_posterior *posterior) {
    size_t d = r->dims, k = r->components;
    pv_mixture *mixture = &posterior->mixture;
    if (r->at.averaged > 0) {
        pv__vi_mix_copy(&r->average, &r->mix);
        pv__vi_mix_refresh(&r->mix);
    }
    posterior->kind = PV_POSTERIOR_VI;
    posterior->dims = mixture->dims = d;
    posterior->count = (size_t)r->options.draws;
    posterior->stop = r->stop;
    posterior->iterations = r->at.iterations;
    posterior->acceptance = posterior->step_size = NAN;
    PV_TRY(pv__alloc(ctx, posterior->count, d * sizeof(double), &posterior->draws));
    PV_TRY(pv__alloc(ctx, k, sizeof(double), &mixture->weight));
    PV_TRY(pv__alloc(ctx, k, d * sizeof(double), &mixture->mean));
    PV_TRY(pv__alloc(ctx, k, r->mix.size * sizeof(double), &mixture->factor));
    mixture->components = k;
    mixture->diagonal = r->mix.diagonal;
    PV_TRY(pv__vi_target_mixture(ctx, r->target, &r->mix, mixture));
    pv__vi_value value;
    PV_TRY(pv__vi_bound(ctx, r->target, &r->mix, r->options.seed, &value));
    posterior->elbo = value.elbo;
    posterior->elbo_se = value.se;
    return pv__vi_draws(ctx, r->target, &r->mix, r->options.seed, value.support == 1, posterior->count,
                        posterior->draws);
}

pv_status pv_vi(pv_ctx *ctx, const pv_density *density, const double *w, const pv_vi_options *options,
                pv_posterior **posterior) {
    run r = {.options = options ? *options : pv_vi_options_default()};
    *posterior = NULL;
    PV_TRY(check(ctx, density, &r.options));
    pv_posterior *made = NULL;
    pv_status status;
    PV_GOTO(done, run_new(ctx, density, w, &r));
    PV_GOTO(done, optimise(ctx, &r, density));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made, &made));
    PV_GOTO(done, report(ctx, &r, made));
    *posterior = made;
    made = NULL;
done:
    pv_posterior_free(ctx, made);
    run_free(ctx, &r);
    return status;
}
