/* Kernels of the layers: all but the convolutions that cuDNN does.
 *
 * Elements are taken eight at a time where channels come in eights (16 bytes of bf16), else one by one.
 */
#include "cuda.h"

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

static int blocks_for(size_t n) {
    size_t blocks = (n + THREADS - 1) / THREADS;
    return (int)(blocks < 1 ? 1 : blocks > 4 * BLOCKS ? 4 * BLOCKS : blocks);
}

#define EACH(i, n)                                                                                                     \
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (n); i += (size_t)gridDim.x * blockDim.x)

/* V neighbours as one access. */
template <typename T, int V> struct alignas(sizeof(T) * V) Pack { T at[V]; };

/* ---- dropout ----------------------------------------------------------------------------------------------------- */

/* Philox 4x32-10, as src/core/rng.c has it. */
static __device__ uint4 philox(uint4 c, uint2 k) {
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
        k.x += 0x9E3779B9u;
        k.y += 0xBB67AE85u;
    }
    return c;
}

size_t mask_bytes(size_t size) {
    return (size + 7) / 8;
}

enum { STREAM_DROPOUT = 31 }; /* PV_STREAM_DROPOUT */

/* One block of draws is sixteen bits for each of eight elements: pv__dropout_mask. */
static __global__ void draw_kernel(const Draws *draws, int node, unsigned threshold, int images, size_t bytes,
                                   uint8_t *mask) {
    uint2 key = make_uint2((unsigned)draws->seed, (unsigned)(draws->seed >> 32));
    EACH(i, images * bytes) {
        unsigned long long index = (draws->first + i / bytes) * PV_NODES_MAX + (unsigned)node;
        uint4 r =
            philox(make_uint4((unsigned)(i % bytes), STREAM_DROPOUT, (unsigned)index, (unsigned)(index >> 32)), key);
        const unsigned word[4] = {r.y, r.x, r.w, r.z};
        unsigned bits = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            bits |= (unsigned)((word[j] & 0xFFFF) >= threshold) << (2 * j);
            bits |= (unsigned)((word[j] >> 16) >= threshold) << (2 * j + 1);
        }
        mask[i] = (uint8_t)bits;
    }
}

void draw_masks(cudaStream_t s, const Draws *draws, int node, double probability, int images, size_t size,
                uint8_t *mask) {
    size_t bytes = mask_bytes(size);
    draw_kernel<<<blocks_for(images * bytes), THREADS, 0, s>>>(draws, node, (unsigned)lround(probability * 65536),
                                                               images, bytes, mask);
}

/* ---- after a convolution ----------------------------------------------------------------------------------------- */

template <typename T, int V, bool BIAS>
static __global__ void bias_relu_kernel(size_t packs, int plane, int channels, const float *bias, const uint8_t *mask,
                                        float scale, T *y) {
    int groups = channels / V;
    size_t bytes = ((size_t)plane * channels + 7) / 8;
    EACH(i, packs) {
        int c = (int)(i % groups) * V;
        size_t pixel = i / groups, image = pixel / plane, at = pixel % plane;
        Pack<T, V> v = reinterpret_cast<const Pack<T, V> *>(y)[i];
#pragma unroll
        for (int j = 0; j < V; j++) {
            float z = BIAS ? fmaxf((float)v.at[j] + bias[c + j], 0.0f) : (float)v.at[j];
            if (mask) {
                size_t e = (size_t)(c + j) * plane + at;
                z = mask[image * bytes + (e >> 3)] >> (e & 7) & 1 ? z * scale : 0.0f;
            }
            v.at[j] = (T)z;
        }
        reinterpret_cast<Pack<T, V> *>(y)[i] = v;
    }
}

template <typename T, int V>
static void bias_relu_packs(cudaStream_t s, size_t packs, int plane, int channels, const float *bias,
                            const uint8_t *mask, float scale, T *y) {
    int blocks = blocks_for(packs);
    if (bias)
        bias_relu_kernel<T, V, true><<<blocks, THREADS, 0, s>>>(packs, plane, channels, bias, mask, scale, y);
    else
        bias_relu_kernel<T, V, false><<<blocks, THREADS, 0, s>>>(packs, plane, channels, bias, mask, scale, y);
}

