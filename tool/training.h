/* tool/training.h: the table that fit, cv and sweep learn from. */
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

/* Options that determine prevalences, for the list of what a command that assumes them is without. */
#define CLI_PHASE_OPTIONS "phase-one", "subcohort"

/* --population-sample */
typedef struct cli_sample {
    const char *path; /* NULL: none */
} cli_sample;

extern const cli_argument cli_training_arguments[];
extern const cli_hint cli_training_hints[]; /* what people try for the options of data and model */
extern const pv_option cli_sample_table[];  /* of cli_sample */

/* Checks and completes the roles for a fit of the file, before any work. */
int cli_training_prepare(cli_call *call, const char *path, const pv_fit_options *fit, cli_roles *options);
int cli_training_read(cli_call *call, const char *path, const cli_roles *options, cli_training *training);
/* The same for work with a checkpoint: a table that does not fit --memory is packed beside it, and that is read
 * instead, for as long as the command runs. */
int cli_training_read_beside(cli_call *call, const char *path, const cli_roles *options,
                             const cli_checkpoint *checkpoint, cli_training *training);
/* Its second half, of a table that is there already. */
int cli_training_learn(cli_call *call, const cli_roles *options, cli_training *training);
/* Rows of the population by the schema, for the fit's options; *sample, the caller's to free, is NULL where none were
 * named. */
int cli_read_sample(cli_call *call, const cli_sample *from, const cli_roles *options, const cli_training *training,
                    pv_dataset **sample);
/* Refuses, before any work, what cannot be fitted with any of the losses, and options that none of them has a use for.
 */
int cli_check_fit(cli_call *call, const pv_fit_options *fit, const pv_loss *losses, size_t n_losses, bool sample);
void cli_training_clear(cli_call *call, cli_training *training);
/* For this reason, the optimiser or the posterior's engine. */
bool cli_was_stopped(const pv_classifier *classifier, pv_stop stop);

#endif
