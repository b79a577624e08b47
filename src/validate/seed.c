/* How much a fit depends on its seed: fits again with other seeds, and measures the changes of the coefficients, or of
 * a network's predictions, in units of their standard deviation.
 */
#include <inttypes.h>

#include "validate/checks.h"

#define SEED_SHIFT 0.2 /* largest change of a coefficient between seeds, in its unit */
#define UNIT_LEAST                                                                                                     \
    0.1 /* smallest unit for a coefficient on the standardised scale: changes of smaller ones do not matter */
enum { REFITS = 2 };

typedef struct work {
    const pv_classifier *classifier;
    const pv_fit_options *fit;
    const pv_dataset *data;
} work;

/* Each parameter's estimate: the posterior mean, or the maximum. unit (NULL: not wanted): the unit for its changes.
 * Both have pv_model_params entries. */
static void centres(const pv_classifier *c, double *centre, double *unit) {
    pv__parameter_moments(c, centre, unit);
    for (size_t i = 0; unit && !c->posterior && i < pv_model_params(c->model); i++)
        unit[i] = fmax(fabs(c->w[i]), UNIT_LEAST);
}

/* A network's parameters cannot be compared between starting points, but its predictions can: the log odds of each
 * label, with their standard deviation over the rows as the unit. */
static pv_status log_odds(pv_ctx *ctx, const work *held, const pv_classifier *c, double *centre, double *unit) {
    size_t classes = (size_t)c->schema->classes, rows = held->data->rows;
    pv_prediction *said; /* in any population: a constant shift of log odds is not a change */
    pv_status status = pv_predict_in(ctx, c, held->data, c->prevalence ? "true" : "design", NULL, &said);
    for (size_t i = 0; status == PV_OK && i < rows * classes; i++)
        centre[i] = pv_logit(fmin(fmax(said->p[i], 1e-12), 1 - 1e-12));
    pv_prediction_free(ctx, said);
    for (size_t y = 0; status == PV_OK && unit && y < classes; y++) {
        double sum = 0, squares = 0;
        for (size_t n = 0; n < rows; n++)
            sum += centre[n * classes + y];
        for (size_t n = 0; n < rows; n++)
            squares += pow(centre[n * classes + y] - sum / (double)rows, 2);
        for (size_t n = 0; n < rows; n++)
            unit[n * classes + y] = fmax(sqrt(squares / (double)rows), UNIT_LEAST);
    }
    return status;
}

static pv_status measure(pv_ctx *ctx, const work *held, const pv_classifier *c, double *centre, double *unit) {
    if (!pv_model_has_coefficients(c->model))
        return log_odds(ctx, held, c, centre, unit);
    centres(c, centre, unit);
    return PV_OK;
}

/* The reported change: the largest of any coefficient, or the root mean square over predictions. */
static double change(bool linear, size_t count, const double *from, const double *to, const double *unit) {
    double largest = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double shift = from[i] == to[i] ? 0 : fabs(from[i] - to[i]) / unit[i];
        squares += shift * shift;
        if (pv__worse(shift, largest))
            largest = shift;
    }
    return linear ? largest : sqrt(squares / (double)count);
}

static pv_status refit(pv_ctx *ctx, const work *held, int64_t seed, pv_classifier **refitted) {
    const pv_classifier *c = held->classifier;
    pv_fit_options options = pv_fit_options_used(held->fit, held->data->images != NULL);
    options.seed = seed;
    options.bare = true;
    if (options.prior_chosen && pv_model_has_coefficients(c->model)) /* the uncertainty of that choice counts too */
        options.prior = "auto";
    PV_TRY(pv_fit(ctx, c->schema, held->data, &options, refitted));
    const pv_posterior *p = (*refitted)->posterior;
    if ((*refitted)->stop == PV_STOP_INTERRUPTED || (p && p->stop == PV_STOP_INTERRUPTED))
        return PV_ERR_INTERRUPTED;
    return PV_OK;
}

