/* What winpthreads leaves out. */
#ifndef PV_WINDOWS_PTHREAD_H
#define PV_WINDOWS_PTHREAD_H

#include_next <pthread.h>

#define PTHREAD_STACK_MIN 65536

#undef pthread_atfork
static inline int pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
    (void)before, (void)parent, (void)child; /* processes are not copied */
    return 0;
}
#endif
