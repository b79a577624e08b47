/* From options and data to a classifier: options understood and checked before any work, then the fit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/combined.h"
#include "infer/rules.h"
#include "infer/density.h"
#include "infer/infer.h"
#include "model/device_table.h"

/* ---- understanding the options ----------------------------------------------------------------------------------- */

static pv_status read_batch(pv_ctx *ctx, pv__problem *problem) {
    const char *text = problem->options->batch;
    if (strcmp(text, "auto") == 0) {
        enum { USUAL = 32 };
        problem->batch = !problem->data ? 0 : problem->n < USUAL ? problem->n : USUAL;
        return PV_OK;
    }
    PV_TRY(pv__batch_parse(ctx, text, &problem->batch));
    if (problem->batch > problem->n)
        return pv__fail(ctx, PV_ERR_USAGE, "`batch=%s`: there are only %zu rows;\nuse fewer, or full", text,
                        problem->n);
    return PV_OK;
}

static pv_status read_strength(pv_ctx *ctx, pv__problem *problem) {
    double n;
    PV_TRY(pv__strength_parse(ctx, problem->options->prevalence_n, &n));
    if (!isnan(n))
        problem->population.prevalence_n = n;
    else
        for (int y = 0; y < problem->targets.classes; y++)
            problem->population.prevalence_n += problem->mass[y];
    return PV_OK;
}

static pv_status read_prevalence(pv_ctx *ctx, const pv_schema *schema, pv__problem *problem) {
    char *const *labels = schema->labels;
    const char *text = problem->options->prevalence;
    int k = problem->targets.classes;
    problem->population.classes = k;
    problem->population.prevalence = problem->prevalence;
    if (problem->stratified) { /* files have them */
        pv_stratified_mix(problem->stratified, problem->prevalence);
        problem->has_prevalence = problem->whole = true;
        return PV_OK;
    }
    const pv_stratified *stated = problem->sampled->stated; /* of the one stratum */
    if (stated && !(problem->options->subcohort > 0)) {
        memcpy(problem->prevalence, stated->prevalence, (size_t)k * sizeof *problem->prevalence);
        problem->population.prevalence_n = stated->n[0];
        problem->has_prevalence = true;
        problem->whole = !problem->sampled->counted; /* counts are observations */
        return PV_OK;
    }
    if (problem->options->subcohort > 0) {
        pv__subcohort(problem->mass, problem->options->subcohort, problem->prevalence,
                      &problem->population.prevalence_n);
        problem->has_prevalence = problem->whole = true;
        return PV_OK;
    }
    if (!text && problem->unlabelled) { /* the training shares, to start from */
        memcpy(problem->prevalence, problem->design, (size_t)k * sizeof *problem->prevalence);
        problem->has_prevalence = problem->estimated = true;
        return PV_OK;
    }
    if (!text) {
        pv_loss loss = pv__problem_loss(problem);
        if (pv_loss_needs_prevalence(loss))
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`loss=%s` needs `prevalence=P`: how common is '%s' in the true population?%s",
                            pv_loss_name(loss), labels[k - 1],
                            pv_loss_takes_sample(loss) ? " Or `population-sample=FILE`, rows of it" : "");
        return PV_OK;
    }
    double low, high;
    PV_TRY(pv_prevalence_parse(ctx, "`prevalence`", text, labels, k, problem->prevalence, &low, &high));
    if (schema->positive_guessed && k == 2 && !strchr(text, '=') && !strchr(text, ','))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`prevalence=%s`: of which label, '%s' or '%s'? Write `prevalence=%s=%s`, or name the one of "
                        "interest with `positive`",
                        text, labels[0], labels[1], pv__show_item(labels[1]).text, text);
    PV_TRY(read_strength(ctx, problem));
    if (!isnan(low)) {
        if (strcmp(problem->options->prevalence_n, "auto") != 0)
            return pv__fail(
                ctx, PV_ERR_USAGE,
                "`prevalence=%s` is an interval, which says how well it is known;\nleave `prevalence-n` out", text);
        double mean;
        PV_TRY(pv__beta_from_interval(ctx, low, high, &mean, &problem->population.prevalence_n));
        problem->whole = true;
        problem->prevalence[1] = mean;
        problem->prevalence[0] = 1 - mean;
    }
    problem->has_prevalence = true;
    return PV_OK;
}

