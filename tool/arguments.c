/* Parses argv into a command's options and arguments.
 *
 * --name value, --name=value, --flag, -o FILE; options can be anywhere; after -- everything is positional. An option
 * given twice is an error. All errors are reported, followed by the corrected command if each has a single remedy.
 */
#include "tool/console.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 256 };

/* A row of one of the command's tables, with the struct it refers to. */
typedef struct found {
    const cli_group *group;
    const pv_option *row;
    size_t index; /* index over all groups */
} found;

bool cli_has(const cli_command *command, const cli_group *group, const pv_option *row) {
    for (const char *const *name = command->without; name && *name; name++)
        if (strcmp(*name, row->name) == 0)
            return false;
    for (const cli_group *earlier = command->groups; earlier < group; earlier++)
        if (pv_option_find(earlier->table, row->name))
            return false;
    return true;
}

static size_t table_length(const pv_option *table) {
    size_t length = 0;
    while (table[length].name)
        length++;
    return length;
}

static size_t option_count(const cli_command *command) {
    size_t count = 0;
    for (const cli_group *group = command->groups; group->table; group++)
        count += table_length(group->table);
    return count;
}

/* name: its first `length` bytes are used. */
static found find_option(const cli_command *command, const char *name, size_t length) {
    char whole[80];
    size_t index = 0;
    snprintf(whole, sizeof whole, "%.*s", length < sizeof whole ? (int)length : 0, name);
    for (const cli_group *group = command->groups; group->table; group++) {
        const pv_option *row = pv_option_find(group->table, whole);
        if (row && cli_has(command, group, row))
            return (found){group, row, index + (size_t)(row - group->table)};
        index += table_length(group->table);
    }
    return (found){NULL, NULL, 0};
}

const pv_option *cli_option(const cli_command *command, const char *name) {
    return find_option(command, name, strlen(name)).row;
}

bool cli_given(const cli_call *call, const char *option) {
    found at = find_option(call->command, option, strlen(option));
    return at.row && call->given[at.index];
}

const void *cli_value(const cli_call *call, const char *option) {
    found at = find_option(call->command, option, strlen(option));
    return at.row ? (const char *)call->options + at.group->offset + at.row->offset : NULL;
}

int cli_check_idle(cli_call *call, const pv_option *table, const char *when, const char *remedy) {
    return cli_check_idle_but(call, table, NULL, when, remedy);
}

int cli_check_idle_but(cli_call *call, const pv_option *table, const char *but, const char *when, const char *remedy) {
    int code = CLI_OK;
    for (const cli_group *group = call->command->groups; group->table; group++)
        for (const pv_option *row = group->table; group->table == table && row->name; row++)
            if (cli_has(call->command, group, row) && cli_given(call, row->name) &&
                !(but && strcmp(row->name, but) == 0)) {
                code =
                    cli_error(call, PV_ERR_USAGE, NULL, "--%s is for %s: leave it out, or %s", row->name, when, remedy);
                cli_leave_out(call, row->name);
            }
    return code;
}

int cli_check_use(cli_call *call, const char *option, const char *what) {
    if (!what || !cli_given(call, option))
        return CLI_OK;
    char *text = cli_syntax(call->command, what);
    int code = cli_error(call, PV_ERR_USAGE, NULL, "--%s is for %s: leave it out, or give that", option, text);
    cli_leave_out(call, option);
    free(text);
    return code;
}

const char **cli_given_of(const cli_call *call, const pv_option *table, size_t *n) {
    const char **names = cli_alloc(option_count(call->command) + 1, sizeof *names);
    *n = 0;
    for (const cli_group *group = call->command->groups; group->table; group++)
        for (const pv_option *row = group->table; group->table == table && row->name; row++)
            if (cli_has(call->command, group, row) && cli_given(call, row->name))
                names[(*n)++] = row->name;
    return names;
}

