/* Combinations of options that a command rejects, as rows of its ordered list. */
#include "tool/command.h"
#include "tool/console.h"

#include <string.h>

/* The value of the command's argument of that name, in its place or in brackets; NULL: not given. */
static const char *argument(const cli_call *call, const char *word, size_t length) {
    const cli_argument *list = call->command->arguments;
    for (size_t i = 0; list && list[i].name; i++) {
        const char *name = list[i].name + (list[i].name[0] == '[');
        if (strncmp(name, word, length) == 0 && (name[length] == '\0' || name[length] == ']'))
            return call->argument[i];
    }
    return NULL;
}

/* Whether a condition holds; its option's name is written to name. A rule with an option that the command does not have
 * never holds, and tests/options.sh finds it. */
static bool holds(const cli_call *call, const char *word, size_t length, char *name, size_t size) {
    const char *equals = memchr(word, '=', length);
    size_t own = equals ? (size_t)(equals - word) : length;
    if (*word >= 'A' && *word <= 'Z') {
        const char *given = argument(call, word, length);
        snprintf(name, size, "%s", given ? given : "");
        return given != NULL;
    }
    snprintf(name, size, "%.*s", (int)own, word);
    if (!equals)
        return cli_given(call, name);
    char number[64];
    const char *value = number, *wanted = equals + 1;
    const pv_option *row = cli_option(call->command, name);
    const void *field = cli_value(call, name);
    if (!row || !field)
        return false;
    if (row->type == PV_OPTION_TEXT)
        memcpy(&value, field, sizeof value);
    else
        pv_option_get(row, (const char *)field - row->offset, number, sizeof number);
    size_t rest = length - own - 1;
    return value && strlen(value) == rest && memcmp(value, wanted, rest) == 0;
}

/* Whether one of the alternatives in a word, separated by |, holds. */
static bool any_holds(const cli_call *call, const char *word, size_t length, char *name, size_t size) {
    for (size_t at = 0, n; at <= length; at += n + 1) {
        const char *bar = memchr(word + at, '|', length - at);
        n = bar ? (size_t)(bar - word) - at : length - at;
        if (holds(call, word + at, n, name, size))
            return true;
    }
    return false;
}

static bool is_broken(const cli_call *call, const cli_rule *rule, char *name, size_t size) {
    char other[64] = "";
    name[0] = '\0';
    for (const char *at = rule->all; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        bool choice = memchr(at, '|', length) || !name[0];
        if (!any_holds(call, at, length, choice ? name : other, choice ? size : sizeof other))
            return false;
        at += length;
    }
    for (const char *at = rule->none ? rule->none : ""; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (any_holds(call, at, length, other, sizeof other))
            return false;
        at += length;
    }
    return true;
}

int cli_check_rules(cli_call *call) {
    char name[256];
    for (const cli_rule *rule = call->command->rules; rule && rule->text; rule++)
        if (is_broken(call, rule, name, sizeof name)) {
            const char *gap = strstr(rule->text, "%s");
            int before = gap ? (int)(gap - rule->text) : (int)strlen(rule->text);
            return cli_error(call, PV_ERR_USAGE, NULL, "%.*s%s%s", before, rule->text, gap ? name : "",
                             gap ? gap + 2 : "");
        }
    return CLI_OK;
}
