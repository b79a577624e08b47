/* Passes over the rows of a table in device memory.
 *
 * Rows are stored in single precision in tiles of 32, each by columns: [tile][inputs][32]. A block loads a tile into
 * shared memory, where it is read twice: first each lane computes the product of one row with w, then each lane sums x
 * times slope over one column. A pass with gradient thus reads the matrix from device memory once. All arithmetic and
 * sums are in double precision. Tiles belong to groups whose sums are added in order; the number of groups depends on
 * the number of rows only, so results are the same bytes every time, on any device.
 */
#include <algorithm>
#include <new>
#include <stdio.h>

#include "table.h"

enum { PITCH = 33, SUM_THREADS = 256, AT_ONCE = 4 };

enum Mode { LOGISTIC, OUTPUTS, SLOPES };

/* Number of columns of a warp, which is even, since weights are read in pairs. */
static __device__ int span_of(int warps, int inputs) {
    return ((inputs + warps - 1) / warps + 1) / 2 * 2;
}

/* Size of a block's shared memory, which contains, in this order, doubles: weights [inputs + 1][V] and a zero column,
 * each warp's partial products [warps][V][32], the slopes of its rows [warps][32][V]; then the tile [inputs][PITCH] in
 * floats. */
static __host__ __device__ size_t weights_size(int inputs, int V) {
    return (size_t)(inputs + 2 + inputs % 2) * V;
}

static size_t block_memory(int warps, int inputs, int V) {
    return (weights_size(inputs, V) + (size_t)2 * warps * V * 32) * sizeof(double) +
           (size_t)std::max(inputs, 1) * PITCH * sizeof(float);
}

/* Loads a warp's own columns of a tile: in the products each lane reads only what it wrote itself. */
static __device__ void fetch(const TablePass &p, size_t tile, int first, int last, int lane, float *to) {
    const float *from = p.x + tile * p.inputs * 32;
#pragma unroll 8
    for (int c = first; c < last; c++)
        asm volatile(
            "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to + c * PITCH + lane)),
            "l"(from + c * 32 + lane));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;");
}

/* Loss and slope of a row, like logistic_loss in compute.h. */
static __device__ double row_loss(const TablePass &p, double v, int label, double z, double *slope) {
    double s = z + p.shift, tail = exp(-fabs(s));
    *slope = v * ((s > 0 ? 1 : tail) / (1 + tail) - label);
    return v * (fmax(s, 0.0) + log1p(tail) - label * s);
}

/* Products of a lane's row with V vectors, w [columns][V], over a warp's columns, with separate sums for even and odd
 * ones. */
template <int V>
static __device__ void products(const double *w, const float *tile, int first, int last, int lane, double *z) {
    double even[V] = {}, odd[V] = {};
    int c = first;
#pragma unroll 4
    for (; c + 1 < last; c += 2) {
        const double2 *pair = (const double2 *)(w + c * V);
        double weight[2 * V], x0 = tile[c * PITCH + lane], x1 = tile[(c + 1) * PITCH + lane];
#pragma unroll
        for (int i = 0; i < V; i++) {
            double2 two = pair[i];
            weight[2 * i] = two.x;
            weight[2 * i + 1] = two.y;
        }
#pragma unroll
        for (int v = 0; v < V; v++) {
            even[v] += weight[v] * x0;
            odd[v] += weight[V + v] * x1;
        }
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
        if (c < last)
            even[v] += w[c * V + v] * tile[c * PITCH + lane];
        z[v] = even[v] + odd[v];
    }
}

/* Adds the rows' slopes [32][V] times x to a lane's two columns, with separate sums for even and odd rows. */
template <int V>
static __device__ void add_rows(const double *slopes, const float *one, const float *other, double (*sum)[2][V]) {
#pragma unroll 4
    for (int r = 0; r < 32; r += 2) {
        const double2 *pair = (const double2 *)(slopes + r * V);
        double slope[2 * V];
#pragma unroll
        for (int i = 0; i < V; i++) {
            double2 two = pair[i];
            slope[2 * i] = two.x;
            slope[2 * i + 1] = two.y;
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            double x0 = one[r + half], x1 = other[r + half];
#pragma unroll
            for (int v = 0; v < V; v++) {
                sum[half][0][v] += slope[half * V + v] * x0;
                sum[half][1][v] += slope[half * V + v] * x1;
            }
        }
    }
}

static __device__ double sum_lanes(double x) {
    for (int half = 16; half > 0; half /= 2)
        x += __shfl_xor_sync(0xffffffff, x, half);
    return x;
}

