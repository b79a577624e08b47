/* The first layer: one input channel. */
#include "kernels.h"

/* Limits of a block's shared memory. */
enum { FIRST_MOST = 512, WIDTH_MOST = 512 };

bool first_fits(const Conv *c) {
    return c->in == 1 && c->kernel == 3 && c->stride == 1 && c->padding == 1 && c->out % 8 == 0 &&
           c->out <= FIRST_MOST && c->width <= WIDTH_MOST;
}

/* Blocks process tiles of a few rows of an image, which they load with the surrounding pixels. */
enum { TILE_ROWS = 8 };

static __device__ void hold_tile(const float *x, int first, int height, int width, float *tile) {
    int wide = width + 2;
    for (int i = threadIdx.x; i < (TILE_ROWS + 2) * wide; i += THREADS) {
        int row = first + i / wide - 1, column = i % wide - 1;
        tile[i] = row >= 0 && row < height && column >= 0 && column < width ? x[row * width + column] : 0.0f;
    }
}

static __device__ void around(const float *tile, int row, int column, int width, float *nine) {
#pragma unroll
    for (int t = 0; t < TAPS; t++)
        nine[t] = tile[(row + t / 3) * (width + 2) + column + t % 3];
}

static int tiles_of(const Conv *c) {
    return c->images * ((c->height + TILE_ROWS - 1) / TILE_ROWS);
}

static size_t tile_bytes(const Conv *c) {
    return (size_t)(TILE_ROWS + 2) * (c->width + 2) * sizeof(float);
}

/* A thread keeps the weights of eight channels in registers and loops over pixels. */
template <typename T>
static __global__ void first_kernel(int tiles, int height, int width, int channels, const float *x, const float *w,
                                    const float *bias, T *y) {
    extern __shared__ float tile[];
    int groups = channels / 8, lanes = THREADS / groups, lane = threadIdx.x / groups, g = threadIdx.x % groups;
    int strips = (height + TILE_ROWS - 1) / TILE_ROWS;
    float taps[8][TAPS], start[8];
#pragma unroll
    for (int j = 0; j < 8; j++) {
        start[j] = bias[g * 8 + j];
#pragma unroll
        for (int t = 0; t < TAPS; t++)
            taps[j][t] = w[(g * 8 + j) * TAPS + t];
    }
    for (int b = blockIdx.x; b < tiles; b += gridDim.x) {
        int first = b % strips * TILE_ROWS, rows = height - first < TILE_ROWS ? height - first : TILE_ROWS;
        size_t plane = (size_t)(b / strips) * height * width;
        __syncthreads();
        hold_tile(x + plane, first, height, width, tile);
        __syncthreads();
        for (int p = lane; lane < lanes && p < rows * width; p += lanes) {
            float nine[TAPS];
            around(tile, p / width, p % width, width, nine);
            Pack<T, 8> v;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                float z = start[j];
#pragma unroll
                for (int t = 0; t < TAPS; t++)
                    z = fmaf(taps[j][t], nine[t], z);
                v.at[j] = (T)fmaxf(z, 0.0f);
            }
            reinterpret_cast<Pack<T, 8> *>(y)[(plane + (size_t)first * width + p) * groups + g] = v;
        }
    }
}

/* The same by matrix products, pixels times nine taps and a one, for 64 channels at a time. Each factor is the sum of
 * two bf16 numbers, and the product of the two smaller ones is dropped. A warp processes sixteen pixels. The channel in
 * column n of product j is chosen such that a thread's results are adjacent, as many as a 16-byte access holds. */
enum { FIRST_WIDTH = 64, FIRST_PRODUCTS = FIRST_WIDTH / 8 };

template <typename T> static __device__ int channel_of(int j, int n) {
    const int pack = 16 / (int)sizeof(T), products = pack / 2;
    return 4 * pack * (j / products) + n / 2 * pack + 2 * (j % products) + n % 2;
}

/* Loads x around a strip of an image, with each number split. */
static __device__ void hold_split(const float *x, int first, int height, int width, uint32_t *tile) {
    int wide = width + 2;
    for (int i = threadIdx.x; i < (TILE_ROWS + 2) * wide; i += THREADS) {
        int row = first + i / wide - 1, column = i % wide - 1;
        bool inside = row >= 0 && row < height && column >= 0 && column < width;
        tile[i] = split(inside ? x[row * width + column] : 0.0f);
    }
}

