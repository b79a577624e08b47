/* Laplace's approximation over a network's last layer (`infer` laplace for images, minibatches and large networks).
 *
 * The layers below stay as they were trained. Given their output h, the rest is a softmax regression with logits h W +
 * b, which depends only on u_y = (b_y - b_0, W_y - W_0), y = 1 .. K-1. With I the rows' information about u at the
 * trained layer, and q their probabilities in the sample,
 *
 *   covariance of u = (I + P)^-1  -  [intercepts, profile] (diag(1/n_y) + 1/n_0) ,
 *
 * which is the variance that `profile` has (errors.c; Prentice and Pyke 1979). P = 1/s^2 for weights and 0 for biases;
 * s maximises Laplace's evidence of the last layer, - |W|^2/(2 s^2) - d log s - 1/2 log det(I + P). Draws are normal
 * around the trained layer with class 0's weights fixed. A prevalence of N_pr observations is drawn from its Dirichlet,
 * and the biases move with it.
 *
 * Limits: it ignores that other lower layers would have fitted equally well. Its intervals are conditional on h
 * (docs/method.md, section 9, has their measured coverage).
 */
#include "infer/last_layer.h"

#include <math.h>
#include <string.h>

#include "core/core.h"
#include "infer/infer.h"
#include "model/model.h"

bool pv__posterior_dims_sound(const pv_model *model, size_t dims) {
    size_t hidden = model->ordinal ? 0 : pv__model_hidden(model);
    return dims == pv_model_params(model) ? !model->network
                                          : hidden > 0 && dims == (hidden + 1) * (size_t)model->classes;
}

/* ---- inputs of the layer ----------------------------------------------------------------------------------------- */

pv_status pv__hidden_rows(pv_ctx *ctx, const pv_model *model, const double *w, size_t n, const double *x,
                          const pv_dataset *data, double *hidden) {
    size_t chunk = pv__model_rows(model, 32), width = pv__model_hidden(model), k = (size_t)model->classes;
    double *buffer = NULL, *loglik;
    pv_model_work *work = NULL;
    pv_status status;
    PV_TRY(pv__alloc(ctx, chunk, k * sizeof *loglik, &loglik));
    PV_GOTO(done, pv__alloc(ctx, chunk, (size_t)pv_model_inputs(model) * sizeof *buffer, &buffer));
    PV_GOTO(done, pv_model_work_new(ctx, model, chunk, &work));
    for (size_t begin = 0; begin < n; begin += chunk) {
        size_t rows = n - begin < chunk ? n - begin : chunk;
        const double *at =
            x ? x + begin * (size_t)pv_model_inputs(model) : pv_dataset_rows(ctx, data, begin, rows, buffer);
        pv_model_forward(model, work, w, rows, at, loglik);
        PV_GOTO(done, pv__model_work_check(ctx, work));
        memcpy(hidden + begin * width, model->architecture->hidden(model, work), rows * width * sizeof *hidden);
        PV_GOTO(done, pv__go_on(ctx));
    }
    if (!x && data->images)
        status = pv_images_unchanged(ctx, data->images, false);
done:
    pv_model_work_free(ctx, work);
    pv__free(ctx, buffer);
    pv__free(ctx, loglik);
    return status;
}

/* ---- softmax regression ------------------------------------------------------------------------------------------ */

typedef struct head {
    pv__problem problem; /* a linear model of the hidden outputs; borrows everything except the arrays below */
    pv_model *linear;
    double *hidden; /* [n][width] */
    size_t width, params;
    double *u;          /* [params], laid out as in `linear`: from class 1 on, the bias first */
    double *H, *factor; /* [params][params] */
    double scale;       /* of the prior */
} head;

static void head_clear(pv_ctx *ctx, head *h) {
    pv_model_free(ctx, h->linear);
    pv__free(ctx, h->hidden);
    pv__free(ctx, h->u);
    pv__free(ctx, h->H);
    pv__free(ctx, h->factor);
}

/* Index in `tail` of the last layer's weight of a label for a feature, or of its bias (feature = width). */
static size_t tail_index(const head *h, size_t feature, size_t label) {
    return feature * (size_t)h->linear->classes + label;
}

