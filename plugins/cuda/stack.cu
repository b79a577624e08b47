/* Dense layers after the first, with ReLU between them. Rows are processed in pieces of limited memory.
 *
 * Values and slopes of a layer are [rows][width] in double precision. A piece's gradient is a sum over parts of its
 * rows, and pieces are added in order, so that results are the same bytes every time.
 */
#include <algorithm>
#include <new>
#include <stdio.h>

#include "table.h"

enum { LAYERS_MAX = 16, SIDE = 64, DEPTH = 16, EACH = 4, THREADS_SIDE = SIDE / EACH, PARTS = 64 };
static const size_t PIECE_BYTES = (size_t)256 << 20, PIECE_ROWS = 1 << 18;

struct Stack {
    int layers;
    size_t width[LAYERS_MAX + 1];
    size_t at[LAYERS_MAX]; /* first parameter of each layer */
    size_t params, piece;  /* number of parameters; rows per piece */
    double *w, *dw;        /* [params] */
    double *value[LAYERS_MAX + 1], *slope[LAYERS_MAX + 1];
    double *partial; /* [PARTS][from + 1][to], sized for the largest layer */
};

enum Work { FORWARD, BACKWARD, WEIGHTS };

/* C [m][n] = A B, summed over k. FORWARD: A = x, B = W, plus biases, with ReLU if gated. BACKWARD: A = dy, B = W
 * transposed, set to 0 where x, the layer's input, is not positive. WEIGHTS: A = x transposed with a final row of ones,
 * B = dy, over a part of the rows. */
struct Product {
    size_t m, n, k;
    const double *x, *dy, *w, *bias;
    double *c;
    size_t from, to; /* of the layer */
    bool gated;
};

template <Work WORK> static __device__ double a_at(const Product &p, size_t i, size_t k) {
    if (WORK == FORWARD)
        return p.x[i * p.from + k];
    if (WORK == BACKWARD)
        return p.dy[i * p.to + k];
    return i < p.from ? p.x[k * p.from + i] : 1;
}

template <Work WORK> static __device__ double b_at(const Product &p, size_t k, size_t j) {
    if (WORK == FORWARD)
        return p.w[k * p.to + j];
    if (WORK == BACKWARD)
        return p.w[j * p.to + k];
    return p.dy[k * p.to + j];
}

template <Work WORK> static __global__ void product_kernel(const Product p) {
    __shared__ double a[DEPTH][SIDE + 1], b[DEPTH][SIDE + 1];
    const int tx = threadIdx.x % THREADS_SIDE, ty = threadIdx.x / THREADS_SIDE;
    const size_t row0 = (size_t)blockIdx.x * SIDE, column0 = (size_t)blockIdx.y * SIDE;
    const size_t begin = blockIdx.z * p.k / gridDim.z, end = (blockIdx.z + 1) * p.k / gridDim.z;
    double sum[EACH][EACH] = {};
    for (size_t k0 = begin; k0 < end; k0 += DEPTH) {
        for (int i = threadIdx.x; i < DEPTH * SIDE; i += blockDim.x) {
            /* Neighbouring threads read neighbouring addresses. */
            int side = WORK == WEIGHTS ? i % SIDE : i / DEPTH, depth = WORK == WEIGHTS ? i / SIDE : i % DEPTH;
            size_t k = k0 + depth;
            a[depth][side] = row0 + side < p.m && k < end ? a_at<WORK>(p, row0 + side, k) : 0;
            int column = WORK == BACKWARD ? i / DEPTH : i % SIDE, under = WORK == BACKWARD ? i % DEPTH : i / SIDE;
            k = k0 + under;
            b[under][column] = column0 + column < p.n && k < end ? b_at<WORK>(p, k, column0 + column) : 0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    sum[i][j] += a[k][ty + i * THREADS_SIDE] * b[k][tx + j * THREADS_SIDE];
        __syncthreads();
    }
    double *c = p.c + blockIdx.z * p.m * p.n;
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
            size_t row = row0 + ty + i * THREADS_SIDE, column = column0 + tx + j * THREADS_SIDE;
            if (row >= p.m || column >= p.n)
                continue;
            double value = sum[i][j];
            if (WORK == FORWARD)
                value += p.bias[column];
            if (WORK == FORWARD && p.gated)
                value = fmax(value, 0.0);
            if (WORK == BACKWARD && !(p.x[row * p.from + column] > 0))
                value = 0;
            c[row * p.n + column] = value;
        }
}

