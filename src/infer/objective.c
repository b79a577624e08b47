/* The full-batch objective: negative log posterior of the parameters, and its gradient.
 *
 * A loss that is a sum over rows needs one pass over the matrix: each chunk of rows goes forward, through the loss and
 * backward while it is in the cache. The information gain ties the rows together by its marginal, so the matrix is read
 * twice: forward, then backward. Chunks belong to a fixed number of groups whose gradients are added in order, so that
 * the result does not depend on the number of threads.
 *
 * Ranks that share the rows take the groups of each for their own. Where the marginal ties the rows together, the loss
 * has chunks of its own (core/vector.h), so that a rank goes forward over a few rows more than it goes back over.
 *
 * Where the rows are on a device, it goes over them: by itself for the logistic loss; else it leaves the outputs of the
 * model's dense layers, and takes their slopes back, with all between them done here, chunk by chunk.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/reduce.h"
#include "data/data.h"
#include "infer/infer.h"
#include "model/device_table.h"

enum { CHUNK_BYTES = 1 << 18 };

struct pv__objective {
    pv_ctx *ctx;
    const pv__problem *problem;
    pv__form form;
    pv_full_loss *full; /* JOINT */
    double *log_ratio;  /* [pv__ratio_sets][classes], SELECTION */
    double *loglik;     /* [n][classes], JOINT and SELECTION */
    double *dloglik;
    size_t chunk, chunks, groups;
    pv__part part;        /* of the groups */
    pv__part rows;        /* of the loss's chunks of rows */
    size_t ahead, behind; /* chunks that are gone forward over: ahead .. behind-1 */
    double *partial;      /* [groups][params + 1], the value last */
    double *sums;         /* [params + 1], of all groups */
    int threads;
    pv_model_work **work; /* [threads] */
    double *buffer;       /* [threads][chunk][2 classes + 1] */
    double *x;            /* [threads][chunk][inputs], rows that are made of columns; NULL: there is a matrix */
    bool logistic; /* two classes, hard labels, a sum over rows, a model that can: forward and backward in one go */
    double *z;     /* [n], the logits then */
    pv__loaded_passes *aboard; /* over rows on a device; NULL: the processor's */
    double *out;               /* [n][outputs] there, where it is not logistic; then their slopes */
    int64_t passes;
    double seconds;
    double *last;   /* [params] of the last evaluation */
    bool forwarded; /* loglik is of `last` already */
};

/* Rows a chunk: as many as fit the cache, whatever the number of threads. */
static size_t chunk_rows(const pv_model *model) {
    size_t row = ((size_t)pv_model_inputs(model) + 4 * (size_t)pv_model_classes(model) + 1) * sizeof(double);
    size_t rows = CHUNK_BYTES / row;
    if (model->architecture->chunk_rows)
        return model->architecture->chunk_rows;
    return rows < 64 ? 64 : rows > 4096 ? 4096 : rows;
}

void pv__log_ratio(const pv__problem *problem, double *log_ratio) {
    bool corrected = pv_loss_has_marginal(pv__problem_loss(problem));
    if (problem->stratified) {
        size_t count = pv__ratio_sets(problem) * (size_t)problem->targets.classes;
        for (size_t i = 0; i < count; i++)
            log_ratio[i] = corrected ? problem->sampled->log_ratio[i] : 0;
        return;
    }
    for (int y = 0; y < problem->targets.classes; y++) {
        log_ratio[y] = corrected ? log(problem->design[y]) - log(problem->population.prevalence[y]) : 0;
    }
}

static pv_status prepare_loss(pv_ctx *ctx, pv__objective *made) {
    const pv__problem *problem = made->problem;
    size_t n = problem->n, k = (size_t)problem->targets.classes;
    switch (made->form) {
    case PV_FORM_ROWS:
        return PV_OK;
    case PV_FORM_SELECTION:
        pv__log_ratio(problem, made->log_ratio);
        return made->logistic ? PV_OK : pv__alloc(ctx, n, k * sizeof(double), &made->loglik);
    case PV_FORM_JOINT:
        PV_TRY(pv__alloc(ctx, n, k * sizeof(double), &made->loglik));
        PV_TRY(pv__alloc(ctx, n, k * sizeof(double), &made->dloglik));
        return pv_full_loss_new(ctx, pv__problem_loss(problem), (pv_marginal)problem->options->marginal,
                                &problem->targets, &problem->population, &made->full);
    }
    return PV_OK;
}

