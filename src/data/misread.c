/* Detects number columns that would be read as categories: numbers with a unit (5 %), a decimal comma (5,8), or
 * thousands separators (1,148,000; 1 148). A text such as 1,148 is ambiguous; the column is decided as soon as one of
 * its texts is not. */
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "data/schema_learn.h"

typedef enum reading { NO_NUMBER, PLAIN, EITHER, COMMA, THOUSANDS, READINGS } reading;

static size_t digits(const char *text) {
    return strspn(text, "0123456789");
}

/* Groups of three digits after the first group, with the same mark between them: their number, and where they end. */
static size_t groups(const char *text, char mark, const char **end) {
    size_t count = 0;
    *end = text + digits(text);
    if (digits(text) < 1 || digits(text) > 3 || text[0] == '0')
        return 0;
    while (**end == mark && digits(*end + 1) == 3) {
        *end += 4;
        count++;
    }
    return count;
}

/* Whether text ends with a fraction after the mark, and perhaps an exponent. */
static bool ends_with_fraction(const char *text, char mark) {
    double value;
    char number[64] = "0.";
    if (text[0] != mark || strlen(text) > sizeof number - 3 || (digits(text + 1) == 0 && text[1]))
        return false;
    pv__format(number, sizeof number, "0.%s", text + 1);
    return text[1] && pv__number_parse(number, strlen(number), &value);
}

static reading read_text(const char *text) {
    static const char marks[] = ",. '";
    const char *end;
    double value;
    if (pv__number_parse(text, strlen(text), &value))
        return PLAIN;
    text += text[0] == '-' || text[0] == '+';
    for (const char *mark = marks; *mark; mark++) {
        size_t count = groups(text, *mark, &end);
        if (count > 0 && ends_with_fraction(end, *mark == ',' ? '.' : ','))
            return *mark == ',' ? THOUSANDS : COMMA;
        if (count > 0 && !*end)
            return count == 1 && *mark == ',' ? EITHER : THOUSANDS;
    }
    return ends_with_fraction(text + digits(text), ',') ? COMMA : NO_NUMBER;
}

const char *pv__misread_hint(const char *text) {
    switch (read_text(text)) {
    case COMMA:
        return " (for decimal commas, `decimal=,`)";
    case EITHER:
    case THOUSANDS:
        return " (write numbers without separators of thousands; for decimal commas, `decimal=,`)";
    default:
        return "";
    }
}

/* Texts that are all numbers in a source that declares them as text: categories if they are few, or codes such as
 * 00012. */
static void check_plain(pv_ctx *ctx, const pv_table *table, size_t column, char *const *level, int32_t levels) {
    enum { FEW = 10 };
    bool codes = levels <= FEW || table->column[column].rank;
    for (int32_t i = 0; i < levels && !codes; i++)
        codes = level[i][0] == '0' && digits(level[i]) > 1;
    if (!codes)
        pv__log(ctx, PV_LOG_WARNING,
                "%s: column '%s' holds numbers as texts ('%s'), which become %d categories. Convert them to numbers "
                "or, if they are categories, name the column in `categorical=%s`",
                table->source, pv__show(table->column[column].name).text, pv__show(level[0]).text, (int)levels,
                pv__show_item(table->column[column].name).text);
}

/* The text after a number, such as %; NULL if text is not a number followed by something. */
static const char *unit(const char *text) {
    double value;
    char number[64];
    size_t length = strspn(text, "+-.0123456789");
    if (length == 0 || length >= sizeof number || !text[length])
        return NULL;
    pv__format(number, sizeof number, "%.*s", (int)length, text);
    return pv__number_parse(number, length, &value) ? text + length : NULL;
}

/* Warns if many numbers are followed by the same text. */
static void check_unit(pv_ctx *ctx, const pv_table *table, size_t column, char *const *level, int32_t levels) {
    enum { FEW = 10 };
    const char *first = levels > FEW ? unit(level[0]) : NULL;
    for (int32_t i = 1; i < levels && first; i++) {
        const char *other = unit(level[i]);
        first = other && strcmp(first, other) == 0 ? first : NULL;
    }
    if (first)
        pv__log(ctx, PV_LOG_WARNING,
                "%s: column '%s' holds numbers followed by '%s', which become %d categories. Write the numbers "
                "alone or, if they are categories, name the column in `categorical=%s`",
                table->source, pv__show(table->column[column].name).text, pv__show(first).text, (int)levels,
                pv__show_item(table->column[column].name).text);
}

pv_status pv__misread_check(pv_ctx *ctx, const pv_table *table, size_t column, char *const *level, int32_t levels) {
    const char *example[READINGS] = {NULL}, *decimal = table->written.decimal;
    for (int32_t i = 0; i < levels && !example[NO_NUMBER]; i++) {
        const char **first = &example[read_text(level[i])];
        *first = *first ? *first : level[i];
    }
    bool comma = example[COMMA], thousands = example[THOUSANDS], either = example[EITHER];
    if (!example[NO_NUMBER] && !(comma || thousands || either))
        check_plain(ctx, table, column, level, levels);
    if (example[NO_NUMBER])
        check_unit(ctx, table, column, level, levels);
    if (example[NO_NUMBER] || !(comma || thousands || either))
        return PV_OK;
    pv__shown name = pv__show(table->column[column].name), word = pv__show_item(table->column[column].name);
    bool known = decimal && (strcmp(decimal, ",") == 0 || strcmp(decimal, "comma") == 0);
    if (comma && !thousands && !known)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, column + 1,
                           "column '%s' has numbers with a decimal comma ('%s'), which would become categories.\nRead "
                           "them with `decimal=,` or, if they are categories, name the column in `categorical=%s`",
                           name.text, pv__show(example[COMMA]).text, word.text);
    if (thousands && !comma)
        return pv__fail_at(
            ctx, PV_ERR_INPUT, table->source, 0, column + 1,
            "column '%s' has numbers with separators of thousands ('%s'), which would become categories.\nWrite them "
            "without, or, if they are categories, name the column in `categorical=%s`",
            name.text, pv__show(example[THOUSANDS]).text, word.text);
    return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, column + 1,
                       "column '%s' has texts that may be numbers with a decimal comma or with separators of thousands "
                       "('%s'), which would become categories.\nRead decimal commas with `decimal=,`, write numbers "
                       "without separators of thousands or, if they are categories, name the column in "
                       "`categorical=%s`",
                       name.text,
                       pv__show(example[either  ? EITHER
                                        : comma ? COMMA
                                                : THOUSANDS])
                           .text,
                       word.text);
}
