/* Full-batch maximum likelihood and maximum a posteriori.
 *
 * For a loss whose marginal ties the rows together, the information gain, the selection likelihood comes first: a sum
 * over rows, with the profile's stationary points, that brings the parameters close in cheap passes and to where the
 * known prevalence lies inside the hull of the rows. Then the loss itself. `known` with the plug-in marginal is a
 * constrained problem, solved by multipliers.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

static const double COARSE = 1e-4; /* tolerance of the first stage */

/* With many rows a sample of them is fitted first, and the selection likelihood is taken further before the dearer
 * loss. */
enum { SAMPLE_ROWS = 1 << 15 };

static pv_status descend(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective, double tolerance, bool fine,
                         const pv__precondition *metric, pv__solution *solution) {
    int64_t left = problem->options->max_iter - solution->iterations;
    if (left < 1) {
        solution->stop = PV_STOP_MAX_ITER;
        return PV_OK;
    }
    fine = fine && pv_model_is_convex(problem->model); /* it takes a smooth function */
    pv__descent_options options = {.tolerance = tolerance, .max_iter = left, .fine = fine, .metric = metric};
    return pv__descend(ctx, problem, objective, &options, solution->w, &solution->value, &solution->stop,
                       &solution->iterations);
}

/* The optimum of a sample of the rows as a start: a few per cent of one pass brings w to within sampling error. */
static pv_status fit_sample(pv_ctx *ctx, const pv__problem *problem, pv__form form, pv__solution *solution) {
    size_t d = (size_t)pv_model_inputs(problem->model), rows = SAMPLE_ROWS;
    if (problem->n < 4 * rows || !pv_model_is_convex(problem->model) || !problem->targets.label)
        return PV_OK;
    double *x = NULL, *weight = NULL;
    int32_t *label = NULL, *stratum = NULL;
    pv__objective *objective = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, rows, d * sizeof *x, &x));
    PV_GOTO(done, pv__alloc(ctx, rows, sizeof *weight, &weight));
    PV_GOTO(done, pv__alloc(ctx, rows, sizeof *label, &label));
    if (problem->targets.stratum)
        PV_GOTO(done, pv__alloc(ctx, rows, sizeof *stratum, &stratum));
    double scale = (double)problem->n / (double)rows;
    pv__problem_spread(problem, 0, rows, scale, x);
    for (size_t i = 0; i < rows; i++) {
        size_t n = pv__spread_row(i, scale);
        if (i % 256 == 0)
            pv__spill_breathe(ctx);
        label[i] = problem->targets.label[n];
        if (stratum)
            stratum[i] = problem->targets.stratum[n];
        weight[i] = scale * pv__weight(&problem->targets, n); /* so that the prior keeps its weight */
    }
    pv__problem sample = *problem;
    pv__problem_take(&sample, rows, x);
    sample.targets = (pv_targets){
        .n = rows, .classes = problem->targets.classes, .label = label, .weight = weight, .stratum = stratum};
    PV_GOTO(done, pv__objective_new(ctx, &sample, form, &objective));
    pv__solution rough = *solution;
    rough.passes = 0;
    PV_GOTO(done, descend(ctx, &sample, objective, COARSE, false, NULL, &rough));
    solution->stop = rough.stop;
    pv__objective_count(objective, &rough);
    solution->passes += rough.passes / scale;
done:
    pv__objective_free(ctx, objective);
    pv__free(ctx, x);
    pv__free(ctx, weight);
    pv__free(ctx, label);
    pv__free(ctx, stratum);
    return status;
}

/* A coarse run, then a fine one from there with a fresh metric; once more where rounding stopped it early. */
static pv_status descend_twice(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective,
                               pv__solution *solution) {
    double tolerance = problem->options->tolerance;
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

/* Minimises plain + sum_y n_y log m_y(w) subject to m(w) = prevalence. With pseudo-counts d_y in the place of
 * N_pr prevalence_y the loss is the usual one, and its minimiser satisfies the constrained problem's equations once
 * m = prevalence; d_y <- d_y prevalence_y / m_y is the multiplier update. */
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
    /* At tiny prevalences the gradient's tolerance leaves the intercept some play: close it exactly. */
    status = pv__match_prevalence(ctx, problem, false, solution->w);
done:
    pv__free(ctx, block);
    return status;
}

/* ---- a start that a known prevalence allows ---------------------------------------------------------------------- */

/* Known prevalences as counts of `observations` each. The caller frees *n. */
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

/* The profile of a known prevalence is finite only where that lies strictly between the least and the largest risk of
 * the rows, in every stratum. The optimum of the selection likelihood need not be such a place: strata that share an
 * intercept, or thresholds that are shared by all labels, leave it no freedom. With a prevalence from N observations
 * the profile is finite everywhere and its optimum tends to that of the known prevalence as N grows. */
