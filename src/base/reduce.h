/* src/base/reduce.h: work on rows that several processes share (prevail/base.h, pv_ranks).
 *
 * Every process has every row; each works on a part of them. Work leaves partial sums, one for each block of rows.
 * Blocks belong to units, a number that depends on the number of blocks alone. Sums of a unit's blocks are added in
 * their order, then those of the units in theirs, whoever made them: the same bits for any number of processes and
 * threads, one included.
 */
#ifndef PV_SRC_REDUCE_H
#define PV_SRC_REDUCE_H

#include "base/base.h"

/* The blocks of some work, and which of them are this process's. */
typedef struct pv__part {
    size_t blocks, units;
    size_t first, last;         /* those that are worked on here */
    size_t own_first, own_last; /* those whose sums are made here: each block is one process's own */
    bool shared;                /* with other processes, who make the others' */
} pv__part;

/* Where the share of a rank, of so many things in a row, begins: count rank / size. */
size_t pv__share_of(size_t count, int rank, int size);
/* Units of so many blocks. */
size_t pv__reduce_units(size_t blocks);
/* All of them are worked on here, and nowhere else. */
pv__part pv__part_whole(size_t blocks);
/* The process's own share of so many units; all where there is one process. */
pv__part pv__part_own(const pv_ctx *ctx, size_t blocks, size_t units);
/* The same with the blocks first .. last-1 worked on as well. */
pv__part pv__part_with(pv__part part, size_t first, size_t last);

/* total [width] = the sums [blocks][width] of all, of which those of the own blocks are filled in. */
void pv__sum(pv_ctx *ctx, const pv__part *part, size_t width, const double *sums, double *total);
/* value [n], found from the own blocks, becomes the least, or the largest, that any process has. */
void pv__least(pv_ctx *ctx, const pv__part *part, size_t n, double *value);
void pv__most(pv_ctx *ctx, const pv__part *part, size_t n, double *value);
/* A failure is kept, and sums are NaN from then on: whoever returns a status asks this at the end of his work, and the
 * loops between need not. */
PV_MUST_USE pv_status pv__reduce_check(pv_ctx *ctx);

/* ---- ranks.c ----------------------------------------------------------------------------------------------------- */

/* Whether the context's work is shared: not in contexts of jobs or threads. */
static inline bool pv__shares(const pv_ctx *ctx) {
    return ctx->ranks.calls.size > 1;
}
/* all [size][bytes]: what every process passes, in the order of ranks. Refuses where they are not at the same point of
 * the same work. */
PV_MUST_USE pv_status pv__gather(pv_ctx *ctx, const void *mine, size_t bytes, void *all);
/* Of any size from each: one after another, in the order of ranks, into *all, which the caller frees; *size: of them
 * together. Of work that is not shared: a copy of mine. */
PV_MUST_USE pv_status pv__collect(pv_ctx *ctx, bool shared, const void *mine, size_t bytes, void **all, size_t *size);
/* Some items, of which item i was made by rank i mod size: all get all. fields sets where an item lies here, at most
 * PV_ITEM_FIELDS blocks of sizes that are the same on every rank, and returns how many. */
enum { PV_ITEM_FIELDS = 40 };
typedef size_t (*pv__item_fields)(void *state, size_t item, pv_field *field);
PV_MUST_USE pv_status pv__share_items(pv_ctx *ctx, size_t items, pv__item_fields fields, void *state);
/* The same of an array of items, each of so many bytes. */
PV_MUST_USE pv_status pv__share_array(pv_ctx *ctx, size_t items, void *array, size_t size);
/* Whether this rank makes item i. */
static inline bool pv__makes(const pv_ctx *ctx, size_t item) {
    return !pv__shares(ctx) || item % (size_t)ctx->ranks.calls.size == (size_t)ctx->ranks.calls.rank;
}
/* Refuses, naming rank and line, where the lines NAME=VALUE of another process are not those of rank 0. */
PV_MUST_USE pv_status pv__ranks_compare(pv_ctx *ctx, const char *lines);
void pv__ranks_free(pv_ctx *ctx); /* what they hold in the context */

#endif
