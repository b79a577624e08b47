/* tool/files.h: the files that a command reads and writes; looked at before any work. */
#ifndef PREVAIL_TOOL_FILES_H
#define PREVAIL_TOOL_FILES_H

#include "tool/command.h"

/* Tells the library which files the arguments and options of the command name; refuses those that would be replaced and
 * those that could not be written. */
int cli_name_files(cli_call *call);
/* Makes the folder of --output where there is none. */
int cli_make_folder(cli_call *call, const char *folder);

#endif
