/* Variances of what is estimated from n rows, of which a share w has the label, at a ratio of controls to cases.
 *
 * Coefficients of a logistic model have the covariance matrix J^-1/n,
 *
 *   J = sum_i h_i p_i (1 - p_i) x_i x_i^T,      h = w f_1 + (1 - w) f_0,      logit p = logit w + s,
 *
 * with x = (1, s) for the model, x = (1, e) or (1, s, e) for an exposure e that is independent of s within each label.
 * The log-likelihood ratio at s is the linear predictor less the log odds of the design, and the numbers of cases and
 * controls are fixed, so that (Prentice and Pyke 1979)
 *
 *   n var(s^) = (1, s) J^-1 (1, s)^T + (K - 1)/J_11 - 1/w - 1/(1 - w),
 *
 * where the other K - 1 coefficients of independent predictors with unit variance, at their mean square, have the
 * second term. A prevalence from N people adds 1/(N pi (1 - pi)) to the variance of a log odds.
 *
 * A sample with the population's ratio that tells the prevalence itself has N = n: then the last terms cancel.
 *
 * AUC: DeLong's variance by placements. PPV: its log odds are logit pi + log TPR - log FPR. Net benefit: pi TPR - (1 -
 * pi) t/(1 - t) FPR. Both for a model and threshold that do not depend on these rows.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"
#include "size/size.h"

enum { MOST = 3 };

/* The variance of a combination of coefficients, by the inverse of the information; NaN: it is singular. */
static double variance(size_t n, const double *information, const double *combination) {
    double a[MOST * MOST], x[MOST], sum = 0;
    memcpy(a, information, n * n * sizeof *a);
    memcpy(x, combination, n * sizeof *x);
    if (!pv__solve_small((int)n, a, x))
        return NAN;
    for (size_t i = 0; i < n; i++)
        sum += combination[i] * x[i];
    return sum;
}

/* Adds a point to the information of (1, s, e), of which the first two are of the model. */
static void add_point(double weight, double s, double e, double *a) {
    const double x[MOST] = {1, s, e};
    for (int i = 0; i < MOST; i++)
        for (int j = 0; j < MOST; j++)
            a[MOST * i + j] += weight * x[i] * x[j];
}

/* The variance that the prevalence adds to a log odds; factor: to what moves by so much with it. */
static void add_prevalence(const pv__size_problem *p, bool cohort, double factor, pv__size_variance *to) {
    double each = factor * factor / (p->prevalence * (1 - p->prevalence));
    if (cohort)
        to->each += each;
    else
        to->fixed = each / p->prevalence_n;
}

static void put_risk(const pv__size_problem *p, pv__size_design *d) {
    const double prior = log(d->share[1] / d->share[0]), at[2] = {1, p->at};
    double a[MOST * MOST] = {0}, both[4];
    for (size_t i = 0; i < p->scores.points; i++) {
        double h = d->share[1] * p->scores.mass[1][i] + d->share[0] * p->scores.mass[0][i];
        double q = pv_sigmoid(prior + p->scores.score[i]);
        add_point(h * q * (1 - q), p->scores.score[i], 0, a);
    }
    both[0] = a[0];
    both[1] = both[2] = a[1];
    both[3] = a[MOST + 1];
    d->risk.each = variance(2, both, at) + fmax(p->parameters - 1, 0) / a[0] - 1 / d->share[0] - 1 / d->share[1];
    d->risk.each = fmax(d->risk.each, 0);
    add_prevalence(p, d->cohort, 1, &d->risk);
}

static void put_odds(const pv__size_problem *p, pv__size_design *d) {
    const double prior = log(d->share[1] / d->share[0]);
    const pv__size_exposure *e = &p->exposure;
    size_t points = p->has_scores ? p->scores.points : 1, n = p->has_scores ? 3 : 2;
    double a[MOST * MOST] = {0}, own[4], last[MOST] = {0};
    for (size_t i = 0; i < points; i++)
        for (size_t j = 0; j < e->points; j++) {
            double s = p->has_scores ? p->scores.score[i] : 0;
            double h = d->share[1] * (p->has_scores ? p->scores.mass[1][i] : 1) * e->mass[1][j] +
                       d->share[0] * (p->has_scores ? p->scores.mass[0][i] : 1) * e->mass[0][j];
            double q = pv_sigmoid(prior + s + e->ratio[j]);
            add_point(h * q * (1 - q), s, e->value[j], a);
        }
    own[0] = a[0];
    own[1] = own[2] = a[2];
    own[3] = a[8];
    last[n - 1] = 1;
    d->odds.each = variance(n, n == 3 ? a : own, last);
}

bool pv__size_design_of(const pv__size_problem *p, double ratio, pv__size_design *d) {
    double pi = p->prevalence, t = p->options->threshold, case_share = 1 / (1 + ratio);
    *d = (pv__size_design){.ratio = ratio, .share = {ratio / (1 + ratio), case_share}};
    d->cohort = p->cohort && fabs(ratio * pi / (1 - pi) - 1) < 1e-9;
    d->r2_most = pv__size_r2_most(case_share);
    if (p->has_scores) {
        d->r2 = pv__size_r2(&p->scores, case_share);
        d->auc.each = p->scores.placement[0] / d->share[0] + p->scores.placement[1] / d->share[1];
    }
    if (p->has_scores && t > 0) {
        double tpr = p->rate[1], fpr = p->rate[0], price = t / (1 - t);
        put_risk(p, d);
        d->ppv.each = (1 - tpr) / (d->share[1] * tpr) + (1 - fpr) / (d->share[0] * fpr);
        d->benefit.each = pi * pi * tpr * (1 - tpr) / d->share[1] +
                          (1 - pi) * (1 - pi) * price * price * fpr * (1 - fpr) / d->share[0];
        add_prevalence(p, d->cohort, 1, &d->ppv);
        add_prevalence(p, d->cohort, (tpr + fpr * price) * pi * (1 - pi), &d->benefit);
    }
    if (p->exposure.points > 0)
        put_odds(p, d);
    return isfinite(d->risk.each) && isfinite(d->odds.each);
}
