/* Exact conversion between numbers and text.
 *
 * Reading: the nearest double, ties to even, in three tiers. (1) Clinger 1990: mantissa <= 2^53 and |exponent| <= 22,
 * one exact multiplication or division. (2) mantissa of at most 19 digits and |exponent| <= 27: 5^27 < 2^63, so product
 * or quotient fits 128 bits and is rounded once. (3) the C library.
 *
 * Writing: the fewest of 15, 16 and 17 significant digits that read back as the same double. Any decimal of at most 15
 * digits survives a round trip through a double, so dropping trailing zeros then gives the shortest form.
 */
#include "base/number.h"

#include <math.h>

#include "base/base.h"

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;
#endif

const double pv__power10[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

const uint64_t pv__power10_u64[20] = {1,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000u};

#ifdef __SIZEOF_INT128__
static const uint64_t power5[PV__EXACT_POWER + 1] = {1,
                                                     5,
                                                     25,
                                                     125,
                                                     625,
                                                     3125,
                                                     15625,
                                                     78125,
                                                     390625,
                                                     1953125,
                                                     9765625,
                                                     48828125,
                                                     244140625,
                                                     1220703125,
                                                     6103515625,
                                                     30517578125,
                                                     152587890625,
                                                     762939453125,
                                                     3814697265625,
                                                     19073486328125,
                                                     95367431640625,
                                                     476837158203125,
                                                     2384185791015625,
                                                     11920928955078125,
                                                     59604644775390625,
                                                     298023223876953125,
                                                     1490116119384765625,
                                                     7450580596923828125};

/* 2^exponent for normal results. */
static double power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
#endif

#ifdef __SIZEOF_INT128__
/* In both branches, a bit lost below is recorded in the last bit of a word of at least 62 bits, so that the conversion
 * to double is the only rounding. */
double pv__scale_decimal(uint64_t mantissa, int exponent) {
    if (mantissa == 0)
        return 0;
    if (exponent >= 0) {
        wide product = (wide)mantissa * power5[exponent];
        uint64_t high = (uint64_t)(product >> 64);
        if (high == 0)
            return (double)(uint64_t)product * power_of_two(exponent);
        int shift = 64 - __builtin_clzll(high);
        uint64_t kept = (uint64_t)(product >> shift);
        bool lost = (product & (((wide)1 << shift) - 1)) != 0;
        return (double)(kept | lost) * power_of_two(shift + exponent);
    }
    uint64_t divisor = power5[-exponent];
    int up = __builtin_clzll(mantissa), divisor_up = __builtin_clzll(divisor);
    wide numerator = (wide)(mantissa << up) << 62;
    divisor <<= divisor_up;
    uint64_t quotient = (uint64_t)(numerator / divisor); /* between 2^61 and 2^63 */
    bool lost = numerator % divisor != 0;
    return (double)(quotient | lost) * power_of_two(divisor_up - up - 62 + exponent);
}
#else
double pv__scale_decimal(uint64_t mantissa, int exponent) {
    char text[40];
    pv__format(text, sizeof text, "%llue%d", (unsigned long long)mantissa, exponent);
    return pv__strtod(text, NULL);
}
#endif

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t infinity_prefix(const char *text) {
    if (pv__same_letters(text, "infinity", 8))
        return 8;
    return pv__same_letters(text, "inf", 3) ? 3 : 0;
}

/* Reads digits into *mantissa while 19 significant ones fit. *kept counts those, *seen all digits. */
static const char *read_digits(const char *text, uint64_t *mantissa, int *kept, size_t *seen) {
    for (; is_digit(*text); text++, (*seen)++)
        if (*kept > 0 || *text != '0') {
            if (*kept < 19)
                *mantissa = *mantissa * 10 + (uint64_t)(*text - '0');
            (*kept)++;
        }
    return text;
}

size_t pv__number_prefix(const char *text, double *value) {
    const char *at = text + (*text == '-' || *text == '+');
    size_t word = infinity_prefix(at);
    if (word > 0) {
        *value = *text == '-' ? -(double)INFINITY : (double)INFINITY;
        return (size_t)(at - text) + word;
    }
    uint64_t mantissa = 0;
    int kept = 0;
    size_t whole = 0, decimals = 0;
    at = read_digits(at, &mantissa, &kept, &whole);
    if (*at == '.')
        at = read_digits(at + 1, &mantissa, &kept, &decimals);
    if (whole + decimals == 0)
        return 0;
    long exponent = 0;
    if (*at == 'e' || *at == 'E') {
        const char *digits = at + 1 + (at[1] == '-' || at[1] == '+');
        if (is_digit(*digits)) {
            bool negative = at[1] == '-';
            for (at = digits; is_digit(*at); at++)
                if (exponent < 100000)
                    exponent = exponent * 10 + (*at - '0');
            exponent = negative ? -exponent : exponent;
        }
    }
    exponent -= decimals < 100000 ? (long)decimals : 100000;
    bool exact = kept <= 19 && exponent >= -PV__EXACT_POWER && exponent <= PV__EXACT_POWER;
    if (kept == 0)
        *value = *text == '-' ? -0.0 : 0.0;
    else if (!exact)
        *value = pv__strtod(text, NULL);
    else if (mantissa <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22)
        *value = exponent < 0 ? (double)mantissa / pv__power10[-exponent] : (double)mantissa * pv__power10[exponent];
    else
        *value = pv__scale_decimal(mantissa, (int)exponent);
    if (exact && kept > 0 && *text == '-')
        *value = -*value;
    return (size_t)(at - text);
}

bool pv__number_parse(const char *text, size_t n, double *value) {
    return n > 0 && pv__number_prefix(text, value) == n;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* round(value x 10^power), exact; 0 if it does not fit 128 bits. value must be normal and positive. */
#ifdef __SIZEOF_INT128__
static uint64_t scaled_integer(double value, int power) {
    if (power < 0 || power > PV__EXACT_POWER)
        return 0;
    int exponent;
    uint64_t fraction = (uint64_t)ldexp(frexp(value, &exponent), 53);
    int shift = 53 - exponent - power; /* value x 10^power = fraction x 5^power / 2^shift */
    wide product = (wide)fraction * power5[power];
    if (shift < 1 || shift > 120)
        return 0;
    wide quotient = product >> shift, rest = product & (((wide)1 << shift) - 1), half = (wide)1 << (shift - 1);
    quotient += rest > half || (rest == half && (quotient & 1));
    return (uint64_t)quotient;
}
#else
static uint64_t scaled_integer(double value, int power) {
    (void)value;
    (void)power;
    return 0;
}
#endif

static int put_word(const char *word, char *text) {
    size_t length = strlen(word);
    memcpy(text, word, length + 1);
    return (int)length;
}

/* Writes an exponent such as "e-05", with at least two digits. Returns the end. */
static char *put_exponent(char *at, int exponent) {
    int size = exponent < 0 ? -exponent : exponent;
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    if (size >= 100)
        *at++ = (char)('0' + size / 100);
    *at++ = (char)('0' + size / 10 % 10);
    *at++ = (char)('0' + size % 10);
    *at = '\0';
    return at;
}

/* Writes mantissa x 10^exponent in positional notation if that is short, else as d.ddde-xx. */
static int layout(bool negative, uint64_t mantissa, int exponent, char *text) {
    while (mantissa % 10 == 0) {
        mantissa /= 10;
        exponent++;
    }
    char digit[24];
    int n = 0;
    for (uint64_t rest = mantissa; rest > 0; rest /= 10)
        digit[n++] = (char)('0' + rest % 10); /* the last digit first */
    int leading = n - 1 + exponent;
    char *at = text;
    if (negative)
        *at++ = '-';
    if (leading < -5 || leading >= 17) {
        *at++ = digit[--n];
        if (n > 0)
            *at++ = '.';
        while (n > 0)
            *at++ = digit[--n];
        return (int)(put_exponent(at, leading) - text);
    }
    if (leading < 0) {
        *at++ = '0';
        *at++ = '.';
        for (int zero = -1; zero > leading; zero--)
            *at++ = '0';
    }
    for (int place = leading; n > 0; place--) {
        *at++ = digit[--n];
        if (place == 0 && n > 0)
            *at++ = '.';
    }
    for (int zero = 0; zero < exponent; zero++)
        *at++ = '0';
    *at = '\0';
    return (int)(at - text);
}

/* Fallback if 128 bits do not suffice. */
static int format_by_libc(double value, char *text, size_t size) {
    int length = 0;
    /* A subnormal may need fewer than 15 digits. */
    for (int digits = isnormal(value) ? 15 : 1; digits <= 17; digits++) {
        length = pv__format(text, size, "%.*g", digits, value);
        if (pv__strtod(text, NULL) == value)
            break;
    }
    return length;
}

int pv_format_double(double value, char *text, size_t size) {
    if (isnan(value) || isinf(value))
        return put_word(isnan(value) ? "nan" : value < 0 ? "-inf" : "inf", text);
    if (value == 0)
        return put_word(signbit(value) ? "-0" : "0", text);
    double magnitude = fabs(value);
    if (isnormal(magnitude) && magnitude < 1e17) {
        int leading = (int)floor(log10(magnitude)); /* an error of one near a power of ten only adds or drops a digit */
        for (int digits = 15; digits <= 17; digits++) {
            int power = digits - 1 - leading;
            uint64_t mantissa = scaled_integer(magnitude, power);
            if (mantissa > 0 && pv__scale_decimal(mantissa, -power) == magnitude)
                return layout(value < 0, mantissa, -power, text);
        }
    }
    return format_by_libc(value, text, size);
}
