/* The vector functions of one instruction set, PV_ISA, compiled like the library's kernels (simd_all.h). */
#include "base/simd.h"

void PV_KERNEL(simd_one)(int which, size_t n, const double *x, double *y);
void PV_KERNEL(simd_one)(int which, size_t n, const double *x, double *y) {
    vd sine, cosine;
    for (size_t i = 0; i < n; i += VL) {
        vd at = v_load(x + i);
        v_sincos_turns(at, &sine, &cosine);
        const vd results[] = {v_exp(at), v_exp_negative(at), v_log(at), v_log1p(at), sine, cosine};
        v_store(y + i, results[which]);
    }
}
