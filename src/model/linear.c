/* linear: logistic regression, and softmax regression relative to the first class. additive: the same with additional
 * features, curved parts of columns and all levels of categories (data/smooth.c), with priors of their own
 * (infer/smoothing.c).
 *
 *   logit_y(x) = b_y + w_y . x for y = 1 .. K-1, logit_0 = 0;  parameters [K-1][1 + inputs], the intercept first.
 *
 * With two classes the first input may be an offset, whose coefficient is fixed at 1 and is not a parameter.
 */
#include <string.h>

#include "model/model.h"

static pv_status parse(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    (void)ctx;
    *mine = strcmp(spec, "linear") == 0;
    model->params = (pv__model_slopes(model) + 1) * ((size_t)model->classes - 1);
    return PV_OK;
}

static pv_status parse_additive(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    PV_TRY(parse(ctx, model, "linear", mine));
    *mine = pv__model_is_smooth(spec);
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

/* ---- information --------------------------------------------------------------------------------------------------
 */

/* For each pair of logits, the sums of a weight, of the weight times x, and of the weight times x x^T (lower
 * triangle). */
static size_t pair_size(const pv_model *model) {
    size_t d = (size_t)model->inputs;
    return 1 + d + d * d;
}

static size_t information_size(const pv_model *model) {
    size_t J = (size_t)model->classes - 1;
    return J * (J + 1) / 2 * pair_size(model);
}

static void add_information(const pv_model *model, const pv_model_work *work, const double *w, size_t n,
                            const double *x, const double *v, const double *q, double *sums, double *room) {
    (void)w;
    size_t k = (size_t)model->classes, d = (size_t)model->inputs;
    double *own = room + n * d;
    for (size_t j = 1; j < k; j++)
        for (size_t l = 1; l <= j; l++, sums += pair_size(model)) {
            for (size_t i = 0; i < n; i++) {
                const double *p = q + i * k;
                double rest = l == j ? 0 : -p[l];
                for (size_t y = 0; l == j && y < k; y++) /* 1 - p_j without cancellation if p_j is near 1 */
                    rest += y == j ? 0 : p[y];
                own[i] = v[i] * p[j] * rest;
            }
            sums[0] += work->compute->rows_add(n, d, x, own, sums + 1);
            work->compute->gram(n, d, x, own, sums + 1 + d, room);
        }
}

static void information_of(const pv_model *model, const double *sums, double *information) {
    size_t J = (size_t)model->classes - 1, d = (size_t)model->inputs, skip = model->offset, size = d - skip + 1;
    for (size_t j = 0; j < J; j++)
        for (size_t l = 0; l <= j; l++, sums += pair_size(model))
            for (size_t i = 0; i < size; i++)
                for (size_t c = 0; c <= i; c++) {
                    size_t row = skip + i - 1, column = skip + c - 1; /* indices of the inputs, without the intercept */
                    double own = i == 0 ? sums[0] : c == 0 ? sums[1 + row] : sums[1 + d + row * d + column];
                    size_t a = j * size + i, b = l * size + c, e = j * size + c, f = l * size + i;
                    information[a * model->params + b] = information[b * model->params + a] = own;
                    information[e * model->params + f] = information[f * model->params + e] = own;
                }
}

/* ---- on a device: one dense layer of K-1 outputs with our own parameter layout ----------------------------------- */

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

/* ---- conversion to steps ----------------------------------------------------------------------------------------- */

static int describe(const pv_model *model, pv__steps *steps, const pv__parameters *p, int x) {
    size_t k = (size_t)model->classes, d = (size_t)model->inputs, size = pv__model_slopes(model) + 1;
    ptrdiff_t *place = NULL; /* [inputs + 1][labels], the intercepts last */
    if (steps->status == PV_OK)
        steps->status = pv__alloc(steps->ctx, (d + 1) * k, sizeof *place, &place);
    for (size_t i = 0; place && i <= d; i++)
        for (size_t y = 0; y < k; y++)
            place[i * k + y] = y == 0                    ? PV__ZERO
                               : i == d                  ? (ptrdiff_t)((y - 1) * size)
                               : i == 0 && model->offset ? PV__ONE
                                                         : (ptrdiff_t)((y - 1) * size + 1 + i - model->offset);
    int logits = place ? pv__steps_gather(steps, p, 1, k, place + d * k) : -1;
    if (place && d > 0) {
        int slopes = pv__steps_gather(steps, p, d, k, place);
        logits = pv__steps_two(steps, PV__STEP_ADD, pv__steps_two(steps, PV__STEP_MATMUL, x, slopes), logits);
    }
    pv__free(steps->ctx, place);
    return pv__steps_log_softmax(steps, logits);
}

#define SHARED                                                                                                         \
    .work_size = work_size, .is_bias = is_bias, .start = start, .output_bias = output_bias, .forward = forward,        \
    .backward = backward, .first_class_fixed = true, .convex = true, .has_coefficients = true, .has_curvature = true,  \
    .takes_offset = true, .logistic_loss = logistic_loss, .dense = dense, .to_dense = to_dense,                        \
    .from_dense = from_dense, .link_forward = link_forward, .link_backward = link_backward, .describe = describe,      \
    .information_size = information_size, .add_information = add_information, .information_of = information_of

const pv__architecture pv__linear = {.parse = parse, SHARED};
const pv__architecture pv__additive = {.parse = parse_additive, .has_smooths = true, SHARED};
