/* Minibatch training: the paper's algorithm 1, for every loss and marginal.
 *
 *   for each batch:  forward;  log q from the auxiliary network;  main and auxiliary losses;  backward;  step both
 *
 * Adam with a cosine schedule from the given rate to zero, so that the last steps average the batches' noise away.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

typedef struct trainer {
    pv_ctx *ctx;
    const pv__problem *problem;
    pv__batches *batches;
    pv_auxiliary *auxiliary; /* NULL but for the auxiliary marginals */
    pv_auxiliary_options auxiliary_rates;
    pv_batch_loss loss;
    pv_model_work *work;
    size_t params, classes, size;
    double *w;                         /* the solution's */
    double *dw, *mean, *square, *good; /* [params]; good: the last epoch's finite parameters */
    double *loglik, *dloglik;          /* [size][classes] */
    double *log_q, *log_target;        /* [classes] */
    int64_t step, steps;
    double value;
} trainer;

static double rate_factor(const trainer *t) {
    return 0.5 * (1 + cos(3.14159265358979323846 * (double)t->step / (double)t->steps));
}

static void add_prior(trainer *t) {
    for (size_t i = 0; t->problem->map && i < t->params; i++)
        t->dw[i] += pv__prior_slope(t->problem, i, t->w[i]);
}

static void adam_step(trainer *t) {
    pv__adam update = {t->params, t->dw, t->mean, t->square, t->w};
    pv__core_kernels_get()->adam(&update, t->problem->options->rate * rate_factor(t), (double)t->step + 1);
}

static pv_status train_step(trainer *t) {
    const pv_model *model = t->problem->model;
    pv__batch batch = pv__batches_next(t->batches);
    pv__model_work_train(t->work, (uint64_t)t->problem->options->seed, (uint64_t)t->step,
                         t->problem->options->freeze_low);
    pv_model_forward(model, t->work, t->w, t->size, batch.x, t->loglik);
    PV_TRY(pv__model_work_check(t->ctx, t->work));
    if (t->auxiliary)
        pv_auxiliary_forward(t->auxiliary, t->w, t->log_q);
    PV_TRY(pv_batch_loss_eval(t->ctx, &t->loss, &batch.targets, batch.stratum, t->loglik, t->log_q, &t->value,
                              t->dloglik, t->log_target));
    memset(t->dw, 0, t->params * sizeof *t->dw);
    pv_model_backward(model, t->work, t->w, t->size, batch.x, t->loglik, t->dloglik, t->dw);
    PV_TRY(pv__model_work_check(t->ctx, t->work));
    add_prior(t);
    if (t->problem->options->freeze_low)
        memset(t->dw, 0, pv__model_low_params(model) * sizeof *t->dw);
    if (t->auxiliary) {
        pv_auxiliary_backward(t->auxiliary, t->w, t->log_q, t->log_target, 1);
        pv_auxiliary_step(t->auxiliary, &t->auxiliary_rates, rate_factor(t));
    }
    adam_step(t);
    t->step++;
    return PV_OK;
}

