/* Final checks of probabilities before they are returned or used for decisions.
 *
 * Cells and parameters are finite, but products and sums of them need not be: infinity minus infinity is NaN, all
 * comparisons with NaN are false, and a search for the largest value would return its starting point. Predictions are
 * checked in pv_predict_loglik, pv_predict and pv_unknown_predict, inputs of decisions in pv_decide and
 * pv_decide_label, and inputs of evaluations in pv__tally_rows.
 */
#include <float.h>
#include <math.h>

#include "data/data.h"
#include "predict/predict.h"

/* slightly more than 1 is rounding */
static const double ONE = 1 + 1e-9, SUM_OFF = 1e-3;

static bool row_passes(pv__gate gate, size_t k, const double *value) {
    bool fine = true;
    double sum = 0, top = -HUGE_VAL;
    switch (gate) {
    case PV__GATE_LOG:
        for (size_t y = 0; y < k; y++) {
            fine &= value[y] < HUGE_VAL; /* written so that NaN gives false */
            top = value[y] > top ? value[y] : top;
        }
        return fine && top > -HUGE_VAL;
    case PV__GATE_SHARES:
        for (size_t y = 0; y < k; y++) {
            fine &= value[y] >= 0 && value[y] <= ONE;
            sum += value[y];
        }
        return fine && fabs(sum - 1) <= SUM_OFF;
    case PV__GATE_BOUNDS:
        for (size_t y = 0; y < k; y++)
            fine &= value[y] >= 0 && value[y] <= ONE;
        return fine;
    }
    return false;
}

/* Checks n rows of two classes without branches, at the speed of memory. */
static bool pairs_pass(pv__gate gate, size_t n, const double *value) {
    const double low = gate == PV__GATE_LOG ? -HUGE_VAL : 0, high = gate == PV__GATE_LOG ? DBL_MAX : ONE;
    int within = 1, sound = 1;
    for (size_t i = 0; i < n; i++) {
        double a = value[2 * i], b = value[2 * i + 1];
        within &= (a >= low) & (a <= high) & (b >= low) & (b <= high);
        sound &= gate == PV__GATE_SHARES ? fabs(a + b - 1) <= SUM_OFF
                 : gate == PV__GATE_LOG  ? (a > low) | (b > low)
                                         : 1;
    }
    return within & sound;
}

size_t pv__gate_stops(pv__gate gate, size_t n, int classes, const double *value) {
    enum { BLOCK = 1024 };
    size_t k = (size_t)classes, i = 0;
    while (k == 2 && i < n && pairs_pass(gate, n - i < BLOCK ? n - i : BLOCK, value + 2 * i))
        i += n - i < BLOCK ? n - i : BLOCK;
    while (i < n && row_passes(gate, k, value + i * k))
        i++;
    return i;
}

pv_status pv__gate_pass(pv_ctx *ctx, pv__gate gate, size_t n, int classes, const double *value) {
    if (!value)
        return PV_OK;
    size_t row = pv__gate_stops(gate, n, classes, value);
    if (row == n)
        return PV_OK;
    return pv__fail(ctx, PV_ERR_NUMERIC, "the %s of row %zu are %s",
                    gate == PV__GATE_LOG      ? "log-likelihoods"
                    : gate == PV__GATE_SHARES ? "probabilities"
                                              : "bounds of the probabilities",
                    row + 1,
                    gate == PV__GATE_LOG      ? "not finite"
                    : gate == PV__GATE_SHARES ? "not probabilities: numbers from 0 to 1 that add up to 1"
                                              : "not numbers from 0 to 1");
}

/* The column whose cell in this row is farthest from the mean, and the distance; SIZE_MAX if there are none. */
static pv_status farthest(pv_ctx *ctx, const pv_dataset *data, size_t row, size_t *far, double *away) {
    size_t d = (size_t)data->features;
    double *room;
    *far = SIZE_MAX;
    if (!data->x && !data->columns)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, d, sizeof *room, &room));
    const double *x = pv_dataset_rows(ctx, data, row, 1, room);
    for (size_t j = 0; j < d; j++)
        if (*far == SIZE_MAX || fabs(x[j]) > *away) {
            *far = j;
            *away = fabs(x[j]);
        }
    pv__free(ctx, room);
    return PV_OK;
}

pv_status pv__gate_predicted(pv_ctx *ctx, pv__gate gate, const pv_classifier *c, const pv_dataset *data,
                             const double *value) {
    size_t row = value ? pv__gate_stops(gate, data->rows, c->schema->classes, value) : data->rows;
    if (row == data->rows)
        return PV_OK;
    size_t number = data->before + (data->table_row ? data->table_row[row] : row) + 1, far;
    double away = 0;
    PV_TRY(farthest(ctx, data, row, &far, &away));
    const char *const *feature = c->schema ? (const char *const *)c->schema->feature : NULL;
    if (far == SIZE_MAX || !feature || data->features != c->schema->features)
        return pv__fail(ctx, PV_ERR_NUMERIC,
                        "row %zu: the model's probabilities overflow, because its values or the model's parameters are "
                        "too large; check the model with prevail diagnose",
                        number);
    return pv__fail(ctx, PV_ERR_NUMERIC,
                    "row %zu: the model's probabilities overflow; column '%s' is farthest from the mean, by %.3g "
                    "standard deviations:\ncorrect the cell, or check the model with prevail diagnose",
                    number, pv__show(feature[far]).text, away);
}
