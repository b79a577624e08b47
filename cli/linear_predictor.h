/* cli/linear_predictor.h: linear predictors as CSV. */
#ifndef PREVAIL_CLI_LINEAR_PREDICTOR_H
#define PREVAIL_CLI_LINEAR_PREDICTOR_H

#include "tool/command.h"

typedef struct cli_lp_options {
    const char *id, *output;
    int missing, unseen;
} cli_lp_options;

int cli_predict_lp(cli_call *call, const cli_lp_options *options);

#endif
