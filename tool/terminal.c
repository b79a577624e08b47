/* Standard streams: makes sure they are open, and escapes what a terminal would interpret. Names and labels from files
 * may contain control characters and marks that reverse text; on a terminal they appear as \\x1B and \\u202E. Pipes and
 * files get the original bytes, except that names in tables are escaped so that they stay on their line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/console.h"

/* If a standard stream is closed, the next file opened would get its number and messages would be written to that file.
 * The stream is therefore replaced by a descriptor that can be neither read nor written, so that using it fails as
 * before. Errors cannot be reported if standard error is closed. */
void cli_guard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* opens as the lowest free number, fd */
}

bool cli_unprintable(uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

static bool put(const char *bytes, size_t size) {
    while (size) {
        ssize_t done = write(STDOUT_FILENO, bytes, size);
        if (done < 0 && errno != EINTR)
            return false;
        bytes += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* ---- names in tables --------------------------------------------------------------------------------------------- */

char *cli_shown(const char *text) {
    char *shown = cli_alloc(6 * strlen(text) + 1, 1), *at = shown;
    while (*text) {
        uint32_t code = 0;
        size_t length = pv_utf8_next(text, &code);
        if (length && !cli_unprintable(code)) {
            memcpy(at, text, length);
            at += length;
        } else if (code == '\n' || code == '\r' || code == '\t') {
            *at++ = '\\';
            *at++ = code == '\n' ? 'n' : code == '\r' ? 'r' : 't';
        } else {
            at += snprintf(at, 7, code > 0xFF && length ? "\\u%04X" : "\\x%02X",
                           length ? (unsigned)code : (unsigned char)*text);
        }
        text += length ? length : 1;
    }
    return shown;
}

static int characters(const char *text) {
    int count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80; /* counts bytes that start a character */
    return count;
}

int cli_name_width(const char *name) {
    char *shown = cli_shown(name);
    int width = characters(shown);
    free(shown);
    return width;
}

void cli_put_name(const char *name, int width) {
    char *shown = cli_shown(name);
    int used = characters(shown);
    printf("%s%*s", shown, width > used ? width - used : 0, "");
    free(shown);
}

/* ---- the terminal ------------------------------------------------------------------------------------------------ */

#ifdef __GLIBC__
/* An incomplete character. */
typedef struct begun {
    char bytes[5]; /* followed by a NUL */
    size_t count;
} begun;

static size_t length_from(unsigned char lead) {
    return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
}

/* Writes the character, or its bytes if they are invalid, to shown (at least 24 bytes); returns how many. */
static size_t show(begun *now, char *shown) {
    uint32_t code = 0;
    size_t used = 0;
    now->bytes[now->count] = '\0';
    if (pv_utf8_next(now->bytes, &code) == now->count) {
        if (!cli_unprintable(code) || code == '\n' || code == '\t') {
            memcpy(shown, now->bytes, now->count);
            used = now->count;
        } else {
            used = (size_t)snprintf(shown, 24, code > 0xFF ? "\\u%04X" : "\\x%02X", (unsigned)code);
        }
    } else {
        for (size_t i = 0; i < now->count;
             i++) { /* terminals with other encodings treat bytes from 0x80 as control characters */
            unsigned char c = (unsigned char)now->bytes[i];
            if (c >= 0x80 && c < 0xA0)
                used += (size_t)snprintf(shown + used, 24 - used, "\\x%02X", c);
            else
                shown[used++] = (char)c;
        }
    }
    now->count = 0;
    return used;
}

static ssize_t guarded(void *state, const char *bytes, size_t size) {
    begun *now = state;
    char shown[4096];
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        if (used + 48 > sizeof shown) {
            if (!put(shown, used))
                return 0;
            used = 0;
        }
        unsigned char c = (unsigned char)bytes[i];
        if (now->count > 0 && (c & 0xC0) != 0x80)
            used += show(now, shown + used);
        now->bytes[now->count++] = (char)c;
        if (now->count == length_from((unsigned char)now->bytes[0]))
            used += show(now, shown + used);
    }
    return put(shown, used) ? (ssize_t)size : 0;
}

void cli_guard_terminal(void) {
    static begun now;
    if (isatty(STDOUT_FILENO) != 1)
        return;
    FILE *stream = fopencookie(&now, "w", (cookie_io_functions_t){.write = guarded});
    if (!stream)
        return; /* out of memory: the next allocation will report it */
    setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    stdout = stream;
}
#else
void cli_guard_terminal(void) { /* stdout cannot be assigned */
}
#endif