/* The largest change over the refits. */
static pv_status seed_shift(pv_ctx *ctx, const work *held, double *shift) {
    const pv_classifier *c = held->classifier;
    bool linear = pv_model_has_coefficients(c->model);
    size_t count = linear ? pv_model_params(c->model) : held->data->rows * (size_t)c->schema->classes;
    double *centre = NULL;
    pv_classifier *refitted = NULL;
    pv_status status;
    *shift = 0;
    PV_GOTO(done, pv__alloc(ctx, count, 3 * sizeof *centre, &centre));
    double *unit = centre + count, *other = unit + count;
    PV_GOTO(done, measure(ctx, held, c, centre, unit));
    for (int64_t i = 1; i <= REFITS; i++) {
        PV_GOTO(done, refit(ctx, held, c->seed + i, &refitted));
        PV_GOTO(done, measure(ctx, held, refitted, other, NULL));
        double now = change(linear, count, centre, other, unit);
        if (pv__worse(now, *shift))
            *shift = now;
        pv_classifier_free(ctx, refitted);
        refitted = NULL;
    }
done:
    pv_classifier_free(ctx, refitted);
    pv__free(ctx, centre);
    return status;
}

static const char *seed_remedy(const pv_classifier *c) {
    if (!pv_model_is_convex(c->model))
        return "Other seeds give other networks: fit a smaller one, use a stronger `prior`, or average the predictions "
               "of several seeds.";
    if (!c->posterior)
        return "Fit again with more `epochs` or a lower `rate`, or with `batch=full`.";
    switch (c->posterior->kind) {
    case PV_POSTERIOR_LAPLACE:
        break;
    case PV_POSTERIOR_VI:
        return "Fit again with more `steps` and `draws`.";
    case PV_POSTERIOR_HMC:
        return "Fit again with more `warmup` and `draws`.";
    }
    return "Fit again with more `draws`.";
}

static pv_status check_seed(pv_ctx *ctx, pv_diagnosis *found, const work *held) {
    const pv_classifier *c = held->classifier;
    bool linear = pv_model_has_coefficients(c->model);
    double shift;
    pv_ctx_options told = ctx->options;
    ctx->options.log = NULL; /* warnings of the refits do not concern this model */
    pv_status status = seed_shift(ctx, held, &shift);
    ctx->options.log = told.log;
    if (status == PV_ERR_INTERRUPTED)
        return pv__fail(ctx, status,
                        "stopped on request: the fits with other seeds did not finish, so there is no verdict; leave "
                        "the data out to skip them");
    if (status != PV_OK)
        return status;
    pv_check *check = pv__check_add(found, "seed", "How much the result depends on the seed", shift);
    pv__check_say(check, "With seeds %lld and %lld %s by %s %.2g %s; up to %.1g is fine.", (long long)c->seed + 1,
                  (long long)c->seed + 2, linear ? "a coefficient changes" : "the predicted log odds change",
                  linear ? "at most" : "about", shift,
                  !linear        ? "of their standard deviation over the rows"
                  : c->posterior ? "posterior standard deviations"
                                 : "of its size",
                  SEED_SHIFT);
    if (!(shift <= SEED_SHIFT))
        pv__check_fail(found, check, "%s", seed_remedy(c));
    found->refitted = true;
    return PV_OK;
}

pv_status pv__check_data(pv_ctx *ctx, pv_diagnosis *found, const pv_classifier *c, const pv_fit_options *fit,
                         const pv_diagnose_options *options) {
    const pv_dataset *data = options->data;
    bool held_out = fit->validation > 0 && data->rows > c->rows; /* validation rows are not among them */
    bool same = data->hash == c->data_hash && (data->rows == c->rows || held_out);
    pv_check *check = pv__check_add(found, "data", "Whether these are the data of the fit", NAN);
    pv__check_say(check,
                  "%.200s has hash %016" PRIx64 " and %zu rows; the fit was on hash %016" PRIx64 " and %zu rows%s.%s",
                  data->source ? data->source : c->source, data->hash, data->rows, c->data_hash, c->rows,
                  held_out ? ", the others being for validation" : "",
                  same ? "" : " The sensitivity to the seed was not checked.");
    if (!same)
        pv__check_fail(found, check, "Give the table that the model was fitted on: %.200s.", c->source);
    return same ? check_seed(ctx, found, &(work){.classifier = c, .fit = fit, .data = data}) : PV_OK;
}
