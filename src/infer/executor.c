/* Forward pass, loss and backward pass, on the processor or on a device. */
#include "infer/executor.h"

#include <math.h>
#include <string.h>

#include "base/openmp.h"
#include "core/vector.h"
#include "infer/pass.h"

struct pv__executor {
    pv_ctx *ctx;
    pv__executor_spec spec;
    pv__logistic of;
    pv__pass pass;
    pv__part part;            /* this process's chunks of rows */
    pv_model_work **work;     /* [threads] */
    double *buffer;           /* [threads][chunk][2 classes + 1] */
    double *loglik, *dloglik; /* [n][classes] */
    double *z;                /* [n], logits of the logistic loss */
    pv__pass curved;          /* CURVED, for this many executors together */
    size_t together;
    double *spare;             /* [threads][chunk][inputs + classes] */
    double *curved_sums;       /* per executor: [params + 1], then the information's */
    pv__loaded_passes *device; /* NULL: the processor */
    double *out;               /* [n][outputs] on the device, unless the loss is logistic; then their derivatives */
    pv__stage stage;
    const double *w;
    int64_t passes;
};

/* ---- processor --------------------------------------------------------------------------------------------------- */

/* Log-likelihoods and derivatives of a chunk, in the arrays of all rows or in a thread's memory; plus space for the
 * term. */
typedef struct place {
    double *loglik, *dloglik, *room;
} place;

static place place_of(const pv__executor *e, size_t thread, size_t begin) {
    size_t k = (size_t)pv_model_classes(e->spec.model), chunk = e->pass.chunk;
    double *own = e->buffer + thread * chunk * (2 * k + 1);
    return (place){.loglik = e->loglik ? e->loglik + begin * k : own,
                   .dloglik = e->dloglik ? e->dloglik + begin * k : own + chunk * k,
                   .room = own + 2 * chunk * k};
}

/* q [n][2] and the weights of rows of a logistic loss. */
static void logistic_odds(const pv__executor *e, size_t begin, size_t n, double *v, double *q) {
    const pv__logistic *of = &e->of;
    double *small = q + n; /* exp(-|z|), in the second half */
    for (size_t i = 0; i < n; i++)
        small[i] = -fabs(e->z[begin + i] + of->shift);
    pv__core_kernels_get()->exp_all(n, small);
    for (size_t i = 0; i < n; i++) {
        double less = small[i] / (1 + small[i]), more = 1 / (1 + small[i]);
        bool positive = e->z[begin + i] + of->shift > 0;
        v[i] = (of->weight ? of->weight[begin + i] : 1) * of->factor[of->label[begin + i]];
        q[2 * i] = positive ? less : more;
        q[2 * i + 1] = positive ? more : less;
    }
}

static void add_information(const pv__executor *e, size_t thread, size_t begin, size_t n, const double *x,
                            const place *at, double *sums) {
    const pv_model *model = e->spec.model;
    double *spare = e->spare + thread * e->pass.chunk * (size_t)(pv_model_inputs(model) + pv_model_classes(model));
    if (e->spec.of)
        logistic_odds(e, begin, n, at->room, at->dloglik);
    else
        e->spec.odds(e->spec.state, begin, n, at->loglik, at->room, at->dloglik);
    model->architecture->add_information(model, e->work[thread], e->w, n, x, at->room, at->dloglik, sums, spare);
}

static void visit(void *state, size_t thread, size_t begin, size_t n, const double *x, double *sums) {
    pv__executor *e = state;
    const pv_model *model = e->spec.model;
    pv_model_work *work = e->work[thread];
    double *value = sums + pv_model_params(model);
    place at = place_of(e, thread, begin);
    if (e->spec.of) {
        const pv__logistic *of = &e->of;
        *value += model->architecture->logistic_loss(model, work, e->w, n, x, of->label + begin,
                                                     of->weight ? of->weight + begin : NULL, of->factor, of->shift,
                                                     e->z + begin, sums);
        if (e->stage == PV__CURVED)
            add_information(e, thread, begin, n, x, &at, value + 1);
        return;
    }
    if (e->stage != PV__BACKWARD || model->architecture->backward_needs_work)
        pv_model_forward(model, work, e->w, n, x, at.loglik);
    if (e->stage >= PV__FUSED)
        *value += e->spec.term(e->spec.state, begin, n, at.loglik, at.dloglik, at.room);
    if (e->stage != PV__FORWARD)
        pv_model_backward(model, work, e->w, n, x, at.loglik, at.dloglik, sums);
    if (e->stage == PV__CURVED)
        add_information(e, thread, begin, n, x, &at, value + 1);
}

/* ---- device ------------------------------------------------------------------------------------------------------ */

