/* cli/strata.h: strata in words, as JSON and in reports. */
#ifndef PREVAIL_CLI_STRATA_H
#define PREVAIL_CLI_STRATA_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* What a model knows of its strata: a list in their order, and a table of every label but the first. */
json_t *cli_json_strata(const pv_classifier *classifier);
void cli_print_strata(const pv_classifier *classifier);

/* What each stratum's predictions are worth; nothing where a judgement has no strata. */
void cli_json_judged_strata(json_t *object, const pv_judgement *judgement);
void cli_print_judged_strata(const pv_judgement *judgement);

/* "strata" of a population: share and prevalence, and what an unknown one's rows told. NULL is fine: nothing. */
void cli_json_predicted_strata(json_t *object, const pv_predicted_strata *strata, char *const *labels, int classes);
/* The same of an unknown population in words, and a warning for strata whose rows hardly tell. */
void cli_note_strata(cli_call *call, const pv_predicted_strata *strata, char *const *labels, int classes);

/* Whether each column of strata is a feature: all are, unless `features` or `exclude` leave it out. */
void cli_print_strata_columns(const pv_classifier *classifier, const char *title);
json_t *cli_json_strata_columns(const pv_classifier *classifier);

#endif