pv_auxiliary_options pv__auxiliary_rates(const pv__problem *problem) {
    pv_auxiliary_options rates = pv_auxiliary_options_default(problem->options->rate);
    rates.rate_bias = problem->options->rate * problem->options->auxiliary_rate;
    rates.sparsity = problem->options->auxiliary_sparsity;
    return rates;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static pv_status trainer_new(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution, trainer *t) {
    *t = (trainer){.ctx = ctx, .problem = problem, .w = solution->w};
    t->params = pv_model_params(problem->model);
    t->classes = (size_t)problem->targets.classes;
    PV_TRY(pv__batches_new(ctx, problem, &t->batches));
    t->size = pv__batches_size(t->batches);
    t->steps = problem->options->epochs * (int64_t)((problem->n + t->size - 1) / t->size);
    PV_TRY(pv_model_work_new(ctx, problem->model, t->size, &t->work));
    PV_TRY(pv__alloc(ctx, t->params, 4 * sizeof(double), &t->dw));
    t->mean = t->dw + t->params;
    t->square = t->mean + t->params;
    t->good = t->square + t->params;
    PV_TRY(pv__alloc(ctx, t->size, 2 * t->classes * sizeof(double), &t->loglik));
    t->dloglik = t->loglik + t->size * t->classes;
    PV_TRY(pv__alloc(ctx, 2 * t->classes, sizeof(double), &t->log_q));
    t->log_target = t->log_q + t->classes;
    t->loss = pv__batches_loss(t->batches);
    for (size_t y = 0; y < t->classes && problem->has_prevalence; y++)
        t->log_q[y] = log(problem->population.prevalence[y]);
    if (t->loss.loss == PV_LOSS_IG && t->loss.marginal != PV_MARGINAL_PROFILE) {
        const double *start = problem->options->start == PV_START_PREVALENCE ? t->log_q : NULL;
        t->auxiliary_rates = pv__auxiliary_rates(problem);
        PV_TRY(pv_auxiliary_new(ctx, t->loss.marginal, (int)t->classes, t->params, start, t->w, &t->auxiliary));
    }
    return PV_OK;
}

static void trainer_free(trainer *t) {
    pv__batches_free(t->ctx, t->batches);
    pv_auxiliary_free(t->ctx, t->auxiliary);
    pv_model_work_free(t->ctx, t->work);
    pv__free(t->ctx, t->dw);
    pv__free(t->ctx, t->loglik);
    pv__free(t->ctx, t->log_q);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static pv_status train(trainer *t, pv_stop *stop) {
    int64_t epoch = t->steps / (t->problem->options->epochs > 0 ? t->problem->options->epochs : 1);
    double began = pv__seconds(), shown = began, smooth = 0;
    *stop = PV_STOP_COMPLETED;
    while (t->step < t->steps) {
        if (t->step % epoch == 0) {
            memcpy(t->good, t->w, t->params * sizeof *t->w);
            PV_TRY(pv__batches_optimise(t->ctx, t->batches, t->problem, t->w, t->log_q));
        }
        PV_TRY(train_step(t));
        smooth = t->step == 1 ? t->value : 0.99 * smooth + 0.01 * t->value;
        if (!isfinite(t->value)) {
            memcpy(t->w, t->good, t->params * sizeof *t->w);
            *stop = PV_STOP_DIVERGED;
            return PV_OK;
        }
        if (pv__seconds() - shown > 0.1) {
            shown = pv__seconds();
            pv_progress now = {"fit", (size_t)t->step, (size_t)t->steps, smooth, shown - began};
            pv__progress(t->ctx, &now);
        }
        if (pv__interrupted(t->ctx)) {
            *stop = PV_STOP_INTERRUPTED;
            return PV_OK;
        }
    }
    return PV_OK;
}

/* The loss of all rows with the marginal summed over all of them, and the prior's. */
static pv_status full_loss(pv_ctx *ctx, const pv__problem *problem, const double *loglik, const double *w,
                           double *value) {
    const pv_fit_options *options = problem->options;
    const pv_targets *targets = &problem->targets;
    size_t k = (size_t)targets->classes;
    double *dloglik, *factor;
    pv_full_loss *full = NULL;
    PV_TRY(pv__alloc(ctx, problem->n + 1, k * sizeof *dloglik, &dloglik));
    factor = dloglik + problem->n * k;
    pv_status status = PV_OK;
    if (options->loss == PV_LOSS_IG && options->marginal == PV_MARGINAL_PROFILE) {
        pv__log_ratio(problem, factor);
        PV_GOTO(done, pv_selection_loss(ctx, targets, factor, loglik, value, dloglik, NULL));
    } else if (options->loss == PV_LOSS_IG) {
        PV_GOTO(done, pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PLUGIN, targets, &problem->population, &full));
        PV_GOTO(done, pv_full_loss_eval(ctx, full, loglik, value, NULL));
    } else {
        for (size_t y = 0; y < k; y++)
            factor[y] = options->loss == PV_LOSS_IW ? problem->population.prevalence[y] / problem->design[y] : 1;
        *value = pv__data_term(targets, factor, loglik, dloglik, false);
    }
    for (size_t i = 0; i < pv_model_params(problem->model); i++) {
        double slope;
        *value += pv__prior_at(problem, i, w[i], &slope);
    }
done:
    pv_full_loss_free(ctx, full);
    pv__free(ctx, dloglik);
    return status;
}

/* The full-data loss and marginal at the end, where the batches' are only estimates. */
static pv_status finish(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution) {
    const pv_fit_options *options = problem->options;
    size_t k = (size_t)problem->targets.classes;
    bool ig = options->loss == PV_LOSS_IG, selection = ig && options->marginal == PV_MARGINAL_PROFILE;
    if (ig && isinf(problem->population.prevalence_n))
        PV_TRY(pv__match_prevalence(ctx, problem, selection, solution->w));
    double *loglik;
    PV_TRY(pv__alloc(ctx, problem->n, k * sizeof *loglik, &loglik));
    pv_status status;
    PV_GOTO(done, pv__objective_loglik(ctx, problem, solution->w, loglik));
    if (options->loss == PV_LOSS_PLAIN || selection) {
        const double *share = selection ? problem->population.prevalence : problem->design;
        for (size_t y = 0; y < k; y++)
            solution->log_marginal[y] = log(share[y]);
    } else {
        PV_GOTO(done, pv_plugin_log_marginal(ctx, &problem->targets, problem->population.prevalence, loglik,
                                             solution->log_marginal));
    }
    status = full_loss(ctx, problem, loglik, solution->w, &solution->value);
done:
    pv__free(ctx, loglik);
    return status;
}

pv_status pv__fit_minibatch(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution) {
    trainer t;
    pv_status status = trainer_new(ctx, problem, solution, &t);
    if (status == PV_OK)
        status = train(&t, &solution->stop);
    solution->iterations = t.step;
    trainer_free(&t);
    return status == PV_OK ? finish(ctx, problem, solution) : status;
}
