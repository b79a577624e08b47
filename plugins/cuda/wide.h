/* plugins/cuda/wide.h: what the kernels of the largest layers share: strips of images in shared memory. */
#ifndef PV_PLUGIN_WIDE_H
#define PV_PLUGIN_WIDE_H

#include "hopper.h"

enum {
    CHANNELS = 64,
    SIDE = 32,             /* pixels of a line */
    LINE = SIDE + 2,       /* rows of a line */
    STRIP = 4,             /* lines of output to a strip */
    PIXELS = STRIP * LINE, /* columns of a product */
    GROUPS = 2,
    GROUP = 128,
    WIDE_THREADS = GROUPS * GROUP + WARP,
    TAP_BYTES = CHANNELS * ROW,
    WEIGHT_BYTES = TAPS * TAP_BYTES,
    STRIPS = SIDE / STRIP,
    HALO_LINES = STRIP + 2,
    SLACK = 1024,           /* to begin at a multiple of eight rows */
    ROOM_MOST = 227 * 1024, /* shared memory of a block, at most */
    STATIC_MOST = 2 * 1024  /* of which are arrays and barriers that kernels declare */
};

static __device__ char *aligned(char *p) {
    return p + (EIGHT_ROWS - address_of(p) % EIGHT_ROWS) % EIGHT_ROWS;
}

/* Barriers of tiles that come and go in a ring, and of the weights, which come once.
 *
 * Who waits for a barrier names the parity of a phase, and cannot tell one phase from the next but one. So that a group
 * of warps waits for every phase of the barriers it waits for, and never for every second, a full one is of a stage and
 * a group: where the groups take turns and the stages are odd in number, a stage goes from group to group. */
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

/* One thread brings weights, then tiles as room for them comes; bring(tile, stage, barrier). */
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

/* The tile of that turn is there. */
template <int STAGES> static __device__ void ring_wait(Ring<STAGES> *ring, int turn) {
    barrier_wait(&ring->full[turn % (GROUPS * STAGES)], turn / (GROUPS * STAGES) & 1);
}

template <int STAGES> static __device__ void ring_release(Ring<STAGES> *ring, int stage) {
    __syncwarp();
    if (threadIdx.x % WARP == 0)
        barrier_arrive(&ring->empty[stage]);
}

/* Shared memory beyond what a kernel has unasked. Where that fails, so does the launch, which is checked. */
template <int ROOM, typename Kernel> static int with_room(Kernel kernel) {
    static_assert(ROOM + SLACK + STATIC_MOST <= ROOM_MOST, "a block has that much");
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ROOM + SLACK);
    return ROOM + SLACK;
}

#endif
