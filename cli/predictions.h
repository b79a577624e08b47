/* cli/predictions.h: probabilities and decisions as CSV. */
#ifndef PREVAIL_CLI_PREDICTIONS_H
#define PREVAIL_CLI_PREDICTIONS_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* A column of its own: words, or numbers from 1 where there are no words. */
typedef struct cli_extra {
    const char *name;
    const int32_t *code; /* [rows], from 0 */
    char *const *word;   /* NULL: none */
} cli_extra;

/* Options of predict and adjust. */
#define CLI_OPTION_COSTS(type, field)                                                                                  \
    {                                                                                                                  \
        "costs", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "FILE|fp=X,fn=Y",                            \
            "A CSV file of costs: a row for each action, its name first, then a column for each label; or, of two "    \
            "labels, what a false positive and a false negative cost, fp=1,fn=50 (and tp=, tn=), whose actions are "   \
            "treat and none. Decisions are the actions of least expected cost. Printed with their numbers, their "     \
            "expected total cost, and that of each action for everyone."                                               \
    }
#define CLI_OPTION_LABELS(type, field)                                                                                 \
    {                                                                                                                  \
        "labels", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "COL",                                      \
            "A column with the labels of some rows, empty for the others. Labels that are known count towards the "    \
            "prevalence; the probabilities of such rows stay predictions."                                             \
    }

typedef struct cli_predictions {
    char *const *labels;
    int classes;
    size_t rows;
    const double *p;       /* [rows][classes] */
    const double *lo, *hi; /* [rows][classes]; NULL: none */
    const double *lp;      /* [rows], linear predictors in the place of probabilities and decisions; NULL: none */
    const pv_costs *costs; /* NULL: the decision is the most probable label */
    const pv_table *table; /* what columns are copied from */
    const size_t *row;     /* [rows], in the table; NULL: the same */
    const size_t *copy;    /* [copies], columns of the table that come first; none: the row's number */
    size_t copies;
    const cli_extra *extra; /* [extras], columns between those and the probabilities */
    size_t extras;
    size_t before; /* rows of the table's source before it */
} cli_predictions;

/* What was decided over all pieces. Owned: cli_decided_free. */
typedef struct cli_decided {
    size_t rows;
    size_t *count; /* [actions], rows that it is best for */
    double cost;   /* expected, of all decisions */
    double *alone; /* [actions], expected, were it taken for every row */
} cli_decided;

/* Predictions that come in pieces, all with the columns of the first, which is there already. read: the next rows, in
 * the place of those before; where there are none, these stay and *more is false. compute: their predictions. show:
 * what is to be written of them, until the next are read. Codes are CLI_OK, or of an error that was told. */
typedef struct cli_pieces {
    int (*read)(cli_call *call, void *state, bool *more);
    int (*compute)(cli_call *call, void *state);
    const cli_predictions *(*show)(void *state);
    void *state;
    cli_decided *decided; /* where predictions have costs, what was decided is added to it; NULL: not needed */
} cli_pieces;

/* To a file, CSV or Parquet by its name, or to standard output (NULL or "-"). Rows are formatted by all threads and
 * written in order; an interrupt leaves no file behind. */
int cli_write_predictions(cli_call *call, const cli_predictions *predictions, const char *output);
int cli_write_pieces(cli_call *call, const cli_pieces *pieces, const char *output);
/* Whether the output is a file that is there whole or not at all. */
bool cli_replaces_file(const char *output);
/* Whether the output can be had at all: before any work. */
int cli_check_output(cli_call *call, const char *output);
/* Reads --costs; *costs is NULL where path is. */
int cli_read_costs(cli_call *call, const char *path, char *const *labels, int classes, pv_costs **costs);
/* The thresholds of two classes: as notes, and as JSON (null where there are no costs). */
void cli_note_costs(cli_call *call, const pv_costs *costs, char *const *labels);
/* What was decided, and what it is expected to cost; nothing without costs. */
void cli_note_decided(cli_call *call, const pv_costs *costs, const cli_decided *decided);
json_t *cli_json_decided(const pv_costs *costs, const cli_decided *decided); /* null without costs */
void cli_decided_free(cli_decided *decided);
json_t *cli_json_costs(const pv_costs *costs, char *const *labels);

#endif
