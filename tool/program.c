/* A program's main: finds the command and runs it. */
#include "tool/console.h"
#include "tool/files.h"
#include "tool/json.h"

#include <string.h>

static const cli_command *find(const char *name) {
    for (const cli_command *const *command = cli_program_here.commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

static int unknown_command(const char *name) {
    enum { WORDS_MAX = 32 };
    const char *words[WORDS_MAX];
    size_t count = 0;
    for (; count < WORDS_MAX - 1 && cli_program_here.commands[count]; count++)
        words[count] = cli_program_here.commands[count]->name;
    words[count++] = "help";
    const char *near = pv_nearest(name, words, count);
    cli_call none = {0};
    if (near)
        return cli_error(&none, PV_ERR_USAGE, NULL, "unknown command %s; did you mean %s?", name, near);
    return cli_error(&none, PV_ERR_USAGE, NULL, "unknown command '%.60s%s'; %s --help lists the commands", name,
                     strlen(name) > 60 ? "..." : "", cli_program_here.name);
}

/* prevail help [--man] [COMMAND [all]] */
static int run_help(int argc, char **argv) {
    cli_call none = {0};
    bool man = argc > 0 && strcmp(argv[0], "--man") == 0;
    argc -= man;
    argv += man;
    bool all = argc > 1 && strcmp(argv[argc - 1], "all") == 0;
    argc -= all;
    const cli_command *command = argc ? find(argv[0]) : NULL;
    if (argc && !command)
        return unknown_command(argv[0]);
    if (argc > 1)
        return cli_error(&none, PV_ERR_USAGE, NULL, "unexpected argument %s; usage: %s help [--man] [COMMAND [all]]",
                         argv[1], cli_program_here.name);
    if (man && command)
        cli_print_man(stdout, command);
    else if (man)
        cli_print_man_overview(stdout);
    else if (command)
        cli_print_help(stdout, command, all ? CLI_HELP_ALL : CLI_HELP_COMMON);
    else
        cli_print_overview(stdout);
    return cli_finish(&none, CLI_OK);
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_command(const cli_command *command, int argc, char **argv) {
    cli_call call;
    cli_help help;
    bool silent = cli_silence_ranks(command, argc, argv);
    int code = cli_parse(&call, command, argc, argv, &help);
    if (code != CLI_OK && silent)
        cli_wait_for_rank_0();
    if (code == CLI_OK && help)
        cli_print_help(stdout, command, help);
    else if (code == CLI_OK)
        code = cli_start(&call);
    if (code == CLI_OK && !help)
        code = cli_name_files(&call);
    if (code == CLI_OK && !help)
        code = cli_check_rules(&call);
    if (code == CLI_OK && !help)
        code = command->run(&call);
    if (code == CLI_BAD_INPUT)
        cli_print_corrected(&call);
    cli_progress_clear(&call);
    code = cli_ranks_end(&call, code);
    if (code == CLI_OK || code == CLI_PROBLEMS)
        code = cli_finish(&call, code);
    cli_call_clear(&call);
    return code;
}

int cli_main(int argc, char **argv) {
    cli_guard_streams();
    cli_guard_terminal();
    if (argc < 2) {
        cli_print_overview(stderr);
        return CLI_BAD_INPUT;
    }
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 || is_help(name))
        return run_help(argc - 2, argv + 2);
    if (strcmp(name, "--version") == 0)
        name = "version";
    const cli_command *command = find(name);
    int code = command ? run_command(command, argc - 2, argv + 2) : unknown_command(name);
    cli_drop_unwritten(code);
    return code;
}
