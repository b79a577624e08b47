/* Newton's method for losses that are sums over rows, for models with few parameters.
 *
 * From a start near the optimum, usually that of a sample of the rows, three or four passes are sufficient. The first
 * step uses the sample's information; the second pass computes the information of all rows, which is used from then on.
 * A pass that is expected to be the last computes the information again, for standard errors. From other starts every
 * pass computes it, until a step reduces the gradient a hundredfold.
 *
 * The information is the Hessian of a linear model's loss, and the expected Hessian for ordinal labels. A step that
 * reduces neither the loss nor, if the change of the loss is below its rounding error, the gradient, is halved. If this
 * does not help, as in tails that are far from quadratic, the caller continues with L-BFGS from the best point.
 *
 * Two losses of the same rows, those of the efficient and the weighted estimate, can be minimised side by side: each
 * pass evaluates both, and when one has converged, the other only.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

static const double FAST =
    0.01; /* ratio of the gradients after and before a step, below which the information is reused */

/* In units of a pass for the gradient with two labels: the cost of products relative to it. Rows read from a file take
 * longer, which would favour Newton's method, but results must equal those in memory. */
bool pv__newton_pays(const pv__problem *problem, const pv__objective *objective) {
    enum { PARAMS_MOST = 1000 };
    const double products = 30, steps[2] = {7.5, 30}; /* for L-BFGS, whose metric is exact for two labels only */
    const pv_model *model = problem->model;
    if (!pv__objective_curves(objective) || (problem->plan->map && problem->plan->prior.kind == PV_PRIOR_LAPLACE) ||
        pv_model_params(model) > PARAMS_MOST || pv_model_inputs(model) == 0)
        return false;
    double size = (double)model->architecture->information_size(model), J = model->classes - 1;
    double curve = size / (products * pv_model_inputs(model));
    double pass = 0.5 + 0.5 * J;
    double other = steps[model->classes > 2] * pass;
    if (pv_model_has_coefficients(model)) /* once for an efficient estimate, and once for its errors */
        other += 2 * (pass + curve);
    return 4 * pass + 2.5 * curve < other;
}

typedef struct run {
    pv_ctx *ctx;
    const pv__newton_goal *goal;
    size_t P;
    double *dw, *u, *step;         /* [P]; u: the gradient in the metric */
    double *trial, *slope, *spare; /* [P], at a trial point */
    pv__precondition metric;
    double *room;         /* [P][P] */
    bool exact;           /* the information is that at w */
    bool regular;         /* the metric is regular */
    bool first, ended;    /* before the first step; after the last */
    bool curved;          /* compute the information at the trial point */
    int halvings, slow;   /* halvings of the current step; number of steps with little progress */
    double share, before; /* the fraction of the step that is tried; the length of u at w */
    double steep;         /* scaled gradient at w (pv__steepness) */
    double began;
} run;

enum { RUNS = 2, HALVINGS = 10, SLOW_MOST = 3 };

/* Factorises the information in room as the metric. */
static bool take_metric(run *r) {
    double *factor = r->metric.factor;
    memcpy(factor, r->room, r->P * r->P * sizeof *factor);
    for (size_t i = 0; i < r->P; i++)
        factor[i * (r->P + 1)] += pv__prior_curvature(r->goal->problem, i, r->goal->solution->w[i]);
    return r->regular = pv__cholesky(r->P, factor, 1e-8);
}

static double length(const run *r, const double *dw, double *u) {
    double square = 0;
    pv__precondition_forward(&r->metric, dw, u);
    for (size_t i = 0; i < r->P; i++)
        square += u[i] * u[i];
    return square;
}

static void tell(const run *r) {
    const pv__solution *s = r->goal->solution;
    pv_progress now = {
        .what = "fit", .step = (size_t)s->iterations, .value = s->value, .seconds = pv__seconds() - r->began};
    pv__progress(r->ctx, &now);
}

/* Computes the trial point, a fraction of the step from w. */
static void place_trial(run *r) {
    for (size_t i = 0; i < r->P; i++)
        r->trial[i] = r->goal->solution->w[i] - r->share * r->step[i];
}

/* Computes the next step from w, or ends the run. */
static void propose(run *r) {
    const pv__newton_goal *goal = r->goal;
    pv__solution *s = goal->solution;
    r->before = length(r, r->dw, r->u);
    double now = pv__steepness(goal->problem, r->P, r->dw, r->u, 1), rate = r->first ? 1 : now / r->steep;
    r->slow = rate > 0.5 && !r->first ? r->slow + 1 : 0;
    r->first = false;
    r->steep = now;
    if (now <= goal->tolerance)
        s->stop = PV_STOP_CONVERGED;
    else if (pv__interrupted(r->ctx))
        s->stop = PV_STOP_INTERRUPTED;
    else if (s->iterations >= goal->problem->plan->options.max_iter)
        s->stop = PV_STOP_MAX_ITER;
    r->ended = s->stop != PV_STOP_NO_PROGRESS || r->slow > SLOW_MOST;
    if (r->ended)
        return;
    pv__precondition_backward(&r->metric, r->u, r->step);
    double next = r->exact ? rate * rate : rate; /* the same reduction again, or twice as many digits */
    r->curved = next > FAST || (goal->informed && now * next <= goal->tolerance);
    r->halvings = 0;
    r->share = 1;
    place_trial(r);
}

