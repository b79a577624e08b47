/* src/data/columns.h: passes over columns of numbers, one table of them per instruction set. */
#ifndef PV_SRC_DATA_COLUMNS_H
#define PV_SRC_DATA_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "data/encode.h"

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
} pv__column_kernels;

/* Standard deviations from the mean, beyond which a cell is a mistake: models multiply and add such numbers, and what
 * overflows is no probability. */
#define PV__FARTHEST 1e100

const pv__column_kernels *pv__column_kernels_get(void); /* the best this processor has */

/* whole [plan->features]: whether no cell of the feature's column is missing or infinite. */
PV_MUST_USE pv_status pv__columns_whole(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, bool *whole);
/* Weighted mean and population standard deviation of the data's rows, missing cells left out, of any magnitude. sd is
 * 0 where all values are equal, or there are none. */
void pv__scale_learn(pv__numbers numbers, const pv_dataset *data, bool all_rows, double *mean, double *sd);
/* Numbers of the data's rows begin ..: where they lie, or brought together in buffer [rows]. */
const double *pv__numbers_block(pv__numbers numbers, const pv_dataset *data, bool all_rows, size_t begin, size_t rows,
                                double *buffer);
/* Whether the data's rows are the table's, in order. */
bool pv__all_rows(const pv_table *table, const pv_dataset *data);

#endif
