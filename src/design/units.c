#include "design/units.h"

/* ---- the cell that provides a unit's mean, and the block it was drawn in ----------------------------------------- */

/* A cell with one person has no variance of its own, so such cells of a label are pooled. A single one joins the
 * smallest other cell of its label, or is not centred if there is none. */
static void pool_cells(const pv__units_design *d, pv__units *u) {
    size_t k = d->cells_per_stratum;
    for (size_t y = 0; y < k && y < d->cells; y++) {
        size_t lonely = 0, first = d->cells, smallest = d->cells;
        for (size_t c = y; c < d->cells; c += k) {
            u->pool[c] = c;
            if (!(u->people[c] > 0))
                continue;
            if (u->people[c] > 1)
                smallest = smallest == d->cells || u->people[c] < u->people[smallest] ? c : smallest;
            else if (lonely++ == 0)
                first = c;
        }
        size_t to = lonely > 1 || smallest == d->cells ? first : smallest;
        for (size_t c = y; lonely > 0 && c < d->cells; c += k)
            if (u->people[c] > 0 && u->people[c] <= 1)
                u->pool[c] = to;
    }
}

/* Finds the units that are clusters, or rows of a survey, and the block in which each was drawn: a survey's stratum;
 * else the cell, if every cluster has rows of one cell only; else a single block. */
static pv_status find_blocks(pv_ctx *ctx, pv__units *u) {
    const pv__units_design *d = &u->design;
    size_t strata = 1;
    bool mixed = false;
    u->count = d->cluster ? 0 : d->rows;
    for (size_t i = 0; i < d->rows; i++) {
        if (d->cluster && (size_t)d->cluster[i] >= u->count)
            u->count = (size_t)d->cluster[i] + 1;
        if (d->survey && (size_t)d->survey[i] >= strata)
            strata = (size_t)d->survey[i] + 1;
    }
    PV_TRY(pv__alloc(ctx, d->rows, sizeof *u->of, &u->of));
    PV_TRY(pv__alloc(ctx, u->count, sizeof *u->block, &u->block));
    for (size_t g = 0; g < u->count; g++)
        u->block[g] = -1;
    for (size_t i = 0; i < d->rows; i++) {
        size_t g = d->cluster ? (size_t)d->cluster[i] : i;
        int32_t own = d->survey ? d->survey[i] : (int32_t)u->pool[pv__units_cell(u, i)];
        u->of[i] = (int32_t)g;
        if (!(pv__units_people(u, i) > 0))
            continue;
        mixed |= u->block[g] >= 0 && u->block[g] != own;
        u->block[g] = own;
    }
    u->blocks = d->survey ? strata : d->cells;
    for (size_t g = 0; !d->survey && mixed && g < u->count; g++)
        u->block[g] = u->block[g] < 0 ? -1 : 0;
    PV_TRY(pv__alloc(ctx, u->blocks, sizeof *u->in, &u->in));
    for (size_t g = 0; g < u->count; g++)
        if (u->block[g] >= 0)
            u->in[u->block[g]]++;
    return PV_OK;
}

static pv_status fill(pv_ctx *ctx, pv__units *u) {
    const pv__units_design *d = &u->design;
    PV_TRY(pv__alloc(ctx, d->cells, sizeof *u->people, &u->people));
    PV_TRY(pv__alloc(ctx, d->cells, sizeof *u->pool, &u->pool));
    for (size_t i = 0; i < d->rows; i++)
        u->people[pv__units_cell(u, i)] += pv__units_people(u, i);
    pool_cells(d, u);
    if (d->cluster || d->survey)
        PV_TRY(find_blocks(ctx, u));
    else {
        u->blocks = d->cells;
        PV_TRY(pv__alloc(ctx, d->cells, sizeof *u->in, &u->in));
        for (size_t c = 0; c < d->cells; c++)
            u->in[u->pool[c]] += u->people[c];
    }
    for (size_t b = 0; b < u->blocks; b++) {
        u->units += u->in[b];
        u->df += u->in[b] > 0 ? u->in[b] - 1 : 0;
    }
    return PV_OK;
}

pv_status pv__units_new(pv_ctx *ctx, const pv__units_design *design, pv__units **units) {
    pv__units *made;
    *units = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->design = *design;
    pv_status status = fill(ctx, made);
    if (status != PV_OK) {
        pv__units_free(ctx, made);
        return status;
    }
    *units = made;
    return PV_OK;
}

void pv__units_free(pv_ctx *ctx, pv__units *units) {
    if (!units)
        return;
    pv__free(ctx, units->people);
    pv__free(ctx, units->pool);
    pv__free(ctx, units->of);
    pv__free(ctx, units->block);
    pv__free(ctx, units->in);
    pv__free(ctx, units);
}
