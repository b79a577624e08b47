/* Reports of files opened, where there are none: ENOSYS, which callers turn into a message. */
#ifndef PV_WASI_INOTIFY_H
#define PV_WASI_INOTIFY_H

#include <errno.h>
#include <stdint.h>

enum { IN_OPEN = 0x20, IN_NONBLOCK = 0x800, IN_CLOEXEC = 0x80000, IN_Q_OVERFLOW = 0x4000 };

struct inotify_event {
    int wd;
    uint32_t mask, cookie, len;
    char name[];
};

static inline int inotify_init1(int flags) {
    (void)flags;
    errno = ENOSYS;
    return -1;
}
static inline int inotify_add_watch(int descriptor, const char *path, uint32_t mask) {
    (void)descriptor, (void)path, (void)mask;
    errno = ENOSYS;
    return -1;
}
#endif
