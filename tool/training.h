/* tool/training.h: the training table of fit, cv and sweep. */
#ifndef PREVAIL_TOOL_TRAINING_H
#define PREVAIL_TOOL_TRAINING_H

#include "prevail/prevail.h"
#include "tool/checkpoint.h"
#include "tool/command.h"
#include "tool/data.h"

typedef struct cli_training {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
} cli_training;

/* Options that determine prevalences. Commands that assume prevalences list them as not available. */
#define CLI_PHASE_OPTIONS "phase-one", "subcohort"

/* --population-sample */
typedef struct cli_sample {
    const char *path; /* NULL: none */
} cli_sample;

extern const cli_argument cli_training_arguments[];
extern const cli_hint cli_training_hints[]; /* words that people try for options of data and model */
extern const pv_option cli_sample_table[];  /* of cli_sample */

/* Checks and completes the roles for a fit of the file, before any work. */
int cli_training_prepare(cli_call *call, const char *path, const pv_fit_options *fit, cli_roles *options);
int cli_training_read(cli_call *call, const char *path, const cli_roles *options, cli_training *training);
/* The same for work with a checkpoint: a table that does not fit --memory is packed next to the checkpoint and read
 * from there while the command runs. */
int cli_training_read_beside(cli_call *call, const char *path, const cli_roles *options,
                             const cli_checkpoint *checkpoint, cli_training *training);
/* The second half of cli_training_read, for a table that is already read. */
int cli_training_learn(cli_call *call, const cli_roles *options, cli_training *training);
/* Reads a population sample with the schema, for the fit's options. The caller frees *sample, which is NULL if none was
 * named. */
int cli_read_sample(cli_call *call, const cli_sample *from, const cli_roles *options, const cli_training *training,
                    pv_dataset **sample);
/* ig was asked for by name, and nothing states the population. */
#define CLI_RULE_LOSS                                                                                                  \
    {                                                                                                                  \
        "loss loss=ig", "prevalence population-sample prevalence-by phase-one subcohort matched",                      \
            "--loss ig needs --prevalence P, that of the positive label in the target population. Or give "            \
            "--population-sample FILE, rows of that population"                                                        \
    }
/* Rejects, before any work, fits that are impossible with any of the losses, and options that have no effect with any.
 */
int cli_check_fit(cli_call *call, const pv_fit_options *fit, const pv_loss *losses, size_t n_losses, bool sample);
void cli_training_clear(cli_call *call, cli_training *training);
/* Whether the optimiser or the posterior's engine stopped for this reason. */
bool cli_was_stopped(const pv_classifier *classifier, pv_stop stop);

#endif
