/* Kernels of the layers other than convolutions (first.cu, any.cu, cuDNN).
 *
 * Elements are processed eight at a time (16 bytes of bf16) if the number of channels is a multiple of eight, else
 * singly.
 */
#include "kernels.h"

/* ---- dropout ----------------------------------------------------------------------------------------------------- */

/* Philox 4x32-10, as in src/core/rng.c. */
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

/* One Philox block provides sixteen bits for each of eight elements in the host's order: pv__dropout_mask. */
static __device__ unsigned draw_eight(const Draws *draws, int node, unsigned threshold, size_t image, size_t block) {
    uint2 key = make_uint2((unsigned)draws->seed, (unsigned)(draws->seed >> 32));
    unsigned long long index = (draws->first + image) * PV_NODES_MAX + (unsigned)node;
    uint4 r = philox(make_uint4((unsigned)block, STREAM_DROPOUT, (unsigned)index, (unsigned)(index >> 32)), key);
    const unsigned word[4] = {r.y, r.x, r.w, r.z};
    unsigned bits = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        bits |= (unsigned)((word[j] & 0xFFFF) >= threshold) << (2 * j);
        bits |= (unsigned)((word[j] >> 16) >= threshold) << (2 * j + 1);
    }
    return bits;
}

static __global__ void draw_kernel(const Draws *draws, int node, unsigned threshold, int images, size_t bytes,
                                   uint8_t *mask) {
    EACH(i, images * bytes)
    mask[i] = (uint8_t)draw_eight(draws, node, threshold, i / bytes, i % bytes);
}

/* Processes eight pixels of eight channels at a time, transposed to eight channels of eight pixels. */
static __global__ void draw_turned_kernel(const Draws *draws, int node, unsigned threshold, int images, int plane,
                                          int channels, uint8_t *mask) {
    size_t groups = channels / 8, eights = plane / 8, bytes = groups * plane;
    EACH(i, images * groups * eights) {
        size_t group = i % groups, eight = i / groups % eights, image = i / groups / eights;
        unsigned long long x = 0, t;
#pragma unroll
        for (int c = 0; c < 8; c++)
            x |= (unsigned long long)draw_eight(draws, node, threshold, image, (group * 8 + c) * eights + eight)
                 << (8 * c);
        t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAull;
        x ^= t ^ (t << 7);
        t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCull;
        x ^= t ^ (t << 14);
        t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ull;
        x ^= t ^ (t << 28);
#pragma unroll
        for (int p = 0; p < 8; p++)
            mask[image * bytes + (eight * 8 + p) * groups + group] = (uint8_t)(x >> (8 * p));
    }
}

/* Whether a byte of the mask covers eight channels of a pixel; with a single pixel that is also the host's order. */
static bool is_turned(int plane, int channels) {
    return channels % 8 == 0 && (plane % 8 == 0 || plane == 1);
}

void draw_masks(cudaStream_t s, const Draws *draws, int node, double probability, int images, int plane, int channels,
                uint8_t *mask) {
    size_t bytes = mask_bytes((size_t)plane * channels);
    unsigned threshold = (unsigned)lround(probability * 65536);
    if (is_turned(plane, channels) && plane > 1)
        draw_turned_kernel<<<blocks_for(images * bytes / 8), THREADS, 0, s>>>(draws, node, threshold, images, plane,
                                                                              channels, mask);
    else
        draw_kernel<<<blocks_for(images * bytes), THREADS, 0, s>>>(draws, node, threshold, images, bytes, mask);
}

/* ---- after a convolution ----------------------------------------------------------------------------------------- */

