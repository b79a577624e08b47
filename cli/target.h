/* cli/target.h: an unknown prevalence as text and JSON. */
#ifndef PREVAIL_CLI_TARGET_H
#define PREVAIL_CLI_TARGET_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* Rejects options that have no effect with the chosen --method. */
int cli_check_method(cli_call *call, const pv_unknown_options *options);
/* Sets target_prevalence, method, iterations, stop and so on. */
void cli_json_target(pv_result *object, const pv_unknown_prevalence *prevalence, char *const *labels);
/* "shift": the test of whether the rows are a mixture of the labels; feature [columns] may be NULL. */
void cli_json_shift(pv_result *object, const pv_unknown_prevalence *prevalence, char *const *feature);
/* The same as text: the assumption behind the interval, with a warning if the test rejects it. */
void cli_note_shift(cli_call *call, const pv_unknown_prevalence *prevalence, char *const *feature);
/* "expected": the estimated performance of decisions there, without labels; threshold: above it the decision is the
 * last label. Does nothing if reference is NULL, or if the ratios are not calibrated. */
int cli_expected(cli_call *call, const pv_unknown_prevalence *prevalence, const pv_reference *reference,
                 double threshold, pv_result *object);
/* The threshold for the last of two labels: 1/2, or where the best of two actions changes. */
double cli_threshold(const pv_costs *costs);
/* Prints the result, with a warning if the rows are uninformative. */
void cli_note_target(cli_call *call, const pv_unknown_prevalence *prevalence, char *const *labels, size_t rows);

#endif
