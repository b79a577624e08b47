/* tool/command.h: a command is one const struct, from which parsing, --help and the man page are generated, together
 * with the option tables that it lists.
 */
#ifndef PREVAIL_TOOL_COMMAND_H
#define PREVAIL_TOOL_COMMAND_H

#include <stdio.h>

#include "prevail/base.h"

typedef struct cli_call cli_call;

typedef struct cli_argument {
    const char *name; /* "DATA"; "[DATA]": optional */
    const char *help;
} cli_argument; /* a list ends with a NULL name */

/* An option table, and the offset of its struct in the command's options. */
typedef struct cli_group {
    const char *title;
    const pv_option *table;
    size_t offset;
} cli_group; /* a list ends with a NULL table */

typedef struct cli_example {
    const char *command;
    const char *text;
} cli_example; /* a list ends with a NULL command */

/* A word that people may try instead of an option's name. */
typedef struct cli_hint {
    const char *word, *option;
    const char *text; /* what to do, if a name is not enough; NULL: the option does what they want */
} cli_hint;           /* a list ends with a NULL word */

/* One of the most used options, grouped by purpose. */
typedef struct cli_common {
    const char *title;  /* title of the group that begins here; NULL: same group as before */
    const char *option; /* its name */
    const char *help;   /* one line; NULL: the first sentence of the option's help */
} cli_common;           /* a list ends with a NULL option */

/* A combination of options that is rejected: every condition of `all` holds and none of `none`. Conditions are
 * separated by spaces: NAME, the option was given; NAME=VALUE, it has that value, given or not; A|B, either. %s in the
 * text: the option of the first condition with alternatives, or of the first, that holds; of an argument its value. */
typedef struct cli_rule {
    const char *all, *none; /* none NULL: nothing */
    const char *text;
} cli_rule; /* a list ends with a NULL text */

typedef struct cli_command cli_command;
struct cli_command {
    const char *name;    /* "fit" */
    const char *summary; /* one line, no full stop */
    const char *usage;   /* what follows the names of program and command */
    const char *more;    /* the command that takes more arguments, for a message; NULL: none */
    const char *text;    /* paragraphs, separated by \n; NAME\tTEXT is a list entry */
    const cli_argument *arguments;
    const cli_group *groups; /* if two groups have an option, the first counts */
    const char *const
        *without;             /* options of the groups that the command does not have, up to a NULL; NULL: it has all */
    const cli_common *common; /* shown by --help and at the start of the manual; NULL: all options */
    const cli_hint *hints;    /* NULL: none */
    const cli_hint *renamed;  /* options whose name differs from the one in the library's messages; NULL: none */
    size_t options_size;
    const char *output; /* what the command writes, including columns; paragraphs as in text */
    const cli_example *examples;
    const cli_rule *rules;      /* in order, checked before the work; NULL: none */
    int (*run)(cli_call *call); /* returns the exit code */
    const cli_command *const
        *family; /* related commands, whose options people may confuse with this one's, up to a NULL; or NULL */
};

/* A program. cli/main.c and lab/main.c each define one. */
typedef struct cli_program {
    const char *name;                   /* "prevail" */
    const char *summary;                /* for its man page: one line, no full stop */
    const char *text;                   /* what the program does */
    const char *start;                  /* the command to start with */
    const cli_command *const *commands; /* in the order of the overview, up to a NULL */
} cli_program;
extern const cli_program cli_program_here;
extern const cli_command cli_version; /* version.c; part of every program */
int cli_main(int argc, char **argv);  /* program.c; returns the exit code */

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_BAD_INPUT = 2, CLI_PROBLEMS = 3 };

/* A word of the command line, for printing a corrected command. */
typedef struct cli_word {
    char *text;
    const char *option; /* the option that it is, or is the value of; NULL: neither */
} cli_word;

struct cli_call {
    const cli_command *command;
    pv_ctx *ctx;
    void *options;   /* the command's struct */
    bool *given;     /* for each option, in the order of the groups */
    char **argument; /* positional, one per cli_argument; NULL: not given */
    char *line;      /* the command line for the record, without options that do not affect results */
    cli_word *word;  /* the whole command line, corrected where possible */
    size_t words;
    size_t refused, remedied; /* number of errors, and of those corrected in `word` */
    char **warning;           /* warnings of the library */
    size_t warnings;
    bool collect; /* collect warnings for the command to report, instead of printing them */
    bool quiet;
    bool terminal;  /* standard error is a terminal */
    bool drawn;     /* a progress line is displayed */
    double redrawn; /* time of the last redraw, in seconds */
};

/* Options that several commands have under the same name. */
typedef struct cli_running {
    int64_t threads;
    int device, precision;
    int ranks; /* cli_ranks */
    const char *memory;
    bool json;
    bool quiet;
} cli_running;

#define CLI_OPTION_OUTPUT(type, field, what)                                                                           \
    { "output", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "FILE", what }
#define CLI_OPTION_THREADS(type, field)                                                                                \
    {                                                                                                                  \
        "threads", PV_OPTION_INT, offsetof(type, field), "0", 0, 1024, NULL, "T",                                      \
            "Number of threads; 0: as many as the machine has. Results do not depend on it."                           \
    }
