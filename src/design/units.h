/* src/design/units.h: what was sampled independently, and how often it counts.
 *
 * A row with count c represents c people, each a unit; a row with a sampling weight is one unit; the rows of a cluster
 * together are one. The design fixes the number of units in each cell (stratum and label), so influence is centred
 * about the cell's mean. Nothing here depends on the order of rows or on the numbering of clusters.
 */
#ifndef PV_SRC_UNITS_H
#define PV_SRC_UNITS_H

#include "core/row_sums.h"
#include "prevail/core.h"

typedef struct pv__units_design {
    size_t rows, cells, cells_per_stratum;
    const int32_t *cell;    /* [rows], stratum x label; NULL: one cell, if labels are random */
    const double *people;   /* [rows], counts; 0: not a unit; NULL: 1 */
    const int32_t *cluster; /* [rows]; NULL: rows are units */
    const int32_t *survey;  /* [rows], strata in which a survey drew its units; NULL: none */
    const double *scale;    /* [cells], factor of each cell's variance; NULL: 1 */
    bool shared;            /* the context's ranks divide the rows among them */
} pv__units_design;

typedef struct pv__units {
    pv__units_design design; /* borrowed */
    double *people;          /* [cells], number of people */
    size_t *pool;            /* [cells], the cell whose mean is subtracted: cells of one unit are pooled */
    size_t count;            /* length of `of`'s range */
    int32_t *of,
        *block; /* [rows] and [count]: unit of each row, and its block, if units have several rows; else NULL */
    double *in; /* [blocks], number of units drawn in each; blocks are cells if rows are units */
    size_t blocks;
    double units, df; /* number of units; that minus the number of blocks */
} pv__units;

PV_MUST_USE pv_status pv__units_new(pv_ctx *ctx, const pv__units_design *design, pv__units **units);
void pv__units_free(pv_ctx *ctx, pv__units *units); /* NULL is fine */

/* (unit_draws.c) Draws of units with replacement, within blocks. _room is the length of `times`, whose first `rows`
 * entries become factors for the rows' masses; the rest is scratch. Borrows units. */
typedef struct pv__unit_draws pv__unit_draws;
PV_MUST_USE pv_status pv__unit_draws_new(pv_ctx *ctx, const pv__units *units, pv__unit_draws **draws);
void pv__unit_draws_free(pv_ctx *ctx, pv__unit_draws *draws); /* NULL is fine */
size_t pv__unit_draws_room(const pv__unit_draws *draws);
void pv__unit_draws_take(const pv__unit_draws *draws, pv_rng *rng, double *times);

/* The number of people that a row represents. */
static inline double pv__units_people(const pv__units *units, size_t row) {
    return units->design.people ? units->design.people[row] : 1;
}
/* Its cell: stratum and label. */
static inline size_t pv__units_cell(const pv__units *units, size_t row) {
    return units->design.cell ? (size_t)units->design.cell[row] : 0;
}

#endif
