/* Chooses the core's kernels for this processor. */
#include "core/vector.h"

extern const pv__core_kernels pv__core_kernels_baseline, pv__core_kernels_avx2, pv__core_kernels_avx512;

const pv__core_kernels *pv__core_kernels_get(void) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &pv__core_kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &pv__core_kernels_avx2;
    return &pv__core_kernels_baseline;
}
