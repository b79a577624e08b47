/* Minibatch training: the paper's algorithm 1, for every loss and marginal.
 *
 *   for each batch:  forward;  log q from the auxiliary network;  main and auxiliary losses;  backward;  step both
 *
 * The optimiser is Adam with a learning-rate schedule (schedule.c). After each epoch the validation rows, if any, are
 * scored (holdout.c). The state below is complete: restored from a checkpoint written between two steps, training
 * continues bit-identically.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

/* Loss per row above which nothing is being learned: the label has a probability below exp(-100). */
static const double ABSURD = 100;

typedef struct trainer {
    pv_ctx *ctx;
    const pv__problem *problem;
    pv__batches *batches;
    pv_auxiliary *auxiliary; /* NULL except for the auxiliary marginals */
    pv__follower *follower;  /* NULL: the auxiliary network learns from the batches alone */
    pv_auxiliary_options auxiliary_rates;
    pv_batch_loss loss;
    bool of_design;         /* the loss depends neither on a population nor on a marginal */
    pv__gradient *gradient; /* NULL: the device does this */
    pv__aboard *aboard;     /* parameters, moments and steps are on a device; NULL: on the processor */
    bool behind;            /* w and the moments have not been copied from the device since the last step */
    size_t params, classes, size;
    double *w; /* that of the solution */
    double *dw, *mean, *square, *good,
        *best;                  /* [params]; good: at the start of the last epoch; best: by validation score */
    double *loglik, *dloglik;   /* [size][classes] */
    double *log_q, *log_target; /* [classes] */
    pv__lag lag;                /* of the auxiliary network */
    int64_t steps, epoch;       /* total, and within the epoch */
    int64_t told;               /* steps whose loss is known: a device runs some steps ahead */
    int64_t kept;               /* the epoch that the final w belongs to; 0: the last */
    pv_trace *trace;            /* NULL: none */
    pv__holdout *holdout;       /* NULL: none */
    struct progress {           /* state that changes from step to step, except arrays */
        int64_t step, best_epoch;
        double value, smooth, rate; /* of the last step */
        double busy;                /* seconds spent on this epoch's steps */
        double first;               /* loss of the first step */
        double score, best_score;   /* of the validation rows, after the last and the best epoch */
    } at;
} trainer;

/* Copies w, and for a checkpoint the complete state, from a device. */
static pv_status fetch(trainer *t, bool all) {
    if (!t->aboard || !(t->behind || all))
        return PV_OK;
    t->behind = false;
    if (all)
        PV_TRY(pv__aboard_loss_get(t->ctx, t->aboard));
    return pv__aboard_get(t->ctx, t->aboard, t->w, all ? t->mean : NULL, all ? t->square : NULL, all ? t->good : NULL);
}

static double rate_factor(const trainer *t) {
    double steps = (double)t->epoch;
    return pv__schedule_at(&t->problem->plan->schedule, (double)t->at.step / steps, (double)(t->at.step + 1) / steps);
}

/* The prior's gradient and Adam's step for a chunk of parameters. */
static void step_chunk(trainer *t, size_t chunk) {
    size_t begin = chunk * PV_CHUNK, n = pv__chunk_rows(t->params, chunk);
    double *dw = t->dw + begin, *w = t->w + begin;
    for (size_t i = 0; t->problem->plan->map && i < n; i++)
        dw[i] += pv__prior_slope(t->problem, begin + i, w[i]);
    if (t->problem->plan->options.freeze_low) {
        size_t low = pv__model_low_params(t->problem->model);
        memset(dw, 0, (low < begin ? 0 : low - begin < n ? low - begin : n) * sizeof *dw);
    }
    pv__adam update = {n, dw, t->mean + begin, t->square + begin, w};
    pv__core_kernels_get()->adam(&update, t->at.rate, (double)t->at.step + 1);
}

/* log q(y) of the auxiliary network, with the current parameters. */
static pv_status auxiliary_forward(const trainer *t, double *log_q) {
    if (t->aboard)
        return pv__aboard_log_q(t->ctx, t->aboard, log_q);
    pv_auxiliary_forward(t->auxiliary, t->w, log_q);
    return PV_OK;
}

