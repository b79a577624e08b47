/* Risks of a linear model averaged over the uncertainty in its coefficients.
 *
 *   p_y  ~  E 1/(1 + exp(-l_y)),   l_y ~ N(logit of p_y at w, its variance by the delta method),
 *
 * with w ~ N(w, V), where V is the covariance used for intervals. For two labels the logit is linear in w and this is
 * the exact mean; for more labels it is computed label by label and normalised.
 *
 * Averaging moves risks towards one half, which would make rare outcomes too common. Therefore constants are added to
 * the logits such that the mean risk of the training rows, weighted to the population of the loss, stays what it is at
 * w. The constants are stored as the classifier's `averaging`.
 *
 * It is done if there are few rows per slope. Otherwise the variances of the logits are some hundredths, and the two
 * versions differ by far less than the errors of the risks.
 *
 * The integral for two labels, m <= 0 and s > 0, is computed by the trapezoidal rule, whose error decreases
 * exponentially for integrands analytic in a strip (Trefethen and Weideman 2014):
 *   s <= 3     integral of phi(z) sigma(m + s z) dz, poles at a distance of pi/s: steps of 0.75/s, at most 0.5
 *   s > 3      integral of sigma'(t) Phi((m - t)/s) dt, poles at a distance of pi: steps of 0.75
 * and if sigma is an exponential wherever the integrand matters, log E = m + s^2/2.
 */
#include <math.h>
#include <string.h>

#include "data/data.h"
#include "infer/infer.h"

/* ---- the mean of a logistic function ----------------------------------------------------------------------------- */

static const double FAR = 8;    /* standard deviations: phi is 5e-15 there */
static const double FLAT = -37; /* log odds below which sigma equals an exponential to the last digit */

/* sigma(x), and *rest = 1 - sigma(x), which is its derivative divided by sigma(x). */
static double sigma(double x, double *rest) {
    double e = exp(-fabs(x)), p = x < 0 ? e / (1 + e) : 1 / (1 + e);
    *rest = x < 0 ? 1 / (1 + e) : e / (1 + e);
    return p;
}

static double by_normal(double m, double s, double *derivative) {
    const double step = fmin(0.5, 0.75 / s), scale = step * 0.39894228040143267794;
    double sum = 0, slope = 0, rest;
    for (long i = -(long)ceil(FAR / step), last = (long)((FAR + s) / step); i <= last; i++) {
        double z = (double)i * step, own = scale * exp(-0.5 * z * z) * sigma(m + s * z, &rest);
        sum += own;
        slope += own * rest;
    }
    *derivative = slope;
    return sum;
}

static double by_logistic(double m, double s, double *derivative) {
    const double step = 0.75, most = 40;
    double first = fmin(0, m + s * s) - 9 * s - most, sum = 0, slope = 0, rest;
    for (long i = (long)floor(first / step), last = (long)(most / step); i <= last; i++) {
        double t = (double)i * step, own = step * sigma(t, &rest), u = (m - t) / s;
        own *= rest;
        sum += own * 0.5 * erfc(-u * 0.70710678118654752440);
        slope += own * 0.39894228040143267794 * exp(-0.5 * u * u) / s;
    }
    *derivative = slope;
    return sum;
}

double pv__log_logistic_mean(double m, double s, double *slope) {
    const double longest = 100;
    double mean, derivative, rest;
    s = fmin(s, longest);
    if (m + s * s + FAR * s < FLAT) {
        if (slope)
            *slope = 1;
        return m + 0.5 * s * s;
    }
    if (s > 0) {
        mean = s <= 3 ? by_normal(m, s, &derivative) : by_logistic(m, s, &derivative);
    } else {
        mean = sigma(m, &rest);
        derivative = mean * rest;
    }
    if (slope)
        *slope = mean > 0 ? derivative / mean : 1;
    return mean > 0 ? log(mean) : m; /* if it underflows: it is at least sigma(m) */
}

/* ---- one row ----------------------------------------------------------------------------------------------------- */

/* Writes the covariance of the logits at x~ to [J][J]; half [P]. */
static void logit_covariance(const pv_classifier *c, size_t J, size_t size, const double *x, double *half, double *to) {
    size_t P = J * size;
    for (size_t j = 0; j < J; j++) {
        const double *from = c->spread + j * size * P;
        memcpy(half, from, P * sizeof *half);
        for (size_t i = 1; i < size; i++)
            for (size_t l = 0; x[i - 1] != 0 && l < P; l++)
                half[l] += x[i - 1] * from[i * P + l];
        for (size_t l = 0; l < J; l++) {
            const double *own = half + l * size;
            double sum = own[0];
            for (size_t i = 1; i < size; i++)
                sum += x[i - 1] * own[i];
            to[j * J + l] = sum;
        }
    }
}

