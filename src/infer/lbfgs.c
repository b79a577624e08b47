/* Full-batch minimisation by L-BFGS (libLBFGS), or OWL-QN where the prior is Laplace.
 *
 * Coordinates: w = w_0 + sigma L^-T u with L from precondition.c and sigma the Newton decrement at the start, so that
 * libLBFGS's first step, of length 1 in u, is a Newton step. Models without a preconditioner use w itself.
 *
 * Values: near the optimum the decrease of a sum over many rows drowns in its rounding error long before the gradient
 * does, and a line search that trusts values gives up there. In a `fine` run values are relative to the start, and
 * small changes are taken from the gradients, f(u) - f(u_k) ~ (u - u_k).(g + g_k)/2, exact to third order in the step.
 */
#include <lbfgs.h>
#include <math.h>
#include <string.h>

#include "infer/infer.h"

typedef struct run {
    pv_ctx *ctx;
    const pv__problem *problem;
    pv__objective *objective;
    const pv__descent_options *options;
    pv__precondition metric;
    size_t params;
    double sigma;
    size_t *place;           /* OWL-QN: where each of libLBFGS's variables stands in w (slopes first); else NULL */
    double *origin;          /* [params] w_0 */
    double *w, *dw;          /* [params] of the last evaluation */
    double *u, *du;          /* [params] of the last accepted point */
    double offset, accepted; /* value subtracted; value at the last accepted point */
    double began;
    int64_t iterations, before;
    bool fresh; /* dw and start hold the evaluation at the start, which libLBFGS asks for first */
    double start;
    pv_status status;
    pv_stop stop;
} run;

static void to_parameters(const run *r, const double *u, double *w) {
    if (r->metric.factor) {
        pv__precondition_backward(&r->metric, u, w);
        for (size_t i = 0; i < r->params; i++)
            w[i] = r->origin[i] + r->sigma * w[i];
        return;
    }
    for (size_t i = 0; i < r->params; i++)
        w[r->place ? r->place[i] : i] = u[i];
}

static void to_gradient(const run *r, const double *dw, double *du) {
    if (r->metric.factor) {
        pv__precondition_forward(&r->metric, dw, du);
        for (size_t i = 0; i < r->params; i++)
            du[i] *= r->sigma;
        return;
    }
    for (size_t i = 0; i < r->params; i++)
        du[i] = dw[r->place ? r->place[i] : i];
}

static double fine_value(const run *r, double value, const double *u, const double *du) {
    double change = value - r->offset - r->accepted;
    if (!(fabs(change) <= 1e-8 * (fabs(r->offset) + 1)))
        return value - r->offset;
    change = 0;
    for (size_t i = 0; i < r->params; i++)
        change += 0.5 * (u[i] - r->u[i]) * (du[i] + r->du[i]);
    return r->accepted + change;
}

static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *u, lbfgsfloatval_t *du, int n,
                                lbfgsfloatval_t step) {
    (void)step;
    run *r = instance;
    memset(du, 0, (size_t)n * sizeof *du); /* libLBFGS may have rounded the number of variables up */
    to_parameters(r, u, r->w);
    double value = r->start;
    pv_status status = PV_OK;
    if (!r->fresh)
        status = pv__objective_eval(r->objective, r->w, r->place != NULL, &value, r->dw);
    r->fresh = false;
    if (status != PV_OK || isnan(value)) {
        if (status != PV_OK && status != PV_ERR_NUMERIC)
            r->status = status;
        return HUGE_VAL;
    }
    to_gradient(r, r->dw, du);
    return r->options->fine ? fine_value(r, value, u, du) : value;
}

/* How far from the optimum, in units of the tolerance's: the largest entry of the gradient per row (with OWL-QN of the
 * pseudo-gradient), and where there is a metric also the gradient in its coordinates per square root of rows. The first
 * alone would pass a rare class whose whole part of the loss is small; the second does not depend on scales. */
static double steepness(const run *r, const double *u, const double *du) {
    double most = 0, total = 0, rate = r->place ? 1 / r->problem->plan->prior.scale : 0;
    for (int y = 0; y < r->problem->targets.classes; y++)
        total += r->problem->mass[y];
    for (size_t i = 0; i < r->params; i++) {
        double g = r->place ? du[i] : r->dw[i];
        if (r->place && !r->problem->is_bias[r->place[i]])
            g = u[i] > 0 ? g + rate : u[i] < 0 ? g - rate : fmax(fabs(g) - rate, 0);
        most = fmax(most, fabs(g));
    }
    most /= total;
    for (size_t i = 0; r->metric.factor && i < r->params; i++)
        most = fmax(most, fabs(du[i]) / r->sigma / (3 * sqrt(total)));
    return most;
}

static int progress(void *instance, const lbfgsfloatval_t *u, const lbfgsfloatval_t *du, const lbfgsfloatval_t value,
                    const lbfgsfloatval_t u_norm, const lbfgsfloatval_t du_norm, const lbfgsfloatval_t step, int n,
                    int k, int evaluations) {
    (void)u_norm, (void)du_norm, (void)step, (void)n, (void)evaluations;
    run *r = instance;
    r->iterations = k;
    r->accepted = value;
    memcpy(r->u, u, r->params * sizeof *u);
    memcpy(r->du, du, r->params * sizeof *du);
    pv_progress now = {.what = "fit",
                       .step = (size_t)(r->before + k),
                       .value = value + r->offset,
                       .seconds = pv__seconds() - r->began};
    pv__progress(r->ctx, &now);
    if (pv__interrupted(r->ctx))
        r->stop = PV_STOP_INTERRUPTED;
    else if (steepness(r, u, du) <= r->options->tolerance)
        r->stop = PV_STOP_CONVERGED;
    else
        return r->status != PV_OK;
    return 1;
}

