/* Selects the core's kernels for this processor. */
#include "base/base.h"
#include "core/vector.h"

PV_KERNELS_GET(pv__core_kernels, pv__core_kernels_get, pv__core_kernels)
