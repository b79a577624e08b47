/* Full-batch maximum likelihood and maximum a posteriori.
 *
 * For a loss whose marginal couples the rows, the information gain, the selection likelihood is fitted first: a sum
 * over rows with the same stationary points as the profile. Its cheap passes bring the parameters close, to where a
 * known prevalence lies inside the convex hull of the rows. Then the loss itself is fitted. `known` with the plug-in
 * marginal is a constrained problem, solved with multipliers.
 */
#include <math.h>
#include <string.h>

#include "infer/combined.h"

static const double COARSE = 1e-4; /* tolerance of the first stage */

/* With many rows a sample is fitted first, and the selection likelihood is taken further before the more expensive
 * loss. */
enum { SAMPLE_ROWS = 1 << 15 };

static pv_status descend(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective, double tolerance, bool fine,
                         const pv__precondition *metric, pv__solution *solution) {
    int64_t left = problem->plan->options.max_iter - solution->iterations;
    if (left < 1) {
        solution->stop = PV_STOP_MAX_ITER;
        return PV_OK;
    }
    fine = fine && pv_model_is_convex(problem->model); /* requires a smooth function */
    pv__descent_options options = {.tolerance = tolerance, .max_iter = left, .fine = fine, .metric = metric};
    return pv__descend(ctx, problem, objective, &options, solution->w, &solution->value, &solution->stop,
                       &solution->iterations);
}

/* The weighted estimate, computed along with the efficient one; solution.w NULL: it is not computed. */
typedef struct beside {
    double *factor; /* [classes] */
    double tolerance;
    pv__problem problem;
    pv__objective *objective;
    pv__solution solution;
} beside;

static void beside_drop(pv_ctx *ctx, beside *b) {
    pv__free(ctx, b->solution.w);
    pv__free(ctx, b->solution.information);
    pv__free(ctx, b->solution.ahead);
    b->solution = (pv__solution){0};
}

/* Prepares it with the start of the efficient estimate. The caller frees *b with beside_free, also on failure. */
static pv_status beside_new(pv_ctx *ctx, const pv__problem *problem, const double *w, beside *b) {
    size_t P = pv_model_params(problem->model);
    PV_TRY(pv__alloc(ctx, (size_t)problem->targets.classes, sizeof *b->factor, &b->factor));
    b->problem = pv__labelled(problem);
    b->problem.factor = b->factor;
    b->tolerance = problem->plan->options.tolerance;
    if (!pv__combination_factors(problem, b->factor))
        return PV_OK;
    PV_TRY(pv__alloc(ctx, P, sizeof *w, &b->solution.w));
    memcpy(b->solution.w, w, P * sizeof *w);
    return PV_OK;
}

/* Stores its result in the other estimate's solution. */
static void beside_keep(pv_ctx *ctx, beside *b, pv__solution *solution) {
    pv__objective_count(b->objective, solution);
    solution->weighted = b->solution.ahead;
    b->solution.ahead = NULL;
    beside_drop(ctx, b);
    pv__objective_free(ctx, b->objective);
    b->objective = NULL;
}

static void beside_free(pv_ctx *ctx, beside *b) {
    beside_drop(ctx, b);
    pv__objective_free(ctx, b->objective);
    pv__free(ctx, b->factor);
}

/* Uses Newton's method if that is faster. *ended: it converged; otherwise the caller continues from the point reached.
 * metric: NULL, or receives the last one. with: NULL, or a second estimate to compute in the same passes. */
static pv_status approach(pv_ctx *ctx, const pv__newton_goal *goal, beside *with, bool *ended) {
    const pv__newton_goal goals[2] = {*goal,
                                      {.problem = with ? &with->problem : NULL,
                                       .objective = with ? with->objective : NULL,
                                       .tolerance = with ? with->tolerance : 0,
                                       .solution = with ? &with->solution : NULL,
                                       .informed = goal->informed}};
    *ended = false;
    if (!pv__newton_pays(goal->problem, goal->objective))
        return PV_OK;
    PV_TRY(pv__newton(ctx, with && with->solution.w ? 2 : 1, goals));
    *ended = goal->solution->stop != PV_STOP_NO_PROGRESS;
    return PV_OK;
}

