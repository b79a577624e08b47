/* The linear auxiliary network, updated together with the parameters it depends on: log q = A^T (w - o) + b, as in
 * src/core/auxiliary.c.
 *
 * A step changes A and o, as decided by loss.cu, before w changes, and needs A^T (w - o) afterwards. For up to eight
 * classes all of that happens in the pass in which Adam updates w; for more classes there are separate passes over A
 * and o before and after it.
 */
#include <string.h>

#include "adam.h"
#include "net.h"

/* Number of classes processed together. */
enum { GROUP = 8 };

/* Sums total [K] over all threads into sum [count][AUXILIARY_BLOCKS]. */
template <int K> static __device__ void keep_sums(int count, const double *total, double *sum) {
#pragma unroll
    for (int y = 0; y < K; y++) {
        if (y >= count)
            continue;
        double whole = block_sum(total[y]);
        if (threadIdx.x == 0)
            sum[y * AUXILIARY_BLOCKS + blockIdx.x] = whole;
    }
}

/* The parts of a pass, in this order: step of A; also of o; Adam; sum A^T (w - o); also |w - o|^2. */
enum { TO_FOLLOW = 1, TO_MOVE = 2, TO_LEARN = 4, TO_SUM = 8, TO_SQUARE = 16 };

struct Linear {
    size_t room;
    const double *moves, *limits; /* step of A per class; its threshold, and the gain of o */
    float *offset, *matrix;
    double *sum, *away, *lost; /* lost: change of A^T (w - o) due to the steps of A and o */
};

/* Parameters begin to end, four at a time, for count classes, at most K. */
template <int K>
static __global__ void linear_kernel(size_t begin, size_t end, int count, int todo, Linear l, const Sent *sent,
                                     Parameters p) {
    double total[K] = {}, lost[K] = {}, square = 0;
    float step[K], threshold = (float)l.limits[0], gain = (float)l.limits[1];
#pragma unroll
    for (int y = 0; y < K; y++)
        step[y] = y < count ? (float)l.moves[y] : 0;
    for (size_t i = begin + blockIdx.x * (size_t)THREADS + threadIdx.x; i < end; i += (size_t)gridDim.x * THREADS) {
        Pack<float, FOUR> w = four_of<float>(p.w, i), from = four_of<float>(l.offset, i), a[K];
#pragma unroll
        for (int y = 0; y < K; y++)
            if (y < count)
                a[y] = four_of<float>(l.matrix + y * l.room, i);
        if (todo & TO_FOLLOW) {
#pragma unroll
            for (int j = 0; j < FOUR; j++) {
                float away = w.at[j] - from.at[j], to = from.at[j] + gain * away;
                double left = (double)w.at[j] - to;
                from.at[j] = to;
#pragma unroll
                for (int y = 0; y < K; y++) {
                    if (y >= count)
                        continue;
                    float before = a[y].at[j], moved = before + step[y] * away;
                    a[y].at[j] = copysignf(fmaxf(fabsf(moved) - threshold, 0), moved);
                    lost[y] += (double)before * away - (double)a[y].at[j] * left;
                }
            }
#pragma unroll
            for (int y = 0; y < K; y++)
                if (y < count)
                    keep_four(l.matrix + y * l.room, i, a[y]);
        }
        if (todo & TO_MOVE)
            keep_four(l.offset, i, from);
        if (todo & TO_LEARN)
            w = adam_four(i, sent, p, w);
#pragma unroll
        for (int j = 0; j < FOUR; j++) {
            double far = (double)w.at[j] - from.at[j];
            square += far * far;
#pragma unroll
            for (int y = 0; y < K; y++)
                total[y] += y < count ? far * a[y].at[j] : 0;
        }
    }
    if (todo & TO_FOLLOW)
        keep_sums<K>(count, lost, l.lost);
    if (todo & TO_SUM)
        keep_sums<K>(count, total, l.sum);
    if (todo & TO_SQUARE)
        keep_sums<1>(1, &square, l.away);
}

/* A pass over parameters begin to end for all classes; its sums are those of blocks from `first` on. */
static pv__plugin_code pass(pv__net *net, cudaStream_t s, size_t begin, size_t end, int first, int blocks, int todo,
                            const Parameters *p, char *why) {
    const Auxiliary *a = &net->auxiliary;
    int k = (int)net->spec.classes;
    for (int y = 0; y < k; y += GROUP) {
        int count = k - y < GROUP ? k - y : GROUP, own = todo;
        if (y + GROUP < k) /* the last group also updates o */
            own &= ~TO_MOVE;
        if (y > 0)
            own &= ~TO_SQUARE;
        double *partial = a->partial + first;
        const Linear l = {net->room,
                          net->loss.moves + y,
                          net->loss.moves + k,
                          a->offset,
                          a->matrix + y * net->room,
                          partial + y * AUXILIARY_BLOCKS,
                          partial + k * AUXILIARY_BLOCKS,
                          partial + (k + 1 + y) * AUXILIARY_BLOCKS};
        auto kernel = count == 2 ? linear_kernel<2> : linear_kernel<GROUP>;
        kernel<<<blocks, THREADS, 0, s>>>(begin / FOUR, end / FOUR, count, own, l, (const Sent *)net->sent, *p);
    }
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}

