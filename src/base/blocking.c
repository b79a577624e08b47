/* Calls that may not come back: of engines that plan a query for ever, of pipes that nobody writes to. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base.h"

enum { LOOK_MS = 50, PATIENCE = 10 /* looks after it was asked to stop */ };

/* Of both threads; the last one to leave frees it. */
typedef struct blocking {
    void (*call)(void *state);
    void (*drop)(void *state);
    void *state;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool done, abandoned; /* under the lock */
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
    sigset_t all, before; /* signals are for the caller's threads */
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

/* A look later, or when it is done. Under the lock. */
static void wait_a_look(blocking *b) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&b->change, &b->lock, &until);
}

bool pv__blocking_run(const pv_ctx *ctx, const pv__blocking *what) {
    blocking *b = begin(what);
    if (!b) { /* no thread is to be had */
        what->call(what->state);
        return true;
    }
    int asked = 0;
    pthread_mutex_lock(&b->lock);
    while (!b->done && asked <= PATIENCE) {
        wait_a_look(b);
        if (b->done)
            break;
        pthread_mutex_unlock(&b->lock); /* the caller may be asked, who takes his time */
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
        int found = poll(&one, 1, LOOK_MS);
        if (found > 0 || (found < 0 && errno != EINTR))
            return true;
    }
}
