/* src/posterior/draws.h: diagnostics of draws for the engines, returning a status. */
#ifndef PV_SRC_DRAWS_H
#define PV_SRC_DRAWS_H

#include "base/base.h"
#include "prevail/posterior.h"

/* Split R-hat and bulk effective size of draws [chains][each], as pv_split_rhat and pv_effective_size; NaN if
 * undefined. Fails only if memory runs out. */
PV_MUST_USE pv_status pv__draws_diagnose(pv_ctx *ctx, size_t chains, size_t each, const double *draws, double *rhat,
                                         double *ess);

#endif
