/* Simulated CT nodules for the studies of images: their population, and the truth.
 *
 * The truth is p(malignant|features) of a nodule, which is all that a reader of its image could know, converted to each
 * prevalence like any prediction. For ratings it is the expected frequencies of the readers' grades.
 */
#include <math.h>
#include <string.h>

#include "prevail/prevail.h"
#include "lab/common/grid.h"
#include "tool/console.h"
#include "tool/training.h"

int grid_simulate(grid *g, bool grades) {
    enum { SIDE = 40, QUICK_SIDE = 20 };
    const grid_options *options = g->options;
    pv_simulation what = {.rows = options->cases + options->controls,
                          .cases = options->cases,
                          .controls = options->controls,
                          .prevalence = GRID_SIMULATED_PREVALENCE,
                          .size = options->quick ? QUICK_SIDE : SIDE,
                          .absent = 0.25,
                          .within_label = -1,
                          .seed = (uint64_t)options->shared.seed};
    g->roles.roles.target = grades ? "votes" : "labels";
    g->roles.image.votes = grades ? "votes" : NULL;
    g->roles.roles.group = "group";
    if (!g->roles.image.window)
        g->roles.image.window = "-1000,400";
    g->roles.roles.image = &g->roles.image;
    const pv_csv_options read = {.roles = &g->roles.roles};
    pv_image_options *image = &g->roles.image;
    pv_status status = pv_model_views(g->call->ctx, g->model[g->networks.index[0]], &image->views, &image->size);
    if (status == PV_OK)
        status = pv_simulate_ct(g->call->ctx, &what, &g->archive, NULL);
    if (status == PV_OK)
        status = pv_table_of(g->call->ctx, g->archive, &read, &g->training.table);
    return status == PV_OK ? cli_training_learn(g->call, &g->roles, &g->training) : cli_fail(g->call, status);
}

/* Probability of each label, per row of the table. */
static pv_status truth_columns(grid *g, bool grades, size_t classes, const double *column[GRID_CLASSES_MAX]) {
    const pv_table *table = g->training.table;
    for (size_t y = 0; y < classes; y++) {
        char name[40] = "probability";
        size_t at;
        if (grades)
            snprintf(name, sizeof name, "grade_probability.%zu", y + 1);
        pv_status status = pv_table_find(g->call->ctx, table, "the truth", name, &at);
        if (status != PV_OK)
            return status;
        column[y] = table->column[at].number;
    }
    return PV_OK;
}

int grid_truth(grid *g, bool grades, grid_cell *cell) {
    const pv_dataset *held_out = g->held_out[cell->fold];
    size_t k = (size_t)held_out->classes;
    const double *column[GRID_CLASSES_MAX];
    double mean[GRID_CLASSES_MAX] = {0};
    pv_status status = truth_columns(g, grades, k, column);
    if (status != PV_OK)
        return cli_fail(g->call, status);
    for (size_t i = 0; i < held_out->rows; i++)
        for (size_t y = 0; y < k; y++) {
            double p = column[y][held_out->table_row[i]];
            p = !grades && y == 0 ? 1 - p : p;
            cell->loglik[i * k + y] = log(fmax(p, 1e-300));
        }
    for (size_t i = 0; i < g->training.data->rows && grades; i++)
        for (size_t y = 0; y < k; y++)
            mean[y] += column[y][g->training.data->table_row[i]] / (double)g->training.data->rows;
    if (!grades) {
        mean[0] = 1 - GRID_SIMULATED_PREVALENCE;
        mean[1] = GRID_SIMULATED_PREVALENCE;
    }
    for (size_t y = 0; y < k; y++)
        cell->log_marginal[y] = log(mean[y]);
    cell->stop = PV_STOP_COMPLETED;
    cell->done = true;
    return CLI_OK;
}
