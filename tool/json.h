/* tool/json.h: JSON output. */
#ifndef PREVAIL_TOOL_JSON_H
#define PREVAIL_TOOL_JSON_H

#include <stdio.h>

#include "base/value.h"
#include "prevail/infer.h"
#include "prevail/prevail.h"
#include "tool/command.h"

pv_result *cli_json_by_label(char *const *labels, int classes, const double *value); /* {label: value} */
pv_result *cli_json_warnings(const cli_call *call);
pv_result *cli_json_record(pv_ctx *ctx,
                           const pv_classifier *classifier); /* how it was fitted; an empty object without a record */
void cli_json_write(pv_ctx *ctx, FILE *out, const pv_result *object); /* indented, with a final line feed */
/* Prints to standard output, with the number of ranks if there are several, and frees the object. */
void cli_json_print(const cli_call *call, pv_result *object);

#endif