/* The processor's work on a chunk between the device's passes. */
static void link_rows(void *state, size_t thread, size_t begin, size_t n, const double *x, double *sums) {
    pv__executor *e = state;
    const pv_model *model = e->spec.model;
    const pv__architecture *of = model->architecture;
    double *out = e->out + begin * pv__loaded_outputs(e->device);
    place at = place_of(e, thread, begin);
    (void)x;
    if (e->stage != PV__BACKWARD)
        of->link_forward(model, e->work[thread], e->w, n, out, at.loglik);
    if (e->stage == PV__FUSED)
        sums[model->params] += e->spec.term(e->spec.state, begin, n, at.loglik, at.dloglik, at.room);
    if (e->stage != PV__FORWARD)
        of->link_backward(model, e->work[thread], e->w, n, out, at.loglik, at.dloglik, out, sums);
}

static pv_status run_on_device(pv__executor *e) {
    size_t params = pv_model_params(e->spec.model);
    double *first = e->pass.partial; /* its gradient is added to that of the first group */
    if (e->spec.of) {
        memset(first, 0, e->pass.groups * (params + 1) * sizeof *first);
        return pv__loaded_logistic(e->ctx, e->device, 1, e->w, first + params, first);
    }
    if (e->stage != PV__BACKWARD)
        PV_TRY(pv__loaded_forward(e->ctx, e->device, e->w, e->out));
    pv__pass_run(&e->pass, false, link_rows, e);
    return e->stage == PV__FORWARD ? PV_OK : pv__loaded_backward(e->ctx, e->device, e->w, e->out, first);
}

