/* Randomness by getentropy, which never waits. */
#ifndef PV_WASI_RANDOM_H
#define PV_WASI_RANDOM_H

#include <sys/types.h>
#include <unistd.h>

enum { GRND_NONBLOCK = 1 };

static inline ssize_t getrandom(void *to, size_t n, unsigned flags) {
    (void)flags;
    return getentropy(to, n) == 0 ? (ssize_t)n : -1;
}
#endif
