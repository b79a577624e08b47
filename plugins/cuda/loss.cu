/* The loss of a step: computes what src/core/loss_batch.c and src/infer/marginal_tracker.c do for the rows of a batch,
 * in double precision. One block computes the derivatives; another, in parallel with the backward pass, updates the
 * auxiliary network's bias.
 *
 * A batch is small, so latency dominates: its data are copied to shared memory if they fit. Each class is summed over
 * rows by one warp, in an order that depends on the number of rows.
 */
#include <stdio.h>
#include <string.h>

#include "kernels.h"
#include "net.h"

#define EACH_THREAD(i, n) for (int i = (int)threadIdx.x; i < (n); i += THREADS)

/* As in src/core/loss_batch.c. */
static const double EXPONENT_MAX = 600;

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

/* The sum over a warp's lanes, or the maximum, returned in all lanes. */
static __device__ double warp_sum(double value) {
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(~0u, value, lanes);
    return value;
}
static __device__ double warp_most(double value) {
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
        value = fmax(value, __shfl_xor_sync(~0u, value, lanes));
    return value;
}

/* One warp per class, whose lanes take rows. */
#define EACH_CLASS(y, k) for (int y = (int)threadIdx.x / WARP; y < (k); y += THREADS / WARP)
#define EACH_ROW(i, n) for (int i = (int)threadIdx.x % WARP; i < (n); i += WARP)

/* log q of all classes, from logits. */
static __device__ void log_softmax(int k, const double *logit, double *log_q) {
    EACH_THREAD(y, k) {
        double top = logit[0], total = 0;
        for (int z = 1; z < k; z++)
            top = fmax(top, logit[z]);
        for (int z = 0; z < k; z++)
            total += exp(logit[z] - top);
        log_q[y] = logit[y] - top - log(total);
    }
}

/* The batch's estimate of log p(y|w), with the population weights. */
static __device__ void batch_marginal(const LossRun &r) {
    int n = r.rows, k = r.classes;
    EACH_CLASS(y, k) {
        double top = -HUGE_VAL, sum = 0;
        EACH_ROW(i, n)
        top = r.weight[i] > 0 ? fmax(top, r.loglik[i * k + y]) : top;
        top = warp_most(top);
        top = isinf(top) ? 0 : top;
        EACH_ROW(i, n)
        sum += r.weight[i] > 0 ? r.weight[i] * exp(r.loglik[i * k + y] - top) : 0;
        double log_p = top + log(warp_sum(sum));
        if (threadIdx.x % WARP == 0)
            r.log_p[y] = log_p;
    }
}

/* Returns this thread's part of the value. */
static __device__ double joint(const LossRun &r) {
    int n = r.rows, k = r.classes;
    double value = 0;
    EACH_THREAD(y, k)
    r.logit[y] = r.bias[y] + (r.linear ? r.sums[y] : 0);
    __syncthreads();
    log_softmax(k, r.logit, r.log_q);
    batch_marginal(r);
    __syncthreads();
    EACH_THREAD(y, k) { /* pv_marginal_backward */
        double log_p = r.log_p[y], log_q = r.log_q[y], c = r.counts[y];
        double alpha = exp(fmin(log_p - log_q, EXPONENT_MAX));
        bool third = r.implementation == 3;
        value += c * (r.implementation == 1 ? alpha * log_p : log_q);
        r.shift[y] = third ? fmax(log_q, -EXPONENT_MAX) : isinf(log_p) ? 0 : log_p;
        r.factor[y] = third ? c : c * alpha;
    }
    __syncthreads();
    EACH_THREAD(i, n * k) {
        double weight = r.weight[i / k], data = r.data[i];
        r.dloglik[i] = (weight > 0 ? r.factor[i % k] * weight * exp(r.loglik[i] - r.shift[i % k]) : 0) - data;
        value -= data != 0 ? data * r.loglik[i] : 0;
    }
    return value;
}

