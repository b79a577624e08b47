/* mlp: dense layers with ReLU in between and softmax at the end.
 *
 *   h_0 = x;  h_l = relu(h_{l-1} W_l + b_l);  logits = h_{L-1} W_L + b_L
 *
 * Parameters layer by layer: W_l [width_{l-1}][width_l], then b_l [width_l]. With an ordinal output the last layer has
 * one output and classes - 1 biases, which define thresholds (ordinal.c). Work: the activations of each layer, their
 * gradients, and the transpose of one weight matrix.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

/* Number of biases of a layer. */
static size_t biases(const pv_model *model, int l) {
    return model->ordinal && l + 1 == model->layers ? (size_t)model->classes - 1 : model->width[l + 1];
}

static pv_status parse_widths(pv_ctx *ctx, pv_model *model, const char *list) {
    model->width[0] = (size_t)model->inputs;
    model->layers = 0;
    const char *at = list;
    for (;;) {
        if (model->layers > 0 && strcmp(at, "ordinal") == 0) {
            model->ordinal = true;
            break;
        }
        char *end;
        long width = strtol(at, &end, 10);
        if (end == at || width < 1 || width > 65536 || (*end != ',' && *end != '\0'))
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`model=%s`: layer sizes are whole numbers from 1 to 65536, as in mlp:64,32; for ordered "
                            "labels add ordinal, as in mlp:64,ordinal",
                            model->spec);
        if (model->layers + 2 > PV_LAYERS_MAX)
            return pv__fail(ctx, PV_ERR_USAGE, "`model=%s`: at most %d hidden layers", model->spec, PV_LAYERS_MAX - 1);
        model->width[++model->layers] = (size_t)width;
        if (*end == '\0')
            break;
        at = end + 1;
    }
    model->width[++model->layers] = model->ordinal ? 1 : (size_t)model->classes;
    model->params = 0;
    for (int l = 0; l < model->layers; l++)
        model->params += model->width[l] * model->width[l + 1] + biases(model, l);
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

/* Number of weights in all layers except the first, beyond which no gradient is needed. */
static size_t matrices(const pv_model *model) {
    size_t size = 0;
    for (int l = 1; l < model->layers; l++)
        size += model->width[l] * model->width[l + 1];
    return size;
}

static size_t work_size(const pv_model *model, size_t rows) {
    size_t size = 2 * rows * widest(model) + matrices(model) + pv__ordinal_room((size_t)model->classes);
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
        if (parameter < biases(model, l))
            return true;
        parameter -= biases(model, l);
    }
    return false;
}

/* He et al. 2015: variance 2/inputs. The output layer starts small, so that the first outputs are close to its
 * biases. */
static void start(const pv_model *model, uint64_t seed, double *w) {
    for (int l = 0; l < model->layers; l++) {
        pv_rng rng = pv_rng_stream(seed, PV_STREAM_MLP_START, (uint64_t)l);
        size_t matrix = model->width[l] * model->width[l + 1];
        double scale = sqrt(2 / (double)(model->width[l] ? model->width[l] : 1)) * (l + 1 == model->layers ? 0.1 : 1);
        for (size_t i = 0; i < matrix; i++)
            w[i] = scale * pv_rng_normal(&rng);
        w += matrix + biases(model, l);
    }
}

static double *output_bias(const pv_model *model, double *w, size_t *stride) {
    *stride = 1;
    return w + model->params - biases(model, model->layers - 1);
}

static double *ordinal_room(const pv_model *model, const pv_model_work *work) {
    return work->block + work_size(model, work->rows) - pv__ordinal_room((size_t)model->classes);
}

static void forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik) {
    const double *in = x;
    double *out = work->block;
    work->turned = false;
    for (int l = 0; l < model->layers; l++) {
        size_t from = model->width[l], to = model->width[l + 1];
        const double *bias = w + from * to;
        bool thresholds = model->ordinal && l + 1 == model->layers;
        for (size_t i = 0; i < n && !thresholds; i++)
            memcpy(out + i * to, bias, to * sizeof *out);
        work->compute->matmul(n, to, from, in, from, 1, w, out, !thresholds);
        if (l + 1 < model->layers)
            work->compute->relu(n * to, out);
        w += from * to + biases(model, l);
        in = out;
        out += work->rows * to;
    }
    if (model->ordinal)
        pv__ordinal_forward(n, (size_t)model->classes, w - ((size_t)model->classes - 1), in, ordinal_room(model, work),
                            loglik);
    else
        pv__log_softmax_rows(n, (size_t)model->classes, in, loglik);
}