static pv_status find_feasible(pv_ctx *ctx, const pv__problem *problem, pv__objective *joint, pv__solution *solution) {
    double value, total = 0;
    for (int y = 0; y < problem->targets.classes; y++)
        total += problem->mass[y];
    PV_TRY(pv__objective_eval(joint, solution->w, false, &value, NULL));
    if (!isfinite(value) && !problem->stratified && pv__model_is_free(problem->model)) {
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
               : pv__fail(ctx, PV_ERR_INPUT,
                          "no coefficients give the rows%s the stated prevalence: their columns vary too little.\nAdd "
                          "columns, use the strata as a feature, or state how well the prevalence is known%s",
                          problem->stratified ? " of every stratum" : "",
                          problem->stratified ? ", as an interval in the file of `prevalence-by`"
                                              : " (`prevalence-n`)");
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

static pv_status final_marginal(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective,
                                pv__solution *solution) {
    bool known_plugin = problem->options->marginal == PV_MARGINAL_PLUGIN && isinf(problem->population.prevalence_n);
    bool joint = pv__objective_loss(objective) != NULL;
    if (joint && (known_plugin || !pv__objective_is_at(objective, solution->w))) /* the last was a trial step */
        PV_TRY(pv__objective_eval(objective, solution->w, false, &solution->value, NULL));
    return pv__log_marginal(ctx, problem, objective, solution->w, NULL, solution->log_marginal);
}

/* The selection likelihood, then the loss itself from there. With many rows one metric, at the sample's optimum, serves
 * both. */
static pv_status fit_joint(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution) {
    bool many = problem->n >= 4 * SAMPLE_ROWS && problem->model->architecture->has_curvature &&
                !(problem->plan->map && problem->plan->prior.kind == PV_PRIOR_LAPLACE);
    bool known_plugin = problem->options->marginal == PV_MARGINAL_PLUGIN && isinf(problem->population.prevalence_n);
    double tolerance = problem->options->tolerance, coarse = many ? fmin(COARSE, fmax(1e-7, tolerance)) : COARSE;
    /* Without a prior on the intercept the two have one optimum (docs/method.md): the cheaper goes all the way. Strata
     * that share an intercept do not, nor does a model whose biases are not free. */
    bool same_optimum = !problem->stratified && pv__model_is_free(problem->model) &&
                        problem->options->marginal == PV_MARGINAL_PROFILE && problem->population.prevalence_n > 0 &&
                        problem->unlabelled == 0 &&
                        (!problem->plan->map || problem->plan->intercept_prior.kind == PV_PRIOR_NONE);
    pv__problem labelled = pv__labelled(problem);
    pv__precondition metric = {0};
    pv__objective *selection = NULL, *joint = NULL;
    pv_status status;
    PV_GOTO(done, fit_sample(ctx, &labelled, PV_FORM_SELECTION, solution));
    if (many)
        PV_GOTO(done, pv__precondition_new(ctx, &labelled, solution->w, &metric));
    PV_GOTO(done, pv__objective_new(ctx, &labelled, PV_FORM_SELECTION, &selection));
    PV_GOTO(done, descend(ctx, &labelled, selection, coarse, false, many ? &metric : NULL, solution));
    if (same_optimum && tolerance < coarse && solution->stop == PV_STOP_CONVERGED)
        PV_GOTO(done, descend(ctx, &labelled, selection, tolerance, true, many ? &metric : NULL, solution));
    PV_GOTO(done, pv__objective_new(ctx, problem, PV_FORM_JOINT, &joint));
    if (!problem->unlabelled)
        pv__objective_take_over(joint, selection);
    bool done_already = same_optimum && solution->stop == PV_STOP_CONVERGED;
    bool constrained = !known_plugin && problem->options->marginal == PV_MARGINAL_PROFILE && !done_already;
    if (constrained && solution->stop != PV_STOP_INTERRUPTED)
        PV_GOTO(done, find_feasible(ctx, &labelled, joint, solution));
    if (known_plugin && solution->stop != PV_STOP_INTERRUPTED)
        PV_GOTO(done, descend_known_plugin(ctx, &labelled, joint, solution));
    else if (!done_already && solution->stop != PV_STOP_INTERRUPTED)
        PV_GOTO(done, descend(ctx, &labelled, joint, tolerance, true, many ? &metric : NULL, solution));
    if (!known_plugin && solution->stop == PV_STOP_NO_PROGRESS)
        PV_GOTO(done, descend_twice(ctx, &labelled, joint, solution));
    status = final_marginal(ctx, problem, joint, solution);
done:
    pv__objective_count(selection, solution);
    pv__objective_count(joint, solution);
    pv__objective_free(ctx, selection);
    pv__objective_free(ctx, joint);
    pv__precondition_free(ctx, &metric);
    return status;
}

static pv_status fit_rows(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution) {
    pv__objective *objective = NULL;
    pv_status status;
    PV_GOTO(done, fit_sample(ctx, problem, pv__problem_form(problem), solution));
    PV_GOTO(done, pv__objective_new(ctx, problem, pv__problem_form(problem), &objective));
    PV_GOTO(done, descend_twice(ctx, problem, objective, solution));
    status = final_marginal(ctx, problem, objective, solution);
done:
    pv__objective_count(objective, solution);
    pv__objective_free(ctx, objective);
    return status;
}

/* A loss without an intercept: whatever the model's is, it stays where it starts. */
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
