/* --help and the man pages, generated from the commands' structs and their option tables. */
#include "tool/console.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, COLUMN = 26, PIECE = 160, PARAGRAPH = 2048 };

static const char manual_date[] =
    "2026-11-15"; /* of the manual, not of the build, so that the same source gives the same pages */

/* ---- used by both ------------------------------------------------------------------------------------------------ */

/* What follows the option's name: "P", "ig|iw|plain", nothing for a flag. */
static const char *metavar(const pv_option *row) {
    if (row->metavar)
        return row->metavar;
    switch (row->type) {
    case PV_OPTION_FLAG:
        return "";
    case PV_OPTION_INT:
        return "N";
    case PV_OPTION_REAL:
        return "X";
    case PV_OPTION_CHOICE:
    case PV_OPTION_EITHER:
        return strlen(row->choices) <= 28 ? row->choices : "NAME";
    case PV_OPTION_TEXT:
        return "TEXT";
    }
    return "";
}

static bool is_output(const pv_option *row) {
    return strcmp(row->name, "output") == 0;
}

static bool has_default(const pv_option *row) {
    return row->fallback && row->type != PV_OPTION_FLAG;
}

/* Choices too long to be the metavar are listed after the help. */
static bool lists_choices(const pv_option *row) {
    return row->choices && strcmp(metavar(row), row->choices) != 0;
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

/* Writes text in lines of at most WIDTH; the first line begins at column `at`, the others at `indent`. */
static void wrap(FILE *out, const char *text, int at, int indent) {
    bool fresh = true; /* no word on this line yet */
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        int length = (int)strcspn(text, " ");
        if (!fresh && at + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            fresh = true;
        }
        at += fprintf(out, "%s%.*s", fresh ? "" : " ", length, text);
        fresh = false;
        text += length;
    }
    fputc('\n', out);
}

void cli_wrap(FILE *out, const char *text) {
    wrap(out, text, 0, 0);
}

static void print_entry(FILE *out, const char *name, const char *text) {
    int used = fprintf(out, "  %s", name);
    if (used >= COLUMN) {
        fputc('\n', out);
        used = 0;
    }
    fprintf(out, "%*s", COLUMN - used, "");
    wrap(out, text, COLUMN, COLUMN);
}

/* The next paragraph of text, or NULL. *name is what precedes a tab in it, or NULL. Both are written to room. */
static const char *next_paragraph(const char *text, char *room, size_t size, const char **name, const char **body) {
    if (!*text)
        return NULL;
    size_t length = strcspn(text, "\n");
    snprintf(room, size, "%.*s", (int)length, text);
    char *tab = strchr(room, '\t');
    *name = tab ? room : NULL;
    *body = tab ? tab + 1 : room;
    if (tab)
        *tab = '\0';
    return text + length + (text[length] == '\n');
}

static void print_paragraphs(FILE *out, const char *text, int indent) {
    char room[PARAGRAPH];
    const char *name, *body;
    while ((text = next_paragraph(text, room, sizeof room, &name, &body))) {
        if (name) {
            print_entry(out, name, body);
        } else {
            fprintf(out, "%*s", indent, "");
            wrap(out, body, indent, indent);
        }
    }
}

/* "-o, --output FILE" */
static const char *full_name(const pv_option *row, char *name, size_t size) {
    snprintf(name, size, "%s--%s%s%s", is_output(row) ? "-o, " : "", row->name, *metavar(row) ? " " : "", metavar(row));
    return name;
}

static void print_option(FILE *out, const pv_option *row) {
    char name[PIECE], text[2048];
    full_name(row, name, sizeof name);
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", row->help, lists_choices(row) ? " One of " : "",
             lists_choices(row) ? row->choices : "", lists_choices(row) ? "." : "",
             has_default(row) ? " [default: " : "", has_default(row) ? row->fallback : "", has_default(row) ? "]" : "");
    char *typed = cli_syntax(NULL, text);
    print_entry(out, name, typed);
    free(typed);
}

/* Length in bytes of the first sentence. */
static int sentence(const char *text) {
    const char *end = strstr(text, ". "), *line = strchr(text, '\n');
    end = end ? end + 1 : text + strlen(text);
    return (int)((line && line < end ? line : end) - text);
}

static bool is_common(const cli_command *command, const char *option) {
    for (const cli_common *common = command->common; common && common->option; common++)
        if (strcmp(common->option, option) == 0)
            return true;
    return false;
}

/* The title for the options of a group that are not common ones; NULL if there are none. */
static const char *rest_title(const cli_command *command, const cli_group *group, char *room, size_t size) {
    bool shared = false, any = false;
    for (const cli_common *common = command->common; common && common->option; common++)
        shared = shared || (common->title && strcmp(common->title, group->title) == 0);
    for (const pv_option *row = group->table; row->name && !any; row++)
        any = cli_has(command, group, row) && !is_common(command, row->name);
    snprintf(room, size, "%s%s", group->title, shared ? ", continued" : "");
    return any ? room : NULL;
}

