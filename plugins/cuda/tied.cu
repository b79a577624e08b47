/* Rows of two labels coupled by p(y|w): the information gain's loss at several w at once.
 *
 * The outputs of all rows remain on the device, [count][n], while the host solves the marginal's inner problem with a
 * few sums over them; then they are replaced by slopes, and the matrix is read once more. Rows belong to groups, whose
 * number depends on the number of rows only, and groups are added in order: results are the same bytes every time, for
 * one w or several.
 */
#include <algorithm>
#include <new>
#include <stdio.h>

#include "table.h"

enum { ROW_THREADS = 256, ROWS_EACH = 8, ROW_GROUPS_MAX = 1024, SUMS = 6, PLACES_LEAST = 64 };

struct Tied {
    size_t groups;
    double *each, *target, *rho; /* [n]; rho NULL: all 0 */
    size_t count;                /* number of vectors that fit */
    double *z;                   /* [count][n] */
    double *partial, *result;    /* [places][groups][SUMS], [places][SUMS]; at least one place per vector */
    double *host;                /* [places][SUMS] */
    struct Place *place;         /* [places] */
};

/* The point at which sums are taken, or the coefficients of slopes. */
struct Place {
    size_t which;
    pv__tied_slope at;
    double shift, pi[2]; /* for sums of a mixture */
};

struct TiedRows {
    size_t n;
    const double *each, *target, *rho;
    double *z;
    const Place *place;
    double *partial; /* [count][groups][SUMS] */
};

enum TiedWork { LOSS, PROFILE, MIXED };

/* p1 and p0 from the log odds, each accurate when small. */
static __device__ void both(double z, double *p1, double *p0) {
    double tail = exp(-fabs(z)), big = 1 / (1 + tail), small = tail * big;
    *p1 = z > 0 ? big : small;
    *p0 = z > 0 ? small : big;
}

static __device__ void add_loss(const TiedRows &t, size_t row, double z, double *sum) {
    double p1, p0, v = t.each[row], rho = t.rho ? t.rho[row] : 0;
    both(z, &p1, &p0);
    sum[0] += v * (fmax(z, 0.0) + log1p(exp(-fabs(z)))) - t.target[row] * z;
    sum[1] += rho * p0;
    sum[2] += rho * p1;
}

static __device__ void add_profile(const TiedRows &t, const pv__tied_slope &at, size_t row, double z, double *sum) {
    double p1, p0, v = t.each[row];
    if (!(v > 0))
        return;
    both(z, &p1, &p0);
    double r = at.scale * p1 - 1, q = 1 + at.m * r, share = v / q, ratio = r / q;
    sum[0] += share;
    sum[1] += share * r;
    sum[2] += v * ratio * ratio;
    sum[3] += share * ratio;
    sum[4] += v * log(q);
    sum[5] = fmin(sum[5], q);
}

static __device__ void add_mixed(const TiedRows &t, const Place &place, size_t row, double z, double *sum) {
    double u1, u0, v = t.each[row];
    if (!(v > 0))
        return;
    both(z - place.shift, &u1, &u0);
    double one = place.pi[1] * u1, q = one + place.pi[0] * u0, rho = one / q;
    sum[0] += v * rho;
    sum[1] += v * rho * rho;
    sum[2] += v * log(q);
}

static __device__ double joined(int i, double a, double b) {
    return i == SUMS - 1 ? fmin(a, b) : a + b;
}

static __device__ double none_of(int i) {
    return i == SUMS - 1 ? HUGE_VAL : 0;
}

/* Sums over a block's threads, in a fixed order. */
static __device__ void join(double *sum, double (*room)[ROW_THREADS]) {
    for (int i = 0; i < SUMS; i++)
        room[i][threadIdx.x] = sum[i];
    for (int half = ROW_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        for (int i = 0; i < SUMS && threadIdx.x < half; i++)
            room[i][threadIdx.x] = joined(i, room[i][threadIdx.x], room[i][threadIdx.x + half]);
    }
    __syncthreads();
}

