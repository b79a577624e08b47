/* Tables from Arrow's C stream interface. All batches are held until the number of rows is known; then each column is
 * made in one go from its pieces. Nothing of the stream is believed that can be checked: the producer may be any
 * program.
 */
#include "prevail/arrow.h"

#include <math.h>
#include <string.h>

#include "data/archive.h"
#include "data/data.h"

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
    double scale;         /* what numbers are multiplied by: days, decimals */
    size_t width;         /* DECIMAL: bytes */
} arrow_type;

static bool is_text(arrow_kind kind) {
    return kind == ARROW_TEXT || kind == ARROW_LARGE || kind == ARROW_VIEW || kind == ARROW_BOOL;
}

/* "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS". */
static arrow_type decimal_type(const char *format) {
    arrow_type type = {.kind = ARROW_OTHER};
    double precision, scale, bits = 128;
    const char *at = pv_parse_real(format + 2, &precision);
    if (!at || *at != ',' || !(at = pv_parse_real(at + 1, &scale)))
        return type;
    if (*at == ',' && !(at = pv_parse_real(at + 1, &bits)))
        return type;
    if (*at || !(fabs(scale) <= 300) || !(bits == 32 || bits == 64 || bits == 128))
        return type;
    return (arrow_type){.kind = ARROW_DECIMAL, .scale = pow(10, -scale), .width = (size_t)bits / 8};
}

/* Dates and timestamps; 0: neither. */
static double days_of(const char *format) {
    static const struct {
        const char *format;
        double units; /* a day */
    } known[] = {{"tdD", 1},        {"tdm", 86400e3},  {"tss:", 86400},
                 {"tsm:", 86400e3}, {"tsu:", 86400e6}, {"tsn:", 86400e9}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(format, known[i].format, strlen(known[i].format)) == 0)
            return 1 / known[i].units;
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
            return (arrow_type){.kind = ARROW_NUMBER, .number = numbers[i].type, .scale = 1};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(format, others[i].format) == 0)
            return (arrow_type){.kind = others[i].kind, .scale = 1};
    if (strncmp(format, "d:", 2) == 0)
        return decimal_type(format);
    double days = days_of(format);
    if (days > 0)
        return (arrow_type){
            .kind = ARROW_NUMBER, .number = strcmp(format, "tdD") == 0 ? PV_ARRAY_I32 : PV_ARRAY_I64, .scale = days};
    return (arrow_type){.kind = ARROW_OTHER};
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

typedef struct arrow_held {
    pv_ctx *ctx;
    const char *source;
    struct ArrowArrayStream *stream;
    struct ArrowSchema schema;
    struct ArrowArray *batch; /* [batches] */
    size_t batches, rows;
} arrow_held;

static void let_go(arrow_held *held) {
    for (size_t b = 0; b < held->batches; b++)
        if (held->batch[b].release)
            held->batch[b].release(&held->batch[b]);
    pv__free(held->ctx, held->batch);
    if (held->schema.release)
        held->schema.release(&held->schema);
    if (held->stream && held->stream->release)
        held->stream->release(held->stream);
}

#define FAIL(held, ...) pv__fail_at((held)->ctx, PV_ERR_INPUT, (held)->source, 0, 0, __VA_ARGS__)

static pv_status fail_stream(arrow_held *held, int code) {
    const char *text = held->stream->get_last_error ? held->stream->get_last_error(held->stream) : NULL;
    return FAIL(held, "the stream of the data frame failed: %s", text && *text ? pv__show(text).text : strerror(code));
}

enum { COLUMNS_MAX = 1000000 };

static pv_status read_schema(arrow_held *held) {
    struct ArrowSchema *schema = &held->schema;
    int code = held->stream->get_schema(held->stream, schema);
    if (code)
        return fail_stream(held, code);
    if (!schema->release || !schema->format || strcmp(schema->format, "+s") != 0)
        return FAIL(held, "the stream is not one of a data frame: its elements must be structs, one child a column");
    if (schema->n_children < 1 || schema->n_children > COLUMNS_MAX || !schema->children)
        return FAIL(held, "the data frame has %lld columns; give it one at least", (long long)schema->n_children);
    for (int64_t c = 0; c < schema->n_children; c++) {
        const struct ArrowSchema *child = schema->children[c];
        if (!child || !child->format || (child->dictionary && !child->dictionary->format))
            return FAIL(held, "column %lld of the stream has no type", (long long)c + 1);
    }
    return PV_OK;
}