static pv_status head_new(pv_ctx *ctx, const pv__problem *problem, const double *w, head *h) {
    const pv_model *model = problem->model;
    size_t k = (size_t)model->classes;
    h->width = pv__model_hidden(model);
    PV_TRY(pv_model_new(ctx, "linear", (int)h->width, (int)k, &h->linear));
    h->params = pv_model_params(h->linear);
    PV_TRY(pv__alloc(ctx, problem->rows.n, h->width * sizeof(double), &h->hidden));
    PV_TRY(pv__alloc(ctx, h->params, sizeof(double), &h->u));
    PV_TRY(pv__alloc(ctx, h->params, h->params * sizeof(double), &h->H));
    PV_TRY(pv__alloc(ctx, h->params, h->params * sizeof(double), &h->factor));
    PV_TRY(pv__hidden_rows(ctx, model, w, problem->rows.n, problem->rows.matrix, problem->rows.made, h->hidden));
    const double *tail = w + pv_model_params(model) - (h->width + 1) * k;
    for (size_t y = 1; y < k; y++)
        for (size_t f = 0; f <= h->width; f++) {
            size_t at = f == h->width ? 0 : f + 1;
            h->u[(y - 1) * (h->width + 1) + at] = tail[tail_index(h, f, y)] - tail[tail_index(h, f, 0)];
        }
    h->problem = *problem;
    h->problem.model = h->linear;
    h->problem.rows = pv__rows_matrix(problem->rows.n, h->width, h->hidden);
    h->problem.batch = 0;
    return pv__information(ctx, &h->problem, h->u, h->H);
}

static bool is_bias(const head *h, size_t i) {
    return i % (h->width + 1) == 0;
}

/* Laplace's evidence of a prior scale, up to a constant, -infinity if it does not exist; factor becomes a Cholesky
 * factor of I + P. */
static double evidence(head *h, double scale) {
    size_t P = h->params;
    double sum = 0;
    memcpy(h->factor, h->H, P * P * sizeof *h->H);
    for (size_t i = 0; i < P; i++)
        if (!is_bias(h, i)) {
            h->factor[i * P + i] += 1 / (scale * scale);
            sum -= 0.5 * h->u[i] * h->u[i] / (scale * scale) + log(scale);
        }
    if (!pv__cholesky(P, h->factor, 1e-12))
        return -(double)INFINITY;
    for (size_t i = 0; i < P; i++)
        sum -= log(h->factor[i * P + i]);
    return isnan(sum) ? -(double)INFINITY : sum;
}

/* Golden-section search in log s; a few per cent of accuracy are enough. */
static double choose_scale(head *h) {
    const double share = 0.61803398874989485;
    double low = log(1e-4), high = log(1e3), a = high - share * (high - low), b = low + share * (high - low);
    double at_a = evidence(h, exp(a)), at_b = evidence(h, exp(b));
    while (high - low > 0.05) {
        if (at_a > at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - share * (high - low);
            at_a = evidence(h, exp(a));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + share * (high - low);
            at_b = evidence(h, exp(b));
        }
    }
    return exp(0.5 * (low + high));
}

/* Makes factor a root of the covariance. False if there is none: far from its maximum, the layer's intercepts can have
 * less variance than fixing the labels subtracts. */
static bool set_covariance(head *h) {
    size_t P = h->params;
    h->scale = choose_scale(h);
    if (isinf(evidence(h, h->scale)))
        return false;
    pv__factor_invert(P, h->factor, h->H);
    if (pv__is_profile(&h->problem))
        pv__hold_labels(&h->problem, P, (double)INFINITY, h->H);
    memcpy(h->factor, h->H, P * P * sizeof *h->H);
    return pv__cholesky(P, h->factor, 1e-12);
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

/* Draws the prevalence and shifts the biases accordingly. */
static void draw_prevalence(const head *h, uint64_t seed, size_t n, double *bias, double *log_marginal) {
    const pv__problem *problem = &h->problem;
    size_t k = (size_t)h->linear->classes;
    bool profile = pv__is_profile(problem), counted = profile && isfinite(problem->population.prevalence_n);
    const double *pi = profile ? problem->population.prevalence : problem->label_share;
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_LAPLACE_PREVALENCE, n);
    for (size_t y = 0; y < k; y++)
        log_marginal[y] =
            log(counted ? fmax(pv_rng_gamma(&rng, pi[y] * problem->population.prevalence_n), 1e-300) : pi[y]);
    pv_log_softmax((int)k, log_marginal, log_marginal);
    for (size_t y = 0; counted && y < k; y++)
        bias[y] += log_marginal[y] - log(pi[y]);
}

