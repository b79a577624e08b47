/* A table's rows in device memory. */
#include <algorithm>
#include <new>
#include <stdio.h>
#include <thread>

#include "table.h"

/* Stores rows [n][inputs] in tiles; the last one is padded with zeros. */
static __global__ void tile_rows(size_t n, int inputs, const float *rows, float *to) {
    size_t tile = blockIdx.x;
    for (int i = threadIdx.x; i < inputs * 32; i += blockDim.x) {
        size_t row = tile * 32 + i % 32;
        to[(tile * inputs + i / 32) * 32 + i % 32] = row < n ? rows[row * inputs + i / 32] : 0;
    }
}

pv__plugin_code matrix_open(size_t n, size_t inputs, pv__matrix **matrix, char *why) {
    pv__matrix *made = new (std::nothrow) pv__matrix{};
    *matrix = made;
    if (!made) {
        snprintf(why, PV_PLUGIN_TEXT, "out of memory");
        return PV_PLUGIN_MEMORY;
    }
    made->n = n;
    made->inputs = (int)inputs;
    made->tiles = (n + 31) / 32;
    CUDA_TRY(cudaMalloc(&made->x, std::max<size_t>(made->tiles * 32 * inputs, 1) * sizeof(float)));
    return PV_PLUGIN_OK;
}

/* One of several threads that fill a matrix, with its own pinned memory; it converts rows to floats while earlier ones
 * are being copied. */
struct Filler {
    enum { BYTES = 4 << 20, TURNS = 2 };
    float *host[TURNS] = {}, *there[TURNS] = {};
    cudaEvent_t done[TURNS] = {};
    cudaStream_t stream = nullptr;
    char why[PV_PLUGIN_TEXT] = "";
    pv__plugin_code code = PV_PLUGIN_OK;

    pv__plugin_code open() {
        if (stream)
            return PV_PLUGIN_OK;
        CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        for (int i = 0; i < TURNS; i++) {
            CUDA_TRY(cudaMallocHost(&host[i], BYTES));
            CUDA_TRY(cudaMalloc(&there[i], BYTES));
            CUDA_TRY(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
        }
        return PV_PLUGIN_OK;
    }
    /* Stores x [rows][inputs] in the tiles from `to` on. */
    pv__plugin_code fill(int inputs, size_t rows, const double *x, float *to) {
        const size_t most_rows = BYTES / sizeof(float) / 32 / inputs * 32;
        int turn = 0;
        for (size_t begin = 0; begin < rows; begin += most_rows, turn = (turn + 1) % TURNS) {
            size_t n = std::min(most_rows, rows - begin);
            CUDA_TRY(cudaEventSynchronize(done[turn]));
            const double *from = x + begin * inputs;
            int beyond = 0; /* an integer instead of a flag, so that the loop can be vectorised */
            for (size_t i = 0; i < n * inputs; i++) {
                float x = (float)from[i];
                host[turn][i] = x;
                beyond += x - x != 0;
            }
            if (beyond) {
                snprintf(why, PV_PLUGIN_TEXT, "a number of the table is beyond single precision");
                return PV_PLUGIN_UNFIT;
            }
            CUDA_TRY(
                cudaMemcpyAsync(there[turn], host[turn], n * inputs * sizeof(float), cudaMemcpyHostToDevice, stream));
            tile_rows<<<(unsigned)((n + 31) / 32), 256, 0, stream>>>(n, inputs, there[turn], to + begin * inputs);
            CUDA_TRY(cudaGetLastError());
            CUDA_TRY(cudaEventRecord(done[turn], stream));
        }
        CUDA_TRY(cudaStreamSynchronize(stream));
        return PV_PLUGIN_OK;
    }
    ~Filler() {
        for (int i = 0; i < TURNS; i++) {
            cudaFreeHost(host[i]);
            cudaFree(there[i]);
            if (done[i])
                cudaEventDestroy(done[i]);
        }
        if (stream)
            cudaStreamDestroy(stream);
    }
};

pv__plugin_code matrix_fill(pv__matrix *matrix, size_t begin, size_t rows, const double *x, char *why) {
    enum { THREADS_MOST = 12, ROWS_EACH = 1 << 14 };
    const size_t inputs = matrix->inputs, cores = std::max(1u, std::thread::hardware_concurrency());
    const size_t threads = std::min<size_t>({THREADS_MOST, cores, rows / ROWS_EACH + 1});
    const size_t each = ((rows + threads - 1) / threads + 31) / 32 * 32;
    if (inputs == 0 || rows == 0)
        return PV_PLUGIN_OK;
    if (!matrix->fillers)
        matrix->fillers = new (std::nothrow) Filler[THREADS_MOST];
    if (!matrix->fillers) {
        snprintf(why, PV_PLUGIN_TEXT, "out of memory");
        return PV_PLUGIN_MEMORY;
    }
    std::thread team[THREADS_MOST];
    auto work = [&](size_t t) {
        size_t from = std::min(rows, t * each), to = std::min(rows, from + each);
        Filler *f = &matrix->fillers[t];
        f->code = f->open();
        if (f->code == PV_PLUGIN_OK)
            f->code = f->fill((int)inputs, to - from, x + from * inputs, matrix->x + (begin + from) * inputs);
    };
    for (size_t t = 1; t < threads; t++)
        try {
            team[t] = std::thread(work, t);
        } catch (...) { /* no further threads can be created: continue on this one */
            work(t);
        }
    work(0);
    for (size_t t = 1; t < threads; t++)
        if (team[t].joinable())
            team[t].join();
    pv__plugin_code code = PV_PLUGIN_OK;
    for (size_t t = 0; t < threads && code == PV_PLUGIN_OK; t++) {
        code = matrix->fillers[t].code;
        memcpy(why, matrix->fillers[t].why, PV_PLUGIN_TEXT);
    }
    if (begin + rows == matrix->n) { /* no longer needed */
        delete[] matrix->fillers;
        matrix->fillers = nullptr;
    }
    return code;
}

void matrix_close(pv__matrix *matrix) {
    if (!matrix)
        return;
    delete[] matrix->fillers;
    cudaFree(matrix->x);
    delete matrix;
}
