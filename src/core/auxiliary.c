/* Auxiliary networks q_psi(w) ~ p(y|w), Appendix D.
 *
 *   constant   log q = logsoftmax(b)
 *   linear     log q = logsoftmax(A^T (w - o) + b)
 *
 * The network minimises the soft cross-entropy - sum_y p-hat_B(y;w) log q(y) (Eq. ELL - approximation 1), with p-hat
 * and w held constant. For variational inference it is trained by Adam, with separate rates for b, o and A; otherwise
 * by updates that track changes in w (pv_auxiliary_follow). A has a Laplace prior, applied as a soft threshold after
 * each step. The main loss treats log q as a constant (loss_batch.c), so neither loss sends gradients into the other.
 *
 * For a network of a million weights, reading o, A and their moments takes most of the time. Moments are therefore in
 * single precision, and training takes one pass: the gradient of A is the outer product of w - o and a slope per class.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"

/* One parameter array with its gradient, and Adam's moments in single precision. */
typedef struct trained {
    size_t n;
    double *value, *gradient;
    float *mean, *square;
} trained;

struct pv_auxiliary {
    pv_ctx *ctx;
    pv_marginal kind;
    int classes;
    size_t n_params;
    trained bias;    /* [classes] */
    trained offset;  /* [n_params] */
    trained matrix;  /* [n_params][classes] */
    double *slope;   /* [classes], d loss / d logits */
    double *partial; /* [chunks of n_params][classes] */
    int64_t steps;
};

pv_auxiliary_options pv_auxiliary_options_default(double main_rate) {
    return (pv_auxiliary_options){
        .rate_bias = 10 * main_rate, .rate_offset = main_rate, .rate_matrix = 0.1 * main_rate, .sparsity = 1e-3};
}

static void trained_free(pv_ctx *ctx, trained *array) {
    pv__free(ctx, array->value);
    pv__free(ctx, array->mean);
}

static pv_status trained_new(pv_ctx *ctx, size_t n, trained *array) {
    array->n = n;
    PV_TRY(pv__alloc(ctx, n, 2 * sizeof *array->value, &array->value));
    array->gradient = array->value + n;
    PV_TRY(pv__alloc(ctx, n, 2 * sizeof *array->mean, &array->mean));
    array->square = array->mean + n;
    return PV_OK;
}

pv_status pv_auxiliary_new(pv_ctx *ctx, pv_marginal marginal, int classes, size_t n_params, const double *start,
                           const double *w, pv_auxiliary **auxiliary) {
    *auxiliary = NULL;
    bool linear = marginal == PV_MARGINAL_AUXILIARY_LINEAR;
    if (!linear && marginal != PV_MARGINAL_AUXILIARY_CONSTANT)
        return pv__fail(ctx, PV_ERR_USAGE, "marginal %s has no auxiliary network", pv_marginal_name(marginal));
    pv_auxiliary *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->kind = marginal;
    made->classes = classes;
    made->n_params = n_params;
    pv_status status;
    PV_GOTO(fail, trained_new(ctx, (size_t)classes, &made->bias));
    PV_GOTO(fail, pv__alloc(ctx, (size_t)classes, sizeof *made->slope, &made->slope));
    if (linear) {
        PV_GOTO(fail, pv__alloc(ctx, pv__chunks(n_params), (size_t)classes * sizeof *made->partial, &made->partial));
        PV_GOTO(fail, trained_new(ctx, n_params, &made->offset));
        PV_GOTO(fail, trained_new(ctx, n_params * (size_t)classes, &made->matrix));
        memcpy(made->offset.value, w, n_params * sizeof *w);
    }
    for (int y = 0; y < classes; y++)
        made->bias.value[y] = start ? start[y] : 0;
    *auxiliary = made;
    return PV_OK;
fail:
    pv_auxiliary_free(ctx, made);
    return status;
}