/* As many groups as there are units, as long as their gradients take little memory. */
static size_t groups_of(size_t chunks, size_t params) {
    enum { FEWEST = 64, NUMBERS = 1 << 22 };
    size_t groups = pv__reduce_units(chunks);
    while (groups > FEWEST && groups * params > NUMBERS)
        groups /= 2;
    return groups;
}

/* Passes on the device, where it has these rows. */
static pv_status go_aboard(pv__objective *o) {
    const pv__problem *problem = o->problem;
    const pv_targets *t = &problem->targets;
    if (!problem->loaded || problem->loaded->x != problem->x)
        return PV_OK;
    const pv__logistic loss = {t->label, t->weight, problem->factor, o->log_ratio[1] - o->log_ratio[0]};
    pv_status status = pv__loaded_passes_new(o->ctx, problem->loaded, problem->model, problem->n,
                                             o->logistic ? &loss : NULL, NULL, &o->aboard);
    if (status != PV_OK)
        return pv__loaded_forgone(o->ctx, status) ? PV_OK : status;
    if (o->logistic)
        return PV_OK;
    PV_TRY(pv__alloc(o->ctx, problem->n, pv__loaded_outputs(o->aboard) * sizeof(double), &o->out));
    if (!o->loglik)
        PV_TRY(pv__alloc(o->ctx, problem->n, (size_t)t->classes * sizeof(double), &o->loglik));
    return PV_OK;
}

/* Which groups and rows are this rank's. */
static void share_rows(pv__objective *o) {
    size_t n = o->problem->n, chunks = pv__chunks(n);
    bool shared = o->problem->shared && (!o->full || pv__full_loss_parts(o->full));
    o->rows = pv__part_whole(chunks);
    o->part = pv__part_own(o->ctx, o->groups, o->groups);
    o->behind = o->chunks;
    if (!shared || !o->part.shared) {
        o->part = (pv__part){.blocks = o->groups, .units = o->groups, .last = o->groups, .own_last = o->groups};
        return;
    }
    size_t begin = o->part.first * o->chunks / o->groups * o->chunk;
    size_t end = o->part.last * o->chunks / o->groups * o->chunk;
    end = end < n ? end : n;
    o->rows = pv__part_own(o->ctx, chunks, o->rows.units);
    if (begin < end)
        o->rows = pv__part_with(o->rows, begin / PV_CHUNK, pv__chunks(end));
    end = o->rows.last * PV_CHUNK < n ? o->rows.last * PV_CHUNK : n;
    o->ahead = o->rows.first * PV_CHUNK / o->chunk;
    o->behind = (end + o->chunk - 1) / o->chunk;
    if (o->full)
        pv__full_loss_share(o->full, o->rows);
}

