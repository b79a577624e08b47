/* tool/data.h: tables, roles and models, as fit, predict and eval take them. */
#ifndef PREVAIL_TOOL_DATA_H
#define PREVAIL_TOOL_DATA_H

#include "prevail/prevail.h"
#include "tool/command.h"

typedef struct cli_roles {
    pv_roles roles;
    const char *group; /* --group, a column of the table; never a feature. NULL: none */
    pv_image_options image;
} cli_roles;

#define CLI_OPTION_MISSING(type, field)                                                                                \
    {                                                                                                                  \
        "missing", PV_OPTION_EITHER, offsetof(type, field), "refuse", 0, 0, "refuse|drop", NULL,                       \
            "What to do with rows that have missing cells: refuse the file and say where, or drop them and say how "   \
            "many."                                                                                                    \
    }

/* Reads path; the columns named in text (n of them) are read as text. */
int cli_read_for_fit(cli_call *call, const char *path, const pv_roles *roles, pv_table **table);
/* Reads a table for a model: text columns as in training, the target and id (where named) as text. */
int cli_read_for_model(cli_call *call, const pv_encoding *encoding, const char *path, const pv_roles *roles,
                       pv_table **table);
/* The column of weights: given, or that of the fit where the table has it; NULL: none. */
const char *cli_weights(const pv_classifier *classifier, const pv_table *table, const char *given);
/* Why rows were left out: "with missing cells", say; image NULL: a table's. size >= 96. */
const char *cli_left_out(const pv_image_encoding *image, char *text, size_t size);
void cli_note_dropped(cli_call *call, const char *path, const pv_dataset *data); /* path NULL: not named */
double *cli_log(const double *p, int n);                                         /* the caller frees */

#endif