template <TiedWork WORK> static __global__ void sum_rows(const TiedRows t) {
    __shared__ double room[SUMS][ROW_THREADS];
    const Place place = t.place[blockIdx.y];
    const double *z = t.z + place.which * t.n;
    const size_t begin = blockIdx.x * t.n / gridDim.x, end = (blockIdx.x + 1) * t.n / gridDim.x;
    double sum[SUMS];
    for (int i = 0; i < SUMS; i++)
        sum[i] = none_of(i);
    for (size_t row = begin + threadIdx.x; row < end; row += ROW_THREADS)
        if (WORK == LOSS)
            add_loss(t, row, z[row], sum);
        else if (WORK == PROFILE)
            add_profile(t, place.at, row, z[row], sum);
        else
            add_mixed(t, place, row, z[row], sum);
    join(sum, room);
    double *to = t.partial + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * SUMS;
    if (threadIdx.x < SUMS)
        to[threadIdx.x] = room[threadIdx.x][0];
}

/* result [count][SUMS]: sums over the groups, in order. */
static __global__ void sum_partials(size_t groups, const double *partial, double *result) {
    __shared__ double room[SUMS][ROW_THREADS];
    const double *from = partial + blockIdx.x * groups * SUMS;
    double sum[SUMS];
    for (int i = 0; i < SUMS; i++)
        sum[i] = none_of(i);
    for (size_t g = threadIdx.x; g < groups; g += ROW_THREADS)
        for (int i = 0; i < SUMS; i++)
            sum[i] = joined(i, sum[i], from[g * SUMS + i]);
    join(sum, room);
    if (threadIdx.x < SUMS)
        result[blockIdx.x * SUMS + threadIdx.x] = room[threadIdx.x][0];
}

