/* tool/data.h: tables, roles and models, as fit, predict and eval take them. */
#ifndef PREVAIL_TOOL_DATA_H
#define PREVAIL_TOOL_DATA_H

#include "prevail/prevail.h"
#include "tool/command.h"

typedef struct cli_roles {
    pv_roles roles;
    pv_image_options image;
    pv_csv_options csv;
} cli_roles;

#define CLI_OPTION_MISSING(type, field)                                                                                \
    {                                                                                                                  \
        "missing", PV_OPTION_CHOICE, offsetof(type, field), "refuse", 0, 0, "refuse|drop", NULL,                       \
            "What to do with rows that have missing cells: refuse the file and say where, or drop them and say how "   \
            "many."                                                                                                    \
    }

#define CLI_OPTION_MISSING_MODEL(type, field)                                                                          \
    {                                                                                                                  \
        "missing", PV_OPTION_CHOICE, offsetof(type, field), "model", 0, 0, "refuse|drop|indicator|impute|model",       \
            "WHAT",                                                                                                    \
            "Missing cells: refuse the file and say where; drop such rows and say how many; impute the mean, or the "  \
            "most frequent level, of the training table; or (model) what the model learned to do."                     \
    }
#define CLI_OPTION_UNSEEN(type, field)                                                                                 \
    {                                                                                                                  \
        "unseen", PV_OPTION_CHOICE, offsetof(type, field), "other", 0, 0, "other|missing|reference|refuse", NULL,      \
            "Levels of text columns that training did not have: as the levels that were rare there are on average, "   \
            "where there were such, else as missing; as missing cells; as the reference level; or refuse the file "    \
            "and "                                                                                                     \
            "say where."                                                                                               \
    }

/* What the command was told of how CSV files are written: pv_csv_option_table, where it has that. */
pv_csv_options cli_csv(const cli_call *call);
/* Reads a table as roles and schema need it; schema NULL: to learn one from. */
int cli_read(cli_call *call, const pv_schema *schema, const char *path, const pv_roles *roles, pv_table **table);
/* The column of weights: given, or that of the fit where the table has it; NULL: none. */
const char *cli_weights(const pv_classifier *classifier, const pv_table *table, const char *given);
/* Why rows were left out: "with missing cells", say; image NULL: a table's. size >= 96. */
const char *cli_left_out(const pv_image_encoding *image, char *text, size_t size);
/* path NULL: not named. image: NULL where rows are not images. */
void cli_note_dropped(cli_call *call, const char *path, const pv_image_encoding *image, size_t dropped);
/* The error of a file that has no row, or none without missing cells. */
int cli_no_rows(cli_call *call, const char *path, size_t dropped);
double *cli_log(const double *p, int n); /* the caller frees */

#endif
