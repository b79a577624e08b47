/* The linear auxiliary network beside the parameters that it takes: log q = A^T (w - o) + b, as src/core/auxiliary.c
 * has it; b is the host's.
 *
 * A step reads w, o and A once for each class and gives the host sums of 2 classes + 1 numbers. It runs on the stream
 * aside: that of A and o beside the backward pass, the sums beside the next forward pass.
 */
#include <string.h>

#include "net.h"

/* The block's sum, in the first thread. */
static __device__ double block_sum(double value) {
    __shared__ double warp[THREADS / 32];
    for (int lane = 16; lane > 0; lane /= 2)
        value += __shfl_down_sync(~0u, value, lane);
    if (threadIdx.x % 32 == 0)
        warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; threadIdx.x == 0 && i < THREADS / 32; i++)
        value += warp[i];
    return value;
}

/* sum [blocks y][blocks x]: A_y^T (w - o) for each class y, then |w - o|^2. */
static __global__ void sums_kernel(size_t n, int classes, const float *w, const float *offset, const float *matrix,
                                   double *sum) {
    int y = (int)blockIdx.y;
    double total = 0;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * THREADS) {
        double away = (double)w[i] - offset[i];
        total += away * (y < classes ? (double)matrix[y * n + i] : away);
    }
    total = block_sum(total);
    if (threadIdx.x == 0)
        sum[y * gridDim.x + blockIdx.x] = total;
}

static __device__ float moved_offset(float w, float offset, float gain) {
    return offset + gain * (w - offset);
}

/* A's step and its threshold; lost [blocks y][blocks x]: what A^T (w - o) loses by them and by o's step, which is
 * offset_kernel's. */
static __global__ void follow_kernel(size_t n, const double *step, float threshold, float gain, const float *w,
                                     const float *offset, float *matrix, double *lost) {
    int y = (int)blockIdx.y;
    float along = (float)step[y];
    double total = 0;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * THREADS) {
        float before = matrix[y * n + i], away = w[i] - offset[i], moved = before + along * away;
        float after = copysignf(fmaxf(fabsf(moved) - threshold, 0), moved);
        matrix[y * n + i] = after;
        total += (double)before * away - (double)after * ((double)w[i] - moved_offset(w[i], offset[i], gain));
    }
    total = block_sum(total);
    if (threadIdx.x == 0)
        lost[y * gridDim.x + blockIdx.x] = total;
}

static __global__ void offset_kernel(size_t n, float gain, const float *w, float *offset) {
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * THREADS)
        offset[i] = moved_offset(w[i], offset[i], gain);
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
    CUDA_TRY(cudaHostAlloc((void **)&a->pinned, (3 * k + 1) * sizeof(double), cudaHostAllocDefault));
    CODE_TRY(take(net, net->room, &a->offset, why));
    CODE_TRY(take(net, net->room * k, &a->matrix, why));
    CODE_TRY(take(net, AUXILIARY_BLOCKS * (2 * k + 1), &a->partial, why));
    return take(net, 3 * k + 1, &a->sums, why);
}

/* Rows of partial, and sums: A^T (w - o), |w - o|^2, what of the first was lost. */
static pv__plugin_code sum_up(pv__net *net, char *why) {
    Auxiliary *a = &net->auxiliary;
    int k = (int)net->spec.classes;
    sums_kernel<<<dim3(AUXILIARY_BLOCKS, k + 1), THREADS, 0, net->aside>>>(net->room, k, net->w, a->offset, a->matrix,
                                                                           a->partial);
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
    double *step = a->sums + 2 * k + 1, *sent = a->pinned + 2 * k + 1;
    memcpy(sent, follow->step, k * sizeof *sent);
    CUDA_TRY(cudaMemcpyAsync(step, sent, k * sizeof *step, cudaMemcpyHostToDevice, net->aside));
    follow_kernel<<<dim3(AUXILIARY_BLOCKS, k), THREADS, 0, net->aside>>>(
        net->room, step, (float)follow->threshold, (float)follow->gain, net->w, a->offset, a->matrix,
        a->partial + (k + 1) * AUXILIARY_BLOCKS);
    offset_kernel<<<AUXILIARY_BLOCKS, THREADS, 0, net->aside>>>(net->room, (float)follow->gain, net->w, a->offset);
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
