/* The vector backends: one source, compiled once per instruction set (base/simd.h). */
#include "base/simd.h"
#include "compute/compute.h"

/* ---- a tall matrix times a vector: limited by memory bandwidth, so each row is read once ------------------------- */

static double dot(size_t d, const double *x, const double *w) {
    vd sum = v_set(0);
    size_t j = 0;
    for (; j + VL <= d; j += VL)
        sum += v_load(x + j) * v_load(w + j);
    if (j < d)
        sum += v_load_head(x + j, d - j) * v_load_head(w + j, d - j);
    return v_sum(sum);
}

static void rows_dot(size_t n, size_t d, const double *x, const double *w, double bias, double *z) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) { /* four rows share the loads of w and hide each other's latency */
        const double *x0 = x + i * d, *x1 = x0 + d, *x2 = x1 + d, *x3 = x2 + d;
        vd s0 = v_set(0), s1 = s0, s2 = s0, s3 = s0;
        size_t j = 0;
        for (; j + VL <= d; j += VL) {
            vd wj = v_load(w + j);
            s0 += v_load(x0 + j) * wj;
            s1 += v_load(x1 + j) * wj;
            s2 += v_load(x2 + j) * wj;
            s3 += v_load(x3 + j) * wj;
        }
        if (j < d) {
            vd wj = v_load_head(w + j, d - j);
            s0 += v_load_head(x0 + j, d - j) * wj;
            s1 += v_load_head(x1 + j, d - j) * wj;
            s2 += v_load_head(x2 + j, d - j) * wj;
            s3 += v_load_head(x3 + j, d - j) * wj;
        }
        z[i] = bias + v_sum(s0);
        z[i + 1] = bias + v_sum(s1);
        z[i + 2] = bias + v_sum(s2);
        z[i + 3] = bias + v_sum(s3);
    }
    for (; i < n; i++)
        z[i] = bias + dot(d, x + i * d, w);
}

/* g[width vectors] += r x over rows, with the sums kept in registers. */
#define ADD_COLUMNS(width)                                                                                             \
    static void add_columns_##width(size_t n, size_t d, const double *x, const double *r, double *g) {                 \
        vd sum[width];                                                                                                 \
        for (int c = 0; c < width; c++)                                                                                \
            sum[c] = v_load(g + c * VL);                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                               \
            vd ri = v_set(r[i]);                                                                                       \
            for (int c = 0; c < width; c++)                                                                            \
                sum[c] += ri * v_load(x + i * d + c * VL);                                                             \
        }                                                                                                              \
        for (int c = 0; c < width; c++)                                                                                \
            v_store(g + c * VL, sum[c]);                                                                               \
    }
ADD_COLUMNS(8)
ADD_COLUMNS(4)
ADD_COLUMNS(2)
ADD_COLUMNS(1)

static double rows_add(size_t n, size_t d, const double *x, const double *r, double *g) {
    enum { ROWS = 64 }; /* few enough to stay in the first-level cache while columns are processed */
    double total = 0;
    for (size_t first = 0; first < n; first += ROWS) {
        size_t rows = n - first < ROWS ? n - first : ROWS, j = 0;
        const double *xf = x + first * d, *rf = r + first;
        for (; j + 8 * VL <= d; j += 8 * VL)
            add_columns_8(rows, d, xf + j, rf, g + j);
        if (j + 4 * VL <= d) {
            add_columns_4(rows, d, xf + j, rf, g + j);
            j += 4 * VL;
        }
        if (j + 2 * VL <= d) {
            add_columns_2(rows, d, xf + j, rf, g + j);
            j += 2 * VL;
        }
        if (j + VL <= d) {
            add_columns_1(rows, d, xf + j, rf, g + j);
            j += VL;
        }
        for (; j < d; j++) {
            double sum = g[j];
            for (size_t i = 0; i < rows; i++)
                sum += rf[i] * xf[i * d + j];
            g[j] = sum;
        }
        for (size_t i = 0; i < rows; i++)
            total += rf[i];
    }
    return total;
}

/* ---- matrix products of layers: 4 rows by `width` vectors in registers ------------------------------------------- */