void pv__logit_variances(const pv_classifier *c, const double *x, const double *log_p, double *room, double *variance) {
    size_t k = (size_t)c->schema->classes, J = k - 1, P = pv_model_params(c->model);
    double *covariance = room + P, *g = covariance + J * J;
    logit_covariance(c, J, P / J, x, room, covariance);
    for (size_t y = 0; y < k; y++) {
        double rest = -expm1(log_p[y]), sum = 0;
        for (size_t j = 1; j < k; j++)
            g[j - 1] = j == y ? 1 : -exp(log_p[j]) / rest;
        for (size_t j = 0; j < J; j++)
            for (size_t l = 0; l < J; l++)
                sum += g[j] * g[l] * covariance[j * J + l];
        variance[y] = fmax(0, sum);
    }
}

/* The mean risk of label y and its derivative with respect to the logit, both divided by the risk if that is small. */
static double log_mean(double log_p, double variance, double *slope) {
    double rest = -expm1(log_p), m = log_p - log(rest), s = sqrt(variance);
    if (!isfinite(m) || !isfinite(s)) { /* the risk rounds to 0 or 1 */
        *slope = 0;
        return log_p;
    }
    double log_small = pv__log_logistic_mean(-fabs(m), s, slope);
    *slope *= exp(log_small);
    return m <= 0 ? log_small : log1p(-exp(log_small));
}

/* Replaces log_p [classes] at w, normalised, by the logarithms of the means, after adding the constants; slope
 * [classes]: the derivatives of the means. variance [classes]. */
static void average_row(size_t k, const double *shift, const double *variance, double *log_p, double *slope) {
    for (size_t y = 1; y < k; y++)
        log_p[y] += shift[y - 1];
    pv_log_softmax((int)k, log_p, log_p);
    if (k == 2) { /* the two logits differ only in sign */
        size_t rare = log_p[1] < log_p[0];
        log_p[rare] = log_mean(log_p[rare], variance[rare], &slope[rare]);
        log_p[1 - rare] = log1p(-exp(log_p[rare]));
        slope[1 - rare] = slope[rare];
        return;
    }
    for (size_t y = 0; y < k; y++)
        log_p[y] = log_mean(log_p[y], variance[y], &slope[y]);
    pv_log_softmax((int)k, log_p, log_p);
}

/* ---- the constants ----------------------------------------------------------------------------------------------- */

/* Log probabilities of the training rows at w [n][k], their variances [n][k], and weights [n]. */
typedef struct matching {
    size_t n, k;
    double *log_p, *variance, *weight;
    double *wanted, *mean, *slope, *row; /* [k] each; row [2 k] */
} matching;

/* The weights of rows in the population of the loss, by stratum and label. */
static void weigh_cells(const pv__problem *p, size_t k, double *a) {
    const pv_stratified *of = pv__strata_of(p);
    bool profiled = pv_loss_has_marginal(pv__problem_loss(p)) && !p->unlabelled;
    if (of)
        pv__strata_mass(&p->targets, of->strata, a);
    for (size_t i = 0; i < pv__ratio_sets(p) * k; i++) {
        double mass = of ? a[i] : p->mass[i % k];
        const double *pi = of ? of->prevalence + i / k * k : p->population.prevalence;
        a[i] = profiled ? (of ? of->share[i / k] : 1) * pi[i % k] / mass : p->factor[i % k];
    }
}

static pv_status matching_new(pv_ctx *ctx, const pv__problem *p, const pv_classifier *c, matching *m) {
    const pv_targets *t = &p->targets;
    size_t n = t->n, k = (size_t)t->classes, J = k - 1, P = pv_model_params(p->model), cells = pv__ratio_sets(p) * k;
    size_t inputs = (size_t)pv_model_inputs(p->model), room = P + J * J + J + inputs;
    *m = (matching){.n = n, .k = k};
    PV_TRY(pv__alloc(ctx, n * (2 * k + 1) + 5 * k + cells + room, sizeof(double), &m->log_p));
    m->variance = m->log_p + n * k;
    m->weight = m->variance + n * k;
    m->wanted = m->weight + n;
    m->mean = m->wanted + k;
    m->slope = m->mean + k;
    m->row = m->slope + k;
    double *a = m->row + 2 * k, *space = a + cells, total = 0;
    weigh_cells(p, k, a);
    PV_TRY(pv__objective_loglik_of(ctx, p, c->w, 0, n, m->log_p));
    for (size_t i = 0; i < n; i++) {
        const double *own = pv__ratio_of(t, a, i);
        double *log_p = m->log_p + i * k;
        pv_log_softmax((int)k, log_p, log_p);
        pv__logit_variances(c, pv__problem_row(p, i, space), log_p, space + inputs, m->variance + i * k);
        for (size_t y = 0; y < k; y++)
            m->weight[i] += pv__weight(t, i) * pv__share(t, i, (int)y) * own[y];
        total += m->weight[i];
        for (size_t y = 0; y < k; y++)
            m->wanted[y] += m->weight[i] * exp(log_p[y]);
    }
    for (size_t i = 0; i < n; i++)
        m->weight[i] /= total;
    for (size_t y = 0; y < k; y++)
        m->wanted[y] /= total;
    return PV_OK;
}

