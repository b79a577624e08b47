/* What else the C library of Windows lacks. */
#define _CRT_RAND_S
#include "layer.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

char *pv__windows_stpcpy(char *to, const char *from) {
    size_t length = strlen(from);
    memcpy(to, from, length + 1);
    return to + length;
}

void *pv__windows_memrchr(const void *text, int wanted, size_t n) {
    const char *from = text;
    while (n > 0 && from[n - 1] != (char)wanted)
        n--;
    return n > 0 ? (void *)(uintptr_t)(from + n - 1) : NULL;
}

char *pv__windows_strsep(char **text, const char *separators) {
    char *word = *text;
    if (!word)
        return NULL;
    char *end = word + strcspn(word, separators);
    *text = *end ? end + 1 : NULL;
    *end = '\0';
    return word;
}

void *pv__windows_reallocarray(void *block, size_t n, size_t size) {
    if (size && n > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, n * size);
}

char *pv__windows_getenv(const char *name) {
    enum { KEPT = 4, SIZE = 4096 };
    static _Thread_local char text[KEPT][SIZE];
    static _Thread_local unsigned used;
    wchar_t value[SIZE / 3], *wide = pv__windows_wide(strcmp(name, "TMPDIR") == 0 ? "TEMP" : name);
    DWORD length = strcmp(name, "TMPDIR") == 0 ? GetEnvironmentVariableW(L"TMPDIR", value, SIZE / 3) : 0;
    if (!length && wide)
        length = GetEnvironmentVariableW(wide, value, SIZE / 3);
    free(wide);
    if (!length || length >= SIZE / 3)
        return NULL;
    char *to = text[used++ % KEPT];
    return WideCharToMultiByte(CP_UTF8, 0, value, -1, to, SIZE, NULL, NULL) ? to : NULL;
}

ssize_t pv__windows_random(void *to, size_t n) {
    unsigned char *at = to;
    for (size_t i = 0; i < n; i++) {
        unsigned some;
        if (rand_s(&some) != 0)
            return -1;
        at[i] = (unsigned char)some;
    }
    return (ssize_t)n;
}

long pv__windows_sysconf(int what) {
    SYSTEM_INFO about;
    GetSystemInfo(&about);
    return what == _SC_PAGESIZE ? (long)about.dwPageSize : (long)about.dwNumberOfProcessors;
}

/* ---- the locale of a thread -------------------------------------------------------------------------------------- */

pv__windows_locale pv__windows_uselocale(pv__windows_locale wanted) {
    if (wanted) {
        setlocale(LC_NUMERIC, wanted);
        free(wanted);
        return NULL;
    }
    if (strcmp(localeconv()->decimal_point, ".") == 0)
        return NULL;
    _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    char *before = _strdup(setlocale(LC_NUMERIC, NULL));
    setlocale(LC_NUMERIC, "C");
    return before;
}

double pv__windows_strtod_l(const char *text, char **end, pv__windows_locale locale) {
    pv__windows_locale before = pv__windows_uselocale(locale);
    double value = strtod(text, end);
    pv__windows_uselocale(before);
    return value;
}
