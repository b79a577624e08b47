/* plugins/cuda/lanes.h: matrix products by single warps on pixels in place, in bf16.
 *
 * A warp processes sixteen pixels, the rows of its products. The order of the summed dimension is arbitrary as long as
 * both factors agree, and so is the order of columns. Both are chosen such that a lane's part of a pixel is contiguous:
 * of C channels, lane q of each group of four has the C / 4 channels from q C / 4 on. It has rows g and g + 8.
 */
#ifndef PV_PLUGIN_LANES_H
#define PV_PLUGIN_LANES_H

#include "kernels.h"

enum { PIXELS = 16, COLUMNS = 8, BLOCK_WARPS = THREADS / WARP };

static __device__ float low_of(uint32_t pair) {
    return __uint_as_float(pair << 16);
}

static __device__ float high_of(uint32_t pair) {
    return __uint_as_float(pair & 0xFFFF0000u);
}

/* N adjacent words of four bytes. */
template <int N> static __device__ void load(const void *from, uint32_t *to) {
    if constexpr (N == 2)
        *reinterpret_cast<uint2 *>(to) = *reinterpret_cast<const uint2 *>(from);
    else
#pragma unroll
        for (int i = 0; i < N / 4; i++)
            reinterpret_cast<uint4 *>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
}

template <int N> static __device__ void store(void *to, const uint32_t *from) {
    if constexpr (N == 2)
        *reinterpret_cast<uint2 *>(to) = *reinterpret_cast<const uint2 *>(from);
    else
#pragma unroll
        for (int i = 0; i < N / 4; i++)
            reinterpret_cast<uint4 *>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
}

/* Sums over pixels for C channels into row [C] of the block; each thread holds the sums of its lane's channels over the
 * pixels it processed.
 */
template <int C> static __device__ void sum_pixels(float *total, float *partial) {
    __shared__ float held[BLOCK_WARPS][C];
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < C / 4; i++) {
        for (int lanes = 4; lanes < WARP; lanes *= 2)
            total[i] += __shfl_xor_sync(~0u, total[i], lanes);
        if (lane < 4)
            held[threadIdx.x / WARP][lane * (C / 4) + i] = total[i];
    }
    __syncthreads();
    if (threadIdx.x < C) {
        float whole = 0;
        for (int i = 0; i < BLOCK_WARPS; i++)
            whole += held[i][threadIdx.x];
        partial[blockIdx.x * C + threadIdx.x] = whole;
    }
}

#endif