static void draw_one(const head *h, uint64_t seed, size_t n, const double *tail, double *z, double *draw) {
    size_t k = (size_t)h->linear->classes, P = h->params;
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_LAPLACE, n);
    memcpy(draw, tail, (h->width + 1) * k * sizeof *draw);
    for (size_t i = 0; i < P; i++)
        z[i] = pv_rng_normal(&rng);
    for (size_t i = 0; i < P; i++) {
        double away = 0;
        for (size_t j = 0; j <= i; j++)
            away += h->factor[i * P + j] * z[j];
        size_t y = i / (h->width + 1) + 1, at = i % (h->width + 1);
        draw[tail_index(h, at == 0 ? h->width : at - 1, y)] += away;
    }
}

static pv_status draw_all(pv_ctx *ctx, const head *h, const double *tail, pv_classifier *c) {
    pv_posterior *p = c->posterior;
    size_t k = (size_t)h->linear->classes;
    uint64_t seed = (uint64_t)h->problem.plan->options.seed;
    double *z;
    PV_TRY(pv__alloc(ctx, h->params, sizeof *z, &z));
    pv_status status = PV_OK;
    for (size_t n = 0; n < p->count && status == PV_OK; n++) {
        double *draw = p->draws + n * p->dims;
        draw_one(h, seed, n, tail, z, draw);
        draw_prevalence(h, seed, n, draw + h->width * k, c->draw_log_marginal + n * k);
        status = pv__go_on(ctx);
    }
    pv__free(ctx, z);
    return status;
}

pv_status pv__fit_last_layer(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution, pv_classifier *c) {
    size_t k = (size_t)problem->targets.classes, params = pv_model_params(problem->model);
    size_t dims = (pv__model_hidden(problem->model) + 1) * k, most = 4000000 / dims + 100;
    head h = {.linear = NULL};
    pv_posterior *p = NULL;
    pv_status status;
    PV_GOTO(done, head_new(ctx, problem, solution->w, &h));
    if (!set_covariance(&h)) {
        pv__log(ctx, PV_LOG_WARNING,
                "`infer=laplace`: the last layer has no covariance, because it is too far from its maximum or its "
                "inputs are too much alike. The model has no posterior and no intervals; train it longer (`epochs`), "
                "or with a smaller `rate`");
        goto done;
    }
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *p, &p));
    *p = (pv_posterior){.kind = PV_POSTERIOR_LAPLACE,
                        .dims = dims,
                        .count =
                            (size_t)problem->plan->options.draws < most ? (size_t)problem->plan->options.draws : most,
                        .stop = PV_STOP_CONVERGED,
                        .elbo = (double)NAN,
                        .elbo_se = (double)NAN,
                        .evidence = (double)NAN,
                        .acceptance = (double)NAN,
                        .step_size = (double)NAN};
    c->posterior = p;
    PV_GOTO(done, pv__alloc(ctx, p->count, dims * sizeof(double), &p->draws));
    PV_GOTO(done, pv__alloc(ctx, p->count, k * sizeof(double), &c->draw_log_marginal));
    PV_GOTO(done, draw_all(ctx, &h, solution->w + params - dims, c));
    pv__log(ctx, PV_LOG_INFO,
            "the posterior is of the last layer only (%zu of %zu parameters; prior scale %.3g): intervals ignore the "
            "uncertainty of the layers below, and contain the true risk far less often than their level states",
            dims, params, h.scale);
done:
    if (status == PV_ERR_INTERRUPTED && c->posterior) { /* keeps the estimate without an incomplete posterior */
        pv_posterior_free(ctx, c->posterior);
        pv__free(ctx, c->draw_log_marginal);
        c->posterior = NULL;
        c->draw_log_marginal = NULL;
    }
    head_clear(ctx, &h);
    return status;
}
