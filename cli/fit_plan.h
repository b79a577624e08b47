/* cli/fit_plan.h: prevail fit --dry-run. */
#ifndef PV_CLI_FIT_PLAN_H
#define PV_CLI_FIT_PLAN_H

#include "prevail/prevail.h"
#include "tool/training.h"

/* Prints what a fit with these options would do. */
int cli_fit_plan(cli_call *call, const cli_training *training, const pv_fit_options *options, bool json);

#endif
