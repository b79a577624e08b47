/* The full-batch objective: negative log posterior of the parameters, and its gradient.
 *
 * A loss that is a sum over rows needs one pass over the matrix: each chunk of rows goes through forward pass, loss and
 * backward pass while it is in cache. The information gain couples the rows through its marginal, so the matrix is read
 * twice: forward, then backward (infer/executor.h).
 */
#include <math.h>
#include <string.h>

#include "base/openmp.h"
#include "base/reduce.h"
#include "core/label_error.h"
#include "core/vector.h"
#include "infer/executor.h"
#include "infer/infer.h"
#include "infer/pass.h"

struct pv__objective {
    pv_ctx *ctx;
    const pv__problem *problem;
    pv__form form;
    pv_full_loss *full;     /* JOINT */
    double *log_ratio;      /* [pv__ratio_sets][classes], SELECTION */
    pv__executor *executor; /* over the rows */
    double *sums;           /* [params + 1], gradient and value */
    double seconds;
    double *last;   /* [params], of the last evaluation */
    bool forwarded; /* log-likelihoods are already those at `last` */
};

void pv__log_ratio(const pv__problem *problem, double *log_ratio) {
    bool corrected = pv_loss_has_marginal(pv__problem_loss(problem));
    if (pv__strata_of(problem)) {
        size_t count = pv__ratio_sets(problem) * (size_t)problem->targets.classes;
        for (size_t i = 0; i < count; i++)
            log_ratio[i] = corrected ? problem->design->log_ratio[i] : 0;
        return;
    }
    const pv_label_error *error = pv__problem_label_error(problem);
    if (error) { /* of recorded labels */
        log_ratio[0] = corrected ? log(problem->label_share[0]) - log1p(-error->share) : 0;
        log_ratio[1] = corrected ? log(problem->label_share[1]) - log(error->share) : 0;
        return;
    }
    for (int y = 0; y < problem->targets.classes; y++) {
        log_ratio[y] = corrected ? log(problem->label_share[y]) - log(problem->population.prevalence[y]) : 0;
    }
}

/* The loss of some rows, for forms that are sums over rows. */
static double rows_term(void *state, size_t begin, size_t n, const double *loglik, double *dloglik, double *room) {
    const pv__objective *o = state;
    pv_targets slice = pv__targets_slice(&o->problem->targets, begin, n);
    const pv_label_error *error = pv__problem_label_error(o->problem);
    if (error)
        return pv__label_error_rows(&slice, error, o->log_ratio[1] - o->log_ratio[0], loglik, dloglik);
    if (o->form == PV_FORM_SELECTION)
        return pv__selection_rows(&slice, NULL, o->log_ratio, loglik, dloglik, NULL, room);
    return pv__data_term(&slice, o->problem->factor, loglik, dloglik, false);
}

/* The same for recorded labels: their expected information about the true label's log odds, as weights of q = 1/2. */
static void recorded_odds(const pv__objective *o, size_t begin, size_t n, const double *loglik, double *v, double *q) {
    const pv_label_error *error = pv__problem_label_error(o->problem);
    for (size_t i = 0; i < n; i++) {
        pv__recorded row = pv__recorded_of(error, o->log_ratio[1] - o->log_ratio[0], loglik + 2 * i);
        q[2 * i] = q[2 * i + 1] = 0.5;
        v[i] =
            4 * pv__weight(&o->problem->targets, begin + i) * row.slope * row.slope * exp(row.log_p[0] + row.log_p[1]);
    }
}

/* The quantities that determine the information: total weights, and probabilities in the sample. */
static void rows_odds(void *state, size_t begin, size_t n, const double *loglik, double *v, double *q) {
    const pv__objective *o = state;
    if (pv__problem_label_error(o->problem)) {
        recorded_odds(o, begin, n, loglik, v, q);
        return;
    }
    const pv_targets *t = &o->problem->targets;
    bool selection = o->form == PV_FORM_SELECTION;
    size_t k = (size_t)t->classes;
    for (size_t i = 0; i < n; i++) {
        const double *ratio = pv__ratio_of(t, o->log_ratio, begin + i);
        double most = -HUGE_VAL, share = 0;
        for (size_t y = 0; y < k; y++) {
            q[i * k + y] = loglik[i * k + y] + (selection ? ratio[y] : 0);
            most = fmax(most, q[i * k + y]);
            share += pv__share(t, begin + i, (int)y) * (selection ? 1 : o->problem->factor[y]);
        }
        for (size_t y = 0; y < k; y++)
            q[i * k + y] -= most;
        v[i] = pv__weight(t, begin + i) * share;
    }
    pv__core_kernels_get()->exp_all(n * k, q);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t y = 0; y < k; y++)
            sum += q[i * k + y];
        for (size_t y = 0; y < k; y++)
            q[i * k + y] /= sum;
    }
}

