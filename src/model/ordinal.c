/* Ordered labels: cumulative logits with proportional odds (McCullagh 1980), as a model and as the output layer of
 * networks.
 *
 *   P(y <= j | x) = sigma(c_j - eta(x)),  j = 0 .. K-2,  c_0 < c_1 < ...
 *
 * The parameters are output biases b_1 .. b_{K-1} (b_0 = 0) rather than the thresholds c: softmax(b) is the prediction
 * at eta = 0. Thresholds are therefore ordered for any b, and biases are initialised, centred and shifted as in other
 * models. With p_y = softmax(b)_y and S_j = p_0 + .. + p_j,
 *
 *   c_j = log S_j - log(1 - S_j),
 *   log p(y|x) = log sigma(c_y - eta) + log sigma(eta - c_{y-1}) + log p_y - log S_y - log(1 - S_{y-1}),
 *
 * which avoids differences of nearly equal numbers: sigma(a) - sigma(b) = sigma(a) sigma(-b) (1 - exp(b - a)), and the
 * last factor is p_y / (S_y (1 - S_{y-1})). With two labels this is logistic regression.
 *
 * With more than two labels, the family is not closed under multiplying probabilities by a factor per label: a model
 * that holds in the population does not hold in a sample by label, and vice versa.
 */
#include <math.h>
#include <string.h>

#include "core/log_add.h"
#include "model/model.h"

/* ---- output layer ------------------------------------------------------------------------------------------------ */

typedef struct scale {
    size_t k;
    double *log_p, *log_s, *log_t; /* [k]: log p_y, log S_y, log(1 - S_{y-1}) */
    double *c;                     /* [k-1], thresholds */
    double *mass, *slope;          /* [k], sums of the gradient: by label, and by threshold */
} scale;

size_t pv__ordinal_room(size_t k) {
    return 6 * k;
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
        s.log_s[y] = pv__log_add(s.log_s[y - 1], s.log_p[y]);
    s.log_t[k - 1] = s.log_p[k - 1];
    for (size_t y = k - 1; y-- > 0;)
        s.log_t[y] = pv__log_add(s.log_t[y + 1], s.log_p[y]);
    s.log_s[k - 1] = s.log_t[0] = 0;
    for (size_t j = 0; j + 1 < k; j++)
        s.c[j] = s.log_s[j] - s.log_t[j + 1];
    return s;
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
            double below = pv_log_sigmoid(s.c[j] - eta[i]);
            row[j] += below;
            row[j + 1] += below - (s.c[j] - eta[i]); /* log sigma(eta - c) */
        }
    }
}

/* Converts the sums over rows to the gradient with respect to b. */
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
            double z = s.c[j] - eta[i], below = exp(pv_log_sigmoid(z)), above = exp(pv_log_sigmoid(-z));
            double slope = d[j] * above - d[j + 1] * below;
            s.mass[j + 1] += d[j + 1];
            s.slope[j] += slope;
            sum -= slope;
        }
        deta[i] = sum;
    }
    add_bias(&s, db);
}

