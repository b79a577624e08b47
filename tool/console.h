/* tool/console.h: errors, notes, memory, the context of a call, progress and signals. */
#ifndef PREVAIL_TOOL_CONSOLE_H
#define PREVAIL_TOOL_CONSOLE_H

#include "prevail/diagnose.h"
#include "tool/command.h"

int cli_exit_code(pv_status status);
/* Prints the context's error as "prevail: FILE:LINE:COLUMN: message"; returns the exit code. */
int cli_fail(cli_call *call, pv_status status);
/* The same, or CLI_OK where nothing failed. */
int cli_done(cli_call *call, pv_status status);
/* The same for an error of the command's own; file may be NULL. */
int cli_error(cli_call *call, pv_status status, const char *file, const char *format, ...) PV_PRINTF(4, 5);
void cli_note(cli_call *call, const char *format, ...) PV_PRINTF(2, 3); /* a line on standard error unless --quiet */
/* Where a device was asked for that predictions of this model do not use. */
void cli_note_device(cli_call *call, const pv_classifier *classifier);
void cli_warn(cli_call *call, const char *format, ...) PV_PRINTF(2, 3); /* as the library's warnings */

/* A text of the library with its options as they are typed: `prior=normal:1` is --prior normal:1, quoted for a shell
 * where it must be. command: whose names they have; NULL: the library's. The caller frees. */
char *cli_syntax(const cli_command *command, const char *text);
/* pv_diagnose, with the options in its texts as they are typed. */
PV_MUST_USE pv_status cli_diagnosis(cli_call *call, const pv_classifier *classifier, const pv_diagnose_options *options,
                                    pv_diagnosis **diagnosis);

/* Each ends the program where there is no memory, leaving no file half written. */
void *cli_alloc(size_t count, size_t size); /* zeroed */
void *cli_resize(void *block, size_t count, size_t size);
char *cli_copy(const char *text);
_Noreturn void cli_no_memory(const char *what); /* "for JSON" */

/* Makes call->ctx with the command's --threads, its log and progress, and lets SIGINT, SIGTERM, SIGHUP and SIGXCPU
 * interrupt it. */
int cli_start(cli_call *call);
/* Before options are parsed: ranks above 0 print nothing from here on, so that an error is printed once. Returns
 * whether this process is such a rank; before it ends with an error it waits, for launchers end all processes with the
 * first. */
bool cli_silence_ranks(const cli_command *command, int argc, char **argv);
void cli_wait_for_rank_0(void);
/* The end of work that several ranks may share: whether any of them failed. Returns the exit code. */
int cli_ranks_end(cli_call *call, int code);
void cli_stop(cli_call *call); /* frees the context; signals no longer reach it */
void cli_progress_clear(cli_call *call);

/* Flushes standard output; a failure is reported and gives CLI_FAILED, else code. */
int cli_finish(cli_call *call, int code);

/* What is left in standard output is given up where writing failed, or where the work was interrupted and nobody reads.
 */
void cli_drop_unwritten(int code);

void cli_guard_streams(void);  /* terminal.c: before any file is opened */
void cli_guard_terminal(void); /* there: before anything is printed */
/* Whether a character is not to reach a terminal as it is: controls, and marks that change the order of what follows
 * or end the line. */
bool cli_unprintable(uint32_t code);

/* Names and labels in printed tables: control characters and line ends are escaped (\\n, \\x1B), so that each stays in
 * its line. */
char *cli_shown(const char *text);              /* the caller frees */
int cli_name_width(const char *name);           /* in characters, as cli_put_name prints it */
void cli_put_name(const char *name, int width); /* to standard output, spaces after it up to the width */

#endif
