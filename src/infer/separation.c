/* Whether the columns tell the labels apart without fail. Without a prior there is then no finite answer; with one the
 * coefficients are the prior's, whatever their size: a perfect copy of the label has one of 5 under the default. */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

/* The least margin by which a row's own label leads, at w, in the sample; rows of weight 0 do not count. */
static pv_status least_margin(pv_ctx *ctx, const pv__problem *problem, const double *w, double *least) {
    size_t n = problem->n, k = (size_t)problem->targets.classes;
    double *loglik, *log_ratio;
    PV_TRY(pv__alloc(ctx, (n + pv__ratio_sets(problem)) * k, sizeof *loglik, &loglik));
    log_ratio = loglik + n * k;
    pv_status status = pv__objective_loglik(ctx, problem, w, loglik);
    pv__log_ratio(problem, log_ratio);
    *least = HUGE_VAL;
    for (size_t i = 0; status == PV_OK && i < n; i++) {
        size_t own = (size_t)problem->targets.label[i];
        const double *ratio = pv__ratio_of(&problem->targets, log_ratio, i);
        if (pv__weight(&problem->targets, i) == 0)
            continue;
        for (size_t y = 0; y < k; y++)
            if (y != own)
                *least = fmin(*least, loglik[i * k + own] + ratio[own] - loglik[i * k + y] - ratio[y]);
        if (!(*least > 0))
            break;
    }
    pv__free(ctx, loglik);
    return status;
}

/* Ordered labels: whether each row lies between the thresholds of its own label at w, which is where the cumulative
 * probabilities pass one half: then all of them can grow without end. */
static pv_status between_thresholds(pv_ctx *ctx, const pv__problem *problem, const double *w, bool *all) {
    size_t n = problem->n, k = (size_t)problem->targets.classes;
    double *loglik;
    PV_TRY(pv__alloc(ctx, n * k, sizeof *loglik, &loglik));
    pv_status status = pv__objective_loglik(ctx, problem, w, loglik);
    *all = status == PV_OK;
    for (size_t i = 0; *all && i < n; i++) {
        size_t own = (size_t)problem->targets.label[i];
        double below = 0;
        for (size_t y = 0; y < own; y++)
            below += exp(loglik[i * k + y]);
        if (pv__weight(&problem->targets, i) != 0)
            *all = below < 0.5 && below + exp(loglik[i * k + own]) > 0.5;
    }
    pv__free(ctx, loglik);
    return status;
}

/* The first column in which no two labels have a range in common; inputs where there is none. */
static pv_status find_column(pv_ctx *ctx, const pv__problem *problem, size_t *column) {
    size_t k = (size_t)problem->targets.classes, d = (size_t)pv_model_inputs(problem->model);
    double *low, *high;
    *column = d;
    PV_TRY(pv__alloc(ctx, 2 * k * d, sizeof *low, &low));
    high = low + k * d;
    for (size_t i = 0; i < k * d; i++) {
        low[i] = HUGE_VAL;
        high[i] = -HUGE_VAL;
    }
    for (size_t i = 0; i < problem->n; i++) {
        size_t y = (size_t)problem->targets.label[i];
        if (pv__weight(&problem->targets, i) == 0)
            continue;
        for (size_t j = 0; j < d; j++) {
            double x = problem->x[i * d + j];
            low[y * d + j] = fmin(low[y * d + j], x);
            high[y * d + j] = fmax(high[y * d + j], x);
        }
    }
    for (size_t j = d; j-- > 0;) {
        bool apart = true;
        for (size_t y = 0; y < k && apart; y++)
            for (size_t z = 0; z < y && apart; z++)
                apart = low[y * d + j] > high[z * d + j] || low[z * d + j] > high[y * d + j];
        if (apart)
            *column = j;
    }
    pv__free(ctx, low);
    return PV_OK;
}

pv_status pv__find_separation(pv_ctx *ctx, const pv__problem *problem, const double *w, int64_t *found) {
    size_t d = (size_t)pv_model_inputs(problem->model), column;
    double least;
    *found = PV_SEPARATED_NOT;
    if (!pv_model_has_coefficients(problem->model) || !problem->targets.label || problem->data)
        return PV_OK;
    PV_TRY(find_column(ctx, problem, &column));
    if (column < d) {
        *found = (int64_t)column + 1;
        return PV_OK;
    }
    PV_TRY(least_margin(ctx, problem, w, &least));
    if (least > 0)
        *found = PV_SEPARATED_TOGETHER;
    return PV_OK;
}

pv_status pv__refuse_separation(pv_ctx *ctx, const pv__problem *problem, const double *w) {
    double least;
    if (!pv_model_is_convex(problem->model) || !problem->targets.label)
        return PV_OK;
    bool separated = false;
    if (problem->model->ordinal) {
        PV_TRY(between_thresholds(ctx, problem, w, &separated));
    } else {
        PV_TRY(least_margin(ctx, problem, w, &least));
        separated = least > 0;
    }
    if (!separated)
        return PV_OK;
    return pv__fail(
        ctx, PV_ERR_INPUT,
        "the columns separate the classes perfectly: without a prior there is no finite answer; use `infer` map, or a "
        "posterior, with a prior such as `prior` normal:2.5");
}
