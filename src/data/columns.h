/* src/data/columns.h: passes over columns of numbers, one table of them per instruction set. */
#ifndef PV_SRC_DATA_COLUMNS_H
#define PV_SRC_DATA_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "data/schema_learn.h"
#include "data/spread.h"

/* Sums over cells that are not missing, with d = factor x - shift. */
typedef struct pv__moments {
    double weight;         /* sum v */
    double first, second;  /* sum v d, sum v d^2 */
    double least, largest; /* of x; of no cells infinity and its negative */
} pv__moments;

typedef struct pv__column_kernels {
    bool (*finite)(size_t n, const double *x); /* all of them */
    /* Adds to the sums. v NULL: all 1. */
    void (*moments)(size_t n, const double *x, const double *v, double factor, double shift, pv__moments *sums);
    /* Places at [n] of the numbers whose hash begins with so many zeros, bits of it: a fixed share of all numbers, with
     * every cell of each. Returns how many. */
    size_t (*pick)(size_t n, const double *x, int bits, size_t *at);
    /* value = (x - mean) / sd; whether none of them is missing, or further away than PV__FARTHEST. */
    bool (*standardise)(size_t n, const double *x, double mean, double sd, double *value);
    bool (*standardise_single)(size_t n, const float *x, double mean, double sd, double *value);
    void (*widen)(size_t n, const float *x, double *value);
    /* x [n][width], of which the first columns are written, from value [columns][PV__TILE]; columns at most
     * PV__TILE_COLUMNS, n at most PV__TILE. */
    void (*turn)(size_t n, size_t columns, const double *value, size_t width, double *x);
} pv__column_kernels;

/* Columns become rows a tile at a time, which stays in the first cache. */
enum { PV__TILE = 64, PV__TILE_COLUMNS = 8 };

/* Standard deviations from the mean, beyond which a cell is a mistake: models multiply and add such numbers, and what
 * overflows is no probability. */
#define PV__FARTHEST 1e100

const pv__column_kernels *pv__column_kernels_get(void); /* the best this processor has */

/* What the first look at a column leaves for those who learn from all its rows. */
typedef struct pv__glance {
    bool known;
    double shift;
    pv__moments sums; /* about it, each cell once */
} pv__glance;

/* whole [plan->features]: whether no cell of the feature's column is missing or infinite. Fills plan->glance of those
 * that are whole, where there is room for it. */
PV_MUST_USE pv_status pv__columns_whole(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, bool *whole);
/* Weighted mean and scale of the data's rows, missing cells left out, of any magnitude: the population standard
 * deviation, or less where a few extreme values decide that (spread.c). 0 where all values are equal, or there are
 * none.
 */
/* glance NULL: there was none. bins: scratch, too large for the stack of some threads. */
void pv__scale_learn(pv__numbers numbers, const pv_dataset *data, bool all_rows, const pv__glance *glance,
                     pv__spread_bins *bins, double *mean, double *sd);
/* Rows first .. first+n-1 of the table, as if they were all of the column: where they lie or, of a file, read into room
 * [n], of doubles. A page that is read is not the process's own, as one that is mapped and touched is; reading costs
 * less than to have it mapped, too. */
pv__numbers pv__numbers_read(pv__numbers numbers, size_t first, size_t n, double *room);
/* Rows first .. last-1 are read soon. Of several columns at once the system sees no order by itself. */
void pv__numbers_expect(pv__numbers numbers, size_t first, size_t last);
/* The numbers of some rows of the table. */
void pv__numbers_gather(pv__numbers numbers, const size_t *row, size_t n, double *to);
enum { PV__BLOCK = 2048 };
/* A pass over the data's rows of a column, in order; a file is read a stretch at a time. */
typedef struct pv__cursor {
    pv__numbers numbers;
    const pv_dataset *data; /* NULL: all rows of the table */
    bool all_rows;
    size_t first, rows; /* of the table, in room */
    double room[PV__BLOCK];
} pv__cursor;
void pv__cursor_begin(pv__numbers numbers, const pv_dataset *data, bool all_rows, pv__cursor *cursor);
/* Numbers of rows begin ..: where they lie, or brought together in buffer [rows]. rows at most PV__BLOCK; table_rows:
 * beyond which nothing is read. */
const double *pv__cursor_block(pv__cursor *cursor, size_t begin, size_t rows, size_t table_rows, double *buffer);
/* Whether the data's rows are the table's, in order. */
bool pv__all_rows(const pv_table *table, const pv_dataset *data);

#endif
