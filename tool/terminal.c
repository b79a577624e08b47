/* Standard output on a terminal: control characters, which names and labels out of files may hold, are shown as \\x1B
 * instead of being obeyed. Pipes and files get the bytes as they are.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "tool/console.h"

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

/* U+0080 to U+009F are controls as well: two bytes of which the first, 0xC2, waits for the second. */
static ssize_t guarded(void *state, const char *bytes, size_t size) {
    bool *waits = state;
    char shown[4096];
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (used + 16 > sizeof shown) {
            if (!put(shown, used))
                return 0;
            used = 0;
        }
        bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F || (*waits && c >= 0x80 && c < 0xA0);
        if (*waits && !control)
            shown[used++] = '\xC2';
        *waits = c == 0xC2;
        if (control)
            used += (size_t)snprintf(shown + used, sizeof shown - used, "\\x%02X", c);
        else if (!*waits)
            shown[used++] = (char)c;
    }
    return put(shown, used) ? (ssize_t)size : 0;
}

void cli_guard_terminal(void) {
    static bool waits;
    if (isatty(STDOUT_FILENO) != 1)
        return;
    FILE *stream = fopencookie(&waits, "w", (cookie_io_functions_t){.write = guarded});
    if (!stream)
        return; /* no memory: what comes next will say so */
    setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    stdout = stream;
}
