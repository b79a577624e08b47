/* prevail: finds the command and runs it. */
#include "cli/commands.h"
#include "tool/console.h"
#include "tool/files.h"
#include "tool/json.h"

#include <string.h>

const cli_command *const cli_commands[] = {
#define ENTRY(name) &cli_##name,
    CLI_COMMAND_LIST(ENTRY)
#undef ENTRY
        NULL};

const cli_command *cli_command_find(const char *name) {
    for (const cli_command *const *command = cli_commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

/* The member of a command that is several, or NULL after printing why. */
static const cli_command *find_member(const cli_command *command, const char *word) {
    enum { MEMBERS_MAX = 16 };
    const char *names[MEMBERS_MAX];
    char list[400] = "";
    size_t count = 0;
    const cli_command *found = word ? cli_member(command, word) : NULL;
    if (found)
        return found;
    for (; count < MEMBERS_MAX && command->members[count]; count++) {
        names[count] = cli_member_name(command->members[count]);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", count ? ", " : "", names[count]);
    }
    cli_call none = {0};
    if (!word || word[0] == '-')
        cli_error(&none, PV_ERR_USAGE, NULL, "%s %s; usage: prevail %s %s", command->arguments[0].name,
                  word ? "comes first" : "is missing", command->name, command->usage);
    else if (pv_nearest(word, names, count))
        cli_error(&none, PV_ERR_USAGE, NULL, "unknown %s %s; did you mean %s?", command->member, word,
                  pv_nearest(word, names, count));
    else
        cli_error(&none, PV_ERR_USAGE, NULL, "unknown %s %s; choose one of %s", command->member, word, list);
    return NULL;
}

static int unknown_command(const char *name) {
    const char *words[sizeof cli_commands / sizeof *cli_commands]; /* help in the place of the NULL */
    size_t count = 0;
    for (; cli_commands[count]; count++)
        words[count] = cli_commands[count]->name;
    words[count++] = "help";
    const char *near = pv_nearest(name, words, count);
    cli_call none = {0};
    if (near)
        return cli_error(&none, PV_ERR_USAGE, NULL, "unknown command %s; did you mean %s?", name, near);
    return cli_error(&none, PV_ERR_USAGE, NULL, "unknown command '%.60s%s'; prevail --help lists the commands", name,
                     strlen(name) > 60 ? "..." : "");
}

/* prevail help [--man] [COMMAND [NAME] [all]] */
static int run_help(int argc, char **argv) {
    cli_call none = {0};
    bool man = argc > 0 && strcmp(argv[0], "--man") == 0;
    argc -= man;
    argv += man;
    bool all = argc > 1 && strcmp(argv[argc - 1], "all") == 0;
    argc -= all;
    const cli_command *command = argc ? cli_command_find(argv[0]) : NULL;
    if (argc && !command)
        return unknown_command(argv[0]);
    int known = command && command->members ? 2 : 1;
    if (argc > known)
        return cli_error(&none, PV_ERR_USAGE, NULL,
                         "unexpected argument %s; usage: prevail help [--man] [COMMAND [all]]", argv[known]);
    if (argc > 1 && !(command = find_member(command, argv[1])))
        return CLI_BAD_INPUT;
    if (man && command)
        cli_print_man(stdout, command);
    else if (man)
        cli_print_man_overview(stdout, cli_commands);
    else if (command)
        cli_print_help(stdout, command, all ? CLI_HELP_ALL : CLI_HELP_COMMON);
    else
        cli_print_overview(stdout, cli_commands);
    return cli_finish(&none, CLI_OK);
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_command(const cli_command *command, int argc, char **argv) {
    if (command->members && argc && is_help(argv[0])) {
        cli_print_help(stdout, command, cli_wants_help(argc, argv));
        return cli_finish(&(cli_call){0}, CLI_OK);
    }
    if (command->members) {
        command = find_member(command, argc ? argv[0] : NULL);
        if (!command)
            return CLI_BAD_INPUT;
        argc--;
        argv++;
    }
    cli_call call;
    cli_help help;
    int code = cli_parse(&call, command, argc, argv, &help);
    if (code == CLI_OK && help)
        cli_print_help(stdout, command, help);
    else if (code == CLI_OK)
        code = cli_start(&call);
    if (code == CLI_OK && !help)
        code = cli_name_files(&call);
    if (code == CLI_OK && !help)
        code = command->run(&call);
    cli_progress_clear(&call);
    code = cli_ranks_end(&call, code);
    if (code == CLI_OK || code == CLI_PROBLEMS)
        code = cli_finish(&call, code);
    cli_call_clear(&call);
    return code;
}

int main(int argc, char **argv) {
    cli_guard_streams();
    cli_json_prepare();
    cli_guard_terminal();
    if (argc < 2) {
        cli_print_overview(stderr, cli_commands);
        return CLI_BAD_INPUT;
    }
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 || is_help(name))
        return run_help(argc - 2, argv + 2);
    if (strcmp(name, "--version") == 0)
        name = "version";
    const cli_command *command = cli_command_find(name);
    int code = command ? run_command(command, argc - 2, argv + 2) : unknown_command(name);
    cli_drop_unwritten(code);
    return code;
}