#define CLI_OPTIONS_DEVICE(type, field)                                                                                \
    {"device",                                                                                                         \
     PV_OPTION_CHOICE,                                                                                                 \
     offsetof(type, field.device),                                                                                     \
     "auto",                                                                                                           \
     0,                                                                                                                \
     0,                                                                                                                \
     "auto|cpu|cuda",                                                                                                  \
     NULL,                                                                                                             \
     "Where networks of images and full batches of tables run. auto: a GPU if the plug-in and a driver are installed " \
     "(tables: with a million numbers or more, for mlp and posteriors, or predictions with many draws), else the "     \
     "processor."},                                                                                                    \
    {                                                                                                                  \
        "precision", PV_OPTION_CHOICE, offsetof(type, field.precision), "tf32", 0, 0, "tf32|bf16|fp32", NULL,          \
            "Arithmetic of a GPU. tf32: products with 10 bits, sums in single precision. bf16: numbers with 8 bits "   \
            "except for the parameters; faster. fp32: single precision throughout; slow."                              \
    }
#define CLI_OPTION_MEMORY(type, field)                                                                                 \
    {                                                                                                                  \
        "memory", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "SIZE",                                     \
            "Approximate memory to use: 2G, 500M. Rows that do not fit are spilled to temporary files in TMPDIR, or "  \
            "/var/tmp. Results do not depend on it."                                                                   \
    }
typedef enum cli_ranks { CLI_RANKS_AUTO, CLI_RANKS_MPI, CLI_RANKS_NONE } cli_ranks;
#define CLI_OPTION_RANKS(type, field)                                                                                  \
    {                                                                                                                  \
        "ranks", PV_OPTION_CHOICE, offsetof(type, field), "auto", 0, 0, "auto|mpi|none", NULL,                         \
            "Processes that share the work (rows of a fit, folds, fits of a study, bootstrap replicates). auto: "      \
            "those that mpirun or srun started. mpi: the same, or an error. none: each alone. Results do not depend "  \
            "on it."                                                                                                   \
    }
#define CLI_OPTION_JSON(type, field, what)                                                                             \
    { "json", PV_OPTION_FLAG, offsetof(type, field), NULL, 0, 0, NULL, NULL, what }
#define CLI_OPTION_QUIET(type, field)                                                                                  \
    {                                                                                                                  \
        "quiet", PV_OPTION_FLAG, offsetof(type, field), NULL, 0, 0, NULL, NULL,                                        \
            "No progress line and no notes on standard error."                                                         \
    }
#define CLI_OPTION_END                                                                                                 \
    { NULL, PV_OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL }

/* ---- arguments.c ------------------------------------------------------------------------------------------------- */

/* The part of a command's help to print. */
typedef enum cli_help { CLI_HELP_NONE, CLI_HELP_COMMON, CLI_HELP_ALL } cli_help;

/* Fills options, given, argument and line from argv (what follows the command's name). Returns CLI_OK, or an exit code
 * after printing the error; *help is set if --help was given. The caller ends with cli_call_clear. */
int cli_parse(cli_call *call, const cli_command *command, int argc, char **argv, cli_help *help);
/* Whether argv contains --help, or --help all. */
cli_help cli_wants_help(int argc, char **argv);
void cli_call_clear(cli_call *call);
bool cli_has(const cli_command *command, const cli_group *group, const pv_option *row);
const pv_option *cli_option(const cli_command *command, const char *name); /* NULL: the command has no such option */
bool cli_given(const cli_call *call, const char *option);
const void *cli_value(const cli_call *call, const char *option); /* its field; NULL if the command has no such option */
bool cli_recorded(const char *option); /* it may affect the result, so it is recorded in line */
/* Rejects given options of a table that have no effect because they apply to something else (when). remedy: what to do
 * instead of leaving them out. */
int cli_check_idle(cli_call *call, const pv_option *table, const char *when, const char *remedy);
/* The same, except for one option that has an effect. */
int cli_check_idle_but(cli_call *call, const pv_option *table, const char *but, const char *when, const char *remedy);
/* Rejects the option if it was given; what: what it applies to; NULL: it is in use. */
int cli_check_use(cli_call *call, const char *option, const char *what);
/* Removes a rejected option from the corrected command. */
void cli_leave_out(cli_call *call, const char *option);
/* Prints the corrected command, if all errors could be corrected. */
void cli_print_corrected(const cli_call *call);
/* The names of a table's options that were given; *n: their number. The caller frees the array. */
const char **cli_given_of(const cli_call *call, const pv_option *table, size_t *n);

/* ---- rules.c ----------------------------------------------------------------------------------------------------- */

/* Fails with the first of the command's rules that is broken. */
int cli_check_rules(cli_call *call);

/* ---- help.c ------------------------------------------------------------------------------------------------------ */

/* The most used options on one screen, or the complete help. */
void cli_print_help(FILE *out, const cli_command *command, cli_help what);
void cli_print_overview(FILE *out);         /* what the program does, and its commands */
void cli_wrap(FILE *out, const char *text); /* wraps to lines of at most 80 characters */
void cli_print_man(FILE *out, const cli_command *command);
void cli_print_man_overview(FILE *out); /* the program's own page */

#endif
