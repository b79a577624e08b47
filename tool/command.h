/* tool/command.h: a command is one const struct; parsing, --help and the man page are made from it and from the
 * option tables it names.
 */
#ifndef PREVAIL_TOOL_COMMAND_H
#define PREVAIL_TOOL_COMMAND_H

#include <stdio.h>

#include "prevail/base.h"

typedef struct cli_call cli_call;

typedef struct cli_argument {
    const char *name; /* "DATA"; "[DATA]": may be left out */
    const char *help;
} cli_argument; /* a list ends with a NULL name */

/* An option table, and where in the command's options its struct lies. */
typedef struct cli_group {
    const char *title;
    const pv_option *table;
    size_t offset;
} cli_group; /* a list ends with a NULL table */

typedef struct cli_example {
    const char *command;
    const char *text;
} cli_example; /* a list ends with a NULL command */

/* A word that people may try for an option whose name is another. */
typedef struct cli_hint {
    const char *word, *option;
    const char *text; /* what to do, where a name does not say it; NULL: the option does what they want */
} cli_hint;           /* a list ends with a NULL word */

/* One of the options that most people use, in groups as people think of them. */
typedef struct cli_common {
    const char *title;  /* of the group that begins here; NULL: it goes on */
    const char *option; /* its name */
    const char *help;   /* a line; NULL: the first sentence of the option's own help */
} cli_common;           /* a list ends with a NULL option */

typedef struct cli_command cli_command;
struct cli_command {
    const char *name;    /* "fit" */
    const char *summary; /* one line, no full stop */
    const char *usage;   /* what follows the program and the command */
    const char *more;    /* what takes more arguments than there are, for a message; NULL: nothing */
    const char *text;    /* paragraphs, parted by \n; NAME\tTEXT is an entry of a list */
    const cli_argument *arguments;
    const cli_group *groups;    /* an option that two groups have is the first one's */
    const char *const *without; /* options of the groups that the command has not, up to a NULL; NULL: it has all */
    const cli_common *common;   /* what --help shows and the manual begins with; NULL: all options are */
    const cli_hint *hints;      /* NULL: none */
    const cli_hint *renamed;    /* options that the library's messages know by another, longer word; NULL: none */
    size_t options_size;
    const char *output; /* what is written, and the columns; paragraphs as in text */
    const cli_example *examples;
    int (*run)(cli_call *call);       /* returns the exit code */
    const cli_command *const *family; /* commands whose options people may take for this one's, up to a NULL; or NULL */
};

/* A program: cli/main.c and lab/main.c each define one. */
typedef struct cli_program {
    const char *name;                   /* "prevail" */
    const char *summary;                /* of its man page: one line, no full stop */
    const char *text;                   /* what it does */
    const char *start;                  /* the command to begin with */
    const cli_command *const *commands; /* in the order of the overview, up to a NULL */
} cli_program;
extern const cli_program cli_program_here;
extern const cli_command cli_version; /* version.c; every program has it */
int cli_main(int argc, char **argv);  /* program.c; returns the exit code */

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_BAD_INPUT = 2, CLI_PROBLEMS = 3 };

/* A word of the command line, as it would be without what was refused. */
typedef struct cli_word {
    char *text;
    const char *option; /* that it is, or is the value of; NULL: neither */
} cli_word;

struct cli_call {
    const cli_command *command;
    pv_ctx *ctx;
    void *options;   /* the command's struct */
    bool *given;     /* for each option in the order of the groups */
    char **argument; /* positional, one for each cli_argument; NULL: left out */
    char *line;      /* the command line, for the record: without what changes no result */
    cli_word *word;  /* all of it, corrected where that can be done */
    size_t words;
    size_t refused, remedied; /* errors, and those that word is corrected for */
    char **warning;           /* what the library warned of */
    size_t warnings;
    bool collect; /* warnings are kept for the command to report instead of being printed */
    bool quiet;
    bool terminal;  /* standard error is one */
    bool drawn;     /* a progress line is on it */
    double redrawn; /* when, in seconds */
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
            "Threads to use; 0: as many as the machine has. Results do not depend on it."                              \
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
     "What networks of images and full batches of tables run on; auto: a GPU, where the plug-in and a driver for it "  \
     "are there (for tables: of a million numbers or more, by mlp or for posteriors; of many draws to predict with), " \
     "else the processor."},                                                                                           \
    {                                                                                                                  \
        "precision", PV_OPTION_CHOICE, offsetof(type, field.precision), "tf32", 0, 0, "tf32|bf16|fp32", NULL,          \
            "How a GPU computes: tf32, products of 10 bits and sums in single precision; bf16, numbers of 8 bits but " \
            "for the parameters, and faster; fp32, single precision throughout, and slow."                             \
    }
