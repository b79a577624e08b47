/* The linear auxiliary network beside the parameters that it takes: log q = A^T (w - o) + b, as src/core/auxiliary.c
 * has it; b is the host's.
 *
 * A step passes over w, o and A twice and gives the host sums of 2 classes + 1 numbers. It runs on the stream
 * aside: that of A and o beside the backward pass, the sums beside the next forward pass.
 */
#include <string.h>

#include "kernels.h"
#include "net.h"

/* Classes are taken so many at a time. */
enum { GROUP = 8 };

struct Steps {
    float at[GROUP];
};

/* The block's sum, in the first thread. */
static __device__ double block_sum(double value) {
    __shared__ double warp[THREADS / 32];
    for (int lane = 16; lane > 0; lane /= 2)
        value += __shfl_down_sync(~0u, value, lane);
    __syncthreads(); /* the last one's are read */
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; threadIdx.x == 0 && i < THREADS / 32; i++)
        value += warp[i];
    return value;
}

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

/* The step of A for count classes, and its threshold; last: o's too. lost: what A^T (w - o) loses by both. */
template <int K>
static __global__ void follow_kernel(size_t n, int count, Steps step, float threshold, float gain, bool last,
                                     const float *w, float *offset, float *matrix, double *lost) {
    double total[K] = {};
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
                float before = a[y].at[j], moved = before + step.at[y] * away;
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

/* sums [blocks], of each row of partial [blocks][AUXILIARY_BLOCKS]. */
static __global__ void rows_kernel(const double *partial, double *sums) {
    double total = 0;
    for (int i = (int)threadIdx.x; i < AUXILIARY_BLOCKS; i += THREADS)
        total += partial[blockIdx.x * AUXILIARY_BLOCKS + i];
    total = block_sum(total);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total;
}

static pv__plugin_code make(pv__net *net, char *why) {
    Auxiliary *a = &net->auxiliary;
    size_t k = net->spec.classes;
    if (a->offset)
        return PV_PLUGIN_OK;
    CUDA_TRY(cudaEventCreateWithFlags(&a->followed, cudaEventDisableTiming));
    CUDA_TRY(cudaEventCreateWithFlags(&a->learned, cudaEventDisableTiming));
    CUDA_TRY(cudaHostAlloc((void **)&a->pinned, (2 * k + 1) * sizeof(double), cudaHostAllocDefault));
    CODE_TRY(take(net, net->room, &a->offset, why));
    CODE_TRY(take(net, net->room * k, &a->matrix, why));
    CODE_TRY(take(net, AUXILIARY_BLOCKS * (2 * k + 1), &a->partial, why));
    return take(net, 2 * k + 1, &a->sums, why);
}

/* Rows of partial, and sums: A^T (w - o), |w - o|^2, what of the first was lost. */
static pv__plugin_code sum_up(pv__net *net, char *why) {
    Auxiliary *a = &net->auxiliary;
    int k = (int)net->spec.classes;
    for (int y = 0; y < k; y += GROUP)
        LAUNCH(sums_kernel, count_of(k, y), net->aside, net->room, count_of(k, y), net->w, a->offset,
               a->matrix + y * net->room, a->partial + y * AUXILIARY_BLOCKS,
               y == 0 ? a->partial + k * AUXILIARY_BLOCKS : NULL);
    rows_kernel<<<2 * k + 1, THREADS, 0, net->aside>>>(a->partial, a->sums);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(a->pinned, a->sums, (2 * k + 1) * sizeof(double), cudaMemcpyDeviceToHost, net->aside));
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
    CUDA_TRY(cudaMemsetAsync(a->partial, 0, AUXILIARY_BLOCKS * (2 * k + 1) * sizeof(double), net->stream));
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    return sum_up(net, why);
}

pv__plugin_code auxiliary_get(pv__net *net, double *offset, double *matrix, char *why) {
    const Auxiliary *a = &net->auxiliary;
    size_t k = net->spec.classes;
    std::vector<double> column(net->params);
    CUDA_TRY(cudaStreamSynchronize(net->aside));
    CODE_TRY(params_out(net, a->offset, offset, why));
    for (size_t y = 0; y < k; y++) {
        CODE_TRY(params_out(net, a->matrix + y * net->room, column.data(), why));
        for (size_t i = 0; i < net->params; i++)
            matrix[i * k + y] = column[i];
    }
    return PV_PLUGIN_OK;
}

pv__plugin_code auxiliary_sums(pv__net *net, double *sums, char *why) {
    const Auxiliary *a = &net->auxiliary;
    size_t k = net->spec.classes;
    CUDA_TRY(cudaStreamSynchronize(net->aside));
    memcpy(sums, a->pinned, k * sizeof *sums);
    memcpy(sums + k, a->pinned + k + 1, k * sizeof *sums);
    sums[2 * k] = a->pinned[k];
    return PV_PLUGIN_OK;
}

pv__plugin_code auxiliary_follow(pv__net *net, const pv__follow *follow, char *why) {
    Auxiliary *a = &net->auxiliary;
    int k = (int)net->spec.classes;
    for (int y = 0; y < k; y += GROUP) {
        int count = count_of(k, y);
        Steps step = {};
        for (int i = 0; i < count; i++)
            step.at[i] = (float)follow->step[y + i];
        LAUNCH(follow_kernel, count, net->aside, net->room, count, step, (float)follow->threshold, (float)follow->gain,
               y + GROUP >= k, net->w, a->offset, a->matrix + y * net->room,
               a->partial + (k + 1 + y) * AUXILIARY_BLOCKS);
    }
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaEventRecord(a->followed, net->aside));
    CUDA_TRY(cudaStreamWaitEvent(net->stream, a->followed, 0)); /* w moves after this */
    return PV_PLUGIN_OK;
}

pv__plugin_code auxiliary_learned(pv__net *net, char *why) {
    Auxiliary *a = &net->auxiliary;
    CUDA_TRY(cudaEventRecord(a->learned, net->stream));
    CUDA_TRY(cudaStreamWaitEvent(net->aside, a->learned, 0));
    return sum_up(net, why);
}

void auxiliary_free(Auxiliary *a) {
    if (a->pinned)
        cudaFreeHost(a->pinned);
    if (a->followed)
        cudaEventDestroy(a->followed);
    if (a->learned)
        cudaEventDestroy(a->learned);
}
