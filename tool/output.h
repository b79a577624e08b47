/* tool/output.h: where commands may write; looked at before any work. */
#ifndef PREVAIL_TOOL_OUTPUT_H
#define PREVAIL_TOOL_OUTPUT_H

#include "tool/command.h"

/* Refuses, before any work, a path that could not be written in the end, or that is one of the inputs (any number of
 * them; NULL: none such). A path of NULL or "-" is fine: standard output. */
#define cli_check_output(call, path, ...)                                                                              \
    cli_check_output_of(call, path, (const char *const[]){__VA_ARGS__},                                                \
                        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
int cli_check_output_of(cli_call *call, const char *path, const char *const *inputs, size_t count);
/* Refuses one name for two outputs; NULL and "-" are fine. */
int cli_check_two_outputs(cli_call *call, const char *one, const char *other);
bool cli_is_in(const char *path, const char *folder); /* a file there, or one that would be */
/* Makes the folder of --output where there is none. */
int cli_make_folder(cli_call *call, const char *folder);

#endif
