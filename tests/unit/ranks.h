/* tests/unit/ranks.h: ranks implemented as threads, each with its own context. */
#ifndef PV_TESTS_RANKS_H
#define PV_TESTS_RANKS_H

#include <pthread.h>
#include <string.h>

#include "fixture.h"

enum { RANKS_MAX = 4 };

typedef struct cluster {
    int size, left; /* left: exchanges until the connection is lost; -1: never */
    pthread_barrier_t barrier;
    const void *mine[RANKS_MAX];
    int exchanges;
} cluster;

typedef struct member {
    cluster *all;
    int rank;
} member;

static inline bool gather(void *state, const void *mine, size_t bytes, void *all) {
    const member *m = state;
    cluster *c = m->all;
    c->mine[m->rank] = mine;
    pthread_barrier_wait(&c->barrier);
    bool good = c->left != 0;
    for (int r = 0; r < c->size; r++)
        memcpy((char *)all + (size_t)r * bytes, c->mine[r], bytes);
    pthread_barrier_wait(&c->barrier);
    if (m->rank == 0) {
        c->exchanges++;
        c->left -= c->left > 0;
    }
    pthread_barrier_wait(&c->barrier);
    return good;
}

/* Makes the context that of this member; without a cluster it is a single process. */
static inline pv_status member_joins(pv_ctx *own, member *who) {
    const pv_ranks ranks = {.rank = who->rank, .size = who->all ? who->all->size : 1, .state = who, .gather = gather};
    return pv_ctx_set_ranks(own, &ranks);
}

/* Runs run(work[r]) on one thread per rank; bytes: size of a work item. */
static inline void cluster_run(cluster *all, void *(*run)(void *), void *work, size_t bytes) {
    pthread_t thread[RANKS_MAX];
    assert_int_equal(pthread_barrier_init(&all->barrier, NULL, (unsigned)all->size), 0);
    for (int r = 0; r < all->size; r++)
        assert_int_equal(pthread_create(&thread[r], NULL, run, (char *)work + (size_t)r * bytes), 0);
    for (int r = 0; r < all->size; r++)
        assert_int_equal(pthread_join(thread[r], NULL), 0);
    pthread_barrier_destroy(&all->barrier);
}

#endif
