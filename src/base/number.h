/* src/base/number.h: exact conversion of decimal text to double and back.
 *
 * The grammar is [+-] digits [. digits] [e|E [+-] digits] with at least one digit before the exponent, or inf or
 * infinity in any case. Hexadecimal numbers, nan (readers treat it as a missing value) and leading blanks are not
 * accepted.
 */
#ifndef PV_SRC_BASE_NUMBER_H
#define PV_SRC_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Parses the number at the start of text, which must be NUL-terminated. Returns its length in bytes, 0 if there is
 * none. */
size_t pv__number_prefix(const char *text, double *value);
/* Whether the whole of text [n] is a number. text[n] must be a byte that cannot continue one, such as NUL. */
bool pv__number_parse(const char *text, size_t n, double *value);

/* The double nearest to mantissa x 10^exponent, for |exponent| <= PV__EXACT_POWER. */
enum { PV__EXACT_POWER = 27 };
double pv__scale_decimal(uint64_t mantissa, int exponent);

extern const double pv__power10[23]; /* 10^k, exact */
extern const uint64_t pv__power10_u64[20];

/* Converts eight characters to digits in the bytes of a word, the first character lowest. *count: how many of them are
 * digits before the first other character. Reads 8 bytes. */
static inline uint64_t pv__digits8(const char *text, unsigned *count) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word ^= 0x3030303030303030u; /* now digits are 0..9, and everything else is 10 or more */
    uint64_t other = ((word + 0x7676767676767676u) | word) & 0x8080808080808080u;
    *count = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    return word;
}

/* The value of the first count (1..8) digits of a word from pv__digits8: three multiplications, no loop. */
static inline uint64_t pv__digits8_value(uint64_t word, unsigned count) {
    word <<= 8 * (8 - count); /* shifts out what follows the digits, leaving leading zeros */
    word = (word * (1 + (10 << 8))) >> 8;
    word = ((word & 0x00FF00FF00FF00FFu) * (1 + (100u << 16))) >> 16;
    return ((word & 0x0000FFFF0000FFFFu) * (1 + ((uint64_t)10000 << 32))) >> 32;
}

/* The common case, inline for readers: [-] digits [. digits], at most 19 digits. Returns the end of the number, or NULL
 * if pv__number_prefix must handle it. Reads up to 8 bytes past the number. */
static inline const char *pv__number_fast(const char *text, double *value) {
    bool negative = *text == '-';
    text += negative;
    const char *begin = text;
    uint64_t mantissa = 0;
    for (unsigned digit; (digit = (unsigned)(unsigned char)*text - '0') < 10; text++)
        mantissa = mantissa * 10 + digit;
    size_t digits = (size_t)(text - begin), decimals = 0;
    if (*text == '.') {
        const char *point = text++;
        unsigned count;
        do {
            uint64_t word = pv__digits8(text, &count);
            if (count == 0)
                break;
            mantissa = mantissa * pv__power10_u64[count] + pv__digits8_value(word, count);
            text += count;
        } while (count == 8);
        decimals = (size_t)(text - point) - 1;
        digits += decimals;
    }
    if (digits - 1 > 18) /* no digits, or more than fit a word */
        return NULL;
    /* Clinger 1990: both operands are exact doubles, so one division rounds correctly. */
    double magnitude = mantissa <= (uint64_t)1 << 53 ? (double)mantissa / pv__power10[decimals]
                                                     : pv__scale_decimal(mantissa, -(int)decimals);
    /* The sign of data is effectively random: a branch would cost as much as the rest of the function. */
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    bits |= (uint64_t)negative << 63;
    memcpy(value, &bits, sizeof bits);
    return text;
}

#endif
