#ifndef PV_WINDOWS_RANDOM_H
#define PV_WINDOWS_RANDOM_H

#include <sys/types.h>

enum { GRND_NONBLOCK = 1 };

ssize_t pv__windows_random(void *to, size_t n);
#define getrandom(to, n, flags) pv__windows_random(to, n)

#endif