template <typename T>
static __global__ __launch_bounds__(THREADS, 3) void first_products_kernel(int tiles, int height, int width,
                                                                           int channels, const float *x, const float *w,
                                                                           const float *bias, T *y) {
    extern __shared__ uint32_t around_tile[];
    const int pack = 16 / (int)sizeof(T), lane = threadIdx.x % WARP, g = lane / 4, q = lane % 4, wide = width + 2;
    int strips = (height + TILE_ROWS - 1) / TILE_ROWS, from = (int)blockIdx.y * FIRST_WIDTH;
    int tap0 = 2 * q / 3 * wide + 2 * q % 3, tap1 = (2 * q + 1) / 3 * wide + (2 * q + 1) % 3;
    uint32_t b[FIRST_PRODUCTS][4];
#pragma unroll
    for (int j = 0; j < FIRST_PRODUCTS; j++) {
        int c = from + channel_of<T>(j, g);
        uint32_t w0 = split(w[c * TAPS + 2 * q]), w1 = split(w[c * TAPS + 2 * q + 1]);
        uint32_t w8 = q == 0 ? split(w[c * TAPS + 8]) : 0, w9 = q == 0 ? split(bias[c]) : 0;
        b[j][0] = upper(w0, w1);
        b[j][1] = upper(w8, w9);
        b[j][2] = lower(w0, w1);
        b[j][3] = lower(w8, w9);
    }
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int first = tile % strips * TILE_ROWS;
        int pixels = (height - first < TILE_ROWS ? height - first : TILE_ROWS) * width;
        size_t plane = (size_t)(tile / strips) * height * width;
        __syncthreads();
        hold_split(x + plane, first, height, width, around_tile);
        __syncthreads();
        for (int begin = (int)threadIdx.x / WARP * 16; begin < pixels; begin += THREADS / WARP * 16) {
            uint32_t a[4], low[4];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int p = begin + g + 8 * half, at = p < pixels ? p / width * wide + p % width : 0;
                uint32_t x0 = around_tile[at + tap0], x1 = around_tile[at + tap1];
                uint32_t x8 = q == 0 ? around_tile[at + 2 * wide + 2] : 0, x9 = q == 0 ? split(1.0f) : 0;
                a[half] = upper(x0, x1);
                a[2 + half] = upper(x8, x9);
                low[half] = lower(x0, x1);
                low[2 + half] = lower(x8, x9);
            }
            Pack<T, 16 / sizeof(T)> out[2][FIRST_WIDTH / 4 / (16 / sizeof(T))];
#pragma unroll
            for (int j = 0; j < FIRST_PRODUCTS; j++) {
                float sum[4] = {0};
                product_warp(sum, low, b[j][0], b[j][1]);
                product_warp(sum, a, b[j][2], b[j][3]);
                product_warp(sum, a, b[j][0], b[j][1]);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    out[i / 2][2 * j / pack].at[2 * j % pack + i % 2] = (T)fmaxf(sum[i], 0.0f);
            }
#pragma unroll
            for (int half = 0; half < 2; half++) {
                int p = begin + g + 8 * half;
                T *to = y + (plane + (size_t)first * width + p) * channels + from + q * pack;
#pragma unroll
                for (int i = 0; p < pixels && i < FIRST_WIDTH / 4 / pack; i++)
                    *reinterpret_cast<Pack<T, 16 / sizeof(T)> *>(to + 4 * pack * i) = out[half][i];
            }
        }
    }
}

/* Matrix products are not accurate enough for fp32. */
static bool by_products(const Conv *c) {
    return c->precision != PV_PRECISION_FP32 && c->out % FIRST_WIDTH == 0;
}

/* The number of blocks, at most `most`, that share the tiles evenly. */
static int blocks_of(int tiles, int most) {
    int each = (tiles + most - 1) / most;
    return (tiles + each - 1) / each;
}

