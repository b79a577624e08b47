/* Chooses the core's kernels for this processor. */
#include "base/base.h"
#include "core/vector.h"

extern const pv__core_kernels pv__core_kernels_baseline, pv__core_kernels_avx2, pv__core_kernels_avx512;

const pv__core_kernels *pv__core_kernels_get(void) {
    const pv__core_kernels *const all[] = {&pv__core_kernels_baseline, &pv__core_kernels_avx2,
                                           &pv__core_kernels_avx512};
    return all[pv__isa_best()];
}