pv_status pv__objective_new(pv_ctx *ctx, const pv__problem *problem, pv__form form, pv__objective **objective) {
    *objective = NULL;
    pv__objective *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    size_t k = (size_t)problem->targets.classes;
    made->ctx = ctx;
    made->problem = problem;
    made->form = form;
    made->chunk = chunk_rows(problem->model);
    made->chunks = (problem->n + made->chunk - 1) / made->chunk;
    made->groups = groups_of(made->chunks, pv_model_params(problem->model));
    made->threads = pv_ctx_threads(ctx);
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, pv_model_params(problem->model), sizeof(double), &made->last));
    PV_GOTO(fail, pv__alloc(ctx, k, pv__ratio_sets(problem) * sizeof(double), &made->log_ratio));
    PV_GOTO(fail, pv__alloc(ctx, made->groups, (pv_model_params(problem->model) + 1) * sizeof(double), &made->partial));
    PV_GOTO(fail, pv__alloc(ctx, pv_model_params(problem->model) + 1, sizeof(double), &made->sums));
    PV_GOTO(fail, pv__alloc(ctx, (size_t)made->threads, sizeof(pv_model_work *), &made->work));
    for (int t = 0; t < made->threads; t++)
        PV_GOTO(fail, pv_model_work_new(ctx, problem->model, made->chunk, &made->work[t]));
    PV_GOTO(fail, pv__alloc(ctx, (size_t)made->threads * made->chunk, (2 * k + 1) * sizeof(double), &made->buffer));
    if (problem->columns)
        PV_GOTO(fail, pv__alloc(ctx, (size_t)made->threads * made->chunk,
                                (size_t)pv_model_inputs(problem->model) * sizeof(double), &made->x));
    made->logistic = form != PV_FORM_JOINT && k == 2 && problem->targets.label && !problem->targets.stratum &&
                     problem->model->architecture->logistic_loss;
    PV_GOTO(fail, prepare_loss(ctx, made));
    PV_GOTO(fail, go_aboard(made));
    if (made->logistic && !made->aboard)
        PV_GOTO(fail, pv__alloc(ctx, problem->n, sizeof(double), &made->z));
    share_rows(made);
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
    pv__free(ctx, objective->last);
    pv__free(ctx, objective->log_ratio);
    pv__free(ctx, objective->loglik);
    pv__free(ctx, objective->z);
    pv__free(ctx, objective->out);
    pv__loaded_passes_free(ctx, objective->aboard);
    pv__free(ctx, objective->dloglik);
    pv__free(ctx, objective->partial);
    pv__free(ctx, objective->sums);
    for (int t = 0; objective->work && t < objective->threads; t++)
        pv_model_work_free(ctx, objective->work[t]);
    pv__free(ctx, objective->work);
    pv__free(ctx, objective->buffer);
    pv__free(ctx, objective->x);
    pv__free(ctx, objective);
}

pv_full_loss *pv__objective_loss(pv__objective *objective) {
    return objective->full;
}

void pv__objective_count(const pv__objective *objective, pv__solution *solution) {
    solution->passes += objective ? (double)objective->passes : 0;
    solution->pass_seconds += objective ? objective->seconds : 0;
}

void pv__objective_take_over(pv__objective *joint, pv__objective *selection) {
    if (selection->aboard) /* a pass there costs less than to bring them here */
        return;
    if (!pv__full_loss_parts(joint->full)) /* it takes all rows on every rank, and these are of this rank's own */
        return;
    if (selection->logistic) {
        const pv__compute *compute = joint->work[0]->compute;
        PV__EACH_OF(joint->ctx, &joint->rows, c, {
            compute->logistic(pv__chunk_rows(joint->problem->n, c), selection->z + c * PV_CHUNK,
                              joint->loglik + 2 * c * PV_CHUNK);
        });
    } else {
        double *held = joint->loglik;
        joint->loglik = selection->loglik;
        selection->loglik = held;
    }
    memcpy(joint->last, selection->last, pv_model_params(joint->problem->model) * sizeof *joint->last);
    joint->forwarded = true;
}

bool pv__objective_is_at(const pv__objective *objective, const double *w) {
    /* With the log-likelihoods taken over, nothing was evaluated yet. */
    return !objective->forwarded &&
           memcmp(objective->last, w, pv_model_params(objective->problem->model) * sizeof *w) == 0;
}

double pv__prior_at(const pv__problem *problem, size_t i, double w, double *dvalue) {
    if (!problem->plan->map) {
        *dvalue = 0;
        return 0;
    }
    const pv_prior *prior = problem->is_bias[i] ? &problem->plan->intercept_prior : &problem->plan->prior;
    return pv_prior_loss(prior, w - problem->centre[i], dvalue);
}

double pv__prior_slope(const pv__problem *problem, size_t i, double w) {
    const pv_prior *prior = problem->is_bias[i] ? &problem->plan->intercept_prior : &problem->plan->prior;
    double slope, away = w - problem->centre[i];
    if (prior->kind == PV_PRIOR_NORMAL)
        return away / (prior->scale * prior->scale);
    pv_prior_loss(prior, away, &slope);
    return slope;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

typedef enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_FUSED } pass;

