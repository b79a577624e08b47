/* What wasi-libc leaves out of unistd.h: there is one user, and descriptors cannot be copied. */
#ifndef PV_WASI_UNISTD_H
#define PV_WASI_UNISTD_H

#include <errno.h>
#include_next <unistd.h>

static inline uid_t getuid(void) {
    return 0;
}
static inline uid_t geteuid(void) {
    return 0;
}
static inline gid_t getgid(void) {
    return 0;
}
static inline gid_t getegid(void) {
    return 0;
}
static inline int dup(int descriptor) {
    (void)descriptor;
    errno = ENOSYS;
    return -1;
}
static inline int dup2(int from, int to) {
    (void)from, (void)to;
    errno = ENOSYS;
    return -1;
}
static inline int pause(void) {
    errno = EINTR;
    return -1;
}
#endif
