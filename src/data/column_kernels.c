/* Passes over columns of numbers, compiled once per instruction set (base/simd.h). */
#include <math.h>

#include "base/simd.h"
#include "data/columns.h"

/* A number times 0 is 0 unless it is infinite or NaN. */
static bool all_finite(size_t n, const double *x) {
    vd off = v_set(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vd value = v_load(x + i);
        off += value * 0;
    }
    if (i < n) {
        vd value = v_load_head(x + i, n - i);
        off += value * 0;
    }
    return v_sum(off) == 0;
}

typedef struct sums {
    vd weight, first, second, least, largest;
} sums;

/* valid: -1 in lanes that hold a cell. Missing cells are NaN, which compares less than nothing. */
static void add(sums *s, vd x, vd v, vi there, double factor, double shift) {
    vi known = there & (vi)(x <= v_set(HUGE_VAL));
    vd d = (vd)((vi)(x * factor - shift) & known), weight = (vd)((vi)v & known);
    s->weight += weight;
    s->first += weight * d;
    s->second += weight * d * d;
    s->least = v_min((vd)(((vi)x & known) | ((vi)v_set(HUGE_VAL) & ~known)), s->least);
    s->largest = v_max((vd)(((vi)x & known) | ((vi)v_set(-HUGE_VAL) & ~known)), s->largest);
}

static void moments(size_t n, const double *x, const double *v, double factor, double shift, pv__moments *to) {
    vd none = v_set(0), one = v_set(1);
    sums s[2]; /* two of each, to hide the latency of additions */
    for (int k = 0; k < 2; k++)
        s[k] = (sums){none, none, none, v_set(to->least), v_set(to->largest)};
    vi all = (vi)(none < one);
    size_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL)
        for (size_t k = 0; k < 2; k++)
            add(&s[k], v_load(x + i + k * VL), v ? v_load(v + i + k * VL) : one, all, factor, shift);
    for (; i < n; i += VL) {
        size_t left = n - i < VL ? n - i : VL;
        vi there = {0};
        for (size_t lane = 0; lane < left; lane++)
            there[lane] = -1;
        vd cell = left == VL ? v_load(x + i) : v_load_head(x + i, left);
        vd weight = !v ? one : left == VL ? v_load(v + i) : v_load_head(v + i, left);
        add(&s[0], cell, weight, there, factor, shift);
    }
    to->weight += v_sum(s[0].weight + s[1].weight);
    to->first += v_sum(s[0].first + s[1].first);
    to->second += v_sum(s[0].second + s[1].second);
    vd least = v_min(s[0].least, s[1].least), largest = v_max(s[0].largest, s[1].largest);
    for (int lane = 0; lane < VL; lane++) {
        to->least = fmin(to->least, least[lane]);
        to->largest = fmax(to->largest, largest[lane]);
    }
}

/* Flags 64 cells at a time and tests eight flags at once, because few cells are picked. */
static size_t pick(size_t n, const double *x, int bits, size_t *at) {
    enum { CELLS = 64, WORD = 8 };
    size_t picked = 0;
    for (size_t begin = 0; begin < n; begin += CELLS) {
        size_t cells = n - begin < CELLS ? n - begin : CELLS;
        unsigned char flag[CELLS] = {0};
        for (size_t i = 0; i < cells; i++) {
            double value = x[begin + i] + 0.0; /* turns -0 into 0 */
            unsigned long long hash;
            memcpy(&hash, &value, sizeof hash);
            flag[i] = hash * 0x9E3779B97F4A7C15ull >> (64 - bits) == 0;
        }
        for (size_t word = 0; word < CELLS; word += WORD) {
            unsigned long long any;
            memcpy(&any, flag + word, sizeof any);
            for (size_t i = word; any && i < word + WORD; i++)
                if (flag[i])
                    at[picked++] = begin + i;
        }
    }
    return picked;
}

/* False for NaN. */
static vi is_near(vd x) {
    return (vi)(x <= v_set(PV__FARTHEST)) & (vi)(x >= v_set(-PV__FARTHEST));
}

static bool all_of(vi near) {
    bool all = true;
    for (int lane = 0; lane < VL; lane++)
        all &= near[lane] != 0;
    return all;
}

static bool standardise(size_t n, const double *x, double mean, double sd, double *value) {
    vi near = (vi)(v_set(0) < v_set(1));
    bool rest = true;
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vd made = (v_load(x + i) - v_set(mean)) / v_set(sd);
        near &= is_near(made);
        v_store(value + i, made);
    }
    for (; i < n; i++) {
        value[i] = (x[i] - mean) / sd;
        rest &= fabs(value[i]) <= PV__FARTHEST;
    }
    return rest && all_of(near);
}