static __device__ double selection(const LossRun &r) {
    int k = r.classes;
    double value = 0;
    EACH_THREAD(i, r.rows) {
        const double *f = r.loglik + i * k, *ratio = r.ratio + i * k, *data = r.data + i * k;
        double *d = r.dloglik + i * k, top = -HUGE_VAL, sum = 0, weight = r.weight[i];
        for (int y = 0; y < k; y++)
            top = fmax(top, f[y] + ratio[y]);
        for (int y = 0; y < k; y++) {
            d[y] = exp(f[y] + ratio[y] - top);
            sum += d[y];
        }
        value += weight * (top + log(sum));
        for (int y = 0; y < k; y++) {
            d[y] = weight * d[y] / sum - data[y];
            value -= data[y] != 0 ? data[y] * (f[y] + ratio[y]) : 0;
        }
    }
    return value;
}

/* Copies n numbers to room and advances it. */
static __device__ const double *near(double **room, const double *from, int n) {
    double *to = *room;
    EACH_THREAD(i, n)
    to[i] = from[i];
    *room += n;
    return to;
}

/* Copies data that are read more than once to shared memory. */
static __device__ void bring_near(LossRun *r, double *room) {
    int n = r->rows, k = r->classes;
    r->loglik = near(&room, r->loglik, n * k);
    r->data = near(&room, r->data, n * k);
    r->weight = r->form == PV_STEP_ROWS ? r->weight : near(&room, r->weight, n);
    r->ratio = r->form == PV_STEP_SELECTION ? near(&room, r->ratio, n * k) : r->ratio;
    double **own[] = {&r->logit, &r->shift, &r->factor};
    for (double **array : own) {
        *array = room;
        room += k;
    }
    __syncthreads();
}

static __global__ void loss_kernel(LossRun r, bool fits) {
    extern __shared__ double room[];
    if (fits)
        bring_near(&r, room);
    double value = 0;
    if (r.form == PV_STEP_JOINT) {
        value = joint(r);
    } else if (r.form == PV_STEP_SELECTION) {
        value = selection(r);
    } else {
        EACH_THREAD(i, r.rows * r.classes) {
            r.dloglik[i] = -r.data[i];
            value -= r.data[i] != 0 ? r.data[i] * r.loglik[i] : 0;
        }
    }
    value = block_sum(value);
    double *outcome = r.outcomes + (size_t)(*r.turn % SLOTS) * (1 + r.classes);
    if (r.form == PV_STEP_JOINT)
        EACH_THREAD(y, r.classes)
    outcome[1 + y] = r.log_q[y];
    __syncthreads();
    if (threadIdx.x == 0) {
        outcome[0] = value + r.sent->constant;
        ++*r.turn;
    }
}

/* ---- the auxiliary network's bias -------------------------------------------------------------------------------- */

/* The rows' contributions to p-tilde (src/infer/marginal_tracker.c): sums and sums of squares per stratum. */
static __device__ void add_rows(const LossRun &r) {
    int n = r.rows, k = r.classes;
    EACH_THREAD(i, n * k)
    r.more[i] = r.weight[i / k] * (exp(r.loglik[i]) - r.last[(size_t)r.row[i / k] * k + i % k]);
    __syncthreads();
    EACH_CLASS(at, k * k) {
        double sum = 0, square = 0, count = 0;
        EACH_ROW(i, n)
        if (r.stratum[i] == at / k) {
            double more = r.more[i * k + at % k];
            sum += more;
            square += more * more;
            count++;
        }
        sum = warp_sum(sum);
        square = warp_sum(square);
        count = warp_sum(count);
        if (threadIdx.x % WARP == 0) {
            r.added[at] = sum;
            r.spread[at] = count > 1 ? fmax(square - sum * sum / count, 0.0) * count / (count - 1) : 0;
        }
    }
    __syncthreads();
}

