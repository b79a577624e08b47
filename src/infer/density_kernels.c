/* Logistic likelihood of a small table at many parameter values: the inner loop of posteriors. Compiled once per
 * instruction set (base/simd.h). */
#include <math.h>

#include "base/simd.h"
#include "infer/density.h"

/* With more columns, a tile of rows is processed column by column, because consecutive cells of a row are on different
 * pages. */
enum { MANY_COLUMNS = 32, TILE = 512 };

/* Computes the linear predictors of a tile of rows, z. Adds in the order of the columns, as the loop over rows does. */
static void predictors(const pv__density_rows *rows, const double *w, size_t first, size_t end, double *z) {
    for (size_t i = first; i < end; i += VL)
        v_store(z + i, v_set(w[0]));
    for (size_t j = 0; j < rows->inputs; j++) {
        vd slope = v_set(w[1 + j]);
        const double *x = rows->x + j * rows->padded;
        for (size_t i = first; i < end; i += VL)
            v_store(z + i, v_load(z + i) + slope * v_load(x + i));
    }
}

static pv__row_sums forward(const pv__density_rows *rows, const double *w, double *p1, double *p0) {
    enum { TOGETHER = 512 }; /* factors between 1 and 2: their product stays finite */
    vd product = v_set(1), loss = v_set(0), mean0 = v_set(0), mean1 = v_set(0), zero = v_set(0), one = v_set(1);
    bool tiled = rows->inputs > MANY_COLUMNS;
    for (size_t i = 0; i < rows->padded; i += VL) {
        if (tiled && i % TILE == 0)
            predictors(rows, w, i, rows->padded - i < TILE ? rows->padded : i + TILE, p1);
        vd z = v_set(w[0]);
        if (tiled)
            z = v_load(p1 + i);
        for (size_t j = 0; !tiled && j < rows->inputs; j++)
            z += v_set(w[1 + j]) * v_load(rows->x + j * rows->padded + i);
        vd tail = v_exp_negative(v_min(z, -z)); /* exp(-|z|) */
        vd big = v_inverse(one + tail), small = tail * big;
        vd positive = v_where_positive(z, big, small), negative = v_where_positive(z, small, big);
        vd v = v_load(rows->weight + i), t = v_load(rows->target + i), rho = v_load(rows->rho + i);
        /* - t log p1 - (v - t) log p0 = v softplus(z) - t z */
        if (rows->unit) {
            product *= one + v * tail;
            loss += v * v_max(z, zero) - t * z;
            if (i / VL % TOGETHER == TOGETHER - 1) {
                loss += v_log(product);
                product = one;
            }
        } else {
            loss += v * (v_max(z, zero) + v_log1p(tail)) - t * z;
        }
        mean1 += rho * positive;
        mean0 += rho * negative;
        v_store(p1 + i, positive);
        v_store(p0 + i, negative);
    }
    return (pv__row_sums){v_sum(loss + v_log(product)), v_sum(mean0), v_sum(mean1)};
}

static void backward(const pv__density_rows *rows, const double *p1, const double *p0, const double *extra,
                     double scale, double *dw) {
    enum { COLUMNS = 8 };
    vd factor = v_set(scale);
    /* Residuals are recomputed for every eight columns, which is cheaper than a pass through memory. */
    for (size_t first = 0; first == 0 || first < rows->inputs; first += COLUMNS) {
        size_t width = rows->inputs - first < COLUMNS ? rows->inputs - first : COLUMNS;
        vd intercept = v_set(0), sum[COLUMNS];
        for (size_t j = 0; j < COLUMNS; j++)
            sum[j] = v_set(0);
        for (size_t i = 0; i < rows->padded; i += VL) {
            vd a = v_load(p1 + i), b = v_load(p0 + i);
            vd e = extra ? factor * v_load(extra + i) : factor;
            vd dz = v_load(rows->weight + i) * a - v_load(rows->target + i) + e * a * b;
            intercept += dz;
            for (size_t j = 0; j < width; j++)
                sum[j] += dz * v_load(rows->x + (first + j) * rows->padded + i);
        }
        dw[0] = v_sum(intercept);
        for (size_t j = 0; j < width; j++)
            dw[1 + first + j] = v_sum(sum[j]);
    }
}

/* Without row weights, takes logarithms of products of as many q as stay finite: each is between least and most. */
static double profile_rows(size_t n, const double *p1, const double *v, double scale, double m, double least,
                           double *extra) {
    vd one = v_set(1), sum = v_set(0), product = one;
    double most = 1 + fabs(m) * (scale + 1), together = 600 / fmax(fabs(log(least)), log(most)), held = 0;
    for (size_t i = 0; i < n; i += VL) {
        size_t left = n - i < VL ? n - i : VL;
        bool whole = left == VL;
        vd p = whole ? v_load(p1 + i) : v_load_head(p1 + i, left);
        vd weight = !v ? (whole ? one : v_load_head((const double *)&one, left))
                       : (whole ? v_load(v + i) : v_load_head(v + i, left));
        vd q = one + (p * scale - one) * m;
        for (int lane = 0; (v || !whole) && lane < VL; lane++) /* rows of weight 0 do not count */
            q[lane] = weight[lane] > 0 ? q[lane] : 1;
        if (v) {
            sum += weight * v_log(q);
        } else {
            if (++held > together) {
                sum += v_log(product);
                product = one;
                held = 1;
            }
            product *= q;
        }
        vd share = weight * v_inverse(q);
        if (whole)
            v_store(extra + i, share);
        else
            v_store_head(extra + i, share, left);
    }
    return v_sum(sum + v_log(product));
}

extern const pv__density_kernels PV_KERNEL(pv__density_kernels);
const pv__density_kernels PV_KERNEL(pv__density_kernels) = {forward, backward, profile_rows};
