/* Values as JSON text. */
#include "base/base.h"
#include "base/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    pv_ctx *ctx;
    char *text;
    size_t used, room;
    bool compact, failed;
} writer;

static void put_n(writer *w, const char *bytes, size_t size) {
    if (!w->failed && w->room - w->used <= size) {
        size_t room = 2 * w->room + size + 256;
        w->failed = pv__resize(w->ctx, room, 1, &w->text) != PV_OK;
        w->room = w->failed ? w->room : room;
    }
    if (w->failed)
        return;
    memcpy(w->text + w->used, bytes, size);
    w->used += size;
    w->text[w->used] = '\0';
}

static void put(writer *w, const char *text) {
    put_n(w, text, strlen(text));
}

/* Bytes that are not valid UTF-8 are written as \xFF, so that distinct names stay distinct. */
static void put_text(writer *w, const char *text) {
    char code[16];
    put(w, "\"");
    while (*text) {
        unsigned char byte = (unsigned char)*text;
        size_t length = pv_utf8_next(text, NULL);
        const char *plain = byte ? strchr("\"\\\b\f\n\r\t", byte) : NULL;
        if (plain) {
            static const char meant[] = "\"\\bfnrt", from[] = "\"\\\b\f\n\r\t";
            put_n(w, (const char[]){'\\', meant[strchr(from, byte) - from]}, 2);
        } else if (byte < 0x20) {
            pv__format(code, sizeof code, "\\u%04X", byte);
            put(w, code);
        } else if (length == 0) {
            pv__format(code, sizeof code, "\\\\x%02X", byte);
            put(w, code);
        } else {
            put_n(w, text, length);
        }
        text += length ? length : 1;
    }
    put(w, "\"");
}

/* A decimal point or exponent marks a real number, as opposed to an integer. */
static void put_real(writer *w, double value) {
    char text[40];
    int length = pv_format_double(value, text, sizeof text - 2);
    if (!memchr(text, '.', (size_t)length) && !memchr(text, 'e', (size_t)length))
        memcpy(text + length, ".0", 3);
    put(w, text);
}

static void line(writer *w, int depth) {
    if (w->compact)
        return;
    put(w, "\n");
    for (int i = 0; i < depth; i++)
        put(w, "  ");
}

static void put_value(writer *w, const pv_result *value, int depth);

static void put_many(writer *w, const pv_result *value, int depth) {
    bool object = pv__value_is(value, PV_RESULT_OBJECT), first = true;
    put(w, object ? "{" : "[");
    for (size_t i = 0; i < pv_result_count(value); i++) {
        const pv_result *child = pv_result_child(value, i);
        if (pv__value_is(child, PV_RESULT_ARRAY))
            continue;
        if (!first)
            put(w, ",");
        first = false;
        line(w, depth + 1);
        if (object) {
            put_text(w, pv_result_name(value, i));
            put(w, w->compact ? ":" : ": ");
        }
        put_value(w, child, depth + 1);
    }
    if (!first)
        line(w, depth);
    put(w, object ? "}" : "]");
}

static void put_value(writer *w, const pv_result *value, int depth) {
    char text[32];
    switch (pv_result_type_of(value)) {
    case PV_RESULT_FLAG:
        put(w, pv__value_is_true(value) ? "true" : "false");
        break;
    case PV_RESULT_INTEGER:
        pv__format(text, sizeof text, "%lld", (long long)pv__value_integer_of(value));
        put(w, text);
        break;
    case PV_RESULT_REAL:
        put_real(w, pv_result_number(value));
        break;
    case PV_RESULT_TEXT:
        put_text(w, pv_result_text(value));
        break;
    case PV_RESULT_LIST:
    case PV_RESULT_OBJECT:
        put_many(w, value, depth);
        break;
    default:
        put(w, "null");
    }
}

static pv_status dump(pv_ctx *ctx, const pv_result *value, bool compact, char **text) {
    writer w = {.ctx = ctx, .compact = compact};
    *text = NULL;
    if (pv__value_whole(value))
        put_value(&w, value, 0);
    if (pv__value_whole(value) && !w.failed) {
        *text = w.text;
        return PV_OK;
    }
    pv__free(ctx, w.text);
    return pv__fail(ctx, PV_ERR_MEMORY, "out of memory for JSON");
}

pv_status pv_result_json(pv_ctx *ctx, const pv_result *value, char **text) {
    return dump(ctx, value, false, text);
}

void pv_result_text_free(pv_ctx *ctx, char *text) {
    pv__free(ctx, text);
}

static bool is_utf8(const char *text) {
    for (size_t length; *text; text += length)
        if (!(length = pv_utf8_next(text, NULL)))
            return false;
    return true;
}

static bool texts_are_utf8(const pv_result *value) {
    if (pv__value_is(value, PV_RESULT_TEXT))
        return is_utf8(pv_result_text(value));
    for (size_t i = 0; i < pv_result_count(value); i++)
        if (!texts_are_utf8(pv_result_child(value, i)) ||
            (pv_result_name(value, i) && !is_utf8(pv_result_name(value, i))))
            return false;
    return true;
}

pv_status pv__json_dump(pv_ctx *ctx, const pv_result *value, const char *message, char **text) {
    bool valid = texts_are_utf8(value);
    pv_status status = PV_ERR_INPUT;
    *text = NULL;
    if (valid)
        status = dump(ctx, value, true, text);
    return valid ? status : pv__fail(ctx, PV_ERR_INPUT, "%s", message);
}
