/* A training step's log-likelihoods and gradient, when several processes share the batch.
 *
 * A batch is divided into groups of rows that depend on its size and the model alone. Each process has a run of groups,
 * makes the forward and backward pass for its rows, and sends the gradients of a few nodes of the groups' tree
 * (base/tree.h) together with the log-likelihoods of its rows: one exchange per step. If the derivative of a row's loss
 * depends on other rows, as with log p-hat of the batch, log-likelihoods are exchanged earlier. The loss, the auxiliary
 * network and the optimiser's step are computed by every process from the same numbers.
 */
#include <string.h>

#include "infer/infer.h"

struct pv__gradient {
    pv_ctx *ctx;
    const pv__problem *problem;
    pv__tree tree;
    size_t size, group, classes, params;
    size_t begin, end;   /* the batch's rows that belong to this process */
    bool early;          /* log-likelihoods of all rows are needed before the derivatives */
    pv_model_work *work; /* NULL: this process has no rows */
    double *spare;
    size_t most;        /* the most rows of any process */
    double *mine, *all; /* [most][classes], [most limbs][params]; from each process. NULL: not shared */
};

static size_t row_of(const pv__gradient *g, size_t group) {
    return group * g->group < g->size ? group * g->group : g->size;
}

/* Index of the first row of rank r. */
static size_t rows_before(const pv__gradient *g, int rank) {
    return row_of(g, pv__share_of(g->tree.groups, rank, g->ctx->ranks.calls.size));
}

static size_t message(const pv__gradient *g) {
    return g->most * g->classes + g->tree.most * g->params;
}

static pv_status make_room(pv_ctx *ctx, pv__gradient *g) {
    const pv_model *model = g->problem->model;
    if (g->begin < g->end) {
        size_t rows = g->tree.shared ? (g->tree.last - g->tree.first) * g->group : g->size;
        PV_TRY(pv_model_work_new(ctx, model, rows, &g->work));
        PV_TRY(pv__alloc(ctx, pv__model_spare(model, &g->tree), sizeof *g->spare, &g->spare));
    }
    if (!g->tree.shared)
        return PV_OK;
    if (g->work && !pv__model_work_share(model, g->work, g->size, g->begin))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "the context's engine needs whole batches, but ranks share each batch;\nuse the default engine");
    for (int r = 0; r < ctx->ranks.calls.size; r++) {
        size_t rows = rows_before(g, r + 1) - rows_before(g, r);
        g->most = rows > g->most ? rows : g->most;
    }
    PV_TRY(pv__alloc(ctx, message(g), sizeof *g->mine, &g->mine));
    return pv__alloc(ctx, message(g), (size_t)ctx->ranks.calls.size * sizeof *g->all, &g->all);
}

pv_status pv__gradient_new(pv_ctx *ctx, const pv__problem *problem, size_t size, bool early, pv__gradient **gradient) {
    pv__gradient *g;
    *gradient = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *g, &g));
    *g = (pv__gradient){.ctx = ctx, .problem = problem, .size = size, .early = early};
    g->classes = (size_t)problem->targets.classes;
    g->params = pv_model_params(problem->model);
    g->group = pv__model_group_rows(problem->model, size);
    g->tree = pv__tree_of(ctx, problem->shared, (size + g->group - 1) / g->group);
    g->begin = row_of(g, g->tree.first);
    g->end = row_of(g, g->tree.last);
    pv_status status = make_room(ctx, g);
    if (status == PV_OK)
        *gradient = g;
    else
        pv__gradient_free(ctx, g);
    return status;
}

void pv__gradient_free(pv_ctx *ctx, pv__gradient *g) {
    if (!g)
        return;
    pv_model_work_free(ctx, g->work);
    pv__free(ctx, g->spare);
    pv__free(ctx, g->mine);
    pv__free(ctx, g->all);
    pv__free(ctx, g);
}

void pv__gradient_rows(const pv__gradient *g, size_t *begin, size_t *end) {
    *begin = g->begin;
    *end = g->end;
}

bool pv__gradient_completes(const pv__gradient *g) {
    return g->tree.shared && !g->early;
}

/* Copies the rows that rank r sent to their places. */
static void place_rows(const pv__gradient *g, size_t stride, double *loglik) {
    size_t k = g->classes;
    for (int r = 0; r < g->ctx->ranks.calls.size; r++) {
        size_t begin = rows_before(g, r);
        memcpy(loglik + begin * k, g->all + (size_t)r * stride, (rows_before(g, r + 1) - begin) * k * sizeof *loglik);
    }
}

pv_status pv__gradient_forward(pv__gradient *g, const double *w, int64_t step, const double *x, double *loglik) {
    const pv_fit_options *options = &g->problem->plan->options;
    size_t k = g->classes, rows = g->end - g->begin, d = (size_t)pv_model_inputs(g->problem->model);
    double *own = loglik + g->begin * k;
    if (g->work) {
        pv__model_work_train(g->work, (uint64_t)options->seed, (uint64_t)step, options->freeze_low);
        pv_model_forward(g->problem->model, g->work, w, rows, x + g->begin * d, own);
        PV_TRY(pv__model_work_check(g->ctx, g->work));
    }
    if (!g->tree.shared || !g->early)
        return PV_OK;
    memcpy(g->mine, own, rows * k * sizeof *own);
    PV_TRY(pv__gather(g->ctx, g->mine, g->most * k * sizeof *own, g->all));
    place_rows(g, g->most * k, loglik);
    return PV_OK;
}

pv_status pv__gradient_backward(pv__gradient *g, const double *w, const double *x, double *loglik,
                                const double *dloglik, double *dw) {
    const pv_model *model = g->problem->model;
    size_t k = g->classes, rows = g->end - g->begin, d = (size_t)pv_model_inputs(model);
    size_t beside = g->early ? 0 : g->most * k, stride = beside + g->tree.most * g->params;
    double *limbs = g->tree.shared ? g->mine + beside : dw;
    if (g->work) {
        pv__model_backward_limbs(model, g->work, &g->tree, g->group, w, rows, x + g->begin * d, loglik + g->begin * k,
                                 dloglik + g->begin * k, g->spare, limbs);
        PV_TRY(pv__model_work_check(g->ctx, g->work));
    }
    if (!g->tree.shared)
        return PV_OK;
    if (!g->early)
        memcpy(g->mine, loglik + g->begin * k, rows * k * sizeof *loglik);
    PV_TRY(pv__gather(g->ctx, g->mine, stride * sizeof *g->mine, g->all));
    if (!g->early)
        place_rows(g, stride, loglik);
    pv__tree_join(g->ctx, &g->tree, g->params, stride, g->all + beside, dw);
    return PV_OK;
}