void pv_auxiliary_free(pv_ctx *ctx, pv_auxiliary *auxiliary) {
    if (!auxiliary)
        return;
    trained_free(ctx, &auxiliary->bias);
    trained_free(ctx, &auxiliary->offset);
    trained_free(ctx, &auxiliary->matrix);
    pv__free(ctx, auxiliary->slope);
    pv__free(ctx, auxiliary->partial);
    pv__free(ctx, auxiliary);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Sums A (w - o) over a chunk's parameters. */
static void chunk_logits(pv_auxiliary *auxiliary, const double *w, size_t chunk) {
    size_t k = (size_t)auxiliary->classes, begin = chunk * PV_CHUNK,
           end = begin + pv__chunk_rows(auxiliary->n_params, chunk);
    double *sum = auxiliary->partial + chunk * k;
    memset(sum, 0, k * sizeof *sum);
    for (size_t i = begin; i < end; i++) {
        double away = w[i] - auxiliary->offset.value[i];
        for (size_t y = 0; y < k; y++)
            sum[y] += auxiliary->matrix.value[i * k + y] * away;
    }
}

void pv_auxiliary_forward(pv_auxiliary *auxiliary, const double *w, double *log_q) {
    size_t k = (size_t)auxiliary->classes, chunks = pv__chunks(auxiliary->offset.n);
    memcpy(log_q, auxiliary->bias.value, k * sizeof *log_q);
    PV__EACH_CHUNK(auxiliary->ctx, chunks, c, chunk_logits(auxiliary, w, c););
    for (size_t c = 0; c < chunks; c++)
        for (size_t y = 0; y < k; y++)
            log_q[y] += auxiliary->partial[c * k + y];
    pv_log_softmax(auxiliary->classes, log_q, log_q);
}

/* ---- backward and step ------------------------------------------------------------------------------------------- */

/* slope = d loss / d logits = scale (q sum(target) - target), which is also the gradient of the bias. Returns the
 * loss. */
static double logit_slopes(pv_auxiliary *auxiliary, const double *log_q, const double *log_target, double scale) {
    size_t k = (size_t)auxiliary->classes;
    double loss = 0, total = 0;
    for (size_t y = 0; y < k; y++) {
        double target = exp(log_target[y]);
        total += target;
        loss -= target * log_q[y];
    }
    for (size_t y = 0; y < k; y++) {
        auxiliary->slope[y] = scale * (exp(log_q[y]) * total - exp(log_target[y]));
        auxiliary->bias.gradient[y] += auxiliary->slope[y];
    }
    return loss;
}

/* Adds the gradient with respect to o and A for parameters begin .. begin+n-1. */
static inline void add_gradient(const pv_auxiliary *auxiliary, size_t k, const double *w, size_t begin, size_t n,
                                double *doffset, double *dmatrix) {
    const double *offset = auxiliary->offset.value + begin, *matrix = auxiliary->matrix.value + begin * k;
    for (size_t i = 0; i < n; i++) {
        double away = w[begin + i] - offset[i], pull = 0;
        for (size_t y = 0; y < k; y++) {
            dmatrix[i * k + y] += away * auxiliary->slope[y];
            pull += matrix[i * k + y] * auxiliary->slope[y];
        }
        doffset[i] -= pull;
    }
}

double pv_auxiliary_backward(pv_auxiliary *auxiliary, const double *w, const double *log_q, const double *log_target,
                             double scale) {
    double loss = logit_slopes(auxiliary, log_q, log_target, scale);
    add_gradient(auxiliary, (size_t)auxiliary->classes, w, 0, auxiliary->offset.n, auxiliary->offset.gradient,
                 auxiliary->matrix.gradient);
    return loss;
}

/* Adam for entries begin .. begin+n-1. */
static void adam(const pv_auxiliary *auxiliary, const trained *array, size_t begin, size_t n, const double *gradient,
                 double rate, double sparsity) {
    pv__adam_lean update = {.n = n,
                            .gradient = gradient,
                            .mean = array->mean + begin,
                            .square = array->square + begin,
                            .value = array->value + begin,
                            .rate = rate,
                            .sparsity = sparsity,
                            .step = (double)auxiliary->steps};
    pv__core_kernels_get()->adam_lean(&update);
}

static void step_array(pv_auxiliary *auxiliary, trained *array, double rate, double sparsity) {
    if (array->n == 0) /* the constant network has no offset and no matrix */
        return;
    adam(auxiliary, array, 0, array->n, array->gradient, rate, sparsity);
    memset(array->gradient, 0, array->n * sizeof *array->gradient);
}

void pv_auxiliary_step(pv_auxiliary *auxiliary, const pv_auxiliary_options *options, double rate_factor) {
    auxiliary->steps++;
    step_array(auxiliary, &auxiliary->bias, options->rate_bias * rate_factor, 0);
    step_array(auxiliary, &auxiliary->offset, options->rate_offset * rate_factor, 0);
    step_array(auxiliary, &auxiliary->matrix, options->rate_matrix * rate_factor, options->sparsity);
}

/* Computes the gradient for a few parameters at a time, so that it stays in the cache, and takes their step. */
static void train_chunk(const pv_auxiliary *auxiliary, const double *w, const pv_auxiliary_options *options,
                        double rate_factor, size_t chunk) {
    enum { ENTRIES = 2048 };
    double doffset[ENTRIES], dmatrix[ENTRIES];
    size_t k = (size_t)auxiliary->classes, most = ENTRIES / k;
    size_t begin = chunk * PV_CHUNK, end = begin + pv__chunk_rows(auxiliary->n_params, chunk);
    for (size_t n; begin < end; begin += n) {
        n = end - begin < most ? end - begin : most;
        memset(doffset, 0, n * sizeof *doffset);
        memset(dmatrix, 0, n * k * sizeof *dmatrix);
        if (k == 2) /* a constant that the compiler can use */
            add_gradient(auxiliary, 2, w, begin, n, doffset, dmatrix);
        else
            add_gradient(auxiliary, k, w, begin, n, doffset, dmatrix);
        adam(auxiliary, &auxiliary->offset, begin, n, doffset, options->rate_offset * rate_factor, 0);
        adam(auxiliary, &auxiliary->matrix, begin * k, n * k, dmatrix, options->rate_matrix * rate_factor,
             options->sparsity);
    }
}

double pv_auxiliary_train(pv_auxiliary *auxiliary, const double *w, const double *log_q, const double *log_target,
                          const pv_auxiliary_options *options, double rate_factor) {
    enum { CLASSES_MAX = 2048 };
    if (auxiliary->classes > CLASSES_MAX) {
        double loss = pv_auxiliary_backward(auxiliary, w, log_q, log_target, 1);
        pv_auxiliary_step(auxiliary, options, rate_factor);
        return loss;
    }
    double loss = logit_slopes(auxiliary, log_q, log_target, 1);
    auxiliary->steps++;
    step_array(auxiliary, &auxiliary->bias, options->rate_bias * rate_factor, 0);
    if (options->rate_offset > 0 || options->rate_matrix > 0)
        PV__EACH_CHUNK(auxiliary->ctx, pv__chunks(auxiliary->offset.n), c,
                       train_chunk(auxiliary, w, options, rate_factor, c););
    return loss;
}

/* ---- tracking changes in w -----------------------------------------------------------------------------------------
 * The residual e = p-tilde/q - 1 is the change of log p(y|w) since the bias last caught up. To first order it is (grad
 * log p - A)^T (w - o), where o lags behind w as the bias does. A takes a normalised step towards explaining it
 * (normalised LMS, Widrow and Hoff), which changes A^T (w - o) by gain times e for any number of parameters. A step of
 * Adam moves every parameter equally far and changes it by rate |w - o|_1, which has no useful bound for a network.
 */

/* Sums |w - o|^2 over a chunk. */
static void chunk_distance(pv_auxiliary *auxiliary, const double *w, size_t chunk) {
    size_t begin = chunk * PV_CHUNK, end = begin + pv__chunk_rows(auxiliary->n_params, chunk);
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        double away = w[i] - auxiliary->offset.value[i];
        sum += away * away;
    }
    auxiliary->partial[chunk * (size_t)auxiliary->classes] = sum;
}