template <typename T, int V, bool BIAS>
static __global__ void bias_relu_kernel(size_t packs, int plane, int channels, const float *bias, const uint8_t *mask,
                                        bool turned, float scale, const T *x, Slice slice, T *y) {
    Count<V> groups = channels / V, whole = slice.whole / V;
    size_t bytes = ((size_t)plane * slice.whole + 7) / 8;
    EACH_AS(Count<V>, i, packs) {
        Count<V> pixel = i / groups, image = pixel / plane, at = pixel % plane;
        int c = (int)(i % groups) * V;
        size_t to = (size_t)pixel * whole + (slice.at + c) / V;
        Pack<T, V> v = reinterpret_cast<const Pack<T, V> *>(x)[i];
        size_t first = ((size_t)pixel * slice.whole + slice.at + c); /* position if the mask is transposed */
        unsigned eight = mask && turned ? mask[first / 8] >> (first % 8) : 0;
#pragma unroll
        for (int j = 0; j < V; j++) {
            float z = BIAS ? fmaxf((float)v.at[j] + bias[c + j], 0.0f) : (float)v.at[j];
            if (mask && turned)
                z = eight >> j & 1 ? z * scale : 0.0f;
            else if (mask) {
                size_t e = (size_t)(slice.at + c + j) * plane + at;
                z = mask[image * bytes + (e >> 3)] >> (e & 7) & 1 ? z * scale : 0.0f;
            }
            v.at[j] = (T)z;
        }
        reinterpret_cast<Pack<T, V> *>(y)[to] = v;
    }
}

template <typename T, int V>
static void bias_relu_packs(cudaStream_t s, size_t packs, int plane, int channels, const float *bias,
                            const uint8_t *mask, float scale, const T *x, Slice slice, T *y) {
    int blocks = blocks_for(packs);
    bool turned = is_turned(plane, slice.whole);
    if (bias)
        bias_relu_kernel<T, V, true>
            <<<blocks, THREADS, 0, s>>>(packs, plane, channels, bias, mask, turned, scale, x, slice, y);
    else
        bias_relu_kernel<T, V, false>
            <<<blocks, THREADS, 0, s>>>(packs, plane, channels, bias, mask, turned, scale, x, slice, y);
}

static bool in_eights(int channels, Slice slice) {
    return channels % 8 == 0 && slice.at % 8 == 0 && slice.whole % 8 == 0;
}

void bias_relu(cudaStream_t s, bool half, int images, int plane, int channels, const float *bias, const uint8_t *mask,
               float scale, const void *x, Slice slice, void *y) {
    size_t n = (size_t)images * plane * channels;
    if (in_eights(channels, slice))
        DISPATCH(half,
                 (bias_relu_packs<T, 8>(s, n / 8, plane, channels, bias, mask, scale, (const T *)x, slice, (T *)y)));
    else
        DISPATCH(half, (bias_relu_packs<T, 1>(s, n, plane, channels, bias, mask, scale, (const T *)x, slice, (T *)y)));
}

