/* cli/methods.h: the methods paragraph and the items of TRIPOD+AI, printed and in reports (methods.c). */
#ifndef PREVAIL_CLI_METHODS_H
#define PREVAIL_CLI_METHODS_H

#include "prevail/methods.h"
#include "tool/command.h"

/* Each takes options as pv_methods does. classifier NULL: another model's probabilities were evaluated. */
int cli_print_methods(cli_call *call, const pv_classifier *classifier, const pv_methods_options *options, bool json);
int report_put_methods(cli_call *call, pv_report *report, const pv_classifier *classifier,
                       const pv_methods_options *options);

#endif
