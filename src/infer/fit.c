/* From options and data to a classifier: checks the options before any work, then fits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/value.h"
#include "data/schema_learn.h"
#include "infer/boosting.h"
#include "infer/combined.h"
#include "infer/density.h"
#include "infer/infer.h"
#include "infer/stacking.h"
#include "model/device_table.h"

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

/* Joins the labelled rows and the sample's in arrays owned by the problem. */
static pv_status join_sample(pv_ctx *ctx, const pv_dataset *data, const pv_dataset *sample, pv__problem *problem) {
    size_t rows = data->rows + sample->rows, d = (size_t)data->features;
    if (sample->features != data->features)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the population sample has %d features, the data %d; encode it like the data", sample->features,
                        data->features);
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
    problem->rows = pv__rows_matrix(rows, d, problem->joined);
    problem->unlabelled = sample->rows;
    bool weighted = data->weight || sample->weight;
    problem->targets = (pv_targets){
        .n = rows, .classes = data->classes, .label = problem->joined_label, .weight = weighted ? weight : NULL};
    return PV_OK;
}

/* Class weights may sum to any number (N_w in the paper): the row weights are scaled such that they do, and everything
 * else, including class factors, follows from them. */
static pv_status scale_weights(pv_ctx *ctx, pv__problem *problem) {
    double wanted = problem->plan->options.iw_total, total = 0;
    pv_targets *targets = &problem->targets;
    if (!(wanted > 0) || pv__idle_for(problem->plan->facts, "iw-total"))
        return PV_OK;
    PV_TRY(pv__alloc(ctx, problem->rows.n, sizeof(double), &problem->scaled));
    for (size_t i = 0; i < problem->rows.n; i++)
        total += targets->weight ? targets->weight[i] : 1;
    for (size_t i = 0; i < problem->rows.n; i++)
        problem->scaled[i] = (targets->weight ? targets->weight[i] : 1) * (wanted / total);
    targets->weight = problem->scaled;
    return PV_OK;
}

/* Data with another schema would be read out of bounds. */
static pv_status check_data(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data) {
    if (data->features != schema->features || data->classes != schema->classes || !data->images != !schema->image)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the data have %d features and %d classes, their schema %d and %d: apply it to their table",
                        data->features, data->classes, schema->features, schema->classes);
    return PV_OK;
}

/* The labels' masses and proportions. */
static pv_status weigh_labels(pv_ctx *ctx, char *const *labels, pv__problem *problem) {
    size_t k = (size_t)problem->targets.classes;
    double total = 0;
    pv_label_mass(&problem->targets, problem->mass);
    for (size_t y = 0; y < k; y++) {
        if (!(problem->mass[y] > 0))
            return pv__fail(ctx, PV_ERR_INPUT,
                            "class '%s' has a prevalence but no row in the data;\nadd rows of it, or leave it out of "
                            "`prevalence`",
                            labels[y]);
        total += problem->mass[y];
    }
    for (size_t y = 0; y < k; y++)
        problem->label_share[y] = problem->mass[y] / total;
    return PV_OK;
}

/* Balances a prior with class weights that sum to the number of rows: for a rare outcome, all cases together would
 * weigh less than one observation, and the prior would dominate. The weights are scaled such that curvature equals the
 * variance of the score in a model of the prevalences alone (docs/method.md, 15.1), like those of the weighted
 * estimate. `iw-total` gives a sum instead. */
static double balance(const pv__problem *problem) {
    const double *pi = problem->plan->population.prevalence;
    double curvature = 0, variance = 0, square = 0;
    size_t k = (size_t)problem->targets.classes;
    bool linear =
        pv_model_has_coefficients(problem->model) && !pv__rows_are_images(&problem->rows) && problem->batch == 0;
    bool prior = problem->plan->options.infer != PV_INFER_ML;
    if (!pv__loss(pv__plan_loss(problem->plan))->class_factor || !linear || !prior ||
        problem->plan->options.iw_total > 0)
        return 1;
    for (size_t y = 0; y < k; y++)
        square += pi[y] * pi[y];
    for (size_t y = 0; y < k; y++) {
        double a = problem->factor[y];
        curvature += problem->mass[y] * a * (1 - square);
        variance += problem->mass[y] * a * a * (1 - 2 * pi[y] + square);
    }
    return curvature / variance;
}