void bias_relu(cudaStream_t s, bool half, int images, int plane, int channels, const float *bias, const uint8_t *mask,
               float scale, void *y) {
    size_t n = (size_t)images * plane * channels;
    if (channels % 8 == 0)
        DISPATCH(half, (bias_relu_packs<T, 8>(s, n / 8, plane, channels, bias, mask, scale, (T *)y)));
    else
        DISPATCH(half, (bias_relu_packs<T, 1>(s, n, plane, channels, bias, mask, scale, (T *)y)));
}

enum { WARP = 32 };

/* out[i] = sum over blocks of partial[block][n]: a column of threads for each i, all loads under way at once. */
static __global__ void sum_kernel(size_t n, const float *partial, float *out) {
    __shared__ float held[WARP][WARP + 1];
    size_t i = blockIdx.x * (size_t)WARP + threadIdx.x;
    float sum = 0;
#pragma unroll
    for (int turn = 0; turn < (BLOCKS + WARP - 1) / WARP; turn++) {
        int b = turn * WARP + (int)threadIdx.y;
        sum += i < n && b < BLOCKS ? partial[b * n + i] : 0.0f;
    }
    held[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || i >= n)
        return;
#pragma unroll
    for (int b = 1; b < WARP; b++)
        sum += held[b][threadIdx.x];
    out[i] = sum;
}

void sum_blocks(cudaStream_t s, size_t n, const float *partial, float *out) {
    sum_kernel<<<(unsigned)((n + WARP - 1) / WARP), dim3(WARP, WARP), 0, s>>>(n, partial, out);
}

/* A thread has one group of channels and goes through pixels. */
template <typename T, int V>
static __global__ void gate_kernel(size_t pixels, int channels, float scale, const T *y, T *dy, float *partial) {
    __shared__ float held[THREADS][V + 1];
    int all = channels / V, most = all < THREADS ? all : THREADS, first = blockIdx.y * most;
    int groups = all - first < most ? all - first : most;
    int lanes = THREADS / most, lane = threadIdx.x / most, group = threadIdx.x % most;
    bool works = lane < lanes && group < groups;
    float sum[V] = {0};
    for (size_t p = blockIdx.x * (size_t)lanes + lane; works && p < pixels; p += (size_t)gridDim.x * lanes) {
        size_t i = p * all + first + group;
        Pack<T, V> v = reinterpret_cast<const Pack<T, V> *>(y)[i], d = reinterpret_cast<const Pack<T, V> *>(dy)[i];
#pragma unroll
        for (int j = 0; j < V; j++) {
            d.at[j] = (float)v.at[j] > 0.0f ? (T)((float)d.at[j] * scale) : (T)0.0f;
            sum[j] += (float)d.at[j];
        }
        reinterpret_cast<Pack<T, V> *>(dy)[i] = d;
    }
#pragma unroll
    for (int j = 0; j < V; j++)
        held[threadIdx.x][j] = sum[j];
    __syncthreads();
    for (int c = threadIdx.x; partial && c < groups * V; c += THREADS) {
        float total = 0;
        for (int l = 0; l < lanes; l++)
            total += held[l * most + c / V][c % V];
        partial[(size_t)blockIdx.x * channels + (size_t)first * V + c] = total;
    }
}

void gate(cudaStream_t s, bool half, int images, int plane, int channels, float scale, const void *y, void *dy,
          float *partial) {
    size_t pixels = (size_t)images * plane;
    int width = channels % 8 == 0 ? 8 : 1, groups = channels / width;
    dim3 grid(BLOCKS, (unsigned)((groups + THREADS - 1) / THREADS));
    if (width == 8)
        DISPATCH(half,
                 (gate_kernel<T, 8><<<grid, THREADS, 0, s>>>(pixels, channels, scale, (const T *)y, (T *)dy, partial)));
    else
        DISPATCH(half,
                 (gate_kernel<T, 1><<<grid, THREADS, 0, s>>>(pixels, channels, scale, (const T *)y, (T *)dy, partial)));
}

