/* linear: logistic regression, and softmax regression against the first class.
 *
 *   logit_y(x) = b_y + w_y . x for y = 1 .. K-1, logit_0 = 0;  parameters [K-1][1 + inputs], the intercept first.
 *
 * Of two classes the first input may be an offset, whose weight is 1: the parameters are then those of the others.
 */
#include <string.h>

#include "model/model.h"

static pv_status parse(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    (void)ctx;
    *mine = strcmp(spec, "linear") == 0;
    model->params = (pv__model_slopes(model) + 1) * ((size_t)model->classes - 1);
    return PV_OK;
}

static size_t work_size(const pv_model *model, size_t rows) {
    return 2 * rows * (size_t)model->classes + (size_t)model->inputs;
}

static bool is_bias(const pv_model *model, size_t parameter) {
    return parameter % (pv__model_slopes(model) + 1) == 0;
}

static void start(const pv_model *model, uint64_t seed, double *w) {
    (void)seed;
    memset(w, 0, model->params * sizeof *w);
}

static double *output_bias(const pv_model *model, double *w, size_t *stride) {
    *stride = pv__model_slopes(model) + 1;
    return w;
}

/* Logits of two classes. */
static void logits_of(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                      double *z) {
    double *room = work->block + 2 * work->rows * (size_t)model->classes;
    work->compute->rows_dot(n, (size_t)model->inputs, x, pv__input_weights(model, w + 1, room), w[0], z);
}

static void forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik) {
    size_t d = (size_t)model->inputs, k = (size_t)model->classes;
    double *column = work->block, *logits = column + n;
    if (k == 2) {
        logits_of(model, work, w, n, x, column);
        work->compute->logistic(n, column, loglik);
        return;
    }
    for (size_t i = 0; i < n; i++)
        logits[i * k] = 0;
    for (size_t y = 1; y < k; y++) {
        const double *row = w + (y - 1) * (d + 1);
        work->compute->rows_dot(n, d, x, row + 1, row[0], column);
        for (size_t i = 0; i < n; i++)
            logits[i * k + y] = column[i];
    }
    pv__log_softmax_rows(n, k, logits, loglik);
}

static void backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw) {
    (void)w;
    size_t d = (size_t)model->inputs, k = (size_t)model->classes;
    double *column = work->block, *dlogits = column + n;
    if (k == 2) {
        work->compute->logistic_backward(n, loglik, dloglik, column);
        double sum = pv__add_inputs(work->compute, model, n, x, column, dw + 1);
        dw[0] += sum;
        return;
    }
    pv__log_softmax_rows_backward(n, k, loglik, dloglik, dlogits);
    for (size_t y = 1; y < k; y++) {
        double *row = dw + (y - 1) * (d + 1);
        for (size_t i = 0; i < n; i++)
            column[i] = dlogits[i * k + y];
        row[0] += work->compute->rows_add(n, d, x, column, row + 1);
    }
}

static double logistic_loss(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                            const int32_t *label, const double *weight, const double *factor, double shift, double *z,
                            double *dw) {
    double *dz = work->block;
    logits_of(model, work, w, n, x, z);
    double loss = work->compute->logistic_loss(n, z, shift, label, weight, factor, dz);
    double sum = pv__add_inputs(work->compute, model, n, x, dz, dw + 1);
    dw[0] += sum;
    return loss;
}

/* ---- on a device: a dense layer of K-1 outputs, whose parameters are ours
 * -------------------------------------------- */

static int dense(const pv_model *model, size_t *width) {
    width[0] = (size_t)model->inputs;
    width[1] = (size_t)model->classes - 1;
    return 1;
}

static void to_dense(const pv_model *model, const double *w, double *dense) {
    memcpy(dense, w, model->params * sizeof *dense);
}

static void from_dense(const pv_model *model, const double *ddense, double *dw) {
    for (size_t i = 0; i < model->params; i++)
        dw[i] += ddense[i];
}

static void link_forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                         double *loglik) {
    (void)w;
    size_t k = (size_t)model->classes;
    if (k == 2) {
        work->compute->logistic(n, out, loglik);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        loglik[i * k] = 0;
        memcpy(loglik + i * k + 1, out + i * (k - 1), (k - 1) * sizeof *loglik);
    }
    pv__log_softmax_rows(n, k, loglik, loglik);
}

static void link_backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                          const double *loglik, const double *dloglik, double *dout,
                          double *dw) { // NOLINT(readability-non-const-parameter): other models add to it
    (void)w;
    (void)out;
    (void)dw;
    size_t k = (size_t)model->classes;
    if (k == 2) {
        work->compute->logistic_backward(n, loglik, dloglik, dout);
        return;
    }
    double *dlogits = work->block;
    pv__log_softmax_rows_backward(n, k, loglik, dloglik, dlogits);
    for (size_t i = 0; i < n; i++)
        memcpy(dout + i * (k - 1), dlogits + i * k + 1, (k - 1) * sizeof *dout);
}

const pv__architecture pv__linear = {.parse = parse,
                                     .work_size = work_size,
                                     .is_bias = is_bias,
                                     .start = start,
                                     .output_bias = output_bias,
                                     .forward = forward,
                                     .backward = backward,
                                     .first_class_fixed = true,
                                     .convex = true,
                                     .has_coefficients = true,
                                     .has_curvature = true,
                                     .takes_offset = true,
                                     .logistic_loss = logistic_loss,
                                     .dense = dense,
                                     .to_dense = to_dense,
                                     .from_dense = from_dense,
                                     .link_forward = link_forward,
                                     .link_backward = link_backward};
