/* tests/unit/simd_all.h: the vector functions for every instruction set that this processor supports (simd_one.c is
 * compiled for each). */
#ifndef PV_TEST_SIMD_ALL_H
#define PV_TEST_SIMD_ALL_H

#include <stddef.h>

enum { SIMD_EXP, SIMD_EXP_NEGATIVE, SIMD_LOG, SIMD_LOG1P, SIMD_SINE, SIMD_COSINE };

typedef void simd_function(int which, size_t n, const double *x, double *y); /* n: must be a multiple of 8 */
void simd_one_baseline(int which, size_t n, const double *x, double *y);
void simd_one_avx2(int which, size_t n, const double *x, double *y);
void simd_one_avx512(int which, size_t n, const double *x, double *y);

#ifdef __x86_64__
static simd_function *const simd_one[] = {simd_one_baseline, simd_one_avx2, simd_one_avx512};
#else
static simd_function *const simd_one[] = {simd_one_baseline};
#endif

static inline size_t simd_isas(void) {
    return (size_t)pv__isa_best() - (size_t)PV_ISA_BASELINE + 1;
}

static inline const char *simd_name(size_t isa) {
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    return names[isa];
}

static inline void simd_run(size_t isa, int which, size_t n, const double *x, double *y) {
    simd_one[isa](which, n, x, y);
}

#endif
