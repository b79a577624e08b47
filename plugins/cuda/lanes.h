/* plugins/cuda/lanes.h: products of one warp on pixels as they lie in memory, in bf16.
 *
 * A warp takes sixteen pixels, the rows of its products; these take numbers to be summed over in any order, as long as
 * both sides have the same, and have columns in any order. Both are chosen so that what a lane needs of a pixel lies
 * together in memory: of C channels, lane q of each four has C / 4 neighbours from q C / 4 on. It has rows g and g + 8.
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

/* N neighbours in words of four bytes. */
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

/* Sums over pixels of C channels, of which a thread has its lane's of the pixels that it took, into row [C] of the
 * block.
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