static pv_status batch_loss(trainer *t, const pv__batch *batch) {
    return pv_batch_loss_eval(t->ctx, &t->loss, &batch->targets, batch->stratum, t->loglik, t->log_q, &t->at.value,
                              t->dloglik, t->log_target);
}

/* The batch's loss and gradient. An interruption during a network's computation returns PV_ERR_INTERRUPTED at once. */
static pv_status evaluate(trainer *t, const pv__batch *batch) {
    PV_TRY(pv__gradient_forward(t->gradient, t->w, t->at.step, batch->x, t->loglik));
    if (t->auxiliary)
        PV_TRY(auxiliary_forward(t, t->log_q));
    PV_TRY(batch_loss(t, batch));
    PV_TRY(pv__gradient_backward(t->gradient, t->w, batch->x, t->loglik, t->dloglik, t->dw));
    return pv__gradient_completes(t->gradient) ? batch_loss(t, batch) : PV_OK; /* the value needs all rows */
}

/* The paper's method: Adam trains the bias on the batch's own estimate, whose noise is unknown, so the linear network's
 * matrix and offset move with the smallest gain. */
static void train_bias(trainer *t) {
    enum { SLOWLY = 50 }; /* steps */
    for (size_t y = 0; y < t->classes; y++) {
        t->lag.error[y] = fmin(fmax(exp(t->log_target[y] - t->log_q[y]) - 1, -0.5), 0.5);
        t->lag.gain[y] = 1.0 / SLOWLY;
    }
    t->lag.least = 1.0 / SLOWLY;
    pv_auxiliary_train(t->auxiliary, t->w, t->log_q, t->log_target, &t->auxiliary_rates, rate_factor(t));
}

static pv_status train_auxiliary(trainer *t, const pv__batch *batch) {
    if (t->follower)
        PV_TRY(pv__follower_step(t->ctx, t->follower, &t->loss.design, batch, t->loglik, t->log_q, t->log_target,
                                 pv_auxiliary_parameters(t->auxiliary).bias, &t->lag));
    else
        train_bias(t);
    pv_auxiliary_follow(t->auxiliary, t->w, t->lag.error, t->lag.gain, t->lag.least, t->auxiliary_rates.sparsity);
    return PV_OK;
}

static void tell(trainer *t, double value) {
    t->at.value = value;
    if (t->told++ == 0)
        t->at.first = t->at.smooth = value;
    t->at.smooth = 0.99 * t->at.smooth + 0.01 * value;
}

static double mass_of(const pv__problem *problem) {
    double rows = 0;
    for (int y = 0; y < problem->targets.classes; y++)
        rows += problem->mass[y];
    return rows;
}

/* Whether the loss is not finite, or far above its start: the steps are too long. */
static bool has_diverged(const trainer *t) {
    double worst = 10 * fabs(t->at.first) + ABSURD * mass_of(t->problem);
    return !isfinite(t->at.value) || t->at.smooth > worst;
}

/* Waits for results of a device's steps until at most `ahead` are outstanding, or one has diverged. */
static pv_status settle(trainer *t, int64_t ahead) {
    while (t->at.step - t->told > ahead && !has_diverged(t)) {
        double value;
        PV_TRY(pv__aboard_outcome(t->ctx, t->aboard, &value, t->log_q));
        tell(t, value);
    }
    return PV_OK;
}

/* Begins a step on the device. Its result is read later; at the end of an epoch all are read. */
static pv_status begin_step(trainer *t) {
    pv__batch batch = pv__batches_next(t->batches);
    double factor = rate_factor(t);
    t->at.rate = t->problem->plan->options.rate * factor;
    PV_TRY(pv__aboard_step(t->ctx, t->aboard, &batch, t->at.step, t->at.rate, t->auxiliary_rates.rate_bias * factor,
                           t->log_q));
    t->behind = true;
    t->at.step++;
    return settle(t, t->at.step % t->epoch == 0 ? 0 : pv__aboard_ahead() - 1);
}

/* *interrupted: no step was taken, and the state is unchanged. */
static pv_status train_step(trainer *t, bool *interrupted) {
    struct progress before = t->at;
    pv__batch batch = pv__batches_next(t->batches);
    pv_status status = evaluate(t, &batch);
    *interrupted = status == PV_ERR_INTERRUPTED;
    if (*interrupted) {
        t->at = before;
        pv__batches_put_back(t->batches);
        return PV_OK;
    }
    PV_TRY(status);
    if (t->auxiliary)
        PV_TRY(train_auxiliary(t, &batch));
    t->at.rate = t->problem->plan->options.rate * rate_factor(t);
    PV__EACH_CHUNK(t->ctx, pv__chunks(t->params), c, step_chunk(t, c););
    t->at.step++;
    tell(t, t->at.value);
    return PV_OK;
}

