/* Labels recorded with errors (misclassified outcomes): the selection likelihood of the observed label,
 *
 *   p_s(y|x) proportional to q_y(x) n_y / lambda_y,   q_y(x) = sum_k M_yk p_k(x),   lambda_y = sum_k M_yk pi_k,
 *
 * where p_k(x) is the model's probability of the true label k, pi its prevalence, M_yk = P(observed y | true k), and
 * n_y the rows with observed label y. Rows of a random sample have no factor n_y / lambda_y (ratio 0).
 *
 * M is given by sensitivity M_11 and specificity M_00; or follows from predictive values P(true y | observed y) = v_y,
 * because lambda_1 v_1 + (1 - lambda_1)(1 - v_0) = pi_1 determines lambda_1.
 *
 * Domain: two labels, errors that do not depend on x given the true label (non-differential), M_11 + M_00 > 1. With
 * eta = log p_1 - log p_0 and g = M_11 + M_00 - 1, d logit q_1 / d eta = g p_0 p_1 / (q_0 q_1), computed from
 * logarithms.
 */
#include "core/label_error.h"

#include <math.h>

#include "core/log_add.h"

bool pv__label_error_complete(pv_label_error *e, double prevalence) {
    const double *v = e->value;
    if (!e->predictive) {
        e->correct[0] = v[0];
        e->correct[1] = v[1];
        e->share = v[1] * prevalence + (1 - v[0]) * (1 - prevalence);
        return v[0] + v[1] > 1;
    }
    e->share = (prevalence - (1 - v[0])) / (v[0] + v[1] - 1);
    e->correct[1] = v[1] * e->share / prevalence;
    e->correct[0] = v[0] * (1 - e->share) / (1 - prevalence);
    return v[0] + v[1] > 1 && e->share > 0 && e->share < 1;
}

double pv__label_error_variance(const pv_label_error *e, int y) {
    double n = e->units[y], right = e->value[y] * n + 0.5, wrong = (1 - e->value[y]) * n + 0.5;
    return isinf(n) ? 0 : right * wrong / ((n + 1) * (n + 1) * (n + 2));
}

pv__recorded pv__recorded_of(const pv_label_error *e, double ratio, const double *loglik) {
    double q1 = pv__log_add(log(e->correct[1]) + loglik[1], log1p(-e->correct[0]) + loglik[0]);
    double q0 = pv__log_add(log1p(-e->correct[1]) + loglik[1], log(e->correct[0]) + loglik[0]);
    double logit = q1 - q0 + ratio, gain = e->correct[0] + e->correct[1] - 1;
    double slope = gain * exp(loglik[0] + loglik[1] - q0 - q1);
    double turn = exp(loglik[0]) - exp(loglik[1]) - slope * (exp(q0) - exp(q1));
    return (pv__recorded){{-pv__log_add(0, logit), -pv__log_add(0, -logit)}, slope, slope * turn};
}

double pv__label_error_rows(const pv_targets *targets, const pv_label_error *error, double ratio, const double *loglik,
                            double *dloglik) {
    double value = 0;
    for (size_t i = 0; i < targets->n; i++) {
        pv__recorded row = pv__recorded_of(error, ratio, loglik + 2 * i);
        double weight = pv__weight(targets, i);
        int y = targets->label[i];
        value -= weight * row.log_p[y];
        double d = weight * row.slope * exp(row.log_p[1 - y]) * (y == 1 ? -1 : 1);
        dloglik[2 * i] = -d; /* eta is the difference of the two, which sum to 1 as probabilities */
        dloglik[2 * i + 1] = d;
    }
    return value;
}
