/* tool/files.h: the files that a command reads and writes, checked before any work. */
#ifndef PREVAIL_TOOL_FILES_H
#define PREVAIL_TOOL_FILES_H

#include "tool/command.h"

/* Registers the files named by the command's arguments and options. Rejects outputs that would replace inputs or cannot
 * be written. */
int cli_name_files(cli_call *call);
/* Creates the folder of --output if it does not exist. */
int cli_make_folder(cli_call *call, const char *folder);

#endif
