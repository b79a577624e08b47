/* Reading CSV in one pass: each field goes from the input window straight into its column, so that beside the table
 * there is never more than one block of the file in memory. Fields of number columns take a fast path that falls back
 * to the full scanner for anything but plain digits between delimiters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/csv.h"
#include "base/number.h"

enum { UNDECIDED, NUMBER, TEXT };
enum { FREE, FORCED_TEXT, SKIPPED };
enum { HEADER_MAX = 16 << 20, SLACK = 1 << 16 }; /* bytes; cells */

typedef struct reader {
    pv_ctx *ctx;
    const pv_csv_options *options;
    pv__input input;
    pv__scanner scanner;
    pv_table *table;
    unsigned char *kind;        /* [columns] */
    unsigned char *forced;      /* [columns]: FORCED_TEXT, text whatever they hold; SKIPPED, not wanted at all */
    pv__dictionary *dictionary; /* [columns] */
    size_t capacity;            /* rows that the arrays hold */
} reader;

/* ---- the header -------------------------------------------------------------------------------------------------- */

/* The delimiter by the header line, quoted names not counted; 0 where the window ends before the line does. */
static char detect_delimiter(const char *text) {
    bool quoted = false, begins = true, tab = false, semicolon = false;
    for (; *text != '\0' && (quoted || *text != '\n'); text++) {
        if (quoted) {
            if (*text == '"' && text[1] == '"')
                text++;
            else
                quoted = *text != '"';
            continue;
        }
        if (*text == ',')
            return ',';
        quoted = begins && *text == '"';
        tab = tab || *text == '\t';
        semicolon = semicolon || *text == ';';
        begins = *text == '\t' || *text == ';' || (begins && *text == ' ');
    }
    if (*text == '\0')
        return 0;
    return tab ? '\t' : semicolon ? ';' : ',';
}

static pv_status check_names(reader *r, char *const *names, size_t n) {
    const char *file = r->input.name;
    double value;
    bool numbers = true;
    for (size_t c = 0; c < n; c++) {
        if (names[c][0] == '\0')
            return pv__fail_at(r->ctx, PV_ERR_INPUT, file, r->input.line, c + 1,
                               "the header has no name for column %zu; name it (from R, write with row.names = FALSE)",
                               c + 1);
        numbers = numbers && pv__number_parse(names[c], strlen(names[c]), &value);
    }
    size_t at, earlier;
    PV_TRY(pv__names_duplicate(r->ctx, names, n, &at, &earlier));
    if (at < n)
        return pv__fail_at(r->ctx, PV_ERR_INPUT, file, r->input.line, at + 1,
                           "columns %zu and %zu are both named '%s'; rename one%s", earlier + 1, at + 1,
                           pv__show(names[at]).text, numbers ? " (is the header row missing?)" : "");
    if (numbers)
        pv__log(r->ctx, PV_LOG_WARNING, "%s: all column names are numbers; is the header row missing?", file);
    return PV_OK;
}

/* The fields of the line at text as names. *next: behind the line, or NULL where the window ends too early. */
static pv_status scan_names(reader *r, const char *text, char ***names, size_t *n, const char **next) {
    size_t room = 0;
    pv__field field = {.next = text - 1};
    r->scanner.line = r->input.line;
    *next = NULL;
    do {
        r->scanner.column = *n + 1;
        PV_TRY(pv__scan_field(&r->scanner, field.next + 1, &field));
        if (!field.next)
            return PV_OK;
        if (*n == room) {
            room = room + room / 2 + 16;
            PV_TRY(pv__resize(r->ctx, room, sizeof **names, names));
        }
        PV_TRY(pv__alloc(r->ctx, field.length + 1, 1, &(*names)[*n]));
        memcpy((*names)[(*n)++], field.text, field.length);
    } while (*field.next != '\n');
    *next = field.next + 1;
    return PV_OK;
}

/* Detects the delimiter and scans the names; *next is NULL where the window ends too early. */
static pv_status header_line(reader *r, const char *text, char ***names, size_t *n, const char **next) {
    char delimiter = r->options ? r->options->delimiter : 0;
    if (!delimiter)
        delimiter = detect_delimiter(text);
    *next = NULL;
    /* At the end of the file the scanner has the message for what the detection could not see the end of. */
    pv__scanner_delimiter(&r->scanner, delimiter ? delimiter : ',');
    if (delimiter || r->input.final)
        PV_TRY(scan_names(r, text, names, n, next));
    if (!*next) {
        pv_string_list_free(r->ctx, *names, *n);
        *names = NULL;
        *n = 0;
    }
    return PV_OK;
}

