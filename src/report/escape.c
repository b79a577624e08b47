/* Text from outside, safe in HTML, SVG and JSON. */
#include <math.h>
#include <string.h>

#include "report/svg.h"

static const char replacement[] = "\xEF\xBF\xBD";

/* Neither printable nor white space; U+FFFE and U+FFFF are in no XML either. */
static bool is_control(uint32_t code) {
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0) ||
           (code & 0xFFFE) == 0xFFFE || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069); /* turns the text after it round */
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
            fprintf(out, "\\u%04X", (unsigned)code);
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
    fputc('"', out);
}

bool pv__shorten(const char *text, size_t most, char *to, size_t size) {
    size_t count = 0, used = 0, cut = 0; /* cut: where the text ends if an ellipsis follows */
    bool whole = true;
    while (*text) {
        uint32_t code;
        size_t length = pv_utf8_next(text, &code), bytes = length ? length : 3;
        if (count == most || used + bytes + 4 > size) {
            whole = false;
            break;
        }
        if (count + 1 < most || most == 0)
            cut = used + bytes;
        memcpy(to + used, length ? text : replacement, bytes);
        used += bytes;
        count++;
        text += length ? length : 1;
    }
    to[used] = '\0';
    if (!whole)
        memcpy(to + (count == most ? cut : used), "\xE2\x80\xA6", 4);
    return whole;
}

/* 1e-06 as 1e-6; a number of five digits or more before the point gets commas. */
void pv__number_text(double value, char *to, size_t size) {
    char text[48], *at = text;
    if (isnan(value)) {
        snprintf(to, size, "\xE2\x80\x93");
        return;
    }
    bool whole = fabs(value) >= 1e4 && fabs(value) < 1e15 && value == round(value);
    snprintf(text, sizeof text, whole ? "%.0f" : "%.4g", value);
    char *e = strchr(text, 'e');
    if (e) {
        char *digits = e + 2;
        while (digits[0] == '0' && digits[1])
            memmove(digits, digits + 1, strlen(digits));
        if (e[1] == '+')
            memmove(e + 1, e + 2, strlen(e + 2) + 1);
    }
    size_t used = 0, length = strlen(text);
    if (*at == '-' && used + 4 < size) {
        used += (size_t)snprintf(to, size, "\xE2\x88\x92");
        at++, length--;
    }
    for (size_t i = 0; i < length && used + 2 < size; i++) {
        if (whole && i > 0 && (length - i) % 3 == 0)
            to[used++] = ',';
        to[used++] = at[i];
    }
    to[used] = '\0';
}
