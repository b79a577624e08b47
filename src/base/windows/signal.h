/* Ctrl-C, Ctrl-Break, the end of a console or session, alarms, and reads of mapped pages that fail, as signals. A
 * handler runs on a thread of its own, except for SIGBUS; no call is interrupted. */
#ifndef PV_WINDOWS_SIGNAL_H
#define PV_WINDOWS_SIGNAL_H

#include_next <signal.h>

#define SIGHUP 1
#define SIGBUS 7
#define SIGALRM 14
#define SIGXCPU 24
#define SIGXFSZ 25
#define SA_RESTART 0x10000000
#define SIG_SETMASK 2

typedef int pv__windows_sigset;
#define sigset_t pv__windows_sigset

struct sigaction {
    void (*sa_handler)(int);
    sigset_t sa_mask;
    int sa_flags;
};

int pv__windows_sigaction(int number, const struct sigaction *action, struct sigaction *before);
void pv__windows_signal(int number, void (*handler)(int));
_Noreturn void pv__windows_raise(int number); /* with its default action: the program ends */
unsigned pv__windows_alarm(unsigned seconds);

#define sigaction(number, action, before) pv__windows_sigaction(number, action, before)
#define signal(number, handler) pv__windows_signal(number, handler)
#define raise(number) pv__windows_raise(number)
#define alarm(seconds) pv__windows_alarm(seconds)
#define sigemptyset(set) (*(set) = 0)
#define sigfillset(set) (*(set) = 1)
#define pthread_sigmask(how, set, before) ((void)(set), (void)(before))

#endif
