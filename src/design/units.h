/* src/design/units.h: what was sampled independently, and how often it counts.
 *
 * A row of count c is c people, each a unit; a row with a sampling weight is one; the rows of a cluster are one
 * together. The design fixes how many units each cell (stratum and label) has, so that influence is taken about the
 * cell's mean. Nothing here depends on the order of rows or on the numbers that clusters have.
 */
#ifndef PV_SRC_UNITS_H
#define PV_SRC_UNITS_H

#include "core/row_sums.h"
#include "prevail/core.h"

typedef struct pv__units_design {
    size_t rows, cells, cells_per_stratum;
    const int32_t *cell;    /* [rows], stratum x label; NULL: one cell, as where labels are chance */
    const double *people;   /* [rows], counts; 0: the row is none; NULL: 1 */
    const int32_t *cluster; /* [rows]; NULL: rows are units */
    const int32_t *survey;  /* [rows], the strata that a survey drew its units in; NULL: none */
    const double *scale;    /* [cells], of the variance of each; NULL: 1 */
    bool shared;            /* the context's ranks divide the rows among them */
} pv__units_design;

typedef struct pv__units {
    pv__units_design design; /* borrowed */
    double *people;          /* [cells], how many */
    size_t *pool;            /* [cells], whose mean is taken: cells of one unit are pooled */
    size_t count;            /* of `of` */
    int32_t *of, *block;     /* [rows] and [count]: units that are more than a row, and what they were drawn in; NULL */
    double *in;              /* [blocks], how many units were drawn in each; blocks are cells where rows are units */
    size_t blocks;
    double units, df; /* of all; less the blocks */
} pv__units;

PV_MUST_USE pv_status pv__units_new(pv_ctx *ctx, const pv__units_design *design, pv__units **units);
void pv__units_free(pv_ctx *ctx, pv__units *units); /* NULL is fine */
/* How many people a row is. */
static inline double pv__units_people(const pv__units *units, size_t row) {
    return units->design.people ? units->design.people[row] : 1;
}

#endif