template <typename T, int V> static __global__ void add_kernel(size_t packs, const T *x, T *sum) {
    EACH(i, packs) {
        Pack<T, V> a = reinterpret_cast<const Pack<T, V> *>(x)[i], b = reinterpret_cast<const Pack<T, V> *>(sum)[i];
#pragma unroll
        for (int j = 0; j < V; j++)
            b.at[j] = (T)((float)b.at[j] + (float)a.at[j]);
        reinterpret_cast<Pack<T, V> *>(sum)[i] = b;
    }
}

void add(cudaStream_t s, bool half, size_t n, const void *x, void *sum) {
    if (n % 8 == 0)
        DISPATCH(half, (add_kernel<T, 8><<<blocks_for(n / 8), THREADS, 0, s>>>(n / 8, (const T *)x, (T *)sum)));
    else
        DISPATCH(half, (add_kernel<T, 1><<<blocks_for(n), THREADS, 0, s>>>(n, (const T *)x, (T *)sum)));
}

/* ---- the first layer --------------------------------------------------------------------------------------------- */

/* What a block's shared memory holds. */
enum { FIRST_MOST = 512, WIDTH_MOST = 512 };

bool first_fits(const Conv *c) {
    return c->in == 1 && c->kernel == 3 && c->stride == 1 && c->padding == 1 && c->out % 8 == 0 &&
           c->out <= FIRST_MOST && c->width <= WIDTH_MOST;
}

/* Blocks take tiles of some rows of an image, which they hold with the pixels around them. */
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

/* A thread keeps the weights of eight channels in registers and goes through pixels. */
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

void first_forward(cudaStream_t s, bool half, const Conv *c, const float *x, const float *w, const float *bias,
                   void *y) {
    DISPATCH(half, (first_kernel<T><<<BLOCKS, THREADS, tile_bytes(c), s>>>(tiles_of(c), c->height, c->width, c->out, x,
                                                                           w, bias, (T *)y)));
}

/* dw[c][t] = sum over pixels of dy[c] x[t], dbias[c] = sum of dy[c], dy where y is above 0. A thread has V channels:
 * few enough that the registers of many threads suffice. */
template <typename T, int V>
static __global__ void first_backward_kernel(int tiles, int height, int width, int channels, const float *x, const T *y,
                                             const T *dy, float *partial) {
    extern __shared__ float tile[]; /* then held [channels][TAPS + 1] */
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
    int turns = lanes, own = lane; /* one after the other: the same order every time */
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
    sum_blocks(s, n, partial, dw);
}

/* ---- any convolution --------------------------------------------------------------------------------------------- */

template <typename T, typename X> static __global__ void any_forward_kernel(Conv c, const X *x, const T *w, T *y) {
    EACH(i, (size_t)c.images * c.out_height * c.out_width * c.out) {
        int k = (int)(i % c.out), q = (int)(i / c.out % c.out_width), p = (int)(i / c.out / c.out_width % c.out_height);
        size_t image = i / c.out / c.out_width / c.out_height;
        float sum = 0;
        for (int r = 0; r < c.kernel; r++)
            for (int t = 0; t < c.kernel; t++) {
                int h = p * c.stride + r - c.padding, v = q * c.stride + t - c.padding;
                if (h < 0 || h >= c.height || v < 0 || v >= c.width)
                    continue;
                const X *from = x + ((image * c.height + h) * c.width + v) * c.in;
                const T *taps = w + (((size_t)k * c.kernel + r) * c.kernel + t) * c.in;
                for (int j = 0; j < c.in; j++)
                    sum = fmaf((float)from[j], (float)taps[j], sum);
            }
        y[i] = (T)sum;
    }
}

