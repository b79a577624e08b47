/* From options to a plan: parses texts, fills in defaults, and applies the rules after each step (see plan.h).
 *
 * An option that would have no effect is rejected, with its purpose, if it is known to have been given explicitly.
 * Values alone do not show that, because programs share one struct among fits; such fits only warn of values that
 * differ from the default. A seed is never rejected: it is recorded, and a script may set it for fits that draw
 * nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/trees.h"
#include "plan/plan.h"

/* ---- options without effect -------------------------------------------------------------------------------------- */

bool pv__minibatches(const pv_fit_options *o, bool images) {
    return strcmp(o->batch, "full") != 0 && (images || strcmp(o->batch, "auto") != 0);
}

bool pv__mixes(const pv_fit_options *o) {
    return strcmp(o->model, "auto") == 0;
}

bool pv__grows(const pv_fit_options *o) {
    return strncmp(o->model, "trees", 5) == 0;
}

bool pv__fits_itself(const pv_fit_options *o) {
    return pv__mixes(o) || pv__grows(o);
}

pv_loss pv_fit_loss(const pv_fit_options *options, bool sample, bool matched) {
    bool stated = sample || options->sample || options->prevalence || options->prevalence_by || options->phase_one ||
                  options->subcohort > 0;
    if (options->loss != PV_LOSS_IG)
        return (pv_loss)options->loss;
    return matched ? PV_LOSS_MATCHED : stated ? PV_LOSS_IG : PV_LOSS_PLAIN;
}

const char *pv_fit_idle(const pv_fit_options *options, bool images, const char *name) {
    return pv__idle_for(pv__facts_of_options(NULL, options, images, false), name);
}

static bool differs(const pv_option *row, const pv_fit_options *options, const pv_fit_options *usual) {
    char set[64], fallback[64]; /* long enough for every option that can be without effect */
    pv_option_get(row, options, set, sizeof set);
    pv_option_get(row, usual, fallback, sizeof fallback);
    return strcmp(set, fallback) != 0;
}

pv_fit_options pv_fit_options_used(const pv_fit_options *options, bool images) {
    pv_fit_options used = *options;
    for (const pv_option *row = pv_fit_option_table; row->name; row++)
        if (pv_fit_idle(options, images, row->name)) {
            const pv_option alone[] = {*row, {0}};
            pv_options_default(alone, &used);
        }
    return used;
}

static pv_status refuse_idle(pv_ctx *ctx, pv__fact_set facts, const char *const *given, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *what = pv__idle_for(facts, given[i]);
        if (what)
            return pv__fail(ctx, PV_ERR_USAGE, "`%s` is only for %s:\nleave it out, or choose that", given[i], what);
    }
    return PV_OK;
}

void pv__warn_of_idle(pv_ctx *ctx, const pv__plan *plan) {
    const pv_fit_options usual = pv_fit_options_default();
    pv_fit_options given = *plan->given;
    given.loss = plan->options.loss; /* matched sets imply this if no loss was given */
    for (const pv_option *row = pv_fit_option_table; row->name; row++) {
        const char *what = pv_fit_idle(&given, plan->images, row->name);
        if (what && differs(row, &given, &usual))
            pv__log(ctx, PV_LOG_WARNING, "`%s` has no effect here: it is for %s", row->name, what);
    }
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static pv_status parse_batch(pv_ctx *ctx, const char *text, size_t *rows) {
    *rows = 0;
    if (strcmp(text, "auto") == 0 || strcmp(text, "full") == 0)
        return PV_OK;
    char *end;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || number < 1)
        return pv__fail(ctx, PV_ERR_USAGE, "`batch=%s`: 'auto', 'full', or a number of rows of at least 1", text);
    *rows = (size_t)number;
    return PV_OK;
}

