/* Gradients of a batch by groups of rows, which processes share.
 *
 * Networks split a batch into the parts that their engines process. For other models one work object processes the
 * groups in order, and their gradients are added as a binary tree, which needs one buffer per level.
 */
#include <string.h>

#include "model/model.h"

/* A sixteenth of the batch, so that adding its gradient costs little compared to computing it, but enough rows to keep
 * kernels busy and few enough to fit the cache. */
size_t pv__model_group_rows(const pv_model *model, size_t batch) {
    enum { FEWEST = 32, MOST = 512, SHARE = 16 };
    if (model->architecture->group_rows)
        return model->architecture->group_rows(model, batch);
    size_t rows = (batch + SHARE - 1) / SHARE;
    return rows < FEWEST ? FEWEST : rows > MOST ? MOST : rows;
}

bool pv__model_work_share(const pv_model *model, pv_model_work *work, size_t batch, size_t first) {
    return !model->architecture->share || model->architecture->share(model, work, batch, first);
}

size_t pv__model_spare(const pv_model *model, const pv__tree *tree) {
    int most = 0;
    for (size_t i = 0; i < tree->limbs; i++)
        most = tree->limb[i].level > most ? tree->limb[i].level : most;
    return model->architecture->backward_groups ? 0 : (size_t)most * model->params;
}

typedef struct pass {
    const pv_model *model;
    pv_model_work *work;
    const pv__tree *tree;
    size_t group, n;
    const double *w, *x, *loglik, *dloglik;
    double *spare; /* [levels][params] */
} pass;

static void one_group(const pass *p, size_t g, double *dw) {
    size_t begin = (g - p->tree->first) * p->group, k = (size_t)p->model->classes;
    size_t rows = p->n - begin < p->group ? p->n - begin : p->group;
    memset(dw, 0, p->model->params * sizeof *dw);
    p->work->at = begin;
    pv_model_backward(p->model, p->work, p->w, rows, p->x + begin * (size_t)p->model->inputs, p->loglik + begin * k,
                      p->dloglik + begin * k, dw);
    p->work->at = 0;
}

/* Writes the gradient of a node's groups to dw. */
static void node(const pass *p, size_t first, size_t last, int level, double *dw) {
    if (level == 0) {
        one_group(p, first, dw);
        return;
    }
    size_t half = first + ((size_t)1 << (level - 1)), params = p->model->params;
    node(p, first, half < last ? half : last, level - 1, dw);
    if (half >= last)
        return;
    double *more = p->spare + (size_t)(level - 1) * params;
    node(p, half, last, level - 1, more);
    for (size_t i = 0; i < params; i++)
        dw[i] += more[i];
}

void pv__model_backward_limbs(const pv_model *model, pv_model_work *work, const pv__tree *tree, size_t group,
                              const double *w, size_t n, const double *x, const double *loglik, const double *dloglik,
                              double *spare, double *dw) {
    const pv__architecture *of = model->architecture;
    pass p = {model, work, tree, group, n, w, x, loglik, dloglik, NULL};
    p.spare = spare;
    if (of->backward_groups)
        memset(dw, 0, tree->limbs * model->params * sizeof *dw);
    if (of->backward_groups && !tree->shared) { /* by an engine that may process the batch as a whole */
        pv_model_backward(model, work, w, n, x, loglik, dloglik, dw);
        return;
    }
    if (of->backward_groups)
        of->backward_groups(model, work, w, n, loglik, dloglik);
    for (size_t i = 0; i < tree->limbs; i++) {
        const pv__limb *limb = &tree->limb[i];
        if (of->backward_groups)
            of->add_groups(model, work, limb->first - tree->first, limb->last - tree->first, dw + i * model->params);
        else
            node(&p, limb->first, limb->last, limb->level, dw + i * model->params);
    }
}
