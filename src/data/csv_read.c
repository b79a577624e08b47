/* Reads CSV in one pass: each field goes from the input window straight into its column, so there is never more than
 * one block of the file in memory besides the table. Fields of number columns take a fast path, which falls back to the
 * full scanner for anything other than plain digits between delimiters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/csv.h"
#include "data/schema_learn.h"
#include "base/number.h"
#include "data/query.h"

enum { SLACK = 1 << 16 }; /* cells */

/* Number of spare rows: SLACK cells, counting the line number of a row as one. */
static size_t spare_rows(size_t columns) {
    return SLACK / (columns + 1) + 1;
}

/* Estimates the number of rows from the part read so far. An array that is too long costs only address space. */
static size_t estimate_rows(const pv__input *input, size_t columns) {
    size_t breaks = 1;
    for (const char *at = input->buffer + input->at; (at = strchr(at, '\n')); at++)
        breaks++;
    double seen = (double)(input->end - input->at), expected = (double)input->expected;
    if (input->final || expected <= seen || seen <= 0)
        return breaks;
    double rows = 1.02 * (double)breaks * expected / seen;
    double most = expected / (2 * (double)columns); /* at least one digit and one delimiter per cell */
    return (size_t)fmin(rows, most) + spare_rows(columns);
}

void pv__csv_room(pv__reader *r) {
    r->capacity = estimate_rows(&r->input, r->table->columns);
}

static void choose_columns(pv__reader *r) {
    const pv_csv_options *options = r->options;
    size_t n = r->table->columns, c;
    if (!options)
        return;
    if (options->keep)
        memset(r->forced, PV__SKIPPED, n);
    for (size_t i = 0; options->keep && i < options->n_keep; i++)
        if ((c = pv__table_lookup(r->table, options->keep[i])) < n)
            r->forced[c] = PV__FREE;
    for (c = 0; c < n; c++)
        if (r->forced[c] == PV__FREE && pv__wants_text(options, r->table->column[c].name))
            r->forced[c] = PV__FORCED_TEXT;
}

