/* Tables from Arrow's C stream interface, whole or in pieces. Each batch goes into the columns as it comes and is let
 * go, so that beside the table there is never more than one of them. Nothing of the stream is believed that can be
 * checked: the producer may be any program.
 */
#include "data/arrow.h"
#include "data/query.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "data/archive.h"

/* ---- what a column is -------------------------------------------------------------------------------------------- */

typedef enum arrow_kind {
    ARROW_NONE,    /* all missing */
    ARROW_BOOL,    /* bits */
    ARROW_NUMBER,  /* of an array type */
    ARROW_HALF,    /* two bytes */
    ARROW_DECIMAL, /* 4, 8 or 16 bytes */
    ARROW_TEXT,    /* offsets of 4 bytes */
    ARROW_LARGE,   /* of 8 */
    ARROW_VIEW,    /* views of 16 bytes */
    ARROW_OTHER
} arrow_kind;

typedef struct arrow_type {
    arrow_kind kind;
    pv_array_type number; /* NUMBER */
    double units;         /* NUMBER: what numbers are divided by: units of time a day */
    size_t width;         /* DECIMAL: bytes */
    int decimals;         /* DECIMAL: digits behind the point; below 0: zeros before it */
} arrow_type;

static bool is_text(arrow_kind kind) {
    return kind == ARROW_TEXT || kind == ARROW_LARGE || kind == ARROW_VIEW || kind == ARROW_BOOL;
}

enum { DECIMALS_MAX = 76 };

/* "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS". */
static arrow_type decimal_type(const char *format) {
    arrow_type type = {.kind = ARROW_OTHER};
    double precision, scale, bits = 128;
    const char *at = pv_parse_real(format + 2, &precision);
    if (!at || *at != ',' || !(at = pv_parse_real(at + 1, &scale)))
        return type;
    if (*at == ',' && !(at = pv_parse_real(at + 1, &bits)))
        return type;
    if (*at || !(fabs(scale) <= DECIMALS_MAX) || scale != floor(scale) || !(bits == 32 || bits == 64 || bits == 128))
        return type;
    return (arrow_type){.kind = ARROW_DECIMAL, .decimals = (int)scale, .width = (size_t)bits / 8};
}

/* Units a day of dates and timestamps; 0: it is neither. */
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

static arrow_type type_of(const char *format) {
    static const struct {
        char letter;
        pv_array_type type;
    } numbers[] = {{'c', PV_ARRAY_I8},  {'C', PV_ARRAY_U8},  {'s', PV_ARRAY_I16}, {'S', PV_ARRAY_U16},
                   {'i', PV_ARRAY_I32}, {'I', PV_ARRAY_U32}, {'l', PV_ARRAY_I64}, {'L', PV_ARRAY_U64},
                   {'f', PV_ARRAY_F32}, {'g', PV_ARRAY_F64}};
    static const struct {
        const char *format;
        arrow_kind kind;
    } others[] = {{"n", ARROW_NONE}, {"b", ARROW_BOOL},  {"e", ARROW_HALF},
                  {"u", ARROW_TEXT}, {"U", ARROW_LARGE}, {"vu", ARROW_VIEW}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (format[0] == numbers[i].letter && !format[1])
            return (arrow_type){.kind = ARROW_NUMBER, .number = numbers[i].type};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(format, others[i].format) == 0)
            return (arrow_type){.kind = others[i].kind};
    if (strncmp(format, "d:", 2) == 0)
        return decimal_type(format);
    double units = units_of(format);
    if (units > 0)
        return (arrow_type){
            .kind = ARROW_NUMBER, .number = strcmp(format, "tdD") == 0 ? PV_ARRAY_I32 : PV_ARRAY_I64, .units = units};
    return (arrow_type){.kind = ARROW_OTHER};
}

/* ---- what is being made ------------------------------------------------------------------------------------------ */

/* Of a column of the table, which grows as batches come. */
typedef struct making {
    arrow_type type, values; /* values: of a dictionary's entries */
    bool coded;              /* it has a dictionary */
    bool over;               /* nobody asked for it: all missing, in one array for all such columns */
    bool parsed;             /* texts that are numbers */
    bool spelled;            /* numbers that keep the texts of their cells */
    pv__dictionary dictionary;
} making;

