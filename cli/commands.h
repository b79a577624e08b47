/* cli/commands.h: all commands; those of bench/ and studies/ are declared there. */
#ifndef PREVAIL_CLI_COMMANDS_H
#define PREVAIL_CLI_COMMANDS_H

#include "tool/command.h"

extern const cli_command cli_fit, cli_predict, cli_eval, cli_adjust, cli_cv, cli_sweep, cli_summary, cli_diagnose,
    cli_simulate, cli_demo, cli_version;
extern const cli_command *const cli_commands[];        /* main.c; ends with NULL */
const cli_command *cli_command_find(const char *name); /* NULL where there is none */

#endif
