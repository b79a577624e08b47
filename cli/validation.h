/* cli/validation.h: metrics of validations, as printed by cv and sweep. */
#ifndef PREVAIL_CLI_VALIDATION_H
#define PREVAIL_CLI_VALIDATION_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* "0.1234", or "-" if undefined; size >= 16. */
const char *cli_metric_text(double value, char *text, size_t size);
/* Whether a table shows the metric without --all. */
bool cli_metric_matters(const pv_metric_row *row, int classes);
/* Prints a verdict on a line of its own, with options in the command's syntax; nothing if it is empty. */
void cli_print_verdict(const cli_call *call, const char *verdict);
/* {name: {value, mean, sd, folds}}: the pooled value; mean and sd over folds and repeats; how many folds define it; lo
 * and hi of value if there are intervals. */
pv_result *cli_json_validation(const pv_validation *validation);
pv_result *cli_json_assessment(pv_ctx *ctx, const pv_assessment *found); /* {name: {value, lo, hi}} */
/* Completes the options for an unknown prevalence; rejects what a validation cannot do. */
int cli_validation_unknown(cli_call *call, const char *population, pv_unknown_options *unknown, double level,
                           int64_t seed);
/* Explains the * in a table of metrics. */
void cli_print_stated(size_t count, const pv_validation *const *validation);
/* Before such a table: notes that it refers to a population other than that of the probabilities. */
void cli_print_misleading(size_t count, const pv_validation *const *validation, char *const *labels);
/* The same as text: the label's proportion among the rows and in the population; NaN: several. */
void cli_print_elsewhere(const char *label, double observed, double prevalence);
/* Warns of fits that did not converge, and of folds that are uninformative about an unknown prevalence; true for the
 * former. */
bool cli_validation_warn(cli_call *call, const pv_validation *validation, const char *what);

#endif
