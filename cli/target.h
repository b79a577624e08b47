/* cli/target.h: an unknown prevalence in words and as JSON. */
#ifndef PREVAIL_CLI_TARGET_H
#define PREVAIL_CLI_TARGET_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* Refuses options that say nothing to the --method chosen. */
int cli_check_method(cli_call *call, const pv_unknown_options *options);
/* Refuses --interval where --bootstrap 0 wants none and nothing else is shown with one. */
int cli_check_level(cli_call *call, int64_t bootstrap, bool shown);
/* Sets target_prevalence, method, iterations, stop and so on. */
void cli_json_target(json_t *object, const pv_unknown_prevalence *prevalence, char *const *labels);
/* "shift": whether the rows look like a mixture of the labels at all; feature [columns] may be NULL. */
void cli_json_shift(json_t *object, const pv_unknown_prevalence *prevalence, char *const *feature);
/* The same in words: what the interval takes for granted, and a warning where the rows are no mixture. */
void cli_note_shift(cli_call *call, const pv_unknown_prevalence *prevalence, char *const *feature);
/* "expected": what decisions are worth there, without labels; threshold: above it the last label is called. Nothing
 * where reference is NULL, or the ratios are not calibrated. */
int cli_expected(cli_call *call, const pv_unknown_prevalence *prevalence, const pv_reference *reference,
                 double threshold, json_t *object);
/* Where the last of two labels is called: 1/2, or where the costs of two actions change over. */
double cli_threshold(const pv_costs *costs);
/* What was found, and a warning where the rows hardly tell. */
void cli_note_target(cli_call *call, const pv_unknown_prevalence *prevalence, char *const *labels, size_t rows);

#endif
