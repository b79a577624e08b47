/* Variational inference: chooses what to fit, and checks the result.
 *
 * In up to some tens of dimensions: a mixture of Gaussians with full covariances (vi_run.c). In more dimensions: first
 * one Gaussian by natural gradients, started at Laplace's approximation; then a mixture in the few directions in which
 * the density differs most from it (vi_slice.c). Each component has a full covariance in these directions and equals
 * the Gaussian elsewhere, so covariances are of low rank plus a common one, which is full if that is affordable, and
 * else diagonal. Of Laplace's approximation, the Gaussian and the mixture, the one with the best bound is kept.
 *
 * The bound is then compared with the evidence. Two estimates of that are available: from the importance weights of the
 * bound's own points, which measure the divergence if it is small; and Laplace's, which can detect regions that the
 * mixture does not reach. Laplace's is wrong if the posterior is not Gaussian; it is corrected by its own importance
 * weights if enough of them are effective.
 */
#include <math.h>
#include <string.h>

#include "posterior/vi.h"

enum {
    MIXTURE_DIMS = 24, /* most dimensions for a mixture with full covariances */
    FULL_DIMS = 1000,  /* most dimensions for a Gaussian with a full covariance */
    RANK = 8,          /* directions of the mixture in more dimensions */
    TRIAL_POINTS = 1024,
    ENOUGH = 100 /* effective points required to trust an evidence from importance weights */
};
static const double gaussian_share = 0.4; /* of the steps */
static const double usual_rate = 0.05;
static const double close_by = 0.1; /* distance below the evidence that is as good as a mixture gets */
static const double too_far = 0.5;  /* distance below the evidence that counts as failure */

pv_vi_options pv_vi_options_default(void) {
    return (pv_vi_options){.components = 8, .samples = 8, .steps = 500, .rate = usual_rate, .draws = 4000};
}

typedef struct fit {
    pv_vi_options options;
    const pv_density *density;
    size_t dims;
    bool sliced;
    pv__vi_target *target;
    pv__vi_mix gaussian; /* with a slice: the common Gaussian */
    double *basis;       /* with a slice: [RANK][dims] */
    pv__vi_mix mix;      /* in the target's coordinates */
    pv__vi_value value;  /* the bound of mix */
    pv_stop stop;
    int64_t iterations;
    double evidence; /* the best estimate of it */
} fit;

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

/* ---- fitting ----------------------------------------------------------------------------------------------------- */

static pv_status open_target(pv_ctx *ctx, const double *w, fit *f) {
    const pv_vi_options *o = &f->options;
    size_t k = (size_t)o->components, samples = (size_t)o->samples;
    size_t most = f->sliced ? pv__vi_padded(k * samples) : 0, each = k * pv__vi_padded(samples);
    most = most > each ? most : each;
    most = most > PV_VI_CHUNK ? most : PV_VI_CHUNK;
    bool diagonal = o->diagonal || f->dims > FULL_DIMS;
    return pv__vi_target_new(ctx, f->density, w, diagonal, most, &f->target);
}

/* Fits the mixture in all dimensions, or along the slice if there is one. */
static pv_status fit_mixture(pv_ctx *ctx, fit *f) {
    const pv_vi_options *o = &f->options;
    pv__vi_plan plan = {.key = "vi",
                        .components = (size_t)o->components,
                        .samples = (size_t)o->samples,
                        .steps = o->steps - f->iterations,
                        .rate = o->rate,
                        .diagonal = o->diagonal,
                        .seed = o->seed,
                        .before = f->iterations,
                        .in_all = o->steps};
    pv__vi_outcome outcome;
    PV_TRY(pv__vi_run(ctx, f->density, f->target, f->sliced ? RANK : f->dims, &plan, &outcome));
    f->mix = outcome.mix;
    f->stop = outcome.stop;
    f->iterations += outcome.iterations;
    return PV_OK;
}

