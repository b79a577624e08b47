/* lab/lab.h: the commands of prevail-lab: studies and benchmarks. */
#ifndef PREVAIL_LAB_LAB_H
#define PREVAIL_LAB_LAB_H

#include "tool/command.h"

/* In the order of the overview, one per line: lab/main.c and the list of man pages (CMakeLists.txt) are generated from
 * it.
 */
#define LAB_COMMAND_LIST(X)                                                                                            \
    X(contingency)                                                                                                     \
    X(coverage)                                                                                                        \
    X(calibration)                                                                                                     \
    X(bias)                                                                                                            \
    X(nodules)                                                                                                         \
    X(ratings)                                                                                                         \
    X(robust)                                                                                                          \
    X(unknown)                                                                                                         \
    X(designs)                                                                                                         \
    X(effect)                                                                                                          \
    X(rate)                                                                                                            \
    X(size)                                                                                                            \
    X(sets)                                                                                                            \
    X(labels)                                                                                                          \
    X(bench)

#define LAB_COMMAND_DECLARE(name) extern const cli_command lab_##name;
LAB_COMMAND_LIST(LAB_COMMAND_DECLARE)
#undef LAB_COMMAND_DECLARE
extern const cli_command *const lab_commands[]; /* ends with NULL */

#endif