/* INFINITY: known, or auto; NaN: the number of rows. */
static pv_status parse_strength(pv_ctx *ctx, const char *text, double *n) {
    static const double most = 1e12; /* observations; with more, the rows' contribution would be lost to rounding */
    bool known = strcmp(text, "known") == 0 || strcmp(text, "auto") == 0; /* auto treats a single number as exact */
    *n = known ? HUGE_VAL : (double)NAN;
    if (known || strcmp(text, "rows") == 0)
        return PV_OK;
    if (!pv__parse_real(text, n) || !(*n >= 0))
        return pv__fail(ctx, PV_ERR_USAGE, "`prevalence-n=%s`: 0 or a positive number, 'auto', 'known' or 'rows'",
                        text);
    if (*n > most)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`prevalence-n=%s`: more than %g observations;\nwrite known for a prevalence that is exact",
                        text, most);
    return PV_OK;
}

/* Rejects "auto" and "jeffreys" here because they depend on the population. */
static pv_status parse_intercept(pv_ctx *ctx, const pv__plan *plan, pv_prior *prior) {
    const char *text = plan->options.intercept_prior;
    bool later = strcmp(text, "auto") == 0 || strcmp(text, "jeffreys") == 0;
    PV_TRY(pv_prior_parse(ctx, "intercept-prior", later ? "none" : text, prior));
    if (prior->kind == PV_PRIOR_LAPLACE)
        return pv__fail(ctx, PV_ERR_USAGE, "`intercept-prior=laplace` is not smooth;\nchoose normal, student or none");
    return PV_OK;
}

static pv_status parse_weighting(pv_ctx *ctx, const char *text) {
    if (strcmp(text, "auto") == 0 || strcmp(text, "0") == 0 || strcmp(text, "1") == 0)
        return PV_OK;
    return pv__fail(ctx, PV_ERR_USAGE,
                    "`weighting=%s`: 'auto', 0 (the efficient estimate) or 1 (the weighted estimate)", text);
}

bool pv__prior_is_open(const pv_fit_options *options) {
    return strcmp(options->prior, "usual") == 0 || strcmp(options->prior, "auto") == 0;
}

pv_status pv__plan_set_prior(pv_ctx *ctx, pv__plan *plan, const char *text) {
    pv__format(plan->prior_text, sizeof plan->prior_text, "%s", text);
    plan->options.prior = plan->prior_text;
    return pv_prior_parse(ctx, "prior", text, &plan->prior);
}

/* ---- the options alone ------------------------------------------------------------------------------------------- */

/* pv__plan_begin; then rejects options that were given but have no effect. */
static pv_status begin(pv_ctx *ctx, const pv_fit_options *given, bool sample, const char *const *names, size_t n_names,
                       pv__plan *plan) {
    int64_t views, size;
    *plan = (pv__plan){.given = given, .options = *given, .map = given->infer != PV_INFER_ML};
    plan->options.prior_chosen = false;
    plan->options.loss = (int)pv_fit_loss(given, sample, false);
    PV_TRY(pv_model_views(ctx, given->model, &views, &size));
    plan->images = views > 0;
    plan->minibatches = pv__minibatches(given, plan->images);
    plan->facts = pv__facts_of_options(ctx, &plan->options, plan->images, sample);
    PV_TRY(refuse_idle(ctx, plan->facts, names, n_names));
    plan->prior_is_open = pv__prior_is_open(given) && !pv__fits_itself(given);
    const char *prior = pv__fits_itself(given) ? "none" : plan->prior_is_open ? "normal:1" : given->prior;
    PV_TRY(pv_prior_parse(ctx, "prior", prior, &plan->prior));
    if (pv__mixes(given))
        PV_TRY(pv__candidates_parse(ctx, given->candidates, (bool[PV__CANDIDATES_MAX]){false}));
    PV_TRY(parse_batch(ctx, given->batch, &plan->batch));
    PV_TRY(parse_strength(ctx, given->prevalence_n, &plan->strength));
    PV_TRY(parse_weighting(ctx, given->weighting));
    PV_TRY(parse_intercept(ctx, plan, &plan->intercept_prior));
    if (plan->minibatches)
        PV_TRY(pv__schedule_parse(ctx, given->schedule, given->epochs, &plan->schedule));
    PV_TRY(pv__rules_check(ctx, &plan->options, plan->facts));
    plan->misread = given->label_error != NULL;
    if (plan->misread)
        PV_TRY(pv__label_error_parse(ctx, given->label_error, &plan->label_error));
    return pv__grows(given) ? pv__boosting_load(ctx) : PV_OK;
}