#define TILE(rows, width)                                                                                              \
    static void tile_##rows##x##width(size_t k, size_t n, const double *a, size_t a_row, size_t a_column,              \
                                      const double *b, double *c, bool add) {                                          \
        vd sum[rows][width];                                                                                           \
        for (int i = 0; i < rows; i++)                                                                                 \
            for (int v = 0; v < width; v++)                                                                            \
                sum[i][v] = add ? v_load(c + (size_t)i * n + (size_t)v * VL) : v_set(0);                               \
        for (size_t p = 0; p < k; p++) {                                                                               \
            vd bv[width];                                                                                              \
            for (int v = 0; v < width; v++)                                                                            \
                bv[v] = v_load(b + p * n + (size_t)v * VL);                                                            \
            for (int i = 0; i < rows; i++) {                                                                           \
                vd ai = v_set(a[(size_t)i * a_row + p * a_column]);                                                    \
                for (int v = 0; v < width; v++)                                                                        \
                    sum[i][v] += ai * bv[v];                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        for (int i = 0; i < rows; i++)                                                                                 \
            for (int v = 0; v < width; v++)                                                                            \
                v_store(c + (size_t)i * n + (size_t)v * VL, sum[i][v]);                                                \
    }
TILE(4, 4)
TILE(4, 2)
TILE(4, 1)
TILE(1, 4)
TILE(1, 2)
TILE(1, 1)

/* The last columns, fewer than a vector holds. */
#define EDGE(rows)                                                                                                     \
    static void edge_##rows(size_t count, size_t k, size_t n, const double *a, size_t a_row, size_t a_column,          \
                            const double *b, double *c, bool add) {                                                    \
        vd sum[rows];                                                                                                  \
        for (int i = 0; i < rows; i++)                                                                                 \
            sum[i] = add ? v_load_head(c + (size_t)i * n, count) : v_set(0);                                           \
        for (size_t p = 0; p < k; p++) {                                                                               \
            vd bv = v_load_head(b + p * n, count);                                                                     \
            for (int i = 0; i < rows; i++)                                                                             \
                sum[i] += v_set(a[(size_t)i * a_row + p * a_column]) * bv;                                             \
        }                                                                                                              \
        for (int i = 0; i < rows; i++)                                                                                 \
            v_store_head(c + (size_t)i * n, sum[i], count);                                                            \
    }
EDGE(4)
EDGE(1)

/* Columns j to j + `width` of C, from row `first` on, with products from p = `from` on. */
#define STRIP(width)                                                                                                   \
    static void strip_##width(size_t first, size_t m, size_t n, size_t k, size_t from, const double *a, size_t a_row,  \
                              size_t a_column, const double *b, double *c, bool add) {                                 \
        size_t i = first;                                                                                              \
        a += from * a_column;                                                                                          \
        b += from * n;                                                                                                 \
        for (; i + 4 <= m; i += 4)                                                                                     \
            tile_4x##width(k - from, n, a + i * a_row, a_row, a_column, b, c + i * n, add);                            \
        for (; i < m; i++)                                                                                             \
            tile_1x##width(k - from, n, a + i * a_row, a_row, a_column, b, c + i * n, add);                            \
    }
STRIP(4)
STRIP(2)
STRIP(1)

static void strip_rest(size_t count, size_t first, size_t m, size_t n, size_t k, size_t from, const double *a,
                       size_t a_row, size_t a_column, const double *b, double *c, bool add) {
    size_t i = first;
    a += from * a_column;
    b += from * n;
    for (; i + 4 <= m; i += 4)
        edge_4(count, k - from, n, a + i * a_row, a_row, a_column, b, c + i * n, add);
    for (; i < m; i++)
        edge_1(count, k - from, n, a + i * a_row, a_row, a_column, b, c + i * n, add);
}

static void matmul(size_t m, size_t n, size_t k, const double *a, size_t a_row, size_t a_column, const double *b,
                   double *c, bool add) {
    size_t j = 0;
    for (; j + 4 * VL <= n; j += 4 * VL)
        strip_4(0, m, n, k, 0, a, a_row, a_column, b + j, c + j, add);
    for (; j + 2 * VL <= n; j += 2 * VL)
        strip_2(0, m, n, k, 0, a, a_row, a_column, b + j, c + j, add);
    for (; j + VL <= n; j += VL)
        strip_1(0, m, n, k, 0, a, a_row, a_column, b + j, c + j, add);
    if (j < n)
        strip_rest(n - j, 0, m, n, k, 0, a, a_row, a_column, b + j, c + j, add);
}

static void gram(size_t n, size_t d, const double *x, const double *w, double *c, double *spare) {
    enum { ROWS = 64 }; /* few enough to stay in the first-level cache while strips are processed */
    for (size_t first = 0; first < n; first += ROWS) {
        size_t rows = n - first < ROWS ? n - first : ROWS, j = 0;
        const double *from = x + first * d;
        for (size_t i = 0; i < rows; i++)
            for (size_t l = 0; l < d; l++)
                spare[i * d + l] = w[first + i] * from[i * d + l];
        for (; j + 2 * VL <= d; j += 2 * VL)
            strip_2(j, d, d, rows, 0, from, 1, d, spare + j, c + j, true);
        for (; j + VL <= d; j += VL)
            strip_1(j, d, d, rows, 0, from, 1, d, spare + j, c + j, true);
        if (j < d)
            strip_rest(d - j, j, d, d, rows, 0, from, 1, d, spare + j, c + j, true);
    }
}

