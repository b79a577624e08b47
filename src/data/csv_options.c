/* Options that describe the format of a CSV file: parsing their texts. */
#include <math.h>
#include <string.h>

#include "data/csv.h"
#include "base/number.h"

#define AT(field) offsetof(pv_csv_options, field)

const pv_option pv_csv_option_table[] = {
    {"separator", PV_OPTION_TEXT, AT(separator), "auto", 0, 0, NULL, "CHAR",
     "Field separator of CSV files: a character, or tab. auto: a comma, or whichever of tab, semicolon and bar occurs "
     "in the header."},
    {"decimal", PV_OPTION_TEXT, AT(decimal), "auto", 0, 0, NULL, ".|,",
     "Decimal mark of numbers in CSV files. auto: a point. (predict and eval use the decimal mark given to fit, unless "
     "you state another.)"},
    {"no-header", PV_OPTION_FLAG, AT(no_header), NULL, 0, 0, NULL, NULL,
     "CSV files have no header row; the columns are x1, x2, ..., or those of `names`."},
    {"names", PV_OPTION_TEXT, AT(names), NULL, 0, 0, NULL, "NAMES",
     "Column names of CSV files without a header row, comma-separated, as in age,smoker,cancer."},
    {"quote", PV_OPTION_TEXT, AT(quote), "auto", 0, 0, NULL, "double|single|none",
     "Quotes around texts of CSV files: double, single, or none (quotes are part of the text). auto: double; single "
     "quotes around every text of a column are removed."},
    {"na", PV_OPTION_TEXT, AT(na), "auto", 0, 0, NULL, "TEXTS",
     "Texts that mean missing, comma-separated, as in \"?,NA,-9\"; empty cells always do. auto: NA, N/A, NaN, null, a "
     "full stop, and a question mark (with a warning)."},
    {0}};

const pv_csv_options *pv_csv_options_of(const pv_settings *settings) {
    return pv_settings_values(settings, pv_csv_option_table);
}

/* The option was not given. */
static bool is_usual(const char *text) {
    return !text || strcmp(text, "auto") == 0;
}

static pv_status parse_separator(pv_ctx *ctx, const char *text, char *delimiter) {
    static const struct {
        const char *word;
        char mark;
    } words[] = {{"auto", 0},        {"comma", ','}, {"tab", '\t'}, {"\\t", '\t'},
                 {"semicolon", ';'}, {"bar", '|'},   {"pipe", '|'}};
    *delimiter = 0;
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].word) == 0) {
            *delimiter = words[i].mark;
            return PV_OK;
        }
    if (!text)
        return PV_OK;
    char d = text[0];
    bool unfit = (d >= '0' && d <= '9') || ((d | 32) >= 'a' && (d | 32) <= 'z') || (d & 0x80) ||
                 (d && strchr("\"\n\r .+-", d)) || strlen(text) != 1;
    if (unfit)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`separator`: '%s' cannot separate fields;\nuse a comma, semicolon, tab or bar",
                        pv__show(text).text);
    *delimiter = d;
    return PV_OK;
}

static pv_status parse_decimal(pv_ctx *ctx, const char *text, char *decimal) {
    *decimal = '.';
    if (is_usual(text) || strcmp(text, ".") == 0 || strcmp(text, "point") == 0)
        return PV_OK;
    *decimal = ',';
    if (strcmp(text, ",") == 0 || strcmp(text, "comma") == 0)
        return PV_OK;
    return pv__fail(ctx, PV_ERR_USAGE, "`decimal`: '%s' is not a decimal mark;\nuse . or ,", pv__show(text).text);
}

static pv_status parse_quote(pv_ctx *ctx, const char *text, pv__csv_form *form) {
    static const struct {
        const char *word;
        char mark;
    } words[] = {{"double", '"'}, {"\"", '"'}, {"single", '\''}, {"'", '\''}, {"none", 0}};
    form->quote = '"';
    form->bare = is_usual(text);
    for (size_t i = 0; !form->bare && i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].word) == 0) {
            form->quote = words[i].mark;
            return PV_OK;
        }
    return form->bare ? PV_OK
                      : pv__fail(ctx, PV_ERR_USAGE, "`quote`: '%s' is not a quote;\nuse double, single or none",
                                 pv__show(text).text);
}