/* Stores the current probabilities of the batch's rows; a row that occurs twice is handled in turn. */
static __device__ void remember(const LossRun &r) {
    int n = r.rows, k = r.classes;
    EACH_THREAD(i, n * k) {
        unsigned row = r.row[i / k];
        int before = i / k - 1;
        while (before >= 0 && r.row[before] != row)
            before--;
        double now = exp(r.loglik[i]);
        double last = before >= 0 ? exp(r.loglik[before * k + i % k]) : r.last[(size_t)row * k + i % k];
        r.more[i] = r.rho[row] * (now - last);
    }
    __syncthreads();
    EACH_CLASS(y, k) {
        double sum = 0;
        EACH_ROW(i, n)
        sum += r.more[i * k + y];
        sum = warp_sum(sum);
        if (threadIdx.x % WARP == 0)
            r.sum[y] += sum;
    }
    EACH_THREAD(i, n * k) { /* the last occurrence of a row */
        int after = i / k + 1;
        while (after < n && r.row[after] != r.row[i / k])
            after++;
        if (after == n)
            r.last[(size_t)r.row[i / k] * k + i % k] = exp(r.loglik[i]);
    }
}

static __device__ void follow_rows(const LossRun &r) {
    const double GOAL = 0.02, LEAST_GAIN = 0.02, ERROR_MOST = 0.5;
    int k = r.classes;
    add_rows(r);
    EACH_THREAD(y, k) {
        double q = exp(r.log_q[y]), found = r.sum[y], variance = 0;
        for (int s = 0; s < k; s++) {
            found += r.added[s * k + y];
            variance += r.spread[s * k + y];
        }
        double now = variance / (q * q);
        r.noise[y] = fmax(now, 0.95 * r.noise[y] + 0.05 * now);
        double gain = fmax(1 / (1 + r.noise[y] / (GOAL * GOAL)), LEAST_GAIN);
        r.error[y] = fmin(fmax(found / q - 1, -ERROR_MOST), ERROR_MOST);
        r.gain[y] = gain;
        r.bias[y] += log(fmax(1 + gain * (found / q - 1), 0.5));
    }
    __syncthreads();
    remember(r);
}

/* The paper's method: Adam on the batch's own estimate (train_bias in src/infer/minibatch.c). */
static __device__ void train_bias(const LossRun &r) {
    const double SLOWLY = 50, keep_mean = 0.9, keep_square = 0.999, tiny = 1e-12;
    int k = r.classes;
    double total = 0;
    for (int y = 0; y < k; y++)
        total += exp(r.log_p[y]);
    EACH_THREAD(y, k) {
        double slope = exp(r.log_q[y]) * total - exp(r.log_p[y]);
        double mean = keep_mean * (double)r.mean[y] + (1 - keep_mean) * slope;
        double square = keep_square * (double)r.square[y] + (1 - keep_square) * slope * slope;
        r.error[y] = fmin(fmax(exp(r.log_p[y] - r.log_q[y]) - 1, -0.5), 0.5);
        r.gain[y] = 1 / SLOWLY;
        r.mean[y] = (float)mean;
        r.square[y] = (float)square;
        r.bias[y] -= r.sent->bias_scale * mean / (sqrt(square * r.sent->bias_unbias) + tiny);
    }
}

/* The step of A along w - o, its threshold, and the gain of o: pv_auxiliary_follow. */
static __device__ void follow_steps(const LossRun &r) {
    int k = r.classes;
    double mean = 0, most = 0, least = 1, away = r.sums[k];
    for (int y = 0; y < k; y++)
        mean += r.gain[y] * r.error[y] / k;
    for (int y = 0; y < k; y++) {
        r.moves[y] = away > 0 ? (r.gain[y] * r.error[y] - mean) / away : 0;
        most = fmax(most, fabs(r.moves[y]));
        least = fmin(least, r.gain[y]);
    }
    r.moves[k] = r.sparsity * most * sqrt(away / (double)r.params);
    r.moves[k + 1] = least;
}

static __global__ void bias_kernel(LossRun r) {
    if (r.follows)
        follow_rows(r);
    else
        train_bias(r);
    __syncthreads();
    if (r.linear && threadIdx.x == 0)
        follow_steps(r);
}

/* ---- in a step --------------------------------------------------------------------------------------------------- */

