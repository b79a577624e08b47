/* src/core/vector.h: the core's loops over rows, with one function table per instruction set. */
#ifndef PV_CORE_VECTOR_H
#define PV_CORE_VECTOR_H

#include <stddef.h>

#include "base/base.h"

/* Sums over rows for the profile's inner problem with two classes, where r = scale a - 1 and q = 1 + m r. */
typedef struct pv__profile_sums {
    double weight;   /* sum v / q */
    double r;        /* sum v r / q */
    double rr;       /* sum v r^2 / q^2 */
    double rq;       /* sum v r / q^2 */
    double smallest; /* min q; if <= 0, m is outside the domain and the sums are meaningless */
} pv__profile_sums;

/* Adam (Kingma and Ba 2015) with the usual decay rates 0.9 and 0.999, for one parameter array. */
typedef struct pv__adam {
    size_t n;
    const double *gradient;
    double *mean, *square, *value;
} pv__adam;

/* Adam with moments in single precision, for arrays limited by memory bandwidth, and a Laplace prior of rate `sparsity`
 * applied as a proximal step in Adam's own metric: each entry's threshold is proportional to its step size. */
typedef struct pv__adam_lean {
    size_t n;
    const double *gradient;
    float *mean, *square;
    double *value;
    double rate, sparsity, step;
} pv__adam_lean;

typedef struct pv__core_kernels {
    const char *name;
    /* y[n][k] = exp(x[n][k] - shift[k]) */
    void (*exp_rows)(size_t n, int k, const double *x, const double *shift, double *y);
    /* sum over n of v log x; v NULL: all 1 */
    double (*log_sum)(size_t n, const double *x, const double *v);
    pv__profile_sums (*profile_sums)(size_t n, const double *a, const double *v, double scale, double m);
    /* in place */
    void (*exp_all)(size_t n, double *x);
    void (*log_all)(size_t n, double *x);
    /* One step of Adam; `step` counts from 1. */
    void (*adam)(const pv__adam *array, double rate, double step);
    void (*adam_lean)(const pv__adam_lean *array);
} pv__core_kernels;

const pv__core_kernels *pv__core_kernels_get(void); /* the best kernels that this processor supports */

/* Loops over rows use chunks of fixed size whose partial sums are added in order, so results are bit-identical for any
 * number of threads. */
enum { PV_CHUNK = 4096 };
static inline size_t pv__chunks(size_t n) {
    return (n + PV_CHUNK - 1) / PV_CHUNK;
}
static inline size_t pv__chunk_rows(size_t n, size_t chunk) {
    size_t begin = chunk * PV_CHUNK;
    return n - begin < PV_CHUNK ? n - begin : PV_CHUNK;
}

/* The number of threads for a loop over rows. Each thread needs several chunks to repay the cost of waking it. */
static inline int pv__team(const pv_ctx *ctx, size_t chunks) {
    enum { CHUNKS_EACH = 8 };
    return pv__threads_for(ctx, chunks / CHUNKS_EACH);
}

/* for (size_t c = 0; c < chunks; c++) body, on a team of threads, or without OpenMP if one thread is enough: even a
 * team of one costs a system call. */
#define PV__EACH_CHUNK_BY(team, chunks, c, ...)                                                                        \
    do {                                                                                                               \
        size_t pv_chunks = (chunks);                                                                                   \
        int pv_team = pv_threads_ready(team);                                                                          \
        if (pv_team > 1) {                                                                                             \
            _Pragma("omp parallel for num_threads(pv_team) schedule(dynamic, 2)") for (size_t c = 0; c < pv_chunks;    \
                                                                                       c++) __VA_ARGS__                \
        } else {                                                                                                       \
            for (size_t c = 0; c < pv_chunks; c++)                                                                     \
                __VA_ARGS__                                                                                            \
        }                                                                                                              \
    } while (0)
#define PV__EACH_CHUNK(ctx, chunks, c, ...) PV__EACH_CHUNK_BY(pv__team(ctx, chunks), chunks, c, __VA_ARGS__)
/* The same loop over the chunks of a pv__part that belong to this process. */
#define PV__EACH_OF(ctx, part, c, ...)                                                                                 \
    PV__EACH_CHUNK(ctx, (part)->last - (part)->first, pv_at, {                                                         \
        size_t c = (part)->first + pv_at;                                                                              \
        __VA_ARGS__                                                                                                    \
    })

#endif
