/* src/compute/compute.h: dense arithmetic in double precision, with one table of operations per backend.
 *
 * `reference` is plain C, complete, and the oracle for the others. The vector backends are one source compiled per
 * instruction set (dense_kernels.c). All are single-threaded: callers divide parallel work into parts that do not
 * depend on the number of threads.
 */
#ifndef PV_SRC_COMPUTE_H
#define PV_SRC_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pv__compute {
    const char *name;
    /* z[n] = bias + x[n][d] . w[d] */
    void (*rows_dot)(size_t n, size_t d, const double *x, const double *w, double bias, double *z);
    /* g[d] += sum_n r[n] x[n][d]; returns sum_n r[n] */
    double (*rows_add)(size_t n, size_t d, const double *x, const double *r, double *g);
    /* C[m][n] (+)= A B, where A[i][p] is at a[i a_row + p a_column]; B [k][n] and C [m][n] are contiguous */
    void (*matmul)(size_t m, size_t n, size_t k, const double *a, size_t a_row, size_t a_column, const double *b,
                   double *c, bool add);
    /* C[d][d] += sum_n w[n] x[n] x[n]^T, lower triangle only (the rest of C is undefined); spare [n][d] */
    void (*gram)(size_t n, size_t d, const double *x, const double *w, double *c, double *spare);
    /* z[n] = x[n]^T L x[n] for the lower triangle L of m [d][d], whose upper entries must be 0; spare [n][d] */
    void (*forms)(size_t n, size_t d, const double *x, const double *m, double *z, double *spare);
    /* x = max(x, 0) */
    void (*relu)(size_t n, double *x);
    /* dx = 0 where x <= 0 */
    void (*relu_backward)(size_t n, const double *x, double *dx);
    /* loglik[n][2] from logits z[n]: log sigmoid(-z), log sigmoid(z) */
    void (*logistic)(size_t n, const double *z, double *loglik);
    /* Log-loss of logits z + shift with labels 0/1: returns sum_n v_n (softplus - label z), with v_n = weight[n] (NULL:
     * 1) times factor[label], and writes the derivative to dz[n] */
    double (*logistic_loss)(size_t n, const double *z, double shift, const int32_t *label, const double *weight,
                            const double *factor, double *dz);
    /* dz[n] = dloglik1 - p1 (dloglik0 + dloglik1) */
    void (*logistic_backward)(size_t n, const double *loglik, const double *dloglik, double *dz);
} pv__compute;

extern const pv__compute pv__compute_reference;
const pv__compute *pv__compute_best(void); /* the fastest that this processor supports */

#endif