/* Prepares the rows according to the plan, and completes the plan, which depends on them. */
static pv_status problem_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, pv_model *model,
                             const pv__design *design, pv__plan *plan, pv__plan_rows *rows, pv__problem *problem) {
    const pv_fit_options *options = &plan->options;
    size_t k = (size_t)data->classes, params = pv_model_params(model);
    *problem = (pv__problem){.plan = plan,
                             .design = design,
                             .model = model,
                             .rows = pv__rows_from(data),
                             .targets = pv_dataset_targets(data),
                             .feature = schema->feature,
                             .counted = data->weight};
    problem->targets.stratum = design->stratum;
    if (params > 100000000)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`model=%s`: %zu parameters are too many; at most 100000000 are supported:\nchoose smaller layers",
            options->model, params);
    PV_TRY(pv_targets_check(ctx, &problem->targets));
    if (options->sample && !pv_loss_is_relative(pv__plan_loss(plan)))
        PV_TRY(join_sample(ctx, data, options->sample, problem));
    PV_TRY(scale_weights(ctx, problem));
    PV_TRY(pv__alloc(ctx, 3 * k + params, sizeof(double), &problem->mass));
    problem->label_share = problem->mass + k;
    problem->factor = problem->label_share + k;
    problem->centre = problem->factor + k;
    PV_TRY(pv__alloc(ctx, params, sizeof(bool), &problem->is_bias));
    for (size_t i = 0; i < params; i++)
        problem->is_bias[i] = pv_model_is_bias(model, i);
    PV_TRY(weigh_labels(ctx, schema->labels, problem));
    *rows = (pv__plan_rows){.schema = schema,
                            .design = design,
                            .model = model,
                            .mass = problem->mass,
                            .n = problem->rows.n,
                            .labelled = problem->rows.n - problem->unlabelled,
                            .sampling = design->sampling};
    PV_TRY(pv__plan_settle(ctx, rows, plan));
    problem->batch = plan->batch;
    problem->population = plan->population;
    pv__class_factors(pv__plan_loss(plan), (int)k, plan->population.prevalence, 1, problem->label_share,
                      problem->factor);
    const double scale = balance(problem);
    for (size_t y = 0; y < k; y++) /* with strata, rows have the weights of their strata */
        problem->factor[y] = scale * (pv__strata_of(problem) ? 1 : problem->factor[y]);
    return pv__stratify(ctx, problem);
}

/* ---- the classifier ---------------------------------------------------------------------------------------------- */

/* What a methods paragraph needs to know of the rows. Observations are by label; sampling weights have no such count.
 */
static pv_result *sample_of(const pv_dataset *data, const pv__problem *problem) {
    const pv__design *design = problem->design;
    const char *weights = !data->weight ? "none" : data->sampling || design->sampling ? "sampling" : "counts";
    pv_result *observations = pv__value_list();
    for (int y = 0; y < problem->targets.classes; y++)
        pv__value_append(observations,
                         pv__value_real(strcmp(weights, "sampling") == 0 ? (double)NAN : problem->mass[y]));
    return pv__value_pack("tvbb", "weights", weights, "observations", observations, "clusters",
                          (int)(data->clustered || design->cluster), "survey_strata", (int)(design->block != NULL));
}