/* The header is the first line that is not blank. */
static pv_status read_header(reader *r, char ***names, size_t *n) {
    pv__input *input = &r->input;
    for (;;) {
        const char *text = input->buffer + input->at, *next = NULL;
        bool blank = false;
        if (input->at == input->end) {
            if (input->final)
                return pv__fail_at(r->ctx, PV_ERR_INPUT, input->name, 0, 0,
                                   "the file is empty; a header row and rows of data are needed");
        } else if (!(blank = pv__scan_blank(&r->scanner, text, &next))) {
            PV_TRY(header_line(r, text, names, n, &next));
        }
        if (next) {
            input->at = (size_t)(next - input->buffer);
            if (!blank)
                return PV_OK;
            input->line++;
            continue;
        }
        if (input->end - input->at > (size_t)HEADER_MAX)
            return pv__fail_at(r->ctx, PV_ERR_INPUT, input->name, input->line, 0,
                               "the header is longer than 16 MiB; is this a CSV file?");
        PV_TRY(pv__input_fill(r->ctx, input));
    }
}

/* Rows to spare: SLACK cells, of which a row's line is one. */
static size_t spare_rows(size_t columns) {
    return SLACK / (columns + 1) + 1;
}

/* Rows that the file seems to have, by the part read so far. An array that is too long costs address space only. */
static size_t estimate_rows(const pv__input *input, size_t columns) {
    size_t breaks = 1;
    for (const char *at = input->buffer + input->at; (at = strchr(at, '\n')); at++)
        breaks++;
    double seen = (double)(input->end - input->at), expected = (double)input->expected;
    if (input->final || expected <= seen || seen <= 0)
        return breaks;
    double rows = 1.02 * (double)breaks * expected / seen;
    double most = expected / (2 * (double)columns); /* one digit and one delimiter a cell */
    return (size_t)fmin(rows, most) + spare_rows(columns);
}

static bool may_be_number(const pv_csv_options *options, const char *name) {
    if (options->number_prefix[0] && strncmp(name, options->number_prefix, strlen(options->number_prefix)) == 0)
        return true;
    for (size_t i = 0; i < options->n_number; i++)
        if (strcmp(options->number[i], name) == 0)
            return true;
    return false;
}

static void choose_columns(reader *r) {
    const pv_csv_options *options = r->options;
    size_t n = r->table->columns, c;
    if (!options)
        return;
    if (options->keep)
        memset(r->forced, SKIPPED, n);
    for (size_t i = 0; options->keep && i < options->n_keep; i++)
        if ((c = pv__table_lookup(r->table, options->keep[i])) < n)
            r->forced[c] = FREE;
    for (c = 0; options->number_prefix && c < n; c++)
        if (r->forced[c] == FREE && !may_be_number(options, r->table->column[c].name))
            r->forced[c] = FORCED_TEXT;
    for (size_t i = 0; i < options->n_text; i++)
        if ((c = pv__table_lookup(r->table, options->text[i])) < n && r->forced[c] == FREE)
            r->forced[c] = FORCED_TEXT;
}

