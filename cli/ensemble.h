/* cli/ensemble.h: several models used as one. */
#ifndef PREVAIL_CLI_ENSEMBLE_H
#define PREVAIL_CLI_ENSEMBLE_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

#define CLI_OPTION_ENSEMBLE(type, field)                                                                               \
    {                                                                                                                  \
        "ensemble", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "MODEL,...",                              \
            "Further model files, such as other seeds or folds: the probabilities are the mean of all models, each "   \
            "for the population. Labels and columns must be the same; for --population true also the prevalence."      \
    }

/* The names in a list A,B,C, at least one; the caller frees array and text with a single free. */
char **cli_names(const char *list, size_t *count);
/* Averages the models in a list of names (NULL: none) into the first one's prediction. Returns an exit code. */
int cli_ensemble_add(cli_call *call, const char *list, const pv_ensemble_rows *rows, pv_prediction *mean);
pv_result *cli_json_ensemble(const char *list); /* an array of names, empty if list is NULL */

#endif
