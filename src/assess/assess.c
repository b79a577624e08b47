/* Metrics of predictions. This file: those of the likelihood, and the Brier score.
 *
 *   nell              sum_y prevalence(y) m_y,  m_y = mean over rows of class y of -log p(y|x_n,w)
 *                     (Eq. expected log-likelihood estimate with beta(2))
 *   its variance      sum_y prevalence(y)^2 v_y / n_y,  v_y the sample variance within class y
 *                     (Eq. g2 variance, Eq. estimate of the conditional variance)
 *   holdout_nll       mean of -log q_n(y_n),  q_n(y) ~ p(y|x_n,w) / p(y|w) . share(y)  (Eq. hold-out risk)
 *   information_gain  mean of log p(y_n|x_n,w) / p(y_n|w)  (Eq. hold-out log-likelihood)
 *   brier             mean of sum_y (p_n(y) - [y = y_n])^2, halved for two classes
 *
 * Log-likelihoods may be -infinity; a loss is then +infinity.
 */
#include "assess.h"

#include <math.h>

const pv_metric_row pv_metric_table[] = {
#define ROW(name, text) {#name, text, offsetof(pv_metrics, name)},
    PV_METRIC_LIST(ROW)
#undef ROW
        {NULL, NULL, 0}};

/* The classes' label mass, its sum, and room for what is computed by class. */
typedef struct sums {
    double *mass, *share, *mean, *variance, *offset, *adapted; /* [classes] each, one block */
    double total;
} sums;

static pv_status sums_new(pv_ctx *ctx, const pv_targets *targets, sums *made) {
    size_t classes = (size_t)targets->classes;
    PV_TRY(pv__alloc(ctx, 6 * classes, sizeof(double), &made->mass));
    made->share = made->mass + classes;
    made->mean = made->share + classes;
    made->variance = made->mean + classes;
    made->offset = made->variance + classes;
    made->adapted = made->offset + classes;
    pv_label_mass(targets, made->mass);
    made->total = 0;
    for (size_t y = 0; y < classes; y++)
        made->total += made->mass[y];
    for (size_t y = 0; y < classes; y++)
        made->share[y] = made->mass[y] / made->total;
    return PV_OK;
}

static bool is_distribution(int classes, const double *log_p) {
    double top = -INFINITY;
    for (int y = 0; y < classes; y++) {
        if (isnan(log_p[y]))
            return false;
        top = fmax(top, log_p[y]);
    }
    return isfinite(top);
}

static pv_status check(pv_ctx *ctx, const pv_targets *targets, const double *loglik, const double *log_p) {
    size_t classes = (size_t)targets->classes;
    for (size_t n = 0; n < targets->n; n++)
        if (!is_distribution(targets->classes, loglik + n * classes) ||
            !is_distribution(targets->classes, log_p + n * classes))
            return pv__fail(ctx, PV_ERR_NUMERIC, "the prediction for row %zu is not a number", n + 1);
    return PV_OK;
}

static void assess_nell(const pv_targets *targets, const double *loglik, const double *prevalence, sums *by,
                        pv_metrics *metrics) {
    size_t classes = (size_t)targets->classes;
    for (size_t n = 0; n < targets->n; n++) {
        pv__row row = pv__row_labels(targets, n);
        for (int y = row.first; y < row.last; y++) {
            double mass = pv__row_mass(targets, n, y);
            if (mass > 0)
                by->mean[y] -= mass / by->mass[y] * loglik[n * classes + (size_t)y];
        }
    }
    for (size_t n = 0; n < targets->n; n++) {
        pv__row row = pv__row_labels(targets, n);
        for (int y = row.first; y < row.last; y++) {
            double mass = pv__row_mass(targets, n, y);
            double off = mass > 0 ? loglik[n * classes + (size_t)y] + by->mean[y] : 0;
            by->variance[y] += mass * off * off;
        }
    }
    double nell = 0, variance = 0;
    for (size_t y = 0; y < classes; y++) {
        double target = prevalence ? prevalence[y] : by->share[y];
        if (target == 0)
            continue;
        double freedom = by->mass[y] - 1;
        nell += by->mass[y] > 0 ? target * by->mean[y] : NAN;
        variance += freedom > 0 ? target * target * by->variance[y] / freedom / by->mass[y] : NAN;
    }
    metrics->nell = nell;
    metrics->nell_sd = sqrt(variance);
    metrics->nell_upper = nell + 2 * metrics->nell_sd;
}

/* What a prediction gains over the marginal, and what it costs once told the label shares of these rows. */
static void assess_holdout(const pv_targets *targets, const double *loglik, const double *log_marginal, sums *by,
                           pv_metrics *metrics) {
    int classes = targets->classes;
    double gain = 0, loss = 0;
    for (int y = 0; y < classes; y++)
        by->offset[y] = log(by->share[y]) - log_marginal[y];
    for (size_t n = 0; n < targets->n; n++) {
        const double *f = loglik + n * (size_t)classes;
        pv__row row = pv__row_labels(targets, n);
        for (int y = 0; y < classes; y++)
            by->adapted[y] = f[y] + by->offset[y];
        pv_log_softmax(classes, by->adapted, by->adapted);
        for (int y = row.first; y < row.last; y++) {
            double mass = pv__row_mass(targets, n, y);
            if (mass > 0) {
                gain += mass * (f[y] - log_marginal[y]);
                loss -= mass * by->adapted[y];
            }
        }
    }
    metrics->information_gain = gain / by->total;
    metrics->holdout_nll = loss / by->total;
}

static void assess_brier(const pv_targets *targets, const double *log_p, double total, pv_metrics *metrics) {
    int classes = targets->classes;
    double sum = 0;
    for (size_t n = 0; n < targets->n; n++) {
        const double *row_p = log_p + n * (size_t)classes;
        pv__row row = pv__row_labels(targets, n);
        double squares = 0;
        for (int c = 0; c < classes; c++)
            squares += exp(2 * row_p[c]);
        for (int y = row.first; y < row.last; y++) {
            /* sum_c (p_c - [c = y])^2 = sum_c p_c^2 - p_y^2 + (1 - p_y)^2; the difference loses nothing that matters
             * beside (1 - p_y)^2, which expm1 keeps to full precision. */
            double p = exp(row_p[y]), miss = expm1(row_p[y]);
            sum += pv__row_mass(targets, n, y) * (fmax(squares - p * p, 0) + miss * miss);
        }
    }
    metrics->brier = sum / total / (classes == 2 ? 2 : 1);
}

pv_status pv_assess(pv_ctx *ctx, const pv_targets *targets, const double *loglik, const double *log_marginal,
                    const double *log_p, const double *prevalence, pv_metrics *metrics) {
    sums by = {0};
    pv_status status;
    PV_GOTO(done, pv_targets_check(ctx, targets));
    PV_GOTO(done, check(ctx, targets, loglik, log_p));
    PV_GOTO(done, sums_new(ctx, targets, &by));
    if (!(by.total > 0)) {
        status = pv__fail(ctx, PV_ERR_INPUT, "there is nothing to assess: no rows, or all weights are 0");
        goto done;
    }
    assess_nell(targets, loglik, prevalence, &by, metrics);
    assess_holdout(targets, loglik, log_marginal, &by, metrics);
    assess_brier(targets, log_p, by.total, metrics);
    PV_GOTO(done, pv__assess_decisions(ctx, targets, log_p, metrics));
    PV_GOTO(done, pv__assess_ranks(ctx, targets, log_p, metrics));
done:
    pv__free(ctx, by.mass);
    return status;
}