typedef float half __attribute__((vector_size(sizeof(vd) / 2))); /* a vector of single precision with as many lanes */

static void widen(size_t n, const float *x, double *value) {
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        half single;
        memcpy(&single, x + i, sizeof single);
        v_store(value + i, __builtin_convertvector(single, vd));
    }
    for (; i < n; i++)
        value[i] = (double)x[i];
}

static bool standardise_single(size_t n, const float *x, double mean, double sd, double *value) {
    vi near = (vi)(v_set(0) < v_set(1));
    bool rest = true;
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        half single;
        memcpy(&single, x + i, sizeof single);
        vd made = (__builtin_convertvector(single, vd) - v_set(mean)) / v_set(sd);
        near &= is_near(made);
        v_store(value + i, made);
    }
    for (; i < n; i++) {
        value[i] = ((double)x[i] - mean) / sd;
        rest &= fabs(value[i]) <= PV__FARTHEST;
    }
    return rest && all_of(near);
}

#if defined(PV_ISA_avx512)
/* Transposes eight rows of eight columns: exchanges pairs, then fours, then eights of lanes. */
static void turn_square(const double *value, size_t columns, size_t width, double *x) {
    __m512d c[8], p[8], q[8];
    for (size_t k = 0; k < 8; k++)
        c[k] = _mm512_loadu_pd(value + k * PV__TILE);
    for (size_t k = 0; k < 8; k += 2) {
        p[k] = _mm512_unpacklo_pd(c[k], c[k + 1]);
        p[k + 1] = _mm512_unpackhi_pd(c[k], c[k + 1]);
    }
    for (size_t k = 0; k < 8; k += 4)
        for (size_t odd = 0; odd < 2; odd++) { /* lanes 0 4 and 2 6 of rows odd, odd + 2 */
            q[k + odd] = _mm512_shuffle_f64x2(p[k + odd], p[k + 2 + odd], 0x88);
            q[k + 2 + odd] = _mm512_shuffle_f64x2(p[k + odd], p[k + 2 + odd], 0xdd);
        }
    for (size_t k = 0; k < 4; k++) { /* q[k]: rows k and k + 4 of the first four columns, q[k + 4]: of the others */
        __m512d low = _mm512_shuffle_f64x2(q[k], q[k + 4], 0x88), high = _mm512_shuffle_f64x2(q[k], q[k + 4], 0xdd);
        __mmask8 there = (__mmask8)((1u << columns) - 1);
        _mm512_mask_storeu_pd(x + k * width, there, low);
        _mm512_mask_storeu_pd(x + (k + 4) * width, there, high);
    }
}
#elif defined(PV_ISA_avx2)
static void turn_square(const double *value, size_t columns, size_t width, double *x) {
    for (size_t first = 0; first < columns; first += 4) {
        const double *from = value + first * PV__TILE;
        __m256d a = _mm256_loadu_pd(from), b = _mm256_loadu_pd(from + PV__TILE);
        __m256d c = _mm256_loadu_pd(from + 2 * PV__TILE), d = _mm256_loadu_pd(from + 3 * PV__TILE);
        __m256d low[2] = {_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b)};
        __m256d high[2] = {_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d)};
        __m256i there = v_mask_of(columns - first);
        for (size_t k = 0; k < 2; k++) {
            _mm256_maskstore_pd(x + k * width + first, there, _mm256_permute2f128_pd(low[k], high[k], 0x20));
            _mm256_maskstore_pd(x + (k + 2) * width + first, there, _mm256_permute2f128_pd(low[k], high[k], 0x31));
        }
    }
}
#else
static void turn_square(const double *value, size_t columns, size_t width, double *x) {
    for (size_t i = 0; i < VL; i++)
        for (size_t k = 0; k < columns; k++)
            x[i * width + k] = value[k * PV__TILE + i];
}
#endif

static void turn(size_t n, size_t columns, const double *value, size_t width, double *x) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        turn_square(value + i, columns, width, x + i * width);
    for (; i < n; i++)
        for (size_t k = 0; k < columns; k++)
            x[i * width + k] = value[k * PV__TILE + i];
}

extern const pv__column_kernels PV_KERNEL(pv__column_kernels);
const pv__column_kernels PV_KERNEL(pv__column_kernels) = {.finite = all_finite,
                                                          .moments = moments,
                                                          .pick = pick,
                                                          .standardise = standardise,
                                                          .standardise_single = standardise_single,
                                                          .widen = widen,
                                                          .turn = turn};