static pv_status open_device(pv__executor *e) {
    const pv__executor_spec *spec = &e->spec;
    if (!spec->rows->device)
        return PV_OK;
    pv_status status = pv__loaded_passes_new(e->ctx, spec->rows->device, spec->model, spec->rows->n,
                                             spec->of ? &e->of : NULL, NULL, &e->device);
    if (status != PV_OK)
        return pv__loaded_forgone(e->ctx, status) ? PV_OK : status;
    if (spec->of)
        return PV_OK;
    return pv__alloc(e->ctx, spec->rows->n, pv__loaded_outputs(e->device) * sizeof(double), &e->out);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static pv_status make_room(pv_ctx *ctx, pv__executor *e) {
    const pv__executor_spec *spec = &e->spec;
    size_t n = spec->rows->n, k = (size_t)pv_model_classes(spec->model), threads = (size_t)pv_ctx_threads(ctx);
    PV_TRY(pv__pass_new(ctx, spec->rows, spec->model, pv_model_params(spec->model) + 1, (int)threads, &e->pass));
    PV_TRY(pv__alloc(ctx, threads, sizeof(pv_model_work *), &e->work));
    for (size_t t = 0; t < threads; t++)
        PV_TRY(pv_model_work_new(ctx, spec->model, e->pass.chunk, &e->work[t]));
    PV_TRY(pv__alloc(ctx, threads * e->pass.chunk, (2 * k + 1) * sizeof(double), &e->buffer));
    PV_TRY(open_device(e));
    if (spec->of && !e->device)
        PV_TRY(pv__alloc(ctx, n, sizeof(double), &e->z));
    if ((spec->kept || e->device) && !spec->of)
        PV_TRY(pv__alloc(ctx, n, k * sizeof(double), &e->loglik));
    if (!spec->term && !spec->of)
        PV_TRY(pv__alloc(ctx, n, k * sizeof(double), &e->dloglik));
    e->part = pv__part_whole(pv__chunks(n));
    if (spec->shared)
        e->part = pv__pass_share(&e->pass);
    return PV_OK;
}

pv_status pv__executor_new(pv_ctx *ctx, const pv__executor_spec *spec, pv__executor **executor) {
    *executor = NULL;
    pv__executor *e;
    PV_TRY(pv__alloc(ctx, 1, sizeof *e, &e));
    e->ctx = ctx;
    e->spec = *spec;
    e->pass.ctx = e->curved.ctx = ctx;
    if (spec->of)
        e->of = *spec->of;
    pv_status status = make_room(ctx, e);
    if (status == PV_OK)
        *executor = e;
    else
        pv__executor_free(ctx, e);
    return status;
}

void pv__executor_free(pv_ctx *ctx, pv__executor *e) {
    if (!e)
        return;
    for (int t = 0; e->work && t < e->pass.threads; t++)
        pv_model_work_free(ctx, e->work[t]);
    pv__loaded_passes_free(ctx, e->device);
    pv__pass_clear(&e->pass);
    pv__pass_clear(&e->curved);
    pv__free(ctx, e->spare);
    pv__free(ctx, e->curved_sums);
    pv__free(ctx, e->work);
    pv__free(ctx, e->buffer);
    pv__free(ctx, e->loglik);
    pv__free(ctx, e->dloglik);
    pv__free(ctx, e->z);
    pv__free(ctx, e->out);
    pv__free(ctx, e);
}

pv_status pv__executor_run(pv__executor *e, pv__stage stage, const double *w, double *sums) {
    e->stage = stage;
    e->w = w;
    e->passes++;
    if (e->device)
        PV_TRY(run_on_device(e));
    else
        pv__pass_run(&e->pass, stage == PV__BACKWARD, visit, e);
    return stage == PV__FORWARD ? PV_OK : pv__pass_sum(&e->pass, sums);
}

bool pv__executor_curves(const pv__executor *e) {
    const pv__architecture *of = e->spec.model->architecture;
    return !e->device && (e->spec.of || e->spec.odds) && of->information_size &&
           of->information_size(e->spec.model) > 0;
}

static size_t curved_width(const pv_model *model) {
    return pv_model_params(model) + 1 + model->architecture->information_size(model);
}

/* Makes the pass that several executors share; it is stored in the first. */
static pv_status make_curved(pv__executor *e, size_t count) {
    const pv_model *model = e->spec.model;
    size_t width = count * curved_width(model);
    if (e->together == count)
        return PV_OK;
    pv__pass_clear(&e->curved);
    pv__free(e->ctx, e->curved_sums);
    e->curved_sums = NULL;
    e->together = 0;
    PV_TRY(pv__pass_new(e->ctx, e->spec.rows, model, width, e->pass.threads, &e->curved));
    if (e->spec.shared)
        (void)pv__pass_share(&e->curved);
    e->curved.first =
        e->pass.first < e->curved.first ? e->pass.first : e->curved.first; /* pv__executor_hand_over needs these */
    e->curved.last = e->pass.last > e->curved.last ? e->pass.last : e->curved.last;
    PV_TRY(pv__alloc(e->ctx, width, sizeof *e->curved_sums, &e->curved_sums));
    e->together = count;
    return PV_OK;
}

static pv_status make_spare(pv__executor *e) {
    const pv_model *model = e->spec.model;
    size_t each = (size_t)pv_model_inputs(model) + (size_t)pv_model_classes(model), threads = (size_t)e->pass.threads;
    return e->spare ? PV_OK : pv__alloc(e->ctx, threads * e->pass.chunk, each * sizeof *e->spare, &e->spare);
}

typedef struct together {
    size_t count, width; /* of one executor's sums */
    const pv__sought *of;
} together;

static void visit_all(void *state, size_t thread, size_t begin, size_t n, const double *x, double *sums) {
    const together *t = state;
    for (size_t i = 0; i < t->count; i++)
        visit(t->of[i].executor, thread, begin, n, x, sums + i * t->width);
}

pv_status pv__executors_seek(size_t count, const pv__sought *sought) {
    pv__executor *first = sought->executor;
    const pv_model *model = first->spec.model;
    size_t params = pv_model_params(model);
    together t = {.count = count, .width = curved_width(model), .of = sought};
    PV_TRY(make_curved(first, count));
    for (size_t i = 0; i < count; i++) {
        pv__executor *e = sought[i].executor;
        PV_TRY(make_spare(e));
        e->stage = sought[i].information ? PV__CURVED : PV__FUSED;
        e->w = sought[i].w;
    }
    first->passes++;
    pv__pass_run(&first->curved, false, visit_all, &t);
    PV_TRY(pv__pass_sum(&first->curved, first->curved_sums));
    for (size_t i = 0; i < count; i++) {
        const double *sums = first->curved_sums + i * t.width;
        memcpy(sought[i].sums, sums, (params + 1) * sizeof *sums);
        if (sought[i].information)
            model->architecture->information_of(model, sums + params + 1, sought[i].information);
    }
    return PV_OK;
}

double *pv__executor_loglik(pv__executor *e) {
    return e->loglik;
}

double *pv__executor_dloglik(pv__executor *e) {
    return e->dloglik;
}

const pv__part *pv__executor_part(const pv__executor *e) {
    return &e->part;
}

bool pv__executor_hand_over(pv__executor *from, pv__executor *to) {
    if (from->device || !to->loglik ||
        (!from->z && !from->loglik)) /* a pass on the device costs less than copying them */
        return false;
    if (!from->z) {
        double *held = to->loglik;
        to->loglik = from->loglik;
        from->loglik = held;
        return true;
    }
    PV__EACH_OF(to->ctx, &to->part, c, {
        to->work[0]->compute->logistic(pv__chunk_rows(to->spec.rows->n, c), from->z + c * PV_CHUNK,
                                       to->loglik + 2 * c * PV_CHUNK);
    });
    return true;
}

int64_t pv__executor_passes(const pv__executor *e) {
    return e->passes;
}