/* Takes the step of A, applies the threshold of its prior, then updates o. Writes to `partial` how far A^T (w - o)
 * fell. */
static void follow_chunk(pv_auxiliary *auxiliary, const double *w, const double *step, double threshold, double gain,
                         size_t chunk) {
    size_t k = (size_t)auxiliary->classes, begin = chunk * PV_CHUNK,
           end = begin + pv__chunk_rows(auxiliary->n_params, chunk);
    double *lost = auxiliary->partial + chunk * k, *offset = auxiliary->offset.value;
    memset(lost, 0, k * sizeof *lost);
    for (size_t i = begin; i < end; i++) {
        double away = w[i] - offset[i], left = (1 - gain) * away;
        offset[i] += gain * away;
        for (size_t y = 0; y < k; y++) {
            double *a = &auxiliary->matrix.value[i * k + y], before = *a, moved = before + step[y] * away;
            *a = copysign(fmax(fabs(moved) - threshold, 0), moved);
            lost[y] += before * away - *a * left;
        }
    }
}

/* Writes the step of A [classes] along w - o, given |w - o|^2. Returns the threshold of its prior. */
static double follow_step(const pv_auxiliary *auxiliary, double away, const double *error, const double *gain,
                          double sparsity, double *step) {
    size_t k = (size_t)auxiliary->classes;
    double mean = 0, most = 0;
    for (size_t y = 0; y < k; y++)
        mean += gain[y] * error[y] / (double)k;
    for (size_t y = 0; y < k; y++) { /* only differences between logits matter */
        step[y] = away > 0 ? (gain[y] * error[y] - mean) / away : 0;
        most = fmax(most, fabs(step[y]));
    }
    return sparsity * most * sqrt(away / (double)auxiliary->n_params); /* a fraction of a typical step */
}

