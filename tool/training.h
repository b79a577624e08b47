/* tool/training.h: the table that fit, cv and sweep learn from. */
#ifndef PREVAIL_TOOL_TRAINING_H
#define PREVAIL_TOOL_TRAINING_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/data.h"

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
extern const cli_hint cli_training_hints[]; /* what people try for the options of data and model */
extern const pv_option cli_sample_table[];  /* of cli_sample */

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
/* For this reason, the optimiser or the posterior's engine. */
bool cli_was_stopped(const pv_classifier *classifier, pv_stop stop);

#endif
