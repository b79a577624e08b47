/* Models: parsing, starting values, dispatch. */
#include "model/model.h"
#include "model/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pv_status parse_widths(pv_ctx *ctx, pv_model *model, const char *list) {
    model->width[0] = (size_t)model->inputs;
    model->layers = 0;
    const char *at = list;
    for (;;) {
        char *end;
        long width = strtol(at, &end, 10);
        if (end == at || width < 1 || width > 65536 || (*end != ',' && *end != '\0'))
            return pv__fail(ctx, PV_ERR_USAGE,
                            "--model %s: layer sizes are whole numbers from 1 to 65536, as in mlp:64,32", model->spec);
        if (model->layers + 2 > PV_LAYERS_MAX)
            return pv__fail(ctx, PV_ERR_USAGE, "--model %s: at most %d hidden layers", model->spec, PV_LAYERS_MAX - 1);
        model->width[++model->layers] = (size_t)width;
        if (*end == '\0')
            break;
        at = end + 1;
    }
    model->width[++model->layers] = (size_t)model->classes;
    model->params = 0;
    for (int l = 0; l < model->layers; l++)
        model->params += (model->width[l] + 1) * model->width[l + 1];
    return PV_OK;
}

static pv_status parse(pv_ctx *ctx, pv_model *model, const char *spec) {
    if (strcmp(spec, "linear") == 0) {
        model->architecture = &pv__linear;
        model->params = ((size_t)model->inputs + 1) * ((size_t)model->classes - 1);
        return PV_OK;
    }
    if (strncmp(spec, "mlp:", 4) == 0) {
        model->architecture = &pv__mlp;
        return parse_widths(ctx, model, spec + 4);
    }
    bool is_network;
    PV_TRY(pv__network_parse(ctx, model, spec, &is_network));
    if (is_network)
        return PV_OK;
    return pv__fail(ctx, PV_ERR_USAGE,
                    "--model %s: choose linear, mlp with hidden layer sizes, as in mlp:64,32, or for images convnet or "
                    "inception",
                    spec);
}

pv_status pv_model_new(pv_ctx *ctx, const char *spec, int inputs, int classes, pv_model **model) {
    *model = NULL;
    if (inputs < 0 || classes < 2)
        return pv__fail(ctx, PV_ERR_USAGE, "a model needs at least 2 classes");
    pv_model *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->inputs = inputs;
    made->classes = classes;
    pv_status status;
    PV_GOTO(fail, pv__strdup(ctx, spec, &made->spec));
    PV_GOTO(fail, parse(ctx, made, spec));
    *model = made;
    return PV_OK;
fail:
    pv_model_free(ctx, made);
    return status;
}

void pv_model_free(pv_ctx *ctx, pv_model *model) {
    if (!model)
        return;
    pv__free(ctx, model->spec);
    pv__free(ctx, model->network);
    pv__free(ctx, model);
}

const char *pv_model_spec(const pv_model *model) {
    return model->spec;
}

bool pv_model_is_linear(const pv_model *model) {
    return model->architecture == &pv__linear;
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
    bool fixed = model->architecture->first_class_fixed;
    for (int y = fixed; y < model->classes; y++)
        bias[(size_t)(y - fixed) * stride] += shift[y] - (fixed ? shift[0] : 0);
}

void pv_model_start(const pv_model *model, uint64_t seed, const double *log_p, double *w) {
    memset(w, 0, model->params * sizeof *w);
    model->architecture->start(model, seed, w);
    if (log_p)
        pv_model_shift(model, log_p, w);
}

pv_status pv_model_work_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv_model_work **work) {
    *work = NULL;
    if (model->network)
        return pv__network_work_new(ctx, model, rows, &pv__engine_onednn, work);
    pv_model_work *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
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
    pv__network_work_free(ctx, work->network);
    pv__free(ctx, work->block);
    pv__free(ctx, work);
}

void pv__model_work_train(pv_model_work *work, uint64_t seed, uint64_t step, bool freeze_low) {
    if (!work->network)
        return;
    if (!work->network->training && work->network->kind->heed)
        work->network->kind->heed(work->network->engine, work->network->ctx);
    work->network->training = true;
    work->network->seed = seed;
    work->network->step = step;
    work->network->freeze_low = freeze_low;
}

pv_status pv__model_work_check(pv_ctx *ctx, const pv_model_work *work) {
    const pv__network_work *network = work->network;
    return network && network->kind->check ? network->kind->check(ctx, network->engine) : PV_OK;
}

bool pv__model_is_network(const pv_model *model) {
    return model->network != NULL;
}

size_t pv__model_rows(const pv_model *model, size_t most) {
    if (!model->network)
        return most;
    double rows = (1 << 28) / pv__network_row_floats(model->network);
    return rows < 1 ? 1 : rows < (double)most ? (size_t)rows : most;
}

size_t pv__model_low_params(const pv_model *model) {
    return model->network ? model->network->graph.low_params : 0;
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