static pv_status make_executor(pv__objective *o) {
    const pv__problem *problem = o->problem;
    const pv_targets *t = &problem->targets;
    bool joint = o->form == PV_FORM_JOINT;
    const pv__logistic of = {t->label, t->weight, problem->factor, o->log_ratio[1] - o->log_ratio[0]};
    bool logistic = !joint && !pv__problem_label_error(problem) && t->classes == 2 && t->label && !t->stratum &&
                    problem->model->architecture->logistic_loss;
    const pv__executor_spec spec = {.rows = &problem->rows,
                                    .model = problem->model,
                                    .shared = problem->shared && (!joint || pv__full_loss_parts(o->full)),
                                    .of = logistic ? &of : NULL,
                                    .term = joint ? NULL : rows_term,
                                    .odds = joint ? NULL : rows_odds,
                                    .state = o,
                                    .kept = o->form != PV_FORM_ROWS};
    PV_TRY(pv__executor_new(o->ctx, &spec, &o->executor));
    if (joint && spec.shared)
        pv__full_loss_share(o->full, *pv__executor_part(o->executor));
    return PV_OK;
}

pv_status pv__objective_new(pv_ctx *ctx, const pv__problem *problem, pv__form form, pv__objective **objective) {
    *objective = NULL;
    pv__objective *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    size_t k = (size_t)problem->targets.classes, params = pv_model_params(problem->model);
    made->ctx = ctx;
    made->problem = problem;
    made->form = form;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, params, sizeof(double), &made->last));
    PV_GOTO(fail, pv__alloc(ctx, params + 1, sizeof(double), &made->sums));
    PV_GOTO(fail, pv__alloc(ctx, k, pv__ratio_sets(problem) * sizeof(double), &made->log_ratio));
    if (form == PV_FORM_SELECTION)
        pv__log_ratio(problem, made->log_ratio);
    if (form == PV_FORM_JOINT)
        PV_GOTO(fail, pv_full_loss_new(ctx, pv__problem_loss(problem), (pv_marginal)problem->plan->options.marginal,
                                       &problem->targets, &problem->population, &made->full));
    PV_GOTO(fail, make_executor(made));
    *objective = made;
    return PV_OK;
fail:
    pv__objective_free(ctx, made);
    return status;
}

void pv__objective_free(pv_ctx *ctx, pv__objective *objective) {
    if (!objective)
        return;
    pv_full_loss_free(ctx, objective->full);
    pv__executor_free(ctx, objective->executor);
    pv__free(ctx, objective->last);
    pv__free(ctx, objective->sums);
    pv__free(ctx, objective->log_ratio);
    pv__free(ctx, objective);
}

pv_full_loss *pv__objective_loss(pv__objective *objective) {
    return objective->full;
}

void pv__objective_count(const pv__objective *objective, pv__solution *solution) {
    solution->passes += objective ? (double)pv__executor_passes(objective->executor) : 0;
    solution->pass_seconds += objective ? objective->seconds : 0;
}

void pv__objective_take_over(pv__objective *joint, pv__objective *selection) {
    /* A loss that cannot be split needs all rows on every rank, but these are only the rank's own. */
    if (!pv__full_loss_parts(joint->full) || !pv__executor_hand_over(selection->executor, joint->executor))
        return;
    memcpy(joint->last, selection->last, pv_model_params(joint->problem->model) * sizeof *joint->last);
    joint->forwarded = true;
}

bool pv__objective_is_at(const pv__objective *objective, const double *w) {
    /* After a hand-over of log-likelihoods, nothing has been evaluated yet. */
    return !objective->forwarded &&
           memcmp(objective->last, w, pv_model_params(objective->problem->model) * sizeof *w) == 0;
}

