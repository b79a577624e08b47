/* src/posterior/eval_batcher.h: batches evaluations of several threads, for densities that are faster with many
 * points. */
#ifndef PV_SRC_MEETING_H
#define PV_SRC_MEETING_H

#include "base/base.h"
#include "prevail/posterior.h"

typedef struct pv__meeting pv__meeting;
/* For at most `most` threads. Borrows the density, which must have `many`. */
PV_MUST_USE pv_status pv__meeting_new(pv_ctx *ctx, const pv_density *density, size_t most, pv__meeting **meeting);
void pv__meeting_free(pv_ctx *ctx, pv__meeting *meeting); /* NULL is fine */
/* Every thread inside is waited for: it must request an evaluation or leave. NULL is fine. */
void pv__meeting_enter(pv__meeting *meeting);
void pv__meeting_leave(pv__meeting *meeting);
/* Evaluates the density; call from inside. */
PV_MUST_USE pv_status pv__meeting_eval(pv_ctx *ctx, pv__meeting *meeting, void *state, const double *w, double *value,
                                       double *gradient);

#endif
