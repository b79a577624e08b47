/* cli/predictions.h: probabilities and decisions as CSV. */
#ifndef PREVAIL_CLI_PREDICTIONS_H
#define PREVAIL_CLI_PREDICTIONS_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* An additional column: words, or numbers from 1 if there are no words. */
typedef struct cli_extra {
    const char *name;
    const int32_t *code; /* [rows], from 0 */
    char *const *word;   /* NULL: none */
} cli_extra;

/* Options of predict and adjust. */
#define CLI_OPTION_COSTS(type, field)                                                                                  \
    {                                                                                                                  \
        "costs", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "FILE|fp=X,fn=Y",                            \
            "A CSV file of costs: a row for each action, with its name first, then a column for each label; or, for "  \
            "two labels, the costs of a false positive and a false negative, fp=1,fn=50 (and tp=, tn=), with the "     \
            "actions treat and none. Decisions are the actions with the least expected cost. Prints the number of "    \
            "each, their expected total cost, and the cost of each action for everyone."                               \
    }
#define CLI_OPTION_LABELS(type, field)                                                                                 \
    {                                                                                                                  \
        "labels", PV_OPTION_TEXT, offsetof(type, field), NULL, 0, 0, NULL, "COL",                                      \
            "A column with the labels of some rows, empty for the others. Known labels contribute to the prevalence; " \
            "the probabilities of such rows are still predictions."                                                    \
    }

typedef struct cli_predictions {
    char *const *labels;
    int classes;
    size_t rows;
    const double *p;       /* [rows][classes] */
    const double *lo, *hi; /* [rows][classes]; NULL: none */
    const double *lp;      /* [rows], linear predictors instead of probabilities and decisions; NULL: none */
    const pv_costs *costs; /* NULL: the decision is the most probable label */
    const pv_table *table; /* the table from which columns are copied */
    const size_t *row;     /* [rows], row in the table; NULL: the same row */
    const size_t *copy;    /* [copies], columns of the table to copy to the front; none: the row's number */
    size_t copies;
    const cli_extra *extra; /* [extras], columns between the copied ones and the probabilities */
    size_t extras;
    size_t before;  /* number of rows that precede the table in its source */
    bool undecided; /* no column decision__ */
} cli_predictions;

/* Decisions over all pieces. Free with cli_decided_free. */
typedef struct cli_decided {
    size_t rows;
    size_t *count; /* [actions], number of rows for which each is best */
    double cost;   /* expected cost of all decisions */
    double *alone; /* [actions], expected cost if each were taken for every row */
} cli_decided;

/* Predictions in pieces, all with the columns of the first, which is already read. read: replaces the rows by the next
 * ones, or at the end keeps them and sets *more to false. compute: predicts. show: what to write, valid until the next
 * read. Functions return CLI_OK, or the code of an error that was already printed. */
typedef struct cli_pieces {
    int (*read)(cli_call *call, void *state, bool *more);
    int (*compute)(cli_call *call, void *state);
    const cli_predictions *(*show)(void *state);
    void *state;
    cli_decided *decided; /* with costs: a summary to which decisions are added; NULL: not needed */
} cli_pieces;

/* Writes to a file, CSV or Parquet by its name, or to standard output (NULL or "-"). All threads format rows, which are
 * written in order; an interruption leaves no file. */
int cli_write_predictions(cli_call *call, const cli_predictions *predictions, const char *output);
int cli_write_pieces(cli_call *call, const cli_pieces *pieces, const char *output);
/* Whether the output is a file, which is replaced completely or not at all. */
bool cli_replaces_file(const char *output);
/* Checks before any work that the output can be written. */
int cli_check_output(cli_call *call, const char *output);
/* Reads --costs; *costs is NULL if path is. */
int cli_read_costs(cli_call *call, const char *path, char *const *labels, int classes, pv_costs **costs);
/* The thresholds of two classes, as notes and as JSON (null without costs). */
void cli_note_costs(cli_call *call, const pv_costs *costs, char *const *labels);
/* Prints the decisions and their expected cost; nothing without costs. */
void cli_note_decided(cli_call *call, const pv_costs *costs, const cli_decided *decided);
pv_result *cli_json_decided(const pv_costs *costs, const cli_decided *decided); /* null without costs */
void cli_decided_free(cli_decided *decided);
pv_result *cli_json_costs(const pv_costs *costs, char *const *labels);

#endif