static void forms(size_t n, size_t d, const double *x, const double *m, double *z, double *spare) {
    enum { ROWS = 64 };
    for (size_t first = 0; first < n; first += ROWS) {
        size_t rows = n - first < ROWS ? n - first : ROWS, j = 0;
        const double *from = x + first * d;
        for (; j + 2 * VL <= d; j += 2 * VL)
            strip_2(0, rows, d, d, j, from, d, 1, m + j, spare + j, false);
        for (; j + VL <= d; j += VL)
            strip_1(0, rows, d, d, j, from, d, 1, m + j, spare + j, false);
        if (j < d)
            strip_rest(d - j, 0, rows, d, d, j, from, d, 1, m + j, spare + j, false);
        for (size_t i = 0; i < rows; i++)
            z[first + i] = dot(d, from + i * d, spare + i * d);
    }
}

/* ---- activations: vectorised by the compiler --------------------------------------------------------------------- */

static void relu(size_t n, double *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

static void relu_backward(size_t n, const double *restrict x, double *restrict dx) {
    for (size_t i = 0; i < n; i++)
        dx[i] = x[i] > 0 ? dx[i] : 0;
}

/* ---- two classes ------------------------------------------------------------------------------------------------- */

static void logistic(size_t n, const double *z, double *loglik) {
    vd zero = v_set(0);
    for (size_t i = 0; i < n; i += VL) {
        size_t left = n - i < VL ? n - i : VL;
        vd zi = left == VL ? v_load(z + i) : v_load_part(z + i, left, 0);
        vd tail = v_log1p(v_exp(v_min(zi, -zi)));
        vd f0 = v_min(-zi, zero) - tail, f1 = v_min(zi, zero) - tail;
        for (size_t lane = 0; lane < left; lane++) {
            loglik[2 * (i + lane)] = f0[lane];
            loglik[2 * (i + lane) + 1] = f1[lane];
        }
    }
}

static double logistic_loss(size_t n, const double *z, double shift, const int32_t *label, const double *weight,
                            const double *factor, double *dz) {
    enum { TOGETHER = 512 }; /* factors between 1 and 2: their product stays finite, so one logarithm suffices */
    bool unit = !weight && factor[0] == 1 && factor[1] == 1;
    vd zero = v_set(0), one = v_set(1), loss = zero, product = one;
    for (size_t i = 0; i < n; i += VL) {
        size_t left = n - i < VL ? n - i : VL;
        vd t = zero, v = zero, s = v_set(shift) + (left == VL ? v_load(z + i) : v_load_head(z + i, left));
        for (size_t lane = 0; lane < left; lane++) {
            t[lane] = label[i + lane];
            v[lane] = unit ? 1 : (weight ? weight[i + lane] : 1) * factor[label[i + lane]];
        }
        vd tail = v_exp(v_min(s, -s)), big = one / (one + tail);
        vd p = (vd)(((__typeof__(s > zero))big & (s > zero)) | ((__typeof__(s > zero))(tail * big) & ~(s > zero)));
        vd linear = v_max(s, zero) - t * s;
        if (unit) {
            product *= one + v * tail;
            loss += v * linear;
            if (i / VL % TOGETHER == TOGETHER - 1) {
                loss += v_log(product);
                product = one;
            }
        } else {
            loss += v * (linear + v_log1p(tail));
        }
        vd d = v * (p - t);
        if (left == VL)
            v_store(dz + i, d);
        else
            v_store_head(dz + i, d, left);
    }
    return v_sum(loss + v_log(product));
}

static void logistic_backward(size_t n, const double *loglik, const double *dloglik, double *dz) {
    for (size_t i = 0; i < n; i += VL) {
        size_t left = n - i < VL ? n - i : VL;
        vd f1 = v_set(0), d0 = v_set(0), d1 = v_set(0);
        for (size_t lane = 0; lane < left; lane++) {
            f1[lane] = loglik[2 * (i + lane) + 1];
            d0[lane] = dloglik[2 * (i + lane)];
            d1[lane] = dloglik[2 * (i + lane) + 1];
        }
        vd result = d1 - v_exp(f1) * (d0 + d1);
        if (left == VL)
            v_store(dz + i, result);
        else
            v_store_head(dz + i, result, left);
    }
}

#define PV_TEXT_(x) #x
#define PV_TEXT(x) PV_TEXT_(x)

extern const pv__compute PV_KERNEL(pv__compute);
const pv__compute PV_KERNEL(pv__compute) = {
    PV_TEXT(PV_ISA), rows_dot, rows_add,      matmul,           gram, forms, relu,
    relu_backward,   logistic, logistic_loss, logistic_backward};