pv_status pv__plan_begin(pv_ctx *ctx, const pv_fit_options *given, bool sample, pv__plan *plan) {
    return begin(ctx, given, sample, NULL, 0, plan);
}

pv_status pv_fit_check(pv_ctx *ctx, const pv_fit_options *options, bool sample, const char *const *given,
                       size_t n_given) {
    pv__plan plan;
    return begin(ctx, options, sample, given, n_given, &plan);
}

pv_status pv_fit_settings_check(pv_ctx *ctx, const pv_settings *settings, bool sample) {
    const pv_fit_options *options = pv_fit_options_of(settings);
    const pv_roles *roles = pv_roles_of(settings);
    size_t rows = 0, n = 0;
    const char **given;
    if (!options)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "these are not the settings of a fit:\ncreate them with pv_fit_settings_new");
    while (pv_fit_option_table[rows].name)
        rows++;
    PV_TRY(pv__alloc(ctx, rows, sizeof *given, &given));
    for (size_t i = 0; i < rows; i++)
        if (pv_settings_given(settings, pv_fit_option_table[i].name))
            given[n++] = pv_fit_option_table[i].name;
    pv_fit_options own = *options;
    own.loss = (int)pv_fit_loss(options, sample, roles && roles->matched);
    pv_status status = PV_OK;
    if (own.loss == PV_LOSS_PLAIN && options->loss == PV_LOSS_IG && pv_settings_given(settings, "loss"))
        status =
            pv__fail(ctx, PV_ERR_USAGE,
                     "`loss=ig` needs `prevalence=P`, that of the positive label in the target population. Or give "
                     "`population-sample=FILE`, rows of that population");
    if (status == PV_OK)
        status = pv_fit_check(ctx, &own, sample, given, n);
    pv__free(ctx, given);
    return status;
}

/* ---- with the data ----------------------------------------------------------------------------------------------- */

pv_status pv__plan_data(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, pv__plan *plan) {
    pv_fit_options *o = &plan->options;
    if (o->rate == 0)
        o->rate = data->images ? 2e-4 : 0.01;
    o->loss = (int)pv_fit_loss(plan->given, o->sample != NULL, data->matched);
    plan->facts = pv__facts_of_options(ctx, o, plan->images, o->sample != NULL) | pv__facts_of_data(schema, data, o);
    PV_TRY(pv__rules_check(ctx, o, plan->facts));
    if (o->loss != plan->given->loss && o->loss == PV_LOSS_PLAIN)
        pv__log(ctx, PV_LOG_INFO,
                "no `prevalence` is stated: the fit is `loss=plain`, for the rows as they are; state the population "
                "when predicting, with `population=known:P`");
    return PV_OK;
}

/* ---- with the population ----------------------------------------------------------------------------------------- */

static pv_status settle_batch(pv_ctx *ctx, size_t n, pv__plan *plan) {
    enum { USUAL = 32 };
    const char *text = plan->options.batch;
    if (strcmp(text, "auto") == 0 && plan->images)
        plan->batch = n < USUAL ? n : USUAL;
    if (plan->batch > n)
        return pv__fail(ctx, PV_ERR_USAGE, "`batch=%s`: there are only %zu rows;\nuse fewer, or full", text, n);
    return PV_OK;
}