/* From so many observations the prevalence is known for all that the rows can tell: the profile then holds it, since
 * differences of such counts would lose the rows among their digits. What is recorded as stated stays as it was. */
static void hold_if_known(pv__problem *problem, double total) {
    const double known_from = 1e6; /* observations for each of a row */
    bool profile = pv_loss_has_marginal(pv__problem_loss(problem)) && problem->options->marginal == PV_MARGINAL_PROFILE;
    if (profile && problem->has_prevalence && problem->population.prevalence_n > known_from * total)
        problem->population.prevalence_n = HUGE_VAL;
}

/* Jeffreys' prior of the prevalence: half an observation of each label more than what it was stated from. With a prior
 * flat in the log odds alone, a prevalence that rests on few cases has intervals too low (docs/method.md). What the
 * classifier records as stated stays as it was. */
static void add_half_counts(pv__problem *problem) {
    size_t k = (size_t)problem->targets.classes;
    double n = problem->population.prevalence_n;
    if (isinf(n))
        return;
    problem->population.prevalence_n = n + 0.5 * (double)k;
    problem->population.prevalence = problem->believed;
    for (size_t y = 0; y < k; y++)
        problem->believed[y] = (n * problem->prevalence[y] + 0.5) / problem->population.prevalence_n;
}

/* auto: with ig the stated prevalence is the intercept's prior; another one would pull the model's marginal away from
 * it where the outcome is rare. An interval of it is all there is to be known: nothing is added. */
static pv_status read_intercept_prior(pv_ctx *ctx, pv__problem *problem) {
    const pv_fit_options *o = problem->options;
    const char *text = pv_loss_is_relative(pv__problem_loss(problem)) ? "normal:1" : o->intercept_prior;
    if (strcmp(text, "jeffreys") == 0 && isinf(problem->population.prevalence_n))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`intercept-prior=jeffreys` adds to the observations that the prevalence rests on, and this "
                        "prevalence is known:\nleave it out, or give `prevalence-n=N`");
    bool marginal = pv_loss_has_marginal(pv__problem_loss(problem));
    bool profile = marginal && o->marginal == PV_MARGINAL_PROFILE;
    if (strcmp(text, "auto") == 0) {
        if (o->infer == PV_INFER_ROBUST)
            text = "none";
        else if (!marginal || !(problem->population.prevalence_n > 0))
            text = "normal:10";
        else
            text = profile && o->infer > PV_INFER_ML && !problem->whole ? "jeffreys" : "none";
    }
    if (strcmp(text, "jeffreys") == 0 && o->infer != PV_INFER_ML)
        add_half_counts(problem);
    return pv__intercept_parse(ctx, o, text, &problem->intercept_prior);
}

static pv_status read_match(pv_ctx *ctx, pv__problem *problem, bool stated) {
    const pv_fit_options *o = problem->options;
    problem->match = (pv_match)o->match;
    if (problem->match == PV_MATCH_NONE)
        return PV_OK;
    if (pv_loss_of_design(pv__problem_loss(problem)))
        return pv__fail(ctx, PV_ERR_USAGE, "`match=full`: `loss=%s` has no prevalence to match; leave `match` out",
                        pv_loss_name((pv_loss)o->loss));
    if (!pv__model_is_free(problem->model))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`match=full` moves each label's odds, which thresholds of ordered labels cannot:\nleave it "
                        "out");
    if (!stated)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`match=full` needs a stated `prevalence`, and no `population-sample`:\nleave `match` out");
    return PV_OK;
}