template <typename T> static __global__ void any_data_kernel(Conv c, const T *dy, const T *w, T *dx) {
    EACH(i, (size_t)c.images * c.height * c.width * c.in) {
        int j = (int)(i % c.in), v = (int)(i / c.in % c.width), h = (int)(i / c.in / c.width % c.height);
        size_t image = i / c.in / c.width / c.height;
        float sum = 0;
        for (int r = 0; r < c.kernel; r++)
            for (int t = 0; t < c.kernel; t++) {
                int p = h + c.padding - r, q = v + c.padding - t;
                if (p < 0 || q < 0 || p % c.stride || q % c.stride || p / c.stride >= c.out_height ||
                    q / c.stride >= c.out_width)
                    continue;
                const T *from = dy + ((image * c.out_height + p / c.stride) * c.out_width + q / c.stride) * c.out;
                const T *taps = w + ((size_t)r * c.kernel + t) * c.in + j;
                for (int k = 0; k < c.out; k++)
                    sum = fmaf((float)from[k], (float)taps[(size_t)k * c.kernel * c.kernel * c.in], sum);
            }
        dx[i] = (T)sum;
    }
}

/* A block for each weight. */
template <typename T, typename X>
static __global__ void any_weights_kernel(Conv c, const X *x, const T *dy, float *dw) {
    __shared__ float held[THREADS];
    size_t i = blockIdx.x, out = (size_t)c.out_height * c.out_width, pixels = c.images * out;
    int j = (int)(i % c.in), t = (int)(i / c.in % c.kernel), r = (int)(i / c.in / c.kernel % c.kernel);
    int k = (int)(i / c.in / c.kernel / c.kernel);
    float sum = 0;
    for (size_t at = threadIdx.x; at < pixels; at += THREADS) {
        int q = (int)(at % c.out_width), p = (int)(at / c.out_width % c.out_height);
        int h = p * c.stride + r - c.padding, v = q * c.stride + t - c.padding;
        if (h >= 0 && h < c.height && v >= 0 && v < c.width)
            sum = fmaf((float)dy[at * c.out + k], (float)x[((at / out * c.height + h) * c.width + v) * c.in + j], sum);
    }
    held[threadIdx.x] = sum;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            held[threadIdx.x] += held[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        dw[i] = held[0];
}

void any_forward(cudaStream_t s, bool half, bool float_x, const Conv *c, const void *x, const void *w, void *y) {
    int blocks = blocks_for((size_t)c->images * c->out_height * c->out_width * c->out);
    if (float_x)
        DISPATCH(half,
                 (any_forward_kernel<T, float><<<blocks, THREADS, 0, s>>>(*c, (const float *)x, (const T *)w, (T *)y)));
    else
        DISPATCH(half, (any_forward_kernel<T, T><<<blocks, THREADS, 0, s>>>(*c, (const T *)x, (const T *)w, (T *)y)));
}

void any_data(cudaStream_t s, bool half, const Conv *c, const void *dy, const void *w, void *dx) {
    int blocks = blocks_for((size_t)c->images * c->height * c->width * c->in);
    DISPATCH(half, (any_data_kernel<T><<<blocks, THREADS, 0, s>>>(*c, (const T *)dy, (const T *)w, (T *)dx)));
}

void any_weights(cudaStream_t s, bool half, bool float_x, const Conv *c, const void *x, const void *dy, float *dw) {
    unsigned weights = (unsigned)c->out * (unsigned)(c->kernel * c->kernel * c->in);
    if (float_x)
        DISPATCH(half,
                 (any_weights_kernel<T, float><<<weights, THREADS, 0, s>>>(*c, (const float *)x, (const T *)dy, dw)));
    else
        DISPATCH(half, (any_weights_kernel<T, T><<<weights, THREADS, 0, s>>>(*c, (const T *)x, (const T *)dy, dw)));
}

/* ---- maxima and concatenation ------------------------------------------------------------------------------------ */

template <typename T, int V> static __global__ void maxpool_kernel(Conv c, const T *x, T *y, uint8_t *from) {
    int groups = c.out / V;
    EACH(i, (size_t)c.images * c.out_height * c.out_width * groups) {
        size_t pixel = i / groups, image = pixel / ((size_t)c.out_height * c.out_width);
        int k = (int)(i % groups), q = (int)(pixel % c.out_width), p = (int)(pixel / c.out_width % c.out_height);
        Pack<T, V> most;
        Pack<uint8_t, V> best;
        bool any = false;
        for (int t = 0; t < c.kernel * c.kernel; t++) {
            int h = p * c.stride + t / c.kernel - c.padding, v = q * c.stride + t % c.kernel - c.padding;
            if (h < 0 || h >= c.height || v < 0 || v >= c.width)
                continue;
            Pack<T, V> value =
                reinterpret_cast<const Pack<T, V> *>(x)[((image * c.height + h) * c.width + v) * groups + k];
#pragma unroll
            for (int j = 0; j < V; j++)
                if (!any || (float)value.at[j] > (float)most.at[j]) {
                    most.at[j] = value.at[j];
                    best.at[j] = (uint8_t)t;
                }
            any = true;
        }
        reinterpret_cast<Pack<T, V> *>(y)[i] = most;
        reinterpret_cast<Pack<uint8_t, V> *>(from)[i] = best;
    }
}

/* Each input takes the slopes of the windows whose largest it is. */
template <typename T, int V>
static __global__ void maxpool_backward_kernel(Conv c, const T *dy, const uint8_t *from, T *dx) {
    int groups = c.in / V;
    EACH(i, (size_t)c.images * c.height * c.width * groups) {
        size_t pixel = i / groups, image = pixel / ((size_t)c.height * c.width);
        int k = (int)(i % groups), v = (int)(pixel % c.width), h = (int)(pixel / c.width % c.height);
        int first_p = h + c.padding - c.kernel + 1, first_q = v + c.padding - c.kernel + 1;
        first_p = first_p > 0 ? (first_p + c.stride - 1) / c.stride : 0;
        first_q = first_q > 0 ? (first_q + c.stride - 1) / c.stride : 0;
        float sum[V] = {0};
        for (int p = first_p; p * c.stride <= h + c.padding && p < c.out_height; p++)
            for (int q = first_q; q * c.stride <= v + c.padding && q < c.out_width; q++) {
                int t = (h + c.padding - p * c.stride) * c.kernel + v + c.padding - q * c.stride;
                size_t at = ((image * c.out_height + p) * c.out_width + q) * groups + k;
                Pack<uint8_t, V> which = reinterpret_cast<const Pack<uint8_t, V> *>(from)[at];
                Pack<T, V> d = reinterpret_cast<const Pack<T, V> *>(dy)[at];
#pragma unroll
                for (int j = 0; j < V; j++)
                    sum[j] += which.at[j] == t ? (float)d.at[j] : 0.0f;
            }
        Pack<T, V> out;
#pragma unroll
        for (int j = 0; j < V; j++)
            out.at[j] = (T)sum[j];
        reinterpret_cast<Pack<T, V> *>(dx)[i] = out;
    }
}

void maxpool_forward(cudaStream_t s, bool half, const Conv *c, const void *x, void *y, uint8_t *from) {
    size_t n = (size_t)c->images * c->out_height * c->out_width * c->out;
    if (c->out % 8 == 0)
        DISPATCH(half, (maxpool_kernel<T, 8><<<blocks_for(n / 8), THREADS, 0, s>>>(*c, (const T *)x, (T *)y, from)));
    else
        DISPATCH(half, (maxpool_kernel<T, 1><<<blocks_for(n), THREADS, 0, s>>>(*c, (const T *)x, (T *)y, from)));
}

void maxpool_backward(cudaStream_t s, bool half, const Conv *c, const void *dy, const uint8_t *from, void *dx) {
    size_t n = (size_t)c->images * c->height * c->width * c->in;
    if (c->in % 8 == 0)
        DISPATCH(half, (maxpool_backward_kernel<T, 8>
                        <<<blocks_for(n / 8), THREADS, 0, s>>>(*c, (const T *)dy, from, (T *)dx)));
    else
        DISPATCH(half,
                 (maxpool_backward_kernel<T, 1><<<blocks_for(n), THREADS, 0, s>>>(*c, (const T *)dy, from, (T *)dx)));
}

/* Sizes in packs. */
template <typename P>
static __global__ void channels_kernel(size_t pixels, int part, int at, int whole, P *narrow, P *wide, bool in) {
    EACH(i, pixels * part) {
        size_t j = i / part * whole + at + i % part;
        if (in)
            wide[j] = narrow[i];
        else
            narrow[i] = wide[j];
    }
}

static void move_channels(cudaStream_t s, bool half, size_t pixels, int part, int at, int whole, void *narrow,
                          void *wide, bool in) {
    if (part % 8 == 0 && at % 8 == 0 && whole % 8 == 0)
        DISPATCH(half, (channels_kernel<<<blocks_for(pixels * part / 8), THREADS, 0, s>>>(
                           pixels, part / 8, at / 8, whole / 8, (Pack<T, 8> *)narrow, (Pack<T, 8> *)wide, in)));
    else
        DISPATCH(half, (channels_kernel<<<blocks_for(pixels * part), THREADS, 0, s>>>(pixels, part, at, whole,
                                                                                      (T *)narrow, (T *)wide, in)));
}

void channels_in(cudaStream_t s, bool half, size_t pixels, int part, int at, int whole, const void *x, void *y) {
    move_channels(s, half, pixels, part, at, whole, (void *)x, y, true);
}

void channels_out(cudaStream_t s, bool half, size_t pixels, int part, int at, int whole, const void *dy, void *dx) {
    move_channels(s, half, pixels, part, at, whole, dx, (void *)dy, false);
}

/* ---- between host and device ------------------------------------------------------------------------------------- */

template <typename A, typename B> static __global__ void convert_kernel(size_t n, const A *from, B *to) {
    EACH(i, n)
    to[i] = (B)from[i];
}

static __global__ void scatter_in_kernel(size_t n, const int *host, const double *from, float *to) {
    EACH(i, n)
    to[i] = host[i] < 0 ? 0.0f : (float)from[host[i]];
}

static __global__ void scatter_out_kernel(size_t n, const int *host, const float *from, double *to) {
    EACH(i, n)
    if (host[i] >= 0)
        to[host[i]] = (double)from[i];
}

void narrow(cudaStream_t s, size_t n, const double *from, float *to) {
    convert_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, from, to);
}