double pv__prior_at(const pv__problem *problem, size_t i, double w, double *dvalue) {
    if (!problem->plan->map) {
        *dvalue = 0;
        return 0;
    }
    const pv_prior *prior = pv__prior_of(problem, i);
    return pv_prior_loss(prior, w - problem->centre[i], dvalue);
}

double pv__prior_slope(const pv__problem *problem, size_t i, double w) {
    const pv_prior *prior = pv__prior_of(problem, i);
    double slope, away = w - problem->centre[i];
    if (prior->kind == PV_PRIOR_NORMAL)
        return away / (prior->scale * prior->scale);
    pv_prior_loss(prior, away, &slope);
    return slope;
}

/* ---- evaluation ----------------------------------------------------------------------------------------------------
 */

/* The loss as sums: its gradient, if dw is wanted, and its value. */
static pv_status eval_rows(pv__objective *o, const double *w, bool dw) {
    size_t params = pv_model_params(o->problem->model);
    bool forwarded = o->forwarded && memcmp(o->last, w, params * sizeof *w) == 0;
    memcpy(o->last, w, params * sizeof *w);
    o->forwarded = false;
    if (o->form != PV_FORM_JOINT)
        return pv__executor_run(o->executor, PV__FUSED, w, o->sums);
    double value = 0;
    if (!forwarded)
        PV_TRY(pv__executor_run(o->executor, PV__FORWARD, w, NULL));
    PV_TRY(pv_full_loss_eval(o->ctx, o->full, pv__executor_loglik(o->executor), &value,
                             dw ? pv__executor_dloglik(o->executor) : NULL));
    if (dw)
        PV_TRY(pv__executor_run(o->executor, PV__BACKWARD, w, o->sums));
    o->sums[params] = value;
    return pv__reduce_check(o->ctx);
}

/* Adds the prior to the loss in sums. */
static void add_prior(const pv__objective *o, const double *w, bool skip_laplace, double *value, double *dw) {
    size_t params = pv_model_params(o->problem->model);
    const pv_prior *prior = &o->problem->plan->prior;
    *value = o->sums[params];
    if (dw)
        memcpy(dw, o->sums, params * sizeof *dw);
    for (size_t i = 0; i < params; i++) {
        if (skip_laplace && prior->kind == PV_PRIOR_LAPLACE && !o->problem->is_bias[i]) {
            *value += o->problem->plan->map ? log(2 * prior->scale) : 0;
            continue;
        }
        double slope;
        *value += pv__prior_at(o->problem, i, w[i], &slope);
        if (dw)
            dw[i] += slope;
    }
}

pv_status pv__objective_eval(pv__objective *o, const double *w, bool skip_laplace, double *value, double *dw) {
    double began = pv__seconds();
    PV_TRY(eval_rows(o, w, dw != NULL));
    add_prior(o, w, skip_laplace, value, dw);
    o->seconds += pv__seconds() - began;
    return pv__rows_unchanged(o->ctx, &o->problem->rows);
}

bool pv__objective_curves(const pv__objective *o) {
    return o->form != PV_FORM_JOINT && pv__executor_curves(o->executor);
}

static pv_status look_together(size_t count, pv__look *look) {
    pv__sought sought[PV__TOGETHER];
    double began = pv__seconds();
    for (size_t i = 0; i < count; i++) {
        pv__objective *o = look[i].objective;
        sought[i] = (pv__sought){o->executor, look[i].w, o->sums, look[i].curved ? look[i].information : NULL};
        memcpy(o->last, look[i].w, pv_model_params(o->problem->model) * sizeof *o->last);
        o->forwarded = false;
    }
    PV_TRY(pv__executors_seek(count, sought));
    for (size_t i = 0; i < count; i++)
        add_prior(look[i].objective, look[i].w, false, &look[i].value, look[i].dw);
    look[0].objective->seconds += pv__seconds() - began;
    return pv__rows_unchanged(look[0].objective->ctx, &look[0].objective->problem->rows);
}

pv_status pv__objectives_look(size_t count, pv__look *look) {
    if (count == 1 && !look->curved) /* of any form */
        return pv__objective_eval(look->objective, look->w, false, &look->value, look->dw);
    return look_together(count, look);
}

/* ---- log-likelihoods --------------------------------------------------------------------------------------------- */

/* A forward pass of rows, with a work per thread. */
typedef struct forward {
    pv_ctx *ctx;
    const pv_model *model;
    const double *w;
    pv_model_work **work;
    double *loglik;
    pv_status status; /* of a single thread; several have nothing to check */
} forward;