/* Which estimate is wanted, and whether the options allow it. */
static pv_status read_weighting(pv_ctx *ctx, pv__problem *problem) {
    const pv_fit_options *o = problem->options;
    bool profile = pv__is_profile(problem), linear = pv_model_has_coefficients(problem->model) && !problem->data;
    bool stated = problem->has_prevalence && !problem->unlabelled && problem->population.prevalence_n > 0;
    bool sandwich = o->infer == PV_INFER_ROBUST, points = sandwich || o->infer <= PV_INFER_ML;
    bool plain = pv_loss_of_design(pv__problem_loss(problem)) && problem->batch == 0;
    bool has_both = pv__has_combination(problem);
    PV_TRY(read_match(ctx, problem, stated));
    if (sandwich && !(((profile && stated && problem->batch == 0) || plain) && linear))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`infer=robust` is for `model=linear` in the full batch, with `loss=plain`, or with `loss=ig`, "
                        "`marginal=profile` and a stated prevalence:\nchoose another `infer`, or change these");
    if ((problem->sampling || problem->cluster) && !points)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`infer=%s` takes %s are not: its intervals would be too narrow.\nUse `infer=robust`%s",
                        pv_inference_name((pv_inference)o->infer),
                        problem->cluster ? "rows as independent, which those of a cluster"
                                         : "weights as counts, which sampling weights",
                        problem->cluster ? "" : ", or `weights-are=counts` if they are counts");
    if (strcmp(o->weighting, "auto") == 0) {
        problem->use = sandwich                               ? PV_ESTIMATE_WEIGHTED
                       : o->infer == PV_INFER_MAP && has_both ? PV_ESTIMATE_COMBINED
                                                              : PV_ESTIMATE_EFFICIENT;
        return PV_OK;
    }
    if (strcmp(o->weighting, "0") != 0 && strcmp(o->weighting, "1") != 0)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`weighting=%s`: 'auto', 0 (the efficient estimate) or 1 (the weighted estimate)",
                        o->weighting);
    problem->use = *o->weighting == '1' ? PV_ESTIMATE_WEIGHTED : PV_ESTIMATE_EFFICIENT;
    if (problem->use == PV_ESTIMATE_WEIGHTED && !(has_both && points))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`weighting=1` is for `model=linear` with `loss=ig`, `marginal=profile` and a stated "
                        "prevalence, in the full batch, and `infer=map`, ml or robust:\nleave it out, or change these");
    if (problem->use == PV_ESTIMATE_EFFICIENT && sandwich && !plain)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`weighting=0`: `infer=robust` is the weighted estimate; choose `infer=ml`, or leave it out");
    return PV_OK;
}

/* What pv_fit_check cannot see without the data. */
static pv_status check_with_data(pv_ctx *ctx, const pv__problem *problem) {
    const pv_fit_options *o = problem->options;
    PV_TRY(pv__rules_check(ctx, o, pv__facts_of_problem(ctx, problem)));
    if (problem->batch > 0 && problem->map && problem->prior.kind == PV_PRIOR_LAPLACE)
        pv__log(ctx, PV_LOG_WARNING, "`prior=laplace` with minibatches shrinks slopes without making any exactly zero");
    return o->infer > PV_INFER_ML ? pv__check_posterior(ctx, problem) : PV_OK;
}

static pv_status check_masses(pv_ctx *ctx, const pv__problem *problem, char *const *labels) {
    for (int y = 0; y < problem->targets.classes; y++)
        if (!(problem->mass[y] > 0))
            return pv__fail(
                ctx, PV_ERR_INPUT,
                "class '%s' has a prevalence but no row in the data;\nadd rows of it, or leave it out of `prevalence`",
                labels[y]);
    return PV_OK;
}

/* The labelled rows and, after them, the sample's, in arrays of the problem's own. */
static pv_status join_sample(pv_ctx *ctx, const pv_dataset *data, const pv_dataset *sample, pv__problem *problem) {
    size_t rows = data->rows + sample->rows, d = (size_t)data->features;
    if (sample->features != data->features)
        return pv__fail(ctx, PV_ERR_USAGE, "the population sample has %d features, the data %d; encode it as the data",
                        sample->features, data->features);
    if (sample->rows == 0)
        return pv__fail(ctx, PV_ERR_INPUT, "the population sample has no rows;\ngive some, or `prevalence`");
    PV_TRY(pv__alloc(ctx, rows, (d + 1) * sizeof(double), &problem->joined));
    PV_TRY(pv__alloc(ctx, rows, sizeof(int32_t), &problem->joined_label));
    double *weight = problem->joined + rows * d;
    memcpy(problem->joined, data->x, data->rows * d * sizeof(double));
    memcpy(problem->joined + data->rows * d, sample->x, sample->rows * d * sizeof(double));
    for (size_t i = 0; i < rows; i++) {
        bool own = i < data->rows;
        problem->joined_label[i] = own ? data->label[i] : PV_UNLABELLED;
        const double *of = own ? data->weight : sample->weight;
        weight[i] = of ? of[own ? i : i - data->rows] : 1;
    }
    problem->n = rows;
    problem->unlabelled = sample->rows;
    problem->x = problem->joined;
    bool weighted = data->weight || sample->weight;
    problem->targets = (pv_targets){
        .n = rows, .classes = data->classes, .label = problem->joined_label, .weight = weighted ? weight : NULL};
    return PV_OK;
}