static pv_status fill(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv__problem *problem,
                      pv_classifier *c) {
    const pv_dataset *sample = problem->plan->given->sample;
    size_t k = (size_t)problem->targets.classes;
    c->loss = (pv_loss)problem->plan->options.loss;
    c->marginal = (pv_marginal)problem->plan->options.marginal;
    c->prevalence_n = problem->plan->stated_n;
    c->half_counts = problem->plan->population.prevalence == problem->plan->believed;
    c->rows = problem->rows.n - problem->unlabelled;
    c->dropped = data->dropped;
    c->data_hash = data->hash;
    c->seed = problem->plan->options.seed;
    PV_TRY(pv_schema_copy(ctx, schema, &c->schema));
    if (!c->stratified) { /* strata of a survey do not affect predictions */
        pv__strata_free(ctx, c->schema->strata);
        c->schema->strata = NULL;
    }
    if (problem->plan->misread) {
        PV_TRY(pv__alloc(ctx, 1, sizeof *c->label_error, &c->label_error));
        *c->label_error = problem->plan->label_error;
    }
    PV_TRY(pv__strdup(ctx, data->source ? data->source : "", &c->source));
    if (sample)
        PV_TRY(pv__strdup(ctx, sample->source ? sample->source : "", &c->sample_source));
    c->sample_hash = sample ? sample->hash : 0;
    c->sample_rows = problem->unlabelled;
    c->estimated = problem->plan->estimated;
    PV_TRY(pv__alloc(ctx, k, sizeof(double), &c->design));
    PV_TRY(pv__alloc(ctx, k, (1 + (c->stratified ? pv__ratio_sets(problem) : 0)) * sizeof(double), &c->log_marginal));
    PV_TRY(pv__alloc(ctx, pv_model_params(problem->model), sizeof(double), &c->w));
    memcpy(c->design, problem->label_share, k * sizeof(double));
    if (problem->plan->has_prevalence) {
        PV_TRY(pv__alloc(ctx, k, sizeof(double), &c->prevalence));
        memcpy(c->prevalence, problem->plan->prevalence, k * sizeof(double));
    }
    return pv__record(ctx, problem->plan->given, &problem->plan->options, sample_of(data, problem), &c->record);
}

/* The log prevalence of the loss's population, [classes]. */
static void usual_biases(const pv__problem *problem, double *log_p) {
    bool of_design = pv_loss_of_design(pv__problem_loss(problem));
    bool relative = pv_loss_is_relative(pv__problem_loss(problem)); /* no intercept: 0 */
    for (int y = 0; y < problem->targets.classes; y++)
        log_p[y] = relative ? 0 : log(of_design ? problem->label_share[y] : problem->plan->prevalence[y]);
}

/* Sets the centre of the prior. */
static pv_status set_centre(pv_ctx *ctx, pv__problem *problem) {
    double *log_p;
    PV_TRY(pv__alloc(ctx, (size_t)problem->targets.classes, sizeof *log_p, &log_p));
    usual_biases(problem, log_p);
    memset(problem->centre, 0, pv_model_params(problem->model) * sizeof *problem->centre);
    pv_model_shift(problem->model, log_p, problem->centre);
    pv__free(ctx, log_p);
    return PV_OK;
}

/* Starts output biases at the log prevalence. */
static pv_status set_start(pv_ctx *ctx, pv__problem *problem, double *w) {
    double *log_p;
    PV_TRY(pv__alloc(ctx, (size_t)problem->targets.classes, sizeof *log_p, &log_p));
    usual_biases(problem, log_p);
    bool zero = problem->plan->options.start == PV_START_ZERO;
    pv_model_start(problem->model, (uint64_t)problem->plan->options.seed, zero ? NULL : log_p, w);
    pv__free(ctx, log_p);
    return problem->plan->options.pretrained
               ? pv__pretrained_load(ctx, problem->model, problem->plan->options.pretrained, w)
               : PV_OK;
}

/* Matched sets: the intercept of the estimate and of each draw. */
static pv_status find_intercepts(pv_ctx *ctx, const pv__problem *problem, pv_classifier *c) {
    PV_TRY(pv__matched_intercept(ctx, problem, problem->plan->options.sample, c->w));
    for (size_t i = 0; c->posterior && i < c->posterior->count; i++) {
        PV_TRY(pv__go_on(ctx));
        PV_TRY(pv__matched_intercept(ctx, problem, problem->plan->options.sample,
                                     c->posterior->draws + i * c->posterior->dims));
    }
    return PV_OK;
}

/* Whether a single estimate gets sandwich errors: with sampling weights, with clusters, or on request. */
static bool is_weighed_alone(const pv__problem *problem) {
    pv_loss loss = pv__problem_loss(problem);
    bool linear =
        pv_model_has_coefficients(problem->model) && !pv__rows_are_images(&problem->rows) && problem->batch == 0;
    bool asked =
        problem->plan->options.infer == PV_INFER_ROBUST || problem->design->sampling || problem->design->cluster;
    bool points = problem->plan->options.infer <= PV_INFER_ML || problem->plan->options.infer == PV_INFER_ROBUST;
    return linear && points && !pv_loss_is_relative(loss) &&
           ((pv_loss_of_design(loss) && asked) || pv__loss(loss)->class_factor) &&
           !(problem->plan->map && problem->plan->prior.kind == PV_PRIOR_LAPLACE);
}

