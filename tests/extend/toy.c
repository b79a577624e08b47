/* toy: the same probabilities for every row, softmax(0, w_1 .. w_{K-1}). */
#include <string.h>

#include "model/model.h"

static pv_status parse(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    (void)ctx;
    *mine = strcmp(spec, "toy") == 0;
    model->params = (size_t)model->classes - 1;
    return PV_OK;
}

static size_t work_size(const pv_model *model, size_t rows) {
    return rows * (size_t)model->classes;
}

static bool is_bias(const pv_model *model, size_t parameter) {
    (void)model;
    (void)parameter;
    return true;
}

static void start(const pv_model *model, uint64_t seed, double *w) {
    (void)seed;
    memset(w, 0, model->params * sizeof *w);
}

static double *output_bias(const pv_model *model, double *w, size_t *stride) {
    (void)model;
    *stride = 1;
    return w;
}

static void forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik) {
    size_t k = (size_t)model->classes;
    (void)work;
    (void)x;
    for (size_t i = 0; i < n; i++) {
        loglik[i * k] = 0;
        memcpy(loglik + i * k + 1, w, (k - 1) * sizeof *w);
    }
    pv__log_softmax_rows(n, k, loglik, loglik);
}

static void backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw) {
    size_t k = (size_t)model->classes;
    (void)w;
    (void)x;
    pv__log_softmax_rows_backward(n, k, loglik, dloglik, work->block);
    for (size_t i = 0; i < n; i++)
        for (size_t y = 1; y < k; y++)
            dw[y - 1] += work->block[i * k + y];
}

const pv__architecture pv__toy = {.parse = parse,
                                  .work_size = work_size,
                                  .is_bias = is_bias,
                                  .start = start,
                                  .output_bias = output_bias,
                                  .forward = forward,
                                  .backward = backward,
                                  .first_class_fixed = true};
