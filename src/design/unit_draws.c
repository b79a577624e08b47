/* A bootstrap's draws of units (Efron and Tibshirani 1993, chapter 13; Rao and Wu 1988).
 *
 * Rows that are units: each replicate draws as many people of each cell as there are. Cells with whole numbers of
 * people, if there are not too many, get exact multinomial counts. Otherwise (weights that are not counts, soft labels,
 * many rows) they get Poisson counts around their masses; the multinomial is the Poisson distribution conditional on
 * the sum.
 *
 * Units of several rows, or of a survey: of the G units of a block, G - 1 are drawn, and each drawn unit counts G / (G
 * - 1) times. The variance of a sum is then that of the sandwich, sum over blocks of G / (G - 1) sum (z - mean)^2,
 * which drawing G units would underestimate by the factor (G - 1) / G. A block of one unit does not vary. If a survey
 * has not fixed the blocks, they are as in units.c.
 *
 * In both cases the factors of a cell are then scaled so that it has as much mass as before: metrics are for a
 * population with given proportions of its cells. A cell none of whose people was drawn has no mass.
 */
#include "design/units.h"
#include "prevail/streams.h"

#include <math.h>
#include <string.h>

enum { MEMBERS_MAX = 65536 }; /* limit for drawing the people of a cell one by one */

struct pv__unit_draws {
    const pv__units *units;
    size_t blocks;
    size_t *first;    /* [blocks + 1], into member */
    uint32_t *member; /* units of each block; rows that are units: each as often as it has people */
    bool *counted;    /* [blocks], whether its people are drawn one by one, from member */
};

static pv_status list_people(pv_ctx *ctx, pv__unit_draws *made) {
    const pv__units *u = made->units;
    const pv__units_design *d = &u->design;
    made->blocks = d->cells;
    PV_TRY(pv__alloc(ctx, d->cells + 1, sizeof *made->first, &made->first));
    PV_TRY(pv__alloc(ctx, d->cells, sizeof *made->counted, &made->counted));
    for (size_t c = 0; c < d->cells; c++)
        made->counted[c] = u->people[c] <= MEMBERS_MAX;
    for (size_t i = 0; i < d->rows; i++)
        if (pv__units_people(u, i) != floor(pv__units_people(u, i)))
            made->counted[pv__units_cell(u, i)] = false;
    for (size_t c = 0; c < d->cells; c++)
        made->first[c + 1] = made->first[c] + (made->counted[c] ? (size_t)llround(u->people[c]) : 0);
    PV_TRY(pv__alloc(ctx, made->first[d->cells] + 1, sizeof *made->member, &made->member));
    size_t *next;
    PV_TRY(pv__alloc(ctx, d->cells, sizeof *next, &next));
    for (size_t i = 0; i < d->rows; i++) {
        size_t c = pv__units_cell(u, i);
        for (double r = 0; made->counted[c] && r < pv__units_people(u, i); r++)
            made->member[made->first[c] + next[c]++] = (uint32_t)i;
    }
    pv__free(ctx, next);
    return PV_OK;
}

static pv_status list_units(pv_ctx *ctx, pv__unit_draws *made) {
    const pv__units *u = made->units;
    made->blocks = u->blocks;
    PV_TRY(pv__alloc(ctx, u->blocks + 1, sizeof *made->first, &made->first));
    PV_TRY(pv__alloc(ctx, u->count + 1, sizeof *made->member, &made->member));
    size_t *next;
    PV_TRY(pv__alloc(ctx, u->blocks, sizeof *next, &next));
    for (size_t b = 0; b < u->blocks; b++)
        next[b] = made->first[b + 1] = made->first[b] + (size_t)u->in[b];
    for (size_t g = u->count; g-- > 0;)
        if (u->block[g] >= 0)
            made->member[--next[u->block[g]]] = (uint32_t)g;
    pv__free(ctx, next);
    return PV_OK;
}

pv_status pv__unit_draws_new(pv_ctx *ctx, const pv__units *units, pv__unit_draws **draws) {
    pv__unit_draws *made;
    *draws = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->units = units;
    pv_status status = units->of ? list_units(ctx, made) : list_people(ctx, made);
    if (status == PV_OK)
        *draws = made;
    else
        pv__unit_draws_free(ctx, made);
    return status;
}

void pv__unit_draws_free(pv_ctx *ctx, pv__unit_draws *draws) {
    if (!draws)
        return;
    pv__free(ctx, draws->first);
    pv__free(ctx, draws->member);
    pv__free(ctx, draws->counted);
    pv__free(ctx, draws);
}

size_t pv__unit_draws_room(const pv__unit_draws *draws) {
    const pv__units *u = draws->units;
    return u->design.rows + u->design.cells + (u->of ? u->count : 0);
}

/* By inversion; beyond a mean of 12 by a normal approximation with skewness correction (Cornish and Fisher),
 * rounded. */
static double draw_poisson(pv_rng *rng, double mean) {
    if (mean > 12) {
        double z = pv_rng_normal(rng);
        return fmax(0, floor(mean + sqrt(mean) * z + (z * z - 1) / 6 + 0.5));
    }
    double u = pv_rng_uniform(rng), term = exp(-mean), count = 0;
    while (u > term && count < 1000) {
        u -= term;
        term *= mean / ++count;
    }
    return count;
}

/* The number of people of each row in the replicate. */
static void draw_people(const pv__unit_draws *draws, pv_rng *rng, double *drawn) {
    const pv__units *u = draws->units;
    memset(drawn, 0, u->design.rows * sizeof *drawn);
    for (size_t c = 0; c < draws->blocks; c++) {
        size_t first = draws->first[c], people = draws->first[c + 1] - first;
        for (size_t i = 0; i < people; i++)
            drawn[draws->member[first + pv_rng_below(rng, people)]] += 1;
    }
    for (size_t i = 0; i < u->design.rows; i++)
        if (!draws->counted[pv__units_cell(u, i)])
            drawn[i] = draw_poisson(rng, pv__units_people(u, i));
}

static void draw_units(const pv__unit_draws *draws, pv_rng *rng, double *drawn, double *times) {
    const pv__units *u = draws->units;
    memset(times, 0, u->count * sizeof *times);
    for (size_t b = 0; b < draws->blocks; b++) {
        size_t first = draws->first[b], units = draws->first[b + 1] - first, wanted = units > 1 ? units - 1 : units;
        for (size_t i = 0; i < wanted; i++)
            times[draws->member[first + pv_rng_below(rng, units)]] += (double)units / (double)wanted;
    }
    for (size_t i = 0; i < u->design.rows; i++)
        drawn[i] = times[u->of[i]] * pv__units_people(u, i);
}

void pv__unit_draws_take(const pv__unit_draws *draws, pv_rng *rng, double *times) {
    const pv__units *u = draws->units;
    size_t rows = u->design.rows;
    double *sums = times + rows;
    memset(sums, 0, u->design.cells * sizeof *sums);
    if (u->of)
        draw_units(draws, rng, times, sums + u->design.cells);
    else
        draw_people(draws, rng, times);
    for (size_t i = 0; i < rows; i++)
        sums[pv__units_cell(u, i)] += times[i];
    for (size_t i = 0; i < rows; i++) {
        size_t c = pv__units_cell(u, i);
        times[i] *= sums[c] > 0 ? u->people[c] / sums[c] / pv__units_people(u, i) : 0;
    }
}