/* Evenly spaced rows that represent all rows. */
typedef struct sample {
    double scale; /* number of rows that each represents */
    double *x, *weight;
    int32_t *label, *stratum;
    pv__problem problem;
} sample;

static void sample_free(pv_ctx *ctx, sample *s) {
    pv__free(ctx, s->x);
    pv__free(ctx, s->weight);
    pv__free(ctx, s->label);
    pv__free(ctx, s->stratum);
}

/* The caller frees *s with sample_free, also on failure. */
static pv_status sample_new(pv_ctx *ctx, const pv__problem *problem, size_t rows, sample *s) {
    size_t d = (size_t)pv_model_inputs(problem->model);
    *s = (sample){.scale = (double)problem->rows.n / (double)rows, .problem = *problem};
    PV_TRY(pv__alloc(ctx, rows, d * sizeof *s->x, &s->x));
    PV_TRY(pv__alloc(ctx, rows, sizeof *s->weight, &s->weight));
    PV_TRY(pv__alloc(ctx, rows, sizeof *s->label, &s->label));
    if (problem->targets.stratum)
        PV_TRY(pv__alloc(ctx, rows, sizeof *s->stratum, &s->stratum));
    pv__rows_spread(&problem->rows, 0, rows, s->scale, s->x);
    for (size_t i = 0; i < rows; i++) {
        size_t n = pv__spread_row(i, s->scale);
        if (i % 256 == 0)
            pv__spill_breathe(ctx);
        s->label[i] = problem->targets.label[n];
        if (s->stratum && problem->targets.stratum)
            s->stratum[i] = problem->targets.stratum[n];
        s->weight[i] = s->scale * pv__weight(&problem->targets, n); /* keeps the relative weight of the prior */
    }
    s->problem.rows = pv__rows_matrix(rows, d, s->x);
    s->problem.targets = (pv_targets){
        .n = rows, .classes = problem->targets.classes, .label = s->label, .weight = s->weight, .stratum = s->stratum};
    return PV_OK;
}

/* Fits a sample of the rows as a start, which takes a few per cent of a pass and brings w to within sampling error.
 * Does the same for the second estimate, which is dropped if it has no optimum in the sample. */
static pv_status fit_sample(pv_ctx *ctx, const pv__problem *problem, pv__form form, beside *with,
                            pv__solution *solution) {
    if (problem->rows.n < 4 * SAMPLE_ROWS || !pv_model_is_convex(problem->model) || !problem->targets.label)
        return PV_OK;
    sample s;
    pv__objective *objective = NULL;
    pv__solution rough = *solution;
    beside along = {0};
    bool two = with && with->solution.w, ended;
    pv_status status;
    PV_GOTO(done, sample_new(ctx, problem, SAMPLE_ROWS, &s));
    PV_GOTO(done, pv__objective_new(ctx, &s.problem, form, &objective));
    if (two) {
        along = (beside){.problem = s.problem, .tolerance = COARSE, .solution = {.w = with->solution.w}};
        along.problem.factor = with->factor;
        PV_GOTO(done, pv__objective_new(ctx, &along.problem, PV_FORM_ROWS, &along.objective));
    }
    const pv__newton_goal goal = {&s.problem, objective, COARSE, NULL, &rough, true};
    rough.passes = 0;
    rough.ahead = NULL;
    PV_GOTO(done, approach(ctx, &goal, two ? &along : NULL, &ended));
    if (!ended)
        PV_GOTO(done, descend(ctx, &s.problem, objective, COARSE, false, NULL, &rough));
    solution->stop = rough.stop;
    solution->information = rough.information; /* or NULL: then the first pass over all rows computes it */
    if (two)
        with->solution.information = along.solution.information;
    if (two && along.solution.stop != PV_STOP_CONVERGED)
        beside_drop(ctx, with);
    pv__objective_count(objective, &rough);
    pv__objective_count(along.objective, &rough);
    solution->passes += rough.passes / s.scale;
done:
    pv__free(ctx, rough.ahead);
    pv__free(ctx, along.solution.ahead);
    pv__objective_free(ctx, objective);
    pv__objective_free(ctx, along.objective);
    sample_free(ctx, &s);
    return status;
}

