/* Option tables: set the fields of a plain struct from text, print them, suggest the nearest name. */
#include "base.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *field(const pv_option *row, void *options) {
    return (char *)options + row->offset;
}

/* The current name of a renamed option; the old one is still accepted. */
static const char *current_name(const char *name) {
    static const char *const earlier[][2] = {{"target", "outcome"}, {"source", "labelled-sample"}};
    for (size_t i = 0; i < sizeof earlier / sizeof *earlier; i++)
        if (strcmp(earlier[i][0], name) == 0)
            return earlier[i][1];
    return name;
}

const pv_option *pv_option_find(const pv_option *table, const char *name) {
    const char *current = current_name(name);
    for (const pv_option *row = table; row->name; row++)
        if (strcmp(row->name, name) == 0 || strcmp(row->name, current) == 0)
            return row;
    return NULL;
}

/* ---- nearest word ------------------------------------------------------------------------------------------------ */

enum { WORD_MAX = 64 };

/* Edit distance with transpositions (optimal string alignment), letters compared without case. */
static size_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > WORD_MAX || m > WORD_MAX)
        return SIZE_MAX; /* longer than any typing error */
    size_t before[WORD_MAX + 1], last[WORD_MAX + 1], now[WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++) {
        last[j] = j;
        before[j] = 0;
    }
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            char ca = pv__lower(a[i - 1]), cb = pv__lower(b[j - 1]);
            size_t best = last[j - 1] + (ca != cb);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && ca == pv__lower(b[j - 2]) && cb == pv__lower(a[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        memcpy(before, last, sizeof before);
        memcpy(last, now, sizeof last);
    }
    return last[m];
}

const char *pv_nearest(const char *given, const char *const *words, size_t count) {
    const char *nearest = NULL;
    size_t best = strlen(given) / 2 + 1; /* a larger distance is unlikely to be a typing error */
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(given, words[i]);
        bool begins = strlen(given) >= 3 && strncmp(words[i], given, strlen(given)) == 0;
        if (begins && distance > 1)
            distance = 1;
        bool shorter = begins && distance == best && nearest && strlen(words[i]) < strlen(nearest);
        if (distance < best || shorter) {
            best = distance;
            nearest = words[i];
        }
    }
    return nearest;
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

/* strtod also accepts hexadecimal numbers, which our file formats do not allow. */
bool pv__is_hexadecimal(const char *text) {
    text += *text == '-' || *text == '+';
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

const char *pv_parse_real(const char *text, double *value) {
    *value = 0;
    if (pv__is_hexadecimal(text))
        return NULL;
    char *end;
    *value = pv__strtod(text, &end);
    return end != text && !pv__is_space(*text) && isfinite(*value) ? end : NULL;
}

bool pv__parse_real(const char *text, double *value) {
    const char *end = pv_parse_real(text, value);
    return end && *end == '\0';
}

/* Values beyond 64 bits are clamped, which is outside of any range. */
static bool parse_int(const char *text, int64_t *value) {
    char *end;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && !pv__is_space(*text);
}

static bool parse_choice(const char *choices, const char *text, int *index) {
    size_t length = strlen(text);
    int at = 0;
    for (const char *word = choices; *word; at++) {
        size_t size = strcspn(word, "|");
        if (size == length && strncmp(word, text, size) == 0) {
            *index = at;
            return true;
        }
        word += size + (word[size] == '|');
    }
    return false;
}

static pv_status out_of_range(pv_ctx *ctx, const pv_option *row, const char *text) {
    if (row->low == -HUGE_VAL)
        return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`: must be at most %.10g", row->name, text, row->high);
    if (row->high == HUGE_VAL)
        return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`: must be at least %.10g", row->name, text, row->low);
    double value;
    bool percent = row->type == PV_OPTION_REAL && row->low >= 0 && row->high <= 1 && pv__parse_real(text, &value) &&
                   value > 1 && value / 100 >= row->low && value / 100 <= row->high;
    if (percent)
        return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`: must lie between %.10g and %.10g;\nwrite %.10g for %.10g %%",
                        row->name, text, row->low, row->high, value / 100, value);
    return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`: must lie between %.10g and %.10g", row->name, text, row->low,
                    row->high);
}