/* The two estimates of a linear model, the one to use as w, and their comparison. */
static pv_status estimate(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution, pv_classifier *c) {
    bool both = pv__has_combination(problem), alone = is_weighed_alone(problem);
    bool points = problem->plan->use != PV_ESTIMATE_EFFICIENT || problem->plan->options.infer == PV_INFER_ROBUST;
    if ((!both && !alone) || pv__combination_is_idle(problem))
        return PV_OK;
    if (!pv__combination_is_cheap(problem)) {
        if (points)
            pv__log(ctx, PV_LOG_WARNING,
                    "the weighted estimate would take much longer than the fit (%zu rows, %zu coefficients): the "
                    "efficient estimate is used, which assumes that the linear model is right",
                    problem->rows.n, pv_model_params(problem->model));
        return PV_OK;
    }
    double *w;
    PV_TRY(pv__alloc(ctx, pv_model_params(problem->model), sizeof *w, &w));
    memcpy(w, solution->w, pv_model_params(problem->model) * sizeof *w);
    pv_status status = both ? pv__combine(ctx, problem, c->schema, problem->plan->use, solution, w, &c->combination)
                            : pv__weigh_alone(ctx, problem, c->schema, solution, w, &c->combination);
    if (status == PV_OK && c->combination && points) {
        memcpy(solution->w, w, pv_model_params(problem->model) * sizeof *w);
        pv__free(ctx, solution->information); /* it was that at the maximum */
        solution->information = NULL;
    }
    pv__free(ctx, w);
    if (status == PV_OK && !c->combination && problem->plan->use == PV_ESTIMATE_COMBINED)
        pv__log(ctx, PV_LOG_WARNING,
                "the weighted estimate has no finite optimum: the efficient estimate is used, which assumes that the "
                "linear model is right");
    else if (status == PV_OK && !c->combination && points)
        status = pv__fail(ctx, PV_ERR_NUMERIC,
                          "the weighted estimate has no finite optimum, or no positive curvature there: use `prior` "
                          "normal:2.5, fewer columns, or `weighting=0`");
    return status;
}

/* Steps after the maximum: the weighted estimate, the posterior, or standard errors, and matching the population.
 */
static pv_status follow_up(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution, pv_classifier *c) {
    bool usable = solution->stop != PV_STOP_INTERRUPTED && solution->stop != PV_STOP_DIVERGED;
    bool draws = problem->plan->options.infer > PV_INFER_ML && problem->plan->options.infer != PV_INFER_ROBUST;
    pv__problem labelled = pv__labelled(problem);
    if (usable && !problem->plan->options.bare)
        PV_TRY(pv__separation_mark(ctx, &labelled, solution->w, &c->separated));
    if (usable)
        PV_TRY(estimate(ctx, problem, solution, c));
    if (draws && solution->stop != PV_STOP_INTERRUPTED)
        PV_TRY(pv__fit_posterior(ctx, problem, solution, c));
    if (pv_loss_is_relative(c->loss) && usable)
        PV_TRY(pv__inestimable_clear(ctx, problem, solution->w, c->posterior));
    bool wanted =
        !problem->plan->options.bare || problem->plan->options.infer == PV_INFER_ROBUST || problem->plan->few_rows;
    if (wanted && !draws && usable)
        PV_TRY(pv__standard_errors(ctx, problem, solution, c));
    if (usable)
        PV_TRY(pv__averaging_find(ctx, problem, c));
    if (c->posterior && usable)
        PV_TRY(pv__gaussian_errors(ctx, problem, solution, c));
    if (pv_loss_is_relative(c->loss) && problem->plan->has_prevalence)
        return find_intercepts(ctx, problem, c);
    if (usable && solution->stop != PV_STOP_INTERRUPTED)
        return pv__match_population(ctx, problem, c);
    return PV_OK;
}

