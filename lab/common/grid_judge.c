/* Held-out predictions of a cell, and their metrics.
 *
 * A model's predictions refer to a population of prevalence pi, in which the labels have the marginal p(y|w). The
 * held-out rows have other label proportions s: adapted predictions are p(y|x,w) s_y / p(y|w), normalised (Eq.
 * likelihood with selection).
 */
#include <stdlib.h>
#include <string.h>

#include "prevail/prevail.h"
#include "lab/common/grid_report.h"
#include "tool/console.h"

grid_judged grid_judged_new(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted) {
    const pv_dataset *held_out = g->held_out[cell->fold];
    pv_targets targets = pv_dataset_targets(held_out);
    grid_judged j = {.rows = held_out->rows, .classes = (size_t)held_out->classes};
    double share[GRID_CLASSES_MAX], total = 0;
    j.loglik = cli_alloc(j.rows * j.classes, sizeof *j.loglik);
    j.log_p = cli_alloc(j.rows * j.classes, sizeof *j.log_p);
    grid_predictions(g, cell, prevalence, j.loglik, j.log_marginal);
    if (!adapted) {
        memcpy(j.log_p, j.loglik, j.rows * j.classes * sizeof *j.log_p);
        return j;
    }
    pv_label_mass(&targets, share);
    for (size_t y = 0; y < j.classes; y++)
        total += share[y];
    for (size_t y = 0; y < j.classes; y++)
        share[y] /= total;
    pv_adapt(j.rows, (int)j.classes, j.loglik, j.log_marginal, share, j.log_p);
    return j;
}

void grid_judged_clear(grid_judged *judged) {
    free(judged->loglik);
    free(judged->log_p);
}

pv_status grid_assess(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted, const grid_judged *judged,
                      pv_metrics *metrics) {
    pv_ctx *ctx = g->call->ctx;
    pv_targets targets = pv_dataset_targets(g->held_out[cell->fold]);
    pv_status status = pv_assess(ctx, &targets, judged->loglik, judged->log_marginal, judged->log_p,
                                 g->prevalence[prevalence], metrics);
    if (status == PV_OK && !adapted) {
        pv_metrics rows;
        status = pv_assess(ctx, &targets, judged->loglik, judged->log_marginal, judged->log_p, NULL, &rows);
        metrics->holdout_nll = rows.log_loss;
    }
    return status;
}

void grid_metrics(const pv_metrics *metrics, int n, const grid_column *column, double *values) {
    for (const pv_metric_row *row = pv_metric_table; row->name; row++)
        for (int c = 0; c < n; c++)
            if (strcmp(row->name, column[c].name) == 0)
                values[c] = pv_metric_get(metrics, row);
}