static pv_status set_field(pv_ctx *ctx, const pv_option *row, void *options, const char *text) {
    void *target = field(row, options);
    switch (row->type) {
    case PV_OPTION_FLAG:
        if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return pv__fail(ctx, PV_ERR_USAGE, "`%s` takes no value;\nwrite `%s` alone", row->name, row->name);
        *(bool *)target = !text || strcmp(text, "true") == 0;
        return PV_OK;
    case PV_OPTION_INT: {
        int64_t value;
        if (!parse_int(text, &value))
            return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`: not a whole number", row->name, text);
        if ((double)value < row->low || (double)value > row->high)
            return out_of_range(ctx, row, text);
        *(int64_t *)target = value;
        return PV_OK;
    }
    case PV_OPTION_REAL: {
        double value;
        if (!pv__parse_real(text, &value))
            return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`: not a %snumber", row->name, text,
                            pv__is_hexadecimal(text) ? "decimal " : "");
        if (value < row->low || value > row->high)
            return out_of_range(ctx, row, text);
        *(double *)target = value;
        return PV_OK;
    }
    case PV_OPTION_CHOICE:
        if (!parse_choice(row->choices, text, (int *)target))
            return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`:\nchoose one of %s", row->name, text, row->choices);
        return PV_OK;
    case PV_OPTION_EITHER: {
        int index;
        if (!parse_choice(row->choices, text, &index))
            return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`:\nchoose one of %s", row->name, text, row->choices);
        *(bool *)target = index == 1;
        return PV_OK;
    }
    case PV_OPTION_TEXT:
        *(const char **)target = text;
        return PV_OK;
    }
    return pv__fail(ctx, PV_ERR_INTERNAL, "option `%s` has no type", row->name);
}

pv_status pv_option_set(pv_ctx *ctx, const pv_option *table, void *options, const char *name, const char *text) {
    const pv_option *row = pv_option_find(table, name);
    if (!row) {
        const char *words[WORD_MAX];
        size_t count = 0;
        for (const pv_option *at = table; at->name && count < WORD_MAX; at++)
            words[count++] = at->name;
        const char *near = pv_nearest(name, words, count);
        if (near)
            return pv__fail(ctx, PV_ERR_USAGE, "unknown option `%s`;\ndid you mean `%s`?", name, near);
        return pv__fail(ctx, PV_ERR_USAGE, "unknown option `%s`; `help` lists them", name);
    }
    if (!text && row->type != PV_OPTION_FLAG)
        return pv__fail(ctx, PV_ERR_USAGE, "`%s` needs a value", name);
    return set_field(ctx, row, options, text);
}

void pv_options_default(const pv_option *table, void *options) {
    /* A default that does not parse is a defect. The unit test sets every row of every table, so no user ever sees the
     * message of this context. */
    pv_ctx unused = {.options = pv_ctx_options_default()};
    for (const pv_option *row = table; row->name; row++) {
        if (row->type == PV_OPTION_FLAG && !row->fallback)
            *(bool *)field(row, options) = false;
        else if (row->type == PV_OPTION_TEXT)
            *(const char **)field(row, options) = row->fallback;
        else if (row->fallback && set_field(&unused, row, options, row->fallback) != PV_OK)
            continue;
    }
}

static void get_choice(const char *word, int index, char *text, size_t size) {
    for (; index > 0 && *word; index--)
        word += strcspn(word, "|") + (strchr(word, '|') != NULL);
    pv__format(text, size, "%.*s", (int)strcspn(word, "|"), word);
}

/* The shortest digits that read back as the same number: 0.9, not 0.90000000000000002. */
static void get_real(double value, char *text, size_t size) {
    double again = 0;
    for (int digits = 15; digits <= 17; digits++) {
        pv__format(text, size, "%.*g", digits, value);
        if (pv__parse_real(text, &again) && !(again < value) && !(again > value))
            return;
    }
}

void pv_option_get(const pv_option *row, const void *options, char *text, size_t size) {
    const void *source = (const char *)options + row->offset;
    switch (row->type) {
    case PV_OPTION_FLAG:
        pv__format(text, size, "%s", *(const bool *)source ? "true" : "false");
        return;
    case PV_OPTION_INT:
        pv__format(text, size, "%lld", (long long)*(const int64_t *)source);
        return;
    case PV_OPTION_REAL:
        get_real(*(const double *)source, text, size);
        return;
    case PV_OPTION_CHOICE:
        get_choice(row->choices, *(const int *)source, text, size);
        return;
    case PV_OPTION_EITHER:
        get_choice(row->choices, *(const bool *)source, text, size);
        return;
    case PV_OPTION_TEXT: {
        const char *value = *(const char *const *)source;
        pv__format(text, size, "%s", value ? value : "");
        return;
    }
    }
}

/* ---- lines NAME=VALUE ------------------------------------------------------------------------------------------ */

void pv__line_end(FILE *stream, const char *text) {
    for (; *text; text++)
        fputc(*text == '\n' ? ' ' : *text, stream);
    fputc('\n', stream);
}

void pv__options_lines(FILE *stream, const pv_option *table, const void *options, const void *usual) {
    for (const pv_option *row = table; row->name; row++) {
        char own[64], other[64];
        const char *text = own;
        pv_option_get(row, options, own, sizeof own);
        pv_option_get(row, usual, other, sizeof other);
        if (row->type == PV_OPTION_TEXT) { /* may be of any length */
            memcpy(&text, (const char *)options + row->offset, sizeof text);
            text = text ? text : "";
        }
        if (strcmp(text, other) == 0)
            continue;
        if (row->type == PV_OPTION_REAL) { /* prints 0.2 as the user wrote it */
            double value;
            memcpy(&value, (const char *)options + row->offset, sizeof value);
            pv_format_double(value, own, sizeof own);
        }
        pv__print(stream, "`%s`=", row->name);
        pv__line_end(stream, text);
    }
}