/* log p(y|x) as in pv__ordinal_forward. The part that does not depend on eta is computed here, for each draw. */
int pv__ordinal_describe(pv__steps *steps, size_t k, const pv__parameters *p, size_t first, int eta) {
    size_t draws = pv__parameters_drawn(p, first) ? p->draw_count : 0, sets = draws ? draws : 1;
    double *block = NULL;
    if (steps->status == PV_OK)
        steps->status = pv__alloc(steps->ctx, sets * (2 * k - 1) + 2 * (k - 1) * k + k + pv__ordinal_room(k),
                                  sizeof *block, &block);
    if (!block)
        return -1;
    double *level = block, *threshold = level + sets * k, *below = threshold + sets * (k - 1);
    double *above = below + (k - 1) * k, *b = above + (k - 1) * k, *room = b + k;
    for (size_t d = 0; d < sets; d++) {
        for (size_t j = 0; j + 1 < k; j++)
            b[j] = pv__parameter(p, d, first + j);
        scale s = scale_at(k, b, room);
        for (size_t y = 0; y < k; y++)
            level[d * k + y] = s.log_p[y] - s.log_s[y] - s.log_t[y];
        memcpy(threshold + d * (k - 1), s.c, (k - 1) * sizeof *s.c);
    }
    for (size_t j = 0; j + 1 < k; j++)
        below[j * k + j] = above[j * k + j + 1] = 1;
    int z = pv__steps_two(steps, PV__STEP_SUBTRACT, pv__steps_drawn(steps, draws, 1, k - 1, threshold), eta);
    int low = pv__steps_log_sigma(steps, z), high = pv__steps_two(steps, PV__STEP_SUBTRACT, low, z);
    int left = pv__steps_two(steps, PV__STEP_MATMUL, low, pv__steps_matrix(steps, k - 1, k, below));
    int right = pv__steps_two(steps, PV__STEP_MATMUL, high, pv__steps_matrix(steps, k - 1, k, above));
    int both = pv__steps_two(steps, PV__STEP_ADD, left, right);
    int made = pv__steps_two(steps, PV__STEP_ADD, pv__steps_drawn(steps, draws, 1, k, level), both);
    pv__free(steps->ctx, block);
    return made;
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

/* eta, which the thresholds are compared with; includes an offset with coefficient 1. */
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

/* ---- information --------------------------------------------------------------------------------------------------
 */

enum { LABELS_MOST = 16 };

/* Sums for biases [J][J], for biases and inputs [J][inputs], and for inputs [inputs][inputs] (lower triangle). */
static size_t information_size(const pv_model *model) {
    size_t J = (size_t)model->classes - 1, d = (size_t)model->inputs;
    return J < LABELS_MOST ? J * J + J * d + d * d : 0;
}

/* Derivatives of log p(y) with respect to the biases that are the same for all rows: directly [k][J], and through the
 * threshold slopes [J][J]. */
static void bias_slopes(const scale *s, double *own, double *by_slope) {
    size_t k = s->k, J = k - 1;
    for (size_t i = 1; i < k; i++) {
        double p = s->log_p[i];
        for (size_t y = 0; y < k; y++)
            own[y * J + i - 1] =
                (i == y) + exp(p) - (i <= y ? exp(p - s->log_s[y]) : 0) - (i >= y ? exp(p - s->log_t[y]) : 0);
        for (size_t j = 0; j < J; j++)
            by_slope[j * J + i - 1] = i <= j ? exp(p - s->log_s[j]) : -exp(p - s->log_t[j + 1]);
    }
}

/* The derivatives of a row's log p(y) with respect to eta and the biases, [k][1 + J]. */
static void row_slopes(const scale *s, double eta, const double *own, const double *by_slope, double *to) {
    size_t k = s->k, J = k - 1;
    memset(to, 0, k * (1 + J) * sizeof *to);
    for (size_t y = 0; y < k; y++)
        memcpy(to + y * (1 + J) + 1, own + y * J, J * sizeof *to);
    for (size_t j = 0; j < J; j++) { /* label j through log sigma(c - eta), label j + 1 through log sigma(eta - c) */
        double z = s->c[j] - eta, slope[2] = {exp(pv_log_sigmoid(-z)), -exp(pv_log_sigmoid(z))};
        for (size_t side = 0; side < 2; side++) {
            double *of = to + (j + side) * (1 + J);
            of[0] -= slope[side];
            for (size_t i = 0; i < J; i++)
                of[1 + i] += slope[side] * by_slope[j * J + i];
        }
    }
}

/* cov [1+J][1+J] (lower triangle), the covariance of slopes [k][1+J] over labels with probabilities q. */
static void covariance(size_t k, const double *q, double *slopes, double *cov) {
    size_t m = k; /* 1 + J */
    for (size_t i = 0; i < m; i++) {
        double mean = 0;
        for (size_t y = 0; y < k; y++)
            mean += q[y] * slopes[y * m + i];
        for (size_t y = 0; y < k; y++)
            slopes[y * m + i] -= mean;
    }
    for (size_t i = 0; i < m; i++)
        for (size_t c = 0; c <= i; c++) {
            cov[i * m + c] = 0;
            for (size_t y = 0; y < k; y++)
                cov[i * m + c] += q[y] * slopes[y * m + i] * slopes[y * m + c];
        }
}

static void add_information(const pv_model *model, const pv_model_work *work, const double *w, size_t n,
                            const double *x, const double *v, const double *q, double *sums, double *room) {
    size_t k = (size_t)model->classes, J = k - 1, d = (size_t)model->inputs;
    double own[LABELS_MOST * LABELS_MOST], by_slope[LABELS_MOST * LABELS_MOST], slopes[LABELS_MOST * LABELS_MOST];
    double cov[LABELS_MOST * LABELS_MOST], ordinal_room[6 * LABELS_MOST], *columns = room + n * d;
    const double *eta = work->block; /* as computed by forward */
    scale s = scale_at(k, w, ordinal_room);
    bias_slopes(&s, own, by_slope);
    for (size_t i = 0; i < n; i++) {
        row_slopes(&s, eta[i], own, by_slope, slopes);
        covariance(k, q + i * k, slopes, cov);
        for (size_t a = 0; a < J; a++) {
            columns[a * n + i] = v[i] * cov[(1 + a) * k];
            for (size_t b = 0; b <= a; b++)
                sums[a * J + b] += v[i] * cov[(1 + a) * k + 1 + b];
        }
        columns[J * n + i] = v[i] * cov[0];
    }
    for (size_t a = 0; a < J; a++)
        work->compute->rows_add(n, d, x, columns + a * n, sums + J * J + a * d);
    work->compute->gram(n, d, x, columns + J * n, sums + J * J + J * d, room);
}

static void information_of(const pv_model *model, const double *sums, double *information) {
    size_t J = (size_t)model->classes - 1, d = (size_t)model->inputs, skip = model->offset, P = model->params;
    for (size_t i = 0; i < P; i++)
        for (size_t c = 0; c <= i; c++) {
            size_t row = i - J + skip, column = c - J + skip; /* indices of the inputs */
            double own = i < J   ? sums[i * J + c]
                         : c < J ? sums[J * J + c * d + row]
                                 : sums[J * J + J * d + row * d + column];
            information[i * P + c] = information[c * P + i] = own;
        }
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

static int describe(const pv_model *model, pv__steps *steps, const pv__parameters *p, int x) {
    size_t k = (size_t)model->classes, d = (size_t)model->inputs;
    ptrdiff_t *place = NULL;
    if (steps->status == PV_OK)
        steps->status = pv__alloc(steps->ctx, d + 1, sizeof *place, &place);
    for (size_t i = 0; place && i < d; i++)
        place[i] = i == 0 && model->offset ? PV__ONE : (ptrdiff_t)(k - 1 + i - model->offset);
    int eta = -1;
    if (place)
        eta = d > 0 ? pv__steps_two(steps, PV__STEP_MATMUL, x, pv__steps_gather(steps, p, d, 1, place))
                    : pv__steps_number(steps, 0);
    pv__free(steps->ctx, place);
    return pv__ordinal_describe(steps, k, p, 0, eta);
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
                                      .information_size = information_size,
                                      .add_information = add_information,
                                      .information_of = information_of,
                                      .dense = dense,
                                      .to_dense = to_dense,
                                      .from_dense = from_dense,
                                      .link_forward = link_forward,
                                      .link_backward = link_backward,
                                      .describe = describe};
