/* mlp: dense layers with ReLU between, softmax at the end.
 *
 *   h_0 = x;  h_l = relu(h_{l-1} W_l + b_l);  logits = h_{L-1} W_L + b_L
 *
 * Parameters layer by layer: W_l [width_{l-1}][width_l], then b_l [width_l]. Work: the activations of each layer, their
 * gradients, and the transpose of one weight matrix.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

static pv_status parse_widths(pv_ctx *ctx, pv_model *model, const char *list) {
    model->width[0] = (size_t)model->inputs;
    model->layers = 0;
    const char *at = list;
    for (;;) {
        char *end;
        long width = strtol(at, &end, 10);
        if (end == at || width < 1 || width > 65536 || (*end != ',' && *end != '\0'))
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`model` %s: layer sizes are whole numbers from 1 to 65536, as in mlp:64,32", model->spec);
        if (model->layers + 2 > PV_LAYERS_MAX)
            return pv__fail(ctx, PV_ERR_USAGE, "`model` %s: at most %d hidden layers", model->spec, PV_LAYERS_MAX - 1);
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

static pv_status parse(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    *mine = strncmp(spec, "mlp:", 4) == 0;
    return *mine ? parse_widths(ctx, model, spec + 4) : PV_OK;
}

static size_t widest(const pv_model *model) {
    size_t most = 0;
    for (int l = 1; l <= model->layers; l++)
        most = model->width[l] > most ? model->width[l] : most;
    return most;
}

static size_t largest_matrix(const pv_model *model) {
    size_t most = 0;
    for (int l = 0; l < model->layers; l++) {
        size_t size = model->width[l] * model->width[l + 1];
        most = size > most ? size : most;
    }
    return most;
}

static size_t work_size(const pv_model *model, size_t rows) {
    size_t size = 2 * rows * widest(model) + largest_matrix(model);
    for (int l = 1; l <= model->layers; l++)
        size += rows * model->width[l];
    return size;
}

static bool is_bias(const pv_model *model, size_t parameter) {
    for (int l = 0; l < model->layers; l++) {
        size_t matrix = model->width[l] * model->width[l + 1];
        if (parameter < matrix)
            return false;
        parameter -= matrix;
        if (parameter < model->width[l + 1])
            return true;
        parameter -= model->width[l + 1];
    }
    return false;
}

/* He et al. 2015: variance 2/inputs. The output layer starts small, so that training starts at its biases. */
static void start(const pv_model *model, uint64_t seed, double *w) {
    for (int l = 0; l < model->layers; l++) {
        pv_rng rng = pv_rng_stream(seed, PV_STREAM_MLP_START, (uint64_t)l);
        size_t matrix = model->width[l] * model->width[l + 1];
        double scale = sqrt(2 / (double)(model->width[l] ? model->width[l] : 1)) * (l + 1 == model->layers ? 0.1 : 1);
        for (size_t i = 0; i < matrix; i++)
            w[i] = scale * pv_rng_normal(&rng);
        w += matrix + model->width[l + 1];
    }
}

static double *output_bias(const pv_model *model, double *w, size_t *stride) {
    *stride = 1;
    return w + model->params - (size_t)model->classes;
}

static void forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik) {
    const double *in = x;
    double *out = work->block;
    for (int l = 0; l < model->layers; l++) {
        size_t from = model->width[l], to = model->width[l + 1];
        const double *bias = w + from * to;
        for (size_t i = 0; i < n; i++)
            memcpy(out + i * to, bias, to * sizeof *out);
        work->compute->matmul(n, to, from, in, from, 1, w, out, true);
        if (l + 1 < model->layers)
            work->compute->relu(n * to, out);
        w += (from + 1) * to;
        in = out;
        out += work->rows * to;
    }
    pv__log_softmax_rows(n, (size_t)model->classes, in, loglik);
}

static void transpose(size_t rows, size_t columns, const double *a, double *t) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            t[j * rows + i] = a[i * columns + j];
}

static void backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw) {
    size_t activations = 0;
    for (int l = 1; l <= model->layers; l++)
        activations += work->rows * model->width[l];
    double *dout = work->block + activations, *din = dout + work->rows * widest(model);
    double *turned = din + work->rows * widest(model);
    pv__log_softmax_rows_backward(n, (size_t)model->classes, loglik, dloglik, dout);
    size_t parameters = model->params;
    const double *after = work->block + activations; /* one past the layer's own activations */
    for (int l = model->layers - 1; l >= 0; l--) {
        size_t from = model->width[l], to = model->width[l + 1];
        parameters -= (from + 1) * to;
        after -= work->rows * to;
        const double *in = l > 0 ? after - work->rows * from : x;
        work->compute->matmul(from, to, n, in, 1, from, dout, dw + parameters, true);
        double *dbias = dw + parameters + from * to;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < to; j++)
                dbias[j] += dout[i * to + j];
        if (l == 0)
            break;
        transpose(from, to, w + parameters, turned);
        work->compute->matmul(n, from, to, dout, to, 1, turned, din, false);
        work->compute->relu_backward(n * from, in, din);
        double *held = dout;
        dout = din;
        din = held;
    }
}

const pv__architecture pv__mlp = {.parse = parse,
                                  .work_size = work_size,
                                  .is_bias = is_bias,
                                  .start = start,
                                  .output_bias = output_bias,
                                  .forward = forward,
                                  .backward = backward,
                                  .backward_needs_work = true};
