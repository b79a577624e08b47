/* Predictions of rows of two labels from draws of w: the mean of a label's probability, and the bounds of an interval.
 *
 * Rows are processed in pieces. First the log odds of each row at every draw are computed, [rows][draws]; then one
 * block per row loads its draws into shared memory, sums them in a fixed order and, for the bounds, sorts them. Since a
 * probability increases with the log odds, sorting these once is sufficient for both labels.
 */
#include <algorithm>
#include <new>
#include <stdio.h>

#include "table.h"

enum { TILE_ROWS = 32, HALF_ROWS = TILE_ROWS / 2, ROWS_TOGETHER = 8, SPREAD_THREADS = 256 };
static const size_t PIECE_BYTES = (size_t)64 << 20;
static const double DEEP =
    -640; /* like predict/predict_draws.c: below this, an exponential could underflow in a mean */

struct Spreads {
    size_t draws, outputs, piece; /* allocated sizes; rows per piece */
    double *w;                    /* [1 + inputs][draws], the bias first */
    double *shift;                /* [outputs][draws] */
    double *odds;                 /* [piece][draws] */
    pv__spread_of_row *of;        /* [piece][2] */
};

/* odds [tiles x 32][draws] from halves of tiles: each thread computes one draw for several rows at a time. */
static __global__ void odds_kernel(const float *x, int inputs, size_t draws, const double *w, double *odds) {
    extern __shared__ double half[]; /* [inputs][HALF_ROWS] */
    const int offset = blockIdx.z * HALF_ROWS;
    const float *from = x + (size_t)blockIdx.x * inputs * TILE_ROWS + offset;
    for (int i = threadIdx.x; i < inputs * HALF_ROWS; i += blockDim.x)
        half[i] = from[i / HALF_ROWS * TILE_ROWS + i % HALF_ROWS];
    __syncthreads();
    const size_t s = (size_t)blockIdx.y * blockDim.x + threadIdx.x;
    if (s >= draws)
        return;
    for (int first = 0; first < HALF_ROWS; first += ROWS_TOGETHER) {
        double z[ROWS_TOGETHER];
#pragma unroll
        for (int r = 0; r < ROWS_TOGETHER; r++)
            z[r] = w[s];
        for (int c = 0; c < inputs; c++) {
            double weight = w[(size_t)(1 + c) * draws + s];
#pragma unroll
            for (int r = 0; r < ROWS_TOGETHER; r++)
                z[r] += weight * half[c * HALF_ROWS + first + r];
        }
        double *to = odds + ((size_t)blockIdx.x * TILE_ROWS + offset + first) * draws + s;
#pragma unroll
        for (int r = 0; r < ROWS_TOGETHER; r++)
            to[r * draws] = z[r];
    }
}

static __device__ double label_one(double z) {
    double tail = exp(-fabs(z));
    return (z > 0 ? 1 : tail) / (1 + tail);
}

/* log p of label 1. */
static __device__ double log_one(double z) {
    return fmin(z, 0.0) - log1p(exp(-fabs(z)));
}

/* Sum over the block in a fixed order; every thread gets it. */
static __device__ double sum_block(double x, double *room) {
    __syncthreads();
    room[threadIdx.x] = x;
    for (int half = SPREAD_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            room[threadIdx.x] += room[threadIdx.x + half];
    }
    __syncthreads();
    return room[0];
}

static __device__ double most_of_block(double x, double *room) {
    __syncthreads();
    room[threadIdx.x] = x;
    for (int half = SPREAD_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            room[threadIdx.x] = fmax(room[threadIdx.x], room[threadIdx.x + half]);
    }
    __syncthreads();
    return room[0];
}

/* Sorts z [size], a power of two, in increasing order by bitonic sort, whose steps do not depend on the values. */
static __device__ void sort_block(double *z, int size) {
    for (int run = 2; run <= size; run *= 2)
        for (int step = run / 2; step > 0; step /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < size / 2; i += blockDim.x) {
                int a = (i / step) * 2 * step + i % step, b = a + step;
                double left = z[a], right = z[b];
                bool up = (a & run) == 0;
                if ((left > right) == up) {
                    z[a] = right;
                    z[b] = left;
                }
            }
        }
    __syncthreads();
}