struct pv__arrow {
    pv_ctx *ctx;
    const char *source;
    const pv_csv_options *options;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    pv_table *table; /* the piece that is being made */
    making *making;  /* [columns] */
    size_t batches, room;
    int64_t wanted; /* columns that somebody asked for */
    size_t before;  /* rows of the pieces that were handed out */
    bool ended;
};
typedef struct pv__arrow reader;

#define FAIL(r, ...) pv__fail_at((r)->ctx, PV_ERR_INPUT, (r)->source, 0, 0, __VA_ARGS__)

static pv_status fail_column(const reader *r, size_t c, const char *what) {
    return pv__fail_at(r->ctx, PV_ERR_INPUT, r->source, 0, c + 1, "column '%s' %s",
                       pv__show(r->table->column[c].name).text, what);
}

static pv_status fail_stream(reader *r, int code) {
    const char *text = r->stream.get_last_error ? r->stream.get_last_error(&r->stream) : NULL;
    if (pv__interrupted(r->ctx))
        return pv__fail(r->ctx, PV_ERR_INTERRUPTED, "stopped while reading %s", r->source);
    if (code == ENOMEM)
        return pv__fail_at(r->ctx, PV_ERR_MEMORY, r->source, 0, 0, "out of memory");
    return pv__engine_fail(r->ctx, r->source, text && *text ? text : strerror(code));
}

/* ---- pieces of a column ------------------------------------------------------------------------------------------ */

/* One array of a batch, checked: elements from .. from + n - 1 are meant. */
typedef struct piece {
    const struct ArrowArray *array;
    size_t from, n;
    const unsigned char *valid; /* bits; NULL: all are */
    const unsigned char *data;  /* the second buffer */
} piece;

static bool bit(const unsigned char *bits, size_t at) {
    return bits[at / 8] >> (at % 8) & 1;
}

static bool present(const piece *p, size_t i) {
    return !p->valid || bit(p->valid, p->from + i);
}

