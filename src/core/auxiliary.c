/* Auxiliary networks q_psi(w) ~ p(y|w), Appendix D.
 *
 *   constant   log q = logsoftmax(b)
 *   linear     log q = logsoftmax(A^T (w - o) + b)
 *
 * trained by the soft cross-entropy - sum_y p-hat_B(y;w) log q(y) (Eq. ELL - approximation 1), p-hat and w constants,
 * by Adam with a rate of its own for each of b, o and A. A has a Laplace prior: a soft threshold after each step. The
 * main loss sees log q as a constant (loss_batch.c), so nothing leaks from one loss into the other.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"

/* One parameter array with its gradient and Adam's moments, in one allocation. */
typedef struct trained {
    size_t n;
    double *value, *gradient, *mean, *square;
} trained;

struct pv_auxiliary {
    pv_marginal kind;
    int classes;
    size_t n_params;
    trained bias;   /* [classes] */
    trained offset; /* [n_params] */
    trained matrix; /* [n_params][classes] */
    int64_t steps;
};

pv_auxiliary_options pv_auxiliary_options_default(double main_rate) {
    return (pv_auxiliary_options){
        .rate_bias = 10 * main_rate, .rate_offset = main_rate, .rate_matrix = 0.1 * main_rate, .sparsity = 1e-3};
}

static pv_status trained_new(pv_ctx *ctx, size_t n, trained *array) {
    array->n = n;
    PV_TRY(pv__alloc(ctx, n, 4 * sizeof *array->value, &array->value));
    array->gradient = array->value + n;
    array->mean = array->gradient + n;
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
    made->kind = marginal;
    made->classes = classes;
    made->n_params = n_params;
    pv_status status;
    PV_GOTO(fail, trained_new(ctx, (size_t)classes, &made->bias));
    if (linear) {
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
    pv__free(ctx, auxiliary->bias.value);
    pv__free(ctx, auxiliary->offset.value);
    pv__free(ctx, auxiliary->matrix.value);
    pv__free(ctx, auxiliary);
}

void pv_auxiliary_forward(const pv_auxiliary *auxiliary, const double *w, double *log_q) {
    size_t k = (size_t)auxiliary->classes;
    memcpy(log_q, auxiliary->bias.value, k * sizeof *log_q);
    for (size_t i = 0; i < auxiliary->offset.n; i++) {
        double away = w[i] - auxiliary->offset.value[i];
        for (size_t y = 0; y < k; y++)
            log_q[y] += auxiliary->matrix.value[i * k + y] * away;
    }
    pv_log_softmax(auxiliary->classes, log_q, log_q);
}

double pv_auxiliary_backward(pv_auxiliary *auxiliary, const double *w, const double *log_q, const double *log_target,
                             double scale) {
    size_t k = (size_t)auxiliary->classes;
    double loss = 0, total = 0;
    for (size_t y = 0; y < k; y++) {
        double target = exp(log_target[y]);
        total += target;
        loss -= target * log_q[y];
    }
    /* d loss / d logits = q sum(target) - target; the bias's gradient as well. */
    enum { FEW = 16 };
    double few[FEW];
    for (size_t first = 0; first < k; first += FEW) {
        size_t count = k - first < FEW ? k - first : FEW;
        for (size_t j = 0; j < count; j++) {
            few[j] = scale * (exp(log_q[first + j]) * total - exp(log_target[first + j]));
            auxiliary->bias.gradient[first + j] += few[j];
        }
        for (size_t i = 0; i < auxiliary->offset.n; i++) {
            double away = w[i] - auxiliary->offset.value[i], pull = 0;
            const double *row = auxiliary->matrix.value + i * k + first;
            double *drow = auxiliary->matrix.gradient + i * k + first;
            for (size_t j = 0; j < count; j++) {
                drow[j] += away * few[j];
                pull += row[j] * few[j];
            }
            auxiliary->offset.gradient[i] -= pull;
        }
    }
    return loss;
}

static void adam(trained *array, double rate, int64_t step) {
    if (array->n == 0) /* the constant network has no offset and no matrix */
        return;
    pv__adam update = {array->n, array->gradient, array->mean, array->square, array->value};
    pv__core_kernels_get()->adam(&update, rate, (double)step);
    memset(array->gradient, 0, array->n * sizeof *array->gradient);
}

void pv_auxiliary_step(pv_auxiliary *auxiliary, const pv_auxiliary_options *options, double rate_factor) {
    auxiliary->steps++;
    adam(&auxiliary->bias, options->rate_bias * rate_factor, auxiliary->steps);
    adam(&auxiliary->offset, options->rate_offset * rate_factor, auxiliary->steps);
    adam(&auxiliary->matrix, options->rate_matrix * rate_factor, auxiliary->steps);
    /* The proximal step of the prior in Adam's own metric: each entry's threshold has its step's scale. */
    double unbias = 1 - pow(0.999, (double)auxiliary->steps);
    for (size_t i = 0; i < auxiliary->matrix.n; i++) {
        double *a = &auxiliary->matrix.value[i];
        double scale = sqrt(auxiliary->matrix.square[i] / unbias) + 1e-12;
        *a = copysign(fmax(fabs(*a) - options->rate_matrix * rate_factor * options->sparsity / scale, 0), *a);
    }
}

pv_auxiliary_view pv_auxiliary_parameters(pv_auxiliary *auxiliary) {
    return (pv_auxiliary_view){auxiliary->bias.value,      auxiliary->bias.gradient, auxiliary->offset.value,
                               auxiliary->offset.gradient, auxiliary->matrix.value,  auxiliary->matrix.gradient};
}

size_t pv__auxiliary_fields(pv_auxiliary *auxiliary, pv_field *field) {
    const trained *part[] = {&auxiliary->bias, &auxiliary->offset, &auxiliary->matrix};
    field[0] = (pv_field){&auxiliary->steps, sizeof auxiliary->steps};
    for (size_t i = 0; i < 3; i++)
        field[1 + i] = (pv_field){part[i]->value, 4 * part[i]->n * sizeof(double)};
    return 4;
}
