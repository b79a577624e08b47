/* Whether the columns tell the labels apart without fail. Without a prior there is then no finite answer; with one the
 * coefficients are the prior's, whatever their size: a perfect copy of the label has one of 5 under the default. */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

/* The least margin by which a row's own label leads, at w, in the sample; rows of weight 0 do not count. Rows are gone
 * through a piece at a time, until one does not lead. */
static pv_status least_margin(pv_ctx *ctx, const pv__problem *problem, const double *w, double *least) {
    enum { PIECE = 4096 };
    size_t k = (size_t)problem->targets.classes, d = (size_t)pv_model_inputs(problem->model);
    size_t room = problem->n < PIECE ? problem->n : PIECE, made = problem->columns ? room * d : 0;
    double *loglik, *log_ratio;
    PV_TRY(pv__alloc(ctx, (room + pv__ratio_sets(problem)) * k + made, sizeof *loglik, &loglik));
    log_ratio = loglik + room * k;
    double *buffer = log_ratio + pv__ratio_sets(problem) * k;
    pv__log_ratio(problem, log_ratio);
    *least = HUGE_VAL;
    pv_status status = PV_OK;
    for (size_t begin = 0; status == PV_OK && *least > 0 && begin < problem->n; begin += PIECE) {
        pv__problem piece = *problem;
        size_t rows = problem->n - begin < PIECE ? problem->n - begin : PIECE;
        pv__problem_take(&piece, rows, pv__problem_rows(ctx, problem, begin, rows, buffer));
        status = pv__objective_loglik(ctx, &piece, w, loglik);
        for (size_t i = 0; status == PV_OK && i < piece.n; i++) {
            size_t own = (size_t)problem->targets.label[begin + i];
            const double *ratio = pv__ratio_of(&problem->targets, log_ratio, begin + i), *own_row = loglik + i * k;
            for (size_t y = 0; y < k && pv__weight(&problem->targets, begin + i) > 0; y++)
                if (y != own)
                    *least = fmin(*least, own_row[own] + ratio[own] - own_row[y] - ratio[y]);
        }
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

/* Whether no two labels have a range in common in column j. */
static bool apart(size_t k, size_t d, const double *low, const double *high, size_t j) {
    for (size_t y = 0; y < k; y++)
        for (size_t z = 0; z < y; z++)
            if (!(low[y * d + j] > high[z * d + j] || low[z * d + j] > high[y * d + j]))
                return false;
    return true;
}

/* The first column in which no two labels have a range in common; inputs where there is none. Columns are forgotten
 * once two labels meet in them, which most do soon. */
static pv_status find_column(pv_ctx *ctx, const pv__problem *problem, size_t *column) {
    enum { LOOK = 256 };
    size_t k = (size_t)problem->targets.classes, d = (size_t)pv_model_inputs(problem->model);
    size_t left = pv__model_slopes(problem->model);
    double *low = NULL, *high, *row;
    size_t *open = NULL; /* [left], columns in which no two have met */
    *column = d;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, (2 * k + 1) * d, sizeof *low, &low));
    PV_GOTO(done, pv__alloc(ctx, d, sizeof *open, &open));
    high = low + k * d;
    row = high + k * d;
    for (size_t i = 0; i < k * d; i++) {
        low[i] = HUGE_VAL;
        high[i] = -HUGE_VAL;
    }
    for (size_t j = 0; j < left; j++)
        open[j] = j + problem->model->offset;
    for (size_t i = 0; i < problem->n && left > 0; i++) {
        size_t y = (size_t)problem->targets.label[i];
        const double *of = pv__problem_rows(ctx, problem, i, 1, row);
        for (size_t o = 0; o < left && pv__weight(&problem->targets, i) != 0; o++) {
            size_t j = open[o];
            double x = of[j];
            low[y * d + j] = fmin(low[y * d + j], x);
            high[y * d + j] = fmax(high[y * d + j], x);
        }
        if ((i + 1) % LOOK != 0 && i + 1 < problem->n)
            continue;
        size_t kept = 0;
        for (size_t o = 0; o < left; o++)
            if (apart(k, d, low, high, open[o]))
                open[kept++] = open[o];
        left = kept;
    }
    if (left > 0)
        *column = open[0];
done:
    pv__free(ctx, low);
    pv__free(ctx, open);
    return status;
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
