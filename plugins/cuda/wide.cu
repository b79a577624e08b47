/* Kernels of the largest layers in bf16, for devices of compute capability 9.0: 3x3 convolutions, 64 channels in and
 * out, images 32 pixels wide.
 *
 * A strip of an image is stored in shared memory with its border, as one row of 64 channels per pixel and 34 pixels per
 * line: 32 and one on either side. Output pixel p needs the input rows p, p + 1, p + 2, p + 34, ..., so each tap is a
 * matrix product over all pixels that starts at another row. The two columns at the end of a line are computed too, and
 * discarded. A block has two groups of four warps, which take strips in turn (one multiplies while the other stores),
 * and one warp that loads strips. The assignment of strips to blocks is fixed, so the same input gives the same bytes.
 */
#include <dlfcn.h>

#include "wide.h"

/* ---- forward ----------------------------------------------------------------------------------------------------- */

enum {
    HALO_BYTES = HALO_LINES * LINE * ROW,
    HALO_ROOM = (HALO_BYTES + 2 * ROW + EIGHT_ROWS - 1) / EIGHT_ROWS *
                EIGHT_ROWS, /* the discarded columns read beyond the strip */
    STRIP_BYTES = PIXELS * ROW,
    FORWARD_STAGES = 4,
    FORWARD_ROOM = WEIGHT_BYTES + FORWARD_STAGES * HALO_ROOM + GROUPS * STRIP_BYTES
};

static __global__ __launch_bounds__(WIDE_THREADS,
                                    1) void wide_forward_kernel(const __grid_constant__ CUtensorMap input,
                                                                const __grid_constant__ CUtensorMap weight_map,
                                                                int tiles, const float *bias, bf16 *y) {
    extern __shared__ char memory[];
    __shared__ Ring<FORWARD_STAGES> ring;
    char *weights = aligned(memory), *stages = weights + WEIGHT_BYTES, *kept = stages + FORWARD_STAGES * HALO_ROOM;
    ring_make(&ring, GROUP / WARP);
    int group = threadIdx.x / GROUP, own = threadIdx.x % GROUP, warp = own / WARP, lane = own % WARP;
    if (group == GROUPS) {
        if (lane == 0)
            ring_fill(&ring, tiles, HALO_BYTES, &weight_map, weights, [&](int tile, int stage, uint64_t *barrier) {
                copy_box(stages + stage * HALO_ROOM, &input, barrier, -1, tile % STRIPS * STRIP - 1, tile / STRIPS);
            });
        return;
    }
    char *out = kept + group * STRIP_BYTES;
    uint32_t out_at = address_of(out);
    float low = bias[warp * 16 + lane / 4], high = bias[warp * 16 + lane / 4 + 8];
    barrier_wait(&ring.weights, 0);
    for (int turn = group, tile = blockIdx.x + group * gridDim.x; tile < tiles;
         turn += GROUPS, tile += GROUPS * gridDim.x) {
        int stage = turn % FORWARD_STAGES;
        float sum[PIXELS / 2];
        uint64_t a = rows_from(weights), b = rows_from(stages + stage * HALO_ROOM);
        ring_wait(&ring, turn);
        products_begin();
#pragma unroll
        for (int t = 0; t < TAPS; t++)
#pragma unroll
            for (int k = 0; k < CHANNELS / 16; k++)
                product136<0, 0>(sum, a + t * (TAP_BYTES / 16) + k * 2, b + ROW_UNITS * (t / 3 * LINE + t % 3) + k * 2,
                                 t + k);
        products_end();
        ring_release(&ring, stage);
#pragma unroll
        for (int j = 0; j < PIXELS / 8; j++)
            store_turned(out_at + piece_at(8 * j + lane % 8, warp * 2 + lane / 8 % 2),
                         pair_of(fmaxf(sum[4 * j] + low, 0.0f), fmaxf(sum[4 * j + 1] + low, 0.0f)),
                         pair_of(fmaxf(sum[4 * j + 2] + high, 0.0f), fmaxf(sum[4 * j + 3] + high, 0.0f)));
        group_wait(group);
        uint4 *to = reinterpret_cast<uint4 *>(y + (size_t)tile * STRIP * SIDE * CHANNELS);
#pragma unroll
        for (int i = own; i < STRIP * SIDE * 8; i += GROUP) {
            int pixel = i / 8, row = pixel / SIDE * LINE + pixel % SIDE;
            to[i] = *reinterpret_cast<const uint4 *>(out + piece_at(row, i % 8));
        }
        group_wait(group);
    }
}

