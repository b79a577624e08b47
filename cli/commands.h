/* cli/commands.h: all commands. */
#ifndef PREVAIL_CLI_COMMANDS_H
#define PREVAIL_CLI_COMMANDS_H

#include "tool/command.h"

/* In the order of the overview, one per line: cli/main.c and the list of man pages (CMakeLists.txt) are generated from
 * it.
 */
#define CLI_COMMAND_LIST(X)                                                                                            \
    X(fit)                                                                                                             \
    X(predict)                                                                                                         \
    X(eval)                                                                                                            \
    X(adjust)                                                                                                          \
    X(sets)                                                                                                            \
    X(rate)                                                                                                            \
    X(size)                                                                                                            \
    X(effect)                                                                                                          \
    X(cv)                                                                                                              \
    X(sweep)                                                                                                           \
    X(summary)                                                                                                         \
    X(diagnose)                                                                                                        \
    X(export)                                                                                                          \
    X(pack)                                                                                                            \
    X(simulate)                                                                                                        \
    X(demo)

#define CLI_COMMAND_DECLARE(name) extern const cli_command cli_##name;
CLI_COMMAND_LIST(CLI_COMMAND_DECLARE)
#undef CLI_COMMAND_DECLARE

#endif
