/* Decisions at given thresholds, for the prevalence pi of the population that a ranking refers to.
 *
 * Rates: Wilson's intervals for tpr and tnr, those of the likelihood ratios for ppv and npv, normal intervals for the
 * rest. Rows of the two labels are independent samples, so the variance of pi a + (1 - pi) b is pi^2 times that of a
 * mean over the positive rows, plus (1 - pi)^2 times that of a mean over the others.
 *
 * Cost: pi c_1 + (1 - pi) c_0, where c_y is the mean over rows of label y of the cost of the chosen action.
 */
#include <math.h>

#include "assess/curves.h"

static pv_rate of_bounds(double value, pv__bounds bounds) {
    return (pv_rate){value, bounds.lo, bounds.hi};
}

static pv_rate about(double value, double reach, double least, double most) {
    return (pv_rate){value, fmax(value - reach, least), fmin(value + reach, most)};
}

pv_status pv_rates_at(pv_ctx *ctx, const pv_ranking *ranking, double threshold, double level, pv_rates *rates) {
    if (!(threshold > 0 && threshold < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "a threshold must lie between 0 and 1, not %g", threshold);
    const double z = pv_normal_quantile(0.5 + 0.5 * level), pi = pv__ranking_prevalence(ranking);
    const double n_p = ranking->rows_p, n_n = ranking->rows_n, prior = pv_logit(pi);
    const pv__rates at = pv__rates_at(ranking, pv__point_at(ranking, threshold));
    const double variance_p = at.tpr * (1 - at.tpr) / n_p, variance_n = at.fpr * (1 - at.fpr) / n_n;
    const double price = (1 - pi) * threshold / (1 - threshold);
    const double called = pi * at.tpr + (1 - pi) * at.fpr;
    *rates = (pv_rates){
        .threshold = threshold,
        .tpr = of_bounds(at.tpr, pv__share_bounds(at.tpr * n_p, n_p, z)),
        .tnr = of_bounds(1 - at.fpr, pv__share_bounds((1 - at.fpr) * n_n, n_n, z)),
        .ppv = of_bounds(pv__ppv(pi, at), pv__ratio_bounds(prior, at.tpr, n_p, at.fpr, n_n, z)),
        .npv = of_bounds(pv__npv(pi, at), pv__ratio_bounds(-prior, 1 - at.fpr, n_n, 1 - at.tpr, n_p, z)),
        .called = about(called, z * sqrt(pi * pi * variance_p + (1 - pi) * (1 - pi) * variance_n), 0, 1),
        .net_benefit = about(pi * at.tpr - price * at.fpr, z * sqrt(pi * pi * variance_p + price * price * variance_n),
                             -INFINITY, INFINITY)};
    return PV_OK;
}

pv_status pv_ranking_cost(pv_ctx *ctx, const pv_ranking *ranking, size_t actions, const double *cost,
                          const double *threshold, double level, pv_rate *mean) {
    const double z = pv_normal_quantile(0.5 + 0.5 * level), pi = pv__ranking_prevalence(ranking);
    double sum[2] = {0}, square[2] = {0};
    pv__rates from = {1, 1}; /* fractions of rows for which this action or a later one is chosen */
    for (size_t a = 0; a < actions; a++) {
        if (a > 0 && a + 1 < actions && !(threshold[a] >= threshold[a - 1]))
            return pv__fail(ctx, PV_ERR_USAGE, "thresholds must increase; the one of action %zu does not", a + 1);
        const pv__rates next =
            a + 1 < actions ? pv__rates_at(ranking, pv__point_at(ranking, threshold[a])) : (pv__rates){0, 0};
        const double share[2] = {from.fpr - next.fpr, from.tpr - next.tpr};
        for (int y = 0; y < 2; y++) {
            sum[y] += share[y] * cost[2 * a + (size_t)y];
            square[y] += share[y] * cost[2 * a + (size_t)y] * cost[2 * a + (size_t)y];
        }
        from = next;
    }
    const double variance_n = fmax(square[0] - sum[0] * sum[0], 0) / ranking->rows_n;
    const double variance_p = fmax(square[1] - sum[1] * sum[1], 0) / ranking->rows_p;
    *mean = about(pi * sum[1] + (1 - pi) * sum[0], z * sqrt(pi * pi * variance_p + (1 - pi) * (1 - pi) * variance_n),
                  -INFINITY, INFINITY);
    return PV_OK;
}
