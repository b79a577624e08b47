/* cli/fit_report.h: the report of prevail fit (report_fit.c). */
#ifndef PREVAIL_CLI_FIT_REPORT_H
#define PREVAIL_CLI_FIT_REPORT_H

#include "prevail/prevail.h"
#include "tool/report.h"

/* model: the file that it is saved in; NULL: none. */
int fit_write_report(cli_call *call, const report_options *options, const pv_classifier *classifier, const char *model,
                     double level);

#endif
