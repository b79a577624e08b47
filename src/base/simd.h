/* src/base/simd.h: one vector type for kernels compiled once per instruction set (files named *_kernels.c).
 *
 * PV_ISA is baseline, avx2 or avx512; PV_KERNEL(name) gives each copy its own symbol. Kernels are reached through a
 * table of functions chosen at run time, so that one binary serves every x86-64. Other processors have baseline alone,
 * whose functions work lane by lane where they have no SSE2. Lanes are summed in an order that
 * depends on the vector width: results agree between instruction sets to rounding, and are the same bits on one.
 */
#ifndef PV_SRC_SIMD_H
#define PV_SRC_SIMD_H

#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <sleef.h>
#include <stdbool.h>
#include <string.h>

#define PV_GLUE_(a, b) a##_##b
#define PV_GLUE(a, b) PV_GLUE_(a, b)
#define PV_KERNEL(name) PV_GLUE(name, PV_ISA)

/* v_min and v_max give their second operand where either is NaN: a bound goes first where NaN is to survive.
 * v_load_head: the first count (< VL) values, the others 0; v_store_head writes them alone. Tails go through the same
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
/* 1/x for x between 1e-300 and 1e300, to an ulp: the divider would take three times as long. */
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
static inline vd v_exp(vd x) {
    return (vd){Sleef_exp_u10(x[0]), Sleef_exp_u10(x[1])};
}
static inline vd v_log(vd x) {
    return (vd){Sleef_log_u10(x[0]), Sleef_log_u10(x[1])};
}
static inline vd v_log1p(vd x) {
    return (vd){Sleef_log1p_u10(x[0]), Sleef_log1p_u10(x[1])};
}
static inline vd v_min(vd a, vd b) {
    return (vd){a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]};
}
static inline vd v_max(vd a, vd b) {
    return (vd){a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]};
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
typedef unsigned long long vu __attribute__((vector_size(sizeof(vd)))); /* to shift: signed ones must not overflow */

static inline vd v_where_positive(vd x, vd then, vd otherwise) {
    vi positive = (vi)(x > v_set(0));
    return (vd)(((vi)then & positive) | ((vi)otherwise & ~positive));
}

/* exp(x) for x <= 0, within an ulp; not below exp(-708); NaN for NaN. Inline, where a call in the middle of a loop
 * would spill every register: x = n log 2 + r, |r| <= log(2)/2, the series of exp(r), and n added to the exponent. */
static inline vd v_exp_negative(vd x) {
    const vd shift = v_set(6755399441055744.0); /* 1.5 2^52: the sum's low bits are the rounded integer */
    x = v_max(v_set(-708), x);
    vd sum = x * v_set(1.44269504088896340736) + shift, n = sum - shift;
    vd r = x - n * v_set(0x1.62e42feep-1) - n * v_set(1.9082149292705877e-10);
    vd r2 = r * r, r4 = r2 * r2; /* Estrin's order: short chains */
    vd low = (v_set(1) + r) + r2 * (v_set(0.5) + r * v_set(1. / 6));
    vd next = (v_set(1. / 24) + r * v_set(1. / 120)) + r2 * (v_set(1. / 720) + r * v_set(1. / 5040));
    vd high = (v_set(1. / 40320) + r * v_set(1. / 362880)) + r2 * (v_set(1. / 3628800) + r * v_set(1. / 39916800));
    vd top = v_set(1. / 479001600) + r * v_set(1. / 6227020800);
    vd y = low + r4 * (next + r4 * (high + r4 * top));
    return (vd)((vu)y + ((vu)sum << 52));
}

/* As v_load_head, the others filled with fill. */
static inline vd v_load_part(const double *p, size_t count, double fill) {
    vd v = v_set(fill);
    for (size_t lane = 0; lane < count; lane++)
        v[lane] = p[lane];
    return v;
}

#endif
