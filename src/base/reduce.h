/* src/base/reduce.h: sums over groups of rows, for which the rows of other processes may count as well.
 *
 * Work on rows leaves partial sums, one block for each group of rows. They are added in the order of the groups, so
 * that the result does not depend on who made them. Here all groups are of this process. A cluster's reduction takes
 * the place of pv__reduce_alone in the context: it sees the blocks before they are added, so it can add those of all
 * processes in one order, and every process gets the same bits.
 */
#ifndef PV_SRC_REDUCE_H
#define PV_SRC_REDUCE_H

#include "base/base.h"

struct pv__reduce {
    int rank, size; /* of the processes that share the rows */
    void *state;
    /* total [width] = 0 + the blocks sums [groups][width], of rank 0 first, each rank's in their order. total may be
     * sums where there is one group. */
    pv_status (*sum)(pv_ctx *ctx, void *state, size_t groups, size_t width, const double *sums, double *total);
    /* value [n] becomes the least that any process has. */
    pv_status (*least)(pv_ctx *ctx, void *state, size_t n, double *value);
    /* The bytes [n] of rank from, to all. */
    pv_status (*broadcast)(pv_ctx *ctx, void *state, int from, void *bytes, size_t n);
};

extern const pv__reduce pv__reduce_alone;

/* These call the context's. A failure is kept, results are NaN from then on: whoever returns a status asks
 * pv__reduce_check at the end of his work, and the loops between need not. */
void pv__sum(pv_ctx *ctx, size_t groups, size_t width, const double *sums, double *total);
void pv__least(pv_ctx *ctx, size_t n, double *value);
void pv__most(pv_ctx *ctx, size_t n, double *value);
void pv__broadcast(pv_ctx *ctx, int from, void *bytes, size_t n);
PV_MUST_USE pv_status pv__reduce_check(const pv_ctx *ctx);

#endif