static LossRun run_of(const pv__net *net) {
    const Loss *l = &net->loss;
    const Place *at = &net->place;
    size_t k = net->spec.classes;
    LossRun r = {};
    r.form = l->spec.form;
    r.implementation = l->spec.implementation;
    r.rows = net->rows;
    r.classes = (int)k;
    r.linear = l->spec.linear;
    r.follows = l->spec.n > 0;
    r.sparsity = l->spec.sparsity;
    r.params = net->params;
    r.sent = (const Sent *)net->sent;
    r.data = (const double *)(net->sent + at->data);
    r.weight = (const double *)(net->sent + at->weight);
    r.ratio = (const double *)(net->sent + at->ratio);
    r.counts = (const double *)(net->sent + at->counts);
    r.row = (const unsigned *)(net->sent + at->row);
    r.stratum = (const int *)(net->sent + at->stratum);
    r.loglik = net->loglik;
    r.dloglik = net->dloglik;
    r.sums = net->auxiliary.sums;
    double *const *arrays[] = {&r.bias,  &r.sum,   &r.noise,  &r.logit, &r.log_q,
                               &r.log_p, &r.shift, &r.factor, &r.error, &r.gain};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *const_cast<double **>(arrays[i]) = l->arrays + i * k;
    r.moves = l->moves;
    r.mean = l->moments;
    r.square = l->moments + k;
    r.last = l->last;
    r.rho = l->rho;
    r.more = l->more;
    r.added = l->added;
    r.spread = l->added + k * k;
    r.turn = l->turn;
    r.outcomes = l->outcomes;
    return r;
}

pv__plugin_code loss_slopes(pv__net *net, char *why) {
    const size_t most = 40 << 10, n = (size_t)net->rows, k = net->spec.classes;
    size_t room = (3 * n * k + n + 3 * k) * sizeof(double);
    loss_kernel<<<1, THREADS, room <= most ? room : 0, net->stream>>>(run_of(net), room <= most);
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}

pv__plugin_code loss_follow(pv__net *net, char *why) {
    if (net->loss.spec.form != PV_STEP_JOINT)
        return PV_PLUGIN_OK;
    bias_kernel<<<1, THREADS, 0, net->apart>>>(run_of(net));
    CUDA_TRY(cudaGetLastError());
    const Parameters parameters = parameters_of(net);
    return net->loss.spec.linear ? auxiliary_follow(net, &parameters, why) : PV_PLUGIN_OK;
}

/* ---- upload and download of its state ---------------------------------------------------------------------------- */

