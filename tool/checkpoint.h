/* tool/checkpoint.h: --checkpoint and --resume. */
#ifndef PREVAIL_TOOL_CHECKPOINT_H
#define PREVAIL_TOOL_CHECKPOINT_H

#include "tool/command.h"

typedef struct cli_checkpoint {
    const char *path; /* NULL: none */
    double every;
    bool resume;
} cli_checkpoint;

/* at: offset of the struct in the command's options. */
#define CLI_OPTIONS_CHECKPOINT(at)                                                                                     \
    {"checkpoint",                                                                                                     \
     PV_OPTION_TEXT,                                                                                                   \
     (at) + offsetof(cli_checkpoint, path),                                                                            \
     NULL,                                                                                                             \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     "FILE",                                                                                                           \
     "Save the state of the work in this file, at intervals and when interrupted; the file is removed when the work "  \
     "is "                                                                                                             \
     "done."},                                                                                                         \
        {"checkpoint-every",                                                                                           \
         PV_OPTION_REAL,                                                                                               \
         (at) + offsetof(cli_checkpoint, every),                                                                       \
         "60",                                                                                                         \
         0.001,                                                                                                        \
         1e9,                                                                                                          \
         NULL,                                                                                                         \
         "SECONDS",                                                                                                    \
         "Shortest time between two saves."},                                                                          \
    {                                                                                                                  \
        "resume", PV_OPTION_FLAG, (at) + offsetof(cli_checkpoint, resume), NULL, 0, 0, NULL, NULL,                     \
            "Continue from --checkpoint; the result is identical to that of an uninterrupted run. The other "          \
            "options "                                                                                                 \
            "and the data must be the same. If the file does not exist, the work starts from the beginning."           \
    }

extern const pv_option cli_checkpoint_table[];

/* Opens the checkpoint if the options ask for one. */
int cli_checkpoint_start(cli_call *call, const cli_checkpoint *options);
/* code: exit code of the work. If the work is done (CLI_OK, CLI_PROBLEMS), removes the file. Otherwise keeps it and, if
 * it was written because of an interruption, prints how to continue. Returns the exit code. */
int cli_checkpoint_end(cli_call *call, const cli_checkpoint *options, int code);

#endif