/* ---- gradient of the input, and of the first layer's parameters -------------------------------------------------- */

enum {
    FIRST_PIXELS = (PIXELS + 8) + 2 * LINE + 2, /* of x; eight more for the last product */
    FIRST_ONE = FIRST_PIXELS,                   /* index of a one, followed by a zero */
    FIRST_ROOM = FIRST_PIXELS + 2,
    DATA_STAGES = 3,
    DATA_STAGE = HALO_ROOM + STRIP_BYTES,
    DATA_ROOM = WEIGHT_BYTES + DATA_STAGES * DATA_STAGE
};

/* Pixels of x around a strip held by each thread of a group. */
enum { FIRST_HELD = (FIRST_PIXELS + GROUP - 1) / GROUP };

static __device__ void hold_around(const float *x, int tile, int own, float *held) {
    const float *plane = x + (size_t)(tile / STRIPS) * SIDE * SIDE;
    int line = tile % STRIPS * STRIP;
#pragma unroll
    for (int n = 0; n < FIRST_HELD; n++) {
        int i = own + n * GROUP, row = line + i / LINE - 1, column = i % LINE - 1;
        bool inside = i < HALO_LINES * LINE && row >= 0 && row < SIDE && column >= 0 && column < SIDE;
        held[n] = inside ? plane[row * SIDE + column] : 0.0f;
    }
}

/* The gradient of the first layer's output, where y is positive, times x around each pixel. That gradient is not needed
 * elsewhere, so it is not stored. As in first.cu, the last column consists of ones, for the biases. */