static size_t argument_count(const cli_command *command) {
    size_t count = 0;
    while (command->arguments[count].name)
        count++;
    return count;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* An option of a related command is a misunderstanding rather than a typing error. */
static bool is_a_relatives(const cli_command *command, const char *name) {
    for (const cli_command *const *other = command->family; other && *other; other++)
        if (find_option(*other, name, strlen(name)).row)
            return true;
    return false;
}

static int relatives_option(cli_call *call, const char *name) {
    for (const cli_group *group = call->command->groups; group->table; group++)
        for (const pv_option *row = group->table; row->name; row++)
            if (strncmp(row->name, name, strlen(name)) == 0 && row->name[strlen(name)] == 's' &&
                cli_has(call->command, group, row))
                return cli_error(call, PV_ERR_USAGE, NULL, "--%s is not an option of %s; it has --%s", name,
                                 call->command->name, row->name);
    return cli_error(call, PV_ERR_USAGE, NULL, "--%s is not an option of %s", name, call->command->name);
}

static const cli_hint *hinted(const cli_command *command, const char *name) {
    for (const cli_hint *hint = command->hints; hint && hint->word; hint++)
        if (strcmp(hint->word, name) == 0)
            return hint;
    return NULL;
}

/* *meant: the option that was probably meant; NULL: unknown. */
static int unknown_option(cli_call *call, const char *name, const char **meant) {
    const char *words[NAMES_MAX];
    size_t count = 0;
    *meant = NULL;
    if (is_a_relatives(call->command, name))
        return relatives_option(call, name);
    for (const cli_group *group = call->command->groups; group->table; group++)
        for (const pv_option *row = group->table; row->name && count < NAMES_MAX - 1; row++)
            if (cli_has(call->command, group, row))
                words[count++] = row->name;
    words[count++] = "help";
    const cli_hint *hint = hinted(call->command, name);
    if (hint && hint->text)
        return cli_error(call, PV_ERR_USAGE, NULL, "unknown option --%s; %s", name, hint->text);
    const char *near = hint ? hint->option : pv_nearest(name, words, count);
    *meant = !hint && near && cli_option(call->command, near) ? near : NULL; /* a hint may require another value */
    if (near)
        return cli_error(call, PV_ERR_USAGE, NULL, "unknown option --%s; did you mean --%s?", name, near);
    return cli_error(call, PV_ERR_USAGE, NULL, "unknown option --%.60s%s; %s %s --help%s lists the options", name,
                     strlen(name) > 60 ? "..." : "", cli_program_here.name, call->command->name,
                     call->command->common ? " all" : "");
}

/* "[DATA]" is optional; optional arguments come last. */
static bool is_optional(const cli_argument *argument) {
    return argument->name[0] == '[';
}

static int check_arguments(cli_call *call, size_t count) {
    const cli_argument *arguments = call->command->arguments;
    size_t expected = argument_count(call->command);
    if (count > expected)
        return cli_error(call, PV_ERR_USAGE, NULL, "unexpected argument %s; %s%susage: %s %s %s",
                         call->argument[expected], call->command->more ? call->command->more : "",
                         call->command->more ? "; " : "", cli_program_here.name, call->command->name,
                         call->command->usage);
    if (count < expected && !is_optional(&arguments[count]))
        return cli_error(call, PV_ERR_USAGE, NULL, "%s is missing; usage: %s %s %s", arguments[count].name,
                         cli_program_here.name, call->command->name, call->command->usage);
    return CLI_OK;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static bool is_plain(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    return *text && text[strspn(text, plain)] == '\0';
}

/* Appends a word to the line, quoted for the shell where needed. */
static void add_word(char **line, const char *word) {
    size_t used = strlen(*line), length = strlen(word), quotes = 0;
    for (const char *at = word; *at; at++)
        quotes += *at == '\'';
    char *grown = cli_alloc(used + length + 3 * quotes + 4, 1);
    char *to = grown + sprintf(grown, "%s ", *line);
    if (is_plain(word)) {
        memcpy(to, word, length + 1);
    } else {
        *to++ = '\'';
        for (const char *at = word; *at; at++) {
            if (*at == '\'')
                to = stpcpy(to, "'\\''");
            else
                *to++ = *at;
        }
        *to = '\'';
    }
    free(*line);
    *line = grown;
}

/* ---- corrected command ------------------------------------------------------------------------------------------- */

static void keep_word(cli_call *call, const char *option, const char *text) {
    call->word = cli_resize(call->word, call->words + 1, sizeof *call->word);
    call->word[call->words++] = (cli_word){cli_copy(text), option};
}

static void keep_option(cli_call *call, const char *option, const char *value) {
    char name[80];
    snprintf(name, sizeof name, "--%s", option);
    keep_word(call, option, name);
    if (value)
        keep_word(call, option, value);
}

/* Whether the option was already given this value. */
static bool has_value(const cli_call *call, const char *option, const char *value) {
    for (size_t i = 0; i + 1 < call->words; i++)
        if (call->word[i].option == option && call->word[i + 1].option == option && value &&
            strcmp(call->word[i + 1].text, value) == 0)
            return true;
    return false;
}

void cli_leave_out(cli_call *call, const char *option) {
    size_t kept = 0;
    for (size_t i = 0; i < call->words; i++)
        if (call->word[i].option && strcmp(call->word[i].option, option) == 0)
            free(call->word[i].text);
        else
            call->word[kept++] = call->word[i];
    call->words = kept;
    call->remedied++;
}

void cli_print_corrected(const cli_call *call) {
    if (call->refused == 0 || call->remedied != call->refused)
        return;
    char *line = cli_copy(cli_program_here.name);
    add_word(&line, call->command->name);
    for (size_t i = 0; i < call->words; i++)
        add_word(&line, call->word[i].text);
    fprintf(stderr, "%s: corrected: %s\n", cli_program_here.name, line);
    free(line);
}

/* Options that do not affect the result are left out of the record, so that equal results have bit-identical
 * records. */
bool cli_recorded(const char *name) {
    static const char *const idle[] = {"output",     "threads",          "json",   "quiet", "trace",
                                       "checkpoint", "checkpoint-every", "resume", "ranks", "memory"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (strcmp(name, idle[i]) == 0)
            return false;
    return true;
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static bool looks_like_option(const cli_command *command, const char *text) {
    return strncmp(text, "--", 2) == 0 && find_option(command, text + 2, strcspn(text + 2, "=")).row;
}

/* Handles one option at argv[*at]; *at moves past its value. */
static int take_option(cli_call *call, int argc, char **argv, int *at) {
    char *text = argv[*at];
    const char *name = strcmp(text, "-o") == 0 ? "output" : text + 2;
    if (text[1] != '-' && strcmp(text, "-o") != 0)
        return cli_error(call, PV_ERR_USAGE, NULL, "unknown option %s; options are written --name", text);
    size_t length = strcspn(name, "=");
    const char *value = name[length] ? name + length + 1 : NULL;
    found option = find_option(call->command, name, length);
    int code = CLI_OK;
    if (!option.row) {
        char *bare = cli_copy(name);
        const char *meant;
        bare[length] = '\0';
        code = unknown_option(call, bare, &meant);
        free(bare);
        option = find_option(call->command, meant ? meant : "", meant ? strlen(meant) : 0);
        if (!option.row)
            return code;
        call->remedied++;
    }
    if (!value && option.row->type != PV_OPTION_FLAG && *at + 1 < argc &&
        !looks_like_option(call->command, argv[*at + 1]))
        value = argv[++*at];
    if (call->given[option.index]) {
        code = cli_error(call, PV_ERR_USAGE, NULL, "--%s is given twice; give it once", option.row->name);
        call->remedied += has_value(call, option.row->name, value);
        return code;
    }
    call->given[option.index] = true;
    keep_option(call, option.row->name, value);
    void *options = (char *)call->options + option.group->offset;
    pv_status status = pv_option_set(call->ctx, option.group->table, options, option.row->name, value);
    if (status != PV_OK && code != CLI_OK) { /* the option was a guess, and the value contradicts it */
        call->remedied--;
        return code;
    }
    if (status != PV_OK)
        return cli_fail(call, status);
    if (cli_recorded(option.row->name)) {
        char word[80];
        snprintf(word, sizeof word, "--%s", option.row->name);
        add_word(&call->line, word);
        if (value)
            add_word(&call->line, value);
    }
    return code;
}

cli_help cli_wants_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool asked = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        if (strcmp(argv[i], "--help=all") == 0 || (asked && i + 1 < argc && strcmp(argv[i + 1], "all") == 0))
            return CLI_HELP_ALL;
        if (asked)
            return CLI_HELP_COMMON;
    }
    return CLI_HELP_NONE;
}

int cli_parse(cli_call *call, const cli_command *command, int argc, char **argv, cli_help *help) {
    *call = (cli_call){.command = command};
    *help = cli_wants_help(argc, argv);
    call->options = cli_alloc(command->options_size, 1);
    call->given = cli_alloc(option_count(command), sizeof *call->given);
    /* One entry per argument, given or not, plus entries for excess arguments, which are reported. */
    call->argument = cli_alloc(argument_count(command) + (size_t)argc + 1, sizeof *call->argument);
    size_t size = strlen(cli_program_here.name) + strlen(command->name) + 2;
    call->line = cli_alloc(size, 1);
    snprintf(call->line, size, "%s %s", cli_program_here.name, command->name);
    pv_status status = pv_ctx_new(NULL, &call->ctx);
    if (status != PV_OK)
        return cli_fail(call, status);
    for (const cli_group *group = command->groups; group->table; group++)
        pv_options_default(group->table, (char *)call->options + group->offset);
    if (*help)
        return CLI_OK;
    size_t count = 0;
    int code = CLI_OK;
    bool only_arguments = false, lost = false; /* lost: the next argument might be the value of an unknown option */
    for (int at = 0; at < argc; at++) {
        if (!only_arguments && strcmp(argv[at], "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && argv[at][0] == '-' && argv[at][1]) { /* "-" alone means standard input */
            size_t remedied = call->remedied;
            int taken = take_option(call, argc, argv, &at);
            code = code == CLI_OK ? taken : code;
            lost = lost || (taken != CLI_OK && call->remedied == remedied);
        } else {
            call->argument[count++] = argv[at];
            add_word(&call->line, argv[at]);
            keep_word(call, NULL, argv[at]);
        }
    }
    int missing = lost ? CLI_OK : check_arguments(call, count);
    return code == CLI_OK ? missing : code;
}

void cli_call_clear(cli_call *call) {
    cli_progress_clear(call);
    cli_stop(call);
    for (size_t i = 0; i < call->words; i++)
        free(call->word[i].text);
    free(call->word);
    for (size_t i = 0; i < call->warnings; i++)
        free(call->warning[i]);
    free(call->warning);
    free(call->options);
    free(call->given);
    free(call->argument);
    free(call->line);
    *call = (cli_call){0};
}
