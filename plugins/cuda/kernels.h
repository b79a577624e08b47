/* plugins/cuda/kernels.h: declarations shared by the files of kernels. */
#ifndef PV_PLUGIN_KERNELS_H
#define PV_PLUGIN_KERNELS_H

#include <type_traits>

#include "cuda.h"

/* Makes the call with T the type of activations. */
#define DISPATCH(half, call)                                                                                           \
    do {                                                                                                               \
        if (half) {                                                                                                    \
            typedef bf16 T;                                                                                            \
            call;                                                                                                      \
        } else {                                                                                                       \
            typedef float T;                                                                                           \
            call;                                                                                                      \
        }                                                                                                              \
    } while (0)

static inline int blocks_for(size_t n) {
    size_t blocks = (n + THREADS - 1) / THREADS;
    return (int)(blocks < 1 ? 1 : blocks > 4 * BLOCKS ? 4 * BLOCKS : blocks);
}

#define EACH_AS(type, i, n)                                                                                            \
    for (type i = blockIdx.x * (type)blockDim.x + threadIdx.x; i < (n); i += (type)gridDim.x * blockDim.x)
#define EACH(i, n) EACH_AS(size_t, i, n)

/* The type for counting packs of V. Packs of eight that fit into device memory number fewer than 2^32 - 2^20, so 32
 * bits suffice and divisions are cheap. */
template <int V> using Count = typename std::conditional<V == 8, unsigned, size_t>::type;

enum { WARP = 32 };

/* The sum over a block of THREADS, returned in its first thread. */
static __device__ inline double block_sum(double value) {
    __shared__ double warp[THREADS / WARP];
    for (int lane = WARP / 2; lane > 0; lane /= 2)
        value += __shfl_down_sync(~0u, value, lane);
    __syncthreads(); /* the previous results have been read */
    if (threadIdx.x % WARP == 0)
        warp[threadIdx.x / WARP] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; threadIdx.x == 0 && i < THREADS / WARP; i++)
        value += warp[i];
    return value;
}

/* split: x as the sum of two bf16 numbers, in one word; upper, lower: the high or low halves of two such words. */
static __device__ inline uint32_t split(float x) {
    bf16 high = __float2bfloat16_rn(x), low = __float2bfloat16_rn(x - __bfloat162float(high));
    return (uint32_t)__bfloat16_as_ushort(high) << 16 | __bfloat16_as_ushort(low);
}
static __device__ inline uint32_t upper(uint32_t first, uint32_t second) {
    return __byte_perm(first, second, 0x7632);
}
static __device__ inline uint32_t lower(uint32_t first, uint32_t second) {
    return __byte_perm(first, second, 0x5410);
}

static __device__ inline uint32_t pair_of(float low, float high) {
    __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<uint32_t *>(&both);
}

/* sum [16][8] += a b, computed by one warp. */
static __device__ inline void product_warp(float *sum, const uint32_t *a, uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
        "%1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* V adjacent values, accessed at once. */
template <typename T, int V> struct alignas(sizeof(T) * V) Pack { T at[V]; };

#endif
