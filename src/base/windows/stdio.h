/* Streams by UTF-8 names, and streams in memory. */
#ifndef PV_WINDOWS_STDIO_H
#define PV_WINDOWS_STDIO_H

#include_next <stdio.h>
#include <sys/types.h>

FILE *pv__windows_fopen(const char *path, const char *mode);
FILE *pv__windows_tmpfile(void);
FILE *pv__windows_memory(char **text, size_t *size); /* a file, which fclose copies to memory */
int pv__windows_fclose(FILE *stream);
int pv__windows_rename(const char *from, const char *to);

#define fopen(path, mode) pv__windows_fopen(path, mode)
#define tmpfile() pv__windows_tmpfile()
#define open_memstream(text, size) pv__windows_memory(text, size)
#define fclose(stream) pv__windows_fclose(stream)
#define rename(from, to) pv__windows_rename(from, to)

#endif
