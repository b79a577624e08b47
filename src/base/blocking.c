/* Calls that may never return, such as an engine that plans a query for ever or a pipe that has no writer. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base.h"

enum { POLL_MS = 50, PATIENCE = 10 /* checks for the end of a call after asking it to stop */ };

/* Shared by both threads; the last one to leave frees it. */
typedef struct blocking {
    void (*call)(void *state);
    void (*drop)(void *state);
    void *state;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool done, abandoned; /* protected by the lock */
} blocking;

static void blocking_free(blocking *b) {
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->change);
    free(b);
}

static void *run(void *given) {
    blocking *b = given;
    b->call(b->state);
    pthread_mutex_lock(&b->lock);
    b->done = true;
    bool abandoned = b->abandoned;
    pthread_cond_signal(&b->change);
    pthread_mutex_unlock(&b->lock);
    if (abandoned) {
        b->drop(b->state);
        blocking_free(b);
    }
    return NULL;
}

static blocking *begin(const pv__blocking *what) {
    pthread_t thread;
    sigset_t all, before; /* signals are delivered to the caller's threads */
    blocking *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->call = what->call;
    b->drop = what->drop;
    b->state = what->state;
    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&b->change, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool begun = pthread_create(&thread, NULL, run, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (begun) {
        pthread_detach(thread);
        return b;
    }
    blocking_free(b);
    return NULL;
}

/* Waits POLL_MS or until the call is done. The lock must be held. */
static void wait_interval(blocking *b) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&b->change, &b->lock, &until);
}

bool pv__blocking_run(const pv_ctx *ctx, const pv__blocking *what) {
    blocking *b = begin(what);
    if (!b) { /* no thread could be created */
        what->call(what->state);
        return true;
    }
    int asked = 0;
    pthread_mutex_lock(&b->lock);
    while (!b->done && asked <= PATIENCE) {
        wait_interval(b);
        if (b->done)
            break;
        pthread_mutex_unlock(&b->lock); /* the poll callback may take long */
        bool interrupted = pv__interrupted(ctx);
        if (interrupted && asked == 0 && what->stop)
            what->stop(what->state);
        pthread_mutex_lock(&b->lock);
        asked += interrupted;
    }
    bool done = b->done;
    b->abandoned = !done;
    pthread_mutex_unlock(&b->lock);
    if (done)
        blocking_free(b);
    return done;
}

bool pv__wait_readable(const pv_ctx *ctx, int descriptor) {
    struct pollfd one = {.fd = descriptor, .events = POLLIN};
    for (;;) {
        if (pv__interrupted(ctx))
            return false;
        int found = poll(&one, 1, POLL_MS);
        if (found > 0 || (found < 0 && errno != EINTR))
            return true;
    }
}
