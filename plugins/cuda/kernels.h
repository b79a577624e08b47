/* plugins/cuda/kernels.h: what the files of kernels share. */
#ifndef PV_PLUGIN_KERNELS_H
#define PV_PLUGIN_KERNELS_H

#include "cuda.h"

/* The call with T the type of activations. */
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

#define EACH(i, n)                                                                                                     \
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (n); i += (size_t)gridDim.x * blockDim.x)

enum { WARP = 32 };

/* V neighbours as one access. */
template <typename T, int V> struct alignas(sizeof(T) * V) Pack { T at[V]; };

#endif
