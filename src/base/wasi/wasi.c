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

/* Heap sort: in place, n log n comparisons whatever the order. */
typedef struct heap {
    char *base;
    size_t size;
    int (*compare)(const void *, const void *, void *);
    void *state;
} heap;

static void swap(char *a, char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        char c = a[i];
        a[i] = b[i];
        b[i] = c;
    }
}

static void sink(const heap *h, size_t at, size_t n) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        char *larger = h->base + child * h->size;
        if (child + 1 < n && h->compare(larger, larger + h->size, h->state) < 0) {
            larger += h->size;
            child++;
        }
        char *here = h->base + at * h->size;
        if (h->compare(here, larger, h->state) >= 0)
            return;
        swap(here, larger, h->size);
    }
}

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *state) {
    const heap h = {base, size, compare, state};
    for (size_t i = n / 2; i-- > 0;)
        sink(&h, i, n);
    for (size_t i = n; i-- > 1;) {
        swap(h.base, h.base + i * size, size);
        sink(&h, 0, i);
    }
}
