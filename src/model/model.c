/* Models: the list of architectures, starting values, dispatch. */
#include "model/model.h"

#include <math.h>
#include <string.h>

static const pv__architecture *const architectures[] = {
#define ARCHITECTURE(name, usage, help) &pv__##name,
    PV_MODEL_LIST(ARCHITECTURE)
#undef ARCHITECTURE
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

static pv_status parse(pv_ctx *ctx, pv_model *model, const char *spec) {
    for (int i = 0; i < ARCHITECTURES; i++) {
        bool mine;
        model->architecture = architectures[i];
        PV_TRY(model->architecture->parse(ctx, model, spec, &mine));
        if (mine)
            return PV_OK;
    }
    return pv__fail(ctx, PV_ERR_USAGE,
                    "`model=%s`:\nchoose linear, additive, ordinal, mlp with hidden layer sizes, as in mlp:64,32, "
                    "trees, auto, or for images "
                    "convnet or inception",
                    spec);
}

pv_status pv_model_views(pv_ctx *ctx, const char *spec, int64_t *views, int64_t *size) {
    *views = *size = 0;
    bool mine = false;
    for (int i = 0; i < ARCHITECTURES && !mine; i++)
        if (architectures[i]->views)
            PV_TRY(architectures[i]->views(ctx, spec, &mine, views, size));
    return PV_OK;
}

static pv_status check_offset(pv_ctx *ctx, const pv_model *model) {
    if (!model->architecture->takes_offset)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`offset` is for `model=linear`, additive and ordinal:\nchoose one of these, or leave it out");
    if (model->classes > 2 && !model->ordinal)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`offset` is added to one log odds, but %d labels have %d:\nchoose `model=ordinal` if they are "
                        "ordered, or leave it out",
                        model->classes, model->classes - 1);
    return PV_OK;
}

pv_status pv_model_new(pv_ctx *ctx, const char *spec, int inputs, int classes, pv_model **model) {
    return pv__model_new(ctx, spec, inputs, false, classes, model);
}

pv_status pv__model_new(pv_ctx *ctx, const char *spec, int inputs, bool offset, int classes, pv_model **model) {
    *model = NULL;
    if (inputs < offset || classes < 2)
        return pv__fail(ctx, PV_ERR_USAGE, "a model needs at least 2 classes");
    pv_model *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->inputs = inputs;
    made->classes = classes;
    made->offset = offset;
    pv_status status;
    PV_GOTO(fail, pv__strdup(ctx, spec, &made->spec));
    PV_GOTO(fail, parse(ctx, made, spec));
    if (offset)
        PV_GOTO(fail, check_offset(ctx, made));
    *model = made;
    return PV_OK;
fail:
    pv_model_free(ctx, made);
    return status;
}

void pv_model_free(pv_ctx *ctx, pv_model *model) {
    if (!model)
        return;
    for (size_t m = 0; m < model->members; m++)
        pv_model_free(ctx, model->member[m]);
    pv__free(ctx, model->member);
    pv__free(ctx, model->member_from);
    pv__free(ctx, model->spec);
    pv__free(ctx, model->network);
    pv__free(ctx, model);
}

const char *pv_model_spec(const pv_model *model) {
    return model->spec;
}

bool pv_model_has_coefficients(const pv_model *model) {
    return model->architecture->has_coefficients;
}

bool pv__model_is_smooth(const char *spec) {
    return strcmp(spec, "additive") == 0;
}

bool pv_model_has_thresholds(const pv_model *model) {
    return model->architecture->has_thresholds;
}

bool pv_model_is_convex(const pv_model *model) {
    return model->architecture->convex;
}

int pv_model_inputs(const pv_model *model) {
    return model->inputs;
}

int pv_model_classes(const pv_model *model) {
    return model->classes;
}

size_t pv_model_params(const pv_model *model) {
    return model->params;
}

bool pv_model_is_bias(const pv_model *model, size_t parameter) {
    return model->architecture->is_bias(model, parameter);
}

