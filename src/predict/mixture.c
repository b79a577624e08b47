/* The mixture's likelihood over all rows. Partial sums of chunks of fixed size are added in order, so results do not
 * depend on the number of threads. Formulas: mixture.h.
 */
#include "base/openmp.h"
#include "predict/mixture.h"

#include <math.h>
#include <string.h>

PV_KERNELS_GET(pv__mixture_kernels, pv__mixture_kernels_get, pv__mixture_kernels)

/* Number of threads for a loop over chunks that takes about this many microseconds per chunk: a pass can be shorter
 * than the wait for a thread on a busy machine. */
static int team(const pv_ctx *ctx, size_t n, size_t microseconds) {
    enum { EACH = 500 };
    return pv__threads_for(ctx, pv__chunks(n) * microseconds / EACH);
}

/* Rows with known labels are removed from the likelihood and counted. */
static pv_status set_weights(pv_ctx *ctx, const pv_unknown_sample *sample, pv__mixture *m) {
    if (!sample->label && !sample->weight) {
        m->total = (double)m->n;
        return PV_OK;
    }
    PV_TRY(pv__alloc(ctx, m->n, sizeof *m->weight, &m->weight));
    for (size_t i = 0; i < m->n; i++) {
        double weight = sample->weight ? sample->weight[i] : 1;
        if (sample->label && sample->label[i] >= 0)
            m->known[sample->label[i]] += weight;
        else
            m->weight[i] = weight;
        m->total += m->weight[i];
    }
    return PV_OK;
}

pv_status pv__mixture_init(pv_ctx *ctx, const pv_unknown_sample *sample, bool cross, pv__mixture *m) {
    size_t k = (size_t)sample->classes, chunks = pv__chunks(sample->n);
    *m = (pv__mixture){.n = sample->n, .classes = sample->classes};
    m->room = cross ? k + k * k : k;
    m->room = m->room < PV__POINTS ? PV__POINTS : m->room;
    pv_status status;
    PV_GOTO(failed, pv__alloc(ctx, m->n * (k == 2 ? 1 : k), sizeof *m->r, &m->r));
    PV_GOTO(failed, pv__alloc(ctx, k, sizeof *m->known, &m->known));
    PV_GOTO(failed, pv__alloc(ctx, chunks * m->room, sizeof *m->partial, &m->partial));
    PV_GOTO(failed, pv__alloc(ctx, (size_t)pv_ctx_threads(ctx) * k * PV__BLOCK, sizeof *m->work, &m->work));
    PV_GOTO(failed, set_weights(ctx, sample, m));
    if (sample->loglik)
        pv__mixture_load(ctx, m, sample->loglik, sample->log_marginal);
    return PV_OK;
failed:
    pv__mixture_clear(ctx, m);
    return status;
}

void pv__mixture_load(pv_ctx *ctx, pv__mixture *m, const double *loglik, const double *log_marginal) {
    const pv__mixture_kernels *kernels = pv__mixture_kernels_get();
    size_t k = (size_t)m->classes;
    PV__EACH_CHUNK(ctx, pv__chunks(m->n), c, {
        size_t begin = c * PV_CHUNK, rows = pv__chunk_rows(m->n, c);
        if (k == 2)
            kernels->pair_ratios(rows, loglik + 2 * begin, log_marginal[1] - log_marginal[0], m->r + begin);
        else
            kernels->ratios(rows, m->classes, loglik + k * begin, log_marginal, m->n, m->r + begin, NULL);
    });
}

/* ---- rows on a device -------------------------------------------------------------------------------------------- */

pv_status pv__mixture_board(pv_ctx *ctx, const pv_unknown_sample *shape, const pv__loaded *loaded,
                            const pv_model *model, pv__mixture *m) {
    *m = (pv__mixture){.n = shape->n, .classes = 2};
    double *weight = NULL;
    pv_status status;
    PV_GOTO(failed, pv__alloc(ctx, 2, sizeof *m->known, &m->known));
    PV_GOTO(failed, set_weights(ctx, shape, m));
    PV_GOTO(failed,
            pv__alloc(ctx, 2 * m->n, sizeof *weight, &weight)); /* the second half is zero, because there is no loss */
    for (size_t i = 0; i < m->n; i++)
        weight[i] = m->weight ? m->weight[i] : 1;
    const pv__tied rows = {.weight = weight, .target = weight + m->n};
    PV_GOTO(failed, pv__loaded_passes_new(ctx, loaded, model, m->n, NULL, &rows, &m->aboard));
    pv__free(ctx, weight);
    return PV_OK;
failed:
    pv__free(ctx, weight);
    pv__mixture_clear(ctx, m);
    return status;
}

pv_status pv__mixture_board_at(pv_ctx *ctx, pv__mixture *m, const double *w, const double *log_marginal) {
    double sums[3];
    m->shift = log_marginal[1] - log_marginal[0];
    m->status = pv__loaded_tied(ctx, m->aboard, 1, w, sums);
    return m->status;
}