static pv__plugin_code make(pv__net *net, size_t n, char *why) {
    Loss *l = &net->loss;
    size_t k = net->spec.classes;
    if (!l->arrays) {
        CODE_TRY(take(net, LOSS_ARRAYS * k, &l->arrays, why));
        CODE_TRY(take(net, k + 2, &l->moves, why));
        CODE_TRY(take(net, 2 * k, &l->moments, why));
        CODE_TRY(take(net, (size_t)net->rows * k, &l->more, why));
        CODE_TRY(take(net, 2 * k * k, &l->added, why));
        CODE_TRY(take(net, 1, &l->turn, why));
        CUDA_TRY(cudaHostAlloc((void **)&l->outcomes, SLOTS * (1 + k) * sizeof(double), cudaHostAllocDefault));
        CUDA_TRY(cudaHostAlloc((void **)&l->ring, SLOTS * net->place.size, cudaHostAllocDefault));
        for (cudaEvent_t &done : l->done)
            CUDA_TRY(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    }
    if (n > l->room) { /* the previous allocation is freed with the net */
        size_t room = n > 2 * l->room ? n : 2 * l->room;
        CODE_TRY(take(net, room * k, &l->last, why));
        CODE_TRY(take(net, room, &l->rho, why));
        l->room = room;
        forget_steps(net);
    }
    return PV_PLUGIN_OK;
}

static pv__plugin_code state_in(pv__net *net, const pv__step_state *state, char *why) {
    const Loss *l = &net->loss;
    size_t k = net->spec.classes, n = l->spec.n;
    cudaStream_t s = net->stream;
    const cudaMemcpyKind way = cudaMemcpyHostToDevice;
    CUDA_TRY(cudaMemcpyAsync(l->arrays, state->bias, k * sizeof(double), way, s));
    CUDA_TRY(cudaMemcpyAsync(l->moments, state->mean, k * sizeof(float), way, s));
    CUDA_TRY(cudaMemcpyAsync(l->moments + k, state->square, k * sizeof(float), way, s));
    if (n > 0) {
        CUDA_TRY(cudaMemcpyAsync(l->last, state->last, n * k * sizeof(double), way, s));
        CUDA_TRY(cudaMemcpyAsync(l->arrays + k, state->last + n * k, 2 * k * sizeof(double), way, s));
        CUDA_TRY(cudaMemcpyAsync(l->rho, l->spec.rho, n * sizeof(double), way, s));
    }
    CUDA_TRY(cudaStreamSynchronize(s));
    return state->matrix ? auxiliary_put(net, state->offset, state->matrix, why) : PV_PLUGIN_OK;
}

static bool alike(const pv__step_loss *a, const pv__step_loss *b) {
    return a->form == b->form && a->implementation == b->implementation && a->linear == b->linear &&
           a->sparsity == b->sparsity && (a->n > 0) == (b->n > 0);
}

pv__plugin_code loss_put(pv__net *net, const pv__step_loss *loss, const pv__step_state *state, char *why) {
    Loss *l = &net->loss;
    CODE_TRY(make(net, loss->n, why));
    if (!alike(&l->spec, loss))
        forget_steps(net);
    l->spec = *loss;
    l->begun = l->asked = 0;
    CUDA_TRY(cudaMemsetAsync(l->turn, 0, sizeof *l->turn, net->stream));
    CODE_TRY(loss->form == PV_STEP_JOINT ? state_in(net, state, why) : PV_PLUGIN_OK);
    l->spec.rho = NULL; /* owned by the caller */
    return PV_PLUGIN_OK;
}

/* Brings the linear network's sums and bias up to date with the last step. */
static pv__plugin_code catch_up(pv__net *net, char *why) {
    if (!net->loss.spec.linear)
        return PV_PLUGIN_OK;
    CODE_TRY(join(net, net->stream, net->apart, why));
    CODE_TRY(auxiliary_sums(net, why));
    return join(net, net->apart, net->stream, why);
}

pv__plugin_code loss_get(pv__net *net, const pv__step_state *state, char *why) {
    const Loss *l = &net->loss;
    size_t k = net->spec.classes, n = l->spec.n;
    cudaStream_t s = net->stream;
    const cudaMemcpyKind way = cudaMemcpyDeviceToHost;
    CODE_TRY(catch_up(net, why));
    CUDA_TRY(cudaMemcpyAsync(state->bias, l->arrays, k * sizeof(double), way, s));
    CUDA_TRY(cudaMemcpyAsync(state->mean, l->moments, k * sizeof(float), way, s));
    CUDA_TRY(cudaMemcpyAsync(state->square, l->moments + k, k * sizeof(float), way, s));
    if (n > 0) {
        CUDA_TRY(cudaMemcpyAsync(state->last, l->last, n * k * sizeof(double), way, s));
        CUDA_TRY(cudaMemcpyAsync(state->last + n * k, l->arrays + k, 2 * k * sizeof(double), way, s));
    }
    CUDA_TRY(cudaStreamSynchronize(s));
    return state->matrix ? auxiliary_get(net, state->offset, state->matrix, why) : PV_PLUGIN_OK;
}

static __global__ void log_q_kernel(LossRun r) {
    EACH_THREAD(y, r.classes)
    r.logit[y] = r.bias[y] + (r.linear ? r.sums[y] : 0);
    __syncthreads();
    log_softmax(r.classes, r.logit, r.log_q);
}

pv__plugin_code loss_log_q(pv__net *net, double *log_q, char *why) {
    size_t k = net->spec.classes;
    LossRun r = run_of(net);
    CODE_TRY(catch_up(net, why));
    log_q_kernel<<<1, THREADS, 0, net->stream>>>(r);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(log_q, r.log_q, k * sizeof *log_q, cudaMemcpyDeviceToHost, net->stream));
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    return PV_PLUGIN_OK;
}

void loss_free(Loss *l) {
    if (l->outcomes)
        cudaFreeHost(l->outcomes);
    if (l->ring)
        cudaFreeHost(l->ring);
    for (cudaEvent_t done : l->done)
        if (done)
            cudaEventDestroy(done);
}
