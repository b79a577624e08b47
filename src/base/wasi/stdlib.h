/* What wasi-libc leaves out of stdlib.h; src/base/wasi/wasi.c has it. */
#ifndef PV_WASI_STDLIB_H
#define PV_WASI_STDLIB_H

#include_next <stdlib.h>

/* The path itself, if it is there: links are not followed. */
char *realpath(const char *path, char *resolved);

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *state);

int mkostemp(char *path, int flags);

#endif