/* A coarse run, then a fine one from there with a new metric; once more if rounding stopped it early. */
static pv_status descend_twice(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective,
                               pv__solution *solution) {
    double tolerance = problem->plan->options.tolerance;
    if (tolerance < COARSE) {
        PV_TRY(descend(ctx, problem, objective, COARSE, false, NULL, solution));
        if (solution->stop == PV_STOP_INTERRUPTED || solution->stop == PV_STOP_MAX_ITER)
            return PV_OK;
    }
    PV_TRY(descend(ctx, problem, objective, tolerance, true, NULL, solution));
    if (solution->stop == PV_STOP_NO_PROGRESS)
        PV_TRY(descend(ctx, problem, objective, tolerance, true, NULL, solution));
    return PV_OK;
}

/* ---- known prevalence with the plug-in marginal ------------------------------------------------------------------ */

/* Minimises plain + sum_y n_y log m_y(w) subject to m(w) = prevalence. With pseudo-counts d_y in place of N_pr
 * prevalence_y this is the usual loss, and its minimiser satisfies the constrained problem's equations once m =
 * prevalence; d_y <- d_y prevalence_y / m_y is the multiplier update. */
static pv_status descend_known_plugin(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective,
                                      pv__solution *solution) {
    size_t k = (size_t)problem->targets.classes;
    double *block;
    PV_TRY(pv__alloc(ctx, 2 * k, sizeof *block, &block));
    double *pseudo = block, *counts = block + k, total = 0;
    for (size_t y = 0; y < k; y++)
        total += problem->mass[y];
    for (size_t y = 0; y < k; y++)
        pseudo[y] = 20 * total * problem->population.prevalence[y];
    pv_status status = PV_OK;
    for (int round = 0; round < 40; round++) {
        for (size_t y = 0; y < k; y++)
            counts[y] = problem->mass[y] - pseudo[y];
        pv_full_loss_set_counts(pv__objective_loss(objective), counts);
        PV_GOTO(done, descend_twice(ctx, problem, objective, solution));
        const double *log_m = pv_full_loss_log_marginal(pv__objective_loss(objective));
        double worst = 0;
        for (size_t y = 0; y < k; y++) {
            double ratio = problem->population.prevalence[y] / exp(log_m[y]);
            worst = fmax(worst, fabs(ratio - 1));
            pseudo[y] *= ratio;
        }
        if (worst < 1e-8 || solution->stop == PV_STOP_INTERRUPTED || solution->stop == PV_STOP_MAX_ITER)
            break;
    }
    pv_full_loss_set_counts(pv__objective_loss(objective), problem->mass); /* the loss without the multipliers */
    /* At tiny prevalences the gradient's tolerance leaves the intercept imprecise: match the prevalence exactly. */
    status = pv__match_prevalence(ctx, problem, false, solution->w);
done:
    pv__free(ctx, block);
    return status;
}

/* ---- a feasible start for a known prevalence --------------------------------------------------------------------- */

/* Replaces known prevalences by counts of `observations` each. The caller frees *n. */
static pv_status relax(pv_ctx *ctx, const pv__problem *problem, double observations, double **n, pv__problem *relaxed) {
    const pv_prevalence *known = &problem->population;
    *relaxed = *problem;
    PV_TRY(pv__alloc(ctx, (size_t)known->strata, sizeof **n, n));
    for (int s = 0; s < known->strata; s++)
        (*n)[s] = fmin(known->stratum_n[s], observations);
    relaxed->population.prevalence_n = fmin(known->prevalence_n, observations);
    relaxed->population.stratum_n = *n;
    return PV_OK;
}

/* The profile of a known prevalence is finite only if that is strictly between the smallest and the largest risk of the
 * rows, in every stratum. The optimum of the selection likelihood need not satisfy this: strata that share an
 * intercept, or thresholds shared by all labels, leave it no freedom. With a prevalence from N observations the profile
 * is finite everywhere, and its optimum tends to that of the known prevalence as N grows. */
