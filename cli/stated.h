/* cli/stated.h: --stated-for, as eval, cv and sweep have it. */
#ifndef PREVAIL_CLI_STATED_H
#define PREVAIL_CLI_STATED_H

#include "tool/command.h"

/* what: "metrics are". */
#define CLI_OPTION_STATED(type, field, fallback, what)                                                                 \
    {                                                                                                                  \
        "stated-for", PV_OPTION_TEXT, offsetof(type, field), fallback, 0, 0, NULL, "rows|population|P",                \
            "The population that " what " stated for: rows, the rows as they are; population, that of "                \
            "--population; or a prevalence as for fit --prevalence. Rows are then weighted label by label."            \
    }

#endif