static __global__ __launch_bounds__(WIDE_THREADS,
                                    1) void wide_data_kernel(const __grid_constant__ CUtensorMap slope,
                                                             const __grid_constant__ CUtensorMap values,
                                                             const __grid_constant__ CUtensorMap weight_map, int tiles,
                                                             const float *x, float *partial) {
    extern __shared__ char memory[];
    __shared__ Ring<DATA_STAGES> ring;
    __shared__ uint32_t around[GROUPS][FIRST_ROOM];
    char *weights = aligned(memory), *stages = weights + WEIGHT_BYTES;
    ring_make(&ring, GROUP / WARP);
    int group = threadIdx.x / GROUP, own = threadIdx.x % GROUP, warp = own / WARP, lane = own % WARP;
    if (group == GROUPS) {
        if (lane == 0)
            ring_fill(&ring, tiles, HALO_BYTES + STRIP_BYTES, &weight_map, weights,
                      [&](int tile, int stage, uint64_t *barrier) {
                          int row = tile % STRIPS * STRIP, image = tile / STRIPS;
                          copy_box(stages + stage * DATA_STAGE, &slope, barrier, -1, row - 1, image);
                          copy_box(stages + stage * DATA_STAGE + HALO_ROOM, &values, barrier, 0, row, image);
                      });
        return;
    }
    /* Taps of this lane's columns in the two products: 0 to 7; then 8, the ones, and an unused column. */
    int tap = lane / 4, first_tap = tap / 3 * LINE + tap % 3 + lane % 4 * 2;
    bool last = lane / 4 == 0;
    int last_tap = last ? 2 * LINE + 2 + lane % 4 * 2 : lane / 4 == 1 ? FIRST_ONE : FIRST_ONE + 1, step = last ? 1 : 0;
    uint32_t *near = around[group];
    float found[4][4] = {{0}},
          held[FIRST_HELD]; /* the upper and lower halves of x are summed separately, for shorter chains of additions */
    if (own < 2)
        near[FIRST_ONE + own] = own == 0 ? split(1.0f) : 0;
    int tile = blockIdx.x + group * gridDim.x;
    if (tile < tiles)
        hold_around(x, tile, own, held);
    barrier_wait(&ring.weights, 0);
    for (int turn = group; tile < tiles; turn += GROUPS, tile += GROUPS * gridDim.x) {
        int stage = turn % DATA_STAGES;
        char *here = stages + stage * DATA_STAGE;
        float sum[PIXELS / 2];
        uint64_t a = rows_from(weights), b = rows_from(here);
        group_wait(group); /* x of the previous strip is no longer needed */
#pragma unroll
        for (int n = 0; n < FIRST_HELD; n++)
            if (own + n * GROUP < FIRST_PIXELS)
                near[own + n * GROUP] = split(held[n]);
        if (tile + GROUPS * (int)gridDim.x < tiles)
            hold_around(x, tile + GROUPS * gridDim.x, own, held);
        ring_wait(&ring, turn);
        products_begin();
#pragma unroll
        for (int t = 0; t < TAPS; t++)
#pragma unroll
            for (int k = 0; k < CHANNELS / 16; k++)
                product136<1, 0>(sum, a + (TAPS - 1 - t) * (TAP_BYTES / 16) + k * 16 * ROW_UNITS,
                                 b + ROW_UNITS * (t / 3 * LINE + t % 3) + k * 2, t + k);
        products_end();
        group_wait(group); /* x is loaded */
        uint32_t values_at = address_of(here + HALO_ROOM);
#pragma unroll
        for (int j = 0; j < PIXELS / 8; j += 2) {
            bool whole = j + 1 < PIXELS / 8; /* the last product has half of its pixels */
            uint32_t above[4], d[4];
            int row = 8 * j + lane % 8 + (whole ? lane / 16 * 8 : 0);
            load_turned(values_at + piece_at(row, warp * 2 + lane / 8 % 2), above);
#pragma unroll
            for (int i = 0; i < 4; i++)
                d[i] = i < 2 || whole
                           ? pair_of(sum[(4 * j + 2 * i) % (PIXELS / 2)], sum[(4 * j + 2 * i + 1) % (PIXELS / 2)]) &
                                 above_zero(above[i])
                           : 0;
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const uint32_t *from = near + (half ? last_tap + 8 * j * step : first_tap + 8 * j);
                int one = half ? step : 1;
                uint32_t v0 = from[0], v1 = from[one], v2 = from[8 * one], v3 = from[9 * one];
                product_warp(found[half], d, upper(v0, v1), upper(v2, v3));
                product_warp(found[2 + half], d, lower(v0, v1), lower(v2, v3));
            }
        }
        ring_release(&ring, stage);
    }
    float *to = partial + (size_t)(blockIdx.x * GROUPS + group) * CHANNELS * (TAPS + 1);
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int c = warp * 16 + lane / 4 + i / 2 * 8, t = half * 8 + lane % 4 * 2 + i % 2;
            if (t <= TAPS)
                to[t < TAPS ? c * TAPS + t : CHANNELS * TAPS + c] = found[half][i] + found[2 + half][i];
        }
}

/* ---- gradient of the weights ------------------------------------------------------------------------------------- */

enum {
    SUM_LINES = 8,
    SUM_PIXELS = SUM_LINES * LINE,
    SUM_HALO = (SUM_LINES + 2) * LINE,
    SUM_BYTES = (SUM_PIXELS + SUM_HALO) * ROW,
    SUM_STAGE = (SUM_BYTES + 2 * ROW + EIGHT_ROWS - 1) / EIGHT_ROWS * EIGHT_ROWS,
    SUM_STAGES = 2,
    SUM_GROUPS = 3,
    SUM_READ = SUM_PIXELS + (SUM_GROUPS - 1) * LINE + SUM_PIXELS + 2, /* rows of a stage read by products */
    /* The columns of a product over three taps overlap: it reads 18 rows. An access checker may assume that its 192
     * columns are separate, with up to one row each, which from the end of the last stage would exceed the block's
     * memory. This padding is never read, and does not change the number of blocks per multiprocessor, which is one. */
    SUM_APART = 3 * CHANNELS * ROW,
    SUM_ROOM = SUM_STAGES * SUM_STAGE + SUM_APART,
    SUM_THREADS = SUM_GROUPS * GROUP + WARP,
    SUM_STRIPS = SIDE / SUM_LINES
};
static_assert(SUM_READ * ROW == SUM_BYTES + 2 * ROW && SUM_READ * ROW <= SUM_STAGE,
              "two rows beyond the strip are read");

