/* Rows that a criterion needs, and what a number of rows gives.
 *
 * Shrinkage S, with R2 and K parameters (Riley et al. 2019, from van Houwelingen and le Cessie's S = 1 -
 * K/LR):
 *
 *   n = K / ((S - 1) log(1 - R2/S)) .
 *
 * The calibration slope itself is in size_slope.c. Optimism delta of Nagelkerke's R2 = R2/max R2: the same with S =
 * R2/(R2 + delta max R2). Both R2 are those at the design's share of cases. Margin delta of a prevalence that the
 * sample itself tells: n = z^2 pi (1 - pi)/delta^2. Widths: the variance v = each/n + fixed at which a normal interval
 * is that wide; on the scale of log odds for the risk and the PPV. Power of Wald's test: n = each (z +
 * z_power)^2/beta^2.
 */
#include <math.h>

#include "prevail/core.h"
#include "size/size.h"

enum { HALVINGS = 200 };

static double rows_of_shrinkage(double parameters, double r2, double slope) {
    return r2 < slope ? parameters / ((slope - 1) * log1p(-r2 / slope)) : INFINITY;
}

/* Rows rise with S, from none at S = R2. */
double pv__size_shrinkage(double parameters, double r2, double rows) {
    double low = r2, high = 1;
    for (int i = 0; i < HALVINGS && high - low > 1e-15; i++) {
        double middle = 0.5 * (low + high);
        *(rows_of_shrinkage(parameters, r2, middle) > rows ? &high : &low) = middle;
    }
    return 0.5 * (low + high);
}

static double width_of(double value, double reach, bool logit) {
    return logit ? pv_sigmoid(pv_logit(value) + reach) - pv_sigmoid(pv_logit(value) - reach) : 2 * reach;
}

/* The half-width, on the scale of the normal interval, at which it is `width` wide. */
static double reach_of(double value, double width, bool logit) {
    double low = 0, high = 1e3;
    if (!logit)
        return 0.5 * width;
    for (int i = 0; i < HALVINGS && high - low > 1e-15 * high; i++) {
        double middle = 0.5 * (low + high);
        *(width_of(value, middle, true) < width ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

static double rows_of_width(const pv__size_problem *p, double value, double width, pv__size_variance v, bool logit) {
    double reach = reach_of(value, width, logit) / p->z, left = reach * reach - v.fixed;
    return left > 0 && isfinite(v.each) ? v.each / left : INFINITY;
}

static double ppv(const pv__size_problem *p) {
    double yes = p->prevalence * p->rate[1], no = (1 - p->prevalence) * p->rate[0];
    return yes / (yes + no);
}

/* A pilot's scores are taken for normal ones of the same AUC here. */
static double distance_of(const pv__size_problem *p) {
    return sqrt(2) * pv_normal_quantile(p->scores.auc);
}

double pv__size_needed(const pv__size_problem *p, const pv__size_design *d, pv__size_criterion criterion) {
    double goal = p->goal[criterion], pi = p->prevalence, z = p->z;
    if (!p->wanted[criterion] || (criterion == PV__SIZE_MARGIN && !d->cohort))
        return NAN;
    switch (criterion) {
    case PV__SIZE_SHRINKAGE:
        return rows_of_shrinkage(p->parameters, d->r2, goal);
    case PV__SIZE_SLOPE:
        return pv__size_rows_of_slope(distance_of(p), d->share[1], p->parameters, goal);
    case PV__SIZE_OPTIMISM:
        return rows_of_shrinkage(p->parameters, d->r2, d->r2 / (d->r2 + goal * d->r2_most));
    case PV__SIZE_MARGIN:
        return z * z * pi * (1 - pi) / (goal * goal);
    case PV__SIZE_AUC:
        return rows_of_width(p, p->scores.auc, goal, d->auc, false);
    case PV__SIZE_RISK:
        return rows_of_width(p, p->options->threshold, goal, d->risk, true);
    case PV__SIZE_PPV:
        return rows_of_width(p, ppv(p), goal, d->ppv, true);
    case PV__SIZE_BENEFIT:
        return rows_of_width(p, 0, goal, d->benefit, false);
    case PV__SIZE_POWER:
        return d->odds.each * pow((z + pv_normal_quantile(goal)) / p->beta, 2);
    case PV__SIZE_COUNT:
        break;
    }
    return NAN;
}

pv__size_interval pv__size_interval_of(const pv__size_problem *p, double value, pv__size_variance v, double rows,
                                       bool logit) {
    double error = sqrt(v.each / rows + v.fixed), reach = p->z * error;
    if (!logit)
        return (pv__size_interval){value, value - reach, value + reach, error};
    return (pv__size_interval){value, pv_sigmoid(pv_logit(value) - reach), pv_sigmoid(pv_logit(value) + reach), error};
}

static double width_at(const pv__size_problem *p, double value, pv__size_variance v, double rows, bool logit) {
    return width_of(value, p->z * sqrt(v.each / rows + v.fixed), logit);
}

double pv__size_reached(const pv__size_problem *p, const pv__size_design *d, double rows,
                        pv__size_criterion criterion) {
    double shrinkage = p->parameters > 0 ? pv__size_shrinkage(p->parameters, d->r2, rows) : NAN, shift;
    switch (criterion) {
    case PV__SIZE_SHRINKAGE:
        return shrinkage;
    case PV__SIZE_OPTIMISM:
        return d->r2 * (1 / shrinkage - 1) / d->r2_most;
    case PV__SIZE_SLOPE:
        return p->parameters < PV__SIZE_FEWEST ? NAN
                                               : pv__size_slope_of(distance_of(p), d->share[1], p->parameters, rows);
    case PV__SIZE_MARGIN:
        return p->z * sqrt(p->prevalence * (1 - p->prevalence) / rows);
    case PV__SIZE_AUC:
        return width_at(p, p->scores.auc, d->auc, rows, false);
    case PV__SIZE_RISK:
        return width_at(p, p->options->threshold, d->risk, rows, true);
    case PV__SIZE_PPV:
        return width_at(p, ppv(p), d->ppv, rows, true);
    case PV__SIZE_BENEFIT:
        return width_at(p, 0, d->benefit, rows, false);
    case PV__SIZE_POWER:
        shift = fabs(p->beta) / sqrt(d->odds.each / rows);
        return pv_normal_cdf(shift - p->z) + pv_normal_cdf(-shift - p->z);
    case PV__SIZE_COUNT:
        break;
    }
    return NAN;
}