static pv_status solve(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *held, pv_classifier *c) {
    pv__holdout *holdout = NULL;
    pv__solution solution = {.w = c->w, .log_marginal = c->log_marginal, .trace = c->trace, .score = (double)NAN};
    pv__problem labelled = pv__labelled(problem);
    pv_status status;
    if (held)
        PV_GOTO(done, pv__holdout_new(ctx, problem, held, c->schema->labels, &holdout));
    solution.holdout = holdout;
    PV_GOTO(done, pv__separation_refuse(ctx, &labelled, NULL));
    PV_GOTO(done,
            problem->batch > 0 ? pv__fit_minibatch(ctx, problem, &solution) : pv__fit_full(ctx, problem, &solution));
    if (c->stratified) /* they follow those of all strata together */
        memcpy(c->stratified->log_marginal, c->log_marginal + c->schema->classes,
               pv__ratio_sets(problem) * (size_t)c->schema->classes * sizeof(double));
    status = follow_up(ctx, problem, &solution, c);
    bool kept =
        problem->plan->options.infer <= PV_INFER_ML || problem->plan->options.infer == PV_INFER_ROBUST || c->posterior;
    if (status == PV_ERR_INTERRUPTED && kept) { /* keeps the state as that of an interrupted fit */
        solution.stop = PV_STOP_INTERRUPTED;
        status = PV_OK;
    }
    PV_GOTO(done, status);
    for (int y = 0; problem->plan->estimated && y < c->schema->classes; y++)
        c->prevalence[y] = exp(c->log_marginal[y]);
    for (int y = 0; problem->plan->misread && pv_loss_of_design(c->loss) && y < 2; y++)
        c->design[y] = exp(c->log_marginal[y]); /* of the true label */
    c->validation = solution.score;
    c->best_epoch = solution.best_epoch;
    c->stop = solution.stop;
    c->iterations = solution.iterations;
    c->passes = solution.passes;
    c->pass_seconds = solution.pass_seconds;
    c->loss_value = solution.value;
    bool whole = c->stop != PV_STOP_INTERRUPTED && (!c->posterior || c->posterior->stop != PV_STOP_INTERRUPTED);
    if (whole && c->stop != PV_STOP_DIVERGED) /* keeps the last good state */
        PV_GOTO(done, pv__fitted_keep(ctx, c));
done:
    pv__free(ctx, solution.information);
    pv__free(ctx, solution.ahead);
    pv__free(ctx, solution.weighted);
    pv__holdout_free(ctx, holdout);
    return status;
}

/* Copies rows to a device if one was requested, or if there will be many passes: the maximum of a convex loss needs
 * few, which cost less than the copy. */
static pv_status load_rows(pv_ctx *ctx, const pv__problem *problem, pv__loaded **loaded) {
    pv_inference infer = (pv_inference)problem->plan->options.infer;
    bool draws = infer == PV_INFER_LAPLACE || infer == PV_INFER_VI || infer == PV_INFER_HMC;
    bool rows_alone = pv__problem_form(problem) != PV_FORM_JOINT && infer != PV_INFER_LAPLACE;
    bool many = !pv_model_is_convex(problem->model) || (draws && (rows_alone || pv__density_fits(problem)));
    return pv__loaded_new(ctx, problem->model, problem->rows.n, problem->rows.matrix, many, loaded);
}

/* The fit of a model that does not descend in its parameters: sets model, w, marginals and reference of the classifier.
 * NULL: solve. */
typedef pv_status (*own_fit)(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv__problem *problem,
                             pv_classifier *c);
static own_fit own_fit_of(const pv_model *model) {
    return model->architecture->of_members ? pv__stack_fit : model->architecture->of_trees ? pv__trees_fit : NULL;
}

/* A fit ready to run: everything except the solution. */
typedef struct setup {
    pv__plan *plan;
    pv__plan_rows rows;
    pv__design *design;
    pv__problem problem;
    pv__smoothing *smoothing;
    pv__loaded *loaded;
} setup;

static void setup_clear(pv_ctx *ctx, setup *s) {
    pv__loaded_free(ctx, s->loaded);
    pv__free(ctx, s->problem.mass);
    pv__free(ctx, s->problem.is_bias);
    pv__free(ctx, s->problem.scaled);
    pv__free(ctx, s->problem.joined);
    pv__free(ctx, s->problem.joined_label);
    pv__smoothing_free(ctx, s->smoothing);
    pv__plan_clear(ctx, s->plan);
    pv__design_free(ctx, s->design);
}

/* Completes the plan and builds the problem. The caller clears *s with setup_clear, also on failure, and frees the
 * model. */
