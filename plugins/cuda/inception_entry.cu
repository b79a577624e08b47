/* The entry of an inception block: two 1x1 convolutions, one with stride 2, and max pooling, all of the same tensor of
 * 64 channels, in bf16. Separately each would read or write the whole tensor, which dominates their cost.
 */
#include "lanes.h"

enum { MOUTH = 64, WORDS = 8 };

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Both 1x1 convolutions, with Q output channels each. A lane sums over sixteen input channels; its outputs are Q / 4
 * adjacent channels. */
template <int Q>
static __global__ __launch_bounds__(THREADS) void mouth_forward_kernel(size_t tiles, const bf16 *x, Narrow a, Narrow b,
                                                                       bf16 *y_a, bf16 *y_b) {
    enum { TILES = Q / COLUMNS, OWN = Q / 4 };
    const int lane = threadIdx.x % WARP, g = lane / 4, q = lane % 4;
    uint32_t w[2 * TILES][WORDS];
    float bias[2][OWN];
#pragma unroll
    for (int j = 0; j < 2 * TILES; j++) {
        const Narrow &from = j < TILES ? a : b;
        load<WORDS>(from.w + (g / 2 * OWN + j % TILES * 2 + g % 2) * MOUTH + q * PIXELS, w[j]);
    }
#pragma unroll
    for (int i = 0; i < 2 * OWN; i++)
        bias[i / OWN][i % OWN] = (i < OWN ? a : b).bias[q * OWN + i % OWN];
    size_t step = (size_t)gridDim.x * BLOCK_WARPS, tile = blockIdx.x * (size_t)BLOCK_WARPS + threadIdx.x / WARP;
    uint32_t next[2][WORDS];
    auto bring = [&](size_t t) {
#pragma unroll
        for (int half = 0; half < 2; half++)
            load<WORDS>(x + (t * PIXELS + g + 8 * half) * MOUTH + q * PIXELS, next[half]);
    };
    if (tile < tiles)
        bring(tile);
    for (; tile < tiles; tile += step) {
        uint32_t u[2][WORDS];
        float sum[2 * TILES][4];
#pragma unroll
        for (int i = 0; i < 2 * WORDS; i++)
            u[i / WORDS][i % WORDS] = next[i / WORDS][i % WORDS];
        if (tile + step < tiles)
            bring(tile + step);
#pragma unroll
        for (int j = 0; j < 2 * TILES; j++) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum[j][i] = bias[j / TILES][j % TILES * 2 + i % 2];
#pragma unroll
            for (int s = 0; s < MOUTH / 16; s++) {
                const uint32_t rows[] = {u[0][2 * s], u[1][2 * s], u[0][2 * s + 1], u[1][2 * s + 1]};
                product_warp(sum[j], rows, w[j][2 * s], w[j][2 * s + 1]);
            }
        }
#pragma unroll
        for (int part = 0; part < 2; part++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                uint32_t out[OWN / 2];
#pragma unroll
                for (int j = 0; j < TILES; j++) {
                    const float *found = sum[part * TILES + j] + 2 * half;
                    out[j] = pair_of(fmaxf(found[0], 0.0f), fmaxf(found[1], 0.0f));
                }
                store<OWN / 2>((part ? y_b : y_a) + (tile * PIXELS + g + 8 * half) * Q + q * OWN, out);
            }
    }
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* The channels of a lane: sixteen adjacent ones, two from each of eight products' columns. */
static __device__ int channel_of(int column, int product) {
    return column / 2 * PIXELS + product * 2 + column % 2;
}

/* Adds the gradients from the maxima of the windows around a pixel; windows begin at odd lines and columns, from -1
 * on. */
static __device__ void add_maxima(const Mouth &m, size_t image, int line, int column, int q, float *sum) {
    int lines = m.height / 2, columns = m.width / 2;
    for (int p = line / 2; p <= (line + 1) / 2 && p < lines; p++)
        for (int c = column / 2; c <= (column + 1) / 2 && c < columns; c++) {
            size_t at = ((image * lines + p) * columns + c) * MOUTH + q * PIXELS;
            unsigned tap = (unsigned)((line - 2 * p + 1) * 3 + column - 2 * c + 1);
            uint32_t from[4], d[WORDS];
            load<4>(m.from + at, from);
            load<WORDS>(m.d_pool + at, d);
#pragma unroll
            for (int i = 0; i < WORDS; i++) {
                unsigned two = from[i / 2] >> (i % 2 * 16);
                sum[2 * i] += (two & 0xFF) == tap ? low_of(d[i]) : 0.0f;
                sum[2 * i + 1] += (two >> 8 & 0xFF) == tap ? high_of(d[i]) : 0.0f;
            }
        }
}