void scatter_in(cudaStream_t s, size_t n, const int *host, const double *from, float *to) {
    scatter_in_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, host, from, to);
}

void scatter_out(cudaStream_t s, size_t n, const int *host, const float *from, double *to) {
    scatter_out_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, host, from, to);
}

void to_half(cudaStream_t s, size_t n, const float *from, bf16 *to) {
    convert_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, from, to);
}

void from_half(cudaStream_t s, size_t n, const bf16 *from, float *to) {
    convert_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, from, to);
}

template <typename T>
static __global__ void tensor_kernel(size_t n, int plane, int channels, T *own, double *host, bool out) {
    EACH(i, n) {
        size_t c = i % channels, pixel = i / channels, image = pixel / plane;
        size_t there = (image * channels + c) * plane + pixel % plane;
        if (out)
            host[there] = (double)(float)own[i];
        else
            own[i] = (T)(float)host[there];
    }
}

void tensor_out(cudaStream_t s, bool half, int images, int plane, int channels, const void *from, double *to) {
    size_t n = (size_t)images * plane * channels;
    DISPATCH(half, (tensor_kernel<T><<<blocks_for(n), THREADS, 0, s>>>(n, plane, channels, (T *)from, to, true)));
}

void tensor_in(cudaStream_t s, bool half, int images, int plane, int channels, const double *from, void *to) {
    size_t n = (size_t)images * plane * channels;
    DISPATCH(half,
             (tensor_kernel<T><<<blocks_for(n), THREADS, 0, s>>>(n, plane, channels, (T *)to, (double *)from, false)));
}