void pv_model_shift(const pv_model *model, const double *shift, double *w) {
    size_t stride;
    double *bias = model->architecture->output_bias(model, w, &stride);
    bool fixed = pv__first_class_fixed(model);
    for (int y = fixed; y < model->classes; y++)
        bias[(size_t)(y - fixed) * stride] += shift[y] - (fixed ? shift[0] : 0);
}

size_t pv__model_hidden(const pv_model *model) {
    if (!model->architecture->hidden)
        return 0;
    return model->network ? pv__network_features(model) : model->width[model->layers - 1];
}

pv_status pv__model_head(pv_ctx *ctx, const pv_model *model, pv_model **head) {
    pv_model *made;
    size_t width = pv__model_hidden(model), k = (size_t)model->classes;
    *head = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    *made = (pv_model){.architecture = &pv__mlp,
                       .inputs = (int)width,
                       .classes = model->classes,
                       .layers = 1,
                       .width = {width, k},
                       .params = (width + 1) * k};
    *head = made;
    return PV_OK;
}

void pv__model_shift_draw(const pv_model *model, const double *shift, size_t dims, double *draw) {
    size_t k = (size_t)model->classes;
    if (dims == model->params)
        pv_model_shift(model, shift, draw);
    for (size_t y = 0; dims < model->params && y < k; y++)
        draw[dims - k + y] += shift[y];
}

void pv_model_start(const pv_model *model, uint64_t seed, const double *log_p, double *w) {
    memset(w, 0, model->params * sizeof *w);
    model->architecture->start(model, seed, w);
    if (log_p)
        pv_model_shift(model, log_p, w);
}

pv_status pv_model_work_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv_model_work **work) {
    *work = NULL;
    if (model->architecture->work_new)
        return model->architecture->work_new(ctx, model, rows, work);
    pv_model_work *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->architecture = model->architecture;
    made->compute = pv__compute_best();
    made->rows = rows;
    pv_status status = pv__alloc(ctx, model->architecture->work_size(model, rows), sizeof(double), &made->block);
    if (status != PV_OK) {
        pv__free(ctx, made);
        return status;
    }
    *work = made;
    return PV_OK;
}

void pv_model_work_free(pv_ctx *ctx, pv_model_work *work) {
    if (!work)
        return;
    if (work->architecture->work_free)
        work->architecture->work_free(ctx, work);
    pv__free(ctx, work->block);
    pv__free(ctx, work);
}

void pv__model_work_train(pv_model_work *work, uint64_t seed, uint64_t step, bool freeze_low) {
    if (work->architecture->train)
        work->architecture->train(work, seed, step, freeze_low);
}

pv_status pv__model_work_check(pv_ctx *ctx, const pv_model_work *work) {
    return work->architecture->check ? work->architecture->check(ctx, work) : PV_OK;
}

bool pv__model_takes_views(const pv_model *model) {
    return model->architecture->views != NULL;
}

size_t pv__model_rows(const pv_model *model, size_t most) {
    return model->architecture->rows ? model->architecture->rows(model, most) : most;
}

size_t pv__model_low_params(const pv_model *model) {
    return model->architecture->low_params ? model->architecture->low_params(model) : 0;
}

void pv_model_forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                      double *loglik) {
    model->architecture->forward(model, work, w, n, x, loglik);
}

void pv_model_backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                       const double *loglik, const double *dloglik, double *dw) {
    model->architecture->backward(model, work, w, n, x, loglik, dloglik, dw);
}

void pv__log_softmax_rows(size_t n, size_t classes, const double *logits, double *loglik) {
    for (size_t i = 0; i < n; i++)
        pv_log_softmax((int)classes, logits + i * classes, loglik + i * classes);
}

void pv__log_softmax_rows_backward(size_t n, size_t classes, const double *loglik, const double *dloglik,
                                   double *dlogits) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t y = 0; y < classes; y++)
            sum += dloglik[i * classes + y];
        for (size_t y = 0; y < classes; y++)
            dlogits[i * classes + y] = dloglik[i * classes + y] - exp(loglik[i * classes + y]) * sum;
    }
}
