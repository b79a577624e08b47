/* The loops over rows that dominate full-batch evaluations, compiled once per instruction set (base/simd.h). */
#include <math.h>

#include "base/simd.h"
#include "core/vector.h"

static void exp_rows(size_t n, int k, const double *x, const double *shift, double *y) {
    size_t total = n * (size_t)k;
    /* The shifts repeat with period k, so every vector starts at a different class. */
    size_t i = 0, class = 0;
    for (; i + VL <= total; i += VL) {
        vd s = v_set(0);
        for (int lane = 0; lane < VL; lane++) {
            s[lane] = shift[class];
            class = class + 1 == (size_t)k ? 0 : class + 1;
        }
        v_store(y + i, v_exp(v_load(x + i) - s));
    }
    if (i < total) {
        vd s = v_set(0);
        for (size_t lane = 0; lane < total - i; lane++) {
            s[lane] = shift[class];
            class = class + 1 == (size_t)k ? 0 : class + 1;
        }
        v_store_head(y + i, v_exp(v_load_head(x + i, total - i) - s), total - i);
    }
}

/* Two classes: the shifts alternate, so the same vector of shifts serves every iteration. */
static void exp_rows_any(size_t n, int k, const double *x, const double *shift, double *y) {
    if (k != 2) {
        exp_rows(n, k, x, shift, y);
        return;
    }
    vd s = v_set(0);
    for (int lane = 0; lane < VL; lane++)
        s[lane] = shift[lane & 1];
    size_t total = 2 * n, i = 0;
    for (; i + VL <= total; i += VL)
        v_store(y + i, v_exp(v_load(x + i) - s));
    if (i < total)
        v_store_head(y + i, v_exp(v_load_head(x + i, total - i) - s), total - i);
}

static double log_sum(size_t n, const double *x, const double *v) {
    vd sum = v_set(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vd term = v_log(v_load(x + i));
        sum += v ? term * v_load(v + i) : term;
    }
    if (i < n) {
        vd term = v_log(v_load_part(x + i, n - i, 1));
        sum += v ? term * v_load_head(v + i, n - i) : term;
    }
    return v_sum(sum);
}

static void exp_all(size_t n, double *x) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        v_store(x + i, v_exp(v_load(x + i)));
    if (i < n)
        v_store_head(x + i, v_exp(v_load_head(x + i, n - i)), n - i);
}

static void log_all(size_t n, double *x) {
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        v_store(x + i, v_log(v_load(x + i)));
    if (i < n)
        v_store_head(x + i, v_log(v_load_part(x + i, n - i, 1)), n - i);
}

static pv__profile_sums profile_sums(size_t n, const double *a, const double *v, double scale, double m) {
    vd one = v_set(1), weight = v_set(0), r1 = v_set(0), rr = v_set(0), rq = v_set(0), smallest = v_set(HUGE_VAL);
    for (size_t i = 0; i < n; i += VL) {
        size_t left = n - i;
        bool whole = left >= VL;
        /* Lanes beyond the end get weight 0 and the first row's a, so that they do not affect the minimum. */
        vd av = whole ? v_load(a + i) : v_load_part(a + i, left, a[0]);
        vd vv = !v ? (whole ? one : v_load_head((const double *)&one, left))
                   : (whole ? v_load(v + i) : v_load_head(v + i, left));
        vd r = av * scale - one;
        vd q = one + r * m;
        vd seen = q;
        for (int lane = 0; v && lane < VL; lane++) { /* rows of weight 0 do not count */
            seen[lane] = vv[lane] > 0 ? q[lane] : HUGE_VAL;
            q[lane] = vv[lane] > 0 ? q[lane] : 1;
        }
        smallest = v_min(smallest, seen);
        vd inverse = v_inverse(q), share = vv * inverse;
        weight += share;
        r1 += share * r;
        vd ratio = r * inverse;
        rq += share * ratio;
        rr += vv * ratio * ratio;
    }
    double least = smallest[0];
    for (int lane = 1; lane < VL; lane++)
        least = fmin(least, smallest[lane]);
    return (pv__profile_sums){v_sum(weight), v_sum(r1), v_sum(rr), v_sum(rq), least};
}

static void adam(const pv__adam *array, double rate, double step) {
    const double keep_mean = 0.9, keep_square = 0.999, tiny = 1e-12;
    double scale = rate / (1 - pow(keep_mean, step)), unbias = 1 / (1 - pow(keep_square, step));
    const double *restrict g = array->gradient;
    double *restrict mean = array->mean, *restrict square = array->square, *restrict value = array->value;
    for (size_t i = 0; i < array->n; i++) { /* vectorised by the compiler with -O3 and -fno-math-errno */
        mean[i] = keep_mean * mean[i] + (1 - keep_mean) * g[i];
        square[i] = keep_square * square[i] + (1 - keep_square) * g[i] * g[i];
        value[i] -= scale * mean[i] / (sqrt(square[i] * unbias) + tiny);
    }
}

static void adam_lean(const pv__adam_lean *array) {
    const double keep_mean = 0.9, keep_square = 0.999, tiny = 1e-12;
    double scale = array->rate / (1 - pow(keep_mean, array->step)), unbias = 1 / (1 - pow(keep_square, array->step));
    double threshold = array->rate * array->sparsity;
    const double *restrict g = array->gradient;
    float *restrict mean = array->mean, *restrict square = array->square;
    double *restrict value = array->value;
    for (size_t i = 0; i < array->n; i++) {
        double m = keep_mean * (double)mean[i] + (1 - keep_mean) * g[i];
        double s = keep_square * (double)square[i] + (1 - keep_square) * g[i] * g[i];
        double inverse = 1 / (sqrt(s * unbias) + tiny), moved = value[i] - scale * m * inverse;
        double size = fabs(moved) - threshold * inverse;
        mean[i] = (float)m;
        square[i] = (float)s;
        value[i] = copysign(size > 0 ? size : 0, moved);
    }
}

#define PV_TEXT_(x) #x
#define PV_TEXT(x) PV_TEXT_(x)

extern const pv__core_kernels PV_KERNEL(pv__core_kernels);
const pv__core_kernels PV_KERNEL(pv__core_kernels) = {PV_TEXT(PV_ISA), exp_rows_any, log_sum, profile_sums,
                                                      exp_all,         log_all,      adam,    adam_lean};