void first_forward(cudaStream_t s, bool half, const Conv *c, const float *x, const float *w, const float *bias,
                   void *y) {
    if (by_products(c)) {
        dim3 grid((unsigned)blocks_of(tiles_of(c), BLOCKS * 3 / 4), (unsigned)(c->out / FIRST_WIDTH));
        DISPATCH(half, (first_products_kernel<T><<<grid, THREADS, tile_bytes(c), s>>>(tiles_of(c), c->height, c->width,
                                                                                      c->out, x, w, bias, (T *)y)));
        return;
    }
    DISPATCH(half, (first_kernel<T><<<BLOCKS, THREADS, tile_bytes(c), s>>>(tiles_of(c), c->height, c->width, c->out, x,
                                                                           w, bias, (T *)y)));
}

/* dw[c][t] = sum over pixels of dy[c] x[t], dbias[c] = sum of dy[c], with dy only where y > 0. A thread processes V
 * channels, few enough for many threads to have enough registers. */
template <typename T, int V>
static __global__ void first_backward_kernel(int tiles, int height, int width, int channels, const float *x, const T *y,
                                             const T *dy, float *partial) {
    extern __shared__ float tile[]; /* reused as held [channels][TAPS + 1] */
    float *held = tile + (TILE_ROWS + 2) * (width + 2);
    int groups = channels / V, lanes = THREADS / groups, lane = threadIdx.x / groups, g = threadIdx.x % groups;
    int strips = (height + TILE_ROWS - 1) / TILE_ROWS;
    float sum[V][TAPS + 1] = {{0}};
    for (int b = blockIdx.x; b < tiles; b += gridDim.x) {
        int first = b % strips * TILE_ROWS, rows = height - first < TILE_ROWS ? height - first : TILE_ROWS;
        size_t plane = (size_t)(b / strips) * height * width;
        __syncthreads();
        hold_tile(x + plane, first, height, width, tile);
        __syncthreads();
        for (int p = lane; lane < lanes && p < rows * width; p += lanes) {
            size_t i = (plane + (size_t)first * width + p) * groups + g;
            float nine[TAPS];
            Pack<T, V> v = reinterpret_cast<const Pack<T, V> *>(y)[i], d = reinterpret_cast<const Pack<T, V> *>(dy)[i];
            around(tile, p / width, p % width, width, nine);
#pragma unroll
            for (int j = 0; j < V; j++) {
                float slope = (float)v.at[j] > 0.0f ? (float)d.at[j] : 0.0f;
                sum[j][TAPS] += slope;
#pragma unroll
                for (int t = 0; t < TAPS; t++)
                    sum[j][t] = fmaf(slope, nine[t], sum[j][t]);
            }
        }
    }
    int turns = lanes, own = lane; /* in turns: always in the same order */
    if (WARP % groups == 0) {      /* within a warp first */
#pragma unroll
        for (int j = 0; j < V; j++)
#pragma unroll
            for (int t = 0; t <= TAPS; t++)
                for (int away = groups; away < WARP; away *= 2)
                    sum[j][t] += __shfl_xor_sync(0xFFFFFFFFu, sum[j][t], away);
        turns = THREADS / WARP;
        own = (int)threadIdx.x % WARP < groups ? (int)threadIdx.x / WARP : turns;
    }
    for (int i = threadIdx.x; i < channels * (TAPS + 1); i += THREADS)
        held[i] = 0;
    for (int turn = 0; turn < turns; turn++) {
        __syncthreads();
        if (turn != own)
            continue;
#pragma unroll
        for (int j = 0; j < V; j++)
#pragma unroll
            for (int t = 0; t <= TAPS; t++)
                held[(g * V + j) * (TAPS + 1) + t] += sum[j][t];
    }
    __syncthreads();
    float *out = partial + (size_t)blockIdx.x * channels * (TAPS + 1);
    for (int i = threadIdx.x; i < channels * (TAPS + 1); i += THREADS) {
        int c = i / (TAPS + 1), t = i % (TAPS + 1);
        out[t < TAPS ? c * TAPS + t : channels * TAPS + c] = held[i];
    }
}

void first_backward(cudaStream_t s, bool half, const Conv *c, const float *x, const void *y, const void *dy,
                    float *partial, float *dw) {
    size_t n = (size_t)c->out * (TAPS + 1), room = tile_bytes(c) + n * sizeof(float);
    DISPATCH(half, (first_backward_kernel<T, 4><<<BLOCKS, THREADS, room, s>>>(
                       tiles_of(c), c->height, c->width, c->out, x, (const T *)y, (const T *)dy, partial)));
    sum_blocks(s, BLOCKS, n, partial, dw);
}
