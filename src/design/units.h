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
/* The number of people that a row represents. */
static inline double pv__units_people(const pv__units *units, size_t row) {
    return units->design.people ? units->design.people[row] : 1;
}

#endif