static pv_status setup_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, pv__plan *plan,
                           pv_model **model, setup *s) {
    const pv__design_options stated = pv__design_options_of(plan->given);
    *s = (setup){.plan = plan};
    PV_TRY(pv__plan_data(ctx, schema, data, plan));
    PV_TRY(pv__model_new(ctx, plan->options.model, data->features, schema->offset, data->classes, model));
    if ((*model)->architecture->of_members && !pv__mixes(plan->given))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`model=%s`: the members of a mixture cannot be listed here:\nchoose auto, and `candidates`",
                        plan->given->model);
    if (pv__schema_scores(schema) > 0 && !pv__mixes(plan->given))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`terms`: score(...) is a model's own prediction, which `model=auto` mixes with others:\nchoose "
            "auto, or name the column alone to make it a feature");
    PV_TRY(pv__design_new(ctx, schema, data, &stated, &s->design));
    s->design->sampling |= plan->options.sample && plan->options.sample->sampling;
    PV_TRY(problem_new(ctx, schema, data, *model, s->design, plan, &s->rows, &s->problem));
    s->problem.shared = true;
    PV_TRY(set_centre(ctx, &s->problem));
    PV_TRY(pv__smoothing_new(ctx, schema, *model, &s->smoothing));
    s->problem.smoothing = s->smoothing;
    return pv__prior_decide(ctx, schema, data, &s->problem, plan);
}

/* Sets up the fit with the training rows, fits, and stores the result. */
static pv_status fit_rows(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_dataset *held,
                          pv__plan *plan, void *fitted) {
    pv_classifier **classifier = fitted;
    const pv_fit_options *given = plan->given;
    double began = pv__seconds();
    setup made;
    pv_classifier *c;
    PV_TRY(pv__alloc(ctx, 1, sizeof *c, &c));
    pv_status status;
    PV_GOTO(done, setup_new(ctx, schema, data, plan, &c->model, &made));
    pv__problem *problem = &made.problem;
    PV_GOTO(done, pv__fit_alike(ctx, data, c->model, made.design->stated, given));
    PV_GOTO(done, pv__fit_facts(ctx, data, held, c->model, made.design->stated, given));
    c->stratified = pv__design_keep(made.design);
    PV_GOTO(done, pv__prior_choose(ctx, schema, data, problem, plan));
    PV_GOTO(done, pv__smoothing_find(ctx, problem, made.smoothing, plan));
    pv_checkpoint_tell(ctx);
    PV_GOTO(done, fill(ctx, schema, data, problem, c));
    PV_GOTO(done, pv__smoothing_keep(ctx, made.smoothing, c));
    PV_GOTO(done, set_start(ctx, problem, c->w));
    if (made.smoothing && made.smoothing->w)
        memcpy(c->w, made.smoothing->w, pv_model_params(c->model) * sizeof *c->w);
    if (plan->options.trace && problem->batch > 0)
        PV_GOTO(done, pv__trace_new(ctx, c->schema->classes, &c->trace));
    c->validation_rows = held ? held->rows : 0;
    bool found;
    PV_GOTO(done, pv__fitted_recall(ctx, c, &found));
    pv__log(ctx, PV_LOG_DEBUG, "fit: %zu rows of %d features, %zu parameters of %s; kernels %s, threads %d",
            problem->rows.n, data->features, pv_model_params(c->model), plan->options.model, pv_kernels(),
            pv_ctx_threads(ctx));
    if (data->matched)
        PV_GOTO(done, pv__matched_tell(ctx, data));
    const own_fit own = own_fit_of(c->model);
    if (!found && !pv__rows_are_images(&problem->rows) && problem->batch == 0 && !own)
        PV_GOTO(done, load_rows(ctx, problem, &made.loaded));
    problem->rows.device = made.loaded;
    if (own)
        PV_GOTO(done, own(ctx, schema, data, problem, c));
    else if (!found)
        PV_GOTO(done, solve(ctx, problem, held, c));
    if (!own)
        PV_GOTO(done, pv__reference_of_fit(ctx, problem, c));
    pv__log(ctx, PV_LOG_DEBUG, "fit: %s after %lld iterations, loss %.10g", pv_stop_name(c->stop),
            (long long)c->iterations, c->loss_value);
    c->seconds = pv__seconds() - began;
    *classifier = c;
done:
    setup_clear(ctx, &made);
    if (status != PV_OK)
        pv_classifier_free(ctx, c);
    return status;
}