static pv_status fit_gaussian(pv_ctx *ctx, fit *f) {
    const pv_vi_options *o = &f->options;
    size_t samples = (size_t)(o->components * o->samples);
    bool diagonal = f->dims > FULL_DIMS;
    double calm = diagonal ? 0.3 : fmin(0.5, (double)samples / (2 * (double)f->dims)); /* explained in vi_run.c */
    pv__vi_plan plan = {.key = "vi/gaussian",
                        .components = 1,
                        .samples = samples,
                        .steps = (int64_t)ceil((o->components > 1 ? gaussian_share : 1) * (double)o->steps),
                        .rate = fmin(calm * o->rate / usual_rate, 1),
                        .diagonal = diagonal,
                        .natural = true,
                        .seed = o->seed,
                        .in_all = o->steps};
    pv__vi_outcome outcome;
    PV_TRY(pv__vi_run(ctx, f->density, f->target, f->dims, &plan, &outcome));
    f->gaussian = outcome.mix;
    f->stop = outcome.stop;
    f->iterations = outcome.iterations;
    return PV_OK;
}

/* One standard normal: the Gaussian of a slice or, without a slice, Laplace's approximation. */
static pv_status standard(pv_ctx *ctx, size_t dims, bool diagonal, bool lean, pv__vi_mix *mix) {
    PV_TRY(pv__vi_mix_new(ctx, 1, dims, diagonal, lean, mix));
    for (size_t i = 0; i < dims; i++)
        mix->factor[diagonal ? i : i * dims + i] = 1;
    pv__vi_mix_refresh(mix);
    return PV_OK;
}

/* The bound and the importance weights of Laplace's approximation. */
static pv_status laplace_value(pv_ctx *ctx, fit *f, size_t points, pv__vi_value *value) {
    pv__vi_mix whole = {0}, along = {0};
    pv_status status;
    bool diagonal = f->options.diagonal || f->dims > FULL_DIMS;
    if (f->sliced) {
        PV_GOTO(done, standard(ctx, RANK, false, false, &along));
        PV_GOTO(done, standard(ctx, f->dims, diagonal, true, &whole));
        PV_GOTO(done, pv__vi_target_slice(ctx, f->target, &whole, RANK, f->basis, f->options.seed));
    } else {
        PV_GOTO(done, standard(ctx, f->dims, diagonal, false, &along));
    }
    status = pv__vi_bound(ctx, f->target, &along, f->options.seed, points, value);
    if (status == PV_OK && f->sliced)
        status = pv__vi_target_slice(ctx, f->target, &f->gaussian, RANK, f->basis, f->options.seed);
done:
    pv__vi_mix_free(ctx, &whole);
    pv__vi_mix_free(ctx, &along);
    return status;
}

/* Replaces the mixture by another one. */
static pv_status replace_mix(pv_ctx *ctx, fit *f, pv__vi_mix *by) {
    pv__vi_mix_free(ctx, &f->mix);
    f->mix = *by;
    *by = (pv__vi_mix){0};
    return pv__vi_bound(ctx, f->target, &f->mix, f->options.seed, 0, &f->value);
}

/* Keeps the best: the mixture may be worse than the Gaussian of its slice, and that worse than Laplace's. */
static pv_status keep_best(pv_ctx *ctx, fit *f) {
    pv__vi_mix plain = {0};
    pv__vi_value gaussian, laplace;
    pv_status status;
    PV_GOTO(done, standard(ctx, RANK, false, false, &plain));
    PV_GOTO(done, pv__vi_bound(ctx, f->target, &plain, f->options.seed, TRIAL_POINTS, &gaussian));
    PV_GOTO(done, laplace_value(ctx, f, TRIAL_POINTS, &laplace));
    if (!(laplace.elbo <= fmax(gaussian.elbo, f->value.elbo))) {
        pv__vi_mix_free(ctx, &f->gaussian);
        PV_GOTO(done, standard(ctx, f->dims, f->dims > FULL_DIMS, true, &f->gaussian));
        PV_GOTO(done, replace_mix(ctx, f, &plain));
    } else if (!(gaussian.elbo <= f->value.elbo)) {
        PV_GOTO(done, replace_mix(ctx, f, &plain));
    }
done:
    pv__vi_mix_free(ctx, &plain);
    return status;
}

static pv_status fit_sliced(pv_ctx *ctx, fit *f) {
    PV_TRY(fit_gaussian(ctx, f));
    PV_TRY(pv__alloc(ctx, RANK, f->dims * sizeof *f->basis, &f->basis));
    PV_TRY(pv__vi_directions(ctx, f->target, &f->gaussian, f->options.seed, RANK, f->basis));
    PV_TRY(pv__vi_target_slice(ctx, f->target, &f->gaussian, RANK, f->basis, f->options.seed));
    bool going = f->stop != PV_STOP_INTERRUPTED && f->stop != PV_STOP_DIVERGED;
    if (going && f->iterations < f->options.steps)
        PV_TRY(fit_mixture(ctx, f));
    else
        PV_TRY(standard(ctx, RANK, false, false, &f->mix));
    PV_TRY(pv__vi_bound(ctx, f->target, &f->mix, f->options.seed, 0, &f->value));
    return pv__interrupted(ctx) ? PV_OK : keep_best(ctx, f);
}