template <Mode MODE, int V> static __global__ void pass_kernel(const TablePass p) {
    extern __shared__ double2 room[];
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int span = span_of(warps, p.inputs), first = min(warp * span, p.inputs), last = min(first + span, p.inputs);
    double *w = (double *)room, *part = w + weights_size(p.inputs, V), *slopes = part + (warps + warp) * V * 32;
    float *tile = (float *)(part + 2 * warps * V * 32);
    for (int i = threadIdx.x; i < (1 + p.inputs) * V && MODE != SLOPES; i += blockDim.x) {
        int c = i / V, v = i % V; /* the bias is last */
        w[i] = v < p.count ? p.w[v * (1 + p.inputs) + (c < p.inputs ? 1 + c : 0)] : 0;
    }
    __syncthreads();
    double sum[2][2][V] = {}, value[V] = {}, bias[V] = {};
    const int mine = first + lane, next = mine + 32;
    const float *one = tile + max(min(mine, last - 1), 0) * PITCH, *other = tile + max(min(next, last - 1), 0) * PITCH;
    size_t begin = blockIdx.x * p.tiles / gridDim.x, end = (blockIdx.x + 1) * p.tiles / gridDim.x;
    for (size_t t = begin; t < end; t++) {
        fetch(p, t, first, last, lane, tile);
        const size_t row = t * 32 + lane;
        const bool inside = row < p.n;
        double z[V], slope[V];
        if (MODE != SLOPES) {
            products<V>(w, tile, first, last, lane, z);
            if (warps > 1) {
#pragma unroll
                for (int v = 0; v < V; v++)
                    part[(warp * V + v) * 32 + lane] = z[v];
                __syncthreads();
#pragma unroll
                for (int v = 0; v < V; v++) {
                    z[v] = 0;
                    for (int i = 0; i < warps; i++)
                        z[v] += part[(i * V + v) * 32 + lane];
                }
                __syncthreads();
            }
        }
        int label = MODE == LOGISTIC && inside ? p.label[row] : 0;
        double weight =
            MODE != LOGISTIC || !inside ? 0 : (p.weight ? p.weight[row] : 1) * (label ? p.factor[1] : p.factor[0]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            if (MODE == SLOPES) {
                slope[v] = inside && v < p.count ? p.rows[row * p.stride + v * p.apart] : 0;
            } else {
                z[v] += w[p.inputs * V + v];
                if (MODE == LOGISTIC)
                    value[v] += row_loss(p, weight, label, z[v], &slope[v]);
                else if (inside && warp == 0 && v < p.count)
                    p.rows[row * p.stride + v * p.apart] = z[v];
            }
            if (MODE != OUTPUTS) {
                bias[v] += slope[v];
                slopes[lane * V + v] = slope[v];
            }
        }
        __syncwarp(); /* the tile's columns belong to this warp, but their rows were loaded by other lanes */
        if (MODE != OUTPUTS)
            add_rows<V>(slopes, one, other, sum);
        __syncwarp();
    }
    if (MODE == OUTPUTS)
        return;
    double *to = p.partial + (size_t)blockIdx.x * p.count * (2 + p.inputs);
#pragma unroll
    for (int v = 0; v < V; v++) {
        double whole = sum_lanes(value[v]), slope = sum_lanes(bias[v]);
        if (v >= p.count)
            break;
        if (threadIdx.x == 0) {
            to[0] = whole;
            to[1] = slope;
        }
        if (mine < last)
            to[2 + mine] = sum[0][0][v] + sum[1][0][v];
        if (next < last)
            to[2 + next] = sum[0][1][v] + sum[1][1][v];
        to += 2 + p.inputs;
    }
}