/* One group of warps for each line of taps, with its three taps in one product: the rows of the next tap start one row
 * later. The discarded columns are 0 in dy. */
static __global__ __launch_bounds__(SUM_THREADS, 1) void wide_weights_kernel(const __grid_constant__ CUtensorMap slope,
                                                                             const __grid_constant__ CUtensorMap values,
                                                                             int tiles, float *partial) {
    extern __shared__ char memory[];
    __shared__ Ring<SUM_STAGES> ring;
    char *stages = aligned(memory);
    for (int i = threadIdx.x; i < SUM_STAGES * 2 * ROW / 4; i += SUM_THREADS) { /* beyond the strip: multiplied by 0 */
        char *end = stages + i / (2 * ROW / 4) * SUM_STAGE + SUM_BYTES;
        reinterpret_cast<uint32_t *>(end)[i % (2 * ROW / 4)] = 0;
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    ring_make(&ring, SUM_GROUPS * GROUP / WARP);
    int group = threadIdx.x / GROUP, own = threadIdx.x % GROUP, warp = own / WARP, lane = own % WARP;
    if (group == SUM_GROUPS) {
        if (lane == 0)
            ring_fill(&ring, tiles, SUM_BYTES, NULL, NULL, [&](int tile, int stage, uint64_t *barrier) {
                int row = tile % SUM_STRIPS * SUM_LINES, image = tile / SUM_STRIPS;
                copy_box(stages + stage * SUM_STAGE, &slope, barrier, 0, row, image);
                copy_box(stages + stage * SUM_STAGE + SUM_PIXELS * ROW, &values, barrier, -1, row - 1, image);
            });
        return;
    }
    float sum[3 * CHANNELS / 2];
#pragma unroll
    for (int i = 0; i < 3 * CHANNELS / 2; i++)
        sum[i] = 0;
    for (int turn = 0, tile = blockIdx.x; tile < tiles; turn++, tile += gridDim.x) {
        int stage = turn % SUM_STAGES;
        uint64_t a = rows_from(stages + stage * SUM_STAGE),
                 b = rows_from(stages + stage * SUM_STAGE + SUM_PIXELS * ROW) + group * LINE * ROW_UNITS;
        ring_wait(&ring, turn);
        products_begin();
#pragma unroll
        for (int k = 0; k < SUM_PIXELS / 16; k++)
            product192<1, 1>(sum, a + k * 16 * ROW_UNITS, b + k * 16 * ROW_UNITS, 1);
        products_end();
        ring_release(&ring, stage);
    }
    float *to = partial + (size_t)blockIdx.x * CHANNELS * TAPS * CHANNELS;
#pragma unroll
    for (int i = 0; i < 3 * CHANNELS / 2; i += 2) { /* the three taps of a line are adjacent in dw too */
        int out = warp * 16 + lane / 4 + i / 2 % 2 * 8, in = i / 4 * 8 + lane % 4 * 2;
        *reinterpret_cast<float2 *>(to + (out * TAPS + group * 3) * CHANNELS + in) = make_float2(sum[i], sum[i + 1]);
    }
}

/* ---- gradient of the input of a layer of stride 2, gated by ReLU --------------------------------------------------
 */

enum {
    SMALL = SIDE / 2,
    SMALL_LINE = SMALL + 1,
    SMALL_LINES = 4,
    SMALL_PIXELS = 72, /* 68 pixels of these lines, rounded up */
    SMALL_BYTES = (SMALL_LINES + 1) * SMALL_LINE * ROW,
    SMALL_ROOM = ((SMALL_PIXELS + SMALL_LINE + 1) * ROW + EIGHT_ROWS - 1) / EIGHT_ROWS * EIGHT_ROWS,
    GATED_BYTES = SMALL_LINES * SIDE * ROW,
    GATED_STAGE = SMALL_ROOM + GATED_BYTES + EIGHT_ROWS, /* the last term for discarded columns */
    GATED_STAGES = 5,
    GATED_ROOM = WEIGHT_BYTES + GATED_STAGES * GATED_STAGE,
    GATED_QUARTERS = SMALL / SMALL_LINES,
    GATED_TILES = 2 * GATED_QUARTERS /* per image: quarters of every second line */
};
static_assert(SMALL_BYTES <= SMALL_ROOM && SMALL_LINES * SMALL_LINE <= SMALL_PIXELS, "a tile has room");

/* Line 2i of the input uses tap line 1 with line i of the gradient; line 2i + 1 uses tap line 0 with line i + 1 and tap
 * line 2 with line i; columns likewise. Computes the pixels of one parity of lines and columns. */
template <int ODD, int COLUMN_ODD> static __device__ void gated_products(uint64_t a, uint64_t b, float *sum) {
#pragma unroll
    for (int line = 0; line <= ODD; line++)
#pragma unroll
        for (int column = 0; column <= COLUMN_ODD; column++) {
            int tap = (ODD ? 2 * line : 1) * 3 + (COLUMN_ODD ? 2 * column : 1);
            int from = (ODD && line == 0 ? SMALL_LINE : 0) + (COLUMN_ODD && column == 0 ? 1 : 0);
#pragma unroll
            for (int k = 0; k < CHANNELS / 16; k++)
                product72<1, 0>(sum, a + tap * (TAP_BYTES / 16) + k * 16 * ROW_UNITS, b + from * ROW_UNITS + k * 2,
                                line + column + k);
        }
}

/* Overwrites y by the gradient, or by 0 where y is not positive. Adds the sums of two channels to total. */
static __device__ void gated_keep(const float *sum, int odd, int warp, int lane, uint32_t tile, float *total) {
#pragma unroll
    for (int j = 0; j < SMALL_PIXELS / 8; j++) {
        int p = 8 * j + lane % 8, line = p / SMALL_LINE, column = p % SMALL_LINE;
        bool dropped = column == SMALL || line == SMALL_LINES;
        int row = dropped ? SMALL_LINES * SIDE + lane % 8 : line * SIDE + 2 * column + odd;
        uint32_t at = tile + piece_at(row, warp * 2 + lane / 8 % 2);
        uint32_t above[2], d[2];
        load_turned_two(at, above);
        /* columns of this lane's partial sums */
        int q = 8 * j + lane % 4 * 2;
        uint32_t kept = (q % SMALL_LINE == SMALL || q >= SMALL_LINES * SMALL_LINE ? 0 : 0xFFFFu) |
                        ((q + 1) % SMALL_LINE == SMALL || q + 1 >= SMALL_LINES * SMALL_LINE ? 0 : 0xFFFF0000u);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            d[i] = pair_of(sum[4 * j + 2 * i], sum[4 * j + 2 * i + 1]) & above_zero(above[i]);
            uint32_t counted = d[i] & kept; /* a bf16 is the upper half of a float */
            total[i] += __uint_as_float(counted << 16) + __uint_as_float(counted & 0xFFFF0000u);
        }
        store_turned(at, d[0], d[1]);
    }
}

