/* Cells of Arrow arrays: types, numbers (halves, decimals of up to 128 bits, dates), texts by offsets or views. */
#include "data/arrow_cells.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "data/archive.h"

bool pv__arrow_is_text(pv__arrow_kind kind) {
    return kind == PV__ARROW_TEXT || kind == PV__ARROW_LARGE || kind == PV__ARROW_VIEW || kind == PV__ARROW_BOOL;
}

enum { DECIMALS_MAX = 76 };

/* "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS". */
static pv__arrow_type decimal_type(const char *format) {
    pv__arrow_type type = {.kind = PV__ARROW_OTHER};
    double precision, scale, bits = 128;
    const char *at = pv_parse_real(format + 2, &precision);
    if (!at || *at != ',' || !(at = pv_parse_real(at + 1, &scale)))
        return type;
    if (*at == ',' && !(at = pv_parse_real(at + 1, &bits)))
        return type;
    if (*at || !(fabs(scale) <= DECIMALS_MAX) || scale != floor(scale) || !(bits == 32 || bits == 64 || bits == 128))
        return type;
    return (pv__arrow_type){.kind = PV__ARROW_DECIMAL, .decimals = (int)scale, .width = (size_t)bits / 8};
}

/* Time units per day of dates and timestamps; 0 for other types. */
static double units_of(const char *format) {
    static const struct {
        const char *format;
        double units;
    } known[] = {{"tdD", 1},        {"tdm", 86400e3},  {"tss:", 86400},
                 {"tsm:", 86400e3}, {"tsu:", 86400e6}, {"tsn:", 86400e9}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(format, known[i].format, strlen(known[i].format)) == 0)
            return known[i].units;
    return 0;
}

