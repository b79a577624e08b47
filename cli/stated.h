/* cli/stated.h: the option --stated-for of eval, cv and sweep. */
#ifndef PREVAIL_CLI_STATED_H
#define PREVAIL_CLI_STATED_H

#include "tool/command.h"

/* what: subject of the help text, such as "metrics are". */
#define CLI_OPTION_STATED(type, field, fallback, what)                                                                 \
    {                                                                                                                  \
        "stated-for", PV_OPTION_TEXT, offsetof(type, field), fallback, 0, 0, NULL, "rows|population|P",                \
            "The population that " what " for. rows: the rows as they are. population: that of --population. Or a "    \
            "prevalence as for fit --prevalence. Rows are then weighted by label."                                     \
    }

#endif