/* Blocks of the pass over the last layer, if it is separate; the rest are for the other parameters. */
enum { EARLY_BLOCKS = 396 };

bool auxiliary_learns(const pv__net *net) {
    return net->loss.spec.linear && net->spec.classes <= GROUP;
}

pv__plugin_code auxiliary_learn(pv__net *net, cudaStream_t s, size_t begin, size_t end, bool early, const Parameters *p,
                                char *why) {
    return pass(net, s, begin, end, early ? 0 : EARLY_BLOCKS, early ? EARLY_BLOCKS : AUXILIARY_BLOCKS - EARLY_BLOCKS,
                TO_FOLLOW | TO_MOVE | TO_LEARN | TO_SUM | TO_SQUARE, p, why);
}

pv__plugin_code auxiliary_follow(pv__net *net, const Parameters *p, char *why) {
    return auxiliary_learns(net)
               ? PV_PLUGIN_OK
               : pass(net, net->apart, 0, net->room, 0, AUXILIARY_BLOCKS, TO_FOLLOW | TO_MOVE, p, why);
}

/* sums [blocks], over each row of partial [blocks][AUXILIARY_BLOCKS]; adds: adds to the existing sums once. */
static __global__ void rows_kernel(double *partial, bool adds, double *sums) {
    double total = 0;
    for (int i = (int)threadIdx.x; i < AUXILIARY_BLOCKS; i += THREADS) {
        total += partial[blockIdx.x * AUXILIARY_BLOCKS + i];
        if (adds)
            partial[blockIdx.x * AUXILIARY_BLOCKS + i] = 0;
    }
    total = block_sum(total);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total + (adds ? sums[blockIdx.x] : 0);
}

static pv__plugin_code sum_up(pv__net *net, char *why) {
    Parameters p = {};
    p.w = net->w;
    return pass(net, net->apart, 0, net->room, 0, AUXILIARY_BLOCKS, TO_SUM | TO_SQUARE, &p, why);
}

pv__plugin_code auxiliary_sums(pv__net *net, char *why) {
    Auxiliary *a = &net->auxiliary;
    int k = (int)net->spec.classes;
    if (!auxiliary_learns(net))
        CODE_TRY(sum_up(net, why));
    rows_kernel<<<k + 1, THREADS, 0, net->apart>>>(a->partial, false, a->sums);
    /* The bias, the first of the loss's arrays, gains what A^T (w - o) loses. */
    rows_kernel<<<k, THREADS, 0, net->apart>>>(a->partial + (k + 1) * AUXILIARY_BLOCKS, true, net->loss.arrays);
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}

/* ---- upload and download ----------------------------------------------------------------------------------------- */

static pv__plugin_code make(pv__net *net, char *why) {
    Auxiliary *a = &net->auxiliary;
    size_t k = net->spec.classes;
    if (a->offset)
        return PV_PLUGIN_OK;
    CODE_TRY(take(net, net->room, &a->offset, why));
    CODE_TRY(take(net, net->room * k, &a->matrix, why));
    CODE_TRY(take(net, AUXILIARY_BLOCKS * (2 * k + 1), &a->partial, why));
    CODE_TRY(take(net, k + 1, &a->sums, why));
    forget_steps(net);
    return PV_PLUGIN_OK;
}

pv__plugin_code auxiliary_put(pv__net *net, const double *offset, const double *matrix, char *why) {
    size_t k = net->spec.classes;
    std::vector<double> column(net->params);
    CODE_TRY(make(net, why));
    Auxiliary *a = &net->auxiliary;
    CODE_TRY(params_in(net, offset, a->offset, why));
    for (size_t y = 0; y < k; y++) {
        for (size_t i = 0; i < net->params; i++)
            column[i] = matrix[i * k + y];
        CUDA_TRY(cudaStreamSynchronize(net->stream)); /* the staging buffer is free */
        CODE_TRY(params_in(net, column.data(), a->matrix + y * net->room, why));
    }
    CUDA_TRY(cudaMemsetAsync(a->partial, 0, AUXILIARY_BLOCKS * (2 * k + 1) * sizeof(double), net->stream));
    CODE_TRY(join(net, net->stream, net->apart, why));
    CODE_TRY(sum_up(net, why));
    return join(net, net->apart, net->stream, why);
}

pv__plugin_code auxiliary_get(pv__net *net, double *offset, double *matrix, char *why) {
    const Auxiliary *a = &net->auxiliary;
    size_t k = net->spec.classes;
    std::vector<double> column(net->params);
    CODE_TRY(params_out(net, a->offset, offset, why));
    for (size_t y = 0; y < k; y++) {
        CODE_TRY(params_out(net, a->matrix + y * net->room, column.data(), why));
        for (size_t i = 0; i < net->params; i++)
            matrix[i * k + y] = column[i];
    }
    return PV_PLUGIN_OK;
}
