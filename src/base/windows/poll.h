/* Waiting for pipes; files and consoles are always ready. */
#ifndef PV_WINDOWS_POLL_H
#define PV_WINDOWS_POLL_H

enum { POLLIN = 1, POLLOUT = 4, POLLERR = 8, POLLHUP = 16 };

struct pollfd {
    int fd;
    short events, revents;
};

int pv__windows_poll(struct pollfd *ones, unsigned n, int milliseconds);
#define poll(ones, n, milliseconds) pv__windows_poll(ones, n, milliseconds)

#endif
