/* Rows at a ratio of controls to cases, and the ratio of least cost.
 *
 * Each criterion needs n_c(r) rows at the ratio r, and costs C(r) = max_c n_c(r) (cost_case + r cost_control)/(1 + r).
 * The least is found on a grid of log r and then by golden section between the neighbours of the best point: C need
 * not have one minimum, since another criterion may bind on each side. For an odds ratio near 1, r = sqrt(cost_case /
 * cost_control).
 */
#include <math.h>

#include "size/size.h"

enum { GRID = 61, SECTIONS = 40 };
static const double LEAST = 0.01, MOST = 1000;

double pv__size_population_ratio(const pv__size_problem *p) {
    return (1 - p->prevalence) / p->prevalence;
}

void pv__size_split(const pv__size_problem *p, double ratio, double total, pv__size_rows *rows) {
    double whole = fmax(2, ceil(total * (1 - 1e-12)));
    double cases = isfinite(whole) ? fmin(fmax(1, ceil(whole / (1 + ratio) * (1 - 1e-12))), whole - 1) : whole;
    rows->ratio = ratio;
    rows->total = whole;
    rows->cases = cases;
    rows->controls = isfinite(whole) ? whole - cases : whole;
    rows->cost = p->options->cost_case * rows->cases + p->options->cost_control * rows->controls;
}

/* The largest number that a criterion needs, before it is made whole. */
static pv_status most_needed(const pv__size_problem *p, double ratio, double *total, int *binding) {
    pv__size_design d;
    *total = 0;
    *binding = -1;
    if (!pv__size_design_of(p, ratio, &d))
        return pv__fail(p->ctx, PV_ERR_NUMERIC,
                        "the information of the assumed model is singular with %g controls per case;\nassume a smaller "
                        "AUC, or state `ratio`",
                        ratio);
    for (int c = 0; c < PV__SIZE_COUNT; c++) {
        double needed = pv__size_needed(p, &d, (pv__size_criterion)c);
        if (c == PV__SIZE_SLOPE && p->wanted[c] && isnan(needed))
            needed = INFINITY;
        if (needed > *total) {
            *total = needed;
            *binding = c;
        }
    }
    return PV_OK;
}

pv_status pv__size_rows_at(const pv__size_problem *p, double ratio, pv__size_rows *rows) {
    double total;
    int binding;
    PV_TRY(most_needed(p, ratio, &total, &binding));
    pv__size_split(p, ratio, total, rows);
    rows->binding = binding;
    return PV_OK;
}

static pv_status log_cost(const pv__size_problem *p, double log_ratio, double *cost) {
    double ratio = exp(log_ratio), total;
    int binding;
    PV_TRY(most_needed(p, ratio, &total, &binding));
    *cost = log(total) + log((p->options->cost_case + ratio * p->options->cost_control) / (1 + ratio));
    return PV_OK;
}

pv_status pv__size_best(const pv__size_problem *p, double *ratio) {
    const double golden = 0.61803398874989485, step = log(MOST / LEAST) / (GRID - 1);
    double best = INFINITY, at = log(LEAST), cost;
    for (int i = 0; i < GRID; i++) {
        PV_TRY(log_cost(p, log(LEAST) + i * step, &cost));
        if (cost < best) {
            best = cost;
            at = log(LEAST) + i * step;
        }
    }
    double low = fmax(at - step, log(LEAST)), high = fmin(at + step, log(MOST)), left, right;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    PV_TRY(log_cost(p, a, &left));
    PV_TRY(log_cost(p, b, &right));
    for (int i = 0; i < SECTIONS; i++) {
        bool lower = left < right;
        *(lower ? &high : &low) = lower ? b : a;
        a = high - golden * (high - low);
        b = low + golden * (high - low);
        PV_TRY(log_cost(p, a, &left));
        PV_TRY(log_cost(p, b, &right));
    }
    /* Four digits: the cost is flat there, and more of them are the rounding of its values. */
    double found = exp(0.5 * (low + high)), scale = pow(10, 3 - floor(log10(found)));
    *ratio = round(found * scale) / scale;
    return PV_OK;
}