/* Slopes before biases, so that libLBFGS can be told one range for the |w| term. */
static pv_status order_for_owlqn(pv_ctx *ctx, run *r, size_t *slopes) {
    PV_TRY(pv__alloc(ctx, r->params, sizeof *r->place, &r->place));
    size_t at = 0;
    for (int biases = 0; biases < 2; biases++) {
        for (size_t i = 0; i < r->params; i++)
            if (r->problem->is_bias[i] == (biases == 1))
                r->place[at++] = i;
        if (!biases)
            *slopes = at;
    }
    return PV_OK;
}

static pv_status set_up(run *r, const double *w, lbfgs_parameter_t *parameters) {
    lbfgs_parameter_init(parameters);
    parameters->m = 12;
    parameters->epsilon = 0; /* progress() decides */
    parameters->max_iterations = (int)r->options->max_iter;
    parameters->linesearch = LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE;
    parameters->max_linesearch = 60;
    bool laplace = r->problem->plan->map && r->problem->plan->prior.kind == PV_PRIOR_LAPLACE;
    if (laplace) {
        size_t slopes;
        PV_TRY(order_for_owlqn(r->ctx, r, &slopes));
        parameters->linesearch = LBFGS_LINESEARCH_BACKTRACKING;
        parameters->orthantwise_c = 1 / r->problem->plan->prior.scale;
        parameters->orthantwise_start = 0;
        parameters->orthantwise_end = (int)slopes;
    } else if (!r->problem->model->architecture->has_curvature && pv_model_is_convex(r->problem->model)) {
        ; /* smooth: the gradient vanishes at the optimum, and decides */
    } else if (!r->problem->model->architecture->has_curvature) {
        /* ReLU has kinks, where the gradient need not vanish: stop when ten steps bring less than a ten-millionth. */
        parameters->past = 10;
        parameters->delta = 1e-7;
    } else {
        if (r->options->metric)
            r->metric = *r->options->metric;
        else
            PV_TRY(pv__precondition_new(r->ctx, r->problem, w, &r->metric));
    }
    return PV_OK;
}

static pv_stop stop_reason(const run *r, int code) {
    if (r->stop == PV_STOP_INTERRUPTED || r->stop == PV_STOP_CONVERGED)
        return r->stop;
    if (code == LBFGS_STOP) /* a network: the loss no longer falls */
        return PV_STOP_CONVERGED;
    if (code == LBFGSERR_MAXIMUMITERATION)
        return PV_STOP_MAX_ITER;
    return PV_STOP_NO_PROGRESS;
}

static pv_status minimise(run *r, double *w, double *value, pv_stop *stop, int64_t *iterations) {
    pv_ctx *ctx = r->ctx;
    lbfgs_parameter_t parameters;
    PV_TRY(set_up(r, w, &parameters));
    /* One evaluation before libLBFGS's own: is there anything to do, and what is the scale? */
    double start;
    PV_TRY(pv__objective_eval(r->objective, w, r->place != NULL, &start, r->dw));
    if (!isfinite(start))
        return pv__fail(
            ctx, PV_ERR_NUMERIC,
            "the loss is not finite at the starting point: columns may have extreme values;\nscale them down");
    r->start = start;
    r->fresh = true;
    r->sigma = 1;
    to_gradient(r, r->dw, r->du);
    double square = 0;
    for (size_t i = 0; i < r->params; i++)
        square += r->du[i] * r->du[i];
    if (r->metric.factor && square > 0)
        r->sigma = sqrt(square);
    to_gradient(r, r->dw, r->du);
    r->offset = r->options->fine ? start : 0;
    r->accepted = start - r->offset;
    *stop = PV_STOP_CONVERGED;
    *value = start;
    double *u = lbfgs_malloc((int)r->params);
    if (!u)
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory in the optimiser");
    for (size_t i = 0; i < r->params; i++)
        r->u[i] = u[i] = r->metric.factor ? 0 : w[r->place ? r->place[i] : i];
    if (steepness(r, r->u, r->du) > r->options->tolerance) {
        r->stop = PV_STOP_MAX_ITER;
        double reached = start;
        int code = lbfgs((int)r->params, u, &reached, evaluate, progress, r, &parameters);
        if (code == LBFGSERR_OUTOFMEMORY)
            r->status = pv__fail(ctx, PV_ERR_MEMORY, "out of memory in the optimiser");
        *value = reached + r->offset;
        *stop = stop_reason(r, code);
        to_parameters(r, u, w);
    }
    *iterations += r->iterations;
    lbfgs_free(u);
    return r->status;
}

pv_status pv__descend(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective,
                      const pv__descent_options *options, double *w, double *value, pv_stop *stop,
                      int64_t *iterations) {
    size_t params = pv_model_params(problem->model);
    run r = {.ctx = ctx,
             .problem = problem,
             .objective = objective,
             .options = options,
             .params = params,
             .before = *iterations,
             .began = pv__seconds()};
    double *block;
    PV_TRY(pv__alloc(ctx, 5 * params, sizeof *block, &block));
    r.origin = block;
    r.w = block + params;
    r.dw = block + 2 * params;
    r.u = block + 3 * params;
    r.du = block + 4 * params;
    memcpy(r.origin, w, params * sizeof *w);
    pv_status status = minimise(&r, w, value, stop, iterations);
    if (!options->metric)
        pv__precondition_free(ctx, &r.metric);
    pv__free(ctx, r.place);
    pv__free(ctx, block);
    return status;
}