static double chunk_loss(pv__objective *o, size_t begin, size_t rows, const double *loglik, double *dloglik,
                         double *sums) {
    pv_targets slice = pv__targets_slice(&o->problem->targets, begin, rows);
    if (o->form == PV_FORM_SELECTION)
        return pv__selection_rows(&slice, NULL, o->log_ratio, loglik, dloglik, NULL, sums);
    return pv__data_term(&slice, o->problem->factor, loglik, dloglik, false);
}

static void run_chunk(pv__objective *o, pass what, int thread, size_t c, const double *w, double *partial) {
    const pv_model *model = o->problem->model;
    size_t k = (size_t)o->problem->targets.classes, begin = c * o->chunk;
    size_t rows = o->problem->n - begin < o->chunk ? o->problem->n - begin : o->chunk;
    double *room = o->x ? o->x + (size_t)thread * o->chunk * (size_t)pv_model_inputs(model) : NULL;
    const double *x = pv__problem_rows(o->ctx, o->problem, begin, rows, room);
    pv_model_work *work = o->work[thread];
    if (o->logistic) {
        const pv_targets *t = &o->problem->targets;
        partial[pv_model_params(model)] += model->architecture->logistic_loss(
            model, work, w, rows, x, t->label + begin, t->weight ? t->weight + begin : NULL, o->problem->factor,
            o->log_ratio[1] - o->log_ratio[0], o->z + begin, partial);
        return;
    }
    double *own = o->buffer + (size_t)thread * o->chunk * (2 * k + 1);
    double *loglik = own, *dloglik = own + o->chunk * k, *sums = own + 2 * o->chunk * k;
    if (o->loglik)
        loglik = o->loglik + begin * k;
    if (o->dloglik)
        dloglik = o->dloglik + begin * k;
    if (what != PASS_BACKWARD || model->architecture->backward_needs_work)
        pv_model_forward(model, work, w, rows, x, loglik);
    if (what == PASS_FUSED)
        partial[pv_model_params(model)] += chunk_loss(o, begin, rows, loglik, dloglik, sums);
    if (what != PASS_FORWARD)
        pv_model_backward(model, work, w, rows, x, loglik, dloglik, partial);
}

/* Where a group begins. */
static size_t group_at(const pv__objective *o, size_t g) {
    return g * o->chunks / o->groups;
}

/* What is done of group g: going forward, its chunks that are wanted. */
static void run_group(pv__objective *o, pass what, int thread, size_t g, const double *w) {
    size_t stride = pv_model_params(o->problem->model) + 1, first = group_at(o, g), last = group_at(o, g + 1);
    if (what == PASS_FORWARD) {
        first = first > o->ahead ? first : o->ahead;
        last = last < o->behind ? last : o->behind;
    }
    for (size_t c = first; c < last; c++) {
        pv__spill_breathe(o->ctx);
        run_chunk(o, what, thread, c, w, o->partial + g * stride);
    }
}

/* The chunks beside the rank's own groups, for what they leave of each row. */
static void run_beside(pv__objective *o, const double *w) {
    for (size_t c = o->ahead; c < o->behind; c++)
        if (c < group_at(o, o->part.first) || c >= group_at(o, o->part.last))
            run_chunk(o, PASS_FUSED, 0, c, w, o->sums);
}

/* What is done here of chunk c between the device's passes. */
static void run_between(pv__objective *o, pass what, int thread, size_t c, const double *w, double *partial) {
    const pv_model *model = o->problem->model;
    const pv__architecture *of = model->architecture;
    size_t k = (size_t)o->problem->targets.classes, begin = c * o->chunk;
    size_t rows = o->problem->n - begin < o->chunk ? o->problem->n - begin : o->chunk;
    double *out = o->out + begin * pv__loaded_outputs(o->aboard), *loglik = o->loglik + begin * k;
    double *own = o->buffer + (size_t)thread * o->chunk * (2 * k + 1), *sums = own + 2 * o->chunk * k;
    double *dloglik = o->dloglik ? o->dloglik + begin * k : own;
    if (what != PASS_BACKWARD)
        of->link_forward(model, o->work[thread], w, rows, out, loglik);
    if (what == PASS_FUSED)
        partial[model->params] += chunk_loss(o, begin, rows, loglik, dloglik, sums);
    if (what != PASS_FORWARD)
        of->link_backward(model, o->work[thread], w, rows, out, loglik, dloglik, out, partial);
}

