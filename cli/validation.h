/* cli/validation.h: metrics of validations, as cv and sweep print them. */
#ifndef PREVAIL_CLI_VALIDATION_H
#define PREVAIL_CLI_VALIDATION_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* "0.1234" or "-" where undefined; size >= 16. */
const char *cli_metric_text(double value, char *text, size_t size);
/* {name: {value, mean, sd, folds}}: pooled; over folds and repeats; how many of them define it; lo and hi of value
 * where there are intervals. */
json_t *cli_json_validation(const pv_validation *validation);
json_t *cli_json_assessment(const pv_assessment *found); /* {name: {value, lo, hi}} */
/* Completes what the options say of an unknown prevalence; refuses what a validation cannot do. */
int cli_validation_unknown(cli_call *call, const char *population, pv_unknown_options *unknown, double level,
                           int64_t seed);
/* What * means in a table of these. */
void cli_print_stated(size_t count, const pv_validation *const *validation);
/* Before such a table: that it is of other people than the probabilities; nothing where it is not. */
void cli_print_misleading(size_t count, const pv_validation *const *validation, char *const *labels);
/* The same in words: the label's share of the rows and in the population; NaN: several. */
void cli_print_elsewhere(const char *label, double observed, double prevalence);
/* Warns of fits that did not converge, and of folds that hardly tell an unknown prevalence; true for the former. */
bool cli_validation_warn(cli_call *call, const pv_validation *validation, const char *what);

#endif
