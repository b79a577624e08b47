/* JSON out. jansson refuses text that is no UTF-8; names and labels may be anything, so they are mended first. */
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are no UTF-8 as \xFF, so that two names stay two. The caller frees. */
static char *mend(const char *text) {
    char *mended = cli_alloc(4 * strlen(text) + 1, 1), *to = mended;
    while (*text) {
        size_t length = pv_utf8_next(text, NULL);
        if (length) {
            memcpy(to, text, length);
            to += length;
            text += length;
        } else {
            to += sprintf(to, "\\x%02X", (unsigned)(unsigned char)*text++);
        }
    }
    return mended;
}

/* Jansson writes JSON without a key that it had no memory for, and its parser may end the program by an assertion: so a
 * lack of memory ends the command before it hears of it. */
static void *json_memory(size_t size) {
    void *block = malloc(size);
    if (!block)
        cli_no_memory("for JSON");
    return block;
}

void cli_json_prepare(void) {
    json_set_alloc_funcs(json_memory, free);
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

/* The text is whole before any of it is written. A failure to write shows in the stream's error flag. */
void cli_json_write(FILE *out, const json_t *object) {
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (text)
        fputs(text, out);
    else
        cli_no_memory("for JSON");
    fputc('\n', out);
    free(text);
}

void cli_json_print(const cli_call *call, json_t *object) {
    json_t *printed = object;
    int ranks = pv_ctx_ranks(call->ctx, NULL);
    if (ranks > 1) { /* in what is printed alone: files are the same for any number */
        printed = or_die(json_copy(object));
        cli_json_set(printed, "ranks", json_integer(ranks));
        json_decref(object);
    }
    cli_json_write(stdout, printed);
    json_decref(printed);
}

json_t *cli_json_record(const pv_classifier *classifier) {
    return classifier->record ? or_die(json_loads(classifier->record, 0, NULL)) : cli_json_object();
}
