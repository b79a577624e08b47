/* Batch designs: the variance of minibatch estimates, and the class counts that minimise it (Appendix E).
 *
 * An estimate of E[g] over a population with label distribution target(y) from n_B(y) rows of each class has variance
 *   fixed counts     sum_y target(y)^2 Var_{x|y}[g] / n_B(y)                                       (Eq. g2 variance)
 *   random labels    1/n { sum_y target(y)^2/p(y) (Var_{x|y}[g] + |E_{x|y} g|^2) - |E g|^2 }       (of g(1))
 * where the variance of a vector is summed over its components.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"

pv_status pv_conditional_variance(pv_ctx *ctx, size_t n, int classes, int dims, const int32_t *label, const double *g,
                                  double *variance, double *mean) {
    size_t k = (size_t)classes, d = (size_t)dims;
    double *count = NULL, *own = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, k, sizeof *count, &count));
    PV_GOTO(done, pv__alloc(ctx, k * d, sizeof *own, &own));
    for (size_t i = 0; i < n; i++) {
        count[label[i]] += 1;
        for (size_t j = 0; j < d; j++)
            own[(size_t)label[i] * d + j] += g[i * d + j];
    }
    for (size_t y = 0; y < k; y++) {
        if (count[y] < 2) {
            status = pv__fail(ctx, PV_ERR_INPUT,
                              "class %zu has %g rows; a variance needs two of each class:\nchoose another design", y,
                              count[y]);
            goto done;
        }
        for (size_t j = 0; j < d; j++)
            own[y * d + j] /= count[y];
    }
    memset(variance, 0, k * sizeof *variance);
    for (size_t i = 0; i < n; i++) {
        size_t y = (size_t)label[i];
        for (size_t j = 0; j < d; j++) {
            double away = g[i * d + j] - own[y * d + j];
            variance[y] += away * away / (count[y] - 1);
        }
    }
    if (mean)
        memcpy(mean, own, k * d * sizeof *mean);
done:
    pv__free(ctx, count);
    pv__free(ctx, own);
    return status;
}

double pv_fixed_design_variance(int classes, const double *target, const double *counts, const double *variance) {
    double sum = 0;
    for (int y = 0; y < classes; y++)
        sum += target[y] * target[y] * variance[y] / counts[y];
    return sum;
}

double pv_random_design_variance(int classes, int dims, double n, const double *target, const double *expected,
                                 const double *variance, const double *mean) {
    double sum = 0;
    for (int y = 0; y < classes; y++) {
        double square = variance[y];
        for (int j = 0; j < dims; j++)
            square += mean[y * dims + j] * mean[y * dims + j];
        sum += target[y] * target[y] / expected[y] * square;
    }
    for (int j = 0; j < dims; j++) {
        double whole = 0;
        for (int y = 0; y < classes; y++)
            whole += target[y] * mean[y * dims + j];
        sum -= whole * whole;
    }
    return sum / n;
}

/* Adding one row at a time greedily is optimal because each class's variance term is convex in its count. */
pv_status pv_optimal_counts(pv_ctx *ctx, int classes, size_t n, const double *target, const double *variance,
                            size_t *counts) {
    size_t k = (size_t)classes;
    if (n < k)
        return pv__fail(ctx, PV_ERR_USAGE, "a batch of %zu rows cannot contain all %zu classes;\nmake it larger", n, k);
    for (size_t y = 0; y < k; y++)
        counts[y] = 1;
    for (size_t used = k; used < n; used++) {
        size_t best = 0;
        double gain = -1;
        for (size_t y = 0; y < k; y++) {
            double held = (double)counts[y];
            double fall = target[y] * target[y] * variance[y] / (held * (held + 1));
            if (fall > gain) {
                gain = fall;
                best = y;
            }
        }
        counts[best]++;
    }
    return PV_OK;
}
