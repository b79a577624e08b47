/* JSON out. jansson refuses text that is no UTF-8; names and labels may be anything, so they are mended first. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The caller frees. */
static char *mend(const char *text) {
    char *mended = cli_alloc(3 * strlen(text) + 1, 1), *to = mended;
    while (*text) {
        size_t length = pv_utf8_next(text, NULL);
        if (length) {
            memcpy(to, text, length);
            to += length;
            text += length;
        } else {
            to = stpcpy(to, "\xEF\xBF\xBD");
            text++;
        }
    }
    return mended;
}

static json_t *or_die(json_t *value) {
    if (!value)
        cli_no_memory("for JSON");
    return value;
}

json_t *cli_json_object(void) {
    return or_die(json_object());
}

json_t *cli_json_array(void) {
    return or_die(json_array());
}

void cli_json_set(json_t *object, const char *key, json_t *value) {
    char *name = mend(key);
    if (json_object_set_new(object, name, or_die(value)) != 0)
        or_die(NULL);
    free(name);
}

void cli_json_append(json_t *array, json_t *value) {
    if (json_array_append_new(array, or_die(value)) != 0)
        or_die(NULL);
}

json_t *cli_json_text(const char *text) {
    char *mended = mend(text);
    json_t *value = or_die(json_string(mended));
    free(mended);
    return value;
}

json_t *cli_json_real(double value) {
    return or_die(isfinite(value) ? json_real(value) : json_null());
}

json_t *cli_json_by_label(char *const *labels, int classes, const double *value) {
    json_t *object = cli_json_object();
    for (int y = 0; y < classes; y++)
        cli_json_set(object, labels[y], cli_json_real(value[y]));
    return object;
}

json_t *cli_json_warnings(const cli_call *call) {
    json_t *list = cli_json_array();
    for (size_t i = 0; i < call->warnings; i++)
        cli_json_append(list, cli_json_text(call->warning[i]));
    return list;
}

typedef struct growing {
    char *text;
    size_t used, room;
} growing;

static int append(const char *bytes, size_t size, void *state) {
    growing *g = state;
    if (g->room - g->used <= size) {
        g->room = 2 * g->room + size + 64;
        g->text = cli_resize(g->text, g->room, 1);
    }
    memcpy(g->text + g->used, bytes, size);
    g->used += size;
    g->text[g->used] = '\0';
    return 0;
}

/* Into memory of our own: jansson's json_dumps goes on where there is none for a key. */
char *cli_json_dump(const json_t *object, bool indented) {
    growing g = {0};
    if (json_dump_callback(object, append, &g, (indented ? JSON_INDENT(2) : JSON_COMPACT) | JSON_REAL_PRECISION(17)) !=
        0)
        cli_no_memory("for JSON");
    return g.text;
}

/* The text is whole before any of it is written. A failure to write shows in the stream's error flag. */
void cli_json_write(FILE *out, const json_t *object) {
    char *text = cli_json_dump(object, true);
    fputs(text, out);
    fputc('\n', out);
    free(text);
}

void cli_json_print(json_t *object) {
    cli_json_write(stdout, object);
    json_decref(object);
}

/* Read twice: where memory fails, jansson's parser may lose a character and go on. */
json_t *cli_json_record(const pv_classifier *classifier) {
    if (!classifier->record)
        return cli_json_object();
    json_t *record = or_die(json_loads(classifier->record, 0, NULL));
    json_t *again = or_die(json_loads(classifier->record, 0, NULL));
    if (!json_equal(record, again))
        or_die(NULL);
    json_decref(again);
    return record;
}