template <int ODD>
static __device__ void gated_tile(uint64_t a, uint64_t b, int warp, int lane, uint32_t tile, float *total) {
    float even[SMALL_PIXELS / 2], odd[SMALL_PIXELS / 2];
    products_begin();
    gated_products<ODD, 0>(a, b, even);
    gated_products<ODD, 1>(a, b, odd);
    products_end();
    gated_keep(even, 0, warp, lane, tile, total);
    gated_keep(odd, 1, warp, lane, tile, total);
}

/* Also sums the gradient for the biases of the layer whose output is y. */
static __global__ __launch_bounds__(WIDE_THREADS, 1) void gated_data_kernel(
    const __grid_constant__ CUtensorMap slope, const __grid_constant__ CUtensorMap weight_map,
    const __grid_constant__ CUtensorMap values, const __grid_constant__ CUtensorMap result, int tiles, float *partial) {
    extern __shared__ char memory[];
    __shared__ Ring<GATED_STAGES> ring;
    char *weights = aligned(memory), *stages = weights + WEIGHT_BYTES;
    ring_make(&ring, 1);
    int group = threadIdx.x / GROUP, own = threadIdx.x % GROUP, warp = own / WARP, lane = own % WARP;
    if (group == GROUPS) {
        if (lane == 0)
            ring_fill(&ring, tiles, SMALL_BYTES + GATED_BYTES, &weight_map, weights,
                      [&](int tile, int stage, uint64_t *barrier) {
                          int row = tile / 2 % GATED_QUARTERS * SMALL_LINES, image = tile / GATED_TILES;
                          char *here = stages + stage * GATED_STAGE;
                          copy_box(here, &slope, barrier, 0, row, image);
                          copy_lines(here + SMALL_ROOM, &values, barrier, tile % 2, row, image);
                      });
        return;
    }
    float total[2] = {0};
    barrier_wait(&ring.weights, 0);
    for (int turn = group, tile = blockIdx.x + group * gridDim.x; tile < tiles;
         turn += GROUPS, tile += GROUPS * gridDim.x) {
        int stage = turn % GATED_STAGES;
        char *here = stages + stage * GATED_STAGE;
        uint64_t a = rows_from(weights), b = rows_from(here);
        ring_wait(&ring, turn);
        if (tile % 2)
            gated_tile<1>(a, b, warp, lane, address_of(here + SMALL_ROOM), total);
        else
            gated_tile<0>(a, b, warp, lane, address_of(here + SMALL_ROOM), total);
        written();
        group_wait(group);
        if (own == 0) {
            store_lines(here + SMALL_ROOM, &result, tile % 2, tile / 2 % GATED_QUARTERS * SMALL_LINES,
                        tile / GATED_TILES);
            stores_read();
            barrier_arrive(&ring.empty[stage]);
        }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < 2; i++) {
        total[i] += __shfl_xor_sync(0xFFFFFFFFu, total[i], 1);
        total[i] += __shfl_xor_sync(0xFFFFFFFFu, total[i], 2);
        if (lane % 4 == 0)
            partial[(size_t)(blockIdx.x * GROUPS + group) * CHANNELS + warp * 16 + lane / 4 + i * 8] = total[i];
    }
}