static void go_forward(void *state, size_t thread, size_t begin, size_t n, const double *x,
                       double *sums) { // NOLINT(readability-non-const-parameter): other visitors add to it
    forward *f = state;
    (void)sums;
    if (f->status != PV_OK)
        return;
    pv_model_forward(f->model, f->work[thread], f->w, n, x, f->loglik + begin * (size_t)pv_model_classes(f->model));
    if (f->model->architecture->check)
        f->status = pv__model_work_check(f->ctx, f->work[thread]);
}

/* The number of threads for forward passes: images use one, because cutting and networks are parallel themselves. */
static int forward_threads(pv_ctx *ctx, const pv__problem *problem, size_t rows) {
    enum { ROWS_EACH = 1 << 13 };
    bool one = pv__rows_are_images(&problem->rows) || problem->model->architecture->own_threads;
    return one ? 1 : pv__threads_for(ctx, rows / ROWS_EACH);
}

pv_status pv__objective_loglik_of(pv_ctx *ctx, const pv__problem *problem, const double *w, size_t begin, size_t end,
                                  double *loglik) { // NOLINT(readability-non-const-parameter): it is filled
    if (begin >= end)
        return PV_OK;
    int threads = forward_threads(ctx, problem, end - begin);
    forward f = {.ctx = ctx, .model = problem->model, .w = w, .loglik = loglik};
    pv__pass pass;
    pv_status status;
    PV_GOTO(done, pv__pass_new(ctx, &problem->rows, problem->model, 0, threads, &pass));
    PV_GOTO(done, pv__alloc(ctx, (size_t)threads, sizeof(pv_model_work *), &f.work));
    for (int t = 0; t < threads; t++)
        PV_GOTO(done, pv_model_work_new(ctx, problem->model, pass.chunk, &f.work[t]));
    /* whole chunks, wherever they begin: the last rows of a shorter chunk could round differently */
    pass.first = begin / pass.chunk;
    pass.last = (end + pass.chunk - 1) / pass.chunk;
    pv__pass_run(&pass, false, go_forward, &f);
    status = f.status;
done:
    for (int t = 0; f.work && t < threads; t++)
        pv_model_work_free(ctx, f.work[t]);
    pv__free(ctx, f.work);
    pv__pass_clear(&pass);
    return status;
}

/* Ranks make forward passes over their own chunks and exchange the results. */
static pv_status loglik_shared(pv_ctx *ctx, const pv__problem *problem, const double *w, double *loglik) {
    enum { NUMBERS = 1 << 22 }; /* numbers exchanged at a time, approximately */
    size_t chunk = pv__pass_chunk(problem->model), k = (size_t)problem->targets.classes, n = problem->rows.n;
    size_t chunks = (n + chunk - 1) / chunk, piece = NUMBERS / (chunk * k) + 1;
    int rank = ctx->ranks.calls.rank, ranks = ctx->ranks.calls.size;
    for (size_t first = 0; first < chunks; first += piece) {
        size_t count = chunks - first < piece ? chunks - first : piece, size;
        size_t begin = (first + pv__share_of(count, rank, ranks)) * chunk;
        size_t end = (first + pv__share_of(count, rank + 1, ranks)) * chunk;
        size_t last = (first + count) * chunk < n ? (first + count) * chunk : n;
        end = end < n ? end : n;
        PV_TRY(pv__objective_loglik_of(ctx, problem, w, begin, end, loglik));
        double *all;
        PV_TRY(pv__collect(ctx, true, loglik + begin * k, (end - begin) * k * sizeof *all, (void **)&all, &size));
        bool whole = size == (last - first * chunk) * k * sizeof *all;
        if (whole)
            memcpy(loglik + first * chunk * k, all, size);
        pv__free(ctx, all);
        if (!whole)
            return pv__fail(ctx, PV_ERR_INTERNAL, "ranks do not share the rows alike");
    }
    return PV_OK;
}

pv_status pv__objective_loglik(pv_ctx *ctx, const pv__problem *problem, const double *w, double *loglik) {
    if (problem->shared && problem->batch > 0 && pv__shares(ctx))
        return loglik_shared(ctx, problem, w, loglik);
    return pv__objective_loglik_of(ctx, problem, w, 0, problem->rows.n, loglik);
}
