/* UTF-8, one character at a time. */
#include <string.h>

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

/* The start and length of the longest word in text. */
static char *longest_word(char *text, size_t *length) {
    char *longest = text;
    *length = 0;
    for (char *at = text; *at;) {
        size_t size = strcspn(at, " \n");
        if (size > *length) {
            *length = size;
            longest = at;
        }
        at += size + (at[size] != '\0');
    }
    return longest;
}

void pv_text_squeeze(char *text, size_t size) {
    enum { KEPT = 68, DOTS = 3 };
    for (size_t length; strlen(text) >= size;) {
        char *word = longest_word(text, &length);
        size_t keep = KEPT;
        if (length > KEPT + DOTS + 2) {
            for (int marks = 0; marks < 3 && (strchr(":;,'\"", word[length - 1]) || word[length - 1] == '`'); marks++)
                length--; /* keeps the delimiter that ends the value */
        } else {          /* many short words: cuts the end */
            word = text;
            length = strlen(text);
            keep = size - DOTS - 1;
        }
        while (keep > 0 && ((unsigned char)word[keep] & 0xC0) == 0x80) /* does not cut a character in two */
            keep--;
        memcpy(word + keep, "...", DOTS);
        memmove(word + keep + DOTS, word + length, strlen(word + length) + 1);
    }
}