/* Mean risks with these constants, and their derivatives. */
static void means_of(const matching *m, const double *shift) {
    size_t k = m->k;
    memset(m->mean, 0, 2 * k * sizeof *m->mean);
    for (size_t i = 0; i < m->n; i++) {
        double *log_p = m->row, *slope = m->row + k;
        if (!(m->weight[i] > 0))
            continue;
        memcpy(log_p, m->log_p + i * k, k * sizeof *log_p);
        average_row(k, shift, m->variance + i * k, log_p, slope);
        for (size_t y = 0; y < k; y++) {
            m->mean[y] += m->weight[i] * exp(log_p[y]);
            m->slope[y] += m->weight[i] * slope[y];
        }
    }
}

/* A Newton step on the logit of each mean, treating labels as independent; returns the largest deviation of the
 * means. */
static double step(const matching *m, double *shift) {
    size_t k = m->k;
    double worst = 0, first = 0;
    means_of(m, shift);
    for (size_t y = 0; y < k; y++) {
        double t = m->wanted[y], mean = m->mean[y], logit = log(mean / (1 - mean)),
               others = (double)(k - 1) / (double)k;
        double by = others * (log(t / (1 - t)) - logit) * mean * (1 - mean) / m->slope[y];
        by = isfinite(by) ? fmax(-1, fmin(1, by)) : 0;
        worst = fmax(worst, fabs(mean / t - 1));
        if (y == 0)
            first = by;
        else
            shift[y - 1] += by - first;
    }
    return worst;
}

pv_status pv__averaging_find(pv_ctx *ctx, const pv__problem *problem, pv_classifier *c) {
    enum { STEPS = 200 };
    const double close = 1e-12;
    const pv__problem labelled = pv__labelled(problem);
    matching m;
    if (!problem->plan->few_rows || !c->spread || c->posterior)
        return PV_OK;
    pv_status status = matching_new(ctx, &labelled, c, &m);
    PV_GOTO(done, status);
    PV_GOTO(done, pv__alloc(ctx, m.k - 1, sizeof *c->averaging, &c->averaging));
    for (int i = 0; i < STEPS && step(&m, c->averaging) > close; i++)
        continue;
done:
    pv__free(ctx, m.log_p);
    return status;
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

pv_status pv__average(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, double *loglik) {
    enum { CHUNK = 256 };
    if (!c->averaging || c->posterior)
        return PV_OK;
    size_t k = (size_t)c->schema->classes, J = k - 1, P = pv_model_params(c->model),
           d = (size_t)pv_model_inputs(c->model);
    size_t chunks = (data->rows + CHUNK - 1) / CHUNK, room = P + J * J + J + 2 * k, skip = d + 1 - P / J;
    int threads = pv__threads_for(ctx, chunks);
    double *block;
    PV_TRY(pv__alloc(ctx, (size_t)threads, (room + CHUNK * d) * sizeof *block, &block));
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
    for (int t = 0; t < threads; t++) {
        double *own = block + (size_t)t * (room + CHUNK * d), *variance = own + room - 2 * k;
        for (size_t at = (size_t)t * chunks / (size_t)threads; at < (size_t)(t + 1) * chunks / (size_t)threads; at++) {
            size_t begin = at * CHUNK, rows = data->rows - begin < CHUNK ? data->rows - begin : CHUNK;
            const double *x = pv_dataset_rows(ctx, data, begin, rows, own + room);
            for (size_t i = 0; i < rows; i++) {
                double *log_p = loglik + (begin + i) * k;
                pv_log_softmax((int)k, log_p, log_p);
                pv__logit_variances(c, x + i * d + skip, log_p, own, variance);
                average_row(k, c->averaging, variance, log_p, variance + k);
            }
        }
    }
    pv__free(ctx, block);
    return pv__columns_unchanged(ctx, data);
}
