/* Parses JSON text into a tree of values: RFC 8259, one object or array, in UTF-8; no duplicate keys in an object, no
 * U+0000, whole numbers of 64 bits, other numbers finite.
 *
 * The parser is the library's own because a lack of memory must be a clean error: jansson's parser loses characters or
 * aborts when memory runs out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/value.h"

enum { DEPTH_MAX = 2048, NUMBER_MAX = 1024 };

typedef struct parser {
    const char *at, *end;
    char *text;  /* decoded strings in use, each with a NUL; never longer than their source */
    size_t used; /* bytes of text in use */
    int depth;
    bool no_memory;
} parser;

static pv_result *value(parser *p);

static pv_result *made(parser *p, pv_result *new_value) {
    p->no_memory = p->no_memory || !new_value;
    return new_value;
}

static void skip_space(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static bool take(parser *p, char wanted) {
    skip_space(p);
    bool there = p->at < p->end && *p->at == wanted;
    p->at += there;
    return there;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static bool four_digits(parser *p, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = p->at < p->end && *p->at ? strchr(digits, *p->at) : NULL;
        if (!digit)
            return false;
        *code = *code << 4 | (uint32_t)((digit - digits) & 15);
    }
    return true;
}

static void put_utf8(parser *p, uint32_t code) {
    static const struct {
        uint32_t below;
        unsigned char lead, more;
    } forms[] = {{0x80, 0, 0}, {0x800, 0xC0, 1}, {0x10000, 0xE0, 2}, {0x110000, 0xF0, 3}};
    size_t i = 0;
    while (code >= forms[i].below)
        i++;
    p->text[p->used++] = (char)(forms[i].lead | code >> 6 * forms[i].more);
    for (int left = forms[i].more; left-- > 0;)
        p->text[p->used++] = (char)(0x80 | (code >> 6 * left & 0x3F));
}

/* Decodes what follows a backslash. */
static bool escape(parser *p) {
    static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char letter = p->at < p->end ? *p->at++ : '\0';
    const char *found = letter ? strchr(plain, letter) : NULL;
    if (found) {
        p->text[p->used++] = meant[found - plain];
        return true;
    }
    uint32_t code, low;
    if (letter != 'u' || !four_digits(p, &code))
        return false;
    if (code >= 0xD800 && code < 0xDC00) { /* the first half of a surrogate pair */
        if (p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u')
            return false;
        p->at += 2;
        if (!four_digits(p, &low) || low < 0xDC00 || low > 0xDFFF)
            return false;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        return false;
    }
    if (code == 0)
        return false;
    put_utf8(p, code);
    return true;
}

/* Decodes the text between quotes to p->text + *begin; the caller restores p->used when it is done with the string. */
static bool string(parser *p, size_t *begin) {
    *begin = p->used;
    if (!take(p, '"'))
        return false;
    while (p->at < p->end && *p->at != '"') {
        if (*p->at == '\\') {
            p->at++;
            if (!escape(p))
                return false;
            continue;
        }
        /* The text ends with a NUL, which is never a continuation byte, so nothing is read past it. */
        size_t length = (unsigned char)*p->at < 0x20 ? 0 : pv_utf8_next(p->at, NULL);
        if (length == 0 || length > (size_t)(p->end - p->at))
            return false;
        memcpy(p->text + p->used, p->at, length);
        p->used += length;
        p->at += length;
    }
    if (!take(p, '"'))
        return false;
    p->text[p->used++] = '\0';
    return true;
}

static pv_result *string_value(parser *p) {
    size_t begin;
    if (!string(p, &begin))
        return NULL;
    pv_result *text = made(p, pv__value_text_n(p->text + begin, p->used - begin - 1));
    p->used = begin;
    return text;
}

/* ---- numbers and words ------------------------------------------------------------------------------------------- */

static bool digits(parser *p) {
    const char *from = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > from;
}

static bool one_of(parser *p, const char *characters) {
    bool there = p->at < p->end && *p->at && strchr(characters, *p->at);
    p->at += there;
    return there;
}

static pv_result *number(parser *p) {
    const char *from = p->at;
    bool real = false;
    one_of(p, "-");
    if (!one_of(p, "0") && !digits(p))
        return NULL;
    if (one_of(p, ".")) {
        real = true;
        if (!digits(p))
            return NULL;
    }
    if (one_of(p, "eE")) {
        real = true;
        one_of(p, "+-");
        if (!digits(p))
            return NULL;
    }
    char text[NUMBER_MAX + 1];
    size_t length = (size_t)(p->at - from);
    if (length > NUMBER_MAX)
        return NULL;
    memcpy(text, from, length);
    text[length] = '\0';
    if (real) {
        double found;
        return pv_parse_real(text, &found) ? made(p, pv__value_real(found)) : NULL;
    }
    errno = 0;
    long long whole = strtoll(text, NULL, 10);
    return errno == 0 ? made(p, pv__value_integer(whole)) : NULL;
}

static pv_result *word(parser *p) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(p->end - p->at) >= length && memcmp(p->at, words[i], length) == 0) {
            p->at += length;
            return made(p, i == 2 ? pv__value_null() : pv__value_flag(i == 0));
        }
    }
    return NULL;
}

/* ---- arrays and objects ------------------------------------------------------------------------------------------ */

static bool item(parser *p, pv_result *list) {
    pv_result *found = value(p);
    bool set = found && pv__value_append(list, found);
    p->no_memory = p->no_memory || (found && !set);
    return set;
}

static bool member(parser *p, pv_result *object) {
    size_t key;
    if (!string(p, &key) || !take(p, ':') || pv_result_get(object, p->text + key))
        return false;
    pv_result *found = value(p);
    bool set = found && pv__value_set(object, p->text + key, found);
    p->no_memory = p->no_memory || (found && !set);
    p->used = key;
    return set;
}

/* Parses the items between an opening bracket, already consumed, and the closing one. */
static pv_result *filled(parser *p, pv_result *empty, char closing, bool (*one)(parser *, pv_result *)) {
    bool good = made(p, empty) != NULL && ++p->depth <= DEPTH_MAX;
    if (good && !take(p, closing)) {
        do
            good = one(p, empty);
        while (good && take(p, ','));
        good = good && take(p, closing);
    }
    p->depth--;
    if (good)
        return empty;
    pv_result_free(empty);
    return NULL;
}

static pv_result *value(parser *p) {
    if (take(p, '{'))
        return filled(p, pv__value_object(), '}', member);
    if (take(p, '['))
        return filled(p, pv__value_list(), ']', item);
    if (p->at == p->end)
        return NULL;
    if (*p->at == '"')
        return string_value(p);
    return *p->at == '-' || (*p->at >= '0' && *p->at <= '9') ? number(p) : word(p);
}

pv_status pv__json_parse(pv_ctx *ctx, const char *text, size_t size, pv_result **root) {
    *root = NULL;
    parser p = {.at = text, .end = text + size};
    PV_TRY(pv__alloc(ctx, size + 1, 1, &p.text));
    pv_result *found = value(&p);
    bool nested = pv__value_is(found, PV_RESULT_OBJECT) || pv__value_is(found, PV_RESULT_LIST);
    skip_space(&p);
    pv__free(ctx, p.text);
    if (nested && p.at == p.end) {
        *root = found;
        return PV_OK;
    }
    pv_result_free(found);
    return p.no_memory ? pv__fail(ctx, PV_ERR_MEMORY, "out of memory for a text of %zu bytes", size) : PV_OK;
}
