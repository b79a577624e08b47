/* The original texts of number columns.
 *
 * No text is stored for a number whose shortest form is its text: 7, 0.25, -1e-30. If a source writes it differently
 * (00012, 1.50, 9007199254740993), a table that keeps spellings also stores the texts, as code and level of the column,
 * like a text column. Identifiers, labels and categories are then those of the source.
 */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "data/data.h"

enum { SPELLINGS_MAX = 1 << 16 }; /* for fractions: with more, the column is a measurement */

bool pv__wants_text(const pv_csv_options *options, const char *name) {
    if (!options)
        return false;
    if (pv__listed(options->text, options->n_text, name))
        return true;
    const char *prefix = options->number_prefix;
    return prefix && !(prefix[0] && strncmp(name, prefix, strlen(prefix)) == 0) &&
           !pv__listed(options->number, options->n_number, name);
}

bool pv__keeps_spelling(const pv_csv_options *options) {
    return !options || options->spelling;
}

const char *pv__cell_text(const pv_column *column, size_t row, char number[PV__NUMBER_TEXT]) {
    if (column->code && column->code[row] >= 0)
        return column->level[column->code[row]];
    pv_format_double(pv__cell_number(column, row), number, PV__NUMBER_TEXT);
    return number;
}

static bool is_whole(const char *text, size_t length) {
    return strspn(text + (text[0] == '-'), "0123456789") + (text[0] == '-') >= length;
}

/* Up to 15 digits without a leading zero need no formatting to check. */
static bool is_shortest(const char *text, size_t length, double value) {
    char number[PV__NUMBER_TEXT];
    size_t sign = text[0] == '-';
    if (is_whole(text, length) && length - sign <= 15 && (text[sign] != '0' || length == 1))
        return true;
    return (size_t)pv_format_double(value, number, sizeof number) == length && memcmp(text, number, length) == 0;
}

static pv_status add_text(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, const char *text, size_t length,
                          int32_t *code) {
    uint64_t hash;
    *code = pv__dictionary_find(dictionary, column, text, length, &hash);
    if (*code >= 0)
        return PV_OK;
    *code = column->levels;
    return pv__dictionary_add(ctx, dictionary, column, text, length, hash);
}

/* Starts storing texts; those of the rows above are the shortest forms. */
static pv_status begin(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, size_t rows, size_t room) {
    PV_TRY(pv__resize(ctx, room, sizeof *column->code, &column->code));
    for (size_t i = 0; i < rows; i++) {
        char number[PV__NUMBER_TEXT];
        column->code[i] = -1;
        if (isnan(column->number[i]))
            continue;
        int length = pv_format_double(column->number[i], number, sizeof number);
        PV_TRY(add_text(ctx, dictionary, column, number, (size_t)length, &column->code[i]));
    }
    return PV_OK;
}

static void lose(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column) {
    pv__dictionary_free(ctx, dictionary);
    pv__free(ctx, column->code);
    pv_string_list_free(ctx, column->level, (size_t)column->levels);
    column->code = NULL;
    column->level = NULL;
    column->levels = 0;
    column->respelled = true;
}

pv_status pv__spell(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, size_t row, size_t room,
                    const char *text, size_t length) {
    if (column->respelled || (!column->code && is_shortest(text, length, column->number[row])))
        return PV_OK;
    if (!column->code)
        PV_TRY(begin(ctx, dictionary, column, row, room));
    PV_TRY(add_text(ctx, dictionary, column, text, length, &column->code[row]));
    if (column->levels > SPELLINGS_MAX && !is_whole(text, length))
        lose(ctx, dictionary, column);
    return PV_OK;
}

pv_status pv__spell_integer(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, size_t row, size_t room,
                            bool negative, uint64_t magnitude) {
    char text[PV__NUMBER_TEXT];
    int length = pv__format(text, sizeof text, "%s%llu", negative ? "-" : "", (unsigned long long)magnitude);
    return pv__spell(ctx, dictionary, column, row, room, text, (size_t)length);
}

void pv__spelling_finish(pv_column *column, size_t rows) {
    for (size_t i = 0; column->type == PV_COLUMN_NUMBER && column->code && i < rows; i++)
        if (isnan(column->number[i]))
            column->code[i] = -1;
}
