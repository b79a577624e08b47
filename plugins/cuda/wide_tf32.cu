/* Gradient of the weights of the largest layers in tf32; wide.cu has it in bf16.
 *
 * The tensor instructions that read shared memory do not accept transposed matrices in single precision, so warps load
 * their factors, each for 32 outputs and 16 inputs, for all nine taps. Of eight pixels a lane loads a pair of
 * neighbours, so that a warp's loads use different banks whatever the first row is.
 */
#include "wide.h"

enum {
    HALVES = 2,                      /* 32 channels each, 128 bytes */
    HALF = ROW / (int)sizeof(float), /* number of channels */
    SLOPE_HALF = PIXELS * ROW,
    VALUE_ROWS = HALO_LINES * LINE,
    VALUE_ROOM = (VALUE_ROWS + 2 + 7) / 8 * 8, /* rows; those beyond the strip are multiplied by 0 */
    VALUE_HALF = VALUE_ROOM * ROW,
    TF32_BYTES = HALVES * (PIXELS + VALUE_ROWS) * ROW,
    TF32_STAGE = HALVES * (SLOPE_HALF + VALUE_HALF),
    TF32_STAGES = 2
};

static __device__ uint32_t rounded(float x) {
    uint32_t made;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(made) : "f"(x));
    return made;
}

/* sum [16][8] += a b, computed by one warp. */
static __device__ void product_tf32(float *sum, const uint32_t *a, const uint32_t *b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
        "%1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Position of a channel in a row that is `phase` rows after a multiple of eight from the start of the tile. */
static __device__ int word_of(int phase, int channel) {
    return ((channel / 4 ^ (phase & 7)) * 4) + channel % 4;
}

static __device__ void bring_tile(char *stage, const CUtensorMap *slope, const CUtensorMap *values, uint64_t *barrier,
                                  int tile) {
    int row = tile % STRIPS * STRIP, image = tile / STRIPS;
    barrier_expect(barrier, TF32_BYTES);
    for (int h = 0; h < HALVES; h++) {
        copy_box(stage + h * SLOPE_HALF, slope, barrier, 0, row, image, h * HALF);
        copy_box(stage + HALVES * SLOPE_HALF + h * VALUE_HALF, values, barrier, -1, row - 1, image, h * HALF);
    }
}

static __global__ __launch_bounds__(THREADS,
                                    1) void wide_weights_tf32_kernel(const __grid_constant__ CUtensorMap slope,
                                                                     const __grid_constant__ CUtensorMap values,
                                                                     int tiles, float *partial) {
    extern __shared__ char memory[];
    __shared__ uint64_t full[TF32_STAGES];
    char *stages = aligned(memory);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, g = lane / 4, q = lane % 4;
    const int out = warp % 2, in = warp / 2; /* which 32 outputs, which 16 inputs */
    for (int i = threadIdx.x; i < TF32_STAGES * HALVES * (VALUE_ROOM - VALUE_ROWS) * HALF; i += THREADS) {
        int part = i / ((VALUE_ROOM - VALUE_ROWS) * HALF), word = i % ((VALUE_ROOM - VALUE_ROWS) * HALF);
        char *half = stages + part / HALVES * TF32_STAGE + HALVES * SLOPE_HALF + part % HALVES * VALUE_HALF;
        reinterpret_cast<float *>(half + VALUE_ROWS * ROW)[word] = 0;
    }
    if (threadIdx.x == 0) {
        for (int i = 0; i < TF32_STAGES; i++)
            barrier_make(&full[i], 1);
        barriers_made();
        for (int i = 0; i < TF32_STAGES && (int)(blockIdx.x + i * gridDim.x) < tiles; i++)
            bring_tile(stages + i * TF32_STAGE, &slope, &values, &full[i], blockIdx.x + i * gridDim.x);
    }
    __syncthreads();
    float sum[TAPS][2][2][4];
#pragma unroll
    for (int i = 0; i < TAPS * 16; i++)
        (&sum[0][0][0][0])[i] = 0;
    for (int turn = 0, tile = blockIdx.x; tile < tiles; turn++, tile += gridDim.x) {
        int stage = turn % TF32_STAGES;
        const float *dy =
            reinterpret_cast<const float *>(stages + stage * TF32_STAGE + out * SLOPE_HALF) + 2 * q * HALF;
        const float *x =
            reinterpret_cast<const float *>(stages + stage * TF32_STAGE + HALVES * SLOPE_HALF + in / 2 * VALUE_HALF) +
            2 * q * HALF;
        barrier_wait(&full[stage], turn / TF32_STAGES & 1);
#pragma unroll 1
        for (int k = 0; k < PIXELS / 8; k++, dy += 8 * HALF, x += 8 * HALF) {
            uint32_t a[2][4];
#pragma unroll
            for (int m = 0; m < 2; m++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    a[m][i] = rounded(dy[i / 2 * HALF + word_of(2 * q + i / 2, m * 16 + i % 2 * 8 + g)]);
#pragma unroll
            for (int t = 0; t < TAPS; t++)
#pragma unroll
                for (int n = 0; n < 2; n++) {
                    uint32_t b[2];
#pragma unroll
                    for (int i = 0; i < 2; i++) {
                        int row = t / 3 * LINE + t % 3 + i;
                        b[i] = rounded(x[row * HALF + word_of(2 * q + row, in % 2 * 16 + n * 8 + g)]);
                    }
                    product_tf32(sum[t][0][n], a[0], b);
                    product_tf32(sum[t][1][n], a[1], b);
                }
        }
        __syncthreads();
        if (threadIdx.x == 0 && tile + TF32_STAGES * (int)gridDim.x < tiles)
            bring_tile(stages + stage * TF32_STAGE, &slope, &values, &full[stage], tile + TF32_STAGES * gridDim.x);
    }
    float *to = partial + (size_t)blockIdx.x * CHANNELS * TAPS * CHANNELS;
#pragma unroll
    for (int i = 0; i < TAPS * 8; i++) {
        int t = i / 8, m = i / 4 % 2, n = i / 2 % 2, lower = i % 2;
        int o = out * 32 + m * 16 + lower * 8 + g, c = in * 16 + n * 8 + 2 * q;
        *reinterpret_cast<float2 *>(to + (o * TAPS + t) * CHANNELS + c) =
            make_float2(sum[t][m][n][2 * lower], sum[t][m][n][2 * lower + 1]);
    }
}

void wide_weights_tf32(cudaStream_t s, const Conv *c, const Wide *wide, float *partial) {
    int room = with_room<TF32_STAGES * TF32_STAGE>(wide_weights_tf32_kernel);
    wide_weights_tf32_kernel<<<wide->blocks, THREADS, room, s>>>(wide->sum_strip, wide->sum_halo, c->images * STRIPS,
                                                                 partial);
}
