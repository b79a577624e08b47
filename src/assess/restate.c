/* Metrics for a population with strata. With p(s,y) the proportion of stratum s and label y in the population, and n_sy
 * the number of its rows, a row's weight becomes
 *
 *   v_n ~ v_n p(s,y) / n_sy .
 *
 * The weights of each label are scaled to sum to Kish's effective number of rows, (sum v)^2 / sum v^2, because other
 * code uses a label's mass as its number of rows (the spread of log_loss, the intervals of curves). The label
 * proportions of the population are set separately (assess.c).
 */
#include "assess.h"

#include <math.h>

static pv_status check(pv_ctx *ctx, const pv_assess_options *options, const pv_targets *targets) {
    if (!targets->stratum || !targets->label)
        return pv__fail(ctx, PV_ERR_USAGE, "metrics for strata need rows with a stratum and one label each");
    for (size_t n = 0; n < targets->n; n++)
        if (targets->stratum[n] < 0 || targets->stratum[n] >= options->strata)
            return pv__fail(ctx, PV_ERR_INPUT,
                            "row %zu does not name its stratum, and metrics for the population need it:\nleave the row "
                            "out, or ask for metrics of the rows",
                            n + 1);
    return PV_OK;
}

/* Scales each label's weights to sum to its effective number of rows. */
static void scale(const pv_targets *targets, const double *old, double *weight, double *sums) {
    size_t k = (size_t)targets->classes;
    double *total = sums, *square = sums + k;
    for (size_t n = 0; n < targets->n; n++) {
        double v = old ? old[n] : 1;
        total[targets->label[n]] += weight[n];
        square[targets->label[n]] += v > 0 ? weight[n] * weight[n] / v : 0;
    }
    for (size_t n = 0; n < targets->n; n++) {
        size_t y = (size_t)targets->label[n];
        weight[n] *= square[y] > 0 ? total[y] / square[y] : 0;
    }
}

pv_status pv__case_restate(pv_ctx *ctx, const pv_assess_options *options, pv__case *made) {
    const pv_targets *targets = made->targets;
    if (!options->stratum_mass)
        return PV_OK;
    if (!options->prevalence)
        return pv__fail(ctx, PV_ERR_USAGE, "the prevalence of the population of strata is missing");
    PV_TRY(check(ctx, options, targets));
    size_t k = (size_t)targets->classes, cells = (size_t)options->strata * k;
    double *rows, *weight;
    PV_TRY(pv__alloc(ctx, cells + 2 * k, sizeof *rows, &rows));
    pv_status status = pv__alloc(ctx, targets->n, sizeof *weight, &weight);
    for (size_t n = 0; status == PV_OK && n < targets->n; n++)
        rows[(size_t)targets->stratum[n] * k + (size_t)targets->label[n]] += pv__row_weight(targets, n);
    for (size_t i = 0; status == PV_OK && i < cells; i++)
        if (options->stratum_mass[i] > 0 && !(rows[i] > 0))
            status = pv__fail(
                ctx, PV_ERR_INPUT,
                "there is no row of stratum %zu with label %zu, both counted from 1, so metrics for the population, "
                "which has them, are undefined:\nevaluate more rows, or ask for metrics of the rows as they are",
                i / k + 1, i % k + 1);
    if (status != PV_OK) {
        pv__free(ctx, weight);
        pv__free(ctx, rows);
        return status;
    }
    for (size_t n = 0; n < targets->n; n++) {
        size_t cell = (size_t)targets->stratum[n] * k + (size_t)targets->label[n];
        weight[n] = rows[cell] > 0 ? pv__row_weight(targets, n) * options->stratum_mass[cell] / rows[cell] : 0;
    }
    scale(targets, targets->weight, weight, rows + cells);
    pv__free(ctx, rows);
    made->restated = *targets;
    made->restated.weight = made->weight = weight;
    made->drawn = targets->weight;
    made->targets = &made->restated;
    made->kinds = (int)cells;
    return PV_OK;
}
