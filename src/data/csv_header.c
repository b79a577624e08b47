/* The header of a CSV file: its delimiter, its names, and whether there is one. */
#include <math.h>
#include <string.h>

#include "data/csv.h"
#include "base/number.h"

enum { HEADER_MAX = 16 << 20 }; /* bytes */

/* Detects the delimiter from the header line, ignoring quoted names: a comma, else a tab, a semicolon or a bar; 0 if
 * the window ends before the line does. If the comma is the decimal mark, it is tried last. */
static char detect_delimiter(const char *text, char decimal, char quote) {
    static const char marks[] = ",\t;|,";
    bool quoted = false, begins = true, seen[sizeof marks] = {false};
    for (; *text != '\0' && (quoted || *text != '\n'); text++) {
        if (quoted) {
            if (*text == quote && text[1] == quote)
                text++;
            else
                quoted = *text != quote;
            continue;
        }
        if (*text == ',' && decimal != ',')
            return ',';
        quoted = begins && *text == quote;
        const char *mark = strchr(marks, *text);
        if (mark)
            seen[mark - marks] = true;
        begins = mark || (begins && *text == ' ');
    }
    if (*text == '\0')
        return 0;
    for (size_t i = 1; marks[i + 1]; i++)
        if (seen[i])
            return marks[i];
    return ',';
}

bool pv__csv_bare(char **text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(text[i]);
        if (length < 3 || text[i][0] != '\'' || text[i][length - 1] != '\'' ||
            memchr(text[i] + 1, '\'', length - 2)) /* leaves d'accord and the like alone */
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(text[i]);
        memmove(text[i], text[i] + 1, length - 2);
        text[i][length - 2] = '\0';
    }
    return n > 0;
}

/* Recognises 0, 1, 2, ... or consecutive years: numbers that serve as names. */
static bool count_on(const char *name, size_t c, double *first) {
    double value;
    if (!pv__number_parse(name, strlen(name), &value))
        return false;
    *first = c == 0 ? value : *first;
    return value == floor(value) && value == *first + (double)c;
}

static pv_status refuse_header(pv__reader *r, const char *why) {
    return pv__fail_at(r->ctx, PV_ERR_INPUT, r->input.name, r->header, 0,
                       "the first row looks like data, not like names of columns: %s;\nadd a header, or read the file "
                       "with `no-header`, which names the columns x1, x2, ...",
                       why);
}

static pv_status check_names(pv__reader *r, char *const *names, size_t n) {
    const char *file = r->input.name;
    double value;
    bool numbers = true, counted = n > 1;
    double first = 0;
    for (size_t c = 0; c < n; c++) {
        if (names[c][0] == '\0')
            return pv__fail_at(r->ctx, PV_ERR_INPUT, file, r->input.line, c + 1,
                               "the header has no name for column %zu;\nname it (from R, write with row.names = FALSE)",
                               c + 1);
        numbers = numbers && pv__csv_number(&r->form, names[c], strlen(names[c]), &value);
        counted = counted && count_on(names[c], c, &first);
    }
    if (numbers && !counted)
        return refuse_header(r, "all its fields are numbers");
    size_t at, earlier;
    PV_TRY(pv__names_duplicate(r->ctx, names, n, &at, &earlier));
    if (at < n)
        return pv__fail_at(r->ctx, PV_ERR_INPUT, file, r->input.line, at + 1,
                           "columns %zu and %zu are both named '%s';\nrename one%s", earlier + 1, at + 1,
                           pv__show(names[at]).text,
                           pv__number_parse(names[at], strlen(names[at]), &value)
                               ? " (if the file has no header, read it with `no-header`)"
                               : "");
    if (numbers)
        pv__log(r->ctx, PV_LOG_WARNING,
                "%s: all column names are numbers; if the header row is missing, use `no-header`", file);
    return PV_OK;
}

/* Replaces the fields of the first row by x1, x2, ... */
static pv_status number_names(pv__reader *r, char **names, size_t n) {
    if (r->form.name && r->form.n_names != n)
        return pv__fail_at(r->ctx, PV_ERR_USAGE, r->input.name, r->header, 0,
                           "`names` has %zu names, and the first row %zu fields;\ngive one for each", r->form.n_names,
                           n);
    for (size_t c = 0; c < n; c++) {
        enum { SIZE = 24 };
        if (r->form.name) {
            pv__free(r->ctx, names[c]);
            names[c] = r->form.name[c];
            r->form.name[c] = NULL;
            continue;
        }
        PV_TRY(pv__resize(r->ctx, SIZE, 1, &names[c]));
        pv__format(names[c], SIZE, "x%zu", c + 1);
    }
    return PV_OK;
}

