/* Runs work that needs all rows at once for each posterior draw of w: an unknown prevalence, known label counts, or the
 * likelihood of the rows. Draws are divided among threads, each with its own context and work space.
 */
#include <string.h>

#include "data/data.h"
#include "predict/predict.h"

enum { ROWS = 512 };

typedef struct worker {
    pv_ctx *ctx; /* for allocations and errors of this thread */
    pv_model_work *work;
    double *loglik; /* [rows][classes] */
    double *x;      /* [ROWS][inputs], rows assembled from columns */
    void *own;
    pv_status status;
} worker;

static void forward(const pv_classifier *c, const pv_dataset *data, worker *w, size_t s) {
    size_t k = (size_t)c->schema->classes;
    for (size_t begin = 0; begin < data->rows; begin += ROWS) {
        size_t rows = data->rows - begin < ROWS ? data->rows - begin : ROWS;
        pv_model_forward(c->model, w->work, c->posterior->draws + s * c->posterior->dims, rows,
                         pv_dataset_rows(NULL, data, begin, rows, w->x), w->loglik + begin * k);
    }
}

static pv_status visit(const pv_classifier *c, const pv_dataset *data, const pv__visitor *v, worker *w, size_t s) {
    if (v->blind)
        return v->visit(w->ctx, v->state, w->own, s, NULL);
    forward(c, data, w, s);
    PV_TRY(pv__gate_predicted(w->ctx, PV__GATE_LOG, c, data, w->loglik));
    return v->visit(w->ctx, v->state, w->own, s, w->loglik);
}

static pv_status worker_new(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const pv__visitor *v,
                            worker *w) {
    PV_TRY(pv__ctx_child(ctx, &w->ctx));
    PV_TRY(pv_model_work_new(w->ctx, c->model, ROWS, &w->work));
    if (!v->blind)
        PV_TRY(pv__alloc(w->ctx, data->rows * (size_t)c->schema->classes, sizeof *w->loglik, &w->loglik));
    if (data->columns)
        PV_TRY(pv__alloc(w->ctx, ROWS, (size_t)data->features * sizeof *w->x, &w->x));
    PV_TRY(pv__alloc(w->ctx, 1, v->size, &w->own));
    return v->open(w->ctx, v->state, w->own);
}

static void worker_free(const pv__visitor *v, worker *w) {
    if (!w->ctx)
        return;
    if (w->own)
        v->close(w->ctx, w->own);
    pv__free(w->ctx, w->own);
    pv_model_work_free(w->ctx, w->work);
    pv__free(w->ctx, w->x);
    pv__free(w->ctx, w->loglik);
    pv_ctx_free(w->ctx);
}

/* The first failure of a worker becomes that of the caller. */
pv_status pv__each_draw(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const pv__visitor *v) {
    size_t draws = c->posterior->count;
    int threads = pv_ctx_threads(ctx);
    worker *workers;
    PV_TRY(pv__alloc(ctx, (size_t)threads, sizeof *workers, &workers));
    pv_status status = PV_OK;
    for (int t = 0; t < threads && status == PV_OK; t++) {
        status = worker_new(ctx, c, data, v, &workers[t]);
        if (status != PV_OK && workers[t].ctx)
            status = pv__ctx_adopt(ctx, workers[t].ctx);
    }
    if (status == PV_OK) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
        for (int t = 0; t < threads; t++)
            for (size_t s = (size_t)t; s < draws && workers[t].status == PV_OK && !pv__interrupted(ctx);
                 s += (size_t)threads)
                workers[t].status = visit(c, data, v, &workers[t], s);
        for (int t = 0; t < threads && status == PV_OK; t++)
            if (workers[t].status != PV_OK)
                status = pv__ctx_adopt(ctx, workers[t].ctx);
        if (status == PV_OK && pv__interrupted(ctx))
            status = pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    }
    for (int t = 0; t < threads; t++)
        worker_free(v, &workers[t]);
    pv__free(ctx, workers);
    return status == PV_OK ? pv__columns_unchanged(ctx, data) : status;
}
