/* Numbers as text, the same in every locale.
 *
 * printf and strtod use the decimal point of the process's locale, which belongs to the program that uses the library.
 * If it is a comma, files and pages would be corrupted without any error. The functions here switch to the C locale for
 * the calling thread alone, so that neither the program's other threads nor OpenMP's are affected, and restore the
 * locale at once. tests/locale.sh checks that no other file in src/ calls functions that depend on the locale.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "base/base.h"

/* The C locale is built into the C library: it needs no memory and cannot fail. */
static locale_t c_locale(void) {
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t pv__locale_enter(void) {
    return uselocale(c_locale());
}

void pv__locale_leave(locale_t before) {
    uselocale(before);
}

int pv__vformat(char *to, size_t size, const char *format, va_list arguments) {
    locale_t before = pv__locale_enter();
    int length = vsnprintf(to, size, format, arguments);
    pv__locale_leave(before);
    return length;
}

int pv__format(char *to, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = pv__vformat(to, size, format, arguments);
    va_end(arguments);
    return length;
}

void pv__print(FILE *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    locale_t before = pv__locale_enter();
    vfprintf(out, format, arguments);
    pv__locale_leave(before);
    va_end(arguments);
}

double pv__strtod(const char *text, char **end) {
    return strtod_l(text, end, c_locale());
}

bool pv__same_letters(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (pv__lower(a[i]) != pv__lower(b[i]))
            return false;
        if (a[i] == '\0')
            return true;
    }
    return true;
}