void pv_auxiliary_follow(pv_auxiliary *auxiliary, const double *w, const double *error, const double *gain,
                         double least_gain, double sparsity) {
    size_t k = (size_t)auxiliary->classes, chunks = pv__chunks(auxiliary->offset.n);
    double away = 0, *step = auxiliary->slope;
    if (auxiliary->kind != PV_MARGINAL_AUXILIARY_LINEAR)
        return;
    PV__EACH_CHUNK(auxiliary->ctx, chunks, c, chunk_distance(auxiliary, w, c););
    for (size_t c = 0; c < chunks; c++)
        away += auxiliary->partial[c * k];
    double threshold = follow_step(auxiliary, away, error, gain, sparsity, step);
    PV__EACH_CHUNK(auxiliary->ctx, chunks, c, follow_chunk(auxiliary, w, step, threshold, least_gain, c););
    for (size_t c = 0; c < chunks; c++)
        for (size_t y = 0; y < k; y++)
            auxiliary->bias.value[y] += auxiliary->partial[c * k + y];
}

pv_auxiliary_view pv_auxiliary_parameters(pv_auxiliary *auxiliary) {
    return (pv_auxiliary_view){auxiliary->bias.value,      auxiliary->bias.gradient, auxiliary->offset.value,
                               auxiliary->offset.gradient, auxiliary->matrix.value,  auxiliary->matrix.gradient};
}

pv__bias_moments pv__auxiliary_moments(pv_auxiliary *auxiliary) {
    return (pv__bias_moments){auxiliary->bias.mean, auxiliary->bias.square, &auxiliary->steps};
}

size_t pv__auxiliary_fields(pv_auxiliary *auxiliary, pv_field *field) {
    const trained *part[] = {&auxiliary->bias, &auxiliary->offset, &auxiliary->matrix};
    size_t n = 0;
    field[n++] = (pv_field){&auxiliary->steps, sizeof auxiliary->steps};
    for (size_t i = 0; i < 3; i++) {
        field[n++] = (pv_field){part[i]->value, part[i]->n * sizeof *part[i]->value};
        field[n++] = (pv_field){part[i]->mean, 2 * part[i]->n * sizeof *part[i]->mean}; /* the mean and the square */
    }
    return n;
}