/* result [width]: sum of each entry over the groups, in order, with SUM_THREADS entries in parallel. */
static __global__ void sum_groups(size_t groups, size_t width, const double *partial, double *result) {
    __shared__ double part[SUM_THREADS];
    double total = 0;
    for (size_t g = threadIdx.x; g < groups; g += SUM_THREADS)
        total += partial[g * width + blockIdx.x];
    part[threadIdx.x] = total;
    for (int half = SUM_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        result[blockIdx.x] = part[0];
}

/* Number of groups: enough to fill the device, with several tiles each if possible, since every group's sums are read
 * again. */
static size_t groups_of(size_t tiles) {
    const size_t few = 4096, most = 16384;
    return tiles <= few ? tiles : std::min(std::max(few, tiles / 4), most);
}

/* ---- host -------------------------------------------------------------------------------------------------------- */

static pv__plugin_code make_room(pv__passes *s, size_t count, char *why) {
    const size_t width = 2 + s->matrix->inputs;
    if (count <= s->count)
        return PV_PLUGIN_OK;
    for (double **old : {&s->w, &s->partial, &s->result}) {
        cudaFree(*old);
        *old = nullptr;
    }
    s->count = 0;
    CUDA_TRY(cudaMalloc(&s->w, count * width * sizeof(double)));
    CUDA_TRY(cudaMalloc(&s->result, count * width * sizeof(double)));
    CUDA_TRY(cudaMalloc(&s->partial, s->groups * std::min<size_t>(count, AT_ONCE) * width * sizeof(double)));
    s->count = count;
    return PV_PLUGIN_OK;
}

template <typename T, typename F>
static pv__plugin_code copy_in(size_t n, const F *from, T **to, cudaStream_t stream, char *why) {
    CUDA_TRY(cudaMalloc(to, std::max<size_t>(n, 1) * sizeof(T)));
    if (sizeof(T) == sizeof(F)) {
        CUDA_TRY(cudaMemcpyAsync(*to, from, n * sizeof(T), cudaMemcpyHostToDevice, stream));
        CUDA_TRY(cudaStreamSynchronize(stream));
        return PV_PLUGIN_OK;
    }
    T *narrow = new (std::nothrow) T[n];
    if (!narrow) {
        snprintf(why, PV_PLUGIN_TEXT, "out of memory");
        return PV_PLUGIN_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        narrow[i] = (T)from[i];
    cudaError_t error = cudaMemcpyAsync(*to, narrow, n * sizeof(T), cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    delete[] narrow;
    CUDA_TRY(error);
    return PV_PLUGIN_OK;
}

static pv__plugin_code prepare(pv__passes *s, const pv__passes_spec *spec, char *why) {
    int device, most;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    for (auto kernel : {pass_kernel<LOGISTIC, 1>, pass_kernel<OUTPUTS, 1>, pass_kernel<SLOPES, 1>,
                        pass_kernel<LOGISTIC, AT_ONCE>, pass_kernel<OUTPUTS, AT_ONCE>, pass_kernel<SLOPES, AT_ONCE>})
        CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CUDA_TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    if (spec->label)
        CODE_TRY(copy_in(spec->n, spec->label, &s->label, s->stream, why));
    if (spec->label && spec->weight)
        CODE_TRY(copy_in(spec->n, spec->weight, &s->weight, s->stream, why));
    s->pass.label = s->label;
    s->pass.weight = s->weight;
    if (spec->each)
        CODE_TRY(tied_open(spec, s, why));
    return spec->layers > 1 ? stack_open(spec, s, why) : PV_PLUGIN_OK;
}

pv__plugin_code passes_open(const pv__passes_spec *spec, pv__passes **passes, char *why) {
    pv__passes *s = new (std::nothrow) pv__passes{};
    *passes = s;
    if (!s) {
        snprintf(why, PV_PLUGIN_TEXT, "out of memory");
        return PV_PLUGIN_MEMORY;
    }
    s->matrix = spec->matrix;
    s->outputs = spec->width[spec->layers];
    s->warps = std::max(1, (s->matrix->inputs + WARP_COLUMNS - 1) / WARP_COLUMNS);
    s->pass.x = s->matrix->x;
    s->pass.n = spec->n;
    s->pass.tiles = (spec->n + 31) / 32;
    s->pass.inputs = s->matrix->inputs;
    s->pass.factor[0] = spec->factor[0];
    s->pass.factor[1] = spec->factor[1];
    s->pass.shift = spec->shift;
    s->groups = std::max<size_t>(groups_of(s->pass.tiles), 1);
    pv__plugin_code code = prepare(s, spec, why);
    if (code != PV_PLUGIN_OK) {
        passes_close(s);
        *passes = nullptr;
    }
    return code;
}

void passes_close(pv__passes *s) {
    if (!s)
        return;
    for (void *each :
         {(void *)s->label, (void *)s->weight, (void *)s->w, (void *)s->partial, (void *)s->result, (void *)s->rows})
        cudaFree(each);
    stack_close(s->stack);
    tied_close(s->tied);
    spreads_close(s->spreads);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    delete s;
}

template <Mode MODE, int V> static void launch(const pv__passes *s, const TablePass *p, size_t groups) {
    pass_kernel<MODE, V><<<(unsigned)groups, s->warps * 32, block_memory(s->warps, p->inputs, V), s->stream>>>(*p);
}

/* Runs a pass over n rows from a tile on, with `count` vectors in s->w: writes outputs to rows [n][count] or, by
 * vector, [count][n]; or sums to s->result. */
template <Mode MODE>
static pv__plugin_code run(pv__passes *s, size_t tile, size_t n, size_t count, bool by_vector, double *rows,
                           char *why) {
    const size_t width = 2 + s->matrix->inputs;
    TablePass p = s->pass;
    p.x += tile * 32 * s->matrix->inputs;
    p.n = n;
    p.tiles = (n + 31) / 32;
    p.partial = s->partial;
    p.stride = by_vector ? 1 : count;
    p.apart = by_vector ? n : 1;
    const size_t groups = groups_of(p.tiles);
    for (size_t done = 0; done < count; done += p.count) {
        p.count = (int)std::min<size_t>(count - done, AT_ONCE);
        p.w = s->w + done * (width - 1);
        p.rows = rows + done * p.apart;
        p.count == 1 ? launch<MODE, 1>(s, &p, groups) : launch<MODE, AT_ONCE>(s, &p, groups);
        CUDA_TRY(cudaGetLastError());
        if (MODE == OUTPUTS)
            continue;
        sum_groups<<<(unsigned)(p.count * width), SUM_THREADS, 0, s->stream>>>(groups, p.count * width, s->partial,
                                                                               s->result + done * width);
        CUDA_TRY(cudaGetLastError());
    }
    return PV_PLUGIN_OK;
}

pv__plugin_code table_outputs(pv__passes *s, size_t tile, size_t n, size_t count, double *out, char *why) {
    return run<OUTPUTS>(s, tile, n, count, false, out, why);
}

pv__plugin_code table_sums(pv__passes *s, size_t tile, size_t n, size_t count, double *dout, char *why) {
    return run<SLOPES>(s, tile, n, count, false, dout, why);
}

pv__plugin_code table_outputs_by_vector(pv__passes *s, size_t count, double *out, char *why) {
    return run<OUTPUTS>(s, 0, s->pass.n, count, true, out, why);
}

pv__plugin_code table_sums_by_vector(pv__passes *s, size_t count, double *dout, char *why) {
    return run<SLOPES>(s, 0, s->pass.n, count, true, dout, why);
}

pv__plugin_code table_bring(pv__passes *s, size_t count, double *value, double *dw, char *why) {
    const size_t width = 2 + s->matrix->inputs;
    if (value)
        CUDA_TRY(cudaMemcpy2DAsync(value, sizeof(double), s->result, width * sizeof(double), sizeof(double), count,
                                   cudaMemcpyDeviceToHost, s->stream));
    CUDA_TRY(cudaMemcpy2DAsync(dw, (width - 1) * sizeof(double), s->result + 1, width * sizeof(double),
                               (width - 1) * sizeof(double), count, cudaMemcpyDeviceToHost, s->stream));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code table_vectors(pv__passes *s, size_t count, const double *w, char *why) {
    CODE_TRY(make_room(s, count, why));
    CUDA_TRY(
        cudaMemcpyAsync(s->w, w, count * (1 + s->matrix->inputs) * sizeof(double), cudaMemcpyHostToDevice, s->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code passes_logistic(pv__passes *s, size_t count, const double *w, double *value, double *dw, char *why) {
    CODE_TRY(table_vectors(s, count, w, why));
    CODE_TRY(run<LOGISTIC>(s, 0, s->pass.n, count, false, nullptr, why));
    return table_bring(s, count, value, dw, why);
}

static pv__plugin_code row_room(pv__passes *s, char *why) {
    if (!s->rows)
        CUDA_TRY(cudaMalloc(&s->rows, s->pass.n * s->outputs * sizeof(double)));
    return PV_PLUGIN_OK;
}

pv__plugin_code passes_outputs(pv__passes *s, const double *w, double *out, char *why) {
    if (s->stack)
        return stack_outputs(s, w, out, why);
    CODE_TRY(row_room(s, why));
    CODE_TRY(table_vectors(s, s->outputs, w, why));
    CODE_TRY(run<OUTPUTS>(s, 0, s->pass.n, s->outputs, false, s->rows, why));
    CUDA_TRY(cudaMemcpyAsync(out, s->rows, s->pass.n * s->outputs * sizeof(double), cudaMemcpyDeviceToHost, s->stream));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code passes_slopes(pv__passes *s, const double *w, const double *dout, double *dw, char *why) {
    if (s->stack)
        return stack_slopes(s, w, dout, dw, why);
    CODE_TRY(row_room(s, why));
    CODE_TRY(make_room(s, s->outputs, why));
    CUDA_TRY(
        cudaMemcpyAsync(s->rows, dout, s->pass.n * s->outputs * sizeof(double), cudaMemcpyHostToDevice, s->stream));
    CODE_TRY(run<SLOPES>(s, 0, s->pass.n, s->outputs, false, s->rows, why));
    return table_bring(s, s->outputs, nullptr, dw, why);
}
