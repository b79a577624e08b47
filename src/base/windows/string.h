/* What the C library of Windows leaves out of string.h. */
#ifndef PV_WINDOWS_STRING_H
#define PV_WINDOWS_STRING_H

#include_next <string.h>

char *pv__windows_stpcpy(char *to, const char *from);
char *pv__windows_strsep(char **text, const char *separators);
void *pv__windows_memrchr(const void *text, int wanted, size_t n);

#define stpcpy(to, from) pv__windows_stpcpy(to, from)
#define memrchr(text, wanted, n) pv__windows_memrchr(text, wanted, n)
#define strsep(text, separators) pv__windows_strsep(text, separators)

#endif
