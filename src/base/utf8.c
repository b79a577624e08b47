/* UTF-8, one character at a time. */
#include "base/base.h"

size_t pv_utf8_next(const char *text, uint32_t *code) {
    const unsigned char *t = (const unsigned char *)text;
    if (t[0] < 0x80) {
        if (code)
            *code = t[0];
        return 1;
    }
    size_t length = t[0] >= 0xF0 ? 4 : t[0] >= 0xE0 ? 3 : 2;
    if (t[0] < 0xC2 || t[0] > 0xF4)
        return 0;
    uint32_t value = t[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((t[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (t[i] & 0x3F);
    }
    if ((length == 3 && value < 0x800) || (length == 4 && value < 0x10000) || (value >= 0xD800 && value <= 0xDFFF) ||
        value > 0x10FFFF)
        return 0;
    if (code)
        *code = value;
    return length;
}
