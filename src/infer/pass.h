/* src/infer/pass.h: a pass over the rows by threads and ranks.
 *
 * Rows are visited in chunks that fit the cache. Chunks belong to a fixed number of groups, whose sums are added in
 * order, so results are bit-identical for any number of threads and ranks. Each rank has some of the groups.
 */
#ifndef PV_SRC_PASS_H
#define PV_SRC_PASS_H

#include "base/reduce.h"
#include "infer/row_source.h"
#include "model/model.h"

typedef struct pv__pass {
    pv_ctx *ctx;
    const pv__row_source *rows;
    size_t chunk, chunks, groups, width; /* chunk: rows per chunk; width: numbers summed per group */
    pv__part part;                       /* this rank's groups */
    size_t first, last;                  /* chunks visited here: its own, and others that a loss needs */
    int threads;
    double *room;    /* [threads][chunk][row width], for rows assembled on demand */
    double *partial; /* [groups][width] */
} pv__pass;

/* Visits rows begin ..; thread: below pass->threads, for per-thread memory; sums [width] belong to their group. */
typedef void (*pv__visit)(void *state, size_t thread, size_t begin, size_t n, const double *x, double *sums);

/* Rows per chunk: as many as fit the cache, independent of the number of threads. */
size_t pv__pass_chunk(const pv_model *model);
/* With the model's chunk size. The caller clears *pass with _clear, also on failure. */
PV_MUST_USE pv_status pv__pass_new(pv_ctx *ctx, const pv__row_source *rows, const pv_model *model, size_t width,
                                   int threads, pv__pass *pass);
void pv__pass_clear(pv__pass *pass);
/* Divides the groups among the context's ranks. Returns the chunks of rows (core/vector.h) visited here. */
pv__part pv__pass_share(pv__pass *pass);
/* own: only the rank's own groups. */
void pv__pass_run(pv__pass *pass, bool own, pv__visit visit, void *state);
/* total [width] = the sums of all groups, on all ranks. */
PV_MUST_USE pv_status pv__pass_sum(pv__pass *pass, double *total);

#endif