static pv_status run_aboard(pv__objective *o, pass what, const double *w) {
    size_t params = pv_model_params(o->problem->model), stride = params + 1;
    o->passes++;
    if (what != PASS_FORWARD)
        memset(o->partial, 0, o->groups * stride * sizeof *o->partial);
    if (o->logistic)
        return pv__loaded_logistic(o->ctx, o->aboard, 1, w, o->partial + params, o->partial);
    if (what != PASS_BACKWARD)
        PV_TRY(pv__loaded_forward(o->ctx, o->aboard, w, o->out));
#pragma omp parallel for num_threads(pv__threads_for(o->ctx, o->groups)) schedule(dynamic)
    for (size_t g = 0; g < o->groups; g++)
        for (size_t c = group_at(o, g); c < group_at(o, g + 1); c++)
            run_between(o, what, omp_get_thread_num(), c, w, o->partial + g * stride);
    return what == PASS_FORWARD ? PV_OK : pv__loaded_backward(o->ctx, o->aboard, w, o->out, o->partial);
}

/* Groups that a thread takes at once: of rows that are read from a file, some that are next to each other. */
static size_t groups_at_once(const pv__objective *o, size_t groups, int team) {
    enum { CHUNKS = 256, TURNS = 8 };
    if (!o->problem->columns)
        return 1;
    size_t some = CHUNKS * o->groups / o->chunks + 1, fair = groups / (TURNS * (size_t)team);
    return some < fair ? some : fair > 1 ? fair : 1;
}

static pv_status run_pass(pv__objective *o, pass what, const double *w) {
    if (o->aboard)
        return run_aboard(o, what, w);
    size_t stride = pv_model_params(o->problem->model) + 1;
    size_t first = what == PASS_FORWARD ? 0 : o->part.first, last = what == PASS_FORWARD ? o->groups : o->part.last;
    o->passes++;
    int team = pv_threads_ready(last - first < (size_t)o->threads ? (int)(last - first) : o->threads);
    if (what != PASS_FORWARD)
        memset(o->partial + first * stride, 0, (last - first) * stride * sizeof *o->partial);
    if (what == PASS_FUSED && o->part.shared && (o->loglik || o->z))
        run_beside(o, w);
    if (team <= 1) { /* no team of one: it would cost a system call */
        for (size_t g = first; g < last; g++)
            run_group(o, what, 0, g, w);
        return PV_OK;
    }
    size_t at_once = groups_at_once(o, last - first, team);
    (void)at_once; /* where there is no OpenMP to take it */
#pragma omp parallel for num_threads(pv_threads_ready(team)) schedule(dynamic, at_once)
    for (size_t g = first; g < last; g++)
        run_group(o, what, omp_get_thread_num(), g, w);
    return PV_OK;
}

static pv_status eval(pv__objective *o, const double *w, bool skip_laplace, double *value, double *dw) {
    size_t params = pv_model_params(o->problem->model), stride = params + 1;
    *value = 0;
    bool forwarded = o->forwarded && memcmp(o->last, w, params * sizeof *w) == 0;
    memcpy(o->last, w, params * sizeof *w);
    o->forwarded = false;
    if (o->form == PV_FORM_JOINT) {
        if (!forwarded)
            PV_TRY(run_pass(o, PASS_FORWARD, w));
        PV_TRY(pv_full_loss_eval(o->ctx, o->full, o->loglik, value, dw ? o->dloglik : NULL));
        if (dw)
            PV_TRY(run_pass(o, PASS_BACKWARD, w));
        else
            memset(o->partial, 0, o->groups * stride * sizeof *o->partial);
    } else {
        PV_TRY(run_pass(o, PASS_FUSED, w));
    }
    pv__sum(o->ctx, &o->part, stride, o->partial, o->sums);
    PV_TRY(pv__reduce_check(o->ctx));
    *value += o->sums[params];
    if (dw)
        memcpy(dw, o->sums, params * sizeof *dw);
    for (size_t i = 0; i < params; i++) {
        if (skip_laplace && o->problem->plan->prior.kind == PV_PRIOR_LAPLACE && !o->problem->is_bias[i]) {
            *value += o->problem->plan->map ? log(2 * o->problem->plan->prior.scale) : 0;
            continue;
        }
        double slope;
        *value += pv__prior_at(o->problem, i, w[i], &slope);
        if (dw)
            dw[i] += slope;
    }
    return PV_OK;
}

