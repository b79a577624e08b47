/* Streams by UTF-8 names, and streams in memory: temporary files that fclose reads back. */
#include "layer.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *stream_of(int descriptor, const char *mode) {
    FILE *stream = descriptor >= 0 ? _fdopen(descriptor, mode) : NULL;
    if (descriptor >= 0 && !stream)
        _close(descriptor);
    return stream;
}

FILE *pv__windows_fopen(const char *path, const char *mode) {
    bool both = strchr(mode, '+') != NULL;
    int flags = both ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
    flags |= mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT | O_APPEND : 0;
    return stream_of(pv__windows_open(path, flags, 0666), mode);
}

FILE *pv__windows_tmpfile(void) {
    return stream_of(pv__windows_unnamed(NULL), "w+b");
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

typedef struct memory {
    struct memory *next;
    FILE *stream;
    char **text;
    size_t *size;
} memory;

static memory *memories;
static SRWLOCK lock = SRWLOCK_INIT;

FILE *pv__windows_memory(char **text, size_t *size) {
    memory *m = calloc(1, sizeof *m);
    FILE *stream = m ? pv__windows_tmpfile() : NULL;
    if (!stream) {
        free(m);
        return NULL;
    }
    *text = NULL;
    *size = 0;
    *m = (memory){.stream = stream, .text = text, .size = size};
    AcquireSRWLockExclusive(&lock);
    m->next = memories;
    memories = m;
    ReleaseSRWLockExclusive(&lock);
    return stream;
}

static memory *forget(const FILE *stream) {
    AcquireSRWLockExclusive(&lock);
    memory **m = &memories;
    while (*m && (*m)->stream != stream)
        m = &(*m)->next;
    memory *found = *m;
    if (found)
        *m = found->next;
    ReleaseSRWLockExclusive(&lock);
    return found;
}

static bool read_back(const memory *m) {
    if (fflush(m->stream) != 0 || ferror(m->stream))
        return false;
    long long size = _ftelli64(m->stream);
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    rewind(m->stream);
    if (!text || fread(text, 1, (size_t)size, m->stream) != (size_t)size) {
        free(text);
        return false;
    }
    text[size] = '\0';
    *m->text = text;
    *m->size = (size_t)size;
    return true;
}

int pv__windows_fclose(FILE *stream) {
    memory *m = forget(stream);
    bool sound = !m || read_back(m);
    free(m);
    bool closed = (fclose)(stream) == 0;
    return sound && closed ? 0 : EOF;
}

/* ---- consoles ---------------------------------------------------------------------------------------------------- */

/* Standard output is buffered by the C library: writing to NUL empties the buffer. */
void pv__windows_drop(FILE *stream) {
    int descriptor = _fileno(stream), nowhere = pv__windows_open("/dev/null", O_WRONLY);
    if (nowhere < 0)
        return;
    _dup2(nowhere, descriptor);
    fflush(stream);
    _close(nowhere);
}

int pv__windows_isatty(int descriptor) {
    HANDLE handle = pv__windows_handle(descriptor);
    DWORD mode;
    if (handle == INVALID_HANDLE_VALUE || !GetConsoleMode(handle, &mode))
        return 0;
    return descriptor == STDIN_FILENO || (mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}
