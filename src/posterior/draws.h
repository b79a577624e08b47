/* src/posterior/draws.h: summaries of draws with a status, for the engines. */
#ifndef PV_SRC_DRAWS_H
#define PV_SRC_DRAWS_H

#include "base/base.h"
#include "prevail/posterior.h"

enum { PV__RANK_MAX = 64 }; /* of a mixture's covariances of low rank */

/* Entries of a mixture component's factor. */
static inline size_t pv__mixture_size(size_t dims, bool diagonal, size_t rank) {
    return rank ? rank * rank : diagonal ? dims : dims * dims;
}

/* Split R-hat and bulk effective size of draws [chains][each] as pv_split_rhat and pv_effective_size; NaN where they
 * are undefined. Fails only for lack of memory. */
PV_MUST_USE pv_status pv__draws_diagnose(pv_ctx *ctx, size_t chains, size_t each, const double *draws, double *rhat,
                                         double *ess);

#endif
