/* cli/ensemble.h: several models as one. */
#ifndef PREVAIL_CLI_ENSEMBLE_H
#define PREVAIL_CLI_ENSEMBLE_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

#define CLI_OPTION_ENSEMBLE(type, field)                                                                               \
    {                                                                                                                  \
        "ensemble", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "MODEL,...",                              \
            "Further model files, of other seeds or folds say: the probabilities are the mean of all, each in the "    \
            "population asked for. Labels and columns must be the same; for --population true the prevalence too."     \
    }

/* The names in a list A,B,C, at least one; freed by the caller with free, text and all. */
char **cli_names(const char *list, size_t *count);
/* Adds the models in a list of names, NULL: none, to the first one's prediction. Returns an exit code. */
int cli_ensemble_add(cli_call *call, const char *list, const pv_ensemble_rows *rows, pv_prediction *mean);
json_t *cli_json_ensemble(const char *list); /* an array of names, empty for NULL */

#endif
