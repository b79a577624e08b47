/* JSON out. Jansson reports a lack of memory as it reports bad text: here the two are told apart. */
#include "base/json.h"

#include <string.h>

json_t *pv__json_text(const char *text) {
    return json_stringn_nocheck(text, strlen(text));
}

static bool is_utf8(const char *text) {
    for (size_t length; *text; text += length)
        if (!(length = pv_utf8_next(text, NULL)))
            return false;
    return true;
}

/* Keys are names of ours. */
static bool texts_are_utf8(json_t *value) {
    if (json_is_string(value))
        return is_utf8(json_string_value(value));
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!texts_are_utf8(json_array_get(value, i)))
            return false;
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at))
        if (!texts_are_utf8(json_object_iter_value(at)))
            return false;
    return true;
}

/* Text that grows. Jansson goes on where a key could not be written, so the failure is remembered here. */
typedef struct growing {
    pv_ctx *ctx;
    char *text;
    size_t used, room;
    pv_status status;
} growing;

static int append(const char *bytes, size_t size, void *state) {
    growing *g = state;
    if (g->status == PV_OK && g->room - g->used <= size) {
        size_t room = 2 * g->room + size + 64;
        g->status = pv__resize(g->ctx, room, 1, &g->text);
        g->room = g->status == PV_OK ? room : g->room;
    }
    if (g->status != PV_OK)
        return -1;
    memcpy(g->text + g->used, bytes, size);
    g->used += size;
    g->text[g->used] = '\0';
    return 0;
}

pv_status pv__json_dump(pv_ctx *ctx, json_t *object, const char *message, char **text) {
    *text = NULL;
    growing g = {.ctx = ctx};
    bool valid = texts_are_utf8(object);
    locale_t before = pv__locale_enter();
    bool whole = object && valid && json_dump_callback(object, append, &g, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0;
    pv__locale_leave(before);
    json_decref(object);
    if (whole && g.status == PV_OK) {
        *text = g.text;
        return PV_OK;
    }
    pv__free(ctx, g.text);
    return valid ? pv__fail(ctx, PV_ERR_MEMORY, "out of memory for the model's record")
                 : pv__fail(ctx, PV_ERR_INPUT, "%s", message);
}
