/* The plain C backend, and the selection of the fastest backend. */
#include <math.h>

#include "base/base.h"
#include "compute/compute.h"
#include "compute/float_kernels.h"

static void rows_dot(size_t n, size_t d, const double *x, const double *w, double bias, double *z) {
    for (size_t i = 0; i < n; i++) {
        z[i] = bias;
        for (size_t j = 0; j < d; j++)
            z[i] += x[i * d + j] * w[j];
    }
}

static double rows_add(size_t n, size_t d, const double *x, const double *r, double *g) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += r[i];
        for (size_t j = 0; j < d; j++)
            g[j] += r[i] * x[i * d + j];
    }
    return sum;
}

static void matmul(size_t m, size_t n, size_t k, const double *a, size_t a_row, size_t a_column, const double *b,
                   double *c, bool add) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = add ? c[i * n + j] : 0;
            for (size_t p = 0; p < k; p++)
                sum += a[i * a_row + p * a_column] * b[p * n + j];
            c[i * n + j] = sum;
        }
}

static void gram(size_t n, size_t d, const double *x, const double *w, double *c,
                 double *spare) { // NOLINT(readability-non-const-parameter): other kernels write to it
    (void)spare;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            for (size_t l = 0; l <= j; l++)
                c[j * d + l] += w[i] * x[i * d + j] * x[i * d + l];
}

static void forms(size_t n, size_t d, const double *x, const double *m, double *z,
                  double *spare) { // NOLINT(readability-non-const-parameter): as above
    (void)spare;
    for (size_t i = 0; i < n; i++) {
        z[i] = 0;
        for (size_t j = 0; j < d; j++)
            for (size_t l = 0; l <= j; l++)
                z[i] += m[j * d + l] * x[i * d + j] * x[i * d + l];
    }
}

static void relu(size_t n, double *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

static void relu_backward(size_t n, const double *x, double *dx) {
    for (size_t i = 0; i < n; i++)
        dx[i] = x[i] > 0 ? dx[i] : 0;
}

static void logistic(size_t n, const double *z, double *loglik) {
    for (size_t i = 0; i < n; i++) {
        double tail = log1p(exp(-fabs(z[i])));
        loglik[2 * i] = fmin(-z[i], 0) - tail;
        loglik[2 * i + 1] = fmin(z[i], 0) - tail;
    }
}

static double logistic_loss(size_t n, const double *z, double shift, const int32_t *label, const double *weight,
                            const double *factor, double *dz) {
    double loss = 0;
    for (size_t i = 0; i < n; i++) {
        double s = z[i] + shift, tail = exp(-fabs(s)), v = (weight ? weight[i] : 1) * factor[label[i]];
        double p = s > 0 ? 1 / (1 + tail) : tail / (1 + tail);
        loss += v * (fmax(s, 0) + log1p(tail) - label[i] * s);
        dz[i] = v * (p - label[i]);
    }
    return loss;
}

static void logistic_backward(size_t n, const double *loglik, const double *dloglik, double *dz) {
    for (size_t i = 0; i < n; i++)
        dz[i] = dloglik[2 * i + 1] - exp(loglik[2 * i + 1]) * (dloglik[2 * i] + dloglik[2 * i + 1]);
}

const pv__compute pv__compute_reference = {"reference",   rows_dot, rows_add,      matmul,           gram, forms, relu,
                                           relu_backward, logistic, logistic_loss, logistic_backward};

PV_KERNELS_GET(pv__compute, pv__compute_best, pv__compute)

PV_KERNELS_GET(pv__float_kernels, pv__float_kernels_get, pv__float_kernels)
