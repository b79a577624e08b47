/* Makes untrusted text safe in HTML, SVG and JSON. */
#include <math.h>
#include <string.h>

#include "report/svg.h"

static const char replacement[] = "\xEF\xBF\xBD";

/* Neither printable nor white space. U+FFFE and U+FFFF are not allowed in XML. */
static bool is_control(uint32_t code) {
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0) ||
           (code & 0xFFFE) == 0xFFFE || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069); /* would reverse the direction of the text after it */
}

void pv__put_html(FILE *out, const char *text) {
    while (*text) {
        uint32_t code;
        size_t length = pv_utf8_next(text, &code);
        if (length == 0 || is_control(code))
            fputs(replacement, out);
        else if (code == '&')
            fputs("&amp;", out);
        else if (code == '<')
            fputs("&lt;", out);
        else if (code == '>')
            fputs("&gt;", out);
        else if (code == '"')
            fputs("&quot;", out);
        else if (code == '\'')
            fputs("&#39;", out);
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
}

void pv__put_json(FILE *out, const char *text) {
    fputc('"', out);
    while (*text) {
        uint32_t code;
        size_t length = pv_utf8_next(text, &code);
        if (length == 0)
            fputs(replacement, out);
        else if (code < 0x20 || (code < 0x80 && strchr("\"\\<>&'", (int)code)) || code == 0x7F || code == 0x2028 ||
                 code == 0x2029)
            pv__print(out, "\\u%04X", (unsigned)code);
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
    fputc('"', out);
}

bool pv__shorten(const char *text, size_t most, char *to, size_t size) {
    static const char ellipsis[] = "\xE2\x80\xA6";
    size_t count = 0, used = 0, cut = 0; /* cut: where to end the text if an ellipsis follows */
    if (size == 0)
        return *text == '\0';
    while (*text) {
        uint32_t code;
        size_t length = pv_utf8_next(text, &code), bytes = length ? length : 3;
        if (count == most || bytes >= size - used)
            break;
        memcpy(to + used, length ? text : replacement, bytes);
        used += bytes;
        count++;
        text += length ? length : 1;
        if (count < most && sizeof ellipsis <= size - used)
            cut = used;
    }
    to[used] = '\0';
    if (*text && most > 0 && size >= sizeof ellipsis)
        memcpy(to + cut, ellipsis, sizeof ellipsis);
    return *text == '\0';
}

void pv__number_text(double value, char *to, size_t size) {
    pv__number_digits(value, 4, to, size);
}

/* Writes 1e-06 as 1e-6, adds commas to whole numbers of five digits or more, and uses a typographic minus sign. */
void pv__number_digits(double value, int digits, char *to, size_t size) {
    char text[48], shown[96];
    if (isnan(value)) {
        pv__shorten("\xE2\x80\x93", 1, to, size);
        return;
    }
    bool whole = fabs(value) >= 1e4 && fabs(value) < 1e15 && value == round(value);
    if (whole)
        pv__format(text, sizeof text, "%.0f", fabs(value));
    else
        pv__format(text, sizeof text, "%.*g", digits, fabs(value));
    char *e = strchr(text, 'e');
    if (e) {
        char *power = e + 2;
        while (power[0] == '0' && power[1])
            memmove(power, power + 1, strlen(power));
        if (e[1] == '+')
            memmove(e + 1, e + 2, strlen(e + 2) + 1);
    }
    size_t used = 0, length = strlen(text);
    if (signbit(value))
        used += (size_t)(stpcpy(shown, "\xE2\x88\x92") - shown);
    for (size_t i = 0; i < length; i++) {
        if (whole && i > 0 && (length - i) % 3 == 0)
            shown[used++] = ',';
        shown[used++] = text[i];
    }
    shown[used] = '\0';
    pv__shorten(shown, sizeof shown, to, size);
}
