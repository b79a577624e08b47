/* src/base/simd.h: one vector type for kernels compiled once per instruction set (files named *_kernels.c).
 *
 * PV_ISA is baseline, avx2 or avx512; PV_KERNEL(name) gives each copy its own symbol. Kernels are reached through a
 * table of functions chosen at run time, so that one binary serves every x86-64. Lanes are summed in an order that
 * depends on the vector width: results agree between instruction sets to rounding, and are the same bits on one.
 */
#ifndef PV_SRC_SIMD_H
#define PV_SRC_SIMD_H

#include <immintrin.h>
#include <sleef.h>
#include <stdbool.h>
#include <string.h>

#define PV_GLUE_(a, b) a##_##b
#define PV_GLUE(a, b) PV_GLUE_(a, b)
#define PV_KERNEL(name) PV_GLUE(name, PV_ISA)

/* v_load_head: the first count (< VL) values, the others 0; v_store_head writes them alone. Tails go through the same
 * vector operations as whole vectors, so that a value does not depend on where in an array it stands. */
#if defined(PV_ISA_avx512)
typedef double vd __attribute__((vector_size(64)));
enum { VL = 8 };
static inline vd v_set(double x) {
    return (vd)_mm512_set1_pd(x);
}
static inline vd v_exp(vd x) {
    return (vd)Sleef_expd8_u10avx512f((__m512d)x);
}
static inline vd v_log(vd x) {
    return (vd)Sleef_logd8_u10avx512f((__m512d)x);
}
static inline vd v_log1p(vd x) {
    return (vd)Sleef_log1pd8_u10avx512f((__m512d)x);
}
static inline vd v_min(vd a, vd b) {
    return (vd)_mm512_min_pd((__m512d)a, (__m512d)b);
}
static inline vd v_max(vd a, vd b) {
    return (vd)_mm512_max_pd((__m512d)a, (__m512d)b);
}
static inline double v_sum(vd v) {
    return _mm512_reduce_add_pd((__m512d)v);
}
static inline vd v_load_head(const double *p, size_t count) {
    return (vd)_mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), p);
}
static inline void v_store_head(double *p, vd v, size_t count) {
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << count) - 1), (__m512d)v);
}
#elif defined(PV_ISA_avx2)
typedef double vd __attribute__((vector_size(32)));
enum { VL = 4 };
static inline vd v_set(double x) {
    return (vd)_mm256_set1_pd(x);
}
static inline vd v_exp(vd x) {
    return (vd)Sleef_expd4_u10avx2((__m256d)x);
}
static inline vd v_log(vd x) {
    return (vd)Sleef_logd4_u10avx2((__m256d)x);
}
static inline vd v_log1p(vd x) {
    return (vd)Sleef_log1pd4_u10avx2((__m256d)x);
}
static inline vd v_min(vd a, vd b) {
    return (vd)_mm256_min_pd((__m256d)a, (__m256d)b);
}
static inline vd v_max(vd a, vd b) {
    return (vd)_mm256_max_pd((__m256d)a, (__m256d)b);
}
static inline double v_sum(vd v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}
static inline __m256i v_mask_of(size_t count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)count), _mm256_set_epi64x(3, 2, 1, 0));
}
static inline vd v_load_head(const double *p, size_t count) {
    return (vd)_mm256_maskload_pd(p, v_mask_of(count));
}
static inline void v_store_head(double *p, vd v, size_t count) {
    _mm256_maskstore_pd(p, v_mask_of(count), (__m256d)v);
}
#else
typedef double vd __attribute__((vector_size(16)));
enum { VL = 2 };
static inline vd v_set(double x) {
    return (vd)_mm_set1_pd(x);
}
static inline vd v_exp(vd x) {
    return (vd)Sleef_expd2_u10sse2((__m128d)x);
}
static inline vd v_log(vd x) {
    return (vd)Sleef_logd2_u10sse2((__m128d)x);
}
static inline vd v_log1p(vd x) {
    return (vd)Sleef_log1pd2_u10sse2((__m128d)x);
}
static inline vd v_min(vd a, vd b) {
    return (vd)_mm_min_pd((__m128d)a, (__m128d)b);
}
static inline vd v_max(vd a, vd b) {
    return (vd)_mm_max_pd((__m128d)a, (__m128d)b);
}
static inline double v_sum(vd v) {
    return v[0] + v[1];
}
static inline vd v_load_head(const double *p, size_t count) {
    return (vd)(count ? _mm_load_sd(p) : _mm_setzero_pd());
}
static inline void v_store_head(double *p, vd v, size_t count) {
    if (count)
        _mm_store_sd(p, (__m128d)v);
}
#endif

static inline vd v_load(const double *p) {
    vd v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void v_store(double *p, vd v) {
    memcpy(p, &v, sizeof v);
}

/* As v_load_head, the others filled with fill. */
static inline vd v_load_part(const double *p, size_t count, double fill) {
    vd v = v_set(fill);
    for (size_t lane = 0; lane < count; lane++)
        v[lane] = p[lane];
    return v;
}

#endif
