/* The linear auxiliary network beside the parameters that it takes: log q = A^T (w - o) + b, as src/core/auxiliary.c
 * has it.
 *
 * A step passes over w, o and A twice, on a stream apart: the sums of classes + 1 numbers beside the forward pass,
 * the step of A and o, which loss.cu decides, beside the backward pass.
 */
#include <string.h>

#include "kernels.h"
#include "net.h"

/* Classes are taken so many at a time. */
enum { GROUP = 8 };

/* total [K] of all threads into sum [count][blocks]. */
template <int K> static __device__ void keep_sums(int count, const double *total, double *sum) {
#pragma unroll
    for (int y = 0; y < K; y++) {
        if (y >= count)
            continue;
        double whole = block_sum(total[y]);
        if (threadIdx.x == 0)
            sum[y * gridDim.x + blockIdx.x] = whole;
    }
}

/* Parameters are taken four at a time; their number is a multiple of eight. */
enum { WIDTH = 4 };
typedef Pack<float, WIDTH> Four;

/* A_y^T (w - o) of count classes, at most K, into sum; away not NULL: |w - o|^2 too. */
template <int K>
static __global__ void sums_kernel(size_t n, int count, const float *w, const float *offset, const float *matrix,
                                   double *sum, double *away) {
    double total[K] = {}, square = 0;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n / WIDTH; i += (size_t)gridDim.x * THREADS) {
        Four at = reinterpret_cast<const Four *>(w)[i], from = reinterpret_cast<const Four *>(offset)[i], a[K];
#pragma unroll
        for (int y = 0; y < K; y++)
            if (y < count)
                a[y] = reinterpret_cast<const Four *>(matrix + y * n)[i];
#pragma unroll
        for (int j = 0; j < WIDTH; j++) {
            double far = (double)at.at[j] - from.at[j];
            square += far * far;
#pragma unroll
            for (int y = 0; y < K; y++)
                total[y] += y < count ? far * a[y].at[j] : 0;
        }
    }
    keep_sums<K>(count, total, sum);
    if (away)
        keep_sums<1>(1, &square, away);
}

/* The step of A for count classes; limits: its threshold, and o's gain; last: o's step too. lost: what A^T (w - o)
 * loses by both. */
template <int K>
static __global__ void follow_kernel(size_t n, int count, const double *moves, const double *limits, bool last,
                                     const float *w, float *offset, float *matrix, double *lost) {
    double total[K] = {};
    float step[K], threshold = (float)limits[0], gain = (float)limits[1];
#pragma unroll
    for (int y = 0; y < K; y++)
        step[y] = y < count ? (float)moves[y] : 0;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n / WIDTH; i += (size_t)gridDim.x * THREADS) {
        Four at = reinterpret_cast<const Four *>(w)[i], from = reinterpret_cast<const Four *>(offset)[i], a[K];
#pragma unroll
        for (int y = 0; y < K; y++)
            if (y < count)
                a[y] = reinterpret_cast<const Four *>(matrix + y * n)[i];
#pragma unroll
        for (int j = 0; j < WIDTH; j++) {
            float away = at.at[j] - from.at[j], to = from.at[j] + gain * away;
            double left = (double)at.at[j] - to;
            from.at[j] = to;
#pragma unroll
            for (int y = 0; y < K; y++) {
                if (y >= count)
                    continue;
                float before = a[y].at[j], moved = before + step[y] * away;
                a[y].at[j] = copysignf(fmaxf(fabsf(moved) - threshold, 0), moved);
                total[y] += (double)before * away - (double)a[y].at[j] * left;
            }
        }
#pragma unroll
        for (int y = 0; y < K; y++)
            if (y < count)
                reinterpret_cast<Four *>(matrix + y * n)[i] = a[y];
        if (last)
            reinterpret_cast<Four *>(offset)[i] = from;
    }
    keep_sums<K>(count, total, lost);
}

/* The kernel with K classes known to the compiler: two, or as many as a group has. */
#define LAUNCH(kernel, count, stream, ...)                                                                             \
    do {                                                                                                               \
        if ((count) == 2)                                                                                              \
            kernel<2><<<AUXILIARY_BLOCKS, THREADS, 0, stream>>>(__VA_ARGS__);                                          \
        else                                                                                                           \
            kernel<GROUP><<<AUXILIARY_BLOCKS, THREADS, 0, stream>>>(__VA_ARGS__);                                      \
    } while (0)