/* Sets up the fit, and describes what it would do. */
static pv_status plan_rows(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_dataset *held,
                           pv__plan *plan, void *told) {
    (void)held;
    setup made;
    pv_model *model = NULL;
    pv_status status = setup_new(ctx, schema, data, plan, &model, &made);
    if (status == PV_OK)
        status = pv__plan_tell(ctx, plan, &made.rows, data, told);
    setup_clear(ctx, &made);
    pv_model_free(ctx, model);
    return status;
}

/* What pv__problem_lend passes on. */
typedef struct lending {
    pv__problem_use use;
    void *state;
} lending;

/* Sets up the fit with the training rows up to its solution, and lends the problem. */
static pv_status lend_rows(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_dataset *held,
                           pv__plan *plan, void *made) {
    const lending *to = made;
    setup ready;
    pv_model *model = NULL;
    (void)held;
    pv_status status;
    PV_GOTO(done, setup_new(ctx, schema, data, plan, &model, &ready));
    PV_GOTO(done, pv__prior_choose(ctx, schema, data, &ready.problem, plan));
    status = to->use(ctx, schema, &ready.problem, to->state);
done:
    setup_clear(ctx, &ready);
    pv_model_free(ctx, model);
    return status;
}

/* Whether the fit processes rows block by block, so that columns can replace a matrix. */
static bool goes_by_blocks(const pv_fit_options *options) {
    bool points = options->infer == PV_INFER_MAP || options->infer == PV_INFER_ML || options->infer == PV_INFER_ROBUST;
    return points && !options->sample && !pv__minibatches(options, false) && !pv__fits_itself(options);
}

/* Builds a matrix for data that have columns instead. The caller frees *x. */
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

/* fit_rows or plan_rows: what to do with the training rows. */
typedef pv_status (*step)(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_dataset *held,
                          pv__plan *plan, void *made);

/* Begins the plan, and holds rows out if it says so. */
static pv_status with_plan(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                           step work, void *made) {
    pv_dataset *learn = NULL, *held = NULL;
    pv__plan plan;
    pv_status status;
    PV_GOTO(done, pv__plan_begin(ctx, options, options->sample != NULL, &plan));
    PV_GOTO(done, check_data(ctx, schema, data));
    if (options->validation > 0 && plan.minibatches) {
        PV_GOTO(done, pv__holdout_split(ctx, schema, data, options, &learn, &held));
        learn->dropped = data->dropped;
    }
    status = work(ctx, schema, learn ? learn : data, held, &plan, made);
done:
    pv_dataset_free(ctx, learn);
    pv_dataset_free(ctx, held);
    return status;
}

/* Builds matrices if the work needs them. */
static pv_status with_rows(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                           step work, void *made) {
    if (goes_by_blocks(options))
        return with_plan(ctx, schema, data, options, work, made);
    pv_dataset whole[2];
    double *x[2] = {NULL, NULL};
    pv_fit_options used = *options;
    pv_status status;
    PV_GOTO(done, with_matrix(ctx, &data, &whole[0], &x[0]));
    PV_GOTO(done, with_matrix(ctx, &used.sample, &whole[1], &x[1]));
    status = with_plan(ctx, schema, data, &used, work, made);
done:
    pv__free(ctx, x[0]);
    pv__free(ctx, x[1]);
    return status;
}

pv_status pv__problem_lend(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                           pv__problem_use use, void *state) {
    return with_rows(ctx, schema, data, options, lend_rows, &(lending){use, state});
}

pv_status pv_fit_plan(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                      pv_plan **plan) {
    *plan = NULL;
    return with_rows(ctx, schema, data, options, plan_rows, plan);
}

pv_status pv_fit(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                 pv_classifier **classifier) {
    *classifier = NULL;
    pv_status status = with_rows(ctx, schema, data, options, fit_rows, classifier);
    if (status == PV_OK && data->images)
        status = pv_images_unchanged(ctx, data->images, false);
    if (status == PV_OK)
        status = pv__columns_unchanged(ctx, data);
    if (status != PV_OK) {
        pv_classifier_free(ctx, *classifier);
        *classifier = NULL;
    }
    return status;
}