/* NULL: it is sound. least: elements that it must have from its own offset on. */
static const char *take_piece(const struct ArrowArray *array, arrow_kind kind, size_t skip, size_t n, piece *p) {
    static const int64_t buffers[] = {
        [ARROW_NONE] = 0, [ARROW_BOOL] = 2,  [ARROW_NUMBER] = 2, [ARROW_HALF] = 2, [ARROW_DECIMAL] = 2,
        [ARROW_TEXT] = 3, [ARROW_LARGE] = 3, [ARROW_VIEW] = 3,   [ARROW_OTHER] = 0};
    if (!array || array->length < 0 || array->offset < 0 || array->offset > PTRDIFF_MAX / 64 ||
        (uint64_t)array->length < skip + n)
        return "has fewer elements than there are rows";
    if (kind == ARROW_VIEW ? array->n_buffers < buffers[kind] : array->n_buffers != buffers[kind])
        return "has a wrong number of buffers";
    *p = (piece){.array = array, .from = (size_t)array->offset + skip, .n = n};
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

/* A whole number of up to 128 bits. */
typedef struct whole {
    bool negative;
    uint64_t high, low; /* of its magnitude */
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

/* Takes the last digit off. */
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

enum { DECIMAL_TEXT = 160 }; /* 39 digits and 76 zeros, a sign, a point */

/* Every digit of it, those behind the point as its type has them: 1.50. Returns the length. */
static size_t decimal_text(whole w, int decimals, char text[DECIMAL_TEXT]) {
    char back[DECIMAL_TEXT];
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

/* The nearest double, as of the same number in a CSV file. */
static double decimal(whole w, int decimals) {
    char text[DECIMAL_TEXT];
    double value = 0;
    if (w.high == 0 && decimals >= 0 && decimals <= PV__EXACT_POWER) {
        value = pv__scale_decimal(w.low, -decimals);
        return w.negative ? -value : value;
    }
    size_t length = decimal_text(w, decimals, text);
    return pv__number_parse(text, length, &value) ? value : (double)NAN;
}

static void put_numbers(const arrow_type *type, const piece *p, double *to) {
    for (size_t i = 0; i < p->n && type->kind == ARROW_NONE; i++)
        to[i] = (double)NAN;
    if (type->kind == ARROW_NUMBER && p->n > 0) {
        size_t size = pv__array_element(type->number);
        pv__numbers_convert(type->number, p->data + p->from * size, (ptrdiff_t)size, p->n, to);
    }
    for (size_t i = 0; i < p->n && type->kind == ARROW_HALF; i++)
        to[i] = half(p->data + 2 * (p->from + i));
    for (size_t i = 0; i < p->n && type->kind == ARROW_DECIMAL; i++)
        to[i] = decimal(decimal_at(p->data + type->width * (p->from + i), type->width), type->decimals);
    for (size_t i = 0; i < p->n && type->units > 1; i++)
        to[i] /= type->units;
    for (size_t i = 0; i < p->n && p->valid; i++)
        if (!present(p, i))
            to[i] = (double)NAN;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Offsets of 4 or 8 bytes. */
static bool text_by_offsets(const piece *p, bool large, size_t i, const char **text, size_t *length) {
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

/* A view: the text itself where it has at most 12 bytes, else where it lies in one of the further buffers, whose sizes
 * are the last. */
static bool text_by_view(const piece *p, size_t i, const char **text, size_t *length) {
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

static bool text_at(arrow_kind kind, const piece *p, size_t i, const char **text, size_t *length) {
    if (kind == ARROW_BOOL) {
        bool yes = bit(p->data, p->from + i);
        *text = yes ? "True" : "False";
        *length = yes ? 4 : 5;
        return true;
    }
    return kind == ARROW_VIEW ? text_by_view(p, i, text, length)
                              : text_by_offsets(p, kind == ARROW_LARGE, i, text, length);
}

static pv_status put_text(reader *r, size_t c, arrow_kind kind, const piece *p, size_t i, int32_t *code) {
    const char *text;
    size_t length;
    *code = -1;
    if (!present(p, i))
        return PV_OK;
    if (!text_at(kind, p, i, &text, &length))
        return fail_column(r, c, "has a text whose place makes no sense: the data frame is damaged");
    if (memchr(text, 0, length))
        return fail_column(r, c, "has a text with a NUL character in it;\ntake it out");
    return pv__column_code(r->ctx, &r->making[c].dictionary, &r->table->column[c], text, length, code);
}

/* 2020-01-05, and where it is not midnight 2020-01-05 10:30:00.25. */
static size_t date_text(int64_t value, int64_t units, char text[DECIMAL_TEXT]) {
    int64_t day = value / units - (value % units < 0), rest = value - day * units, second = units / 86400;
    int64_t from_march = day + 719468, era = (from_march - (from_march < 0) * 146096) / 146097;
    int64_t of_era = from_march - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    int64_t date = of_year - (153 * month + 2) / 5 + 1;
    month += month < 10 ? 3 : -9;
    year += era * 400 + (month <= 2);
    size_t n = (size_t)pv__format(text, DECIMAL_TEXT, "%04lld-%02lld-%02lld", (long long)year, (long long)month,
                                  (long long)date);
    if (rest == 0)
        return n;
    int64_t s = rest / second, fraction = rest % second;
    n += (size_t)pv__format(text + n, DECIMAL_TEXT - n, " %02lld:%02lld:%02lld", (long long)(s / 3600),
                            (long long)(s / 60 % 60), (long long)(s % 60));
    if (fraction == 0)
        return n;
    text[n++] = '.';
    for (int64_t at = second / 10; at > 0 && fraction > 0; fraction %= at, at /= 10)
        text[n++] = (char)('0' + fraction / at);
    text[n] = '\0';
    return n;
}

/* A number that is there as it is written in CSV files: every digit of integers and decimals, dates as such. */
static size_t number_text(const arrow_type *type, const piece *p, size_t i, char text[DECIMAL_TEXT]) {
    piece one = *p;
    double number = (double)NAN;
    one.from += i;
    one.n = 1;
    if (type->kind == ARROW_DECIMAL)
        return decimal_text(decimal_at(p->data + type->width * one.from, type->width), type->decimals, text);
    if (type->kind == ARROW_NUMBER && (type->number == PV_ARRAY_I64 || type->number == PV_ARRAY_U64)) {
        uint64_t bits;
        memcpy(&bits, p->data + sizeof bits * one.from, sizeof bits);
        if (type->units > 1)
            return date_text((int64_t)bits, (int64_t)type->units, text);
        whole w = whole_of(type->number == PV_ARRAY_I64 && bits > INT64_MAX ? UINT64_MAX : 0, bits);
        return decimal_text(w, 0, text);
    }
    put_numbers(type, &one, &number);
    if (type->units > 0)
        return date_text((int64_t)number, 1, text);
    return isnan(number) ? 0 : (size_t)pv_format_double(number, text, PV__NUMBER_TEXT);
}

static pv_status put_number(reader *r, size_t c, const arrow_type *type, const piece *p, size_t i, int32_t *code) {
    char text[DECIMAL_TEXT];
    *code = -1;
    size_t length = present(p, i) && type->kind != ARROW_NONE ? number_text(type, p, i, text) : 0;
    return length == 0 ? PV_OK
                       : pv__column_code(r->ctx, &r->making[c].dictionary, &r->table->column[c], text, length, code);
}

static pv_status put_cell(reader *r, size_t c, const arrow_type *type, const piece *p, size_t i, int32_t *code) {
    return (is_text(type->kind) ? put_text(r, c, type->kind, p, i, code) : put_number(r, c, type, p, i, code));
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

static bool index_at(pv_array_type type, const piece *p, size_t i, int64_t *index) {
    double value;
    size_t size = pv__array_element(type);
    pv__numbers_convert(type, p->data + size * (p->from + i), (ptrdiff_t)size, 1, &value);
    if (!(value >= 0 && value < 9e15))
        return false;
    *index = (int64_t)value;
    return true;
}

/* A piece of codes, whose entries become texts. */
static pv_status put_coded(reader *r, size_t c, const piece *p, int32_t *to) {
    const making *m = &r->making[c];
    piece dictionary;
    const struct ArrowArray *array = p->array->dictionary;
    const char *wrong = !array || array->length < 0
                            ? "has no dictionary"
                            : take_piece(array, m->values.kind, 0, (size_t)array->length, &dictionary);
    if (wrong)
        return fail_column(r, c, wrong);
    int32_t *known; /* of each entry: its code + 2; 0: not yet seen */
    PV_TRY(pv__alloc(r->ctx, dictionary.n, sizeof *known, &known));
    pv_status status = PV_OK;
    for (size_t i = 0; i < p->n && status == PV_OK; i++) {
        int64_t at;
        to[i] = -1;
        if (!present(p, i))
            continue;
        if (!index_at(m->type.number, p, i, &at) || (uint64_t)at >= dictionary.n) {
            status = fail_column(r, c, "has a code that is none of its dictionary");
        } else if (known[at] == 0) {
            status = put_cell(r, c, &m->values, &dictionary, (size_t)at, &to[i]);
            known[at] = to[i] + 2;
        } else {
            to[i] = known[at] - 2;
        }
    }
    pv__free(r->ctx, known);
    return status;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

enum { COLUMNS_MAX = 1000000 };

/* Whether doubles may lack digits of it. */
static bool has_digits(const arrow_type *type) {
    bool wide = type->kind == ARROW_NUMBER && (type->number == PV_ARRAY_I64 || type->number == PV_ARRAY_U64);
    return (wide && type->units == 0) || type->kind == ARROW_DECIMAL;
}

/* A table in memory keeps the digits of identifiers; who asks for the spelling has 1.50 and dates as well. */
static bool keeps_text(const arrow_type *type, const pv_csv_options *options) {
    bool dates = type->kind == ARROW_NUMBER && type->units > 0;
    if (options)
        return options->spelling && (has_digits(type) || dates);
    return has_digits(type) && type->decimals <= 0;
}

static pv_status begin_column(reader *r, const struct ArrowSchema *schema) {
    const pv_csv_options *options = r->options;
    size_t c = r->table->columns;
    making *m = &r->making[c];
    const char *name = schema->name && *schema->name ? schema->name : NULL;
    m->coded = schema->dictionary != NULL;
    m->type = type_of(schema->format);
    if (m->coded)
        m->values = type_of(schema->dictionary->format);
    m->over = name && options && options->keep && !pv__listed(options->keep, options->n_keep, name);
    m->parsed = is_text(m->type.kind) && !m->coded && (schema->flags & PV__ARROW_NUMBERS);
    m->spelled = m->parsed || (!m->coded && keeps_text(&m->type, options));
    bool text = m->coded || (is_text(m->type.kind) && !m->parsed) ||
                (name && pv__wants_text(options, name) &&
                 (has_digits(&m->type) || m->parsed || pv__listed(options->text, options->n_text, name)));
    pv_column column;
    PV_TRY(pv__table_begin(r->ctx, r->table, name, text && !m->over ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER, &column));
    column.borrowed = m->over;
    PV_TRY(pv__table_append(r->ctx, r->table, &column));
    r->wanted += !m->over;
    if (m->over ||
        (m->type.kind != ARROW_OTHER && m->values.kind != ARROW_OTHER && !(m->coded && m->type.kind != ARROW_NUMBER)))
        return PV_OK;
    char what[200];
    bool inner = m->coded && m->values.kind == ARROW_OTHER;
    pv__format(what, sizeof what,
               "is of Arrow's type '%s', which is neither numbers, texts nor dates;\nmake one of these of it, or leave "
               "it out of the query or data frame",
               pv__show(inner ? schema->dictionary->format : schema->format).text);
    return fail_column(r, c, what);
}

static pv_status open_schema(reader *r) {
    struct ArrowSchema *schema = &r->schema;
    int code = r->stream.get_schema(&r->stream, schema);
    if (code)
        return fail_stream(r, code);
    if (!schema->release || !schema->format || strcmp(schema->format, "+s") != 0)
        return FAIL(r, "the stream is not one of a data frame: its elements must be structs, one child a column");
    if (schema->n_children < 1 || schema->n_children > COLUMNS_MAX || !schema->children)
        return FAIL(r, "the data frame has %lld columns;\ngive it one at least", (long long)schema->n_children);
    for (int64_t c = 0; c < schema->n_children; c++) {
        const struct ArrowSchema *child = schema->children[c];
        if (!child || !child->format || (child->dictionary && !child->dictionary->format))
            return FAIL(r, "column %lld of the stream has no type", (long long)c + 1);
    }
    return PV_OK;
}

/* A table without rows, or the next one. */
static pv_status begin_table(reader *r) {
    PV_TRY(pv__table_new(r->ctx, r->source, NULL, 0, 0, &r->table));
    PV_TRY(pv__alloc(r->ctx, (size_t)r->schema.n_children, sizeof *r->making, &r->making));
    r->room = 0;
    r->wanted = 0;
    r->table->before = r->before;
    for (int64_t c = 0; c < r->schema.n_children; c++)
        PV_TRY(begin_column(r, r->schema.children[c]));
    return PV_OK;
}

static void end_table(reader *r) {
    for (size_t c = 0; r->making && c < (size_t)r->schema.n_children; c++)
        pv__dictionary_free(r->ctx, &r->making[c].dictionary);
    pv__free(r->ctx, r->making);
    pv_table_free(r->ctx, r->table);
    r->making = NULL;
    r->table = NULL;
}

static pv_status resize(reader *r, size_t rows) {
    const pv_column *owner = NULL; /* of what all columns that nobody asked for have */
    for (size_t c = 0; c < r->table->columns; c++) {
        pv_column *column = &r->table->column[c];
        if (r->making[c].over) {
            if (!owner)
                PV_TRY(pv__resize(r->ctx, rows, sizeof *column->number, &column->number));
            owner = owner ? owner : column;
            column->borrowed = owner != column;
            column->number = owner->number;
            continue;
        }
        if (column->type == PV_COLUMN_NUMBER)
            PV_TRY(pv__resize(r->ctx, rows, sizeof *column->number, &column->number));
        if (column->type == PV_COLUMN_TEXT || column->code)
            PV_TRY(pv__resize(r->ctx, rows, sizeof *column->code, &column->code));
    }
    r->room = rows;
    return PV_OK;
}

/* The texts of numbers that are in place. */
static pv_status spell_numbers(reader *r, size_t c, const piece *p) {
    const making *m = &r->making[c];
    pv_column *column = &r->table->column[c];
    size_t row = r->table->rows;
    for (size_t i = 0; i < p->n; i++) {
        char text[DECIMAL_TEXT];
        bool quick = !column->code && m->type.kind == ARROW_NUMBER && m->type.units == 0 &&
                     fabs(column->number[row + i]) < (double)PV__EXACT_INTEGER;
        if (quick || isnan(column->number[row + i]))
            continue;
        size_t length = number_text(&m->type, p, i, text);
        PV_TRY(pv__spell(r->ctx, &r->making[c].dictionary, column, row + i, r->room, text, length));
    }
    return PV_OK;
}

/* Texts that are numbers, with their spelling. */
static pv_status parse_numbers(reader *r, size_t c, const piece *p) {
    pv_column *column = &r->table->column[c];
    size_t row = r->table->rows;
    for (size_t i = 0; i < p->n; i++) {
        const char *text;
        size_t length;
        char number[64];
        column->number[row + i] = (double)NAN;
        if (!present(p, i))
            continue;
        if (!text_at(r->making[c].type.kind, p, i, &text, &length))
            return fail_column(r, c, "has a text whose place makes no sense: the data frame is damaged");
        for (; length > 0 && (*text == ' ' || *text == '\t'); text++)
            length--;
        while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
            length--;
        if (pv__text_missing(text, length))
            continue;
        pv__format(number, sizeof number, "%.*s", (int)(length < sizeof number ? length : sizeof number), text);
        if (length >= sizeof number || !pv__number_parse(number, length, &column->number[row + i]))
            return fail_column(r, c, "has a text that is no number");
        PV_TRY(pv__spell(r->ctx, &r->making[c].dictionary, column, row + i, r->room, number, length));
    }
    return PV_OK;
}

/* child: of the batch, what the column is made of. */
static pv_status put_piece(reader *r, size_t c, const struct ArrowArray *batch, size_t child) {
    const making *m = &r->making[c];
    pv_column *column = &r->table->column[c];
    size_t row = r->table->rows;
    piece p;
    if (m->over) {
        for (size_t i = 0; !column->borrowed && i < (size_t)batch->length; i++)
            column->number[row + i] = (double)NAN;
        return PV_OK;
    }
    const char *wrong =
        take_piece(batch->children[child], m->type.kind, (size_t)batch->offset, (size_t)batch->length, &p);
    if (wrong)
        return fail_column(r, c, wrong);
    if (m->coded)
        return put_coded(r, c, &p, column->code + row);
    if (m->parsed && column->type == PV_COLUMN_NUMBER)
        return parse_numbers(r, c, &p);
    if (column->type == PV_COLUMN_NUMBER) {
        put_numbers(&m->type, &p, column->number + row);
        return m->spelled ? spell_numbers(r, c, &p) : PV_OK;
    }
    for (size_t i = 0; column->type == PV_COLUMN_TEXT && i < p.n; i++)
        PV_TRY(put_cell(r, c, &m->type, &p, i, &column->code[row + i]));
    return PV_OK;
}

static pv_status put_batch(reader *r, const struct ArrowArray *batch) {
    r->batches++;
    if (batch->length < 0 || (uint64_t)batch->length > PTRDIFF_MAX / 64 - r->table->rows)
        return FAIL(r, "a batch of the stream has %lld rows", (long long)batch->length);
    bool all = batch->n_children == r->schema.n_children; /* else those alone that somebody asked for */
    if ((!all && batch->n_children != r->wanted) || !batch->children || batch->offset < 0 ||
        batch->offset > PTRDIFF_MAX / 64)
        return FAIL(r, "batch %zu of the stream has %lld columns, not %lld", r->batches, (long long)batch->n_children,
                    (long long)r->schema.n_children);
    if (batch->null_count > 0)
        return FAIL(r, "batch %zu of the stream lacks whole rows;\nleave them out", r->batches);
    if (batch->length == 0)
        return PV_OK;
    size_t rows = r->table->rows + (size_t)batch->length;
    if (rows > r->room)
        PV_TRY(resize(r, rows + r->room / 2));
    for (size_t c = 0, child = 0; c < r->table->columns; c++) {
        PV_TRY(put_piece(r, c, batch, child));
        child += all || !r->making[c].over;
    }
    r->table->rows = rows;
    if (pv__interrupted(r->ctx))
        return pv__fail(r->ctx, PV_ERR_INTERRUPTED, "stopped while reading %s", r->source);
    return PV_OK;
}

/* Until the table has so many rows, or there are no more. */
static pv_status read_batches(reader *r, size_t rows) {
    while (!r->ended && r->table->rows < rows) {
        struct ArrowArray next = {0};
        pv__waiting(r->ctx, true);
        int code = r->stream.get_next(&r->stream, &next);
        pv__waiting(r->ctx, false);
        if (code)
            return fail_stream(r, code);
        r->ended = !next.release;
        if (r->ended)
            break;
        pv_status status = put_batch(r, &next);
        next.release(&next);
        if (status != PV_OK)
            return status;
    }
    if (r->table->rows == 0)
        return PV_OK;
    PV_TRY(resize(r, r->table->rows));
    for (size_t c = 0; c < r->table->columns; c++)
        pv__spelling_finish(&r->table->column[c], r->table->rows);
    r->table->piece = !r->ended || r->before > 0;
    pv__table_rehash(r->table);
    return PV_OK;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

pv_status pv__arrow_open(pv_ctx *ctx, const char *source, const pv_csv_options *options,
                         struct ArrowArrayStream *stream, pv__arrow **arrow) {
    reader *r;
    *arrow = NULL;
    if (!stream || !stream->release || !stream->get_schema || !stream->get_next)
        return pv__fail_at(ctx, PV_ERR_INPUT, source, 0, 0, "there is no stream: it was used already");
    pv_status status = pv__alloc(ctx, 1, sizeof *r, &r);
    if (status != PV_OK) {
        stream->release(stream);
        return status;
    }
    *r = (reader){.ctx = ctx, .source = source, .options = options, .stream = *stream};
    stream->release = NULL; /* moved */
    status = open_schema(r);
    if (status == PV_OK)
        *arrow = r;
    else
        pv__arrow_close(r);
    return status;
}

pv_status pv__arrow_next(pv__arrow *arrow, size_t rows, pv_table **table) {
    *table = NULL;
    pv_status status = begin_table(arrow);
    if (status == PV_OK)
        status = read_batches(arrow, rows);
    if (status == PV_OK && arrow->table->rows > 0) {
        *table = arrow->table;
        arrow->before += arrow->table->rows;
        arrow->table = NULL;
    }
    end_table(arrow);
    return status;
}

void pv__arrow_close(pv__arrow *arrow) {
    if (!arrow)
        return;
    if (arrow->schema.release)
        arrow->schema.release(&arrow->schema);
    arrow->stream.release(&arrow->stream);
    pv__free(arrow->ctx, arrow);
}

pv_status pv__table_of_stream(pv_ctx *ctx, const char *source, const pv_csv_options *options,
                              struct ArrowArrayStream *stream, pv_table **table) {
    pv__arrow *arrow;
    *table = NULL;
    PV_TRY(pv__arrow_open(ctx, source, options, stream, &arrow));
    pv_status status = pv__arrow_next(arrow, SIZE_MAX, table);
    if (status == PV_OK && !*table)
        status = FAIL(arrow, "has no rows");
    pv__arrow_close(arrow);
    return status;
}

pv_status pv_table_of_arrow(pv_ctx *ctx, const char *source, struct ArrowArrayStream *stream, pv_table **table) {
    return pv__table_of_stream(ctx, source, NULL, stream, table);
}
