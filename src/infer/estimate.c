/* Minibatch estimates of a fit's log posterior, for variational inference (Appendix D of the paper).
 *
 * One batch serves all points w_k of a step. At each, log p(y|w_k) in the loss is replaced by the auxiliary network's
 * log q_psi(w_k), and once per step psi descends the mean over the points of
 *
 *   - sum_y p-hat_B(y;w_k) log q_psi(w_k)(y)                                          (Eq. ELL -- VI)
 *
 * which is an unbiased estimate of that loss under q(w).
 *
 * Linear models use the difference to the same batch at the centre c, the maximum, plus the full data's value there,
 *
 *   L_B(w) - L_B(c) + L(c),   log q(c) = log p(y|c) exactly,
 *
 * and likewise for gradients. The expectation is the same, and the noise shrinks with the distance to c: in units of
 * the posterior's width it is of order sqrt(params / batch) instead of sqrt(rows / batch). The parameters of networks
 * are too far apart for the two terms to be correlated, so they use the batch's own estimate.
 */
#include "infer/estimate.h"

#include <math.h>
#include <string.h>

struct pv__estimator {
    const pv__problem *problem;
    pv__problem full; /* the same problem with the marginal summed over all rows */
    pv__plan full_plan;
    pv_density exact; /* density of `full` */
    pv__batches *batches;
    pv_batch_loss loss;
    pv_auxiliary *auxiliary; /* NULL except for the auxiliary marginals */
    pv_auxiliary_options rates;
    pv_model_work *work;
    size_t params, classes;
    bool control;
    double *centre, *exact_gradient, *shift; /* [params] */
    double exact_value;                      /* full data's value at the centre; exact_gradient is its gradient */
    double *log_q, *log_target, *centre_log_q, *target_shift, *block; /* [classes] */
    double *loglik, *dloglik;                                         /* [batch][classes] */
    double *found; /* [room][2 classes], for the points of a step: log q and log p-hat */
    size_t room;
    int64_t step;
};

/* The batch's estimate of the negative log posterior at w, with its gradient; log_target: the batch's log
 * p-hat(y;w). */
static pv_status eval_batch(pv_ctx *ctx, pv__estimator *e, const pv__batch *batch, const double *w, const double *log_q,
                            double *log_target, double *value, double *gradient) {
    const pv_model *model = e->problem->model;
    size_t n = batch->targets.n;
    pv_model_forward(model, e->work, w, n, batch->x, e->loglik);
    PV_TRY(pv_batch_loss_eval(ctx, &e->loss, &batch->targets, batch->stratum, e->loglik, log_q, value, e->dloglik,
                              log_target));
    memset(gradient, 0, e->params * sizeof *gradient);
    pv_model_backward(model, e->work, w, n, batch->x, e->loglik, e->dloglik, gradient);
    for (size_t i = 0; i < e->params; i++) {
        double slope;
        *value += pv__prior_at(e->problem, i, w[i], &slope);
        gradient[i] += slope;
    }
    return PV_OK;
}

static double rate_factor(const pv__estimator *e) {
    double progress = (double)e->step / (double)e->problem->plan->options.steps;
    return 0.05 + 0.95 * 0.5 * (1 + cos(3.14159265358979323846 * fmin(progress, 1)));
}

static void train_auxiliary(pv__estimator *e, const double *w, double share) {
    for (size_t y = 0; e->control && y < e->classes; y++) {
        double p = exp(e->log_target[y]);
        e->log_target[y] = log(fmax(p + e->target_shift[y], 0.01 * p));
    }
    pv_auxiliary_backward(e->auxiliary, w, e->log_q, e->log_target, share);
}

/* The results at a point, which another rank may have evaluated. */
typedef struct points {
    pv__estimator *e;
    double *values, *gradients;
} points;

static size_t point_fields(void *state, size_t i, pv_field *field) {
    const points *p = state;
    size_t params = p->e->params, k = p->e->classes;
    field[0] = (pv_field){p->values + i, sizeof *p->values};
    field[1] = (pv_field){p->gradients + i * params, params * sizeof *p->gradients};
    field[2] = (pv_field){p->e->found + 2 * i * k, 2 * k * sizeof *p->e->found};
    return 3;
}

