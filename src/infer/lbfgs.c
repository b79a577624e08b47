/* Full-batch minimisation by L-BFGS (quasi_newton.h), or OWL-QN with a Laplace prior.
 *
 * Coordinates: w = w_0 + sigma L^-T u, with L from precondition.c and sigma the Newton decrement at the start, so that
 * the first step, of length 1 in u, is a Newton step. Models without a preconditioner use w itself.
 *
 * Values: near the optimum, rounding errors of a sum over many rows exceed its decrease long before they affect the
 * gradient, and a line search on values fails there. In a `fine` run values are relative to the start, and small
 * changes are computed from gradients, f(u) - f(u_k) ~ (u - u_k).(g + g_k)/2, which is exact to third order in the
 * step.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"
#include "infer/quasi_newton.h"

typedef struct run {
    pv_ctx *ctx;
    const pv__problem *problem;
    pv__objective *objective;
    const pv__descent_options *options;
    pv__precondition metric;
    size_t params;
    double sigma;
    size_t *place;           /* OWL-QN: index in w of each variable (slopes first); else NULL */
    double *origin;          /* [params] w_0 */
    double *w, *dw;          /* [params], of the last evaluation */
    double *u, *du;          /* [params], at the last accepted point */
    double offset, accepted; /* subtracted from values; value at the last accepted point */
    double began;
    int64_t iterations, before;
    bool fresh; /* dw and start hold the evaluation at the start, which is requested first */
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

static double evaluate(void *state, const double *u, double *du) {
    run *r = state;
    to_parameters(r, u, r->w);
    double value = r->start;
    pv_status status = PV_OK;
    if (!r->fresh)
        status = pv__objective_eval(r->objective, r->w, r->place != NULL, &value, r->dw);
    r->fresh = false;
    if (status != PV_OK || isnan(value)) {
        if (status != PV_OK && status != PV_ERR_NUMERIC)
            r->status = status;
        memset(du, 0, r->params * sizeof *du);
        return HUGE_VAL;
    }
    to_gradient(r, r->dw, du);
    return r->options->fine ? fine_value(r, value, u, du) : value;
}

static double label_mass(const pv__problem *problem) {
    double total = 0;
    for (int y = 0; y < problem->targets.classes; y++)
        total += problem->mass[y];
    return total;
}

double pv__steepness(const pv__problem *problem, size_t params, const double *dw, const double *u, double unit) {
    double most = 0, farthest = 0, total = label_mass(problem);
    for (size_t i = 0; i < params; i++)
        most = fmax(most, fabs(dw[i]));
    for (size_t i = 0; u && i < params; i++)
        farthest = fmax(farthest, fabs(u[i]));
    return fmax(most / total, farthest / unit / (3 * sqrt(total)));
}

/* For OWL-QN, of the pseudo-gradient. */
static double steepness(const run *r, const double *u, const double *du) {
    double most = 0, rate = r->place ? 1 / r->problem->plan->prior.scale : 0;
    if (!r->place)
        return pv__steepness(r->problem, r->params, r->dw, r->metric.factor ? du : NULL, r->sigma);
    for (size_t i = 0; i < r->params; i++) {
        double g = du[i];
        if (!r->problem->is_bias[r->place[i]])
            g = u[i] > 0 ? g + rate : u[i] < 0 ? g - rate : fmax(fabs(g) - rate, 0);
        most = fmax(most, fabs(g));
    }
    return most / label_mass(r->problem);
}

static bool accepted(void *state, const double *u, const double *du, double value, int64_t k) {
    run *r = state;
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
    return true;
}

/* Orders slopes before biases, because the penalty applies to the first variables. */
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

static pv_status set_up(run *r, const double *w, pv__quasi_newton *way) {
    *way = (pv__quasi_newton){
        .n = r->params, .max_iter = r->options->max_iter, .state = r, .evaluate = evaluate, .accepted = accepted};
    bool laplace = r->problem->plan->map && r->problem->plan->prior.kind == PV_PRIOR_LAPLACE;
    if (laplace) {
        PV_TRY(order_for_owlqn(r->ctx, r, &way->penalised));
        way->rate = 1 / r->problem->plan->prior.scale;
    } else if (r->options->metric) {
        r->metric = *r->options->metric;
    } else if (!r->problem->model->architecture->has_curvature && pv_model_is_convex(r->problem->model)) {
        ; /* smooth: the gradient vanishes at the optimum and is the criterion */
    } else if (!r->problem->model->architecture->has_curvature) {
        /* ReLU has kinks where the gradient need not vanish: stop if ten steps gain less than one part in ten
         * million. */
        way->delta = 1e-7;
    } else {
        PV_TRY(pv__precondition_new(r->ctx, r->problem, w, &r->metric));
    }
    return PV_OK;
}

static pv_stop stop_reason(const run *r, pv__quasi_newton_stop stop) {
    if (r->stop == PV_STOP_INTERRUPTED || r->stop == PV_STOP_CONVERGED)
        return r->stop;
    if (stop == PV_QUASI_NEWTON_FLAT) /* a network: the loss no longer decreases */
        return PV_STOP_CONVERGED;
    if (stop == PV_QUASI_NEWTON_MAX_ITER)
        return PV_STOP_MAX_ITER;
    return PV_STOP_NO_PROGRESS;
}

static pv_status minimise(run *r, double *w, double *value, pv_stop *stop, int64_t *iterations) {
    pv_ctx *ctx = r->ctx;
    pv__quasi_newton way;
    PV_TRY(set_up(r, w, &way));
    /* One evaluation before the method's own: is there anything to do, and what is the scale? */
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
    double *u;
    PV_TRY(pv__alloc(ctx, r->params, sizeof *u, &u));
    for (size_t i = 0; i < r->params; i++)
        r->u[i] = u[i] = r->metric.factor ? 0 : w[r->place ? r->place[i] : i];
    if (steepness(r, r->u, r->du) > r->options->tolerance) {
        r->stop = PV_STOP_MAX_ITER;
        double reached = start;
        pv__quasi_newton_stop why = PV_QUASI_NEWTON_STUCK;
        pv_status status = pv__quasi_newton_run(ctx, &way, u, &reached, &why);
        if (r->status == PV_OK)
            r->status = status;
        *value = reached + r->offset;
        *stop = stop_reason(r, why);
        to_parameters(r, u, w);
    }
    *iterations += r->iterations;
    pv__free(ctx, u);
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
