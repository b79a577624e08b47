/* src/base/simd.h: one vector type for kernels compiled once per instruction set (files named *_kernels.c).
 *
 * PV_ISA is baseline, avx2 or avx512; PV_KERNEL(name) gives each copy its own symbol. Kernels are called through a
 * table of functions chosen at run time, so one binary serves every x86-64. Other processors use baseline alone, with
 * vectors of two lanes, which compilers translate to NEON on 64-bit ARM. Lanes are summed in an order that depends on
 * the vector width: results agree between instruction sets up to rounding, and are bit-identical within one.
 */
#ifndef PV_SRC_SIMD_H
#define PV_SRC_SIMD_H

#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define PV_GLUE_(a, b) a##_##b
#define PV_GLUE(a, b) PV_GLUE_(a, b)
#define PV_KERNEL(name) PV_GLUE(name, PV_ISA)

/* v_less: a < b ? then : otherwise, by lane. v_min and v_max return their second operand if either is NaN, so pass the
 * bound first to let NaN through. v_load_head loads the first count (< VL) values and sets the others to 0;
 * v_store_head stores only the first count. Tails use the same vector operations as whole vectors, so that a value does
 * not depend on its position in an array. */
#if defined(PV_ISA_avx512)
typedef double vd __attribute__((vector_size(64)));
enum { VL = 8 };
static inline vd v_set(double x) {
    return (vd)_mm512_set1_pd(x);
}
static inline vd v_less(vd a, vd b, vd then, vd otherwise) {
    __mmask8 less = _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
    return (vd)_mm512_mask_blend_pd(less, (__m512d)otherwise, (__m512d)then);
}
static inline vd v_sqrt(vd x) {
    return (vd)_mm512_sqrt_pd((__m512d)x);
}
static inline vd v_min(vd a, vd b) {
    return (vd)_mm512_min_pd((__m512d)a, (__m512d)b);
}
static inline vd v_max(vd a, vd b) {
    return (vd)_mm512_max_pd((__m512d)a, (__m512d)b);
}
/* 1/x for x between 1e-300 and 1e300, within an ulp. A division would take three times as long. */
static inline vd v_inverse(vd x) {
    vd y = (vd)_mm512_rcp14_pd((__m512d)x), one = v_set(1);
    y += y * (one - x * y);
    return y + y * (one - x * y);
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
static inline vd v_less(vd a, vd b, vd then, vd otherwise) {
    __m256d less = _mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LT_OQ);
    return (vd)_mm256_blendv_pd((__m256d)otherwise, (__m256d)then, less);
}
static inline vd v_sqrt(vd x) {
    return (vd)_mm256_sqrt_pd((__m256d)x);
}
static inline vd v_min(vd a, vd b) {
    return (vd)_mm256_min_pd((__m256d)a, (__m256d)b);
}
static inline vd v_max(vd a, vd b) {
    return (vd)_mm256_max_pd((__m256d)a, (__m256d)b);
}
static inline vd v_inverse(vd x) {
    return v_set(1) / x;
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
#elif defined(__SSE2__)
typedef double vd __attribute__((vector_size(16)));
enum { VL = 2 };
static inline vd v_set(double x) {
    return (vd)_mm_set1_pd(x);
}
static inline vd v_less(vd a, vd b, vd then, vd otherwise) {
    __m128d less = _mm_cmplt_pd((__m128d)a, (__m128d)b);
    return (vd)_mm_or_pd(_mm_and_pd(less, (__m128d)then), _mm_andnot_pd(less, (__m128d)otherwise));
}
static inline vd v_sqrt(vd x) {
    return (vd)_mm_sqrt_pd((__m128d)x);
}
static inline vd v_min(vd a, vd b) {
    return (vd)_mm_min_pd((__m128d)a, (__m128d)b);
}
static inline vd v_max(vd a, vd b) {
    return (vd)_mm_max_pd((__m128d)a, (__m128d)b);
}
static inline vd v_inverse(vd x) {
    return v_set(1) / x;
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
#else
typedef double vd __attribute__((vector_size(16)));
enum { VL = 2 };
static inline vd v_set(double x) {
    return (vd){x, x};
}
static inline vd v_less(vd a, vd b, vd then,
                        vd otherwise) { /* vector comparisons and bit operations, which compilers support directly */
    typedef long long mask __attribute__((vector_size(16)));
    mask less = (mask)(a < b);
    return (vd)(((mask)then & less) | ((mask)otherwise & ~less));
}
static inline vd v_sqrt(vd x) {
    return (vd){sqrt(x[0]), sqrt(x[1])};
}
static inline vd v_min(vd a, vd b) {
    return v_less(a, b, a, b);
}
static inline vd v_max(vd a, vd b) {
    return v_less(b, a, a, b);
}
static inline vd v_inverse(vd x) {
    return v_set(1) / x;
}
static inline double v_sum(vd v) {
    return v[0] + v[1];
}
static inline vd v_load_head(const double *p, size_t count) {
    return (vd){count ? p[0] : 0, 0};
}
static inline void v_store_head(double *p, vd v, size_t count) {
    if (count)
        p[0] = v[0];
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

typedef long long vi __attribute__((vector_size(sizeof(vd))));
typedef unsigned long long vu
    __attribute__((vector_size(sizeof(vd)))); /* for shifts, because signed integers must not overflow */

static inline vd v_where_positive(vd x, vd then, vd otherwise) {
    vi positive = (vi)(x > v_set(0));
    return (vd)(((vi)then & positive) | ((vi)otherwise & ~positive));
}

#include "base/simd_math.h"

/* Like v_load_head, but sets the other lanes to fill. */
static inline vd v_load_part(const double *p, size_t count, double fill) {
    vd v = v_set(fill);
    for (size_t lane = 0; lane < count; lane++)
        v[lane] = p[lane];
    return v;
}

#endif
