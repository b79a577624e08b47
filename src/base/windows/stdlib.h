/* What the C library of Windows leaves out of stdlib.h. */
#ifndef PV_WINDOWS_STDLIB_H
#define PV_WINDOWS_STDLIB_H

#include_next <stdlib.h>
#include <locale.h>

/* An absolute path with slashes and without links, as long as it is there. */
char *pv__windows_realpath(const char *path, char *resolved);
char *pv__windows_getenv(const char *name); /* UTF-8, until four others are read; TMPDIR is TEMP if it is not set */
void *pv__windows_reallocarray(void *block, size_t n, size_t size);
double pv__windows_strtod_l(const char *text, char **end, locale_t locale);
void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *state);

#define realpath(path, resolved) pv__windows_realpath(path, resolved)
#define getenv(name) pv__windows_getenv(name)
#define secure_getenv(name) pv__windows_getenv(name)
#define reallocarray(block, n, size) pv__windows_reallocarray(block, n, size)
#define strtod_l(text, end, locale) pv__windows_strtod_l(text, end, locale)
#define mkostemp(path, flags) (errno = ENOSYS, -1) /* not reached: open knows O_TMPFILE */

#endif
