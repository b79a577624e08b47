/* Labels in order: cumulative logits with proportional odds (McCullagh 1980), as a model and as the output layer of
 * networks.
 *
 *   P(y <= j | x) = sigma(c_j - eta(x)),  j = 0 .. K-2,  c_0 < c_1 < ...
 *
 * Parameters are output biases b_1 .. b_{K-1} (b_0 = 0) in the place of the thresholds c: softmax(b) is what the model
 * predicts where eta is 0. So thresholds are in order whatever b is, and biases start, are centred and are moved as
 * those of any other model. With p_y = softmax(b)_y and S_j = p_0 + .. + p_j,
 *
 *   c_j = log S_j - log(1 - S_j),
 *   log p(y|x) = log sigma(c_y - eta) + log sigma(eta - c_{y-1}) + log p_y - log S_y - log(1 - S_{y-1}),
 *
 * without differences of nearly equal numbers: sigma(a) - sigma(b) = sigma(a) sigma(-b) (1 - exp(b - a)), and the last
 * factor is p_y / (S_y (1 - S_{y-1})). With two labels this is logistic regression.
 *
 * Probabilities times one factor for each label are no member of the family where there are more than two labels: a
 * model that holds in the population does not hold in a sample by label, nor the other way round.
 */
#include <math.h>
#include <string.h>

#include "model/model.h"

/* ---- the output layer -------------------------------------------------------------------------------------------- */

typedef struct scale {
    size_t k;
    double *log_p, *log_s, *log_t; /* [k]: log p_y, log S_y, log(1 - S_{y-1}) */
    double *c;                     /* [k-1], the thresholds */
    double *mass, *slope;          /* [k]: sums of the gradient by label; by threshold */
} scale;

size_t pv__ordinal_room(size_t k) {
    return 6 * k;
}

static double log_add(double a, double b) {
    double most = fmax(a, b);
    return most + log1p(exp(fmin(a, b) - most));
}

static scale scale_at(size_t k, const double *b, double *room) { // NOLINT(readability-non-const-parameter): its memory
    scale s = {.k = k, .log_p = room};
    s.log_s = s.log_p + k;
    s.log_t = s.log_s + k;
    s.c = s.log_t + k;
    s.mass = s.c + k;
    s.slope = s.mass + k;
    s.log_p[0] = 0;
    memcpy(s.log_p + 1, b, (k - 1) * sizeof *b);
    double norm = pv_log_sum_exp(k, s.log_p);
    for (size_t y = 0; y < k; y++)
        s.log_p[y] -= norm;
    s.log_s[0] = s.log_p[0];
    for (size_t y = 1; y < k; y++)
        s.log_s[y] = log_add(s.log_s[y - 1], s.log_p[y]);
    s.log_t[k - 1] = s.log_p[k - 1];
    for (size_t y = k - 1; y-- > 0;)
        s.log_t[y] = log_add(s.log_t[y + 1], s.log_p[y]);
    s.log_s[k - 1] = s.log_t[0] = 0;
    for (size_t j = 0; j + 1 < k; j++)
        s.c[j] = s.log_s[j] - s.log_t[j + 1];
    return s;
}

static double log_sigma(double z) {
    return z < 0 ? z - log1p(exp(z)) : -log1p(exp(-z));
}

void pv__ordinal_thresholds(size_t k, const double *b, double *room, double *c) {
    scale s = scale_at(k, b, room);
    memcpy(c, s.c, (k - 1) * sizeof *c);
}

void pv__ordinal_forward(size_t n, size_t k, const double *b, const double *eta, double *room, double *loglik) {
    scale s = scale_at(k, b, room);
    for (size_t i = 0; i < n; i++) {
        double *row = loglik + i * k;
        for (size_t y = 0; y < k; y++)
            row[y] = s.log_p[y] - s.log_s[y] - s.log_t[y];
        for (size_t j = 0; j + 1 < k; j++) {
            double below = log_sigma(s.c[j] - eta[i]);
            row[j] += below;
            row[j + 1] += below - (s.c[j] - eta[i]); /* log sigma(eta - c) */
        }
    }
}