static pv_status fit_unsliced(pv_ctx *ctx, fit *f) {
    PV_TRY(fit_mixture(ctx, f));
    return pv__vi_bound(ctx, f->target, &f->mix, f->options.seed, 0, &f->value);
}

/* ---- checking the result ----------------------------------------------------------------------------------------- */

/* The best estimate of the log evidence. */
static pv_status find_evidence(pv_ctx *ctx, fit *f) {
    double laplace = pv__vi_target_laplace(f->target);
    f->evidence = f->value.evidence;
    if (!(laplace > f->value.elbo + close_by)) /* also true if there is none */
        return PV_OK;
    pv__vi_value value;
    PV_TRY(laplace_value(ctx, f, 0, &value));
    if (value.effective >= ENOUGH)
        laplace = fmin(laplace, value.evidence + 3 * value.evidence_se);
    f->evidence = fmax(f->evidence, laplace);
    return PV_OK;
}

static pv_status judge(pv_ctx *ctx, fit *f) {
    if (f->stop == PV_STOP_INTERRUPTED || pv__interrupted(ctx)) {
        f->stop = PV_STOP_INTERRUPTED;
        f->evidence = (double)NAN;
        return PV_OK;
    }
    PV_TRY(find_evidence(ctx, f));
    double short_of = f->evidence - f->value.elbo - 3 * f->value.se;
    if (f->stop == PV_STOP_CONVERGED && !(short_of <= close_by))
        f->stop = PV_STOP_COMPLETED;
    /* Independent parameters were requested, so their cost is not a failure. */
    if (!f->options.diagonal && f->stop == PV_STOP_COMPLETED && !(short_of <= too_far))
        f->stop = PV_STOP_POOR;
    return PV_OK;
}

static pv_status report(pv_ctx *ctx, fit *f, pv_posterior *posterior) {
    posterior->kind = PV_POSTERIOR_VI;
    posterior->dims = f->dims;
    posterior->count = (size_t)f->options.draws;
    posterior->stop = f->stop;
    posterior->iterations = f->iterations;
    posterior->acceptance = posterior->step_size = (double)NAN;
    posterior->elbo = f->value.elbo;
    posterior->elbo_se = f->value.se;
    posterior->evidence = f->evidence;
    if (f->value.support < 1)
        pv__log(ctx, PV_LOG_WARNING, "%.2g of the variational posterior lies where the density is zero",
                1 - f->value.support);
    PV_TRY(pv__alloc(ctx, posterior->count, f->dims * sizeof(double), &posterior->draws));
    PV_TRY(pv__vi_target_mixture(ctx, f->target, &f->mix, &posterior->mixture));
    return pv__vi_draws(ctx, f->target, &f->mix, f->options.seed, f->value.support == 1, posterior->count,
                        posterior->draws);
}

pv_status pv_vi(pv_ctx *ctx, const pv_density *density, const double *w, const pv_vi_options *options,
                pv_posterior **posterior) {
    fit f = {.options = options ? *options : pv_vi_options_default(), .density = density, .dims = density->dims};
    *posterior = NULL;
    PV_TRY(check(ctx, density, &f.options));
    f.sliced = !f.options.diagonal && f.dims > MIXTURE_DIMS;
    pv_posterior *made = NULL;
    pv_status status;
    PV_GOTO(done, open_target(ctx, w, &f));
    PV_GOTO(done, f.sliced ? fit_sliced(ctx, &f) : fit_unsliced(ctx, &f));
    PV_GOTO(done, judge(ctx, &f));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made, &made));
    PV_GOTO(done, report(ctx, &f, made));
    *posterior = made;
    made = NULL;
done:
    pv_posterior_free(ctx, made);
    pv__vi_target_free(ctx, f.target);
    pv__vi_mix_free(ctx, &f.gaussian);
    pv__vi_mix_free(ctx, &f.mix);
    pv__free(ctx, f.basis);
    return status;
}
