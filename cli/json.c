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
    if (!value) {
        fputs("prevail: out of memory\n", stderr);
        exit(CLI_FAILED);
    }
    return value;
}

void cli_json_set(json_t *object, const char *key, json_t *value) {
    char *name = mend(key);
    if (json_object_set_new(object, name, or_die(value)) != 0)
        or_die(NULL);
    free(name);
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
    json_t *object = or_die(json_object());
    for (int y = 0; y < classes; y++)
        cli_json_set(object, labels[y], cli_json_real(value[y]));
    return object;
}

json_t *cli_json_warnings(const cli_call *call) {
    json_t *list = or_die(json_array());
    for (size_t i = 0; i < call->warnings; i++)
        if (json_array_append_new(list, cli_json_text(call->warning[i])) != 0)
            or_die(NULL);
    return list;
}

/* A failure to write shows in standard output's error flag, which cli_finish reads. */
void cli_json_print(json_t *object) {
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', stdout);
    json_decref(object);
}