static const double *hidden(const pv_model *model, const pv_model_work *work) {
    const double *at = work->block;
    for (int l = 0; l + 2 < model->layers; l++)
        at += work->rows * model->width[l + 1];
    return at;
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
    size_t parameters = model->params, k = (size_t)model->classes;
    const double *after = work->block + activations; /* one past the layer's own activations */
    if (model->ordinal) {
        size_t at = model->params - (k - 1);
        pv__ordinal_backward(n, k, w + at, after - work->rows + work->at, dloglik, ordinal_room(model, work), dout,
                             dw + at);
    } else {
        pv__log_softmax_rows_backward(n, k, loglik, dloglik, dout);
    }
    for (int l = model->layers - 1; l >= 0; l--) {
        size_t from = model->width[l], to = model->width[l + 1];
        bool thresholds = model->ordinal && l + 1 == model->layers;
        parameters -= from * to + biases(model, l);
        after -= work->rows * to;
        const double *in = l > 0 ? after - (work->rows - work->at) * from : x;
        work->compute->matmul(from, to, n, in, 1, from, dout, dw + parameters, true);
        double *dbias = dw + parameters + from * to;
        for (size_t i = 0; i < n && !thresholds; i++)
            for (size_t j = 0; j < to; j++)
                dbias[j] += dout[i * to + j];
        if (l == 0)
            break;
        if (!work->turned)
            transpose(from, to, w + parameters, turned);
        work->compute->matmul(n, from, to, dout, to, 1, turned, din, false);
        work->compute->relu_backward(n * from, in, din);
        turned += from * to;
        double *held = dout;
        dout = din;
        din = held;
    }
    work->turned = true; /* reused for other rows of the same forward pass */
}

/* ---- on a device ------------------------------------------------------------------------------------------------- */

static int dense(const pv_model *model, size_t *width) {
    memcpy(width, model->width, ((size_t)model->layers + 1) * sizeof *width);
    return model->layers;
}

/* On the device, biases precede the weights in the first layer, and ordinal thresholds are not part of the last. */
static void to_dense(const pv_model *model, const double *w, double *dense) {
    for (int l = 0; l < model->layers; l++) {
        size_t from = model->width[l], to = model->width[l + 1];
        bool thresholds = model->ordinal && l + 1 == model->layers;
        for (size_t o = 0; o < to && l == 0; o++) {
            dense[o * (1 + from)] = w[from * to + o];
            for (size_t i = 0; i < from; i++)
                dense[o * (1 + from) + 1 + i] = w[i * to + o];
        }
        if (l > 0)
            memcpy(dense, w, from * to * sizeof *dense);
        for (size_t o = 0; o < to && l > 0; o++)
            dense[from * to + o] = thresholds ? 0 : w[from * to + o];
        dense += (from + 1) * to;
        w += from * to + biases(model, l);
    }
}

static void from_dense(const pv_model *model, const double *ddense, double *dw) {
    for (int l = 0; l < model->layers; l++) {
        size_t from = model->width[l], to = model->width[l + 1];
        size_t count = from * to + (model->ordinal && l + 1 == model->layers ? 0 : to);
        for (size_t o = 0; o < to && l == 0; o++) {
            dw[from * to + o] += ddense[o * (1 + from)];
            for (size_t i = 0; i < from; i++)
                dw[i * to + o] += ddense[o * (1 + from) + 1 + i];
        }
        for (size_t i = 0; i < count && l > 0; i++)
            dw[i] += ddense[i];
        ddense += (from + 1) * to;
        dw += from * to + biases(model, l);
    }
}

static void link_forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                         double *loglik) {
    size_t k = (size_t)model->classes;
    if (model->ordinal)
        pv__ordinal_forward(n, k, w + model->params - (k - 1), out, ordinal_room(model, work), loglik);
    else
        pv__log_softmax_rows(n, k, out, loglik);
}

static void link_backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                          const double *loglik, const double *dloglik, double *dout, double *dw) {
    size_t k = (size_t)model->classes, at = model->params - (k - 1);
    if (model->ordinal)
        pv__ordinal_backward(n, k, w + at, out, dloglik, ordinal_room(model, work), dout, dw + at);
    else
        pv__log_softmax_rows_backward(n, k, loglik, dloglik, dout);
}

static int describe(const pv_model *model, pv__steps *steps, const pv__parameters *p, int x) {
    size_t first = 0;
    for (int l = 0; l < model->layers; l++) {
        size_t from = model->width[l], to = model->width[l + 1], bias = first + from * to;
        x = from > 0 ? pv__steps_two(steps, PV__STEP_MATMUL, x, pv__steps_parameters(steps, p, first, from, to))
                     : pv__steps_number(steps, 0);
        if (model->ordinal && l + 1 == model->layers)
            return pv__ordinal_describe(steps, (size_t)model->classes, p, bias, x);
        x = pv__steps_two(steps, PV__STEP_ADD, x, pv__steps_parameters(steps, p, bias, 1, to));
        if (l + 1 < model->layers)
            x = pv__steps_one(steps, PV__STEP_RELU, x);
        first = bias + to;
    }
    return pv__steps_log_softmax(steps, x);
}

const pv__architecture pv__mlp = {.parse = parse,
                                  .work_size = work_size,
                                  .is_bias = is_bias,
                                  .start = start,
                                  .output_bias = output_bias,
                                  .forward = forward,
                                  .backward = backward,
                                  .backward_needs_work = true,
                                  .hidden = hidden,
                                  .dense = dense,
                                  .to_dense = to_dense,
                                  .from_dense = from_dense,
                                  .link_forward = link_forward,
                                  .link_backward = link_backward,
                                  .describe = describe};
