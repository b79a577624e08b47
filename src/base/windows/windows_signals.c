/* Signals, alarms and waiting. */
#include "layer.h"

#include <errno.h>
#include <io.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SIGNALS = 32 };

typedef void handler(int);

static _Atomic(handler *) handlers[SIGNALS]; /* NULL: the system's default */

static BOOL WINAPI on_console(DWORD event) {
    bool ends = event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT;
    int number = ends ? SIGHUP : SIGINT;
    handler *call = atomic_load(&handlers[number]);
    if (!call)
        return FALSE;
    call(number);
    if (ends) /* Windows ends the program when this returns, or after some seconds: the work may stop cleanly until then
               */
        Sleep(INFINITE);
    return TRUE;
}

static LONG WINAPI on_exception(EXCEPTION_POINTERS *about) {
    handler *call = atomic_load(&handlers[SIGBUS]);
    if (about->ExceptionRecord->ExceptionCode == EXCEPTION_IN_PAGE_ERROR && call)
        call(SIGBUS);
    return EXCEPTION_CONTINUE_SEARCH;
}

int pv__windows_sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    if (before)
        *before = (struct sigaction){.sa_handler = atomic_load(&handlers[number])};
    if (!action)
        return 0;
    pv__windows_signal(number, action->sa_handler);
    return 0;
}

void pv__windows_signal(int number, void (*call)(int)) {
    atomic_store(&handlers[number], call == SIG_DFL || call == SIG_IGN ? NULL : call);
    if (number == SIGINT || number == SIGHUP) {
        SetConsoleCtrlHandler(on_console, FALSE);
        SetConsoleCtrlHandler(on_console, TRUE);
    } else if (number == SIGBUS) {
        SetUnhandledExceptionFilter(on_exception);
    }
}

_Noreturn void pv__windows_raise(int number) {
    (void)number;
    TerminateProcess(GetCurrentProcess(), (UINT)STATUS_CONTROL_C_EXIT);
    for (;;)
        Sleep(INFINITE);
}

/* ---- alarms ------------------------------------------------------------------------------------------------------ */

static HANDLE timer;
static SRWLOCK timing = SRWLOCK_INIT;

static void CALLBACK on_time(void *state, BOOLEAN fired) {
    (void)state, (void)fired;
    handler *call = atomic_load(&handlers[SIGALRM]);
    if (call)
        call(SIGALRM);
}

unsigned pv__windows_alarm(unsigned seconds) {
    AcquireSRWLockExclusive(&timing);
    if (timer)
        DeleteTimerQueueTimer(NULL, timer, NULL); /* does not wait: the call may come from on_time */
    timer = NULL;
    if (seconds && !CreateTimerQueueTimer(&timer, NULL, on_time, NULL, 1000 * seconds, 0, WT_EXECUTEONLYONCE))
        timer = NULL;
    ReleaseSRWLockExclusive(&timing);
    return 0;
}

int pv__windows_pause(void) {
    Sleep(INFINITE);
    return -1;
}

/* ---- poll -------------------------------------------------------------------------------------------------------- */

static bool ready(const struct pollfd *one) {
    HANDLE handle = pv__windows_handle(one->fd);
    DWORD available = 0;
    if (handle == INVALID_HANDLE_VALUE || !(one->events & POLLIN) || GetFileType(handle) != FILE_TYPE_PIPE)
        return true;
    return !PeekNamedPipe(handle, NULL, 0, NULL, &available, NULL) || available > 0;
}

int pv__windows_poll(struct pollfd *ones, unsigned n, int milliseconds) {
    enum { STEP = 5 };
    for (int waited = 0;; waited += STEP) {
        int found = 0;
        for (unsigned i = 0; i < n; i++)
            found += (ones[i].revents = ready(&ones[i]) ? ones[i].events : 0) != 0;
        if (found || (milliseconds >= 0 && waited >= milliseconds))
            return found;
        int left = milliseconds < 0 ? STEP : milliseconds - waited;
        Sleep((DWORD)(left < STEP ? left : STEP));
    }
}