/* Class weights may add up to any number (the paper's N_w): rows are weighted so that they do, and everything else, the
 * class factors included, follows from the rows' weights. */
static pv_status scale_weights(pv_ctx *ctx, pv__problem *problem) {
    double wanted = problem->options->iw_total, total = 0;
    pv_targets *targets = &problem->targets;
    if (!(wanted > 0) || pv_fit_idle(problem->options, problem->data != NULL, "iw-total"))
        return PV_OK;
    PV_TRY(pv__alloc(ctx, problem->n, sizeof(double), &problem->scaled));
    for (size_t i = 0; i < problem->n; i++)
        total += targets->weight ? targets->weight[i] : 1;
    for (size_t i = 0; i < problem->n; i++)
        problem->scaled[i] = (targets->weight ? targets->weight[i] : 1) * (wanted / total);
    targets->weight = problem->scaled;
    return PV_OK;
}

/* Data of another schema would be read past their ends. */
static pv_status check_data(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data) {
    if (data->features != schema->features || data->classes != schema->classes || !data->images != !schema->image)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the data have %d features and %d classes, their schema %d and %d: apply it to their table",
                        data->features, data->classes, schema->features, schema->classes);
    return PV_OK;
}

static pv_status problem_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *given,
                             const pv_fit_options *options, pv_model *model, const pv__design *design,
                             pv__problem *problem) {
    size_t k = (size_t)data->classes, params = pv_model_params(model);
    *problem = (pv__problem){.given = given,
                             .options = options,
                             .model = model,
                             .n = data->rows,
                             .x = data->x,
                             .data = data->images ? data : NULL,
                             .columns = data->columns ? data : NULL,
                             .targets = pv_dataset_targets(data),
                             .cluster = design->cluster,
                             .survey = design->block,
                             .sampling = design->sampling || (options->sample && options->sample->sampling),
                             .map = options->infer != PV_INFER_ML,
                             .feature = schema->feature,
                             .stratified = design->strata > 1 ? design->stated : NULL,
                             .sampled = design,
                             .counted = data->weight};
    problem->targets.stratum = design->stratum;
    if (params > 100000000)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`model=%s`: %zu parameters are too many; 100000000 are the most:\nchoose smaller layers",
                        options->model, params);
    PV_TRY(pv_targets_check(ctx, &problem->targets));
    if (options->sample && !pv_loss_is_relative(pv__problem_loss(problem)))
        PV_TRY(join_sample(ctx, data, options->sample, problem));
    PV_TRY(scale_weights(ctx, problem));
    PV_TRY(pv__alloc(ctx, 5 * k + params, sizeof(double), &problem->mass));
    problem->design = problem->mass + k;
    problem->prevalence = problem->design + k;
    problem->believed = problem->prevalence + k;
    problem->factor = problem->believed + k;
    problem->centre = problem->factor + k;
    PV_TRY(pv__alloc(ctx, params, sizeof(bool), &problem->is_bias));
    for (size_t i = 0; i < params; i++)
        problem->is_bias[i] = pv_model_is_bias(model, i);
    pv_label_mass(&problem->targets, problem->mass);
    PV_TRY(check_masses(ctx, problem, schema->labels));
    double total = 0;
    for (size_t y = 0; y < k; y++)
        total += problem->mass[y];
    for (size_t y = 0; y < k; y++)
        problem->design[y] = problem->mass[y] / total;
    PV_TRY(pv_prior_parse(ctx, "prior", options->prior, &problem->prior));
    PV_TRY(read_batch(ctx, problem));
    PV_TRY(read_prevalence(ctx, schema, problem));
    PV_TRY(pv__stratify(ctx, problem));
    problem->stated_n = problem->population.prevalence_n;
    if (!problem->stratified)
        hold_if_known(problem, total);
    PV_TRY(read_intercept_prior(ctx, problem));
    pv__class_factors(pv__problem_loss(problem), (int)k, problem->population.prevalence, 1, problem->design,
                      problem->factor);
    for (size_t y = 0; problem->stratified && y < k; y++)
        problem->factor[y] = 1; /* rows have the weights of their strata */
    pv_fit_options seen = *given;
    seen.loss = options->loss; /* of matched sets, where that was left open */
    pv__warn_of_idle(ctx, &seen, problem->data != NULL);
    PV_TRY(check_with_data(ctx, problem));
    return read_weighting(ctx, problem);
}