pv__arrow_type pv__arrow_type_of(const char *format) {
    static const struct {
        char letter;
        pv_array_type type;
    } numbers[] = {{'c', PV_ARRAY_I8},  {'C', PV_ARRAY_U8},  {'s', PV_ARRAY_I16}, {'S', PV_ARRAY_U16},
                   {'i', PV_ARRAY_I32}, {'I', PV_ARRAY_U32}, {'l', PV_ARRAY_I64}, {'L', PV_ARRAY_U64},
                   {'f', PV_ARRAY_F32}, {'g', PV_ARRAY_F64}};
    static const struct {
        const char *format;
        pv__arrow_kind kind;
    } others[] = {{"n", PV__ARROW_NONE}, {"b", PV__ARROW_BOOL},  {"e", PV__ARROW_HALF},
                  {"u", PV__ARROW_TEXT}, {"U", PV__ARROW_LARGE}, {"vu", PV__ARROW_VIEW}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (format[0] == numbers[i].letter && !format[1])
            return (pv__arrow_type){.kind = PV__ARROW_NUMBER, .number = numbers[i].type};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(format, others[i].format) == 0)
            return (pv__arrow_type){.kind = others[i].kind};
    if (strncmp(format, "d:", 2) == 0)
        return decimal_type(format);
    double units = units_of(format);
    if (units > 0)
        return (pv__arrow_type){.kind = PV__ARROW_NUMBER,
                                .number = strcmp(format, "tdD") == 0 ? PV_ARRAY_I32 : PV_ARRAY_I64,
                                .units = units};
    return (pv__arrow_type){.kind = PV__ARROW_OTHER};
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Returns NULL if the array is valid. least: the number of elements it must have from its own offset on. */
const char *pv__arrow_take(const struct ArrowArray *array, pv__arrow_kind kind, size_t skip, size_t n,
                           pv__arrow_piece *p) {
    static const int64_t buffers[] = {[PV__ARROW_NONE] = 0,  [PV__ARROW_BOOL] = 2,    [PV__ARROW_NUMBER] = 2,
                                      [PV__ARROW_HALF] = 2,  [PV__ARROW_DECIMAL] = 2, [PV__ARROW_TEXT] = 3,
                                      [PV__ARROW_LARGE] = 3, [PV__ARROW_VIEW] = 3,    [PV__ARROW_OTHER] = 0};
    if (!array || array->length < 0 || array->offset < 0 || array->offset > PTRDIFF_MAX / 64 ||
        (uint64_t)array->length < skip + n)
        return "has fewer elements than there are rows";
    if (kind == PV__ARROW_VIEW ? array->n_buffers < buffers[kind] : array->n_buffers != buffers[kind])
        return "has a wrong number of buffers";
    *p = (pv__arrow_piece){.array = array, .from = (size_t)array->offset + skip, .n = n};
    if (buffers[kind] == 0)
        return NULL;
    if (!array->buffers)
        return "has no buffers";
    p->valid = array->null_count == 0 ? NULL : array->buffers[0];
    p->data = array->buffers[1];
    if (!p->data && n > 0)
        return "has no data";
    return NULL;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static double half(const unsigned char *at) {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    int exponent = bits >> 10 & 31;
    double part = bits & 1023, sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return part > 0 ? (double)NAN : sign * HUGE_VAL;
    return sign * (exponent ? ldexp(1024 + part, exponent - 25) : ldexp(part, -24));
}

/* An integer of up to 128 bits. */
typedef struct whole {
    bool negative;
    uint64_t high, low; /* magnitude */
} whole;

static whole whole_of(uint64_t high, uint64_t low) {
    whole w = {.negative = high > INT64_MAX, .high = high, .low = low};
    if (w.negative) {
        w.low = 0 - low;
        w.high = ~high + (low == 0);
    }
    return w;
}

static whole decimal_at(const unsigned char *at, size_t width) {
    int32_t narrow;
    int64_t low;
    uint64_t both[2];
    if (width == 4) {
        memcpy(&narrow, at, sizeof narrow);
        return whole_of(narrow < 0 ? UINT64_MAX : 0, (uint64_t)(int64_t)narrow);
    }
    if (width == 8) {
        memcpy(&low, at, sizeof low);
        return whole_of(low < 0 ? UINT64_MAX : 0, (uint64_t)low);
    }
    memcpy(both, at, sizeof both);
    return whole_of(both[1], both[0]);
}

/* Removes and returns the last digit. */
static unsigned last_digit(whole *w) {
    uint64_t part[4] = {w->high >> 32, w->high & UINT32_MAX, w->low >> 32, w->low & UINT32_MAX}, rest = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t all = rest << 32 | part[i];
        part[i] = all / 10;
        rest = all % 10;
    }
    w->high = part[0] << 32 | part[1];
    w->low = part[2] << 32 | part[3];
    return (unsigned)rest;
}

/* All its digits, with as many after the point as its type has: 1.50. Returns the length. */
static size_t decimal_text(whole w, int decimals, char text[PV__ARROW_CELL]) {
    char back[PV__ARROW_CELL];
    size_t n = 0;
    for (int i = 0; i < -decimals && (w.high || w.low); i++)
        back[n++] = '0';
    for (int i = 0; i <= decimals || w.high || w.low; i++) {
        if (i == decimals && i > 0)
            back[n++] = '.';
        back[n++] = (char)('0' + last_digit(&w));
    }
    if (n == 0)
        back[n++] = '0';
    if (w.negative)
        back[n++] = '-';
    for (size_t i = 0; i < n; i++)
        text[i] = back[n - 1 - i];
    text[n] = '\0';
    return n;
}

/* The nearest double, the same as for this number in a CSV file. */
static double decimal(whole w, int decimals) {
    char text[PV__ARROW_CELL];
    double value = 0;
    if (w.high == 0 && decimals >= 0 && decimals <= PV__EXACT_POWER) {
        value = pv__scale_decimal(w.low, -decimals);
        return w.negative ? -value : value;
    }
    size_t length = decimal_text(w, decimals, text);
    return pv__number_parse(text, length, &value) ? value : (double)NAN;
}

void pv__arrow_numbers(const pv__arrow_type *type, const pv__arrow_piece *p, double *to) {
    for (size_t i = 0; i < p->n && type->kind == PV__ARROW_NONE; i++)
        to[i] = (double)NAN;
    if (type->kind == PV__ARROW_NUMBER && p->n > 0) {
        size_t size = pv__array_element(type->number);
        pv__numbers_convert(type->number, p->data + p->from * size, (ptrdiff_t)size, p->n, to);
    }
    for (size_t i = 0; i < p->n && type->kind == PV__ARROW_HALF; i++)
        to[i] = half(p->data + 2 * (p->from + i));
    for (size_t i = 0; i < p->n && type->kind == PV__ARROW_DECIMAL; i++)
        to[i] = decimal(decimal_at(p->data + type->width * (p->from + i), type->width), type->decimals);
    for (size_t i = 0; i < p->n && type->units > 1; i++)
        to[i] /= type->units;
    for (size_t i = 0; i < p->n && p->valid; i++)
        if (!pv__arrow_present(p, i))
            to[i] = (double)NAN;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Offsets of 4 or 8 bytes. */
static bool text_by_offsets(const pv__arrow_piece *p, bool large, size_t i, const char **text, size_t *length) {
    int64_t begin, end;
    if (large) {
        memcpy(&begin, p->data + 8 * (p->from + i), 8);
        memcpy(&end, p->data + 8 * (p->from + i + 1), 8);
    } else {
        int32_t ends[2];
        memcpy(ends, p->data + 4 * (p->from + i), sizeof ends);
        begin = ends[0];
        end = ends[1];
    }
    const char *bytes = p->array->buffers[2];
    if (begin < 0 || end < begin || (!bytes && end > begin))
        return false;
    *text = bytes ? bytes + begin : "";
    *length = (size_t)(end - begin);
    return true;
}

/* A view: the text itself if it has at most 12 bytes, else a position in one of the further buffers, whose sizes are in
 * the last buffer. */
static bool text_by_view(const pv__arrow_piece *p, size_t i, const char **text, size_t *length) {
    const unsigned char *view = p->data + 16 * (p->from + i);
    int32_t size, buffer, offset;
    memcpy(&size, view, 4);
    if (size < 0)
        return false;
    *length = (size_t)size;
    *text = (const char *)view + 4;
    if (size <= 12)
        return true;
    memcpy(&buffer, view + 8, 4);
    memcpy(&offset, view + 12, 4);
    int64_t further = p->array->n_buffers - 3, room;
    const unsigned char *sizes = p->array->buffers[p->array->n_buffers - 1];
    if (buffer < 0 || buffer >= further || offset < 0 || !sizes || !p->array->buffers[2 + buffer])
        return false;
    memcpy(&room, sizes + 8 * (size_t)buffer, 8);
    if ((int64_t)offset + size > room)
        return false;
    *text = (const char *)p->array->buffers[2 + buffer] + offset;
    return true;
}

bool pv__arrow_text(pv__arrow_kind kind, const pv__arrow_piece *p, size_t i, const char **text, size_t *length) {
    if (kind == PV__ARROW_BOOL) {
        bool yes = pv__arrow_bit(p->data, p->from + i);
        *text = yes ? "True" : "False";
        *length = yes ? 4 : 5;
        return true;
    }
    return kind == PV__ARROW_VIEW ? text_by_view(p, i, text, length)
                                  : text_by_offsets(p, kind == PV__ARROW_LARGE, i, text, length);
}

/* 2020-01-05, or 2020-01-05 10:30:00.25 if it is not midnight. */
static size_t date_text(int64_t value, int64_t units, char text[PV__ARROW_CELL]) {
    int64_t day = value / units - (value % units < 0), rest = value - day * units, second = units / 86400;
    int64_t from_march = day + 719468, era = (from_march - (from_march < 0) * 146096) / 146097;
    int64_t of_era = from_march - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    int64_t date = of_year - (153 * month + 2) / 5 + 1;
    month += month < 10 ? 3 : -9;
    year += era * 400 + (month <= 2);
    size_t n = (size_t)pv__format(text, PV__ARROW_CELL, "%04lld-%02lld-%02lld", (long long)year, (long long)month,
                                  (long long)date);
    if (rest == 0)
        return n;
    int64_t s = rest / second, fraction = rest % second;
    n += (size_t)pv__format(text + n, PV__ARROW_CELL - n, " %02lld:%02lld:%02lld", (long long)(s / 3600),
                            (long long)(s / 60 % 60), (long long)(s % 60));
    if (fraction == 0)
        return n;
    text[n++] = '.';
    for (int64_t at = second / 10; at > 0 && fraction > 0; fraction %= at, at /= 10)
        text[n++] = (char)('0' + fraction / at);
    text[n] = '\0';
    return n;
}

/* A valid number as it is written in CSV files: every digit of integers and decimals, dates as dates. */
size_t pv__arrow_number_text(const pv__arrow_type *type, const pv__arrow_piece *p, size_t i,
                             char text[PV__ARROW_CELL]) {
    pv__arrow_piece one = *p;
    double number = (double)NAN;
    one.from += i;
    one.n = 1;
    if (type->kind == PV__ARROW_DECIMAL)
        return decimal_text(decimal_at(p->data + type->width * one.from, type->width), type->decimals, text);
    if (type->kind == PV__ARROW_NUMBER && (type->number == PV_ARRAY_I64 || type->number == PV_ARRAY_U64)) {
        uint64_t bits;
        memcpy(&bits, p->data + sizeof bits * one.from, sizeof bits);
        if (type->units > 1)
            return date_text((int64_t)bits, (int64_t)type->units, text);
        whole w = whole_of(type->number == PV_ARRAY_I64 && bits > INT64_MAX ? UINT64_MAX : 0, bits);
        return decimal_text(w, 0, text);
    }
    pv__arrow_numbers(type, &one, &number);
    if (type->units > 0)
        return date_text((int64_t)number, 1, text);
    return isnan(number) ? 0 : (size_t)pv_format_double(number, text, PV__NUMBER_TEXT);
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

bool pv__arrow_index(pv_array_type type, const pv__arrow_piece *p, size_t i, int64_t *index) {
    double value;
    size_t size = pv__array_element(type);
    pv__numbers_convert(type, p->data + size * (p->from + i), (ptrdiff_t)size, 1, &value);
    if (!(value >= 0 && value < 9e15))
        return false;
    *index = (int64_t)value;
    return true;
}
