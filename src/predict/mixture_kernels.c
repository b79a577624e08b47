/* Loops over rows of the mixture's likelihood, compiled once per instruction set (base/simd.h).
 *
 * Sums of logarithms take the logarithm of products: q lies between the smallest pi and 1, so the product of a known
 * number of factors cannot underflow.
 */
#include <math.h>

#include "base/simd.h"
#include "predict/mixture.h"

static void pair_ratios(size_t n, const double *loglik, double shift, double *u) {
    vd one = v_set(1);
    for (size_t i = 0; i < n; i += VL) {
        size_t left = n - i < VL ? n - i : VL;
        vd d = v_set(0);
        for (size_t lane = 0; lane < left; lane++)
            d[lane] = loglik[2 * (i + lane)] - loglik[2 * (i + lane) + 1] + shift;
        vd e = one / (one + v_exp(v_min(v_set(709), d)));
        if (left == VL)
            v_store(u + i, e);
        else
            v_store_head(u + i, e, left);
    }
}

static void ratios(size_t n, int k, const double *loglik, const double *shift, size_t stride, double *r,
                   double *log_r) {
    for (size_t i = 0; i < n; i += VL) {
        size_t left = n - i < VL ? n - i : VL;
        vd top = v_set(-HUGE_VAL);
        for (int y = 0; y < k; y++) {
            vd l = v_set(0);
            for (size_t lane = 0; lane < left; lane++)
                l[lane] = loglik[(i + lane) * (size_t)k + (size_t)y] - shift[y];
            top = v_max(top, l);
        }
        for (int y = 0; y < k; y++) {
            vd l = v_set(0);
            for (size_t lane = 0; lane < left; lane++)
                l[lane] = loglik[(i + lane) * (size_t)k + (size_t)y] - shift[y];
            l -= top;
            double *to = r + (size_t)y * stride + i;
            vd e = v_exp(l);
            if (left == VL)
                v_store(to, e);
            else
                v_store_head(to, e, left);
            for (size_t lane = 0; log_r && lane < left; lane++)
                log_r[(size_t)y * stride + i + lane] = l[lane];
        }
    }
}

static inline vd load_weight(const double *v, size_t i, size_t left) {
    static const double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (left >= VL)
        return v ? v_load(v + i) : v_set(1);
    return v_load_head(v ? v + i : ones, left);
}

static void pair_sums(size_t n, const double *u, const double *v, double pi0, double pi1, double *sums) {
    vd one = v_set(1), p0 = v_set(pi0), p1 = v_set(pi1), sum = v_set(0), square = v_set(0);
    size_t i = 0;
    for (; !v && i + VL <= n; i += VL) {
        vd x = v_load(u + i), a = p1 * x, rho = a / (a + p0 * (one - x));
        sum += rho;
        square += rho * rho;
    }
    for (; i < n; i += VL) {
        vd x = n - i >= VL ? v_load(u + i) : v_load_part(u + i, n - i, 0.5), weight = load_weight(v, i, n - i);
        vd a = p1 * x, rho = a / (a + p0 * (one - x)), share = weight * rho;
        sum += share;
        square += share * rho;
    }
    sums[0] = v_sum(sum);
    sums[1] = v_sum(square);
}

/* The number of factors of at least `low` whose product stays a normal number. */
static size_t factors(double low) {
    double most = 650 / fmax(-log(low), 1);
    return most > 128 ? 128 : most < 1 ? 1 : (size_t)most;
}

static double pair_log(size_t n, const double *u, const double *v, double pi0, double pi1) {
    vd one = v_set(1), p0 = v_set(pi0), p1 = v_set(pi1), sum = v_set(0);
    size_t i = 0, group = factors(fmin(pi0, pi1));
    while (!v && i + 4 * VL <= n) { /* four independent products */
        vd a = one, b = one, c = one, d = one;
        for (size_t g = 0; g < group && i + 4 * VL <= n; g++, i += 4 * VL) {
            vd x = v_load(u + i), y = v_load(u + i + VL), z = v_load(u + i + 2 * VL), w = v_load(u + i + 3 * VL);
            a *= p1 * x + p0 * (one - x);
            b *= p1 * y + p0 * (one - y);
            c *= p1 * z + p0 * (one - z);
            d *= p1 * w + p0 * (one - w);
        }
        sum += (v_log(a) + v_log(b)) + (v_log(c) + v_log(d));
    }
    for (; i < n; i += VL) {
        vd x = n - i >= VL ? v_load(u + i) : v_load_part(u + i, n - i, 0.5);
        sum += load_weight(v, i, n - i) * v_log(p1 * x + p0 * (one - x));
    }
    return v_sum(sum);
}

static void pair_logs(size_t n, const double *u, const double *v, size_t points, const double *pi, double *log_q) {
    for (size_t j = 0; j < points; j++)
        log_q[j] = pair_log(n, u, v, pi[2 * j], pi[2 * j + 1]);
}

/* ---- any number of classes --------------------------------------------------------------------------------------- */