static pv_status read_batches(arrow_held *held) {
    for (size_t room = 0;;) {
        struct ArrowArray next = {0};
        int code = held->stream->get_next(held->stream, &next);
        if (code)
            return fail_stream(held, code);
        if (!next.release)
            return PV_OK;
        pv_status status = PV_OK;
        if (held->batches == room) {
            room = 2 * room + 16;
            status = pv__resize(held->ctx, room, sizeof *held->batch, &held->batch);
        }
        if (status != PV_OK) {
            next.release(&next);
            return status;
        }
        held->batch[held->batches++] = next;
        if (next.length < 0 || (uint64_t)next.length > PTRDIFF_MAX / 64 - held->rows)
            return FAIL(held, "a batch of the stream has %lld rows", (long long)next.length);
        held->rows += (size_t)next.length;
        if (pv__interrupted(held->ctx))
            return pv__fail(held->ctx, PV_ERR_INTERRUPTED, "stopped while reading a data frame");
    }
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

static double decimal(const unsigned char *at, size_t width) {
    int32_t narrow;
    int64_t high;
    uint64_t low;
    if (width == 4) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    if (width == 8) {
        memcpy(&high, at, sizeof high);
        return (double)high;
    }
    memcpy(&low, at, sizeof low);
    memcpy(&high, at + 8, sizeof high);
    if (high == 0 || (high == -1 && low > INT64_MAX)) /* what fits into eight bytes is exact as far as they are */
        return high == 0 ? (double)low : -(double)(~low + 1);
    return ldexp((double)high, 64) + (double)low;
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
        to[i] = decimal(p->data + type->width * (p->from + i), type->width);
    for (size_t i = 0; i < p->n && type->scale != 1; i++)
        to[i] *= type->scale;
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

/* A column that is being made. */
typedef struct making {
    const arrow_held *held;
    pv_table *table;
    pv_column column;
    pv__dictionary dictionary;
} making;

static pv_status fail_column(const making *m, const char *what) {
    return pv__fail_at(m->held->ctx, PV_ERR_INPUT, m->held->source, 0, m->table->columns + 1, "column '%s' %s",
                       pv__show(m->column.name).text, what);
}

static pv_status put_text(making *m, arrow_kind kind, const piece *p, size_t i, int32_t *code) {
    const char *text;
    size_t length;
    *code = -1;
    if (!present(p, i))
        return PV_OK;
    if (!text_at(kind, p, i, &text, &length))
        return fail_column(m, "has a text whose place makes no sense: the data frame is damaged");
    if (memchr(text, 0, length))
        return fail_column(m, "has a text with a NUL character in it; take it out");
    return pv__column_code(m->held->ctx, &m->dictionary, &m->column, text, length, code);
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

/* Entry i of a dictionary as a text; numbers as they are written in CSV files. */
static pv_status put_entry(making *m, const arrow_type *values, const piece *dictionary, size_t i, int32_t *code) {
    if (is_text(values->kind))
        return put_text(m, values->kind, dictionary, i, code);
    piece one = *dictionary;
    double number;
    char text[32];
    one.from += i;
    one.n = 1;
    put_numbers(values, &one, &number);
    *code = -1;
    if (isnan(number))
        return PV_OK;
    int length = pv_format_double(number, text, sizeof text);
    return pv__column_code(m->held->ctx, &m->dictionary, &m->column, text, (size_t)length, code);
}

/* A piece of codes; values: the type of the dictionary's entries. */
static pv_status put_coded(making *m, const arrow_type *codes, const arrow_type *values, const piece *p, size_t row) {
    piece dictionary;
    const struct ArrowArray *array = p->array->dictionary;
    const char *wrong = !array || array->length < 0
                            ? "has no dictionary"
                            : take_piece(array, values->kind, 0, (size_t)array->length, &dictionary);
    if (wrong)
        return fail_column(m, wrong);
    int32_t *known; /* of each entry: its code + 2; 0: not yet seen */
    PV_TRY(pv__alloc(m->held->ctx, dictionary.n, sizeof *known, &known));
    pv_status status = PV_OK;
    for (size_t i = 0; i < p->n && status == PV_OK; i++) {
        int64_t at;
        m->column.code[row + i] = -1;
        if (!present(p, i))
            continue;
        if (!index_at(codes->number, p, i, &at) || (uint64_t)at >= dictionary.n) {
            status = fail_column(m, "has a code that is none of its dictionary");
        } else if (known[at] == 0) {
            status = put_entry(m, values, &dictionary, (size_t)at, &m->column.code[row + i]);
            known[at] = m->column.code[row + i] + 2;
        } else {
            m->column.code[row + i] = known[at] - 2;
        }
    }
    pv__free(m->held->ctx, known);
    return status;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static pv_status fill_column(making *m, int64_t c, const arrow_type *type, const arrow_type *values) {
    const arrow_held *held = m->held;
    size_t row = 0;
    for (size_t b = 0; b < held->batches; b++) {
        const struct ArrowArray *batch = &held->batch[b];
        piece p;
        const char *wrong =
            take_piece(batch->children[c], type->kind, (size_t)batch->offset, (size_t)batch->length, &p);
        if (wrong)
            return fail_column(m, wrong);
        if (values)
            PV_TRY(put_coded(m, type, values, &p, row));
        else if (m->column.type == PV_COLUMN_NUMBER)
            put_numbers(type, &p, m->column.number + row);
        for (size_t i = 0; !values && m->column.type == PV_COLUMN_TEXT && i < p.n; i++)
            PV_TRY(put_text(m, type->kind, &p, i, &m->column.code[row + i]));
        row += p.n;
    }
    return PV_OK;
}

static pv_status add_column(const arrow_held *held, int64_t c, pv_table *table) {
    const struct ArrowSchema *schema = held->schema.children[c];
    making m = {.held = held, .table = table};
    arrow_type type = type_of(schema->format), values = {.kind = ARROW_NONE};
    if (schema->dictionary)
        values = type_of(schema->dictionary->format);
    bool text = schema->dictionary || is_text(type.kind);
    PV_TRY(pv__table_begin(held->ctx, table, schema->name && *schema->name ? schema->name : NULL,
                           text ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER, &m.column));
    pv_status status;
    if (type.kind == ARROW_OTHER || values.kind == ARROW_OTHER || (schema->dictionary && type.kind != ARROW_NUMBER)) {
        char what[160];
        pv__format(
            what, sizeof what,
            "is of Arrow's type '%s', which is neither numbers, texts nor dates; make one of these of it",
            pv__show(schema->dictionary && values.kind == ARROW_OTHER ? schema->dictionary->format : schema->format)
                .text);
        status = fail_column(&m, what);
        goto fail;
    }
    if (text)
        PV_GOTO(fail, pv__resize(held->ctx, table->rows, sizeof *m.column.code, &m.column.code));
    else
        PV_GOTO(fail, pv__resize(held->ctx, table->rows, sizeof *m.column.number, &m.column.number));
    PV_GOTO(fail, fill_column(&m, c, &type, schema->dictionary ? &values : NULL));
    pv__dictionary_free(held->ctx, &m.dictionary);
    return pv__table_append(held->ctx, table, &m.column);
fail:
    pv__dictionary_free(held->ctx, &m.dictionary);
    pv__column_drop(held->ctx, &m.column);
    return status;
}

static pv_status check_batches(arrow_held *held) {
    for (size_t b = 0; b < held->batches; b++) {
        const struct ArrowArray *batch = &held->batch[b];
        if (batch->n_children != held->schema.n_children || !batch->children || batch->offset < 0 ||
            batch->offset > PTRDIFF_MAX / 64)
            return FAIL(held, "batch %zu of the stream has %lld columns, not %lld", b + 1, (long long)batch->n_children,
                        (long long)held->schema.n_children);
        if (batch->null_count > 0)
            return FAIL(held, "batch %zu of the stream lacks whole rows; leave them out", b + 1);
    }
    if (held->rows == 0)
        return FAIL(held, "the data frame has no rows");
    return PV_OK;
}

pv_status pv_table_of_arrow(pv_ctx *ctx, const char *source, struct ArrowArrayStream *stream, pv_table **table) {
    arrow_held held = {.ctx = ctx, .source = source, .stream = stream};
    pv_table *made = NULL;
    *table = NULL;
    pv_status status;
    if (!stream || !stream->release || !stream->get_schema || !stream->get_next)
        return FAIL(&held, "there is no stream: it was used already");
    PV_GOTO(done, read_schema(&held));
    PV_GOTO(done, read_batches(&held));
    PV_GOTO(done, check_batches(&held));
    PV_GOTO(done, pv_table_new(ctx, source, held.rows, &made));
    for (int64_t c = 0; c < held.schema.n_children; c++)
        PV_GOTO(done, add_column(&held, c, made));
    *table = made;
    made = NULL;
done:
    pv_table_free(ctx, made);
    let_go(&held);
    return status;
}