template <Work WORK> static pv__plugin_code product(cudaStream_t stream, const Product *p, size_t parts, char *why) {
    dim3 grid((unsigned)((p->m + SIDE - 1) / SIDE), (unsigned)((p->n + SIDE - 1) / SIDE), (unsigned)parts);
    product_kernel<WORK><<<grid, THREADS_SIDE * THREADS_SIDE, 0, stream>>>(*p);
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}

static __global__ void relu_kernel(size_t n, double *x) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = fmax(x[i], 0.0);
}

/* dw [n] += the parts of a piece's sum, in order, from parts [count][stride]; every `group` numbers start with `skip`
 * unused ones. */
static __global__ void add_parts(size_t n, size_t count, size_t stride, size_t group, size_t skip, const double *parts,
                                 double *dw) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double total = 0;
    for (size_t part = 0; part < count; part++)
        total += parts[part * stride + i / group * (group + skip) + skip + i % group];
    dw[i] += total;
}

static pv__plugin_code add_up(cudaStream_t stream, size_t n, size_t count, size_t stride, size_t group, size_t skip,
                              const double *parts, double *dw, char *why) {
    add_parts<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(n, count, stride, group, skip, parts, dw);
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static pv__plugin_code take_room(Stack *k, char *why) {
    size_t largest = 0;
    CUDA_TRY(cudaMalloc(&k->w, k->params * sizeof(double)));
    CUDA_TRY(cudaMalloc(&k->dw, k->params * sizeof(double)));
    for (int l = 1; l <= k->layers; l++) {
        CUDA_TRY(cudaMalloc(&k->value[l], k->piece * k->width[l] * sizeof(double)));
        CUDA_TRY(cudaMalloc(&k->slope[l], k->piece * k->width[l] * sizeof(double)));
        if (l > 1)
            largest = std::max(largest, (k->width[l - 1] + 1) * k->width[l]);
    }
    CUDA_TRY(cudaMalloc(&k->partial, PARTS * largest * sizeof(double)));
    return PV_PLUGIN_OK;
}

pv__plugin_code stack_open(const pv__passes_spec *spec, pv__passes *s, char *why) {
    Stack *k = new (std::nothrow) Stack{};
    s->stack = k;
    if (!k || spec->layers > LAYERS_MAX) {
        snprintf(why, PV_PLUGIN_TEXT, k ? "too many layers" : "out of memory");
        return k ? PV_PLUGIN_UNFIT : PV_PLUGIN_MEMORY;
    }
    size_t widths = 0;
    k->layers = spec->layers;
    for (int l = 0; l <= k->layers; l++) {
        k->width[l] = spec->width[l];
        widths += l > 0 ? spec->width[l] : 0;
    }
    for (int l = 0; l < k->layers; l++) {
        k->at[l] = k->params;
        k->params += (k->width[l] + 1) * k->width[l + 1];
    }
    k->piece = std::min(PIECE_ROWS, PIECE_BYTES / (2 * widths * sizeof(double)));
    k->piece = std::max<size_t>(k->piece / 32, 1) * 32;
    k->piece = std::min(k->piece, (spec->n + 31) / 32 * 32);
    return take_room(k, why);
}

void stack_close(Stack *k) {
    if (!k)
        return;
    for (int l = 1; l <= k->layers; l++) {
        cudaFree(k->value[l]);
        cudaFree(k->slope[l]);
    }
    cudaFree(k->w);
    cudaFree(k->dw);
    cudaFree(k->partial);
    delete k;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static pv__plugin_code put_parameters(pv__passes *s, const double *w, char *why) {
    Stack *k = s->stack;
    CODE_TRY(table_vectors(s, k->width[1], w, why));
    CUDA_TRY(cudaMemcpyAsync(k->w, w, k->params * sizeof(double), cudaMemcpyHostToDevice, s->stream));
    return PV_PLUGIN_OK;
}

static Product layer_of(const Stack *k, int l, size_t rows) {
    Product p = {};
    p.from = k->width[l];
    p.to = k->width[l + 1];
    p.x = k->value[l];
    p.dy = k->slope[l + 1];
    p.w = k->w + k->at[l];
    p.bias = p.w + p.from * p.to;
    p.gated = l + 1 < k->layers;
    p.m = p.k = rows;
    return p;
}

static pv__plugin_code forward(pv__passes *s, size_t begin, size_t rows, char *why) {
    Stack *k = s->stack;
    const size_t first = rows * k->width[1];
    CODE_TRY(table_outputs(s, begin / 32, rows, k->width[1], k->value[1], why));
    relu_kernel<<<(unsigned)((first + 255) / 256), 256, 0, s->stream>>>(first, k->value[1]);
    CUDA_TRY(cudaGetLastError());
    for (int l = 1; l < k->layers; l++) {
        Product p = layer_of(k, l, rows);
        p.n = p.to;
        p.k = p.from;
        p.c = k->value[l + 1];
        CODE_TRY(product<FORWARD>(s->stream, &p, 1, why));
    }
    return PV_PLUGIN_OK;
}

static pv__plugin_code backward(pv__passes *s, size_t begin, size_t rows, char *why) {
    Stack *k = s->stack;
    for (int l = k->layers - 1; l > 0; l--) {
        Product p = layer_of(k, l, rows);
        size_t size = (p.from + 1) * p.to;
        p.m = p.from + 1;
        p.n = p.to;
        p.c = k->partial;
        CODE_TRY(product<WEIGHTS>(s->stream, &p, PARTS, why));
        CODE_TRY(add_up(s->stream, size, PARTS, size, size, 0, k->partial, k->dw + k->at[l], why));
        p = layer_of(k, l, rows);
        p.n = p.from;
        p.k = p.to;
        p.c = k->slope[l];
        CODE_TRY(product<BACKWARD>(s->stream, &p, 1, why));
    }
    const size_t width = 1 + k->width[0];
    CODE_TRY(table_sums(s, begin / 32, rows, k->width[1], k->slope[1], why));
    return add_up(s->stream, k->width[1] * width, 1, 0, width, 1, s->result, k->dw, why);
}

pv__plugin_code stack_outputs(pv__passes *s, const double *w, double *out, char *why) {
    Stack *k = s->stack;
    CODE_TRY(put_parameters(s, w, why));
    for (size_t begin = 0; begin < s->pass.n; begin += k->piece) {
        size_t rows = std::min(k->piece, s->pass.n - begin);
        CODE_TRY(forward(s, begin, rows, why));
        CUDA_TRY(cudaMemcpyAsync(out + begin * s->outputs, k->value[k->layers], rows * s->outputs * sizeof(double),
                                 cudaMemcpyDeviceToHost, s->stream));
    }
    CUDA_TRY(cudaStreamSynchronize(s->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code stack_slopes(pv__passes *s, const double *w, const double *dout, double *dw, char *why) {
    Stack *k = s->stack;
    CODE_TRY(put_parameters(s, w, why));
    CUDA_TRY(cudaMemsetAsync(k->dw, 0, k->params * sizeof(double), s->stream));
    for (size_t begin = 0; begin < s->pass.n; begin += k->piece) {
        size_t rows = std::min(k->piece, s->pass.n - begin);
        CODE_TRY(forward(s, begin, rows, why));
        CUDA_TRY(cudaMemcpyAsync(k->slope[k->layers], dout + begin * s->outputs, rows * s->outputs * sizeof(double),
                                 cudaMemcpyHostToDevice, s->stream));
        CODE_TRY(backward(s, begin, rows, why));
    }
    CUDA_TRY(cudaMemcpyAsync(dw, k->dw, k->params * sizeof(double), cudaMemcpyDeviceToHost, s->stream));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
    return PV_PLUGIN_OK;
}