/* Replaces outputs by slopes. */
static __global__ void make_slopes(const TiedRows t) {
    const pv__tied_slope at = t.place[blockIdx.y].at;
    double *z = t.z + blockIdx.y * t.n;
    for (size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x; row < t.n; row += (size_t)gridDim.x * blockDim.x) {
        double p1, p0, v = t.each[row], e = 0;
        both(z[row], &p1, &p0);
        if (at.profile)
            e = v > 0 ? v / (1 + at.m * (at.scale * p1 - 1)) : 0;
        else if (t.rho)
            e = t.rho[row];
        z[row] = v * p1 - t.target[row] + at.factor * e * p0 * p1;
    }
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static pv__plugin_code copy_rows(size_t n, const double *from, double **to, char *why) {
    CUDA_TRY(cudaMalloc(to, std::max<size_t>(n, 1) * sizeof(double)));
    CUDA_TRY(cudaMemcpy(*to, from, n * sizeof(double), cudaMemcpyHostToDevice));
    return PV_PLUGIN_OK;
}

pv__plugin_code tied_open(const pv__passes_spec *spec, pv__passes *s, char *why) {
    Tied *t = s->tied = new (std::nothrow) Tied{};
    if (!t) {
        snprintf(why, PV_PLUGIN_TEXT, "out of memory");
        return PV_PLUGIN_MEMORY;
    }
    t->groups = std::min<size_t>(spec->n / (ROW_THREADS * ROWS_EACH) + 1, ROW_GROUPS_MAX);
    CODE_TRY(copy_rows(spec->n, spec->each, &t->each, why));
    CODE_TRY(copy_rows(spec->n, spec->target, &t->target, why));
    return spec->rho ? copy_rows(spec->n, spec->rho, &t->rho, why) : PV_PLUGIN_OK;
}

static void free_vectors(Tied *t) {
    for (void *each : {(void *)t->z, (void *)t->partial, (void *)t->result, (void *)t->place})
        cudaFree(each);
    cudaFreeHost(t->host);
    t->z = t->partial = t->result = t->host = nullptr;
    t->place = nullptr;
    t->count = 0;
}

void tied_close(Tied *t) {
    if (!t)
        return;
    free_vectors(t);
    for (double *each : {t->each, t->target, t->rho})
        cudaFree(each);
    delete t;
}

static pv__plugin_code vector_room(pv__passes *s, size_t count, char *why) {
    Tied *t = s->tied;
    if (count <= t->count)
        return PV_PLUGIN_OK;
    free_vectors(t);
    const size_t places = std::max<size_t>(count, PLACES_LEAST);
    CUDA_TRY(cudaMalloc(&t->z, std::max<size_t>(count * s->pass.n, 1) * sizeof(double)));
    CUDA_TRY(cudaMalloc(&t->partial, places * t->groups * SUMS * sizeof(double)));
    CUDA_TRY(cudaMalloc(&t->result, places * SUMS * sizeof(double)));
    CUDA_TRY(cudaMalloc(&t->place, places * sizeof(Place)));
    CUDA_TRY(cudaMallocHost(&t->host, places * std::max(SUMS * sizeof(double), sizeof(Place))));
    t->count = count;
    return PV_PLUGIN_OK;
}

/* ---- host -------------------------------------------------------------------------------------------------------- */

static TiedRows rows_of(const pv__passes *s) {
    const Tied *t = s->tied;
    return {s->pass.n, t->each, t->target, t->rho, t->z, t->place, t->partial};
}

/* Copies the places from t->host. */
static pv__plugin_code put_places(pv__passes *s, size_t count, char *why) {
    Tied *t = s->tied;
    CUDA_TRY(cudaMemcpyAsync(t->place, t->host, count * sizeof(Place), cudaMemcpyHostToDevice, s->stream));
    return PV_PLUGIN_OK;
}

/* Computes the sums at `count` places, into t->host. */
template <TiedWork WORK> static pv__plugin_code take_sums(pv__passes *s, size_t count, char *why) {
    Tied *t = s->tied;
    CODE_TRY(put_places(s, count, why));
    sum_rows<WORK><<<dim3((unsigned)t->groups, (unsigned)count), ROW_THREADS, 0, s->stream>>>(rows_of(s));
    CUDA_TRY(cudaGetLastError());
    sum_partials<<<(unsigned)count, ROW_THREADS, 0, s->stream>>>(t->groups, t->partial, t->result);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(t->host, t->result, count * SUMS * sizeof(double), cudaMemcpyDeviceToHost, s->stream));
    CUDA_TRY(cudaStreamSynchronize(s->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code tied_forward(pv__passes *s, size_t count, const double *w, double *sums, char *why) {
    CODE_TRY(vector_room(s, count, why));
    Tied *t = s->tied;
    CODE_TRY(table_vectors(s, count, w, why));
    CODE_TRY(table_outputs_by_vector(s, count, t->z, why));
    Place *place = (Place *)t->host;
    for (size_t c = 0; c < count; c++)
        place[c] = {c, {}};
    CODE_TRY(take_sums<LOSS>(s, count, why));
    for (size_t c = 0; c < count; c++)
        for (int i = 0; i < 3; i++)
            sums[c * 3 + i] = t->host[c * SUMS + i];
    return PV_PLUGIN_OK;
}

pv__plugin_code tied_sums(pv__passes *s, size_t count, const size_t *which, const double *scale, const double *m,
                          pv__tied_sums *sums, char *why) {
    Tied *t = s->tied;
    Place *place = (Place *)t->host;
    for (size_t c = 0; c < count; c++)
        place[c] = {which[c], {true, 0, scale[c], m[c]}};
    CODE_TRY(take_sums<PROFILE>(s, count, why));
    for (size_t c = 0; c < count; c++) {
        const double *from = t->host + c * SUMS;
        sums[c] = {from[0], from[1], from[2], from[3], from[4], from[5]};
    }
    return PV_PLUGIN_OK;
}

pv__plugin_code tied_mixed(pv__passes *s, size_t count, double shift, const double *pi, double *sums, char *why) {
    Tied *t = s->tied;
    if (count > PLACES_LEAST) {
        snprintf(why, PV_PLUGIN_TEXT, "too many places at once");
        return PV_PLUGIN_UNFIT;
    }
    Place *place = (Place *)t->host;
    for (size_t c = 0; c < count; c++)
        place[c] = {0, {}, shift, {pi[2 * c], pi[2 * c + 1]}};
    CODE_TRY(take_sums<MIXED>(s, count, why));
    for (size_t c = 0; c < count; c++)
        for (int i = 0; i < 3; i++)
            sums[c * 3 + i] = t->host[c * SUMS + i];
    return PV_PLUGIN_OK;
}

pv__plugin_code tied_backward(pv__passes *s, size_t count, const pv__tied_slope *slope, double *dw, char *why) {
    enum { BLOCKS_EACH = 1024 };
    Tied *t = s->tied;
    Place *place = (Place *)t->host;
    for (size_t c = 0; c < count; c++)
        place[c] = {c, slope[c]};
    CODE_TRY(put_places(s, count, why));
    const size_t blocks = std::min<size_t>((s->pass.n + ROW_THREADS - 1) / ROW_THREADS, BLOCKS_EACH);
    make_slopes<<<dim3((unsigned)std::max<size_t>(blocks, 1), (unsigned)count), ROW_THREADS, 0, s->stream>>>(
        rows_of(s));
    CUDA_TRY(cudaGetLastError());
    CODE_TRY(table_sums_by_vector(s, count, t->z, why));
    return table_bring(s, count, nullptr, dw, why);
}
