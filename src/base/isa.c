/* Selects the instruction set for all kernels on this processor. */
#include "base.h"

pv__isa pv__isa_best(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return PV_ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return PV_ISA_AVX2;
#endif
    return PV_ISA_BASELINE;
}

const char *pv_kernels(void) {
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    return names[pv__isa_best()];
}