/* ---- the classifier ---------------------------------------------------------------------------------------------- */

static pv_status fill(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv__problem *problem,
                      pv_classifier *c) {
    const pv_dataset *sample = problem->given->sample;
    size_t k = (size_t)problem->targets.classes;
    c->loss = (pv_loss)problem->options->loss;
    c->marginal = (pv_marginal)problem->options->marginal;
    c->prevalence_n = problem->stated_n;
    c->half_counts = problem->population.prevalence == problem->believed;
    c->rows = problem->n - problem->unlabelled;
    c->dropped = data->dropped;
    c->data_hash = data->hash;
    c->seed = problem->options->seed;
    PV_TRY(pv_schema_copy(ctx, schema, &c->schema));
    if (!c->stratified) { /* strata of a survey say nothing of predictions */
        pv__strata_free(ctx, c->schema->strata);
        c->schema->strata = NULL;
    }
    PV_TRY(pv__strdup(ctx, data->source ? data->source : "", &c->source));
    if (sample)
        PV_TRY(pv__strdup(ctx, sample->source ? sample->source : "", &c->sample_source));
    c->sample_hash = sample ? sample->hash : 0;
    c->sample_rows = problem->unlabelled;
    c->estimated = problem->estimated;
    PV_TRY(pv__alloc(ctx, k, sizeof(double), &c->design));
    PV_TRY(pv__alloc(ctx, k, (1 + (c->stratified ? pv__ratio_sets(problem) : 0)) * sizeof(double), &c->log_marginal));
    PV_TRY(pv__alloc(ctx, pv_model_params(problem->model), sizeof(double), &c->w));
    memcpy(c->design, problem->design, k * sizeof(double));
    if (problem->has_prevalence) {
        PV_TRY(pv__alloc(ctx, k, sizeof(double), &c->prevalence));
        memcpy(c->prevalence, problem->prevalence, k * sizeof(double));
    }
    return pv__record(ctx, problem->given, problem->options, &c->record);
}

/* Output biases, and the centre of their prior: the log prevalence of the population that the loss learns. */
static pv_status set_start(pv_ctx *ctx, pv__problem *problem, double *w) {
    size_t k = (size_t)problem->targets.classes;
    double *log_p;
    PV_TRY(pv__alloc(ctx, k, sizeof *log_p, &log_p));
    bool of_design = pv_loss_of_design(pv__problem_loss(problem));
    bool relative = pv_loss_is_relative(pv__problem_loss(problem)); /* no intercept: 0 */
    for (size_t y = 0; y < k; y++)
        log_p[y] = relative ? 0 : log(of_design ? problem->design[y] : problem->prevalence[y]);
    memset(problem->centre, 0, pv_model_params(problem->model) * sizeof *problem->centre);
    pv_model_shift(problem->model, log_p, problem->centre);
    bool zero = problem->options->start == PV_START_ZERO;
    pv_model_start(problem->model, (uint64_t)problem->options->seed, zero ? NULL : log_p, w);
    pv__free(ctx, log_p);
    return problem->options->pretrained ? pv__pretrained_load(ctx, problem->model, problem->options->pretrained, w)
                                        : PV_OK;
}

/* Matched sets: the intercept of the estimate, and of each draw. */
static pv_status find_intercepts(pv_ctx *ctx, const pv__problem *problem, pv_classifier *c) {
    PV_TRY(pv__matched_intercept(ctx, problem, problem->options->sample, c->w));
    for (size_t i = 0; c->posterior && i < c->posterior->count; i++) {
        PV_TRY(pv__go_on(ctx));
        PV_TRY(pv__matched_intercept(ctx, problem, problem->options->sample,
                                     c->posterior->draws + i * c->posterior->dims));
    }
    return PV_OK;
}

/* Whether one estimate has its errors by the sandwich: of weights that are no counts, of clusters, where asked for. */
static bool is_weighed_alone(const pv__problem *problem) {
    pv_loss loss = pv__problem_loss(problem);
    bool linear = pv_model_has_coefficients(problem->model) && !problem->data && problem->batch == 0;
    bool asked = problem->options->infer == PV_INFER_ROBUST || problem->sampling || problem->cluster;
    bool points = problem->options->infer <= PV_INFER_ML || problem->options->infer == PV_INFER_ROBUST;
    return linear && points && !pv_loss_is_relative(loss) &&
           ((pv_loss_of_design(loss) && asked) || pv__loss(loss)->class_factor) &&
           !(problem->map && problem->prior.kind == PV_PRIOR_LAPLACE);
}

