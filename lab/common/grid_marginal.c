/* The marginal during training: the auxiliary network's q(y), which the loss uses for p(y|w), compared with the plug-in
 * p(y|w) of all training rows, at the end of each epoch.
 */
#include <math.h>
#include <stdlib.h>

#include "prevail/prevail.h"
#include "lab/common/canvas.h"
#include "lab/common/grid.h"
#include "lab/common/tables.h"
#include "tool/console.h"

static bool shown(const grid *g, int network, int design) {
    for (size_t i = 0; i < g->cells; i++)
        if (g->cell[i].network == network && g->cell[i].design == design && g->cell[i].epochs)
            return true;
    return false;
}

static double deviation_at(const grid *g, const grid_cell *cell, size_t epoch) {
    size_t k = (size_t)g->training.data->classes;
    double most = 0;
    for (size_t y = 0; y < k; y++)
        most = fmax(most, fabs(cell->used[epoch * k + y] / cell->exact[epoch * k + y] - 1));
    return most;
}

grid_deviation grid_deviation_of(const grid *g, const grid_cell *cell) {
    if (!cell->epochs)
        return (grid_deviation){NAN, NAN, NAN};
    grid_deviation found = {.last = deviation_at(g, cell, cell->epochs - 1)};
    for (size_t e = 0; e < cell->epochs; e++) {
        found.most = fmax(found.most, deviation_at(g, cell, e));
        found.mean += deviation_at(g, cell, e) / (double)cell->epochs;
    }
    return found;
}

void grid_print_marginals(FILE *out, const grid *g, int network, int design, bool markdown) {
    static const char *const titles[] = {"largest", "mean", "last"};
    study_layout layout = {markdown, 8, 16, 8};
    if (!shown(g, network, design))
        return;
    fputs("\nThe auxiliary network's q(y) against p(y|w) of all training rows, at the end of each epoch in the first\n"
          "fold: largest |q/p - 1| of any label.\n\n",
          out);
    study_table_head(out, &layout, markdown ? "prevalence" : "prev.", "method", 3, titles);
    for (size_t i = 0; i < g->cells; i++) {
        const grid_cell *c = &g->cell[i];
        if (c->network != network || c->design != design || !c->epochs)
            continue;
        grid_deviation found = grid_deviation_of(g, c);
        char cell[3][STUDY_CELL];
        study_value_text(found.most, NAN, 3, cell[0], sizeof cell[0]);
        study_value_text(found.mean, NAN, 3, cell[1], sizeof cell[1]);
        study_value_text(found.last, NAN, 3, cell[2], sizeof cell[2]);
        study_table_row(out, &layout, g->prevalence_name[c->prevalence], grid_method_text[c->method], 3, cell);
    }
}

/* The label with the smallest given prevalence, which is the hardest to track. */
static size_t rarest(const grid *g, size_t prevalence) {
    size_t least = 0;
    for (size_t y = 1; y < (size_t)g->training.data->classes; y++)
        if (g->prevalence[prevalence][y] <= g->prevalence[prevalence][least])
            least = y;
    return least;
}

static void draw_cell(const grid *g, study_canvas *canvas, const grid_cell *cell) {
    size_t n = cell->epochs, k = (size_t)g->training.data->classes, label = rarest(g, cell->prevalence);
    double *x = cli_alloc(4 * n, sizeof *x), *q = x + n, *lo = q + n, *hi = lo + n;
    for (size_t e = 0; e < n; e++) {
        double exact = cell->exact[e * k + label];
        x[e] = (double)(e + 1);
        q[e] = cell->used[e * k + label];
        lo[e] = 0.95 * exact;
        hi[e] = 1.05 * exact;
    }
    pv_series band = {.mark = PV_MARK_BAND,
                      .ink = PV_INK_EXPECTED,
                      .name = "p(y|w), 5 % about it",
                      .n = n,
                      .x = x,
                      .lo = lo,
                      .hi = hi};
    study_series(canvas, &band);
    study_line(canvas, PV_INK_IG, "q", false, n, x, q);
    pv_panel panel = {.title = study_text(canvas, "%s, prevalence %s", grid_method_text[cell->method],
                                          g->prevalence_name[cell->prevalence]),
                      .x = {.label = "epoch"},
                      .y = {.label = study_text(canvas, "marginal of label %s", g->training.schema->labels[label])}};
    study_panel(canvas, &panel);
    free(x);
}

int grid_draw_marginals(const grid *g, int network, int design) {
    study_canvas canvas = {0};
    char name[80];
    if (!shown(g, network, design))
        return CLI_OK;
    for (size_t i = 0; i < g->cells; i++)
        if (g->cell[i].network == network && g->cell[i].design == design && g->cell[i].epochs)
            draw_cell(g, &canvas, &g->cell[i]);
    snprintf(name, sizeof name, "marginal_%s_%s", grid_network[network], grid_design[design]);
    return study_figure(g->call, &canvas, name, "The marginal through training.",
                        "At the end of each epoch in the first fold: q, the auxiliary network's, and p(y|w) of all "
                        "training rows.",
                        g->prevalences < 3 ? g->prevalences : 3);
}
