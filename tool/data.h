/* tool/data.h: tables, roles and models as inputs of fit, predict and eval. */
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
            "Rows with missing cells. refuse: stop and show where. drop: leave them out and report how many."          \
    }

#define CLI_OPTION_MISSING_MODEL(type, field)                                                                          \
    {                                                                                                                  \
        "missing", PV_OPTION_CHOICE, offsetof(type, field), "model", 0, 0, "refuse|drop|indicator|impute|model",       \
            "WHAT",                                                                                                    \
            "Missing cells. refuse: stop and show where. drop: leave such rows out and report how many. impute: the "  \
            "mean or most frequent level of the training table. model: as the model learned."                          \
    }
#define CLI_OPTION_UNSEEN(type, field)                                                                                 \
    {                                                                                                                  \
        "unseen", PV_OPTION_CHOICE, offsetof(type, field), "other", 0, 0, "other|missing|reference|refuse", NULL,      \
            "Levels of text columns that training did not have. other: the average of rare training levels, or "       \
            "missing if there were none. missing: a missing cell. reference: the reference level. refuse: stop and "   \
            "show where."                                                                                              \
    }

/* The command's options about the format of CSV files: pv_csv_option_table, if it has them. */
pv_csv_options cli_csv(const cli_call *call);
/* Reads a table as roles and schema require; schema NULL: for learning one. */
int cli_read(cli_call *call, const pv_schema *schema, const char *path, const pv_roles *roles, pv_table **table);
/* The column of weights: the one given, or that of the fit if the table has it; NULL: none. */
const char *cli_weights(const pv_classifier *classifier, const pv_table *table, const char *given);
/* Why rows were left out, such as "with missing cells"; image NULL: rows of a table. size >= 96. */
const char *cli_left_out(const pv_image_encoding *image, char *text, size_t size);
/* path NULL: unnamed. image: NULL if rows are not images. */
void cli_note_dropped(cli_call *call, const char *path, const pv_image_encoding *image, size_t dropped);
/* Reports that a file has no rows, or none without missing cells. */
int cli_no_rows(cli_call *call, const char *path, size_t dropped);
double *cli_log(const double *p, int n); /* the caller frees */

#endif
