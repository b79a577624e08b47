/* The units of resampling. A cell is a row or, with two classes and many rows, all rows of one label and decision at
 * one point of the coarse ladder. Neighbours in rank have nearly the same losses, so drawing them together changes the
 * spread of a metric only by a fraction of the order of 1/points^2.
 */
#include "assess.h"

#include "core/vector.h"

static void add_row(const pv__tally *tally, const pv__row_view *view, int y, double mass, const pv__losses *losses,
                    pv__cell *cell) {
    cell->kind = y;
    cell->drawn += mass;
    double off = losses->log_loss - tally->log_loss_mean[y];
    cell->rows += mass;
    cell->log_loss += mass * off;
    cell->log_loss_square += mass * off * off;
    cell->holdout += mass * losses->holdout;
    cell->gain += mass * losses->gain;
    cell->brier += mass * losses->brier;
    cell->y = y;
    cell->decision = view->decision;
}

/* Adds rows begin .. end-1 of two classes to the cells of their point, decision and label. */
static void add_rows(const pv__case *judged, const pv__tally *tally, const pv__ladder *ladder, size_t begin, size_t end,
                     pv__cell *cell) {
    const pv_targets *targets = judged->targets;
    for (size_t n = begin; n < end; n++) {
        pv__row_view view = pv__row_open(judged, n);
        pv__row row = pv__row_labels(targets, n);
        for (int y = row.first; y < row.last; y++) {
            double mass = pv__row_mass(targets, n, y);
            if (mass == 0)
                continue;
            pv__losses losses = pv__row_losses(judged, &view, y);
            size_t at = 4 * (size_t)ladder->code[n] + 2 * (size_t)view.decision + (size_t)y;
            add_row(tally, &view, y, mass, &losses, &cell[at]);
        }
    }
}

static void add_cell(const pv__cell *from, pv__cell *to) {
    if (from->rows == 0)
        return;
    to->rows += from->rows;
    to->drawn += from->drawn;
    to->kind = from->kind;
    to->log_loss += from->log_loss;
    to->log_loss_square += from->log_loss_square;
    to->holdout += from->holdout;
    to->gain += from->gain;
    to->brier += from->brier;
    to->y = from->y;
    to->decision = from->decision;
}

/* Splits rows into groups that depend on their number alone, whose cells are added in order. Leaves out empty cells. */
static pv_status join_rows(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally, const pv__ladder *ladder,
                           pv__cells *cells) {
    enum { GROUPS = 32, ROWS_EACH = 65536 };
    size_t n = judged->targets->n, most = 4 * ladder->points, groups = n / ROWS_EACH + 1;
    pv__cell *own;
    groups = groups < GROUPS ? groups : GROUPS;
    PV_TRY(pv__alloc(ctx, most, sizeof *cells->code, &cells->code));
    PV_TRY(pv__alloc(ctx, groups * most, sizeof *own, &own));
    cells->cell = own;
    PV__EACH_CHUNK(ctx, groups, g,
                   { add_rows(judged, tally, ladder, g * n / groups, (g + 1) * n / groups, own + g * most); });
    for (size_t i = most; i < groups * most; i++)
        add_cell(&own[i], &own[i % most]);
    for (size_t at = 0; at < most; at++)
        if (own[at].rows > 0) {
            cells->code[cells->count] = (uint32_t)(at / 4);
            own[cells->count++] = own[at];
        }
    return PV_OK;
}

static pv_status single_rows(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally, const pv__ladder *ladders,
                             pv__cells *cells) {
    const pv_targets *targets = judged->targets;
    size_t width = (size_t)cells->ladders, most = targets->n * (targets->label ? 1 : (size_t)targets->classes);
    PV_TRY(pv__alloc(ctx, most, sizeof *cells->cell, &cells->cell));
    PV_TRY(pv__alloc(ctx, most * width, sizeof *cells->code, &cells->code));
    for (size_t n = 0; n < targets->n; n++) {
        pv__row_view view = pv__row_open(judged, n);
        pv__row row = pv__row_labels(targets, n);
        for (int y = row.first; y < row.last; y++) {
            double mass = pv__row_mass(targets, n, y);
            if (mass == 0)
                continue;
            pv__losses losses = pv__row_losses(judged, &view, y);
            add_row(tally, &view, y, mass, &losses, &cells->cell[cells->count]);
            cells->cell[cells->count].drawn = pv__row_drawn(judged, n, mass);
            cells->cell[cells->count].kind = pv__row_kind(judged, n, y);
            for (size_t l = 0; l < width; l++)
                cells->code[cells->count * width + l] = ladders[l].code[n];
            cells->count++;
        }
    }
    return PV_OK;
}

pv_status pv__cells_new(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally, const pv__ladder *ladders,
                        bool single, pv__cells *cells) {
    int classes = judged->targets->classes;
    *cells = (pv__cells){.ladders = pv__ladders(classes)};
    if (!single && classes == 2 && judged->targets->n > PV_EXACT_ROWS && !judged->restated.n)
        return join_rows(ctx, judged, tally, ladders, cells);
    return single_rows(ctx, judged, tally, ladders, cells);
}

void pv__cells_clear(pv_ctx *ctx, pv__cells *cells) {
    pv__free(ctx, cells->cell);
    pv__free(ctx, cells->code);
    *cells = (pv__cells){0};
}
