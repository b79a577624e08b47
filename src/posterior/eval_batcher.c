/* Batches evaluations of several threads: when all threads inside have requested one, one of them makes a single call
 * for all. A density gives bit-identical values for one point and for many, so results do not depend on which requests
 * are batched together. */
#include "posterior/eval_batcher.h"

#include <pthread.h>
#include <string.h>

struct pv__meeting {
    const pv_density *density;
    pthread_mutex_t lock;
    pthread_cond_t change;
    size_t inside, asked; /* asked: requests in the current round */
    uint64_t round;
    bool running;
    pv_status status; /* of the last round */
    void **states;    /* [most] */
    double *w, *values, *gradients;
};

pv_status pv__meeting_new(pv_ctx *ctx, const pv_density *density, size_t most, pv__meeting **meeting) {
    size_t d = density->dims;
    pv__meeting *m;
    PV_TRY(pv__alloc(ctx, 1, sizeof *m, &m));
    *meeting = m;
    m->density = density;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->change, NULL);
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, most, sizeof *m->states, &m->states));
    PV_GOTO(fail, pv__alloc(ctx, most * (2 * d + 1), sizeof *m->w, &m->w));
    m->gradients = m->w + most * d;
    m->values = m->gradients + most * d;
    return PV_OK;
fail:
    pv__meeting_free(ctx, m);
    *meeting = NULL;
    return status;
}

void pv__meeting_free(pv_ctx *ctx, pv__meeting *m) {
    if (!m)
        return;
    pthread_cond_destroy(&m->change);
    pthread_mutex_destroy(&m->lock);
    pv__free(ctx, m->states);
    pv__free(ctx, m->w);
    pv__free(ctx, m);
}

void pv__meeting_enter(pv__meeting *m) {
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->inside++;
    pthread_mutex_unlock(&m->lock);
}

void pv__meeting_leave(pv__meeting *m) {
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->inside--;
    pthread_cond_broadcast(&m->change); /* the remaining threads may now be complete */
    pthread_mutex_unlock(&m->lock);
}

/* Runs a round. Called with the lock, which is released meanwhile. */
static void run_round(pv_ctx *ctx, pv__meeting *m) {
    m->running = true;
    size_t count = m->asked;
    pthread_mutex_unlock(&m->lock);
    pv_status status = m->density->many(ctx, count, m->states, m->w, m->values, m->gradients);
    pthread_mutex_lock(&m->lock);
    m->status = status;
    m->asked = 0;
    m->round++;
    m->running = false;
    pthread_cond_broadcast(&m->change);
}

pv_status pv__meeting_eval(pv_ctx *ctx, pv__meeting *m, void *state, const double *w, double *value, double *gradient) {
    size_t d = m->density->dims;
    bool runs = false;
    pthread_mutex_lock(&m->lock);
    while (m->running) /* a thread that entered meanwhile belongs to the next round */
        pthread_cond_wait(&m->change, &m->lock);
    size_t own = m->asked++;
    uint64_t round = m->round;
    m->states[own] = state;
    memcpy(m->w + own * d, w, d * sizeof *w);
    while (m->round == round) {
        runs = m->asked == m->inside && !m->running;
        if (runs)
            run_round(ctx, m);
        else
            pthread_cond_wait(&m->change, &m->lock);
    }
    /* The next round cannot begin before every thread has read these and asked again. */
    pv_status status = m->status;
    *value = m->values[own];
    memcpy(gradient, m->gradients + own * d, d * sizeof *gradient);
    pthread_mutex_unlock(&m->lock);
    if (status == PV_OK || runs)
        return status;
    return m->density->eval(ctx, state, w, value, gradient); /* the caller receives the error */
}
