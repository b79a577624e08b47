/* Converts rows to batches. The first batch decides whether a column holds numbers or texts: a column with any text
 * becomes text, and its numbers are written as in CSV files. A text that first appears later in a number column is an
 * error. */
#include "data/row_stream.h"
#include "data/query.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/number.h"

enum { BATCH = 1024, BYTES = (BATCH + 7) / 8 };

typedef struct column {
    pv__cell_kind kind; /* NUMBER or TEXT once decided */
    bool over;          /* not requested */
    bool wanted;        /* requested as text */
    bool spelled;       /* numbers are output as they are written in the source */
    bool text, number;  /* such a cell was seen */
    bool words;         /* a text that is not a number was seen */
    pv__cell_kind cell[BATCH];
    double value[BATCH];
    size_t from[BATCH], length[BATCH]; /* position and length of texts, in bytes */
    char *bytes;
    size_t used, room;
    /* in Arrow's format */
    unsigned char valid[BYTES];
    int64_t offset[BATCH + 1];
    char *joined; /* texts, and numbers as text, concatenated */
    size_t joined_room;
    const void *buffers[3];
    struct ArrowArray array;
    struct ArrowSchema schema;
} column;

typedef struct row_stream {
    pv_ctx *ctx;
    pv__rows rows;
    column *column; /* [rows.columns] */
    size_t n;       /* rows in the current batch */
    bool read;      /* the batch has been read but not returned */
    bool ended;     /* the last row was read: some databases would start again from the beginning */
    struct ArrowSchema **schemas;
    struct ArrowArray **arrays;
    char error[512];
} row_stream;

static void free_all(row_stream *s) {
    for (size_t c = 0; s->column && c < s->rows.columns; c++) {
        pv__free(s->ctx, s->column[c].bytes);
        pv__free(s->ctx, s->column[c].joined);
    }
    pv__free(s->ctx, s->column);
    pv__free(s->ctx, s->schemas);
    pv__free(s->ctx, s->arrays);
    s->rows.close(s->rows.state);
    pv__free(s->ctx, s);
}

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

static pv_status make_room(pv_ctx *ctx, size_t wanted, size_t *room, char **bytes) {
    if (wanted <= *room)
        return PV_OK;
    size_t more = wanted + wanted / 2 + 64;
    PV_TRY(pv__resize(ctx, more, 1, bytes));
    *room = more;
    return PV_OK;
}

static pv_status keep_text(row_stream *s, column *to, pv__cell cell) {
    PV_TRY(make_room(s->ctx, to->used + cell.length, &to->room, &to->bytes));
    memcpy(to->bytes + to->used, cell.text, cell.length);
    to->used += to->length[s->n] = cell.length;
    return PV_OK;
}

static pv_status put_cell(row_stream *s, size_t c, pv__cell cell) {
    column *to = &s->column[c];
    double number;
    if (to->over || (cell.kind == PV__CELL_TEXT && pv__text_missing(cell.text, cell.length)))
        cell.kind = PV__CELL_MISSING;
    to->cell[s->n] = cell.kind;
    to->value[s->n] = cell.kind == PV__CELL_NUMBER ? cell.number : (double)NAN;
    to->number = to->number || cell.kind == PV__CELL_NUMBER;
    to->from[s->n] = to->used;
    to->length[s->n] = 0;
    if (cell.kind == PV__CELL_OTHER)
        return pv__fail(s->ctx, PV_ERR_INPUT,
                        "column '%s' is neither numeric nor text;\nconvert it in a query, or leave it out",
                        pv__show(s->rows.name(s->rows.state, c)).text);
    if (cell.kind == PV__CELL_MISSING || (cell.kind == PV__CELL_NUMBER && !cell.text))
        return PV_OK;
    if (cell.kind == PV__CELL_NUMBER)
        return to->kind == PV__CELL_NUMBER && !to->spelled ? PV_OK : keep_text(s, to, cell);
    if (to->kind == PV__CELL_NUMBER)
        return pv__fail(
            s->ctx, PV_ERR_INPUT,
            "column '%s': '%s' is not a number, but %s;\nconvert all to text (CAST) or leave those rows out",
            pv__show(s->rows.name(s->rows.state, c)).text, pv__show_n(cell.text, cell.length).text,
            to->number ? "the cells above are" : "nothing above it has a value, and numbers were expected");
    PV_TRY(keep_text(s, to, cell));
    to->text = true;
    to->words = to->words || !pv__number_parse(cell.text, cell.length, &number);
    return PV_OK;
}