static pv_status find_feasible(pv_ctx *ctx, const pv__problem *problem, pv__objective *joint, pv__solution *solution) {
    double value, total = 0;
    for (int y = 0; y < problem->targets.classes; y++)
        total += problem->mass[y];
    PV_TRY(pv__objective_eval(joint, solution->w, false, &value, NULL));
    if (!isfinite(value) && !pv__strata_of(problem) && pv__model_is_free(problem->model)) {
        PV_TRY(pv__match_prevalence(ctx, problem, false, solution->w)); /* then it is a mean of the rows' risks */
        PV_TRY(pv__objective_eval(joint, solution->w, false, &value, NULL));
    }
    for (double each = 1; !isfinite(value) && each <= 1e6; each *= 10) {
        double *n = NULL;
        pv__problem relaxed;
        pv__objective *objective = NULL;
        pv_status status;
        PV_GOTO(next, relax(ctx, problem, each * total, &n, &relaxed));
        PV_GOTO(next, pv__objective_new(ctx, &relaxed, PV_FORM_JOINT, &objective));
        PV_GOTO(next, descend(ctx, &relaxed, objective, COARSE, false, NULL, solution));
        status = pv__objective_eval(joint, solution->w, false, &value, NULL);
    next:
        pv__objective_count(objective, solution);
        pv__objective_free(ctx, objective);
        pv__free(ctx, n);
        PV_TRY(status);
        if (solution->stop == PV_STOP_INTERRUPTED)
            return PV_OK;
    }
    return isfinite(value)
               ? PV_OK
               : pv__fail(
                     ctx, PV_ERR_INPUT,
                     "no coefficients give the rows%s the stated prevalence, because their columns vary too "
                     "little.\nAdd columns, use the strata as a feature, or state how well the prevalence is known%s",
                     pv__strata_of(problem) ? " of every stratum" : "",
                     pv__strata_of(problem) ? ", as an interval in the file of `prevalence-by`" : " (`prevalence-n`)");
}

/* ---- the whole fit ----------------------------------------------------------------------------------------------- */

static pv_status final_marginal(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective,
                                pv__solution *solution) {
    bool known_plugin =
        problem->plan->options.marginal == PV_MARGINAL_PLUGIN && isinf(problem->population.prevalence_n);
    bool joint = pv__objective_loss(objective) != NULL;
    if (joint &&
        (known_plugin || !pv__objective_is_at(objective, solution->w))) /* the last evaluation was a trial step */
        PV_TRY(pv__objective_eval(objective, solution->w, false, &solution->value, NULL));
    return pv__log_marginal(ctx, problem, objective, solution->w, NULL, solution->log_marginal);
}

/* Frees information that belongs to an earlier w. */
static void forget_information(pv_ctx *ctx, pv__solution *solution) {
    pv__free(ctx, solution->information);
    solution->information = NULL;
}

/* The selection likelihood, then the loss itself from there. With many rows both use one metric, from the sample's
 * optimum. */