/* Sums at no more than PV__POINTS points, [count][3], on the device. */
static void sums_on_device(pv_ctx *ctx, pv__mixture *m, size_t count, const double *pi, double *sums) {
    if (m->status == PV_OK)
        m->status = pv__loaded_mixed(ctx, m->aboard, count, m->shift, pi, sums);
    for (size_t i = 0; i < 3 * count && m->status != PV_OK; i++)
        sums[i] = NAN;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

void pv__mixture_clear(pv_ctx *ctx, pv__mixture *m) {
    pv__loaded_passes_free(ctx, m->aboard);
    pv__free(ctx, m->r);
    pv__free(ctx, m->weight);
    pv__free(ctx, m->known);
    pv__free(ctx, m->partial);
    pv__free(ctx, m->work);
    *m = (pv__mixture){0};
}

static void add_partials(const pv__mixture *m, size_t offset, size_t count, double *sums) {
    memset(sums, 0, count * sizeof *sums);
    for (size_t c = 0; c < pv__chunks(m->n); c++)
        for (size_t i = 0; i < count; i++)
            sums[i] += m->partial[c * m->room + offset + i];
}

/* Derives all sums from sum rho and sum rho^2 of class 1. */
static void pair_of(const pv__mixture *m, const double *both, double *sums, double *cross) {
    sums[1] = both[0];
    sums[0] = m->total - both[0];
    if (cross) {
        cross[3] = both[1];
        cross[1] = cross[2] = both[0] - both[1];
        cross[0] = m->total - 2 * both[0] + both[1];
    }
}

void pv__mixture_sums(pv_ctx *ctx, pv__mixture *m, const double *pi, double *sums, double *cross) {
    const pv__mixture_kernels *kernels = pv__mixture_kernels_get();
    size_t k = (size_t)m->classes, cost = cross ? k * k : 2 * k;
    int threads = team(ctx, m->n, k == 2 ? 2 : cost);
    if (m->aboard) {
        double all[3] = {0};
        sums_on_device(ctx, m, 1, pi, all);
        pair_of(m, all, sums, cross);
        return;
    }
    PV__EACH_CHUNK_BY(threads, pv__chunks(m->n), c, {
        size_t begin = c * PV_CHUNK, rows = pv__chunk_rows(m->n, c);
        const double *v = m->weight ? m->weight + begin : NULL;
        double *out = m->partial + c * m->room;
        size_t slot = threads > 1 ? (size_t)omp_get_thread_num() : 0; /* the caller may already run in a team */
        if (k == 2)
            kernels->pair_sums(rows, m->r + begin, v, pi[0], pi[1], out);
        else
            kernels->sums(rows, m->classes, m->n, m->r + begin, v, pi, out, cross ? out + k : NULL,
                          m->work + slot * k * PV__BLOCK);
    });
    if (k > 2) {
        add_partials(m, 0, k, sums);
        if (cross)
            add_partials(m, k, k * k, cross);
        return;
    }
    double both[2];
    add_partials(m, 0, 2, both);
    pair_of(m, both, sums, cross);
}

void pv__mixture_logs(pv_ctx *ctx, pv__mixture *m, size_t points, const double *pi, double *log_q) {
    const pv__mixture_kernels *kernels = pv__mixture_kernels_get();
    size_t k = (size_t)m->classes;
    for (size_t first = 0; first < points; first += PV__POINTS) {
        size_t count = points - first < PV__POINTS ? points - first : PV__POINTS;
        const double *at = pi + first * k;
        if (m->aboard) {
            double all[3 * PV__POINTS] = {0};
            sums_on_device(ctx, m, count, at, all);
            for (size_t j = 0; j < count; j++)
                log_q[first + j] = all[3 * j + 2];
            continue;
        }
        int threads = team(ctx, m->n, count * k / 2);
        PV__EACH_CHUNK_BY(threads, pv__chunks(m->n), c, {
            size_t begin = c * PV_CHUNK, rows = pv__chunk_rows(m->n, c);
            const double *v = m->weight ? m->weight + begin : NULL;
            double *out = m->partial + c * m->room;
            if (k == 2)
                kernels->pair_logs(rows, m->r + begin, v, count, at, out);
            else
                kernels->logs(rows, m->classes, m->n, m->r + begin, v, count, at, out);
        });
        add_partials(m, 0, count, log_q + first);
    }
}

void pv__points_clear(pv_ctx *ctx, pv__points *points) {
    pv__free(ctx, points->pi);
    pv__free(ctx, points->weight);
    *points = (pv__points){0};
}

pv_status pv__points_one(pv_ctx *ctx, size_t classes, const double *pi, pv__points *points) {
    *points = (pv__points){.count = 1, .classes = classes};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, classes, sizeof *points->pi, &points->pi));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *points->weight, &points->weight));
    memcpy(points->pi, pi, classes * sizeof *pi);
    points->weight[0] = 1;
done:
    if (status != PV_OK)
        pv__points_clear(ctx, points);
    return status;
}
