/* src/posterior/eval_batcher.h: evaluations of several threads, taken together where the density likes many at once. */
#ifndef PV_SRC_MEETING_H
#define PV_SRC_MEETING_H

#include "base/base.h"
#include "prevail/posterior.h"

typedef struct pv__meeting pv__meeting;
/* For at most so many threads. The density, which has `many`, is borrowed. */
PV_MUST_USE pv_status pv__meeting_new(pv_ctx *ctx, const pv_density *density, size_t most, pv__meeting **meeting);
void pv__meeting_free(pv_ctx *ctx, pv__meeting *meeting); /* NULL is fine */
/* Whoever is inside is waited for: it asks for an evaluation, or leaves. NULL is fine. */
void pv__meeting_enter(pv__meeting *meeting);
void pv__meeting_leave(pv__meeting *meeting);
/* As eval of the density, from inside. */
PV_MUST_USE pv_status pv__meeting_eval(pv_ctx *ctx, pv__meeting *meeting, void *state, const double *w, double *value,
                                       double *gradient);

#endif