/* ---- tensor maps and launches ------------------------------------------------------------------------------------ */

typedef decltype(&cuTensorMapEncodeTiled) Encode;

static Encode encoder(void) { /* from the driver, which the plug-in is not linked with */
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return driver ? reinterpret_cast<Encode>(dlsym(driver, "cuTensorMapEncodeTiled")) : NULL;
}

/* Map of a tensor in bf16 or single precision with the given box; innermost sizes first. */
static bool map_of(Encode encode, bool half, void *at, int dims, const uint64_t *sizes, const uint32_t *box,
                   CUtensorMap *map) {
    cuuint64_t extent[5], stride[4], bytes = half ? sizeof(bf16) : sizeof(float);
    cuuint32_t take[5], ones[5] = {1, 1, 1, 1, 1};
    for (int i = 0; i < dims; i++) {
        extent[i] = sizes[i];
        take[i] = box[i];
        bytes *= sizes[i];
        if (i + 1 < dims)
            stride[i] = bytes;
    }
    return encode(map, half ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, (cuuint32_t)dims, at,
                  extent, stride, take, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* Map with boxes of this many columns and lines of a tensor with 64 channels. */
static bool map_lines(Encode encode, void *at, int images, int side, int columns, int lines, CUtensorMap *map) {
    const uint64_t sizes[] = {CHANNELS, (uint64_t)side, (uint64_t)side, (uint64_t)images};
    const uint32_t box[] = {CHANNELS, (uint32_t)columns, (uint32_t)lines, 1};
    return map_of(encode, true, at, 4, sizes, box, map);
}

/* Map with boxes of every second line. */
static bool map_halves(Encode encode, void *at, int images, CUtensorMap *map) {
    const uint64_t sizes[] = {CHANNELS, SIDE, 2, SMALL, (uint64_t)images};
    const uint32_t box[] = {CHANNELS, SIDE, 1, SMALL_LINES, 1};
    return map_of(encode, true, at, 5, sizes, box, map);
}

/* Map in single precision, with 32 channels per box. */
static bool map_single(Encode encode, void *at, int images, int lines, CUtensorMap *map) {
    const uint64_t sizes[] = {CHANNELS, SIDE, SIDE, (uint64_t)images};
    const uint32_t box[] = {ROW / sizeof(float), LINE, (uint32_t)lines, 1};
    return map_of(encode, false, at, 4, sizes, box, map);
}

bool wide_fits(const Conv *c) {
    bool has = c->precision == PV_PRECISION_BF16 || (c->precision == PV_PRECISION_TF32 && c->stride == 1);
    return has && c->in == CHANNELS && c->out == CHANNELS && c->kernel == 3 && c->padding == 1 && c->height == SIDE &&
           c->width == SIDE && (c->stride == 1 || c->stride == 2);
}

bool wide_make(const Conv *c, void *x, void *w, void *dy, void *dx, Wide *wide) {
    int device, major = 0, minor = 0;
    Encode encode = encoder();
    const uint64_t sizes[] = {CHANNELS, TAPS, CHANNELS};
    const uint32_t box[] = {CHANNELS, 1, CHANNELS};
    if (!encode || cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&wide->blocks, cudaDevAttrMultiProcessorCount, device) != cudaSuccess || major != 9 ||
        minor != 0)
        return false;
    wide->blocks = wide->blocks < BLOCKS / GROUPS ? wide->blocks : BLOCKS / GROUPS;
    wide->rows = GROUPS * wide->blocks;
    if (c->precision == PV_PRECISION_TF32)
        return map_single(encode, dy, c->images, STRIP, &wide->sum_strip) &&
               map_single(encode, x, c->images, HALO_LINES, &wide->sum_halo);
    bool made = map_of(encode, true, w, 3, sizes, box, &wide->weights);
    if (c->stride == 2)
        return made && map_lines(encode, dy, c->images, SMALL, SMALL_LINE, SMALL_LINES + 1, &wide->slope) &&
               map_halves(encode, x, c->images, &wide->strip) && map_halves(encode, dx, c->images, &wide->halo);
    return made && map_lines(encode, x, c->images, SIDE, LINE, HALO_LINES, &wide->halo) &&
           map_lines(encode, x, c->images, SIDE, LINE, STRIP, &wide->strip) &&
           map_lines(encode, x, c->images, SIDE, LINE, SUM_LINES + 2, &wide->sum_halo) &&
           map_lines(encode, dy, c->images, SIDE, LINE, HALO_LINES, &wide->slope) &&
           map_lines(encode, dy, c->images, SIDE, LINE, SUM_LINES, &wide->sum_strip);
}

void wide_forward(cudaStream_t s, const Conv *c, const Wide *wide, const float *bias, void *y) {
    int room = with_room<FORWARD_ROOM>(wide_forward_kernel);
    wide_forward_kernel<<<wide->blocks, WIDE_THREADS, room, s>>>(wide->halo, wide->weights, c->images * STRIPS, bias,
                                                                 (bf16 *)y);
}

void wide_data(cudaStream_t s, const Conv *c, const Wide *wide, const float *x, float *partial) {
    int room = with_room<DATA_ROOM>(wide_data_kernel);
    wide_data_kernel<<<wide->blocks, WIDE_THREADS, room, s>>>(wide->slope, wide->strip, wide->weights,
                                                              c->images * STRIPS, x, partial);
}

void wide_weights(cudaStream_t s, const Conv *c, const Wide *wide, float *partial) {
    if (c->precision == PV_PRECISION_TF32) {
        wide_weights_tf32(s, c, wide, partial);
        return;
    }
    int room = with_room<SUM_ROOM>(wide_weights_kernel);
    wide_weights_kernel<<<wide->blocks, SUM_THREADS, room, s>>>(wide->sum_strip, wide->sum_halo, c->images * SUM_STRIPS,
                                                                partial);
}

void gated_data(cudaStream_t s, const Conv *c, const Wide *wide, float *partial) {
    int room = with_room<GATED_ROOM>(gated_data_kernel);
    gated_data_kernel<<<wide->blocks, WIDE_THREADS, room, s>>>(wide->slope, wide->weights, wide->strip, wide->halo,
                                                               c->images * GATED_TILES, partial);
}
