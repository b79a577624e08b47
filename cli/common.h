/* cli/common.h: what the subcommands share. A command is one const struct; parsing, --help and the man page are made
 * from it and from the option tables it names.
 */
#ifndef PREVAIL_CLI_COMMON_H
#define PREVAIL_CLI_COMMON_H

#include <jansson.h>
#include <stdio.h>

#include "prevail/prevail.h"

/* ---- commands ---------------------------------------------------------------------------------------------------- */

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

typedef struct cli_command {
    const char *name;
    const char *summary; /* one line, no full stop */
    const char *usage;   /* what follows "prevail NAME" */
    const char *text;    /* paragraphs, parted by \n; NAME\tTEXT is an entry of a list */
    const cli_argument *arguments;
    const cli_group *groups;    /* an option that two groups have is the first one's */
    const char *const *without; /* options of the groups that the command has not, up to a NULL; NULL: it has all */
    size_t options_size;
    const char *output; /* what is written, and the columns; paragraphs as in text */
    const cli_example *examples;
    int (*run)(cli_call *call); /* returns the exit code */
} cli_command;

extern const cli_command cli_fit, cli_predict, cli_eval, cli_adjust, cli_cv, cli_sweep, cli_summary, cli_diagnose,
    cli_simulate, cli_bench, cli_study, cli_demo, cli_version;
extern const cli_command *const cli_commands[];        /* main.c; ends with NULL */
const cli_command *cli_command_find(const char *name); /* NULL where there is none */

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_BAD_INPUT = 2, CLI_PROBLEMS = 3 };