pv_auxiliary_options pv__auxiliary_rates(const pv__problem *problem) {
    pv_auxiliary_options rates = pv_auxiliary_options_default(problem->plan->options.rate);
    if (problem->plan->options.auxiliary_rate > 0)
        rates.rate_bias = problem->plan->options.rate * problem->plan->options.auxiliary_rate;
    rates.sparsity = problem->plan->options.auxiliary_sparsity;
    return rates;
}

/* ---- initialisation ---------------------------------------------------------------------------------------------- */

/* Implementations 1 and 2 of the marginal's gradient need the batch's log p-hat; 3, and other losses, work row by row.
 */
static pv_status gradient_new(trainer *t) {
    bool joint = pv__problem_form(t->problem) == PV_FORM_JOINT;
    size_t begin, end;
    PV_TRY(pv__gradient_new(t->ctx, t->problem, t->size, joint && t->loss.implementation != PV_IMPLEMENTATION_3,
                            &t->gradient));
    pv__gradient_rows(t->gradient, &begin, &end);
    pv__batches_take(t->batches, begin, end);
    return PV_OK;
}

static pv_status trainer_new(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution, trainer *t) {
    *t = (trainer){
        .ctx = ctx, .problem = problem, .w = solution->w, .trace = solution->trace, .holdout = solution->holdout};
    t->at.score = t->at.best_score = (double)NAN;
    t->params = pv_model_params(problem->model);
    t->classes = (size_t)problem->targets.classes;
    PV_TRY(pv__batches_new(ctx, problem, &t->batches));
    t->size = pv__batches_size(t->batches);
    t->epoch = (int64_t)((problem->rows.n + t->size - 1) / t->size);
    t->steps = problem->plan->options.epochs * t->epoch;
    t->loss = pv__batches_loss(t->batches);
    PV_TRY(pv__aboard_new(ctx, problem, t->size, &t->aboard));
    if (!t->aboard)
        PV_TRY(gradient_new(t));
    else if (pv__aboard_cuts(t->aboard))
        pv__batches_uncut(t->batches);
    PV_TRY(pv__alloc(ctx, t->params, 5 * sizeof(double), &t->dw));
    t->mean = t->dw + t->params;
    t->square = t->mean + t->params;
    t->good = t->square + t->params;
    t->best = t->good + t->params;
    PV_TRY(pv__alloc(ctx, t->size, 2 * t->classes * sizeof(double), &t->loglik));
    t->dloglik = t->loglik + t->size * t->classes;
    PV_TRY(pv__alloc(ctx, 4 * t->classes, sizeof(double), &t->log_q));
    t->log_target = t->log_q + t->classes;
    t->lag.error = t->log_target + t->classes;
    t->lag.gain = t->lag.error + t->classes;
    for (size_t y = 0; y < t->classes && problem->plan->has_prevalence; y++)
        t->log_q[y] = log(problem->population.prevalence[y]);
    t->of_design = pv_loss_of_design(t->loss.loss);
    if (pv__problem_form(problem) == PV_FORM_JOINT) {
        const double *start = problem->plan->options.start == PV_START_PREVALENCE ? t->log_q : NULL;
        t->auxiliary_rates = pv__auxiliary_rates(problem);
        t->auxiliary_rates.rate_offset = t->auxiliary_rates.rate_matrix = 0; /* they track w instead */
        PV_TRY(pv_auxiliary_new(ctx, t->loss.marginal, (int)t->classes, t->params, start, t->w, &t->auxiliary));
        if (problem->plan->options.auxiliary_rate == 0 && problem->plan->options.infer != PV_INFER_VI) {
            t->auxiliary_rates.rate_bias = 0;
            PV_TRY(pv__follower_new(ctx, problem, t->w, &t->follower));
        }
    }
    return PV_OK;
}