static pv_status read_batch(row_stream *s) {
    for (size_t c = 0; c < s->rows.columns; c++)
        s->column[c].used = 0;
    for (s->n = 0; s->n < BATCH && !s->ended; s->n++) {
        int code = s->rows.next(s->rows.state);
        if (pv__interrupted(s->ctx))
            return pv__fail(s->ctx, PV_ERR_INTERRUPTED, "stopped while reading");
        if (code < 0)
            return pv__engine_fail(s->ctx, NULL, s->rows.error(s->rows.state));
        s->ended = code == 0;
        if (s->ended)
            break;
        for (size_t c = 0; c < s->rows.columns; c++)
            PV_TRY(put_cell(s, c, s->rows.cell(s->rows.state, c)));
    }
    s->read = true;
    return PV_OK;
}

/* Decides the column's type after the first batch. */
static void decide(row_stream *s, size_t c) {
    column *of = &s->column[c];
    bool text = of->text || of->wanted || (!of->number && s->rows.declared(s->rows.state, c) == PV__CELL_TEXT);
    of->kind = text && !of->over ? PV__CELL_TEXT : PV__CELL_NUMBER;
    of->spelled = of->spelled && of->kind == PV__CELL_NUMBER && !of->over;
}

/* Warns of numbers stored as texts, as SQLite's .import does for CSV files. */
static void tell_of_texts(const row_stream *s, const char *source) {
    size_t count = 0, first = 0;
    for (size_t c = s->rows.columns; c-- > 0;)
        if (s->column[c].text && !s->column[c].words && !s->column[c].wanted) {
            count++;
            first = c;
        }
    char more[48] = "";
    if (count > 1)
        pv__format(more, sizeof more, " and %zu more column%s", count - 1, count == 2 ? "" : "s");
    if (count > 0)
        pv__log(s->ctx, PV_LOG_WARNING,
                "%s: column '%s'%s holds numbers as texts, which are categories; CAST(... AS REAL) in a query converts "
                "them to numbers",
                source, pv__show(s->rows.name(s->rows.state, first)).text, more);
}

static pv_status join_texts(row_stream *s, column *of) {
    char number[32];
    size_t used = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *text = of->bytes + of->from[i];
        size_t length = of->length[i];
        of->offset[i] = (int64_t)used;
        if (of->cell[i] == PV__CELL_NUMBER && length == 0) {
            length = (size_t)pv_format_double(of->value[i], number, sizeof number);
            text = number;
        }
        PV_TRY(make_room(s->ctx, used + length, &of->joined_room, &of->joined));
        if (length > 0)
            memcpy(of->joined + used, text, length);
        used += length;
    }
    of->offset[s->n] = (int64_t)used;
    return PV_OK;
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

static void schema_released(struct ArrowSchema *schema) {
    schema->release = NULL;
}

static void array_released(struct ArrowArray *array) {
    array->release = NULL;
}

static bool goes_as_text(const column *of) {
    return of->kind == PV__CELL_TEXT || of->spelled;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    row_stream *s = stream->private_data;
    for (size_t c = 0; c < s->rows.columns; c++) {
        s->column[c].schema = (struct ArrowSchema){.format = goes_as_text(&s->column[c]) ? "U" : "g",
                                                   .name = s->rows.name(s->rows.state, c),
                                                   .flags = s->column[c].spelled ? PV__ARROW_NUMBERS : 0,
                                                   .release = schema_released};
        s->schemas[c] = &s->column[c].schema;
    }
    *out = (struct ArrowSchema){
        .format = "+s", .n_children = (int64_t)s->rows.columns, .children = s->schemas, .release = schema_released};
    return 0;
}