/* The two estimates of a linear model, which of them is w, and what they say of each other. */
static pv_status estimate(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution, pv_classifier *c) {
    bool both = pv__has_combination(problem), alone = is_weighed_alone(problem);
    bool points = problem->use != PV_ESTIMATE_EFFICIENT || problem->options->infer == PV_INFER_ROBUST;
    if ((!both && !alone) || (problem->options->bare && !points))
        return PV_OK;
    if (!pv__combination_is_cheap(problem)) {
        if (points)
            pv__log(ctx, PV_LOG_WARNING,
                    "the weighted estimate would take much longer than the fit, with %zu rows and %zu coefficients: "
                    "the efficient one is kept, which is right where the linear model is",
                    problem->n, pv_model_params(problem->model));
        return PV_OK;
    }
    double *w;
    PV_TRY(pv__alloc(ctx, pv_model_params(problem->model), sizeof *w, &w));
    memcpy(w, solution->w, pv_model_params(problem->model) * sizeof *w);
    pv_status status = both ? pv__combine(ctx, problem, c->schema, problem->use, w, &c->combination)
                            : pv__weigh_alone(ctx, problem, c->schema, w, &c->combination);
    if (status == PV_OK && c->combination && points)
        memcpy(solution->w, w, pv_model_params(problem->model) * sizeof *w);
    pv__free(ctx, w);
    if (status == PV_OK && !c->combination && problem->use == PV_ESTIMATE_COMBINED)
        pv__log(ctx, PV_LOG_WARNING,
                "the weighted estimate has no finite optimum: the efficient one is kept, which is right where the "
                "linear model is");
    else if (status == PV_OK && !c->combination && points)
        status = pv__fail(ctx, PV_ERR_NUMERIC,
                          "the weighted estimate has no finite optimum, or no positive curvature there: `prior` "
                          "normal:2.5, or fewer columns, give it one; `weighting=0` does without it");
    return status;
}

/* What follows the maximum: the weighted estimate, the posterior, or standard errors, and the population's own biases.
 */
static pv_status follow_up(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution, pv_classifier *c) {
    bool usable = solution->stop != PV_STOP_INTERRUPTED && solution->stop != PV_STOP_DIVERGED;
    bool draws = problem->options->infer > PV_INFER_ML && problem->options->infer != PV_INFER_ROBUST;
    pv__problem labelled = pv__labelled(problem);
    if (usable && !problem->options->bare)
        PV_TRY(pv__separation_mark(ctx, &labelled, solution->w, &c->separated));
    if (usable)
        PV_TRY(estimate(ctx, problem, solution, c));
    if (draws && solution->stop != PV_STOP_INTERRUPTED)
        PV_TRY(pv__fit_posterior(ctx, problem, solution, c));
    bool wanted = !problem->options->bare || problem->options->infer == PV_INFER_ROBUST;
    if (wanted && !draws && usable)
        PV_TRY(pv__standard_errors(ctx, problem, solution, c));
    if (pv_loss_is_relative(c->loss) && problem->has_prevalence)
        return find_intercepts(ctx, problem, c);
    if (usable && solution->stop != PV_STOP_INTERRUPTED)
        return pv__match_population(ctx, problem, c);
    return PV_OK;
}

