/* Signals where there are none: handlers are accepted and never called. */
#ifndef PV_WASI_SIGNAL_H
#define PV_WASI_SIGNAL_H

#include <__typedef_sigset_t.h>
#include_next <signal.h>

#ifndef SA_RESTART
#define SA_RESTART 0x10000000
#define SIG_SETMASK 2
struct sigaction {
    void (*sa_handler)(int);
    sigset_t sa_mask;
    int sa_flags;
};

static inline int sigemptyset(sigset_t *set) {
    *set = 0;
    return 0;
}
static inline int sigfillset(sigset_t *set) {
    *set = 0;
    return 0;
}
static inline int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    (void)how, (void)set;
    if (before)
        *before = 0;
    return 0;
}
static inline int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    (void)number, (void)action;
    if (before)
        *before = (struct sigaction){0};
    return 0;
}
static inline unsigned alarm(unsigned seconds) {
    (void)seconds;
    return 0;
}
#endif
#endif