/* What the sums over rows are worth in b. */
static void add_bias(const scale *s, double *db) {
    size_t k = s->k;
    for (size_t i = 1; i < k; i++) {
        double sum = s->mass[i];
        for (size_t y = 0; y < k; y++) {
            double share = exp(s->log_p[i]);
            if (i <= y)
                share -= exp(s->log_p[i] - s->log_s[y]);
            if (i >= y)
                share -= exp(s->log_p[i] - s->log_t[y]);
            sum += s->mass[y] * share;
        }
        for (size_t j = 0; j + 1 < k; j++)
            sum += s->slope[j] * (i <= j ? exp(s->log_p[i] - s->log_s[j]) : -exp(s->log_p[i] - s->log_t[j + 1]));
        db[i - 1] += sum;
    }
}

void pv__ordinal_backward(size_t n, size_t k, const double *b, const double *eta, const double *dloglik, double *room,
                          double *deta, double *db) {
    scale s = scale_at(k, b, room);
    memset(s.mass, 0, 2 * k * sizeof *s.mass);
    for (size_t i = 0; i < n; i++) {
        const double *d = dloglik + i * k;
        double sum = 0;
        s.mass[0] += d[0];
        for (size_t j = 0; j + 1 < k; j++) {
            double z = s.c[j] - eta[i], below = exp(log_sigma(z)), above = exp(log_sigma(-z));
            double slope = d[j] * above - d[j + 1] * below;
            s.mass[j + 1] += d[j + 1];
            s.slope[j] += slope;
            sum -= slope;
        }
        deta[i] = sum;
    }
    add_bias(&s, db);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* Parameters: the K-1 output biases, then a slope for each input. */
static pv_status parse(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    (void)ctx;
    *mine = strcmp(spec, "ordinal") == 0;
    if (*mine) {
        model->ordinal = true;
        model->params = (size_t)model->classes - 1 + pv__model_slopes(model);
    }
    return PV_OK;
}

static size_t work_size(const pv_model *model, size_t rows) {
    return 2 * rows + pv__ordinal_room((size_t)model->classes) + (size_t)model->inputs;
}

static bool is_bias(const pv_model *model, size_t parameter) {
    return parameter + 1 < (size_t)model->classes;
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

/* What the thresholds are compared with; an offset is part of it as it stands. */
static void eta_of(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                   double *eta) {
    size_t k = (size_t)model->classes;
    double *room = work->block + 2 * work->rows + pv__ordinal_room(k);
    work->compute->rows_dot(n, (size_t)model->inputs, x, pv__input_weights(model, w + k - 1, room), 0, eta);
}

static void forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik) {
    size_t k = (size_t)model->classes;
    double *eta = work->block, *room = eta + 2 * work->rows;
    eta_of(model, work, w, n, x, eta);
    pv__ordinal_forward(n, k, w, eta, room, loglik);
}

static void backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw) {
    (void)loglik;
    size_t k = (size_t)model->classes;
    double *eta = work->block, *deta = eta + work->rows, *room = deta + work->rows;
    eta_of(model, work, w, n, x, eta);
    pv__ordinal_backward(n, k, w, eta, dloglik, room, deta, dw);
    pv__add_inputs(work->compute, model, n, x, deta, dw + k - 1);
}

/* ---- on a device: a dense layer of one output, without a bias ---------------------------------------------------- */

static int dense(const pv_model *model, size_t *width) {
    width[0] = (size_t)model->inputs;
    width[1] = 1;
    return 1;
}

static void to_dense(const pv_model *model, const double *w, double *dense) {
    dense[0] = 0;
    memcpy(dense + 1, w + model->classes - 1, (size_t)model->inputs * sizeof *dense);
}

static void from_dense(const pv_model *model, const double *ddense, double *dw) {
    for (size_t i = 0; i < (size_t)model->inputs; i++)
        dw[(size_t)model->classes - 1 + i] += ddense[1 + i];
}

static void link_forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                         double *loglik) {
    pv__ordinal_forward(n, (size_t)model->classes, w, out, work->block + 2 * work->rows, loglik);
}

static void link_backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                          const double *loglik, const double *dloglik, double *dout, double *dw) {
    (void)loglik;
    pv__ordinal_backward(n, (size_t)model->classes, w, out, dloglik, work->block + 2 * work->rows, dout, dw);
}

const pv__architecture pv__ordinal = {.parse = parse,
                                      .work_size = work_size,
                                      .is_bias = is_bias,
                                      .start = start,
                                      .output_bias = output_bias,
                                      .forward = forward,
                                      .backward = backward,
                                      .convex = true,
                                      .takes_offset = true,
                                      .has_thresholds = true,
                                      .dense = dense,
                                      .to_dense = to_dense,
                                      .from_dense = from_dense,
                                      .link_forward = link_forward,
                                      .link_backward = link_backward};