static pv_status solve(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *held, pv_classifier *c) {
    pv__holdout *holdout = NULL;
    pv_status status;
    if (held)
        PV_GOTO(done, pv__holdout_new(ctx, problem, held, c->schema->labels, &holdout));
    pv__solution solution = {
        .w = c->w, .log_marginal = c->log_marginal, .trace = c->trace, .holdout = holdout, .score = (double)NAN};
    pv__problem labelled = pv__labelled(problem);
    PV_GOTO(done, pv__separation_refuse(ctx, &labelled, NULL));
    PV_GOTO(done,
            problem->batch > 0 ? pv__fit_minibatch(ctx, problem, &solution) : pv__fit_full(ctx, problem, &solution));
    if (c->stratified) /* they lie behind that of all together */
        memcpy(c->stratified->log_marginal, c->log_marginal + c->schema->classes,
               pv__ratio_sets(problem) * (size_t)c->schema->classes * sizeof(double));
    status = follow_up(ctx, problem, &solution, c);
    bool kept = problem->options->infer <= PV_INFER_ML || problem->options->infer == PV_INFER_ROBUST || c->posterior;
    if (status == PV_ERR_INTERRUPTED && kept) { /* what there is stays, as that of a fit that was stopped */
        solution.stop = PV_STOP_INTERRUPTED;
        status = PV_OK;
    }
    PV_GOTO(done, status);
    for (int y = 0; problem->estimated && y < c->schema->classes; y++)
        c->prevalence[y] = exp(c->log_marginal[y]);
    c->validation = solution.score;
    c->best_epoch = solution.best_epoch;
    c->stop = solution.stop;
    c->iterations = solution.iterations;
    c->passes = solution.passes;
    c->pass_seconds = solution.pass_seconds;
    c->loss_value = solution.value;
    bool whole = c->stop != PV_STOP_INTERRUPTED && (!c->posterior || c->posterior->stop != PV_STOP_INTERRUPTED);
    if (whole && c->stop != PV_STOP_DIVERGED) /* the last good state stays */
        PV_GOTO(done, pv__fitted_keep(ctx, c));
done:
    pv__holdout_free(ctx, holdout);
    return status;
}

/* Rows to a device, where one was asked for, or where there will be many passes over them: the maximum of a convex loss
 * takes a few, less than it costs to load them. */
static pv_status load_rows(pv_ctx *ctx, const pv__problem *problem, pv__loaded **loaded) {
    pv_inference infer = (pv_inference)problem->options->infer;
    bool draws = infer == PV_INFER_LAPLACE || infer == PV_INFER_VI || infer == PV_INFER_HMC;
    bool rows_alone = pv__problem_form(problem) != PV_FORM_JOINT && infer != PV_INFER_LAPLACE;
    bool many = !pv_model_is_convex(problem->model) || (draws && (rows_alone || pv__density_fits(problem)));
    return pv__loaded_new(ctx, problem->model, problem->n, problem->x, many, loaded);
}

static pv_status check_facts(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                             const pv_fit_options *options) {
    int64_t views, size;
    PV_TRY(pv_model_views(ctx, options->model, &views, &size));
    pv__fact_set told = pv__facts_of_options(ctx, options, views > 0, options->sample != NULL);
    return pv__rules_check(ctx, options, told | pv__facts_of_data(schema, data, options));
}

/* Sets the fit up on the rows to learn from, fits, and keeps what was found. */
static pv_status fit_rows(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_dataset *held,
                          const pv_fit_options *given, pv_classifier **classifier) {
    pv_fit_options resolved = *given, *options = &resolved;
    bool choose = pv__prior_is_open(given);
    char prior[PV__PRIOR_TEXT];
    if (options->rate == 0)
        options->rate = data->images ? 2e-4 : 0.01;
    options->loss = (int)pv_fit_loss(options, data->matched);
    PV_TRY(check_facts(ctx, schema, data, options));
    double began = pv__seconds();
    pv__problem problem = {0};
    pv__loaded *loaded = NULL;
    const pv__design_options stated = pv__design_options_of(given);
    pv__design *design = NULL;
    pv_classifier *c;
    PV_TRY(pv__alloc(ctx, 1, sizeof *c, &c));
    pv_status status;
    PV_GOTO(done, pv__model_new(ctx, options->model, data->features, schema->offset, data->classes, &c->model));
    PV_GOTO(done, pv__design_new(ctx, schema, data, &stated, &design));
    if (choose)
        options->prior = "normal:1"; /* until the rest is known to be right */
    PV_GOTO(done, problem_new(ctx, schema, data, given, options, c->model, design, &problem));
    problem.shared = true;
    PV_GOTO(done, pv__fit_alike(ctx, data, c->model, design->stated, given));
    PV_GOTO(done, pv__fit_facts(ctx, data, held, c->model, design->stated, given));
    c->stratified = pv__design_keep(design);
    if (choose) {
        PV_GOTO(done, pv__prior_choose(ctx, schema, data, given, c->model, prior));
        options->prior = prior;
        PV_GOTO(done, pv_prior_parse(ctx, "prior", prior, &problem.prior));
    }
    pv_checkpoint_tell(ctx);
    PV_GOTO(done, fill(ctx, schema, data, &problem, c));
    PV_GOTO(done, set_start(ctx, &problem, c->w));
    if (options->trace && problem.batch > 0)
        PV_GOTO(done, pv__trace_new(ctx, c->schema->classes, &c->trace));
    c->validation_rows = held ? held->rows : 0;
    bool found;
    PV_GOTO(done, pv__fitted_recall(ctx, c, &found));
    pv__log(ctx, PV_LOG_DEBUG, "fit: %zu rows of %d features, %zu parameters of %s; kernels %s, threads %d", problem.n,
            data->features, pv_model_params(c->model), options->model, pv_kernels(), pv_ctx_threads(ctx));
    if (data->matched)
        PV_GOTO(done, pv__matched_tell(ctx, data));
    if (!found && !problem.data && problem.batch == 0)
        PV_GOTO(done, load_rows(ctx, &problem, &loaded));
    problem.loaded = loaded;
    if (!found)
        PV_GOTO(done, solve(ctx, &problem, held, c));
    PV_GOTO(done, pv__reference_of_fit(ctx, &problem, c));
    pv__log(ctx, PV_LOG_DEBUG, "fit: %s after %lld iterations, loss %.10g", pv_stop_name(c->stop),
            (long long)c->iterations, c->loss_value);
    c->seconds = pv__seconds() - began;
    *classifier = c;
done:
    pv__loaded_free(ctx, loaded);
    pv__free(ctx, problem.mass);
    pv__free(ctx, problem.is_bias);
    pv__free(ctx, problem.scaled);
    pv__free(ctx, problem.joined);
    pv__free(ctx, problem.joined_label);
    pv__design_free(ctx, design);
    if (status != PV_OK)
        pv_classifier_free(ctx, c);
    return status;
}