#define CLI_OPTION_MEMORY(type, field)                                                                                 \
    {                                                                                                                  \
        "memory", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "SIZE",                                     \
            "Memory to use, about: 2G, 500M. Rows that do not fit lie in files without a name, in the folder that "    \
            "TMPDIR names, else in /var/tmp. Results do not depend on it."                                             \
    }
typedef enum cli_ranks { CLI_RANKS_AUTO, CLI_RANKS_MPI, CLI_RANKS_NONE } cli_ranks;
#define CLI_OPTION_RANKS(type, field)                                                                                  \
    {                                                                                                                  \
        "ranks", PV_OPTION_CHOICE, offsetof(type, field), "auto", 0, 0, "auto|mpi|none", NULL,                         \
            "Processes that share the work: rows of a fit, folds, a study's fits, replicates of intervals; auto: "     \
            "those that mpirun or srun started, mpi: the same or an error, none: each for itself. Results do not "     \
            "depend on it."                                                                                            \
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

/* What of a command's help is asked for. */
typedef enum cli_help { CLI_HELP_NONE, CLI_HELP_COMMON, CLI_HELP_ALL } cli_help;

/* Fills options, given, argument and line from argv (what follows the command's name). Returns CLI_OK, or an exit code
 * after printing why; *help is set where --help was asked for. The caller ends with cli_call_clear. */
int cli_parse(cli_call *call, const cli_command *command, int argc, char **argv, cli_help *help);
/* Whether there is --help, or --help all, in argv. */
cli_help cli_wants_help(int argc, char **argv);
void cli_call_clear(cli_call *call);
bool cli_has(const cli_command *command, const cli_group *group, const pv_option *row);
const pv_option *cli_option(const cli_command *command, const char *name); /* NULL: the command has none such */
bool cli_given(const cli_call *call, const char *option);
const void *cli_value(const cli_call *call, const char *option); /* its field; NULL where the command has none such */
bool cli_recorded(const char *option);                           /* it may change the result; so it is in line */
/* Refuses options of one of the command's tables that would do nothing: they are for something else (when), and
 * may be left out, or what else to do (remedy). */
int cli_check_idle(cli_call *call, const pv_option *table, const char *when, const char *remedy);
/* The same, but for one that has a use. */
int cli_check_idle_but(cli_call *call, const pv_option *table, const char *but, const char *when, const char *remedy);
/* Refuses a given option that is for something else; what NULL: it has its part. */
int cli_check_use(cli_call *call, const char *option, const char *what);
/* Takes an option that was refused out of the corrected command. */
void cli_leave_out(cli_call *call, const char *option);
/* Prints the corrected command, where all that was refused can be corrected. */
void cli_print_corrected(const cli_call *call);
/* The names of a table's options that were given, *n of them; the caller frees the array. */
const char **cli_given_of(const cli_call *call, const pv_option *table, size_t *n);

/* ---- help.c ------------------------------------------------------------------------------------------------------ */

/* The options that most people use on one screen, or all there is to know. */
void cli_print_help(FILE *out, const cli_command *command, cli_help what);
void cli_print_overview(FILE *out);         /* what the program does, and its commands */
void cli_wrap(FILE *out, const char *text); /* in lines of at most 80 characters */
void cli_print_man(FILE *out, const cli_command *command);
void cli_print_man_overview(FILE *out); /* the program's own page */

#endif
