/* tool/json.h: JSON out. */
#ifndef PREVAIL_TOOL_JSON_H
#define PREVAIL_TOOL_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "prevail/infer.h"
#include "prevail/prevail.h"
#include "tool/command.h"

void cli_json_prepare(void); /* before anything else of JSON */
/* Each takes its new reference and never fails; bytes that are no UTF-8 become U+FFFD. */
json_t *cli_json_object(void);
json_t *cli_json_array(void);
void cli_json_set(json_t *object, const char *key, json_t *value);
void cli_json_append(json_t *array, json_t *value);
json_t *cli_json_text(const char *text);
json_t *cli_json_real(double value);                                              /* null where not finite */
json_t *cli_json_by_label(char *const *labels, int classes, const double *value); /* {label: value} */
json_t *cli_json_warnings(const cli_call *call);
json_t *cli_json_record(const pv_classifier *classifier); /* how it was fitted; empty where there is no record */
void cli_json_write(FILE *out, const json_t *object);     /* indented, and a line feed */
/* To standard output, with the number of ranks where there are several, and releases it. */
void cli_json_print(const cli_call *call, json_t *object);

#endif