static bool has_two(const pv__plan *p, const pv__plan_rows *rows) {
    bool linear = pv_model_has_coefficients(rows->model) && !p->images, sample = rows->labelled < rows->n;
    return pv__plan_is_profile(p) && linear && !p->misread && p->batch == 0 && p->has_prevalence &&
           !(sample && p->estimated) && p->population.prevalence_n > 0 &&
           !(p->map && p->prior.kind == PV_PRIOR_LAPLACE);
}

/* Decides which estimate is used. */
static pv_estimate estimate_of(const pv__plan *plan, const pv_model *model) {
    const pv_fit_options *o = &plan->options;
    if (strcmp(o->weighting, "auto") != 0)
        return *o->weighting == '1' ? PV_ESTIMATE_WEIGHTED : PV_ESTIMATE_EFFICIENT;
    if (o->infer == PV_INFER_ROBUST && !pv_loss_of_design(pv__plan_loss(plan)))
        return PV_ESTIMATE_WEIGHTED;
    /* with curves there is less misspecification to guard against (docs/method.md, 19) */
    bool combined = o->infer == PV_INFER_MAP && pv__plan_is(plan, PV_FACT_TWO) && !model->architecture->has_smooths;
    return combined ? PV_ESTIMATE_COMBINED : PV_ESTIMATE_EFFICIENT;
}

/* ---- posteriors -------------------------------------------------------------------------------------------------- */

enum { DENSE_PARAMS_MAX = 1000, HEAD_PARAMS_MAX = 2000 };

bool pv__plan_is_last_layer(const pv__plan *plan, const pv_model *model) {
    if (plan->options.infer != PV_INFER_LAPLACE || !pv__model_hidden(model))
        return false;
    return plan->images || plan->batch > 0 || pv_model_params(model) > DENSE_PARAMS_MAX;
}

/* Rejects posteriors whose integral is infinite, or which cannot be sampled. */
static pv_status check_posterior(pv_ctx *ctx, const pv__plan_rows *rows, const pv__plan *plan) {
    static const double thinnest = 1e5; /* observations of the prevalence per row */
    const pv_fit_options *o = &plan->options;
    size_t params = pv_model_params(rows->model);
    size_t head = ((size_t)rows->model->classes - 1) * (pv__model_hidden(rows->model) + 1);
    bool corrects = pv_loss_has_marginal(pv__plan_loss(plan)), last = pv__plan_is_last_layer(plan, rows->model);
    if (last && head > HEAD_PARAMS_MAX)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`infer=laplace` over the last layer is for at most %d of its parameters, this model has "
                        "%zu:\nchoose a smaller last layer, or `infer=map`",
                        (int)HEAD_PARAMS_MAX, head);
    if (last)
        return PV_OK;
    double total = 0;
    for (int y = 0; y < rows->design->classes; y++)
        total += rows->mass[y];
    if (corrects && o->marginal != PV_MARGINAL_PROFILE && plan->population.prevalence_n > thinnest * total)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`prevalence-n=%s` with `marginal=%s` leaves a posterior that is too thin to sample (it is "
                        "concentrated on a surface):\nuse `marginal=profile`, or at most %.3g with these rows",
                        o->prevalence_n, pv_marginal_name((pv_marginal)o->marginal), thinnest * total);
    if (params > DENSE_PARAMS_MAX && o->infer != PV_INFER_VI)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`infer=%s` is for at most %d parameters, this model has %zu:\nuse `infer=vi`",
                        pv_inference_name((pv_inference)o->infer), (int)DENSE_PARAMS_MAX, params);
    return PV_OK;
}

/* ---- products of columns ----------------------------------------------------------------------------------------- */

static const pv_source_column *number_of(const pv_schema *schema, const char *name) {
    for (size_t s = 0; name && s < schema->sources; s++)
        if (schema->source[s].type == PV_COLUMN_NUMBER && strcmp(schema->source[s].name, name) == 0)
            return &schema->source[s];
    return NULL;
}

