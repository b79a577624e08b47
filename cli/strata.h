/* cli/strata.h: strata as text, as JSON and in reports. */
#ifndef PREVAIL_CLI_STRATA_H
#define PREVAIL_CLI_STRATA_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* The strata of a model: a table with every label except the first. */
void cli_print_strata(const pv_classifier *classifier);

/* Metrics of each stratum's predictions; nothing if the evaluation has no strata. */
void cli_print_judged_strata(const pv_judgement *judgement);

/* "strata" of a population: proportions and prevalences, and for unknown ones the inference. Does nothing if NULL. */
void cli_json_predicted_strata(pv_result *object, const pv_predicted_strata *strata, char *const *labels, int classes);
/* The same for an unknown population as text, with a warning about strata whose rows are uninformative. */
void cli_note_strata(cli_call *call, const pv_predicted_strata *strata, char *const *labels, int classes);

/* Whether each column of strata is a feature, which it is unless `features` or `exclude` leave it out. */
void cli_print_strata_columns(const pv_classifier *classifier, const char *title);

#endif