static pv_status begin_table(pv__reader *r) {
    char **names = NULL;
    size_t n = 0;
    pv_status status;
    PV_GOTO(done, pv__csv_header(r, &names, &n));
    PV_GOTO(done, pv__table_new(r->ctx, r->input.name, (const char *const *)names, n, 0, &r->table));
    PV_GOTO(done, pv__alloc(r->ctx, n, 1, &r->kind));
    PV_GOTO(done, pv__alloc(r->ctx, n, 1, &r->forced));
    PV_GOTO(done, pv__alloc(r->ctx, n, sizeof *r->question, &r->question));
    PV_GOTO(done, pv__alloc(r->ctx, n, sizeof *r->dictionary, &r->dictionary));
    choose_columns(r);
    pv__csv_room(r);
done:
    pv_string_list_free(r->ctx, names, n);
    return status;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static pv_status grow_rows(pv__reader *r) {
    size_t capacity = r->capacity + r->capacity / 2 + spare_rows(r->table->columns);
    for (size_t c = 0; c < r->table->columns; c++) {
        pv_column *column = &r->table->column[c];
        if (r->kind[c] == PV__NUMBER)
            PV_TRY(pv__resize(r->ctx, capacity, sizeof *column->number, &column->number));
        if (r->kind[c] == PV__TEXT || column->code)
            PV_TRY(pv__resize(r->ctx, capacity, sizeof *column->code, &column->code));
    }
    if (r->table->line)
        PV_TRY(pv__resize(r->ctx, capacity, sizeof *r->table->line, &r->table->line));
    r->capacity = capacity;
    return PV_OK;
}

/* Decides a column's type; the rows so far were missing. Resizing a NULL block allocates without zeroing, which would
 * touch every page. */
static pv_status decide(pv__reader *r, size_t c, unsigned char kind) {
    pv_column *column = &r->table->column[c];
    if (kind == PV__NUMBER) {
        PV_TRY(pv__resize(r->ctx, r->capacity, sizeof *column->number, &column->number));
        for (size_t i = 0; i < r->table->rows; i++)
            column->number[i] = (double)NAN;
    } else {
        PV_TRY(pv__resize(r->ctx, r->capacity, sizeof *column->code, &column->code));
        for (size_t i = 0; i < r->table->rows; i++)
            column->code[i] = -1;
    }
    column->type = kind == PV__NUMBER ? PV_COLUMN_NUMBER : PV_COLUMN_TEXT;
    r->kind[c] = kind;
    return PV_OK;
}

bool pv__text_missing(const char *t, size_t length) {
    switch (length) {
    case 0:
        return true;
    case 1:
        return t[0] == '.' || t[0] == '?';
    case 2:
        return memcmp(t, "NA", 2) == 0;
    case 3:
        return memcmp(t, "NaN", 3) == 0 || memcmp(t, "nan", 3) == 0 || memcmp(t, "N/A", 3) == 0 ||
               memcmp(t, "n/a", 3) == 0;
    case 4:
        return memcmp(t, "null", 4) == 0 || memcmp(t, "NULL", 4) == 0 || memcmp(t, "<NA>", 4) == 0 ||
               memcmp(t, "#N/A", 4) == 0;
    default:
        return false;
    }
}

/* A question mark might be meant literally, so reading it as missing is reported. */
static bool is_missing(pv__reader *r, size_t c, const char *text, size_t length) {
    const pv__csv_form *form = &r->form;
    if (form->usual) {
        bool missing = pv__text_missing(text, length);
        if (missing && length == 1 && text[0] == '?')
            r->question[c] = true;
        return missing;
    }
    for (size_t i = 0; i < form->n_na; i++)
        if (strlen(form->na[i]) == length && memcmp(form->na[i], text, length) == 0)
            return true;
    return length == 0;
}

/* Sets numbers that mean missing to NaN: the fast path does not check for them. */
static void drop_numbers(const pv__csv_form *form, size_t rows, double *number) {
    for (size_t k = 0; k < form->n_na; k++)
        for (size_t i = 0; !isnan(form->number[k]) && i < rows; i++)
            if (number[i] == form->number[k])
                number[i] = (double)NAN;
}

static void tell_of_questions(const pv__reader *r) {
    size_t count = 0, first = 0;
    for (size_t c = r->table->columns; c-- > 0;)
        if (r->question[c]) {
            count++;
            first = c;
        }
    char more[48] = "";
    if (count > 1)
        pv__format(more, sizeof more, " and %zu more column%s", count - 1, count == 2 ? "" : "s");
    if (count > 0)
        pv__log(r->ctx, PV_LOG_INFO, "%s: '?' in column '%s'%s is treated as missing; name such texts with `na`",
                r->input.name, pv__show(r->table->column[first].name).text, more);
}

/* Counts the fields of a row, `found` of which end at `at`; 0 if the window ends before the row does. */
static pv_status count_fields(pv__reader *r, const char *at, size_t found, size_t *count) {
    pv__field field = {.next = at};
    while (field.next && *field.next != '\n') {
        r->scanner.column = ++found;
        PV_TRY(pv__scan_field(&r->scanner, field.next + 1, &field));
    }
    *count = field.next ? found : 0;
    return PV_OK;
}

static pv_status ragged(pv__reader *r, size_t found) {
    return pv__fail_at(
        r->ctx, PV_ERR_INPUT, r->input.name, r->input.line, 0,
        "this row has %zu field%s, the header %zu;\ncorrect the row (text with a delimiter in it needs double quotes)",
        found, found == 1 ? "" : "s", r->table->columns);
}

/* Handles a field that does not fit its column. If the row has the wrong number of fields, that is reported instead.
 * field->next becomes NULL if the window ends too early to tell. */
static pv_status misfit(pv__reader *r, size_t c, size_t line, pv__field *field) {
    pv__shown name = pv__show(r->table->column[c].name), text = pv__show_n(field->text, field->length);
    bool number = r->kind[c] == PV__NUMBER;
    size_t found;
    PV_TRY(count_fields(r, field->next, c + 1, &found));
    field->next = NULL;
    if (found == 0)
        return PV_OK;
    if (found != r->table->columns)
        return ragged(r, found);
    const char *is = number ? "not a number" : "a number", *above = number ? "numbers" : "text";
    const char *decimal = pv__misread_hint(number ? text.text : r->table->column[c].level[0]);
    if (r->options && r->options->keep) /* the table is for an existing model, which fixes the column's type */
        return pv__fail_at(r->ctx, PV_ERR_INPUT, r->input.name, line, c + 1,
                           "column %zu, '%s': '%s' is %s, but the fields above are %s%s;\ncorrect the cell, or name "
                           "the texts that mean missing with `na`",
                           c + 1, name.text, text.text, is, above, decimal);
    pv__shown word = pv__show_item(r->table->column[c].name);
    return pv__fail_at(
        r->ctx, PV_ERR_INPUT, r->input.name, line, c + 1,
        "column %zu, '%s': '%s' is %s, but the fields above are %s%s;\ncorrect the cell, name the texts that mean "
        "missing with `na`, read the column as categories with `categorical=%s`, or leave it out with `exclude=%s`",
        c + 1, name.text, text.text, is, above, decimal, word.text, word.text);
}

/* Stores a scanned field in row table->rows of its column. Repeating this after the window ended within the row is
 * harmless. field->next becomes NULL if more of the file must be read. */
static pv_status store(pv__reader *r, size_t c, size_t line, pv__field *field) {
    pv_column *column = &r->table->column[c];
    size_t row = r->table->rows;
    double value;
    if (r->forced[c] == PV__SKIPPED)
        return PV_OK;
    if (r->kind[c] == PV__TEXT) {
        uint64_t hash;
        int32_t code = pv__dictionary_find(&r->dictionary[c], column, field->text, field->length, &hash);
        if (code < 0 && !is_missing(r, c, field->text, field->length)) {
            if (!r->forced[c] && pv__csv_number(&r->form, field->text, field->length, &value))
                return misfit(r, c, line, field);
            code = column->levels;
            PV_TRY(pv__dictionary_add(r->ctx, &r->dictionary[c], column, field->text, field->length, hash));
        }
        column->code[row] = code;
        return PV_OK;
    }
    if (is_missing(r, c, field->text, field->length)) {
        if (r->kind[c] == PV__NUMBER)
            column->number[row] = (double)NAN;
        return PV_OK;
    }
    bool number = !r->forced[c] && pv__csv_number(&r->form, field->text, field->length, &value);
    if (r->kind[c] == PV__UNDECIDED) {
        PV_TRY(decide(r, c, number ? PV__NUMBER : PV__TEXT));
        if (!number)
            return store(r, c, line, field);
    }
    if (!number)
        return misfit(r, c, line, field);
    column->number[row] = value;
    if (r->options && r->options->spelling)
        return pv__spell(r->ctx, &r->dictionary[c], column, row, r->capacity, field->text, field->length);
    return PV_OK;
}

/* Usually row i is at line i + 2. From the first exception on, every row's line is stored. */
static pv_status note_line(pv__reader *r) {
    pv_table *table = r->table;
    if (!table->line) {
        if (r->input.line == table->rows + 2)
            return PV_OK;
        PV_TRY(pv__resize(r->ctx, r->capacity, sizeof *table->line, &table->line));
        for (size_t i = 0; i < table->rows; i++)
            table->line[i] = i + 2;
    }
    table->line[table->rows] = r->input.line;
    return PV_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Reads one row at text. *next: the position after it, or NULL if the window ends too early. */
static pv_status read_row(pv__reader *r, const char *text, const char **next) {
    const pv_column *column = r->table->column;
    const size_t columns = r->table->columns, row = r->table->rows;
    const char delimiter = r->scanner.delimiter;
    const bool fast = r->form.decimal == '.' && !(r->options && r->options->spelling);
    *next = NULL;
    r->scanner.line = r->input.line;
    for (size_t c = 0; c < columns; c++) {
        const char *end = NULL;
        if (fast && r->kind[c] == PV__NUMBER && (end = pv__number_fast(text, &column[c].number[row]))) {
            end += *end == '\r' && end[1] == '\n';
            if (*end != delimiter && *end != '\n')
                end = NULL;
        }
        if (!end) {
            pv__field field;
            size_t line = r->scanner.line;
            r->scanner.column = c + 1;
            PV_TRY(pv__scan_field(&r->scanner, text, &field));
            if (field.next)
                PV_TRY(store(r, c, line, &field));
            if (!field.next)
                return PV_OK;
            end = field.next;
        }
        if ((*end == '\n') != (c + 1 == columns)) {
            size_t found;
            PV_TRY(count_fields(r, end, c + 1, &found));
            return found == 0 ? PV_OK : ragged(r, found);
        }
        text = end + 1;
    }
    *next = text;
    return PV_OK;
}

pv_status pv__csv_rows(pv__reader *r) {
    pv__input *input = &r->input;
    for (;;) {
        if (r->until != UINT64_MAX && pv__input_place(input) >= r->until)
            return PV_OK;
        const char *text = input->buffer + input->at, *next = NULL;
        if (input->at == input->end) {
            if (input->final)
                return PV_OK;
        } else if ((unsigned char)*text > ' ' || !pv__scan_blank(&r->scanner, text, &next)) {
            if (r->table->rows == r->capacity)
                PV_TRY(grow_rows(r));
            PV_TRY(read_row(r, text, &next));
            if (next) {
                PV_TRY(note_line(r));
                r->table->rows++;
                input->line = r->scanner.line;
            }
        }
        if (next) {
            input->at = (size_t)(next - input->buffer);
            input->line++;
        } else {
            PV_TRY(pv__input_fill(r->ctx, input));
        }
    }
}

/* Columns without a single value become number columns unless text was requested; arrays shrink to their contents. */
static pv_status finish_table(pv__reader *r) {
    pv_table *table = r->table;
    if (table->rows == 0)
        return pv__fail_at(r->ctx, PV_ERR_INPUT, r->input.name, 0, 0,
                           "the file has a header but no data rows;\nadd rows (each line must end with a line feed)");
    for (size_t c = 0; c < table->columns; c++) {
        pv_column *column = &table->column[c];
        if (r->kind[c] == PV__UNDECIDED)
            PV_TRY(decide(r, c, r->forced[c] == PV__FREE ? PV__NUMBER : PV__TEXT));
        if (r->kind[c] == PV__TEXT) {
            PV_TRY(pv__resize(r->ctx, table->rows, sizeof *column->code, &column->code));
            PV_TRY(pv__resize(r->ctx, (size_t)column->levels, sizeof *column->level, &column->level));
            if (r->form.bare)
                pv__csv_bare(column->level, (size_t)column->levels);
        } else {
            PV_TRY(pv__resize(r->ctx, table->rows, sizeof *column->number, &column->number));
            drop_numbers(&r->form, table->rows, column->number);
            pv__spelling_finish(column, table->rows);
        }
        pv__dictionary_free(r->ctx, &r->dictionary[c]);
    }
    PV_TRY(pv__csv_dates(r));
    PV_TRY(pv__csv_check_header(r));
    tell_of_questions(r);
    if (table->line)
        PV_TRY(pv__resize(r->ctx, table->rows, sizeof *table->line, &table->line));
    table->hash = pv__hasher_end(&r->input.hash);
    return PV_OK;
}

/* Skips a byte-order mark, which is not part of the first name. */
static pv_status skip_mark(pv__reader *r) {
    PV_TRY(pv__input_fill(r->ctx, &r->input));
    if (strncmp(r->input.buffer, "\xEF\xBB\xBF", 3) == 0)
        r->input.at = 3;
    return PV_OK;
}

static pv_status read_csv(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table) {
    pv__reader r = {.ctx = ctx, .options = options, .until = UINT64_MAX};
    bool shared;
    r.scanner = (pv__scanner){.ctx = ctx, .input = &r.input};
    pv_status status;
    PV_GOTO(done, pv__csv_form_parse(ctx, options, &r.form));
    r.scanner.quote = r.form.quote;
    PV_GOTO(done, pv__input_open(ctx, path, &r.input));
    PV_GOTO(done, skip_mark(&r));
    PV_GOTO(done, begin_table(&r));
    PV_GOTO(done, pv__csv_share(&r, &shared));
    if (!shared)
        PV_GOTO(done, pv__csv_rows(&r));
    PV_GOTO(done, finish_table(&r));
    if (options)
        PV_GOTO(done, pv__written_of(ctx, options, &r.table->written));
    *table = r.table;
    r.table = NULL;
done:
    for (size_t c = 0; r.table && r.dictionary && c < r.table->columns; c++)
        pv__dictionary_free(ctx, &r.dictionary[c]);
    pv_table_free(ctx, r.table);
    pv__free(ctx, r.dictionary);
    pv__free(ctx, r.kind);
    pv__free(ctx, r.forced);
    pv__free(ctx, r.question);
    pv__free(ctx, r.scanner.scratch);
    pv__input_close(ctx, &r.input);
    pv__csv_form_free(ctx, &r.form);
    return status;
}

static pv_status read_file(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table) {
    if (pv__packed_recognise(path))
        return pv__packed_read(ctx, path, options, table);
    return (pv_archive_recognise(path) ? pv__image_table_read : read_csv)(ctx, path, options, table);
}

pv_status pv_table_read(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table) {
    static const char builtin[] = "builtin:";
    pv__reading reading;
    pv__query query;
    *table = NULL;
    if (strncmp(path, builtin, sizeof builtin - 1) == 0)
        return pv_table_builtin(ctx, path + sizeof builtin - 1, table);
    PV_TRY(pv__query_parse(ctx, path, &query));
    pv_status status = pv__reading_new(ctx, options, &reading);
    if (status == PV_OK) {
        status = query.engine == PV__ENGINE_NONE ? read_file(ctx, path, &reading.options, table)
                                                 : pv__query_read(ctx, &query, &reading.options, table);
        pv__reading_free(ctx, &reading);
    }
    pv__query_free(ctx, &query);
    return status;
}
