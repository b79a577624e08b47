/* The calls of POSIX and the C library that wasi-libc lacks, as far as the library uses them and one header cannot hold
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char *realpath(const char *path, char *resolved) {
    struct stat about;
    if (stat(path, &about) != 0)
        return NULL;
    size_t size = strlen(path) + 1;
    char *to = resolved ? resolved : malloc(size);
    return to ? memcpy(to, path, size) : NULL;
}

/* No other process is there to hold a lock. */
int flock(int descriptor, int operation) {
    (void)descriptor, (void)operation;
    return 0;
}

int mkostemp(char *path, int flags) {
    enum { RANDOM = 6 };
    size_t length = strlen(path);
    unsigned char random[RANDOM];
    if (length < RANDOM || getentropy(random, RANDOM) != 0) {
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 0; i < RANDOM; i++)
        path[length - RANDOM + i] = "abcdefghijklmnopqrstuvwxyz012345"[random[i] & 31];
    return open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
}

FILE *tmpfile(void) {
    char path[] = "prevail-XXXXXX";
    int descriptor = mkostemp(path, 0);
    if (descriptor < 0)
        return NULL;
    unlink(path);
    return fdopen(descriptor, "w+b");
}

/* No program has rights that its caller lacks. */
char *secure_getenv(const char *name) {
    return getenv(name);
}

int madvise(void *at, size_t size, int advice) {
    (void)at, (void)size, (void)advice;
    return 0;
}

void *mremap(void *at, size_t size, size_t wanted, int flags, ...) {
    (void)at, (void)size, (void)wanted, (void)flags;
    errno = ENOSYS;
    return MAP_FAILED;
}
