/* tool/console.h: errors, notes, memory, the context of a call, progress and signals. */
#ifndef PREVAIL_TOOL_CONSOLE_H
#define PREVAIL_TOOL_CONSOLE_H

#include "prevail/diagnose.h"
#include "tool/command.h"

int cli_exit_code(pv_status status);
/* Prints the context's error as "prevail: FILE:LINE:COLUMN: message"; returns the exit code. */
int cli_fail(cli_call *call, pv_status status);
/* The same, or CLI_OK if nothing failed. */
int cli_done(cli_call *call, pv_status status);
/* The same for an error of the command itself; file may be NULL. */
int cli_error(cli_call *call, pv_status status, const char *file, const char *format, ...) PV_PRINTF(4, 5);
void cli_note(cli_call *call, const char *format, ...)
    PV_PRINTF(2, 3); /* prints a line on standard error unless --quiet */
/* Notes that a device was requested which predictions of this model do not use. */
void cli_note_device(cli_call *call, const pv_classifier *classifier);
void cli_warn(cli_call *call, const char *format, ...) PV_PRINTF(2, 3); /* printed like the library's warnings */

/* Converts a message of the library to the command's option syntax: `prior=normal:1` becomes --prior normal:1, quoted
 * for the shell if necessary. command: whose option names to use; NULL: the library's. The caller frees. */
char *cli_syntax(const cli_command *command, const char *text);
/* pv_diagnose, with options in its texts converted by cli_syntax. */
PV_MUST_USE pv_status cli_diagnosis(cli_call *call, const pv_classifier *classifier, const pv_diagnose_options *options,
                                    pv_diagnosis **diagnosis);

/* These end the program if memory runs out, without leaving partial files. */
void *cli_alloc(size_t count, size_t size); /* memory is zeroed */
void *cli_resize(void *block, size_t count, size_t size);
char *cli_copy(const char *text);
_Noreturn void cli_no_memory(const char *what); /* "for JSON" */

/* Creates call->ctx with the command's --threads, log and progress, and makes SIGINT, SIGTERM, SIGHUP and SIGXCPU
 * interrupt it. */
int cli_start(cli_call *call);
/* Call before parsing options: ranks above 0 print nothing from here on, so that errors are printed once. Returns
 * whether this process is such a rank. Before exiting with an error such a rank waits for rank 0, because launchers end
 * all processes when one exits. */
bool cli_silence_ranks(const cli_command *command, int argc, char **argv);
void cli_wait_for_rank_0(void);
/* Ends work that several ranks may share: checks whether any of them failed. Returns the exit code. */
int cli_ranks_end(cli_call *call, int code);
void cli_stop(cli_call *call); /* frees the context and restores signals */
void cli_progress_clear(cli_call *call);

/* Flushes standard output. Returns code, or reports a write error and returns CLI_FAILED. */
int cli_finish(cli_call *call, int code);

/* Discards buffered standard output if writing failed, or if the work was interrupted and nobody reads.
 */
void cli_drop_unwritten(int code);

void cli_guard_streams(void);  /* terminal.c: call before any file is opened */
void cli_guard_terminal(void); /* terminal.c: call before anything is printed */
/* Whether a character must not be sent to a terminal unescaped: control characters, and marks that reverse text or end
 * the line. */
bool cli_unprintable(uint32_t code);

/* Names and labels for printed tables: control characters and line breaks are escaped (\\n, \\x1B), so that each stays
 * on its line. */
char *cli_shown(const char *text);              /* the caller frees */
int cli_name_width(const char *name);           /* in characters, as printed by cli_put_name */
void cli_put_name(const char *name, int width); /* prints to standard output, padded with spaces to the width */

#endif
