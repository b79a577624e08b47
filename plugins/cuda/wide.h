/* plugins/cuda/wide.h: strips of images in shared memory, used by all kernels of the largest layers. */
#ifndef PV_PLUGIN_WIDE_H
#define PV_PLUGIN_WIDE_H

#include "hopper.h"

enum {
    CHANNELS = 64,
    SIDE = 32,             /* pixels per line */
    LINE = SIDE + 2,       /* rows per line */
    STRIP = 4,             /* output lines per strip */
    PIXELS = STRIP * LINE, /* columns of a product */
    GROUPS = 2,
    GROUP = 128,
    WIDE_THREADS = GROUPS * GROUP + WARP,
    TAP_BYTES = CHANNELS * ROW,
    WEIGHT_BYTES = TAPS * TAP_BYTES,
    STRIPS = SIDE / STRIP,
    HALO_LINES = STRIP + 2,
    SLACK = 1024,           /* for alignment to eight rows */
    ROOM_MOST = 227 * 1024, /* maximum shared memory of a block */
    STATIC_MOST = 2 * 1024  /* part of it for arrays and barriers declared in kernels */
};

static __device__ char *aligned(char *p) {
    return p + (EIGHT_ROWS - address_of(p) % EIGHT_ROWS) % EIGHT_ROWS;
}

/* Barriers of a ring of tiles, and of the weights, which are loaded once.
 *
 * A waiting thread names the parity of a phase, and cannot distinguish a phase from the next but one. Each group of
 * warps must therefore wait for every phase of its barriers and not for every second one. For this reason `full` has
 * one barrier per stage and group: if the groups take turns and the number of stages is odd, a stage alternates between
 * groups. */
template <int STAGES> struct Ring { uint64_t full[GROUPS * STAGES], empty[STAGES], weights; };

template <int STAGES> static __device__ void ring_make(Ring<STAGES> *ring, int readers) {
    if (threadIdx.x == 0) {
        for (int i = 0; i < GROUPS * STAGES; i++)
            barrier_make(&ring->full[i], 1);
        for (int i = 0; i < STAGES; i++)
            barrier_make(&ring->empty[i], readers);
        barrier_make(&ring->weights, 1);
        barriers_made();
    }
    __syncthreads();
}

/* Executed by one thread: loads the weights, then tiles as buffers become free, with bring(tile, stage, barrier). */
template <int STAGES, typename Bring>
static __device__ void ring_fill(Ring<STAGES> *ring, int tiles, uint32_t bytes, const CUtensorMap *map, char *weights,
                                 Bring bring) {
    if (weights) {
        barrier_expect(&ring->weights, WEIGHT_BYTES);
        for (int t = 0; t < TAPS; t++)
            copy_tap(weights + t * TAP_BYTES, map, &ring->weights, t);
    }
    for (int turn = 0, tile = blockIdx.x; tile < tiles; turn++, tile += gridDim.x) {
        int stage = turn % STAGES;
        barrier_wait(&ring->empty[stage], (turn / STAGES & 1) ^ 1);
        uint64_t *full = &ring->full[turn % (GROUPS * STAGES)];
        barrier_expect(full, bytes);
        bring(tile, stage, full);
    }
}

/* Waits until the tile of this turn is loaded. */
template <int STAGES> static __device__ void ring_wait(Ring<STAGES> *ring, int turn) {
    barrier_wait(&ring->full[turn % (GROUPS * STAGES)], turn / (GROUPS * STAGES) & 1);
}

template <int STAGES> static __device__ void ring_release(Ring<STAGES> *ring, int stage) {
    __syncwarp();
    if (threadIdx.x % WARP == 0)
        barrier_arrive(&ring->empty[stage]);
}

/* Requests shared memory beyond a kernel's default. If this fails, so does the launch, which is checked. */
template <int ROOM, typename Kernel> static int with_room(Kernel kernel) {
    static_assert(ROOM + SLACK + STATIC_MOST <= ROOM_MOST, "a block has that much");
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ROOM + SLACK);
    return ROOM + SLACK;
}

#endif