static pv_status fit_joint(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution) {
    bool many = problem->rows.n >= 4 * SAMPLE_ROWS && problem->model->architecture->has_curvature &&
                !(problem->plan->map && problem->plan->prior.kind == PV_PRIOR_LAPLACE);
    bool known_plugin =
        problem->plan->options.marginal == PV_MARGINAL_PLUGIN && isinf(problem->population.prevalence_n);
    double tolerance = problem->plan->options.tolerance, coarse = many ? fmin(COARSE, fmax(1e-7, tolerance)) : COARSE;
    /* Without a prior on the intercept both have the same optimum (docs/method.md), so the cheaper one is iterated to
     * convergence. Not so for strata that share an intercept, or for a model whose biases are not free. */
    bool same_optimum = !pv__strata_of(problem) && pv__model_is_free(problem->model) &&
                        problem->plan->options.marginal == PV_MARGINAL_PROFILE &&
                        problem->population.prevalence_n > 0 && problem->unlabelled == 0 &&
                        (!problem->plan->map || problem->plan->intercept_prior.kind == PV_PRIOR_NONE);
    bool ended;
    pv__problem labelled = pv__labelled(problem);
    pv__precondition metric = {0};
    pv__objective *selection = NULL, *joint = NULL;
    beside with = {0};
    pv_status status;
    PV_GOTO(done, beside_new(ctx, problem, solution->w, &with));
    PV_GOTO(done, fit_sample(ctx, &labelled, PV_FORM_SELECTION, &with, solution));
    PV_GOTO(done, pv__objective_new(ctx, &labelled, PV_FORM_SELECTION, &selection));
    if (with.solution.w)
        PV_GOTO(done, pv__objective_new(ctx, &with.problem, PV_FORM_ROWS, &with.objective));
    const pv__newton_goal goal = {&labelled, selection, same_optimum ? tolerance : coarse,
                                  &metric,   solution,  !with.solution.w};
    PV_GOTO(done, approach(ctx, &goal, &with, &ended));
    beside_keep(ctx, &with, solution);
    if (many && !metric.factor)
        PV_GOTO(done, pv__precondition_new(ctx, &labelled, solution->w, &metric));
    const pv__precondition *known = metric.factor && (many || !problem->unlabelled) ? &metric : NULL;
    if (!ended)
        PV_GOTO(done, descend(ctx, &labelled, selection, coarse, false, known, solution));
    if (!ended && same_optimum && tolerance < coarse && solution->stop == PV_STOP_CONVERGED)
        PV_GOTO(done, descend(ctx, &labelled, selection, tolerance, true, known, solution));
    PV_GOTO(done, pv__objective_new(ctx, problem, PV_FORM_JOINT, &joint));
    if (!problem->unlabelled)
        pv__objective_take_over(joint, selection);
    bool done_already = same_optimum && solution->stop == PV_STOP_CONVERGED;
    if (!done_already)
        forget_information(ctx, solution);
    bool constrained = !known_plugin && problem->plan->options.marginal == PV_MARGINAL_PROFILE && !done_already;
    if (constrained && solution->stop != PV_STOP_INTERRUPTED)
        PV_GOTO(done, find_feasible(ctx, &labelled, joint, solution));
    if (known_plugin && solution->stop != PV_STOP_INTERRUPTED)
        PV_GOTO(done, descend_known_plugin(ctx, &labelled, joint, solution));
    else if (!done_already && solution->stop != PV_STOP_INTERRUPTED)
        PV_GOTO(done, descend(ctx, &labelled, joint, tolerance, true, known, solution));
    if (!known_plugin && solution->stop == PV_STOP_NO_PROGRESS)
        PV_GOTO(done, descend_twice(ctx, &labelled, joint, solution));
    status = final_marginal(ctx, problem, joint, solution);
done:
    pv__objective_count(selection, solution);
    pv__objective_count(joint, solution);
    beside_free(ctx, &with);
    pv__objective_free(ctx, selection);
    pv__objective_free(ctx, joint);
    pv__precondition_free(ctx, &metric);
    return status;
}

static pv_status fit_rows(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution) {
    pv__objective *objective = NULL;
    bool ended;
    pv_status status;
    PV_GOTO(done, fit_sample(ctx, problem, pv__problem_form(problem), NULL, solution));
    PV_GOTO(done, pv__objective_new(ctx, problem, pv__problem_form(problem), &objective));
    const pv__newton_goal goal = {problem, objective, problem->plan->options.tolerance, NULL, solution, true};
    PV_GOTO(done, approach(ctx, &goal, NULL, &ended));
    if (!ended)
        PV_GOTO(done, descend_twice(ctx, problem, objective, solution));
    status = final_marginal(ctx, problem, objective, solution);
done:
    pv__objective_count(objective, solution);
    pv__objective_free(ctx, objective);
    return status;
}

/* A loss without an intercept: the model's intercept stays at its start. */
static pv_status fit_sets(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution) {
    pv__objective *objective = NULL;
    pv_status status;
    PV_GOTO(done, pv__objective_new(ctx, problem, PV_FORM_JOINT, &objective));
    PV_GOTO(done, descend_twice(ctx, problem, objective, solution));
    status = pv__log_marginal(ctx, problem, NULL, solution->w, NULL, solution->log_marginal);
done:
    pv__objective_count(objective, solution);
    pv__objective_free(ctx, objective);
    return status;
}

pv_status pv__fit_full(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution) {
    if (pv_loss_is_relative(pv__problem_loss(problem)))
        return fit_sets(ctx, problem, solution);
    return pv__problem_form(problem) == PV_FORM_JOINT ? fit_joint(ctx, problem, solution)
                                                      : fit_rows(ctx, problem, solution);
}