pv_status pv__csv_form_parse(pv_ctx *ctx, const pv_csv_options *options, pv__csv_form *form) {
    static const pv_csv_options none = {0};
    static const pv_written usual = {0};
    options = options ? options : &none;
    const pv_written *kept = options->schema ? &options->schema->written : &usual;
    const char *na = is_usual(options->na) ? kept->na : options->na;
    *form = (pv__csv_form){.header = !options->no_header && !options->names, .usual = !na};
    PV_TRY(parse_quote(ctx, is_usual(options->quote) ? kept->quote : options->quote, form));
    PV_TRY(parse_separator(ctx, options->separator, &form->delimiter));
    if (!form->delimiter)
        PV_TRY(parse_separator(ctx, kept->separator, &form->likely));
    PV_TRY(parse_decimal(ctx, is_usual(options->decimal) ? kept->decimal : options->decimal, &form->decimal));
    if (form->header && kept->no_header) {
        form->header = false;
        form->column = pv_schema_column(options->schema, 0, NULL);
    }
    const char *names = options->names ? options->names : form->header ? NULL : kept->names;
    if (names)
        PV_TRY(pv__names_split(ctx, "`names`", names, &form->name, &form->n_names));
    if (names && form->n_names < pv__names_entries(names))
        return pv__fail(ctx, PV_ERR_USAGE, "`names`: '%s' has a name twice;\ngive each column one of its own",
                        pv__show(names).text);
    if (form->usual)
        return PV_OK;
    PV_TRY(pv__names_split(ctx, "`na`", na, &form->na, &form->n_na));
    PV_TRY(pv__alloc(ctx, form->n_na, sizeof *form->number, &form->number));
    for (size_t i = 0; i < form->n_na; i++)
        if (!pv__csv_number(form, form->na[i], strlen(form->na[i]), &form->number[i]))
            form->number[i] = (double)NAN;
    return PV_OK;
}

/* ---- options stored with a table and its schema ------------------------------------------------------------------ */

static pv_status keep_text(pv_ctx *ctx, const char *text, char **to) {
    return is_usual(text) ? PV_OK : pv__strdup(ctx, text, to);
}

pv_status pv__written_of(pv_ctx *ctx, const pv_csv_options *options, pv_written *written) {
    PV_TRY(keep_text(ctx, options->separator, &written->separator));
    PV_TRY(keep_text(ctx, options->decimal, &written->decimal));
    PV_TRY(keep_text(ctx, options->na, &written->na));
    PV_TRY(keep_text(ctx, options->names, &written->names));
    PV_TRY(keep_text(ctx, options->quote, &written->quote));
    written->no_header = options->no_header || options->names;
    return PV_OK;
}

pv_status pv__written_copy(pv_ctx *ctx, const pv_written *from, pv_written *to) {
    const pv_csv_options as = {.separator = from->separator,
                               .decimal = from->decimal,
                               .na = from->na,
                               .names = from->names,
                               .quote = from->quote,
                               .no_header = from->no_header};
    return pv__written_of(ctx, &as, to);
}

void pv__written_free(pv_ctx *ctx, pv_written *written) {
    pv__free(ctx, written->separator);
    pv__free(ctx, written->decimal);
    pv__free(ctx, written->na);
    pv__free(ctx, written->names);
    pv__free(ctx, written->quote);
    *written = (pv_written){0};
}

void pv__csv_form_free(pv_ctx *ctx, pv__csv_form *form) {
    pv_string_list_free(ctx, form->na, form->n_na);
    pv_string_list_free(ctx, form->name, form->n_names);
    pv__free(ctx, form->number);
    *form = (pv__csv_form){0};
}

bool pv__csv_number(const pv__csv_form *form, const char *text, size_t length, double *value) {
    enum { LONGEST = 400 }; /* more digits than affect any double */
    char pointed[LONGEST + 1];
    if (form->decimal == '.')
        return pv__number_parse(text, length, value);
    if (length > LONGEST || memchr(text, '.', length)) /* a point would be a thousands separator */
        return false;
    memcpy(pointed, text, length);
    pointed[length] = '\0';
    char *comma = memchr(pointed, ',', length);
    if (comma)
        *comma = '.';
    return pv__number_parse(pointed, length, value);
}