/* A block's rho into work [k][PV__BLOCK], 0 beyond its rows. */
static void responsibilities(size_t rows, int k, size_t stride, const double *r, const double *pi, double *work) {
    for (size_t i = 0; i < PV__BLOCK; i += VL) {
        size_t left = i >= rows ? 0 : rows - i < VL ? rows - i : VL;
        vd q = v_set(0);
        for (int y = 0; y < k; y++) {
            const double *plane = r + (size_t)y * stride + i;
            vd x = left == VL ? v_load(plane) : left ? v_load_head(plane, left) : v_set(0);
            x *= v_set(pi[y]);
            v_store(work + (size_t)y * PV__BLOCK + i, x);
            q += x;
        }
        vd inverse = v_set(1) / q;
        for (int lane = (int)left; lane < VL; lane++)
            inverse[lane] = 0;
        for (int y = 0; y < k; y++) {
            double *to = work + (size_t)y * PV__BLOCK + i;
            v_store(to, v_load(to) * inverse);
        }
    }
}

static void sums_of(size_t n, int k, size_t stride, const double *r, const double *v, const double *pi, double *sums,
                    double *cross, double *work) {
    size_t classes = (size_t)k;
    memset(sums, 0, classes * sizeof *sums);
    if (cross)
        memset(cross, 0, classes * classes * sizeof *cross);
    for (size_t begin = 0; begin < n; begin += PV__BLOCK) {
        size_t rows = n - begin < PV__BLOCK ? n - begin : PV__BLOCK;
        responsibilities(rows, k, stride, r + begin, pi, work);
        vd share[PV__BLOCK / VL];
        for (size_t y = 0; y < classes; y++) {
            vd sum = v_set(0);
            for (size_t i = 0; i < PV__BLOCK / VL; i++) {
                vd rho = v_load(work + y * PV__BLOCK + i * VL);
                share[i] = i * VL >= rows ? v_set(0) : rho * load_weight(v, begin + i * VL, rows - i * VL);
                sum += share[i];
            }
            sums[y] += v_sum(sum);
            for (size_t x = 0; cross && x <= y; x++) {
                vd product = v_set(0);
                for (size_t i = 0; i < PV__BLOCK / VL; i++)
                    product += share[i] * v_load(work + x * PV__BLOCK + i * VL);
                cross[y * classes + x] += v_sum(product);
            }
        }
    }
    for (size_t y = 0; cross && y < classes; y++)
        for (size_t x = 0; x < y; x++)
            cross[x * classes + y] = cross[y * classes + x];
}

static inline vd mixed(size_t i, size_t left, int k, size_t stride, const double *r, const double *pi) {
    vd q = v_set(0);
    for (int y = 0; y < k; y++) {
        const double *plane = r + (size_t)y * stride + i;
        q += v_set(pi[y]) * (left >= VL ? v_load(plane) : v_load_part(plane, left, 1));
    }
    return q;
}

static void logs(size_t n, int k, size_t stride, const double *r, const double *v, size_t points, const double *pi,
                 double *log_q) {
    for (size_t j = 0; j < points; j++) {
        const double *at = pi + j * (size_t)k;
        double low = 1;
        for (int y = 0; y < k; y++)
            low = fmin(low, at[y]);
        vd sum = v_set(0);
        size_t i = 0, group = factors(low);
        while (!v && i + VL <= n) {
            vd product = v_set(1);
            for (size_t g = 0; g < group && i + VL <= n; g++, i += VL)
                product *= mixed(i, VL, k, stride, r, at);
            sum += v_log(product);
        }
        for (; i < n; i += VL)
            sum += load_weight(v, i, n - i) * v_log(mixed(i, n - i, k, stride, r, at));
        log_q[j] = v_sum(sum);
    }
}

static void average(size_t n, int k, size_t stride, const double *r, size_t points, const double *pi,
                    const double *weight, double *out) {
    for (size_t i = 0; i < n; i += VL) {
        size_t left = n - i;
        if (k == 2) { /* everything stays in registers */
            vd a = left >= VL ? v_load(r + i) : v_load_part(r + i, left, 1);
            vd b = left >= VL ? v_load(r + stride + i) : v_load_part(r + stride + i, left, 1);
            vd s0 = v_set(0), s1 = v_set(0);
            for (size_t j = 0; j < points; j++) {
                vd p0 = v_set(pi[2 * j]), p1 = v_set(pi[2 * j + 1]), share = v_set(weight[j]) / (p0 * a + p1 * b);
                s0 += p0 * share;
                s1 += p1 * share;
            }
            if (left >= VL) {
                v_store(out + i, s0);
                v_store(out + stride + i, s1);
            } else {
                v_store_head(out + i, s0, left);
                v_store_head(out + stride + i, s1, left);
            }
            continue;
        }
        for (int y = 0; y < k; y++)
            for (size_t lane = 0; lane < VL && lane < left; lane++)
                out[(size_t)y * stride + i + lane] = 0;
        for (size_t j = 0; j < points; j++) {
            const double *at = pi + j * (size_t)k;
            vd share = v_set(weight[j]) / mixed(i, left, k, stride, r, at);
            for (int y = 0; y < k; y++) {
                double *to = out + (size_t)y * stride + i;
                if (left >= VL)
                    v_store(to, v_load(to) + v_set(at[y]) * share);
                else
                    v_store_head(to, v_load_head(to, left) + v_set(at[y]) * share, left);
            }
        }
    }
}

extern const pv__mixture_kernels PV_KERNEL(pv__mixture_kernels);
const pv__mixture_kernels PV_KERNEL(pv__mixture_kernels) = {pair_ratios, ratios, pair_sums, pair_logs,
                                                            sums_of,     logs,   average};