static void print_usage(FILE *out, const cli_command *command) {
    int at = fprintf(out, "usage: %s %s ", cli_program_here.name, command->name);
    wrap(out, command->usage, at, at);
    fputc('\n', out);
}

static void print_example(FILE *out, const cli_example *example) {
    fprintf(out, "  %s\n      ", example->command);
    wrap(out, example->text, 6, 6);
}

/* One screen: what the command does, the most used options on one line each, an example. */
static void print_common(FILE *out, const cli_command *command) {
    char name[PIECE], line[512], entry[1024];
    print_usage(out, command);
    snprintf(line, sizeof line, "%.*s", sentence(command->text), command->text);
    wrap(out, line, 0, 0);
    for (const cli_common *common = command->common; common->option; common++) {
        const pv_option *row = cli_option(command, common->option);
        if (common->title)
            fprintf(out, "\n%s:\n", common->title);
        const char *help = common->help ? common->help : row->help;
        snprintf(line, sizeof line, "%.*s", common->help ? (int)strlen(help) : sentence(help), help);
        char *typed = cli_syntax(NULL, line);
        snprintf(entry, sizeof entry, "%s%s%s%s", typed, has_default(row) ? " [" : "",
                 has_default(row) ? row->fallback : "", has_default(row) ? "]" : "");
        free(typed);
        print_entry(out, full_name(row, name, sizeof name), entry);
    }
    snprintf(name, sizeof name, "%s %s --help all", cli_program_here.name, command->name);
    fprintf(out, "\n%s lists all options and describes the output.\n", name);
    if (command->examples[0].command) {
        fputs("\nExample:\n", out);
        print_example(out, command->examples);
    }
}

static void print_all_options(FILE *out, const cli_command *command) {
    char title[PIECE];
    for (const cli_common *common = command->common; common && common->option; common++) {
        if (common->title)
            fprintf(out, "\n%s:\n", common->title);
        print_option(out, cli_option(command, common->option));
    }
    for (const cli_group *group = command->groups; group->table; group++) {
        if (!rest_title(command, group, title, sizeof title))
            continue;
        fprintf(out, "\n%s:\n", title);
        for (const pv_option *row = group->table; row->name; row++)
            if (cli_has(command, group, row) && !is_common(command, row->name))
                print_option(out, row);
    }
    if (command->common)
        print_entry(out, "--help [all]", "Show the most common options, or this text.");
    else if (command->groups->table)
        print_entry(out, "--help", "Show this text.");
}

void cli_print_help(FILE *out, const cli_command *command, cli_help what) {
    if (command->common && what == CLI_HELP_COMMON) {
        print_common(out, command);
        return;
    }
    print_usage(out, command);
    print_paragraphs(out, command->text, 0);
    if (command->arguments[0].name)
        fputs("\nArguments:\n", out);
    for (const cli_argument *argument = command->arguments; argument->name; argument++)
        print_entry(out, argument->name, argument->help);
    print_all_options(out, command);
    fputs("\nOutput:\n", out);
    print_paragraphs(out, command->output, 2);
    if (command->examples[0].command)
        fputs("\nExamples:\n", out);
    for (const cli_example *example = command->examples; example->command; example++)
        print_example(out, example);
}

static const char exit_codes[] = "0: done. 1: failed (memory, writing, numerical failure, interrupted). 2: wrong usage "
                                 "or bad input. 3: done, but problems were found.";

void cli_print_overview(FILE *out) {
    const cli_program *program = &cli_program_here;
    fprintf(out, "usage: %s COMMAND [arguments] [options]\n\n", program->name);
    wrap(out, program->text, 0, 0);
    fputs("\nCommands:\n", out);
    for (const cli_command *const *command = program->commands; *command; command++)
        print_entry(out, (*command)->name, (*command)->summary);
    fprintf(out, "\n%s COMMAND --help describes a command, its options and its output.\nStart with: %s\n",
            program->name, program->start);
    fputs("\nExit codes: ", out);
    wrap(out, exit_codes, 12, 12);
}

/* ---- man pages (man(7)) ------------------------------------------------------------------------------------------ */

/* Writes text inside a line of roff, with backslashes and hyphens escaped. Returns the number of bytes written. */
static int roff(FILE *out, const char *text, int length) {
    int written = 0;
    for (int i = 0; i < length; i++) {
        if (text[i] == '\\')
            written += fprintf(out, "\\e");
        else
            written += fprintf(out, "%s%c", text[i] == '-' ? "\\" : "", text[i]);
    }
    return written;
}

static void roff_word(FILE *out, const char *text) {
    roff(out, text, (int)strlen(text));
}

/* Running text: one sentence per line, long ones broken, never starting with a control character. */
static void roff_text(FILE *out, const char *text) {
    int at = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        int length = (int)strcspn(text, " ");
        if (at > 0 && at + length > WIDTH - 16) {
            fputc('\n', out);
            at = 0;
        }
        if (at > 0)
            fputc(' ', out);
        else if (*text == '.' || *text == '\'')
            fputs("\\&", out);
        at += 1 + roff(out, text, length);
        text += length;
        if (text[-1] == '.') {
            fputc('\n', out);
            at = 0;
        }
    }
    if (at > 0)
        fputc('\n', out);
}

