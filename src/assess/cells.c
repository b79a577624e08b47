/* What is drawn in a replicate. A cell is a row or, with two classes, many rows, and rows as units, all rows of one
 * label and decision at one point of the coarse ladder. Neighbours in rank have nearly the same losses, so drawing them
 * together changes the spread of a metric only by a fraction of the order of 1/points^2.
 *
 * The cells of a cluster or matched set are one unit, as is a row with a sampling weight. How units are drawn is for
 * pv__units.
 */
#include "assess.h"

#include "core/vector.h"

static void add_row(const pv__tally *tally, const pv__row_view *view, int y, double mass, const pv__losses *losses,
                    pv__cell *cell) {
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
    PV_TRY(pv__alloc(ctx, most, sizeof *cells->kind, &cells->kind));
    PV_TRY(pv__alloc(ctx, most, sizeof *cells->people, &cells->people));
    PV_TRY(pv__alloc(ctx, groups * most, sizeof *own, &own));
    cells->cell = own;
    PV__EACH_CHUNK(ctx, groups, g,
                   { add_rows(judged, tally, ladder, g * n / groups, (g + 1) * n / groups, own + g * most); });
    for (size_t i = most; i < groups * most; i++)
        add_cell(&own[i], &own[i % most]);
    for (size_t at = 0; at < most; at++)
        if (own[at].rows > 0) {
            cells->code[cells->count] = (uint32_t)(at / 4);
            cells->kind[cells->count] = own[at].y;
            cells->people[cells->count] = own[at].rows;
            own[cells->count++] = own[at];
        }
    return PV_OK;
}

static pv_status alloc_single(pv_ctx *ctx, const pv_targets *targets, pv__cells *cells) {
    size_t most = targets->n * (targets->label ? 1 : (size_t)targets->classes);
    PV_TRY(pv__alloc(ctx, most, sizeof *cells->cell, &cells->cell));
    PV_TRY(pv__alloc(ctx, most, sizeof *cells->kind, &cells->kind));
    PV_TRY(pv__alloc(ctx, most, sizeof *cells->people, &cells->people));
    if (targets->unit || targets->sampling)
        PV_TRY(pv__alloc(ctx, most, sizeof *cells->unit, &cells->unit));
    if (targets->block)
        PV_TRY(pv__alloc(ctx, most, sizeof *cells->block, &cells->block));
    return pv__alloc(ctx, most * (size_t)cells->ladders, sizeof *cells->code, &cells->code);
}

/* Numbers units in the order of their first cells, so that draws do not depend on the numbers that they had. */
static pv_status number_units(pv_ctx *ctx, pv__cells *cells) {
    int32_t most = 0, units = 0, *number;
    for (size_t i = 0; cells->unit && i < cells->count; i++)
        most = cells->unit[i] > most ? cells->unit[i] : most;
    PV_TRY(pv__alloc(ctx, (size_t)most + 1, sizeof *number, &number)); /* zeros */
    for (size_t i = 0; cells->unit && i < cells->count; i++) {
        int32_t *own = &number[cells->unit[i]];
        if (*own == 0)
            *own = ++units;
        cells->unit[i] = *own - 1;
    }
    pv__free(ctx, number);
    return PV_OK;
}

static pv_status single_rows(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally, const pv__ladder *ladders,
                             pv__cells *cells) {
    const pv_targets *targets = judged->targets;
    size_t width = (size_t)cells->ladders;
    PV_TRY(alloc_single(ctx, targets, cells));
    for (size_t n = 0; n < targets->n; n++) {
        pv__row_view view = pv__row_open(judged, n);
        pv__row row = pv__row_labels(targets, n);
        for (int y = row.first; y < row.last; y++) {
            double mass = pv__row_mass(targets, n, y);
            size_t at = cells->count;
            if (mass == 0)
                continue;
            pv__losses losses = pv__row_losses(judged, &view, y);
            add_row(tally, &view, y, mass, &losses, &cells->cell[at]);
            cells->people[at] = pv__row_drawn(judged, n, mass);
            cells->kind[at] = pv__row_kind(judged, n, y);
            if (cells->unit)
                cells->unit[at] = targets->unit ? targets->unit[n] : (int32_t)n;
            if (cells->block)
                cells->block[at] = targets->block[n] + 1; /* rows of unknown strata are a block of their own */
            for (size_t l = 0; l < width; l++)
                cells->code[at * width + l] = ladders[l].code[n];
            cells->count++;
        }
    }
    return number_units(ctx, cells);
}

/* Clusters of one person each are rows. */
static bool are_rows(const pv__cells *cells) {
    bool rows = cells->unit && !cells->block && cells->units->units == (double)cells->count;
    for (size_t i = 0; rows && i < cells->count; i++)
        rows = cells->people[i] == 1;
    return rows;
}

static pv_status find_units(pv_ctx *ctx, const pv__case *judged, pv__cells *cells) {
    pv__units_design design = {.rows = cells->count,
                               .cells = (size_t)judged->kinds,
                               .cells_per_stratum = (size_t)judged->targets->classes,
                               .cell = cells->kind,
                               .people = cells->people,
                               .cluster = cells->unit,
                               .survey = cells->block};
    PV_TRY(pv__units_new(ctx, &design, &cells->units));
    if (!are_rows(cells))
        return PV_OK;
    pv__units_free(ctx, cells->units);
    design.cluster = NULL;
    return pv__units_new(ctx, &design, &cells->units);
}

pv_status pv__cells_new(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally, const pv__ladder *ladders,
                        bool single, pv__cells *cells) {
    const pv_targets *targets = judged->targets;
    bool units = targets->unit || targets->sampling || judged->restated.n;
    *cells = (pv__cells){.ladders = pv__ladders(targets->classes)};
    if (!single && !units && targets->classes == 2 && targets->n > PV_EXACT_ROWS)
        PV_TRY(join_rows(ctx, judged, tally, ladders, cells));
    else
        PV_TRY(single_rows(ctx, judged, tally, ladders, cells));
    return find_units(ctx, judged, cells);
}

const char *pv__cells_drawn(const pv__case *judged, const pv__cells *cells) {
    const pv_targets *targets = judged->targets;
    if (!cells->units->of)
        return judged->restated.n ? "within strata and labels" : "within labels";
    if (!targets->unit)
        return targets->block ? "by row with sampling weight, within strata" : "by row with sampling weight";
    if (targets->set)
        return "by matched set";
    return targets->block ? "by cluster within strata" : "by cluster";
}

void pv__cells_clear(pv_ctx *ctx, pv__cells *cells) {
    pv__units_free(ctx, cells->units);
    pv__free(ctx, cells->cell);
    pv__free(ctx, cells->code);
    pv__free(ctx, cells->kind);
    pv__free(ctx, cells->people);
    pv__free(ctx, cells->unit);
    pv__free(ctx, cells->block);
    *cells = (pv__cells){0};
}