static int count_of(int classes, int first) {
    return classes - first < GROUP ? classes - first : GROUP;
}

/* sums [blocks], of each row of partial [blocks][AUXILIARY_BLOCKS]; adds: to what is there. */
static __global__ void rows_kernel(const double *partial, bool adds, double *sums) {
    double total = 0;
    for (int i = (int)threadIdx.x; i < AUXILIARY_BLOCKS; i += THREADS)
        total += partial[blockIdx.x * AUXILIARY_BLOCKS + i];
    total = block_sum(total);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total + (adds ? sums[blockIdx.x] : 0);
}

static pv__plugin_code make(pv__net *net, char *why) {
    Auxiliary *a = &net->auxiliary;
    size_t k = net->spec.classes;
    if (a->offset)
        return PV_PLUGIN_OK;
    CODE_TRY(take(net, net->room, &a->offset, why));
    CODE_TRY(take(net, net->room * k, &a->matrix, why));
    CODE_TRY(take(net, AUXILIARY_BLOCKS * (2 * k + 1), &a->partial, why));
    CODE_TRY(take(net, k + 1, &a->sums, why));
    forget_steps(net);
    return PV_PLUGIN_OK;
}

/* Rows of partial: A^T (w - o), |w - o|^2, what a step takes of the first. Sums: of all but the last. */
pv__plugin_code auxiliary_sums(pv__net *net, char *why) {
    Auxiliary *a = &net->auxiliary;
    int k = (int)net->spec.classes;
    for (int y = 0; y < k; y += GROUP)
        LAUNCH(sums_kernel, count_of(k, y), net->apart, net->room, count_of(k, y), net->w, a->offset,
               a->matrix + y * net->room, a->partial + y * AUXILIARY_BLOCKS,
               y == 0 ? a->partial + k * AUXILIARY_BLOCKS : NULL);
    rows_kernel<<<k + 1, THREADS, 0, net->apart>>>(a->partial, false, a->sums);
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}

pv__plugin_code auxiliary_put(pv__net *net, const double *offset, const double *matrix, char *why) {
    size_t k = net->spec.classes;
    std::vector<double> column(net->params);
    CODE_TRY(make(net, why));
    Auxiliary *a = &net->auxiliary;
    CODE_TRY(params_in(net, offset, a->offset, why));
    for (size_t y = 0; y < k; y++) {
        for (size_t i = 0; i < net->params; i++)
            column[i] = matrix[i * k + y];
        CUDA_TRY(cudaStreamSynchronize(net->stream)); /* the stage is free */
        CODE_TRY(params_in(net, column.data(), a->matrix + y * net->room, why));
    }
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code auxiliary_get(pv__net *net, double *offset, double *matrix, char *why) {
    const Auxiliary *a = &net->auxiliary;
    size_t k = net->spec.classes;
    std::vector<double> column(net->params);
    CODE_TRY(params_out(net, a->offset, offset, why));
    for (size_t y = 0; y < k; y++) {
        CODE_TRY(params_out(net, a->matrix + y * net->room, column.data(), why));
        for (size_t i = 0; i < net->params; i++)
            matrix[i * k + y] = column[i];
    }
    return PV_PLUGIN_OK;
}

/* What A^T (w - o) loses, b gains. */
pv__plugin_code auxiliary_follow(pv__net *net, char *why) {
    Auxiliary *a = &net->auxiliary;
    const Loss *l = &net->loss;
    int k = (int)net->spec.classes;
    double *lost = a->partial + (k + 1) * AUXILIARY_BLOCKS;
    for (int y = 0; y < k; y += GROUP)
        LAUNCH(follow_kernel, count_of(k, y), net->apart, net->room, count_of(k, y), l->moves + y, l->moves + k,
               y + GROUP >= k, net->w, a->offset, a->matrix + y * net->room, lost + y * AUXILIARY_BLOCKS);
    rows_kernel<<<k, THREADS, 0, net->apart>>>(lost, true, l->arrays); /* of which the bias is the first */
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}