pv_status pv__objective_eval(pv__objective *o, const double *w, bool skip_laplace, double *value, double *dw) {
    double began = pv__seconds();
    pv_status status = eval(o, w, skip_laplace, value, dw);
    if (status == PV_OK && o->problem->columns)
        status = pv__columns_unchanged(o->ctx, o->problem->columns);
    o->seconds += pv__seconds() - began;
    return status;
}

/* Threads that go forward at the same time: images are cut, and their networks run, by one. */
static int forward_threads(pv_ctx *ctx, const pv__problem *problem, size_t chunks) {
    enum { CHUNKS_EACH = 8 };
    bool one = problem->data || problem->model->architecture->own_threads;
    return one ? 1 : pv__threads_for(ctx, chunks / CHUNKS_EACH);
}

pv_status pv__objective_loglik_of(pv_ctx *ctx, const pv__problem *problem, const double *w, size_t begin, size_t end,
                                  double *loglik) {
    /* whole chunks, wherever they begin: the last rows of a shorter one could round differently */
    size_t chunk = chunk_rows(problem->model), first = begin / chunk, chunks = (end + chunk - 1) / chunk;
    size_t k = (size_t)problem->targets.classes, d = (size_t)pv_model_inputs(problem->model);
    if (begin >= end)
        return PV_OK;
    int threads = forward_threads(ctx, problem, chunks - first);
    pv_model_work **work;
    double *buffer = NULL;
    PV_TRY(pv__alloc(ctx, (size_t)threads, sizeof(pv_model_work *), &work));
    pv_status status = PV_OK;
    if (problem->data || problem->columns)
        PV_GOTO(done, pv__alloc(ctx, (size_t)threads * chunk, d * sizeof *buffer, &buffer));
    for (int t = 0; t < threads; t++)
        PV_GOTO(done, pv_model_work_new(ctx, problem->model, chunk, &work[t]));
    if (threads > 1) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(dynamic)
        for (size_t c = first; c < chunks; c++) {
            size_t rows = problem->n - c * chunk < chunk ? problem->n - c * chunk : chunk;
            size_t t = (size_t)omp_get_thread_num();
            double *room = buffer ? buffer + t * chunk * d : NULL;
            pv_model_forward(problem->model, work[t], w, rows, pv__problem_rows(ctx, problem, c * chunk, rows, room),
                             loglik + c * chunk * k);
        }
        goto done;
    }
    for (size_t c = first; c < chunks && status == PV_OK; c++) {
        size_t rows = problem->n - c * chunk < chunk ? problem->n - c * chunk : chunk;
        pv_model_forward(problem->model, work[0], w, rows, pv__problem_rows(ctx, problem, c * chunk, rows, buffer),
                         loglik + c * chunk * k);
        status = pv__model_work_check(ctx, work[0]);
    }
done:
    for (int t = 0; t < threads; t++)
        pv_model_work_free(ctx, work[t]);
    pv__free(ctx, work);
    pv__free(ctx, buffer);
    return status;
}

/* Ranks go forward over chunks of their own, and tell each other what they found. */
static pv_status loglik_shared(pv_ctx *ctx, const pv__problem *problem, const double *w, double *loglik) {
    enum { NUMBERS = 1 << 22 }; /* that go round at a time, about */
    size_t chunk = chunk_rows(problem->model), k = (size_t)problem->targets.classes, n = problem->n;
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
    return pv__objective_loglik_of(ctx, problem, w, 0, problem->n, loglik);
}