static void roff_paragraphs(FILE *out, const char *text) {
    char room[PARAGRAPH];
    const char *name, *body;
    for (bool first = true; (text = next_paragraph(text, room, sizeof room, &name, &body)); first = false) {
        if (name) {
            fputs(".TP\n\\fB", out);
            roff_word(out, name);
            fputs("\\fR\n", out);
        } else if (!first) {
            fputs(".PP\n", out);
        }
        roff_text(out, body);
    }
}

/* "fit" gives the page prevail-fit, "" gives prevail. */
static void man_header(FILE *out, const char *name) {
    fputs(".TH ", out);
    for (const char *letter = cli_program_here.name; *letter; letter++)
        fputc(toupper((unsigned char)*letter), out);
    fputs(*name ? "-" : "", out);
    for (; *name; name++)
        fputc(toupper((unsigned char)*name), out);
    fprintf(out, " 1 %s \"prevail %s\" \"prevail manual\"\n", manual_date, PV_VERSION);
}

static void man_option(FILE *out, const pv_option *row) {
    fputs(".TP\n", out);
    fputs(is_output(row) ? "\\fB\\-o\\fR, \\fB\\-\\-" : "\\fB\\-\\-", out);
    roff_word(out, row->name);
    fputs("\\fR", out);
    if (*metavar(row)) {
        fputs(" \\fI", out);
        roff_word(out, metavar(row));
        fputs("\\fR", out);
    }
    fputc('\n', out);
    char *help = cli_syntax(NULL, row->help);
    roff_text(out, help);
    free(help);
    if (lists_choices(row)) {
        fputs("One of\n", out);
        roff_word(out, row->choices);
        fputs(".\n", out);
    }
    if (has_default(row)) {
        fputs("Default: ", out);
        roff_word(out, row->fallback);
        fputs(".\n", out);
    }
}

/* In the order of --help all: the most used options first. */
static void man_options(FILE *out, const cli_command *command) {
    char title[PIECE];
    if (command->groups->table)
        fputs(".SH OPTIONS\n", out);
    for (const cli_common *common = command->common; common && common->option; common++) {
        if (common->title)
            fprintf(out, ".SS %s\n", common->title);
        man_option(out, cli_option(command, common->option));
    }
    for (const cli_group *group = command->groups; group->table; group++) {
        if (!rest_title(command, group, title, sizeof title))
            continue;
        if (group[1].table || group > command->groups)
            fprintf(out, ".SS %s\n", title);
        for (const pv_option *row = group->table; row->name; row++)
            if (cli_has(command, group, row) && !is_common(command, row->name))
                man_option(out, row);
    }
}

void cli_print_man(FILE *out, const cli_command *command) {
    man_header(out, command->name);
    fputs(".SH NAME\n", out);
    roff_word(out, cli_program_here.name);
    fputs("\\-", out);
    roff_word(out, command->name);
    fputs(" \\- ", out);
    roff_word(out, command->summary);
    fputs("\n.SH SYNOPSIS\n\\fB", out);
    roff_word(out, cli_program_here.name);
    fprintf(out, " %s\\fR\n", command->name);
    roff_text(out, command->usage);
    fputs(".SH DESCRIPTION\n", out);
    roff_paragraphs(out, command->text);
    for (const cli_argument *argument = command->arguments; argument->name; argument++) {
        fprintf(out, ".TP\n\\fI%s\\fR\n", argument->name);
        roff_text(out, argument->help);
    }
    man_options(out, command);
    fputs(".SH OUTPUT\n", out);
    roff_paragraphs(out, command->output);
    fputs(".SH EXIT STATUS\n", out);
    roff_text(out, exit_codes);
    if (command->examples[0].command)
        fputs(".SH EXAMPLES\n", out);
    for (const cli_example *example = command->examples; example->command; example++) {
        fputs(".TP\n\\fB", out);
        roff_word(out, example->command);
        fputs("\\fR\n", out);
        roff_text(out, example->text);
    }
    fputs(".SH SEE ALSO\n.BR ", out);
    roff_word(out, cli_program_here.name);
    fputs(" (1)\n", out);
}

void cli_print_man_overview(FILE *out) {
    const cli_program *program = &cli_program_here;
    man_header(out, "");
    fputs(".SH NAME\n", out);
    roff_word(out, program->name);
    fprintf(out, " \\- %s\n.SH SYNOPSIS\n\\fB", program->summary);
    roff_word(out, program->name);
    fputs("\\fR \\fICOMMAND\\fR [arguments] [options]\n.SH DESCRIPTION\n", out);
    roff_text(out, program->text);
    fputs(".SH COMMANDS\n", out);
    for (const cli_command *const *command = program->commands; *command; command++) {
        fputs(".TP\n.BR ", out);
        roff_word(out, program->name);
        fprintf(out, "\\-%s (1)\n", (*command)->name);
        roff_text(out, (*command)->summary);
    }
    fputs(".SH EXIT STATUS\n", out);
    roff_text(out, exit_codes);
}