/* found: log q(y) and then log p-hat(y), [classes] each. */
static pv_status eval_point(pv_ctx *ctx, pv__estimator *e, const pv__batch *batch, const double *w, double shift,
                            double *found, double *value, double *gradient) {
    if (e->auxiliary)
        pv_auxiliary_forward(e->auxiliary, w, found);
    else
        memcpy(found, e->log_q, e->classes * sizeof *found);
    PV_TRY(eval_batch(ctx, e, batch, w, found, found + e->classes, value, gradient));
    *value += shift;
    for (size_t i = 0; i < e->params; i++)
        gradient[i] += e->shift[i];
    return PV_OK;
}

/* Ranks evaluate points in turn; the auxiliary network learns from all of them in order. */
static pv_status estimate(pv_ctx *ctx, void *source, size_t count, const double *w, double *values, double *gradients) {
    pv__estimator *e = source;
    pv__batch batch = pv__batches_next(e->batches);
    double shift = 0;
    if (e->control) {
        PV_TRY(eval_batch(ctx, e, &batch, e->centre, e->centre_log_q, e->log_target, &shift, e->shift));
        shift = e->exact_value - shift;
        for (size_t i = 0; i < e->params; i++)
            e->shift[i] = e->exact_gradient[i] - e->shift[i];
        for (size_t y = 0; e->auxiliary && y < e->classes; y++)
            e->target_shift[y] = exp(e->centre_log_q[y]) - exp(e->log_target[y]);
    }
    if (count > e->room) {
        PV_TRY(pv__resize(ctx, count, 2 * e->classes * sizeof *e->found, &e->found));
        memset(e->found, 0, count * 2 * e->classes * sizeof *e->found);
        e->room = count;
    }
    for (size_t k = 0; k < count; k++)
        if (pv__makes(ctx, k))
            PV_TRY(eval_point(ctx, e, &batch, w + k * e->params, shift, e->found + 2 * k * e->classes, values + k,
                              gradients + k * e->params));
    PV_TRY(pv__share_items(ctx, count, point_fields, &(points){e, values, gradients}));
    for (size_t k = 0; k < count; k++) {
        memcpy(e->log_q, e->found + 2 * k * e->classes, e->classes * sizeof *e->log_q);
        memcpy(e->log_target, e->found + (2 * k + 1) * e->classes, e->classes * sizeof *e->log_target);
        if (e->auxiliary)
            train_auxiliary(e, w + k * e->params, 1 / (double)count);
    }
    if (e->auxiliary)
        pv_auxiliary_step(e->auxiliary, &e->rates, rate_factor(e));
    e->step++;
    return PV_OK;
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

static pv_status set_centre(pv_ctx *ctx, pv__estimator *e, const double *w) {
    memcpy(e->centre, w, e->params * sizeof *w);
    PV_TRY(e->exact.eval(ctx, e->exact.state, w, &e->exact_value, e->exact_gradient));
    PV_TRY(pv__density_marginal(ctx, &e->exact, w, e->centre_log_q));
    memcpy(e->log_q, e->centre_log_q, e->classes * sizeof *e->log_q);
    return pv__batches_optimise(ctx, e->batches, e->problem, w, e->centre_log_q);
}

/* The matrix at the centre: the gradient of log p(y|w), summed over all rows in pieces of a batch's size. */
static pv_status set_matrix(pv_ctx *ctx, pv__estimator *e) {
    const pv__problem *problem = e->problem;
    const pv_model *model = problem->model;
    size_t n = problem->rows.n, k = e->classes, d = (size_t)pv_model_inputs(model), piece = problem->batch;
    double *rho, *matrix = pv_auxiliary_parameters(e->auxiliary).matrix;
    PV_TRY(pv__alloc(ctx, n, sizeof *rho, &rho));
    pv__plugin_weights(&problem->targets, problem->population.prevalence, problem->mass, rho);
    for (size_t y = 0; y < k; y++) {
        memset(e->shift, 0, e->params * sizeof *e->shift);
        for (size_t first = 0; first < n; first += piece) {
            size_t rows = n - first < piece ? n - first : piece;
            pv_model_forward(model, e->work, e->centre, rows, problem->rows.matrix + first * d, e->loglik);
            memset(e->dloglik, 0, rows * k * sizeof *e->dloglik);
            for (size_t i = 0; i < rows; i++)
                e->dloglik[i * k + y] = rho[first + i] * exp(e->loglik[i * k + y] - e->centre_log_q[y]);
            pv_model_backward(model, e->work, e->centre, rows, problem->rows.matrix + first * d, e->loglik, e->dloglik,
                              e->shift);
        }
        for (size_t i = 0; i < e->params; i++)
            matrix[i * k + y] = e->shift[i];
    }
    memset(e->shift, 0, e->params * sizeof *e->shift);
    pv__free(ctx, rho);
    return PV_OK;
}

/* Starts the network at a first-order expansion around the centre. --start zero leaves its matrix at zero, as in the
 * paper. The matrix's prior is meant for many more parameters than classes, so linear models do without it. */
static pv_status set_auxiliary(pv_ctx *ctx, pv__estimator *e) {
    if (pv__problem_form(e->problem) != PV_FORM_JOINT)
        return PV_OK;
    e->rates = pv__auxiliary_rates(e->problem);
    if (e->control)
        e->rates.sparsity = 0;
    PV_TRY(
        pv_auxiliary_new(ctx, e->loss.marginal, (int)e->classes, e->params, e->centre_log_q, e->centre, &e->auxiliary));
    bool taylor = e->loss.marginal == PV_MARGINAL_AUXILIARY_LINEAR && e->problem->plan->options.start != PV_START_ZERO;
    return taylor ? set_matrix(ctx, e) : PV_OK;
}

static pv_status fill(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__estimator *e) {
    e->problem = problem;
    e->full = *problem;
    e->full_plan = *problem->plan;
    if (pv_loss_has_marginal(pv__problem_loss(problem)))
        e->full_plan.options.marginal = PV_MARGINAL_PLUGIN;
    e->full.plan = &e->full_plan;
    e->full.batch = 0;
    e->params = pv_model_params(problem->model);
    e->classes = (size_t)problem->targets.classes;
    e->control = pv_model_is_convex(problem->model);
    PV_TRY(pv__density_new(ctx, &e->full, &e->exact));
    PV_TRY(pv__batches_new(ctx, problem, &e->batches));
    e->loss = pv__batches_loss(e->batches);
    PV_TRY(pv_model_work_new(ctx, problem->model, problem->batch, &e->work));
    PV_TRY(pv__alloc(ctx, 3 * e->params + 4 * e->classes, sizeof(double), &e->block));
    e->centre = e->block;
    e->exact_gradient = e->centre + e->params;
    e->shift = e->exact_gradient + e->params;
    e->log_q = e->shift + e->params;
    e->log_target = e->log_q + e->classes;
    e->centre_log_q = e->log_target + e->classes;
    e->target_shift = e->centre_log_q + e->classes;
    PV_TRY(pv__alloc(ctx, problem->batch, 2 * e->classes * sizeof(double), &e->loglik));
    e->dloglik = e->loglik + problem->batch * e->classes;
    PV_TRY(set_centre(ctx, e, w));
    return set_auxiliary(ctx, e);
}

/* The engine stores the state of the exact density. */
static size_t source_memory(void *source, pv_field *field) {
    pv__estimator *e = source;
    field[0] = (pv_field){&e->step, sizeof e->step};
    field[1] = (pv_field){e->log_q, e->classes * sizeof *e->log_q};
    size_t n = 2 + pv__batches_fields(e->batches, field + 2);
    return n + (e->auxiliary ? pv__auxiliary_fields(e->auxiliary, field + n) : 0);
}

static pv_status source_recalled(pv_ctx *ctx, void *source) {
    const pv__estimator *e = source;
    return pv__batches_recalled(ctx, e->batches);
}

pv_status pv__estimator_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__estimator **estimator,
                            pv_density *density) {
    *estimator = NULL;
    pv__estimator *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    pv_status status = fill(ctx, problem, w, made);
    if (status != PV_OK) {
        pv__estimator_free(ctx, made);
        return status;
    }
    *density = made->exact;
    density->estimate = estimate;
    density->source = made;
    density->source_memory = source_memory;
    density->source_recalled = source_recalled;
    *estimator = made;
    return PV_OK;
}

void pv__estimator_free(pv_ctx *ctx, pv__estimator *e) {
    if (!e)
        return;
    pv__density_free(ctx, &e->exact);
    pv__batches_free(ctx, e->batches);
    pv_auxiliary_free(ctx, e->auxiliary);
    pv_model_work_free(ctx, e->work);
    pv__free(ctx, e->block);
    pv__free(ctx, e->loglik);
    pv__free(ctx, e->found);
    pv__free(ctx, e);
}
