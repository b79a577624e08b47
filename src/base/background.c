/* Runs one task at a time on a thread of its own, in parallel with the caller. */
#include <pthread.h>
#include <signal.h>

#include "base.h"

struct pv__background {
    void (*work)(void *state);
    void *state;
    bool alone; /* no thread could be created: the caller's thread does the work */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool wanted, end; /* protected by the lock */
};

static void *run(void *given) {
    pv__background *b = given;
    pthread_mutex_lock(&b->lock);
    while (!b->end) {
        if (!b->wanted) {
            pthread_cond_wait(&b->change, &b->lock);
            continue;
        }
        pthread_mutex_unlock(&b->lock);
        b->work(b->state);
        pthread_mutex_lock(&b->lock);
        b->wanted = false;
        pthread_cond_broadcast(&b->change);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

pv_status pv__background_new(pv_ctx *ctx, void (*work)(void *state), void *state, pv__background **made) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    pv__background *b = *made;
    b->work = work;
    b->state = state;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->change, NULL);
    sigset_t all, before; /* signals are delivered to the caller's threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    b->alone = pthread_create(&b->thread, NULL, run, b) != 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return PV_OK;
}

static void set(pv__background *b, bool *flag) {
    pthread_mutex_lock(&b->lock);
    *flag = true;
    pthread_cond_broadcast(&b->change);
    pthread_mutex_unlock(&b->lock);
}

void pv__background_start(pv__background *b) {
    if (b->alone)
        b->work(b->state);
    else
        set(b, &b->wanted);
}

void pv__background_wait(pv__background *b) {
    if (b->alone)
        return;
    pthread_mutex_lock(&b->lock);
    while (b->wanted)
        pthread_cond_wait(&b->change, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

void pv__background_free(pv_ctx *ctx, pv__background *b) {
    if (!b)
        return;
    if (!b->alone) {
        pv__background_wait(b);
        set(b, &b->end);
        pthread_join(b->thread, NULL);
    }
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->change);
    pv__free(ctx, b);
}