static pv_status begin_table(reader *r) {
    char **names = NULL;
    size_t n = 0;
    pv_status status;
    PV_GOTO(done, read_header(r, &names, &n));
    PV_GOTO(done, check_names(r, names, n));
    PV_GOTO(done, pv__table_new(r->ctx, r->input.name, (const char *const *)names, n, 0, &r->table));
    PV_GOTO(done, pv__alloc(r->ctx, n, 1, &r->kind));
    PV_GOTO(done, pv__alloc(r->ctx, n, 1, &r->forced));
    PV_GOTO(done, pv__alloc(r->ctx, n, sizeof *r->dictionary, &r->dictionary));
    choose_columns(r);
    r->input.line = r->scanner.line + 1;
    r->capacity = estimate_rows(&r->input, n);
done:
    pv_string_list_free(r->ctx, names, n);
    return status;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static pv_status grow_rows(reader *r) {
    size_t capacity = r->capacity + r->capacity / 2 + spare_rows(r->table->columns);
    for (size_t c = 0; c < r->table->columns; c++) {
        pv_column *column = &r->table->column[c];
        if (r->kind[c] == NUMBER)
            PV_TRY(pv__resize(r->ctx, capacity, sizeof *column->number, &column->number));
        else if (r->kind[c] == TEXT)
            PV_TRY(pv__resize(r->ctx, capacity, sizeof *column->code, &column->code));
    }
    if (r->table->line)
        PV_TRY(pv__resize(r->ctx, capacity, sizeof *r->table->line, &r->table->line));
    r->capacity = capacity;
    return PV_OK;
}

/* Resizing a NULL block allocates without zeroing, which would touch every page. The rows so far were missing. */
static pv_status decide(reader *r, size_t c, unsigned char kind) {
    pv_column *column = &r->table->column[c];
    if (kind == NUMBER) {
        PV_TRY(pv__resize(r->ctx, r->capacity, sizeof *column->number, &column->number));
        for (size_t i = 0; i < r->table->rows; i++)
            column->number[i] = (double)NAN;
    } else {
        PV_TRY(pv__resize(r->ctx, r->capacity, sizeof *column->code, &column->code));
        for (size_t i = 0; i < r->table->rows; i++)
            column->code[i] = -1;
    }
    column->type = kind == NUMBER ? PV_COLUMN_NUMBER : PV_COLUMN_TEXT;
    r->kind[c] = kind;
    return PV_OK;
}

bool pv__text_missing(const char *t, size_t length) {
    switch (length) {
    case 0:
        return true;
    case 1:
        return t[0] == '.';
    case 2:
        return memcmp(t, "NA", 2) == 0;
    case 3:
        return memcmp(t, "NaN", 3) == 0 || memcmp(t, "nan", 3) == 0;
    case 4:
        return memcmp(t, "null", 4) == 0 || memcmp(t, "NULL", 4) == 0;
    default:
        return false;
    }
}

/* Fields of a row of which found end at `at`; 0 where the window ends before the row does. */
static pv_status count_fields(reader *r, const char *at, size_t found, size_t *count) {
    pv__field field = {.next = at};
    while (field.next && *field.next != '\n') {
        r->scanner.column = ++found;
        PV_TRY(pv__scan_field(&r->scanner, field.next + 1, &field));
    }
    *count = field.next ? found : 0;
    return PV_OK;
}

static pv_status ragged(reader *r, size_t found) {
    return pv__fail_at(r->ctx, PV_ERR_INPUT, r->input.name, r->input.line, 0,
                       "this row has %zu field%s, the header %zu; correct the row (text with a delimiter in it needs "
                       "double quotes)",
                       found, found == 1 ? "" : "s", r->table->columns);
}

/* A field that does not fit its column, unless the row has the wrong number of fields: then that is the cause. Where
 * the window ends too early to tell, field->next becomes NULL. */
static pv_status misfit(reader *r, size_t c, size_t line, pv__field *field) {
    pv__shown name = pv__show(r->table->column[c].name), text = pv__show_n(field->text, field->length);
    bool number = r->kind[c] == NUMBER;
    size_t found;
    PV_TRY(count_fields(r, field->next, c + 1, &found));
    field->next = NULL;
    if (found == 0)
        return PV_OK;
    if (found != r->table->columns)
        return ragged(r, found);
    if (r->options && r->options->keep) /* for a model that is made: the column's kind is settled */
        return pv__fail_at(
            r->ctx, PV_ERR_INPUT, r->input.name, line, c + 1,
            "column %zu, '%s': '%s' is %s, but the fields above are %s; correct the cell (missing ones are "
            "empty, NA, NaN, null or '.')",
            c + 1, name.text, text.text, number ? "not a number" : "a number", number ? "numbers" : "text");
    return pv__fail_at(
        r->ctx, PV_ERR_INPUT, r->input.name, line, c + 1,
        "column %zu, '%s': '%s' is %s, but the fields above are %s; correct the cell (missing ones are empty, "
        "NA, NaN, null or '.'), read the column as "
        "categories with `categorical` %s, or leave it out with `exclude` %s",
        c + 1, name.text, text.text, number ? "not a number" : "a number", number ? "numbers" : "text", name.text,
        name.text);
}

/* A scanned field into row table->rows of its column. Doing it twice, after the window ended within the row, is
 * harmless. field->next becomes NULL where the window has to be read on. */
static pv_status store(reader *r, size_t c, size_t line, pv__field *field) {
    pv_column *column = &r->table->column[c];
    size_t row = r->table->rows;
    double value;
    if (r->forced[c] == SKIPPED)
        return PV_OK;
    if (r->kind[c] == TEXT) {
        uint64_t hash;
        int32_t code = pv__dictionary_find(&r->dictionary[c], column, field->text, field->length, &hash);
        if (code < 0 && !pv__text_missing(field->text, field->length)) {
            if (!r->forced[c] && pv__number_parse(field->text, field->length, &value))
                return misfit(r, c, line, field);
            code = column->levels;
            PV_TRY(pv__dictionary_add(r->ctx, &r->dictionary[c], column, field->text, field->length, hash));
        }
        column->code[row] = code;
        return PV_OK;
    }
    if (pv__text_missing(field->text, field->length)) {
        if (r->kind[c] == NUMBER)
            column->number[row] = (double)NAN;
        return PV_OK;
    }
    bool number = !r->forced[c] && pv__number_parse(field->text, field->length, &value);
    if (r->kind[c] == UNDECIDED) {
        PV_TRY(decide(r, c, number ? NUMBER : TEXT));
        if (!number)
            return store(r, c, line, field);
    }
    if (!number)
        return misfit(r, c, line, field);
    column->number[row] = value;
    return PV_OK;
}

/* Rows start at the line of their number plus two; where they do not, every row's line is kept. */
static pv_status note_line(reader *r) {
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

/* One row at text. *next: behind it, or NULL where the window ends too early. */
static pv_status read_row(reader *r, const char *text, const char **next) {
    const pv_column *column = r->table->column;
    const size_t columns = r->table->columns, row = r->table->rows;
    const char delimiter = r->scanner.delimiter;
    *next = NULL;
    r->scanner.line = r->input.line;
    for (size_t c = 0; c < columns; c++) {
        const char *end = NULL;
        if (r->kind[c] == NUMBER && (end = pv__number_fast(text, &column[c].number[row]))) {
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

static pv_status read_rows(reader *r) {
    pv__input *input = &r->input;
    for (;;) {
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

/* Columns without a single value count as numbers, unless text was asked for; arrays shrink to what they hold. */
static pv_status finish_table(reader *r) {
    pv_table *table = r->table;
    if (table->rows == 0)
        return pv__fail_at(r->ctx, PV_ERR_INPUT, r->input.name, 0, 0,
                           "the file has a header and no rows of data; add some (lines end with a line feed)");
    for (size_t c = 0; c < table->columns; c++) {
        pv_column *column = &table->column[c];
        if (r->kind[c] == UNDECIDED)
            PV_TRY(decide(r, c, r->forced[c] == FREE ? NUMBER : TEXT));
        if (r->kind[c] == TEXT) {
            PV_TRY(pv__resize(r->ctx, table->rows, sizeof *column->code, &column->code));
            PV_TRY(pv__resize(r->ctx, (size_t)column->levels, sizeof *column->level, &column->level));
        } else {
            PV_TRY(pv__resize(r->ctx, table->rows, sizeof *column->number, &column->number));
        }
        pv__dictionary_free(r->ctx, &r->dictionary[c]);
    }
    if (table->line)
        PV_TRY(pv__resize(r->ctx, table->rows, sizeof *table->line, &table->line));
    table->hash = XXH3_64bits_digest(&r->input.hash);
    return PV_OK;
}

static pv_status check_options(pv_ctx *ctx, const pv_csv_options *options) {
    char d = options ? options->delimiter : 0;
    bool unfit = (d >= '0' && d <= '9') || ((d | 32) >= 'a' && (d | 32) <= 'z') || (d && strchr("\"\n\r .+-", d));
    if (unfit)
        return pv__fail(ctx, PV_ERR_USAGE, "'%s' cannot separate fields; use a comma, semicolon, tab or bar",
                        pv__show_n(&d, 1).text);
    return PV_OK;
}

/* A byte-order mark is no part of the first name. */
static pv_status skip_mark(reader *r) {
    PV_TRY(pv__input_fill(r->ctx, &r->input));
    if (strncmp(r->input.buffer, "\xEF\xBB\xBF", 3) == 0)
        r->input.at = 3;
    return PV_OK;
}

static pv_status read_csv(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table) {
    reader r = {.ctx = ctx, .options = options};
    r.scanner = (pv__scanner){.ctx = ctx, .input = &r.input};
    pv_status status;
    PV_GOTO(done, pv__input_open(ctx, path, &r.input));
    PV_GOTO(done, skip_mark(&r));
    PV_GOTO(done, begin_table(&r));
    PV_GOTO(done, read_rows(&r));
    PV_GOTO(done, finish_table(&r));
    *table = r.table;
    r.table = NULL;
done:
    for (size_t c = 0; r.table && r.dictionary && c < r.table->columns; c++)
        pv__dictionary_free(ctx, &r.dictionary[c]);
    pv_table_free(ctx, r.table);
    pv__free(ctx, r.dictionary);
    pv__free(ctx, r.kind);
    pv__free(ctx, r.forced);
    pv__free(ctx, r.scanner.scratch);
    pv__input_close(ctx, &r.input);
    return status;
}

pv_status pv_table_read(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table) {
    static const char builtin[] = "builtin:";
    pv__reading reading;
    *table = NULL;
    if (strncmp(path, builtin, sizeof builtin - 1) == 0)
        return pv_table_builtin(ctx, path + sizeof builtin - 1, table);
    PV_TRY(check_options(ctx, options));
    PV_TRY(pv__reading_new(ctx, options, &reading));
    pv_status status =
        (pv_archive_recognise(path) ? pv__image_table_read : read_csv)(ctx, path, &reading.options, table);
    pv__reading_free(ctx, &reading);
    return status;
}