/* The gradient of the tensor from all four; GATED: only where it is above 0, with sums over pixels for each block. */
template <int Q, bool GATED>
static __global__ __launch_bounds__(THREADS, 2) void mouth_data_kernel(size_t tiles, Mouth m) {
    enum { STEPS = Q / 16, OWN = Q / 4, PRODUCTS = MOUTH / COLUMNS };
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    __shared__ uint2 w[3 * STEPS][PRODUCTS][WARP]; /* in the order in which lanes read them */
    for (int i = warp; i < 3 * STEPS * PRODUCTS; i += BLOCK_WARPS) {
        int s = i / PRODUCTS, j = i % PRODUCTS;
        const bf16 *from = s < STEPS ? m.w_a : s < 2 * STEPS ? m.w_b : m.w_c;
        from += (q * OWN + s % STEPS * 4) * MOUTH + channel_of(g, j);
        w[s][j][lane] = make_uint2(pair_of((float)from[0], (float)from[MOUTH]),
                                   pair_of((float)from[2 * MOUTH], (float)from[3 * MOUTH]));
    }
    __syncthreads();
    float total[2 * PRODUCTS] = {0};
    size_t step = (size_t)gridDim.x * BLOCK_WARPS;
    for (size_t tile = blockIdx.x * (size_t)BLOCK_WARPS + warp; tile < tiles; tile += step) {
        float sum[PRODUCTS][4] = {{0}};
        uint32_t d[2][3][OWN / 2], y[2][WORDS];
        size_t image[2];
        int line[2], column[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            size_t pixel = tile * PIXELS + g + 8 * half, row = pixel / m.width;
            column[half] = (int)(pixel % m.width);
            line[half] = (int)(row % m.height);
            image[half] = row / m.height;
            load<OWN / 2>(m.d_a + pixel * Q + q * OWN, d[half][0]);
            load<OWN / 2>(m.d_b + pixel * Q + q * OWN, d[half][1]);
            if (GATED)
                load<WORDS>(m.y + pixel * MOUTH + q * PIXELS, y[half]);
#pragma unroll
            for (int i = 0; i < OWN / 2; i++)
                d[half][2][i] = 0;
            if (line[half] % 2 == 0 && column[half] % 2 == 0) {
                size_t at = (image[half] * (m.height / 2) + line[half] / 2) * (m.width / 2) + column[half] / 2;
                load<OWN / 2>(m.d_c + at * Q + q * OWN, d[half][2]);
            }
        }
#pragma unroll
        for (int s = 0; s < 3 * STEPS; s++) {
            const int part = s / STEPS, at = s % STEPS * 2;
            const uint32_t rows[] = {d[0][part][at], d[1][part][at], d[0][part][at + 1], d[1][part][at + 1]};
#pragma unroll
            for (int j = 0; j < PRODUCTS; j++)
                product_warp(sum[j], rows, w[s][j][lane].x, w[s][j][lane].y);
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float own[2 * PRODUCTS];
            uint32_t out[PRODUCTS];
#pragma unroll
            for (int i = 0; i < 2 * PRODUCTS; i++)
                own[i] = sum[i / 2][2 * half + i % 2];
            add_maxima(m, image[half], line[half], column[half], q, own);
#pragma unroll
            for (int j = 0; j < PRODUCTS; j++) {
                bool low = !GATED || low_of(y[half][j]) > 0.0f, high = !GATED || high_of(y[half][j]) > 0.0f;
                out[j] = pair_of(low ? own[2 * j] : 0.0f, high ? own[2 * j + 1] : 0.0f);
                total[2 * j] += low_of(out[j]);
                total[2 * j + 1] += high_of(out[j]);
            }
            store<WORDS>(m.dx + (tile * PIXELS + g + 8 * half) * MOUTH + q * PIXELS, out);
        }
    }
    if constexpr (GATED)
        sum_pixels<MOUTH>(total, m.partial);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

bool mouth_fits(const Conv *a) {
    return a->precision == PV_PRECISION_BF16 && a->in == MOUTH && (a->out == 16 || a->out == 32) &&
           a->width % PIXELS == 0 && a->height % 2 == 0;
}

static int mouth_blocks(size_t tiles) {
    size_t blocks = (tiles + BLOCK_WARPS - 1) / BLOCK_WARPS;
    return blocks < MOUTH_BLOCKS ? (int)blocks : MOUTH_BLOCKS;
}

static size_t tiles_of(const Conv *c) {
    return (size_t)c->images * c->height * c->width / PIXELS;
}

void mouth_forward(cudaStream_t s, const Conv *c, const void *x, const Narrow *a, const Narrow *b, void *y_a,
                   void *y_b) {
    size_t tiles = tiles_of(c);
    if (c->out == 16)
        mouth_forward_kernel<16>
            <<<mouth_blocks(tiles), THREADS, 0, s>>>(tiles, (const bf16 *)x, *a, *b, (bf16 *)y_a, (bf16 *)y_b);
    else
        mouth_forward_kernel<32>
            <<<mouth_blocks(tiles), THREADS, 0, s>>>(tiles, (const bf16 *)x, *a, *b, (bf16 *)y_a, (bf16 *)y_b);
}

int mouth_data(cudaStream_t s, const Conv *c, const Mouth *mouth) {
    size_t tiles = tiles_of(c);
    int blocks = mouth_blocks(tiles);
    if (c->out == 16 && mouth->partial)
        mouth_data_kernel<16, true><<<blocks, THREADS, 0, s>>>(tiles, *mouth);
    else if (c->out == 16)
        mouth_data_kernel<16, false><<<blocks, THREADS, 0, s>>>(tiles, *mouth);
    else if (mouth->partial)
        mouth_data_kernel<32, true><<<blocks, THREADS, 0, s>>>(tiles, *mouth);
    else
        mouth_data_kernel<32, false><<<blocks, THREADS, 0, s>>>(tiles, *mouth);
    return blocks;
}
