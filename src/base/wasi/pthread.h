/* POSIX threads where there is one thread. Mutexes are always free. No thread can be made (EAGAIN): callers then do the
 * work themselves, as they do wherever threads run out. Waiting for a condition that nobody else can bring about ends
 * the program. */
#ifndef PV_WASI_PTHREAD_H
#define PV_WASI_PTHREAD_H

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

#define __NEED_pthread_t
#define __NEED_pthread_attr_t
#define __NEED_pthread_mutex_t
#define __NEED_pthread_cond_t
#define __NEED_pthread_condattr_t
#include <bits/alltypes.h>

#undef PTHREAD_MUTEX_INITIALIZER
#define PTHREAD_MUTEX_INITIALIZER                                                                                      \
    { 0 }

#define PV_WASI_DOES_NOTHING(name, ...)                                                                                \
    static inline int name(__VA_ARGS__) {                                                                              \
        return 0;                                                                                                      \
    }
PV_WASI_DOES_NOTHING(pthread_mutex_init, pthread_mutex_t *m, const void *attributes)
PV_WASI_DOES_NOTHING(pthread_mutex_destroy, pthread_mutex_t *m)
PV_WASI_DOES_NOTHING(pthread_mutex_lock, pthread_mutex_t *m)
PV_WASI_DOES_NOTHING(pthread_mutex_unlock, pthread_mutex_t *m)
PV_WASI_DOES_NOTHING(pthread_cond_init, pthread_cond_t *c, const pthread_condattr_t *attributes)
PV_WASI_DOES_NOTHING(pthread_cond_destroy, pthread_cond_t *c)
PV_WASI_DOES_NOTHING(pthread_cond_signal, pthread_cond_t *c)
PV_WASI_DOES_NOTHING(pthread_cond_broadcast, pthread_cond_t *c)
PV_WASI_DOES_NOTHING(pthread_condattr_init, pthread_condattr_t *a)
PV_WASI_DOES_NOTHING(pthread_condattr_setclock, pthread_condattr_t *a, clockid_t clock)
PV_WASI_DOES_NOTHING(pthread_condattr_destroy, pthread_condattr_t *a)
PV_WASI_DOES_NOTHING(pthread_attr_init, pthread_attr_t *a)
PV_WASI_DOES_NOTHING(pthread_attr_setstacksize, pthread_attr_t *a, size_t size)
PV_WASI_DOES_NOTHING(pthread_attr_destroy, pthread_attr_t *a)
PV_WASI_DOES_NOTHING(pthread_atfork, void (*before)(void), void (*parent)(void), void (*child)(void))
PV_WASI_DOES_NOTHING(pthread_join, pthread_t thread, void **result)
PV_WASI_DOES_NOTHING(pthread_detach, pthread_t thread)
#undef PV_WASI_DOES_NOTHING

static inline int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    (void)c, (void)m;
    abort();
}
static inline int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) {
    (void)c, (void)m, (void)until;
    return ETIMEDOUT;
}
static inline int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                                 void *state) {
    (void)thread, (void)attributes, (void)run, (void)state;
    return EAGAIN;
}
static inline pthread_t pthread_self(void) {
    return (pthread_t)0;
}
static inline int pthread_equal(pthread_t one, pthread_t other) {
    return one == other;
}
#endif
