/* Reads tables from Arrow's C stream interface, whole or in pieces. Each batch is copied to the columns and released,
 * so there is never more than one batch in memory besides the table. The producer may be any program, so everything in
 * the stream that can be checked is checked.
 */
#include "data/arrow.h"
#include "data/arrow_cells.h"
#include "data/query.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "data/archive.h"

/* ---- columns under construction ---------------------------------------------------------------------------------- */

/* A column of the table, which grows with each batch. */
typedef struct making {
    pv__arrow_type type, values; /* values: type of a dictionary's entries */
    bool coded;                  /* it has a dictionary */
    bool over;                   /* not requested: all such columns are missing and share one array */
    bool parsed;                 /* texts that are parsed as numbers */
    bool spelled;                /* numbers that keep the text of their cells */
    pv__dictionary dictionary;
} making;

struct pv__arrow {
    pv_ctx *ctx;
    const char *source;
    const pv_csv_options *options;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    pv_table *table; /* the piece being built */
    making *making;  /* [columns] */
    size_t batches, room;
    int64_t wanted; /* number of requested columns */
    size_t before;  /* rows of the pieces already returned */
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

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static pv_status put_text(reader *r, size_t c, pv__arrow_kind kind, const pv__arrow_piece *p, size_t i, int32_t *code) {
    const char *text;
    size_t length;
    *code = -1;
    if (!pv__arrow_present(p, i))
        return PV_OK;
    if (!pv__arrow_text(kind, p, i, &text, &length))
        return fail_column(r, c, "has a text with an invalid offset: the data frame is damaged");
    if (memchr(text, 0, length))
        return fail_column(r, c, "has a text with a NUL character in it;\ntake it out");
    return pv__column_code(r->ctx, &r->making[c].dictionary, &r->table->column[c], text, length, code);
}

static pv_status put_number(reader *r, size_t c, const pv__arrow_type *type, const pv__arrow_piece *p, size_t i,
                            int32_t *code) {
    char text[PV__ARROW_CELL];
    *code = -1;
    size_t length =
        pv__arrow_present(p, i) && type->kind != PV__ARROW_NONE ? pv__arrow_number_text(type, p, i, text) : 0;
    return length == 0 ? PV_OK
                       : pv__column_code(r->ctx, &r->making[c].dictionary, &r->table->column[c], text, length, code);
}

static pv_status put_cell(reader *r, size_t c, const pv__arrow_type *type, const pv__arrow_piece *p, size_t i,
                          int32_t *code) {
    return (pv__arrow_is_text(type->kind) ? put_text(r, c, type->kind, p, i, code)
                                          : put_number(r, c, type, p, i, code));
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

/* A piece of codes, whose dictionary entries become texts. */
static pv_status put_coded(reader *r, size_t c, const pv__arrow_piece *p, int32_t *to) {
    const making *m = &r->making[c];
    pv__arrow_piece dictionary;
    const struct ArrowArray *array = p->array->dictionary;
    const char *wrong = !array || array->length < 0
                            ? "has no dictionary"
                            : pv__arrow_take(array, m->values.kind, 0, (size_t)array->length, &dictionary);
    if (wrong)
        return fail_column(r, c, wrong);
    int32_t *known; /* for each entry: its code + 2; 0: not yet seen */
    PV_TRY(pv__alloc(r->ctx, dictionary.n, sizeof *known, &known));
    pv_status status = PV_OK;
    for (size_t i = 0; i < p->n && status == PV_OK; i++) {
        int64_t at;
        to[i] = -1;
        if (!pv__arrow_present(p, i))
            continue;
        if (!pv__arrow_index(m->type.number, p, i, &at) || (uint64_t)at >= dictionary.n) {
            status = fail_column(r, c, "has a code that is not in its dictionary");
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

/* Whether its values may have more digits than a double. */
static bool has_digits(const pv__arrow_type *type) {
    bool wide = type->kind == PV__ARROW_NUMBER && (type->number == PV_ARRAY_I64 || type->number == PV_ARRAY_U64);
    return (wide && type->units == 0) || type->kind == PV__ARROW_DECIMAL;
}

/* Tables in memory keep the text of identifiers. If the caller asks for the spelling, numbers such as 1.50 and dates
 * keep theirs too. */
static bool keeps_text(const pv__arrow_type *type, const pv_csv_options *options) {
    bool dates = type->kind == PV__ARROW_NUMBER && type->units > 0;
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
    m->type = pv__arrow_type_of(schema->format);
    if (m->coded)
        m->values = pv__arrow_type_of(schema->dictionary->format);
    m->over = name && options && options->keep && !pv__listed(options->keep, options->n_keep, name);
    m->parsed = pv__arrow_is_text(m->type.kind) && !m->coded && (schema->flags & PV__ARROW_NUMBERS);
    m->spelled = m->parsed || (!m->coded && keeps_text(&m->type, options));
    bool text = m->coded || (pv__arrow_is_text(m->type.kind) && !m->parsed) ||
                (name && options && pv__wants_text(options, name) &&
                 (has_digits(&m->type) || m->parsed || pv__listed(options->text, options->n_text, name)));
    pv_column column;
    PV_TRY(pv__table_begin(r->ctx, r->table, name, text && !m->over ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER, &column));
    column.borrowed = m->over;
    PV_TRY(pv__table_append(r->ctx, r->table, &column));
    r->wanted += !m->over;
    if (m->over || (m->type.kind != PV__ARROW_OTHER && m->values.kind != PV__ARROW_OTHER &&
                    !(m->coded && m->type.kind != PV__ARROW_NUMBER)))
        return PV_OK;
    char what[200];
    bool inner = m->coded && m->values.kind == PV__ARROW_OTHER;
    pv__format(what, sizeof what,
               "has Arrow type '%s', which is not a number, text or date;\nconvert it, or leave it out of the query or "
               "data frame",
               pv__show(inner ? schema->dictionary->format : schema->format).text);
    return fail_column(r, c, what);
}

static pv_status open_schema(reader *r) {
    struct ArrowSchema *schema = &r->schema;
    int code = r->stream.get_schema(&r->stream, schema);
    if (code)
        return fail_stream(r, code);
    if (!schema->release || !schema->format || strcmp(schema->format, "+s") != 0)
        return FAIL(r, "the stream does not hold a data frame: its elements must be structs with one child per column");
    if (schema->n_children < 1 || schema->n_children > COLUMNS_MAX || !schema->children)
        return FAIL(r, "the data frame has %lld columns;\ngive it at least one", (long long)schema->n_children);
    for (int64_t c = 0; c < schema->n_children; c++) {
        const struct ArrowSchema *child = schema->children[c];
        if (!child || !child->format || (child->dictionary && !child->dictionary->format))
            return FAIL(r, "column %lld of the stream has no type", (long long)c + 1);
    }
    return PV_OK;
}

/* Begins a table without rows, or the next one. */
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
    const pv_column *owner = NULL; /* the column whose array all columns that were not requested share */
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

/* Stores the texts of numbers that were already stored. */
static pv_status spell_numbers(reader *r, size_t c, const pv__arrow_piece *p) {
    const making *m = &r->making[c];
    pv_column *column = &r->table->column[c];
    size_t row = r->table->rows;
    for (size_t i = 0; i < p->n; i++) {
        char text[PV__ARROW_CELL];
        bool quick = !column->code && m->type.kind == PV__ARROW_NUMBER && m->type.units == 0 &&
                     fabs(column->number[row + i]) < (double)PV__EXACT_INTEGER;
        if (quick || isnan(column->number[row + i]))
            continue;
        size_t length = pv__arrow_number_text(&m->type, p, i, text);
        PV_TRY(pv__spell(r->ctx, &r->making[c].dictionary, column, row + i, r->room, text, length));
    }
    return PV_OK;
}

/* Texts that are parsed as numbers, with their spelling. */
static pv_status parse_numbers(reader *r, size_t c, const pv__arrow_piece *p) {
    pv_column *column = &r->table->column[c];
    size_t row = r->table->rows;
    for (size_t i = 0; i < p->n; i++) {
        const char *text;
        size_t length;
        char number[64];
        column->number[row + i] = (double)NAN;
        if (!pv__arrow_present(p, i))
            continue;
        if (!pv__arrow_text(r->making[c].type.kind, p, i, &text, &length))
            return fail_column(r, c, "has a text with an invalid offset: the data frame is damaged");
        for (; length > 0 && (*text == ' ' || *text == '\t'); text++)
            length--;
        while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
            length--;
        if (pv__text_missing(text, length))
            continue;
        pv__format(number, sizeof number, "%.*s", (int)(length < sizeof number ? length : sizeof number), text);
        if (length >= sizeof number || !pv__number_parse(number, length, &column->number[row + i]))
            return fail_column(r, c, "has a text that is not a number");
        PV_TRY(pv__spell(r->ctx, &r->making[c].dictionary, column, row + i, r->room, number, length));
    }
    return PV_OK;
}

/* child: index in the batch of the array for this column. */
static pv_status put_piece(reader *r, size_t c, const struct ArrowArray *batch, size_t child) {
    const making *m = &r->making[c];
    pv_column *column = &r->table->column[c];
    size_t row = r->table->rows;
    pv__arrow_piece p;
    if (m->over) {
        for (size_t i = 0; !column->borrowed && i < (size_t)batch->length; i++)
            column->number[row + i] = (double)NAN;
        return PV_OK;
    }
    const char *wrong =
        pv__arrow_take(batch->children[child], m->type.kind, (size_t)batch->offset, (size_t)batch->length, &p);
    if (wrong)
        return fail_column(r, c, wrong);
    if (m->coded)
        return put_coded(r, c, &p, column->code + row);
    if (m->parsed && column->type == PV_COLUMN_NUMBER)
        return parse_numbers(r, c, &p);
    if (column->type == PV_COLUMN_NUMBER) {
        pv__arrow_numbers(&m->type, &p, column->number + row);
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
    bool all = batch->n_children == r->schema.n_children; /* otherwise only the requested columns */
    if ((!all && batch->n_children != r->wanted) || !batch->children || batch->offset < 0 ||
        batch->offset > PTRDIFF_MAX / 64)
        return FAIL(r, "batch %zu of the stream has %lld columns, not %lld", r->batches, (long long)batch->n_children,
                    (long long)r->schema.n_children);
    if (batch->null_count > 0)
        return FAIL(r, "batch %zu of the stream has null rows;\nleave them out", r->batches);
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

/* Reads until the table has this many rows or the stream ends. */
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
        return pv__fail_at(ctx, PV_ERR_INPUT, source, 0, 0, "the stream was already used");
    pv_status status = pv__alloc(ctx, 1, sizeof *r, &r);
    if (status != PV_OK) {
        stream->release(stream);
        return status;
    }
    *r = (reader){.ctx = ctx, .source = source, .options = options, .stream = *stream};
    stream->release = NULL; /* ownership has moved */
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
