/* Converts options in the library's messages to the command's syntax: --name value. */
#include "prevail/prevail.h"
#include "tool/console.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a shell takes it as one word without quotes. */
static bool is_word(const char *value) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.:/@%,=";
    bool number = *value == '-' && value[1] >= '0' && value[1] <= '9';
    return *value && (*value != '-' || number) && value[strspn(value, plain)] == '\0';
}

static void put_value(FILE *out, const char *value) {
    if (is_word(value)) {
        fputs(value, out);
        return;
    }
    fputc('\'', out);
    for (; *value; value++)
        fputs(*value == '\'' ? "'\\''" : (const char[]){*value, '\0'}, out);
    fputc('\'', out);
}

/* The command's name for an option. */
static const char *option_name(const cli_command *command, const char *name) {
    for (const cli_hint *hint = command ? command->renamed : NULL; hint && hint->word; hint++)
        if (strcmp(hint->word, name) == 0)
            return hint->option;
    return name;
}

char *cli_syntax(const cli_command *command, const char *text) {
    char *typed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&typed, &size);
    if (!out)
        cli_no_memory("for a message");
    pv_text_reference option;
    for (; pv_text_option(text, &option); text = option.end) {
        fwrite(text, 1, (size_t)(option.begin - text), out);
        fprintf(out, "--%s", option_name(command, option.name));
        if (option.value) {
            char *value = cli_alloc(option.length + 1, 1);
            pv_text_option_value(&option, value, option.length + 1);
            fputc(' ', out);
            put_value(out, value);
            free(value);
        }
    }
    fputs(text, out);
    if (fclose(out) != 0)
        cli_no_memory("for a message");
    return typed;
}