/* p at a fractional index of the sorted log odds, by linear interpolation; sign -1: of label 0, whose order is
 * reversed. */
static __device__ double place_of(const double *z, int draws, double at, double sign) {
    int below = (int)floor(at), next = min(below + 1, draws - 1);
    double low = label_one(sign * z[sign > 0 ? below : draws - 1 - below]);
    double high = label_one(sign * z[sign > 0 ? next : draws - 1 - next]);
    return at == below ? low : low + (at - below) * (high - low);
}

struct SpreadRows {
    size_t draws, size; /* size: draws rounded up to a power of two */
    const double *odds, *shift;
    bool ends;
    double low, high;
    pv__spread_of_row *of; /* [rows][2] */
};

static __device__ pv__spread_of_row mean_of(const SpreadRows &p, const double *z, double sign, double *room) {
    double sum = 0, top = -HUGE_VAL;
    for (size_t s = threadIdx.x; s < p.draws; s += blockDim.x) {
        sum += label_one(sign * z[s]);
        top = fmax(top, log_one(sign * z[s]));
    }
    pv__spread_of_row of = {};
    of.mean = sum_block(sum, room) / (double)p.draws;
    top = most_of_block(top, room);
    of.log_mean = log(of.mean);
    if (top < DEEP && !isinf(top)) {
        double rest = 0;
        for (size_t s = threadIdx.x; s < p.draws; s += blockDim.x)
            rest += exp(log_one(sign * z[s]) - top);
        of.log_mean = top + log(sum_block(rest, room) / (double)p.draws);
    }
    return of;
}

static __global__ void spread_kernel(const SpreadRows p) {
    extern __shared__ double z[]; /* [size], then one number per thread */
    double *room = z + p.size;
    const double *odds = p.odds + blockIdx.x * p.draws;
    for (size_t s = threadIdx.x; s < p.size; s += blockDim.x)
        z[s] = s < p.draws ? odds[s] + p.shift[s] : HUGE_VAL;
    __syncthreads();
    pv__spread_of_row zero = mean_of(p, z, -1, room), one = mean_of(p, z, 1, room);
    if (p.ends) {
        sort_block(z, (int)p.size);
        zero.low = place_of(z, (int)p.draws, p.low, -1);
        zero.high = place_of(z, (int)p.draws, p.high, -1);
        one.low = place_of(z, (int)p.draws, p.low, 1);
        one.high = place_of(z, (int)p.draws, p.high, 1);
    }
    if (threadIdx.x == 0) {
        p.of[2 * blockIdx.x] = zero;
        p.of[2 * blockIdx.x + 1] = one;
    }
}

/* ---- host -------------------------------------------------------------------------------------------------------- */

static size_t power_above(size_t n) {
    size_t size = 2;
    while (size < n)
        size *= 2;
    return size;
}

static void free_room(Spreads *k) {
    for (void *each : {(void *)k->w, (void *)k->shift, (void *)k->odds, (void *)k->of})
        cudaFree(each);
    *k = {};
}

void spreads_close(Spreads *k) {
    if (!k)
        return;
    free_room(k);
    delete k;
}