/* Warns of products of columns far from 0: the slopes next to a product are then those at values that no row has. They
 * are large, and a prior on them shrinks the product towards 0. */
static void warn_of_products(pv_ctx *ctx, const pv_schema *schema, const pv__plan *plan) {
    const double far = 2; /* standard deviations */
    for (size_t t = 0; plan->map && plan->prior.kind != PV_PRIOR_NONE && !plan->options.bare && t < schema->terms; t++)
        for (size_t c = 0; schema->term[t].kind == PV_TERM_PRODUCT && c < 2; c++) {
            const pv_source_column *column = number_of(schema, schema->term[t].column[c]);
            if (!column || !(fabs(column->mean) > far * column->sd))
                continue;
            pv__log(
                ctx, PV_LOG_WARNING,
                "the product %s:%s uses uncentred columns, and '%s' is far from 0 (mean %.4g, standard deviation "
                "%.4g): the prior shrinks slopes at %s = 0. Subtract the mean in the data, or fit with `prior=none`",
                schema->term[t].column[0], schema->term[t].column[1], column->name, column->mean, column->sd,
                column->name);
            break;
        }
}

/* ---- the last step ----------------------------------------------------------------------------------------------- */

static pv__fact_set facts_of_population(const pv__plan *plan, const pv__plan_rows *rows) {
    double n = plan->population.prevalence_n;
    bool free_intercept = !plan->map || plan->intercept_prior.kind == PV_PRIOR_NONE;
    return pv__fact_if(true, PV_FACT_READ) | pv__fact_if(isinf(n), PV_FACT_KNOWN) |
           pv__fact_if(!(n > 0), PV_FACT_WEIGHTLESS) | pv__fact_if(has_two(plan, rows), PV_FACT_TWO) |
           pv__fact_if(plan->has_prevalence && !plan->estimated && n > 0, PV_FACT_RESTS) |
           pv__fact_if(plan->whole && plan->options.prevalence, PV_FACT_BOUNDS) |
           pv__fact_if(free_intercept, PV_FACT_FREE) |
           pv__fact_if(pv__plan_is_last_layer(plan, rows->model), PV_FACT_LAST_LAYER);
}

pv_status pv__plan_settle(pv_ctx *ctx, const pv__plan_rows *rows, pv__plan *plan) {
    bool strata = rows->design->strata > 1;
    plan->model = rows->model;
    plan->facts |= pv__fact_if(strata, PV_FACT_STRATA) | pv__fact_if(rows->sampling, PV_FACT_SAMPLING) |
                   pv__fact_if(rows->model->ordinal, PV_FACT_ORDINAL);
    PV_TRY(settle_batch(ctx, rows->n, plan));
    PV_TRY(pv__rules_check(ctx, &plan->options, plan->facts));
    PV_TRY(pv__plan_population(ctx, rows, plan));
    pv__warn_of_idle(ctx, plan);
    warn_of_products(ctx, rows->schema, plan);
    plan->facts |= facts_of_population(plan, rows);
    PV_TRY(pv__rules_check(ctx, &plan->options, plan->facts));
    PV_TRY(pv__label_error_settle(ctx, rows, plan));
    if (plan->batch > 0 && plan->map && plan->prior.kind == PV_PRIOR_LAPLACE)
        pv__log(ctx, PV_LOG_WARNING, "`prior=laplace` with minibatches shrinks slopes, but sets none to exactly zero");
    if (plan->options.infer > PV_INFER_ML)
        PV_TRY(check_posterior(ctx, rows, plan));
    plan->match = (pv_match)plan->options.match;
    plan->use = estimate_of(plan, rows->model);
    return PV_OK;
}

void pv__plan_clear(pv_ctx *ctx, pv__plan *plan) {
    pv__free(ctx, plan->prevalence);
    plan->prevalence = plan->believed = NULL;
}