/* Whether the fit goes through the rows block by block, so that columns serve in the place of a matrix. */
static bool goes_by_blocks(const pv_fit_options *options) {
    bool points = options->infer == PV_INFER_MAP || options->infer == PV_INFER_ML || options->infer == PV_INFER_ROBUST;
    return points && !options->sample && !pv__minibatches(options, false);
}

/* Data with a matrix, where they have columns in its place. The caller frees *x. */
static pv_status with_matrix(pv_ctx *ctx, const pv_dataset **data, pv_dataset *made, double **x) {
    if (!*data || !(*data)->columns)
        return PV_OK;
    PV_TRY(pv__matrix_make(ctx, *data, x));
    PV_TRY(pv__columns_unchanged(ctx, *data));
    *made = **data;
    made->x = *x;
    made->columns = NULL;
    *data = made;
    return PV_OK;
}

static pv_status fit_data(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                          pv_classifier **classifier);

pv_status pv_fit(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                 pv_classifier **classifier) {
    *classifier = NULL;
    if (goes_by_blocks(options))
        return fit_data(ctx, schema, data, options, classifier);
    pv_dataset whole[2];
    double *x[2] = {NULL, NULL};
    pv_fit_options used = *options;
    pv_status status;
    PV_GOTO(done, with_matrix(ctx, &data, &whole[0], &x[0]));
    PV_GOTO(done, with_matrix(ctx, &used.sample, &whole[1], &x[1]));
    status = fit_data(ctx, schema, data, &used, classifier);
done:
    pv__free(ctx, x[0]);
    pv__free(ctx, x[1]);
    return status;
}

static pv_status fit_data(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                          pv_classifier **classifier) {
    bool minibatches = pv__minibatches(options, data->images != NULL);
    pv_dataset *learn = NULL, *held = NULL;
    pv_status status;
    PV_GOTO(done, pv_fit_check(ctx, options, options->sample != NULL, NULL, 0));
    PV_GOTO(done, check_data(ctx, schema, data));
    if (!(options->validation > 0) || !minibatches) {
        status = fit_rows(ctx, schema, data, NULL, options, classifier);
        goto done;
    }
    PV_GOTO(done, pv__holdout_split(ctx, schema, data, options, &learn, &held));
    learn->dropped = data->dropped;
    status = fit_rows(ctx, schema, learn, held, options, classifier);
done:
    if (status == PV_OK && data->images)
        status = pv_images_unchanged(ctx, data->images, false);
    if (status == PV_OK)
        status = pv__columns_unchanged(ctx, data);
    if (status != PV_OK) {
        pv_classifier_free(ctx, *classifier);
        *classifier = NULL;
    }
    pv_dataset_free(ctx, learn);
    pv_dataset_free(ctx, held);
    return status;
}
