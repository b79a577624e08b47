/* References to options in messages: `name` or `name=value` in backquotes, which each front end prints in its own
 * syntax. */
#include <string.h>

#include "base/base.h"

/* Pointer past the closing backquote of a value; NULL if there is none. */
static const char *value_end(const char *at) {
    while (*at && (*at != '`' || at[1] == '`'))
        at += *at == '`' ? 2 : 1;
    return *at ? at + 1 : NULL;
}

static bool read_at(const char *tick, pv_text_reference *found) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz", more[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const char *name = tick + 1, *after = name + strspn(name, more);
    size_t length = (size_t)(after - name);
    if (length == 0 || length >= sizeof found->name || !strchr(letters, *name) || (*after != '`' && *after != '='))
        return false;
    const char *end = *after == '=' ? value_end(after + 1) : after + 1;
    if (!end)
        return false;
    *found = (pv_text_reference){.begin = tick, .end = end};
    memcpy(found->name, name, length);
    if (*after == '=') {
        found->value = after + 1;
        found->length = (size_t)(end - 1 - found->value);
    }
    return true;
}

bool pv_text_option(const char *text, pv_text_reference *found) {
    for (const char *tick = strchr(text, '`'); tick; tick = strchr(tick + 1, '`'))
        if (read_at(tick, found))
            return true;
    return false;
}

void pv_text_option_value(const pv_text_reference *reference, char *value, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < reference->length && used + 1 < size; i++) {
        value[used++] = reference->value[i];
        i += reference->value[i] == '`';
    }
    if (size > 0)
        value[used] = '\0';
}