static void trainer_free(trainer *t) {
    pv__batches_free(t->ctx, t->batches);
    pv_auxiliary_free(t->ctx, t->auxiliary);
    pv__follower_free(t->ctx, t->follower);
    pv__gradient_free(t->ctx, t->gradient);
    pv__aboard_free(t->ctx, t->aboard);
    pv__free(t->ctx, t->dw);
    pv__free(t->ctx, t->loglik);
    pv__free(t->ctx, t->log_q);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

enum { FIELDS = 24 };

static size_t fields_of(trainer *t, pv_field *field) {
    size_t n = 0;
    field[n++] = (pv_field){&t->at, sizeof t->at};
    field[n++] = (pv_field){t->w, t->params * sizeof *t->w};
    field[n++] = (pv_field){t->mean, 4 * t->params * sizeof *t->mean}; /* and the arrays after it */
    field[n++] = (pv_field){t->log_q, 2 * t->classes * sizeof *t->log_q};
    n += pv__batches_fields(t->batches, field + n);
    if (t->auxiliary)
        n += pv__auxiliary_fields(t->auxiliary, field + n);
    if (t->follower)
        n += pv__follower_fields(t->follower, field + n);
    return n;
}

static pv_status keep(trainer *t) {
    pv_field field[FIELDS];
    PV_TRY(fetch(t, true));
    size_t n = fields_of(t, field);
    if (t->trace)
        PV_TRY(pv__trace_keep(t->ctx, t->trace));
    return pv_checkpoint_keep(t->ctx, "minibatch", field, n);
}

static pv_status recall(trainer *t) {
    pv_field field[FIELDS];
    size_t n = fields_of(t, field);
    bool found;
    PV_TRY(pv_checkpoint_recall(t->ctx, "minibatch", field, n, &found));
    if (!found)
        return PV_OK;
    if (t->at.step < 1 || t->at.step > t->steps)
        return pv__checkpoint_damaged(t->ctx, "its step is not one of the training's");
    t->told = t->at.step;
    PV_TRY(pv__checkpoint_finite(t->ctx, field + 1, 2)); /* the parameters and Adam's moments */
    PV_TRY(pv__batches_recalled(t->ctx, t->batches));
    return t->trace ? pv__trace_recall(t->ctx, t->trace, (size_t)(t->at.step / t->epoch)) : PV_OK;
}

/* ---- training loop ----------------------------------------------------------------------------------------------- */

static pv_status begin_epoch(trainer *t) {
    t->at.busy = 0;
    if (t->aboard)
        PV_TRY(pv__aboard_mark(t->ctx, t->aboard));
    else
        memcpy(t->good, t->w, t->params * sizeof *t->w);
    if (pv__batches_optimised(t->batches))
        PV_TRY(fetch(t, false));
    return pv__batches_optimise(t->ctx, t->batches, t->problem, t->w, t->log_q);
}

/* log p(y|w) as the loss would use it now; NaN if it does not use one. */
static pv_status marginal_in_use(const trainer *t, double *log_used) {
    if (t->auxiliary)
        PV_TRY(auxiliary_forward(t, log_used));
    for (size_t y = 0; y < t->classes && !t->auxiliary; y++)
        log_used[y] = t->of_design ? (double)NAN : t->log_q[y];
    return PV_OK;
}

/* A pass over all rows, whose mean is compared with the auxiliary network or the given marginal. */
static pv_status trace_epoch(trainer *t) {
    const pv__problem *problem = t->problem;
    double *loglik, *used, *exact;
    PV_TRY(pv__alloc(t->ctx, problem->rows.n + 2, t->classes * sizeof *loglik, &loglik));
    used = loglik + problem->rows.n * t->classes;
    exact = used + t->classes;
    pv_status status;
    PV_GOTO(done, marginal_in_use(t, used));
    PV_GOTO(done, t->aboard ? pv__aboard_loglik(t->ctx, t->aboard, problem, loglik)
                            : pv__objective_loglik(t->ctx, problem, t->w, loglik));
    PV_GOTO(done, pv_plugin_log_marginal(t->ctx, &problem->targets,
                                         problem->plan->has_prevalence ? problem->population.prevalence : NULL, loglik,
                                         exact));
    pv_trace_row row = {.epoch = t->at.step / t->epoch,
                        .step = t->at.step,
                        .loss = t->at.smooth,
                        .rate = t->at.rate,
                        .validation = t->at.score,
                        .speed = t->at.busy > 0 ? (double)t->epoch * (double)t->size / t->at.busy : (double)NAN};
    status = pv__trace_add(t->ctx, t->trace, &row, used, exact);
done:
    pv__free(t->ctx, loglik);
    return status;
}

static bool patience_ended(const trainer *t) {
    int64_t patience = t->problem->plan->options.patience;
    return t->holdout && patience > 0 && t->at.step >= t->epoch && t->at.step / t->epoch - t->at.best_epoch >= patience;
}

static pv_status validate_epoch(trainer *t) {
    int64_t epoch = t->at.step / t->epoch;
    PV_TRY(pv__holdout_score(t->ctx, t->holdout, t->aboard, t->w, &t->at.score));
    if (epoch == 1 || t->at.score < t->at.best_score) {
        t->at.best_score = t->at.score;
        t->at.best_epoch = epoch;
        PV_TRY(fetch(t, false));
        memcpy(t->best, t->w, t->params * sizeof *t->w);
    }
    return PV_OK;
}

static pv_status end_epoch(trainer *t, bool *enough) {
    if (t->holdout)
        PV_TRY(validate_epoch(t));
    *enough = patience_ended(t);
    return t->trace ? trace_epoch(t) : PV_OK;
}

static void show(const trainer *t, double seconds) {
    double marginal = t->of_design ? 0 : exp(t->log_q[t->classes - 1]);
    pv_progress progress = {.what = "fit",
                            .step = (size_t)t->at.step,
                            .steps = (size_t)t->steps,
                            .value = t->at.smooth,
                            .seconds = seconds,
                            .rows = t->size,
                            .validation = isnan(t->at.score) ? 0 : t->at.score,
                            .marginal = marginal};
    pv__progress(t->ctx, &progress);
}

static pv_status one_step(trainer *t, bool *interrupted) {
    if (t->at.step % t->epoch == 0)
        PV_TRY(begin_epoch(t));
    double before = pv__seconds();
    *interrupted = false;
    PV_TRY(t->aboard ? begin_step(t) : train_step(t, interrupted));
    if (*interrupted)
        return PV_OK;
    if (pv__rows_are_images(
            &t->problem->rows)) /* images: verified here, so that no saved state mixes two versions of a file */
        PV_TRY(pv_images_unchanged(t->ctx, t->problem->rows.made->images, true));
    t->at.busy += pv__seconds() - before;
    return PV_OK;
}

/* The step that diverged is the last one, even if later ones were begun; parameters return to the start of the
 * epoch. */
static pv_status diverge(trainer *t, pv_stop *stop) {
    *stop = PV_STOP_DIVERGED;
    t->at.step = t->told;
    if (t->aboard)
        return pv__aboard_get(t->ctx, t->aboard, NULL, NULL, NULL, t->w);
    memcpy(t->w, t->good, t->params * sizeof *t->w);
    return PV_OK;
}

static pv_status train(trainer *t, pv_stop *stop) {
    double began = pv__seconds(), shown = began;
    int64_t from = t->at.step;
    bool enough = patience_ended(t);
    *stop = PV_STOP_COMPLETED;
    while (t->at.step < t->steps && !enough) {
        bool halfway;
        PV_TRY(one_step(t, &halfway));
        if (halfway) {
            *stop = PV_STOP_INTERRUPTED;
            return t->at.step > 0 ? keep(t) : PV_OK;
        }
        if (has_diverged(t))
            return diverge(t, stop);
        if (t->at.step % t->epoch == 0)
            PV_TRY(end_epoch(t, &enough));
        if (pv__seconds() - shown > 0.1) { /* may detect an interruption */
            shown = pv__seconds();
            show(t, (shown - began) * (double)t->at.step / (double)(t->at.step - from));
        }
        bool due = pv_checkpoint_due(t->ctx);
        bool interrupted = pv__interrupted(t->ctx) && t->at.step < t->steps && !enough;
        if (due || interrupted) {
            PV_TRY(settle(t, 0));
            if (has_diverged(t))
                return diverge(t, stop);
            PV_TRY(keep(t));
        }
        if (interrupted) {
            *stop = PV_STOP_INTERRUPTED;
            return PV_OK;
        }
    }
    PV_TRY(fetch(t, false));
    if (t->ctx->checkpoint)
        PV_TRY(keep(t));
    *stop = enough ? PV_STOP_EARLY : PV_STOP_COMPLETED;
    if (t->holdout && t->problem->plan->options.patience > 0) {
        memcpy(t->w, t->best, t->params * sizeof *t->w);
        t->at.score = t->at.best_score;
        t->kept = t->at.best_epoch;
    }
    return PV_OK;
}

/* The loss of all rows with the marginal summed over all of them; without the prior's part. */
static pv_status full_loss(pv_ctx *ctx, const pv__problem *problem, const double *loglik, double *value) {
    const pv_targets *targets = &problem->targets;
    size_t k = (size_t)targets->classes;
    double *dloglik, *log_ratio;
    pv_full_loss *full = NULL;
    PV_TRY(pv__alloc(ctx, problem->rows.n + pv__ratio_sets(problem), k * sizeof *dloglik, &dloglik));
    log_ratio = dloglik + problem->rows.n * k;
    pv_status status = PV_OK;
    switch (pv__problem_form(problem)) {
    case PV_FORM_SELECTION:
        pv__log_ratio(problem, log_ratio);
        PV_GOTO(done, pv_selection_loss(ctx, targets, log_ratio, loglik, value, dloglik, NULL));
        break;
    case PV_FORM_JOINT:
        PV_GOTO(done, pv_full_loss_new(ctx, pv__problem_loss(problem), PV_MARGINAL_PLUGIN, targets,
                                       &problem->population, &full));
        PV_GOTO(done, pv_full_loss_eval(ctx, full, loglik, value, NULL));
        break;
    case PV_FORM_ROWS:
        *value = pv__data_term(targets, problem->factor, loglik, dloglik, false);
        break;
    }
done:
    pv_full_loss_free(ctx, full);
    pv__free(ctx, dloglik);
    return status;
}

/* The full-data loss and marginal at the end, because those of batches are only estimates. If the loss exceeds that of
 * the first step by more than its noise, nothing was learned: the rate was too high. */
static pv_status finish(pv_ctx *ctx, const pv__problem *problem, double first, pv__solution *solution) {
    size_t k = (size_t)problem->targets.classes;
    pv__form form = pv__problem_form(problem);
    if (form != PV_FORM_ROWS && isinf(problem->population.prevalence_n))
        PV_TRY(pv__match_prevalence(ctx, problem, form == PV_FORM_SELECTION, solution->w));
    double *loglik;
    PV_TRY(pv__alloc(ctx, problem->rows.n, k * sizeof *loglik, &loglik));
    pv_status status;
    PV_GOTO(done, pv__objective_loglik(ctx, problem, solution->w, loglik));
    PV_GOTO(done, pv__log_marginal(ctx, problem, NULL, solution->w, loglik, solution->log_marginal));
    PV_GOTO(done, full_loss(ctx, problem, loglik, &solution->value));
    if (solution->holdout)
        PV_GOTO(done, pv__holdout_score(ctx, solution->holdout, NULL, solution->w, &solution->score));
    if (solution->stop == PV_STOP_COMPLETED && !(solution->value <= first + 0.25 * mass_of(problem)))
        solution->stop = PV_STOP_DIVERGED;
    for (size_t i = 0; i < pv_model_params(problem->model); i++) {
        double slope;
        solution->value += pv__prior_at(problem, i, solution->w[i], &slope);
    }
done:
    pv__free(ctx, loglik);
    return status;
}

pv_status pv__fit_minibatch(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution) {
    trainer t;
    pv_status status = trainer_new(ctx, problem, solution, &t);
    if (status == PV_OK)
        status = recall(&t);
    if (status == PV_OK && t.aboard)
        status = pv__aboard_put(ctx, t.aboard, t.w, t.mean, t.square, t.good);
    if (status == PV_OK && t.aboard)
        status = pv__aboard_loss_put(ctx, t.aboard, &t.loss, t.auxiliary, t.follower, t.auxiliary_rates.sparsity);
    if (status == PV_OK)
        status = train(&t, &solution->stop);
    solution->iterations = t.at.step;
    solution->best_epoch = t.kept;
    double first = t.at.first;
    trainer_free(&t);
    return status == PV_OK ? finish(ctx, problem, first, solution) : status;
}