/* Accepts the step if the value or the gradient decreases; else halves it. */
static void judge(run *r, double value) {
    pv__solution *s = r->goal->solution;
    double noise = 1e-12 * fabs(s->value);
    /* if rounding hides the change of the value, decides by the gradient */
    bool lower = value < s->value - noise, level = value <= s->value + noise;
    if (!lower && !(level && length(r, r->slope, r->spare) < r->before)) {
        r->share *= 0.5;
        r->curved = false;
        r->ended = ++r->halvings == HALVINGS;
        place_trial(r);
        return;
    }
    memcpy(s->w, r->trial, r->P * sizeof *s->w);
    memcpy(r->dw, r->slope, r->P * sizeof *r->dw);
    s->value = value;
    r->exact = r->curved;
    r->ended = r->exact && !take_metric(r);
    if (r->ended)
        return;
    s->iterations++;
    tell(r);
    propose(r);
}

/* Evaluates the trial points of all runs in one pass over the rows. */
static pv_status iterate(run *runs, size_t count) {
    for (;;) {
        pv__look look[RUNS];
        run *of[RUNS];
        size_t active = 0;
        for (run *r = runs; r < runs + count; r++)
            if (!r->ended) {
                look[active] = (pv__look){r->goal->objective, r->trial, r->curved, 0, r->slope, r->room};
                of[active++] = r;
            }
        if (active == 0)
            return PV_OK;
        PV_TRY(pv__objectives_look(active, look));
        for (size_t i = 0; i < active; i++)
            judge(of[i], look[i].value);
    }
}

static pv_status run_new(pv_ctx *ctx, const pv__newton_goal *goal, run *r) {
    size_t P = pv_model_params(goal->problem->model);
    *r = (run){.ctx = ctx, .goal = goal, .P = P, .metric = {.blocks = 1, .size = P}, .began = pv__seconds()};
    PV_TRY(pv__alloc(ctx, 6 * P + P * P, sizeof *r->dw, &r->dw));
    r->u = r->dw + P;
    r->step = r->u + P;
    r->trial = r->step + P;
    r->slope = r->trial + P;
    r->spare = r->slope + P;
    r->room = r->spare + P;
    return pv__alloc(ctx, P * P, sizeof(double), &r->metric.factor);
}

/* Computes value, gradient and metric at each start. */
static pv_status begin(run *runs, size_t count) {
    pv__look look[RUNS];
    for (size_t i = 0; i < count; i++) {
        run *r = &runs[i];
        pv__solution *s = r->goal->solution;
        if (s->information)
            memcpy(r->room, s->information, r->P * r->P * sizeof *r->room);
        r->exact = !s->information;
        look[i] = (pv__look){r->goal->objective, s->w, r->exact, 0, r->dw, r->room};
    }
    PV_TRY(pv__objectives_look(count, look));
    for (size_t i = 0; i < count; i++) {
        run *r = &runs[i];
        r->goal->solution->value = look[i].value;
        r->goal->solution->stop = PV_STOP_NO_PROGRESS;
        r->first = true;
        r->ended = !isfinite(look[i].value) || !take_metric(r);
        if (!r->ended)
            propose(r);
    }
    return PV_OK;
}

/* Finishes a run at its optimum: stores the information there and, if wanted, the last metric. */
static pv_status leave(run *r) {
    pv__solution *s = r->goal->solution;
    size_t P = r->P;
    pv__free(r->ctx, s->information);
    s->information = NULL;
    if (s->stop == PV_STOP_CONVERGED) {
        pv__precondition_backward(&r->metric, r->u, r->step);
        PV_TRY(s->ahead ? PV_OK : pv__alloc(r->ctx, P, sizeof *s->ahead, &s->ahead));
        for (size_t i = 0; i < P; i++)
            s->ahead[i] = s->w[i] - r->step[i];
    }
    if (r->exact && s->stop == PV_STOP_CONVERGED) {
        PV_TRY(pv__alloc(r->ctx, P, P * sizeof *r->room, &s->information));
        memcpy(s->information, r->room, P * P * sizeof *r->room);
    }
    if (r->goal->metric && r->regular) {
        *r->goal->metric = r->metric;
        r->metric.factor = NULL;
    }
    return PV_OK;
}

pv_status pv__newton(pv_ctx *ctx, size_t count, const pv__newton_goal *goals) {
    run runs[RUNS] = {{0}};
    pv_status status = count <= RUNS ? PV_OK : pv__fail(ctx, PV_ERR_INTERNAL, "more than %d losses at once", RUNS);
    for (size_t i = 0; i < count && status == PV_OK; i++)
        status = run_new(ctx, &goals[i], &runs[i]);
    if (status == PV_OK)
        status = begin(runs, count);
    if (status == PV_OK)
        status = iterate(runs, count);
    for (size_t i = 0; i < count && status == PV_OK; i++)
        status = leave(&runs[i]);
    for (size_t i = 0; i < RUNS; i++) {
        pv__free(ctx, runs[i].metric.factor);
        pv__free(ctx, runs[i].dw);
    }
    return status;
}