static pv_status fill_array(row_stream *s, column *of) {
    memset(of->valid, 0, sizeof of->valid);
    for (size_t i = 0; i < s->n; i++)
        if (of->cell[i] != PV__CELL_MISSING)
            of->valid[i / 8] |= (unsigned char)(1U << i % 8);
    of->buffers[0] = of->valid;
    of->buffers[1] = of->value;
    if (goes_as_text(of)) {
        PV_TRY(join_texts(s, of));
        of->buffers[1] = of->offset;
        of->buffers[2] = of->joined;
    }
    of->array = (struct ArrowArray){.length = (int64_t)s->n,
                                    .null_count = -1,
                                    .n_buffers = goes_as_text(of) ? 3 : 2,
                                    .buffers = of->buffers,
                                    .release = array_released};
    return PV_OK;
}

static int failed(row_stream *s) {
    pv__format(s->error, sizeof s->error, "%s", pv_ctx_error(s->ctx)->message);
    return pv_ctx_error(s->ctx)->status == PV_ERR_MEMORY ? ENOMEM : EIO;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    row_stream *s = stream->private_data;
    *out = (struct ArrowArray){0};
    if (!s->read && read_batch(s) != PV_OK)
        return failed(s);
    s->read = false;
    if (s->n == 0)
        return 0;
    for (size_t c = 0; c < s->rows.columns; c++) {
        if (fill_array(s, &s->column[c]) != PV_OK)
            return failed(s);
        s->arrays[c] = &s->column[c].array;
    }
    *out = (struct ArrowArray){.length = (int64_t)s->n,
                               .n_children = (int64_t)s->rows.columns,
                               .children = s->arrays,
                               .release = array_released};
    return 0;
}

static const char *last_error(struct ArrowArrayStream *stream) {
    return ((row_stream *)stream->private_data)->error;
}

static void release(struct ArrowArrayStream *stream) {
    free_all(stream->private_data);
    stream->release = NULL;
}

pv_status pv__rows_stream(pv_ctx *ctx, const char *source, const pv__rows *rows, const pv_csv_options *options,
                          struct ArrowArrayStream *stream) {
    row_stream *s;
    pv_status status = pv__alloc(ctx, 1, sizeof *s, &s);
    if (status != PV_OK) {
        rows->close(rows->state);
        return status;
    }
    s->ctx = ctx;
    s->rows = *rows;
    PV_GOTO(fail, pv__alloc(ctx, rows->columns, sizeof *s->column, &s->column));
    PV_GOTO(fail, pv__alloc(ctx, rows->columns, sizeof(struct ArrowSchema *), &s->schemas));
    PV_GOTO(fail, pv__alloc(ctx, rows->columns, sizeof(struct ArrowArray *), &s->arrays));
    for (size_t c = 0; options && c < rows->columns; c++) {
        const char *name = rows->name(rows->state, c);
        s->column[c].over = options->keep && !pv__listed(options->keep, options->n_keep, name);
        s->column[c].wanted = pv__wants_text(options, name);
        s->column[c].spelled = options->spelling;
    }
    status = read_batch(s);
    if (status == PV_ERR_INPUT) { /* adds where the error is */
        char text[PV_MESSAGE_SIZE];
        pv__format(text, sizeof text, "%s", ctx->error.message);
        pv__error_break(&ctx->error, text);
        status = pv__fail_at(ctx, PV_ERR_INPUT, source, 0, 0, "%s", text);
    }
    if (status != PV_OK)
        goto fail;
    for (size_t c = 0; c < rows->columns; c++)
        decide(s, c);
    tell_of_texts(s, source);
    *stream = (struct ArrowArrayStream){get_schema, get_next, last_error, release, s};
    return PV_OK;
fail:
    free_all(s);
    return status;
}