/* out[i] = sum over blocks of partial[block][n]: a column of threads per i, with all loads in flight together. */
static __global__ void sum_kernel(int blocks, size_t n, const float *partial, float *out) {
    __shared__ float held[WARP][WARP + 1];
    size_t i = blockIdx.x * (size_t)WARP + threadIdx.x;
    float sum = 0;
#pragma unroll
    for (int turn = 0; turn < (BLOCKS + WARP - 1) / WARP; turn++) {
        int b = turn * WARP + (int)threadIdx.y;
        sum += i < n && b < blocks ? partial[b * n + i] : 0.0f;
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

void sum_blocks(cudaStream_t s, int blocks, size_t n, const float *partial, float *out) {
    sum_kernel<<<(unsigned)((n + WARP - 1) / WARP), dim3(WARP, WARP), 0, s>>>(blocks, n, partial, out);
}

/* A thread has one group of channels and loops over pixels, several at a time so that their loads overlap. */
template <typename T, int V>
static __global__ void gate_kernel(size_t pixels, int channels, float scale, const T *y, const T *from, Slice slice,
                                   T *dy, float *partial) {
    enum { TOGETHER = V == 1 ? 1 : 16 / sizeof(T) / 2 };
    __shared__ float held[THREADS][V + 1];
    int all = channels / V, most = all < THREADS ? all : THREADS, first = blockIdx.y * most;
    int groups = all - first < most ? all - first : most;
    int lanes = THREADS / most, lane = threadIdx.x / most, group = threadIdx.x % most;
    bool works = lane < lanes && group < groups;
    float sum[V] = {0};
    size_t step = (size_t)gridDim.x * lanes;
    for (size_t p = blockIdx.x * (size_t)lanes + lane; works && p < pixels; p += TOGETHER * step) {
        Pack<T, V> v[TOGETHER], d[TOGETHER];
#pragma unroll
        for (int n = 0; n < TOGETHER; n++) {
            size_t pixel = p + n * step < pixels ? p + n * step : p;
            size_t i = (pixel * slice.whole + slice.at) / V + first + group;
            v[n] = reinterpret_cast<const Pack<T, V> *>(y)[i];
            d[n] = reinterpret_cast<const Pack<T, V> *>(from)[i];
        }
#pragma unroll
        for (int n = 0; n < TOGETHER; n++) {
            if (p + n * step >= pixels)
                break;
#pragma unroll
            for (int j = 0; j < V; j++) {
                d[n].at[j] = (float)v[n].at[j] > 0.0f ? (T)((float)d[n].at[j] * scale) : (T)0.0f;
                sum[j] += (float)d[n].at[j];
            }
            reinterpret_cast<Pack<T, V> *>(dy)[(p + n * step) * all + first + group] = d[n];
        }
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

void gate(cudaStream_t s, bool half, int images, int plane, int channels, float scale, const void *y, const void *from,
          Slice slice, void *dy, float *partial) {
    size_t pixels = (size_t)images * plane;
    int width = in_eights(channels, slice) ? 8 : 1, groups = channels / width;
    dim3 grid(BLOCKS, (unsigned)((groups + THREADS - 1) / THREADS));
    if (width == 8)
        DISPATCH(half, (gate_kernel<T, 8><<<grid, THREADS, 0, s>>>(pixels, channels, scale, (const T *)y,
                                                                   (const T *)from, slice, (T *)dy, partial)));
    else
        DISPATCH(half, (gate_kernel<T, 1><<<grid, THREADS, 0, s>>>(pixels, channels, scale, (const T *)y,
                                                                   (const T *)from, slice, (T *)dy, partial)));
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

/* ---- max pooling and concatenation ------------------------------------------------------------------------------- */

template <typename T, int V> static __global__ void maxpool_kernel(Conv c, const T *x, T *y, uint8_t *from) {
    Count<V> groups = c.out / V;
    EACH_AS(Count<V>, i, (Count<V>)c.images * c.out_height * c.out_width * groups) {
        Count<V> pixel = i / groups, line = pixel / c.out_width, image = line / c.out_height;
        int k = (int)(i % groups), q = (int)(pixel % c.out_width), p = (int)(line % c.out_height);
        Pack<T, V> most;
        Pack<uint8_t, V> best;
        bool any = false;
        for (int t = 0; t < c.kernel * c.kernel; t++) {
            int h = p * c.stride + t / c.kernel - c.padding, v = q * c.stride + t % c.kernel - c.padding;
            if (h < 0 || h >= c.height || v < 0 || v >= c.width)
                continue;
            Pack<T, V> value =
                reinterpret_cast<const Pack<T, V> *>(x)[(((size_t)image * c.height + h) * c.width + v) * groups + k];
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

/* The same for 3x3, with all nine loads in flight together. */
template <typename T, int V> static __global__ void maxpool_nine_kernel(Conv c, const T *x, T *y, uint8_t *from) {
    Count<V> groups = c.out / V;
    EACH_AS(Count<V>, i, (Count<V>)c.images * c.out_height * c.out_width * groups) {
        Count<V> pixel = i / groups, line = pixel / c.out_width, image = line / c.out_height;
        int k = (int)(i % groups), h = (int)(line % c.out_height) * c.stride - c.padding;
        int v = (int)(pixel % c.out_width) * c.stride - c.padding;
        Pack<T, V> value[TAPS], most;
        Pack<uint8_t, V> best;
        bool any = false;
#pragma unroll
        for (int t = 0; t < TAPS; t++) {
            int p = min(max(h + t / 3, 0), c.height - 1), q = min(max(v + t % 3, 0), c.width - 1);
            value[t] =
                reinterpret_cast<const Pack<T, V> *>(x)[(((size_t)image * c.height + p) * c.width + q) * groups + k];
        }
#pragma unroll
        for (int t = 0; t < TAPS; t++) {
            if (h + t / 3 < 0 || h + t / 3 >= c.height || v + t % 3 < 0 || v + t % 3 >= c.width)
                continue;
#pragma unroll
            for (int j = 0; j < V; j++)
                if (!any || (float)value[t].at[j] > (float)most.at[j]) {
                    most.at[j] = value[t].at[j];
                    best.at[j] = (uint8_t)t;
                }
            any = true;
        }
        reinterpret_cast<Pack<T, V> *>(y)[i] = most;
        reinterpret_cast<Pack<uint8_t, V> *>(from)[i] = best;
    }
}

/* Each input collects the gradients of the windows whose maximum it is. */
template <typename T, int V>
static __global__ void maxpool_backward_kernel(Conv c, const T *dy, const uint8_t *from, bool adds, T *dx) {
    Count<V> groups = c.in / V;
    EACH_AS(Count<V>, i, (Count<V>)c.images * c.height * c.width * groups) {
        Count<V> pixel = i / groups, line = pixel / c.width, image = line / c.height;
        int k = (int)(i % groups), v = (int)(pixel % c.width), h = (int)(line % c.height);
        int first_p = h + c.padding - c.kernel + 1, first_q = v + c.padding - c.kernel + 1;
        first_p = first_p > 0 ? (first_p + c.stride - 1) / c.stride : 0;
        first_q = first_q > 0 ? (first_q + c.stride - 1) / c.stride : 0;
        float sum[V] = {0};
        for (int p = first_p; p * c.stride <= h + c.padding && p < c.out_height; p++)
            for (int q = first_q; q * c.stride <= v + c.padding && q < c.out_width; q++) {
                int t = (h + c.padding - p * c.stride) * c.kernel + v + c.padding - q * c.stride;
                size_t at = (((size_t)image * c.out_height + p) * c.out_width + q) * groups + k;
                Pack<uint8_t, V> which = reinterpret_cast<const Pack<uint8_t, V> *>(from)[at];
                Pack<T, V> d = reinterpret_cast<const Pack<T, V> *>(dy)[at];
#pragma unroll
                for (int j = 0; j < V; j++)
                    sum[j] += which.at[j] == t ? (float)d.at[j] : 0.0f;
            }
        Pack<T, V> out = {};
        if (adds)
            out = reinterpret_cast<const Pack<T, V> *>(dx)[i];
#pragma unroll
        for (int j = 0; j < V; j++)
            out.at[j] = (T)((float)out.at[j] + sum[j]);
        reinterpret_cast<Pack<T, V> *>(dx)[i] = out;
    }
}

void maxpool_forward(cudaStream_t s, bool half, const Conv *c, const void *x, void *y, uint8_t *from) {
    size_t n = (size_t)c->images * c->out_height * c->out_width * c->out;
    if (c->out % 8 == 0 && c->kernel == 3)
        DISPATCH(half,
                 (maxpool_nine_kernel<T, 8><<<blocks_for(n / 8), THREADS, 0, s>>>(*c, (const T *)x, (T *)y, from)));
    else if (c->out % 8 == 0)
        DISPATCH(half, (maxpool_kernel<T, 8><<<blocks_for(n / 8), THREADS, 0, s>>>(*c, (const T *)x, (T *)y, from)));
    else
        DISPATCH(half, (maxpool_kernel<T, 1><<<blocks_for(n), THREADS, 0, s>>>(*c, (const T *)x, (T *)y, from)));
}

void maxpool_backward(cudaStream_t s, bool half, const Conv *c, const void *dy, const uint8_t *from, bool adds,
                      void *dx) {
    size_t n = (size_t)c->images * c->height * c->width * c->in;
    if (c->in % 8 == 0)
        DISPATCH(half, (maxpool_backward_kernel<T, 8>
                        <<<blocks_for(n / 8), THREADS, 0, s>>>(*c, (const T *)dy, from, adds, (T *)dx)));
    else
        DISPATCH(half, (maxpool_backward_kernel<T, 1>
                        <<<blocks_for(n), THREADS, 0, s>>>(*c, (const T *)dy, from, adds, (T *)dx)));
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
