/* src/data/columns.h: passes over columns of numbers, with one function table per instruction set. */
#ifndef PV_SRC_DATA_COLUMNS_H
#define PV_SRC_DATA_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "data/schema_learn.h"
#include "data/spread.h"

/* Sums over cells that are not missing, where d = factor x - shift. */
typedef struct pv__moments {
    double weight;         /* sum v */
    double first, second;  /* sum v d, sum v d^2 */
    double least, largest; /* of x; infinity and -infinity if there are no cells */
} pv__moments;

typedef struct pv__column_kernels {
    bool (*finite)(size_t n, const double *x); /* whether all are finite */
    /* Adds to *sums. v NULL: all 1. */
    void (*moments)(size_t n, const double *x, const double *v, double factor, double shift, pv__moments *sums);
    /* Writes to at [n] the positions of numbers whose hash begins with `bits` zero bits: a fixed fraction of all
     * distinct numbers, with every cell of each. Returns how many. */
    size_t (*pick)(size_t n, const double *x, int bits, size_t *at);
    /* value = (x - mean) / sd. Returns whether no value is missing or larger than PV__FARTHEST. */
    bool (*standardise)(size_t n, const double *x, double mean, double sd, double *value);
    bool (*standardise_single)(size_t n, const float *x, double mean, double sd, double *value);
    void (*widen)(size_t n, const float *x, double *value);
    /* Transposes value [columns][PV__TILE] into the first columns of x [n][width]; columns at most PV__TILE_COLUMNS, n
     * at most PV__TILE. */
    void (*turn)(size_t n, size_t columns, const double *value, size_t width, double *x);
} pv__column_kernels;

/* Columns are transposed into rows one tile at a time, which fits the first-level cache. */
enum { PV__TILE = 64, PV__TILE_COLUMNS = 8 };

/* A cell more than this many standard deviations from the mean is a mistake: models multiply and add such numbers, and
 * the overflow would make probabilities meaningless. */
#define PV__FARTHEST 1e100

const pv__column_kernels *pv__column_kernels_get(void); /* the best kernels that this processor supports */

/* What the first look at a column leaves for learning from all its rows. */
typedef struct pv__glance {
    bool known;
    double shift;
    pv__moments sums; /* about shift, counting each cell once */
} pv__glance;

/* whole [plan->features]: whether the feature's column has no missing or infinite cell. Fills plan->glance of such
 * columns if there is space for it. */
PV_MUST_USE pv_status pv__columns_whole(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, bool *whole);
/* Weighted mean and scale of the data's rows, ignoring missing cells, at any magnitude. The scale is the population
 * standard deviation, or less if a few extreme values dominate it (spread.c). 0 if all values are equal or there are
 * none.
 */
/* glance NULL: not available. bins: scratch, too large for the stack of some threads. */
void pv__scale_learn(pv__numbers numbers, const pv_dataset *data, bool all_rows, const pv__glance *glance,
                     pv__spread_bins *bins, double *mean, double *sd);
/* Rows first .. first+n-1 of the table, addressed as if they were the whole column: in place, or for a file read into
 * room [n], of doubles. Reading costs less than mapping, and the pages read do not count as the process's own. */
pv__numbers pv__numbers_read(pv__numbers numbers, size_t first, size_t n, double *room);
/* Announces that rows first .. last-1 will be read soon, because the system does not recognise the pattern of several
 * columns read at once. */
void pv__numbers_expect(pv__numbers numbers, size_t first, size_t last);
/* Copies the numbers of the given rows of the table. */
void pv__numbers_gather(pv__numbers numbers, const size_t *row, size_t n, double *to);
enum { PV__BLOCK = 2048 };
/* A pass over the data's rows of a column, in order; a file is read one stretch at a time. */
typedef struct pv__cursor {
    pv__numbers numbers;
    const pv_dataset *data; /* NULL: all rows of the table */
    bool all_rows;
    size_t first, rows; /* range of the table's rows held in room */
    double room[PV__BLOCK];
} pv__cursor;
void pv__cursor_begin(pv__numbers numbers, const pv_dataset *data, bool all_rows, pv__cursor *cursor);
/* The numbers of `rows` rows from begin on: in place, or gathered in buffer [rows]. rows at most PV__BLOCK; nothing is
 * read at or beyond table_rows. */
const double *pv__cursor_block(pv__cursor *cursor, size_t begin, size_t rows, size_t table_rows, double *buffer);
/* Whether the data's rows are all rows of the table, in order. */
bool pv__all_rows(const pv_table *table, const pv_dataset *data);

#endif
