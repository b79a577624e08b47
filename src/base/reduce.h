/* src/base/reduce.h: sums over rows that several processes share (prevail/base.h, pv_ranks).
 *
 * Every process has every row, and each works on a part of them. Work produces partial sums, one per block of rows.
 * Blocks belong to units, whose number depends on the number of blocks alone. The sums of a unit's blocks are added in
 * their order, then those of the units in theirs, whichever process computed them. The result is therefore
 * bit-identical for any number of processes and threads.
 */
#ifndef PV_SRC_REDUCE_H
#define PV_SRC_REDUCE_H

#include "base/base.h"

/* The blocks of a piece of work, and which of them this process handles. */
typedef struct pv__part {
    size_t blocks, units;
    size_t first, last; /* blocks that this process works on */
    size_t own_first,
        own_last; /* blocks whose sums this process contributes: each block belongs to exactly one process */
    bool shared;  /* other processes contribute the remaining sums */
} pv__part;

/* Start of a rank's share when `count` items are divided among `size` ranks: count rank / size. */
size_t pv__share_of(size_t count, int rank, int size);
/* The number of units for this many blocks. */
size_t pv__reduce_units(size_t blocks);
/* A part in which this process works on all blocks alone. */
pv__part pv__part_whole(size_t blocks);
/* This process's share of the units; all of them if there is one process. */
pv__part pv__part_own(const pv_ctx *ctx, size_t blocks, size_t units);
/* The same part with blocks first .. last-1 worked on in addition. */
pv__part pv__part_with(pv__part part, size_t first, size_t last);

/* total [width] = the sum over all blocks of sums [blocks][width], of which this process has filled in its own
 * blocks. */
void pv__sum(pv_ctx *ctx, const pv__part *part, size_t width, const double *sums, double *total);
/* Replaces value [n], computed from this process's own blocks, by the minimum or maximum over all processes. */
void pv__least(pv_ctx *ctx, const pv__part *part, size_t n, double *value);
void pv__most(pv_ctx *ctx, const pv__part *part, size_t n, double *value);
/* Returns the first failure of a sum. After a failure sums are NaN, so loops need not check; a function that returns a
 * status calls this at its end. */
PV_MUST_USE pv_status pv__reduce_check(pv_ctx *ctx);

/* ---- ranks.c ----------------------------------------------------------------------------------------------------- */

/* Whether the context's work is shared. False in contexts of jobs or threads. */
static inline bool pv__shares(const pv_ctx *ctx) {
    return ctx->ranks.calls.size > 1;
}
/* Gathers `bytes` bytes from every process into all [size][bytes], in the order of ranks. Fails if the processes are
 * not at the same point of the same work. */
PV_MUST_USE pv_status pv__gather(pv_ctx *ctx, const void *mine, size_t bytes, void *all);
/* The same for data of any size: concatenates them in the order of ranks into *all, which the caller frees; *size: the
 * total in bytes. If the work is not shared, a copy of mine. */
PV_MUST_USE pv_status pv__collect(pv_ctx *ctx, bool shared, const void *mine, size_t bytes, void **all, size_t *size);
/* Distributes items, where item i was computed by rank i mod size, to all ranks. fields sets the addresses of an item's
 * blocks, at most PV_ITEM_FIELDS, with the same sizes on every rank, and returns their number. */
enum { PV_ITEM_FIELDS = 40 };
typedef size_t (*pv__item_fields)(void *state, size_t item, pv_field *field);
PV_MUST_USE pv_status pv__share_items(pv_ctx *ctx, size_t items, pv__item_fields fields, void *state);
/* The same for an array of items of `size` bytes each. */
PV_MUST_USE pv_status pv__share_array(pv_ctx *ctx, size_t items, void *array, size_t size);
/* Whether this rank computes item i. */
static inline bool pv__makes(const pv_ctx *ctx, size_t item) {
    return !pv__shares(ctx) || item % (size_t)ctx->ranks.calls.size == (size_t)ctx->ranks.calls.rank;
}
/* Fails, naming rank and line, if the lines NAME=VALUE of another process differ from those of rank 0. */
PV_MUST_USE pv_status pv__ranks_compare(pv_ctx *ctx, const char *lines);
void pv__ranks_free(pv_ctx *ctx); /* frees what they hold in the context */

#endif