struct cli_call {
    const cli_command *command;
    pv_ctx *ctx;
    void *options;   /* the command's struct */
    bool *given;     /* for each option in the order of the groups */
    char **argument; /* positional, one for each cli_argument; NULL: left out */
    char *line;      /* the command line, for the record: without what changes no result */
    char **warning;  /* what the library warned of */
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

/* Fills options, given, argument and line from argv (what follows the command's name). Returns CLI_OK, or an exit code
 * after printing why; *help is set where --help was asked for. The caller ends with cli_call_clear. */
int cli_parse(cli_call *call, const cli_command *command, int argc, char **argv, bool *help);
void cli_call_clear(cli_call *call);
bool cli_has(const cli_command *command, const cli_group *group, const pv_option *row);
bool cli_given(const cli_call *call, const char *option);
const void *cli_value(const cli_call *call, const char *option); /* its field; NULL where the command has none such */
bool cli_recorded(const char *option);                           /* it may change the result; so it is in line */
/* Refuses options of one of the command's tables that would do nothing: they are for something else (when), and
 * may be left out, or what else to do (remedy). */
int cli_check_idle(cli_call *call, const pv_option *table, const char *when, const char *remedy);

/* ---- help.c ------------------------------------------------------------------------------------------------------ */

void cli_print_help(FILE *out, const cli_command *command);
void cli_print_overview(FILE *out);
void cli_wrap(FILE *out, const char *text);                /* in lines of at most 80 characters */
void cli_print_man(FILE *out, const cli_command *command); /* NULL: the overview, prevail(1) */

/* ---- common.c: errors, memory, context, progress ----------------------------------------------------------------- */

int cli_exit_code(pv_status status);
/* Prints the context's error as "prevail: FILE:LINE:COLUMN: message"; returns the exit code. */
int cli_fail(cli_call *call, pv_status status);
/* The same for an error of the command's own; file may be NULL. */
int cli_error(cli_call *call, pv_status status, const char *file, const char *format, ...) PV_PRINTF(4, 5);
void cli_note(cli_call *call, const char *format, ...) PV_PRINTF(2, 3); /* a line on standard error unless --quiet */
void cli_warn(cli_call *call, const char *format, ...) PV_PRINTF(2, 3); /* as the library's warnings */

/* Each ends the program where there is no memory, leaving no file half written. */
void *cli_alloc(size_t count, size_t size); /* zeroed */
void *cli_resize(void *block, size_t count, size_t size);
char *cli_copy(const char *text);
_Noreturn void cli_no_memory(const char *what); /* "for JSON" */

/* Makes call->ctx with the command's --threads, its log and progress, and lets SIGINT, SIGTERM, SIGHUP and SIGXCPU
 * interrupt it. */
int cli_start(cli_call *call);
void cli_stop(cli_call *call); /* frees the context; signals no longer reach it */
void cli_progress_clear(cli_call *call);

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
/* Flushes standard output; a failure is reported and gives CLI_FAILED, else code. */
int cli_finish(cli_call *call, int code);

/* ---- json.c ------------------------------------------------------------------------------------------------------ */

void cli_guard_terminal(void); /* terminal.c: before anything is printed */
void cli_json_prepare(void);   /* before anything else of JSON */
/* Each takes its new reference and never fails; bytes that are no UTF-8 become U+FFFD. */
json_t *cli_json_object(void);
json_t *cli_json_array(void);
void cli_json_set(json_t *object, const char *key, json_t *value);
void cli_json_append(json_t *array, json_t *value);
json_t *cli_json_text(const char *text);
json_t *cli_json_real(double value);                                              /* null where not finite */
json_t *cli_json_by_label(char *const *labels, int classes, const double *value); /* {label: value} */
json_t *cli_json_warnings(const cli_call *call);
json_t *cli_json_record(const pv_classifier *classifier); /* how it was fitted; empty where there is no record */
void cli_json_write(FILE *out, const json_t *object);     /* indented, and a line feed */
void cli_json_print(json_t *object);                      /* to standard output, and releases it */

/* ---- data.c: tables, roles and models, as fit, predict and eval take them ---------------------------------------- */

typedef struct cli_roles {
    pv_roles roles;
    int missing;       /* 0 refuse, 1 drop */
    int collinear;     /* 0 refuse, 1 keep */
    const char *group; /* --group, a column of the table; never a feature. NULL: none */
    pv_image_options image;
} cli_roles;

#define CLI_OPTION_MISSING(type, field)                                                                                \
    {                                                                                                                  \
        "missing", PV_OPTION_CHOICE, offsetof(type, field), "refuse", 0, 0, "refuse|drop", NULL,                       \
            "What to do with rows that have missing cells: refuse the file and say where, or drop them and say how "   \
            "many."                                                                                                    \
    }

/* Reads path; the columns named in text (n of them) are read as text. */
int cli_read_for_fit(cli_call *call, const char *path, const pv_roles *roles, pv_table **table);
/* Reads a table for a model: text columns as in training, the target and id (where named) as text. */
int cli_read_for_model(cli_call *call, const pv_encoding *encoding, const char *path, const pv_roles *roles,
                       pv_table **table);
/* The column of weights: given, or that of the fit where the table has it; NULL: none. */
const char *cli_weights(const pv_classifier *classifier, const pv_table *table, const char *given);
/* Why rows were left out: "with missing cells", say; image NULL: a table's. size >= 96. */
const char *cli_left_out(const pv_image_encoding *image, char *text, size_t size);
void cli_note_dropped(cli_call *call, const char *path, const pv_dataset *data); /* path NULL: not named */
double *cli_log(const double *p, int n);                                         /* the caller frees */

/* ---- ensembles (ensemble.c) -------------------------------------------------------------------------------------- */

#define CLI_OPTION_ENSEMBLE(type, field)                                                                               \
    {                                                                                                                  \
        "ensemble", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "MODEL,...",                              \
            "Further model files, of other seeds or folds say: the probabilities are the mean of all, each in the "    \
            "population asked for. Labels and columns must be the same; for --population true the prevalence too."     \
    }

/* What the first model gave, to which the others are added. Borrowed. */
typedef struct cli_ensemble {
    const pv_classifier *first;
    const pv_table *table;
    const pv_roles *roles; /* as the first model's rows were read */
    size_t rows;           /* that it used */
    pv_target_population population;
    const double *prevalence; /* [classes] of the population asked for, where it is not the true one */
    double *log_p;            /* [rows][classes], the mean so far, in the population asked for */
    double *loglik;           /* [rows][classes], the same in the true one; NULL: not wanted */
    double *log_marginal;     /* [classes] of loglik; NULL: not wanted */
} cli_ensemble;

/* Adds the models in a list of names; NULL: none. Returns an exit code. */
int cli_ensemble_add(cli_call *call, const char *list, const cli_ensemble *ensemble);
json_t *cli_json_ensemble(const char *list); /* an array of names, empty for NULL */

/* ---- training.c: the table that fit, cv and sweep learn from ----------------------------------------------------- */

typedef struct cli_training {
    pv_table *table;
    pv_encoding *encoding;
    char **labels;
    pv_dataset *data;
    int32_t *group; /* [data->rows], by --group; NULL: none */
    char *positive; /* where --prevalence LABEL=P named it */
    char *excluded; /* with --group: the excluded columns and it */
} cli_training;

#define CLI_OPTION_GROUP(type, field)                                                                                  \
    {                                                                                                                  \
        "group", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "COL",                                       \
            "Rows with the same value in this column (a patient, a centre) stay in one fold, or on one side of "       \
            "--validation. Never a feature."                                                                           \
    }

/* --population-sample */
typedef struct cli_sample {
    const char *path; /* NULL: none */
} cli_sample;

extern const cli_argument cli_training_arguments[];
extern const pv_option cli_role_table[];   /* of cli_roles */
extern const pv_option cli_sample_table[]; /* of cli_sample */

/* Checks and completes the roles, before any work. prevalence may be NULL. */
int cli_training_prepare(cli_call *call, cli_roles *options, const char *prevalence, const char *model,
                         cli_training *training);
/* The same where the file is not the command's first argument. */
int cli_training_prepare_file(cli_call *call, const char *path, cli_roles *options, const char *prevalence,
                              const char *model, cli_training *training);
int cli_training_read(cli_call *call, const char *path, const cli_roles *options, cli_training *training);
/* Its second half, of a table that is there already. */
int cli_training_learn(cli_call *call, const cli_roles *options, cli_training *training);
/* Rows of the population, as the model's columns, for the input; *sample, the caller's to free, is NULL where none were
 * named. */
int cli_read_sample(cli_call *call, const cli_sample *from, const cli_roles *options, const cli_training *training,
                    pv_fit_input *input, pv_dataset **sample);
void cli_warn_of_strength(cli_call *call, const pv_fit_options *fit); /* --prevalence-n, of ig alone */
pv_fit_input cli_training_input(const cli_call *call, const cli_roles *options, const cli_training *training);
void cli_training_clear(cli_call *call, cli_training *training);

/* ---- checkpoint.c: --checkpoint and --resume --------------------------------------------------------------------- */

typedef struct cli_checkpoint {
    const char *path; /* NULL: none */
    double every;
    bool resume;
} cli_checkpoint;

/* at: where in the command's options the struct lies. */
#define CLI_OPTIONS_CHECKPOINT(at)                                                                                     \
    {"checkpoint",                                                                                                     \
     PV_OPTION_TEXT,                                                                                                   \
     (at) + offsetof(cli_checkpoint, path),                                                                            \
     NULL,                                                                                                             \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     "FILE",                                                                                                           \
     "Write there what there is, every so often and when interrupted; removed when all is done."},                     \
        {"checkpoint-every", PV_OPTION_REAL,       (at) + offsetof(cli_checkpoint, every), "60", 0.001, 1e9, NULL,     \
         "SECONDS",          "How often, at most."},                                                                   \
    {                                                                                                                  \
        "resume", PV_OPTION_FLAG, (at) + offsetof(cli_checkpoint, resume), NULL, 0, 0, NULL, NULL,                     \
            "Continue from --checkpoint, to exactly the result of a run that was never interrupted. The other "        \
            "options "                                                                                                 \
            "and the data must be the same. Where there is no such file the work begins."                              \
    }

extern const pv_option cli_checkpoint_table[];

/* Opens it where one is asked for; refuses a path that is one of the inputs or outputs (NULL: none such). */
int cli_checkpoint_start(cli_call *call, const cli_checkpoint *options, const char *input, const char *output,
                         const char *other);
/* code is that of the work: done (CLI_OK, CLI_PROBLEMS), the file is removed; else it stays, and where it was written
 * because of an interruption, how to continue is said. Returns the exit code. */
int cli_checkpoint_end(cli_call *call, const cli_checkpoint *options, int code);

/* ---- trace.c: how minibatch training went ------------------------------------------------------------------------ */

/* Writes the classifier's trace as CSV; a path of NULL: nothing. */
int cli_trace_write(cli_call *call, const char *path, const pv_classifier *classifier);

/* ---- validation.c: metrics of validations, as cv and sweep print them -------------------------------------------- */

#define CLI_OPTION_STATED(type, field)                                                                                 \
    {                                                                                                                  \
        "stated-for", PV_OPTION_TEXT, offsetof(type, field), "rows", 0, 0, NULL, "P",                                  \
            "The population that metrics are stated for, as eval --prevalence: rows, the rows as they are, but nell "  \
            "for the true population; population, that of --population; or a prevalence as for fit --prevalence. "     \
            "Rows are then weighted label by label."                                                                   \
    }

/* "0.1234" or "-" where undefined; size >= 16. */
const char *cli_metric_text(double value, char *text, size_t size);
/* {name: {value, mean, sd, folds}}: pooled; over folds and repeats; how many of them define it; lo and hi of value
 * where there are intervals. */
json_t *cli_json_validation(const pv_validation *validation);
/* Completes what the options say of an unknown prevalence; refuses what a validation cannot do. */
int cli_validation_unknown(cli_call *call, const char *population, pv_target_options *unknown, double level,
                           int64_t seed);
double *cli_observed(const pv_dataset *data); /* [classes], label shares; the caller frees */
/* Whether metrics of rows with these label shares mislead about a population with others. */
bool cli_shares_differ(int classes, const double *observed, const double *wanted);
/* What * means in a table of these, and which population would be another. */
void cli_print_stated(size_t count, const pv_validation *const *validation);
/* Warns of fits that did not converge, and of folds that hardly tell an unknown prevalence; true for the former. */
bool cli_validation_warn(cli_call *call, const pv_validation *validation, const char *what);

/* ---- report.c: a classifier in words and as JSON ----------------------------------------------------------------- */

/* Name and value of each coefficient, in the order of the output; with a posterior its mean, standard deviation and
 * central interval of the given level. details: odds ratios and the probability of the sign as well. */
int cli_json_coefficients(cli_call *call, const pv_classifier *classifier, double level, bool details,
                          json_t **object); /* NULL: not linear */
int cli_print_coefficients(cli_call *call, const pv_classifier *classifier, double level, bool details);
void cli_print_classes(const pv_classifier *classifier, double level);
json_t *cli_json_marginal(const pv_classifier *classifier);      /* {label: p(y|w)}, the posterior's mean of it */
json_t *cli_json_prevalence(const pv_classifier *classifier);    /* {label: p}; null where not stated */
json_t *cli_json_prevalence_n(const pv_classifier *classifier);  /* a number, "known", or null */
json_t *cli_json_marginal_kind(const pv_classifier *classifier); /* null but for ig */
json_t *cli_json_sample(const pv_classifier *classifier);        /* {source, rows, estimated}; null: none */

/* ---- posterior.c: what draws say --------------------------------------------------------------------------------- */

#define CLI_LEVEL 0.9 /* of the intervals shown where none is asked for */

/* The level of --interval; a fallback of NULL leaves 0, which is no level. */
#define CLI_OPTION_INTERVAL(type, field, fallback, what)                                                               \
    { "interval", PV_OPTION_REAL, offsetof(type, field), fallback, 0.001, 0.9999, NULL, "LEVEL", what }

typedef struct cli_spread {
    double mean, sd;
    double lo, hi; /* central interval */
    double sign;   /* share of the draws on the mean's side of zero */
} cli_spread;

/* Each coefficient's, [classes-1][1 + features] on the scale of the table; the caller frees. Linear, with a posterior.
 */
int cli_coefficient_spreads(cli_call *call, const pv_classifier *classifier, double level, cli_spread **spreads);
/* Each parameter's, [pv_model_params], as the model has them. The caller frees. */
cli_spread *cli_parameter_spreads(const pv_classifier *classifier, double level);
/* p(y|w), [classes]. Without a posterior the mean is the estimate's and the rest NaN. */
void cli_marginal_spreads(const pv_classifier *classifier, double level, cli_spread *spreads);
/* Sets posterior, posterior_stop, draws, elbo and so on; nothing without a posterior. */
void cli_json_posterior(json_t *object, const pv_classifier *classifier, double level);
void cli_print_posterior(const pv_classifier *classifier);       /* a line, or nothing */
const char *cli_posterior_name(const pv_classifier *classifier); /* "vi" */
/* For this reason, the optimiser or the posterior's engine. */
bool cli_was_stopped(const pv_classifier *classifier, pv_stop stop);
double cli_rhat_max(const pv_posterior *posterior); /* NaN where it has none */
double cli_ess_min(const pv_posterior *posterior);

/* ---- predictions.c: probabilities and decisions as CSV ----------------------------------------------------------- */

/* A column of its own: words, or numbers from 1 where there are no words. */
typedef struct cli_extra {
    const char *name;
    const int32_t *code; /* [rows], from 0 */
    char *const *word;   /* NULL: none */
} cli_extra;

/* Options of predict and adjust. */
#define CLI_OPTION_COSTS(type, field)                                                                                  \
    {                                                                                                                  \
        "costs", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "FILE",                                      \
            "A CSV file of costs: a row for each action, its name first, then a column for each label. Decisions are " \
            "the actions of least expected cost."                                                                      \
    }
#define CLI_OPTION_LABELS(type, field)                                                                                 \
    {                                                                                                                  \
        "labels", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "COL",                                      \
            "A column with the labels of some rows, empty for the others. Labels that are known count towards the "    \
            "prevalence; the probabilities of such rows stay predictions."                                             \
    }

typedef struct cli_predictions {
    char *const *labels;
    int classes;
    size_t rows;
    const double *p;       /* [rows][classes] */
    const double *lo, *hi; /* [rows][classes]; NULL: none */
    const pv_costs *costs; /* NULL: the decision is the most probable label */
    const pv_table *table; /* what columns are copied from */
    const size_t *row;     /* [rows], in the table; NULL: the same */
    const size_t *copy;    /* [copies], columns of the table that come first; none: the row's number */
    size_t copies;
    const cli_extra *extra; /* [extras], columns between those and the probabilities */
    size_t extras;
} cli_predictions;

/* To a file, or to standard output (NULL or "-"). Rows are formatted by all threads and written in order; an interrupt
 * leaves no file behind. */
int cli_write_predictions(cli_call *call, const cli_predictions *predictions, const char *output);
/* Reads --costs; *costs is NULL where path is. */
int cli_read_costs(cli_call *call, const char *path, char *const *labels, int classes, pv_costs **costs);
/* The thresholds of two classes: as notes, and as JSON (null where there are no costs). */
void cli_note_costs(cli_call *call, const pv_costs *costs, char *const *labels);
json_t *cli_json_costs(const pv_costs *costs, char *const *labels);

/* ---- target.c: an unknown prevalence in words and as JSON -------------------------------------------------------- */

/* Refuses options that say nothing to the --method chosen. */
int cli_check_method(cli_call *call, const pv_target_options *options);
/* Sets target_prevalence, method, iterations, stop and so on. */
void cli_json_target(json_t *object, const pv_target_prevalence *prevalence, char *const *labels);
/* What was found, and a warning where the rows hardly tell. */
void cli_note_target(cli_call *call, const pv_target_prevalence *prevalence, char *const *labels, size_t rows);

/* ---- checks.c: is the fit to be trusted? ------------------------------------------------------------------------- */

typedef struct cli_check {
    const char *name;
    const char *title; /* what is checked: "Why the optimiser stopped" */
    bool ok;
    double value;     /* NaN where there is none */
    char text[512];   /* what was found */
    char remedy[512]; /* empty where ok */
} cli_check;

enum { CLI_CHECKS_MAX = 16 };

typedef struct cli_checks {
    cli_check check[CLI_CHECKS_MAX];
    size_t count, failed;
} cli_checks;

/* Appends a check that is fine so far. */
cli_check *cli_check_add(cli_checks *checks, const char *name, const char *title, double value);
/* Says that it is not, and what to do. */
void cli_check_fail(cli_checks *checks, cli_check *check, const char *format, ...) PV_PRINTF(3, 4);

void cli_check_posterior(cli_checks *checks, const pv_classifier *classifier); /* the engine's own reports */
void cli_check_marginal(cli_checks *checks, const pv_classifier *classifier);  /* the prevalence in the model */
/* All that need no data. options: those recorded with the model. */
int cli_check_model(cli_call *call, cli_checks *checks, const pv_classifier *classifier, const pv_fit_options *options);

#endif
