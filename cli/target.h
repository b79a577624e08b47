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
/* What was found, and a warning where the rows hardly tell. */
void cli_note_target(cli_call *call, const pv_unknown_prevalence *prevalence, char *const *labels, size_t rows);

#endif