/* Scans the fields of the line at text as names. *next: the position after the line, or NULL if the window ends too
 * early. */
static pv_status scan_names(pv__reader *r, const char *text, char ***names, size_t *n, const char **next) {
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

/* Detects the delimiter and scans the names; *next is NULL if the window ends too early. */
static pv_status header_line(pv__reader *r, const char *text, char ***names, size_t *n, const char **next) {
    char likely = r->form.likely, delimiter = r->form.delimiter;
    const char *found = likely ? strchr(text, likely) : NULL;
    if (!delimiter && found && found < text + strcspn(text, "\n"))
        delimiter = likely;
    if (!delimiter)
        delimiter = detect_delimiter(text, r->form.decimal, r->form.quote);
    *next = NULL;
    /* At the end of the file, the scanner reports what detection could not finish. */
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

/* Whether the names include the one that proves there is a header where none is expected. */
static bool is_header(const pv__reader *r, char *const *names, size_t n) {
    for (size_t c = 0; r->form.column && c < n; c++)
        if (strcmp(names[c], r->form.column) == 0)
            return true;
    return false;
}

/* The header is the first line that is not blank. */
static pv_status read_header(pv__reader *r, char ***names, size_t *n) {
    pv__input *input = &r->input;
    for (;;) {
        const char *text = input->buffer + input->at, *next = NULL;
        bool blank = false;
        if (input->at == input->end) {
            if (input->final)
                return pv__fail_at(r->ctx, PV_ERR_INPUT, input->name, 0, 0,
                                   "the file is empty; a header row and rows of data are needed");
        } else if (!(blank = pv__scan_blank(&r->scanner, text, &next))) {
            r->header = input->line;
            PV_TRY(header_line(r, text, names, n, &next));
        }
        if (next && !blank)
            r->form.header = r->form.header || is_header(r, *names, *n);
        if (next && !blank && !r->form.header) /* without a header this line is also a row */
            return PV_OK;
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

pv_status pv__csv_header(pv__reader *r, char ***names, size_t *n) {
    PV_TRY(read_header(r, names, n));
    if (!r->form.header)
        return number_names(r, *names, *n);
    if (r->form.bare)
        pv__csv_bare(*names, *n);
    PV_TRY(check_names(r, *names, *n));
    r->input.line = r->scanner.line + 1;
    return PV_OK;
}

static bool has_level(const pv_column *column, const char *text) {
    for (int32_t i = 0; i < column->levels; i++)
        if (strcmp(column->level[i], text) == 0)
            return true;
    return false;
}

/* Types alone do not tell; a text column gives the header away if its name occurs among its values. */
pv_status pv__csv_check_header(pv__reader *r) {
    const pv_table *table = r->table;
    size_t texts = 0, among = 0, numbers = 0;
    double value, first = 0;
    bool counted = true;
    if (!r->form.header)
        return PV_OK;
    for (size_t c = 0; c < table->columns; c++) {
        const pv_column *column = &table->column[c];
        size_t length = strlen(column->name);
        bool like_number =
            pv__csv_number(&r->form, column->name, length, &value) || pv__date_known(column->name, length);
        if (r->forced[c] == PV__SKIPPED)
            continue;
        if (r->forced[c] == PV__FORCED_TEXT) /* requested by name, so it really is a name */
            return PV_OK;
        if (column->type == PV_COLUMN_NUMBER && !like_number)
            return PV_OK;
        counted = counted && count_on(column->name, c, &first);
        numbers += column->type == PV_COLUMN_NUMBER;
        texts += column->type == PV_COLUMN_TEXT;
        among += column->type == PV_COLUMN_TEXT && has_level(column, column->name);
    }
    bool named = texts == 0 ? counted || numbers < table->columns : among == 0 || 2 * among < texts;
    if (named)
        return PV_OK;
    return refuse_header(r, texts == 0 ? "its fields have the types of the rows below"
                            : numbers  ? "its fields have the types of the rows below, and occur among them"
                                       : "its fields occur among those of the rows below");
}