static pv__plugin_code take_room(pv__passes *s, const pv__spread_spec *spec, char *why) {
    Spreads *k = s->spreads;
    if (k->draws == spec->draws && k->outputs >= spec->outputs)
        return PV_PLUGIN_OK;
    free_room(k);
    const size_t tiles = std::max<size_t>(PIECE_BYTES / (spec->draws * sizeof(double)) / TILE_ROWS, 1);
    const size_t piece = std::min<size_t>(tiles, s->pass.tiles) * TILE_ROWS;
    CUDA_TRY(cudaMalloc(&k->w, (1 + s->matrix->inputs) * spec->draws * sizeof(double)));
    CUDA_TRY(cudaMalloc(&k->shift, spec->outputs * spec->draws * sizeof(double)));
    CUDA_TRY(cudaMalloc(&k->odds, piece * spec->draws * sizeof(double)));
    CUDA_TRY(cudaMalloc(&k->of, piece * 2 * sizeof(pv__spread_of_row)));
    const int shared = (int)((DRAWS_MOST + SPREAD_THREADS) * sizeof(double));
    CUDA_TRY(cudaFuncSetAttribute(spread_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    CUDA_TRY(cudaFuncSetAttribute(odds_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  INPUTS_MOST * HALF_ROWS * (int)sizeof(double)));
    k->draws = spec->draws;
    k->outputs = spec->outputs;
    k->piece = piece;
    return PV_PLUGIN_OK;
}

/* Transposes the draws' weights so that neighbouring threads read neighbouring draws. */
static pv__plugin_code put_draws(pv__passes *s, const pv__spread_spec *spec, char *why) {
    const size_t width = 1 + s->matrix->inputs;
    double *turned = new (std::nothrow) double[width * spec->draws];
    if (!turned) {
        snprintf(why, PV_PLUGIN_TEXT, "out of memory");
        return PV_PLUGIN_MEMORY;
    }
    for (size_t d = 0; d < spec->draws; d++)
        for (size_t i = 0; i < width; i++)
            turned[i * spec->draws + d] = spec->w[d * width + i];
    cudaError_t error = cudaMemcpy(s->spreads->w, turned, width * spec->draws * sizeof(double), cudaMemcpyHostToDevice);
    delete[] turned;
    CUDA_TRY(error);
    CUDA_TRY(cudaMemcpy(s->spreads->shift, spec->shift, spec->outputs * spec->draws * sizeof(double),
                        cudaMemcpyHostToDevice));
    return PV_PLUGIN_OK;
}

/* Processes the rows of a piece, from `begin` on. */
static pv__plugin_code run_piece(pv__passes *s, const pv__spread_spec *spec, size_t begin, size_t rows, size_t stride,
                                 pv__spread_of_row *of, char *why) {
    Spreads *k = s->spreads;
    const int inputs = s->matrix->inputs;
    const dim3 grid((unsigned)((rows + TILE_ROWS - 1) / TILE_ROWS),
                    (unsigned)((spec->draws + SPREAD_THREADS - 1) / SPREAD_THREADS), TILE_ROWS / HALF_ROWS);
    odds_kernel<<<grid, SPREAD_THREADS, (size_t)std::max(inputs, 1) * HALF_ROWS * sizeof(double), s->stream>>>(
        s->matrix->x + begin * inputs, inputs, spec->draws, k->w, k->odds);
    CUDA_TRY(cudaGetLastError());
    for (size_t o = 0; o < spec->outputs; o++) {
        const SpreadRows p = {spec->draws,   spec->ends[o] ? power_above(spec->draws) : spec->draws,
                              k->odds,       k->shift + o * spec->draws,
                              spec->ends[o], spec->low,
                              spec->high,    k->of};
        spread_kernel<<<(unsigned)rows, SPREAD_THREADS, (p.size + SPREAD_THREADS) * sizeof(double), s->stream>>>(p);
        CUDA_TRY(cudaGetLastError());
        CUDA_TRY(cudaMemcpyAsync(of + o * stride * 2, k->of, rows * 2 * sizeof *of, cudaMemcpyDeviceToHost, s->stream));
    }
    CUDA_TRY(cudaStreamSynchronize(s->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code spreads_run(pv__passes *s, const pv__spread_spec *spec, size_t begin, size_t rows,
                            pv__spread_of_row *of, char *why) {
    if (spec->draws < 1 || spec->draws > DRAWS_MOST || s->stack) {
        snprintf(why, PV_PLUGIN_TEXT, "too many draws, or layers");
        return PV_PLUGIN_UNFIT;
    }
    if (!s->spreads)
        s->spreads = new (std::nothrow) Spreads{};
    if (!s->spreads) {
        snprintf(why, PV_PLUGIN_TEXT, "out of memory");
        return PV_PLUGIN_MEMORY;
    }
    CODE_TRY(take_room(s, spec, why));
    CODE_TRY(put_draws(s, spec, why));
    for (size_t done = 0; done < rows; done += s->spreads->piece) {
        size_t n = std::min(s->spreads->piece, rows - done);
        CODE_TRY(run_piece(s, spec, begin + done, n, rows, of + done * 2, why));
    }
    return PV_PLUGIN_OK;
}
