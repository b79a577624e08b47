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

/* What the first model gave, to which the others are added. Borrowed. */
typedef struct cli_ensemble {
    const pv_classifier *first;
    const pv_table *table;
    const pv_roles *roles; /* as the first model's rows were read */
    const pv_population *population;
    pv_prediction *mean; /* so far */
} cli_ensemble;

/* Adds the models in a list of names; NULL: none. Returns an exit code. */
int cli_ensemble_add(cli_call *call, const char *list, const cli_ensemble *ensemble);
json_t *cli_json_ensemble(const char *list); /* an array of names, empty for NULL */

#endif
