/* Backward pass of the branches of an inception block after their 1x1 convolutions: stride 2, 3x3 or 5x5, few channels,
 * in bf16. Computes the gradient of their input, including the ReLU before it.
 *
 * The pixels of an input form four classes, by even and odd lines and columns, which use the gradients of different
 * taps. The gradients needed by one class are adjacent, too: for each tap, sixteen of them are the rows of a matrix
 * product.
 */
#include "lanes.h"

template <int Q, int KERNEL>
static __global__ __launch_bounds__(THREADS, 2) void branch_data_kernel(int images, int height, int width,
                                                                        const bf16 *dy, const bf16 *w, const bf16 *y,
                                                                        bf16 *dx, float *partial) {
    enum { STEPS = Q / 16, OWN = Q / 4, PRODUCTS = Q / COLUMNS, PADDING = KERNEL / 2, ALL = KERNEL * KERNEL };
    extern __shared__ uint2 weights[]; /* [tap][STEPS][PRODUCTS][WARP], in the order in which lanes read them */
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    for (int i = warp; i < ALL * STEPS * PRODUCTS; i += BLOCK_WARPS) {
        int tap = i / (STEPS * PRODUCTS), s = i / PRODUCTS % STEPS, j = i % PRODUCTS;
        const bf16 *from = w + ((q * OWN + s * 4) * ALL + tap) * Q + g / 2 * OWN + j * 2 + g % 2;
        weights[i * WARP + lane] = make_uint2(pair_of((float)from[0], (float)from[ALL * Q]),
                                              pair_of((float)from[2 * ALL * Q], (float)from[3 * ALL * Q]));
    }
    __syncthreads();
    const int lines = height / 2, columns = width / 2, of_class = lines * columns / PIXELS;
    float total[OWN] = {0};
    for (int tile = blockIdx.x * BLOCK_WARPS + warp; tile < images * 4 * of_class; tile += gridDim.x * BLOCK_WARPS) {
        int image = tile / (4 * of_class), odd_line = tile / of_class % 4 / 2, odd_column = tile / of_class % 2;
        int line[2], column[2];
        float sum[PRODUCTS][4] = {{0}};
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int i = tile % of_class * PIXELS + g + 8 * half;
            line[half] = i / columns;
            column[half] = i % columns;
        }
        /* Tap (r, s) of pixel (2 i + odd, ...) uses the gradient at i + (odd + padding - r) / 2. */
#pragma unroll
        for (int r = 0; r < KERNEL; r++) {
            if ((odd_line + PADDING - r) % 2 != 0)
                continue;
#pragma unroll
            for (int s = 0; s < KERNEL; s++) {
                if ((odd_column + PADDING - s) % 2 != 0)
                    continue;
                uint32_t d[2][OWN / 2] = {{0}};
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    int p = line[half] + (odd_line + PADDING - r) / 2,
                        c = column[half] + (odd_column + PADDING - s) / 2;
                    if (p >= 0 && p < lines && c >= 0 && c < columns)
                        load<OWN / 2>(dy + (((size_t)image * lines + p) * columns + c) * Q + q * OWN, d[half]);
                }
#pragma unroll
                for (int k = 0; k < STEPS; k++) {
                    const uint32_t rows[] = {d[0][2 * k], d[1][2 * k], d[0][2 * k + 1], d[1][2 * k + 1]};
#pragma unroll
                    for (int j = 0; j < PRODUCTS; j++) {
                        uint2 b = weights[(((r * KERNEL + s) * STEPS + k) * PRODUCTS + j) * WARP + lane];
                        product_warp(sum[j], rows, b.x, b.y);
                    }
                }
            }
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            size_t at =
                (((size_t)image * height + 2 * line[half] + odd_line) * width + 2 * column[half] + odd_column) * Q +
                q * OWN;
            uint32_t above[OWN / 2], out[OWN / 2];
            load<OWN / 2>(y + at, above);
#pragma unroll
            for (int j = 0; j < PRODUCTS; j++) {
                out[j] = pair_of(low_of(above[j]) > 0.0f ? sum[j][2 * half] : 0.0f,
                                 high_of(above[j]) > 0.0f ? sum[j][2 * half + 1] : 0.0f);
                total[2 * j] += low_of(out[j]);
                total[2 * j + 1] += high_of(out[j]);
            }
            store<OWN / 2>(dx + at, out);
        }
    }
    sum_pixels<Q>(total, partial);
}

bool branch_fits(const Conv *c) {
    return c->precision == PV_PRECISION_BF16 && c->in == c->out && (c->in == 16 || c->in == 32) && c->stride == 2 &&
           (c->kernel == 3 || c->kernel == 5) && c->padding == c->kernel / 2 && c->height % 2 == 0 &&
           c->width % 2 == 0 && c->height / 2 * (c->width / 2) % PIXELS == 0;
}

template <int Q, int KERNEL>
static int launch(cudaStream_t s, const Conv *c, const bf16 *dy, const bf16 *w, const bf16 *y, bf16 *dx,
                  float *partial) {
    const int room = KERNEL * KERNEL * Q * Q * (int)sizeof(bf16);
    int tiles = c->images * c->height * c->width / PIXELS, blocks = (tiles + BLOCK_WARPS - 1) / BLOCK_WARPS;
    blocks = blocks < MOUTH_BLOCKS ? blocks : MOUTH_BLOCKS;
    auto kernel = branch_data_kernel<Q, KERNEL>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, room);
    kernel<<<blocks, THREADS, room, s>>>(c->images, c->height, c->width, dy, w, y, dx, partial);
    return blocks;
}

int branch_data(cudaStream_t s, const Conv *c, const void *dy, const void *w, const void *y, void *dx, float *partial) {
    auto run = c->in == 16 ? (c->kernel == 3 ? launch<16, 3> : launch<16, 5>)
                           : (c->kernel == 3 ? launch<32, 3> : launch<32, 5>);
    return run(s, c, (const bf16 *)dy, (const bf16 *)w, (const bf16 *)y, (bf16 *)dx, partial);
}
