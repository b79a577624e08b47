/* POSIX on Windows, as far as the library uses it. The headers in this folder stand before the compiler's and replace
 * calls that Windows lacks or that do not do there what POSIX says. Sources elsewhere need no condition.
 *
 * Names of files are UTF-8 with slashes or backslashes, of any length; /dev/null is NUL, /proc/self/fd/N the file of a
 * descriptor. Files are opened in binary mode, are not inherited, and may be renamed or deleted while they are open, by
 * this program and by others. */
#ifndef PV_WINDOWS_LAYER_H
#define PV_WINDOWS_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

/* Both return NULL and set errno if they fail. The caller frees the text. */
wchar_t *pv__windows_wide(const char *text);
wchar_t *pv__windows_path(const char *path); /* for calls of Windows: absolute if it is long */
char *pv__windows_utf8(const wchar_t *text);

/* errno for GetLastError(). Returns -1. */
int pv__windows_failed(void);

/* The system's handle of a descriptor, or INVALID_HANDLE_VALUE and EBADF. */
HANDLE pv__windows_handle(int descriptor);

/* A file that has a name of its own in the folder (NULL: that of temporary files) until it is closed. Returns its
 * descriptor, or -1. */
int pv__windows_unnamed(const char *folder);

#endif
