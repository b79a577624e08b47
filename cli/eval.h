/* cli/eval.h: what the files of prevail eval share. */
#ifndef PREVAIL_CLI_EVAL_H
#define PREVAIL_CLI_EVAL_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/report.h"

typedef struct eval_options {
    const char *target;
    const char *probs;
    const char *columns;
    const char *from;
    const char *positive;
    const char *population;
    const char *stated_for;
    const char *votes;
    const char *binarise; /* the middle grade */
    const char *ensemble;
    const char *weights;
    bool missing; /* those rows are dropped */
    double interval;
    int64_t bootstrap;
    int64_t seed;
    const char *curves;
    int64_t points, bins;
    double threshold;
    report_options report;
    const char *training;
    pv_unknown_options unknown; /* --population unknown: how */
    cli_running running;
} eval_options;

/* What is judged, whether a model or a file of probabilities gave it. */
typedef struct eval_inputs {
    char **labels;     /* [classes], borrowed */
    char **own_labels; /* of the predictions; with --binarise others */
    size_t own_rows;   /* rows, the uncertain ones included */
    int classes;
    int positive; /* label that rates and curves speak of */
    pv_targets targets;
    size_t rows; /* that count; those of targets without missing votes */
    size_t dropped;
    size_t uncertain;     /* --binarise: rows that stand apart */
    char *sides[2];       /* --binarise: the labels */
    double *log_p;        /* [rows][classes], in the population asked for */
    double *loglik;       /* [rows][classes], in the population the model was made for */
    double *log_marginal; /* [classes] of loglik; NULL: unknown */
    double *prevalence;   /* [classes], of the population asked for; NULL: unknown */
    double *stated;       /* [classes], that the metrics are stated for; NULL: the rows as they are */
    double *observed;     /* [classes], label shares of the rows */
    /* owned */
    pv_classifier *classifier;
    pv_table *table;
    pv_dataset *data;
    pv_probs *probs;
    pv_prediction *said; /* of a model: log_p and the rest lie in it */
    double *frequency, *weight;
    pv_unknown_prevalence *target; /* --population unknown: what was inferred */
} eval_inputs;

/* ---- eval_inputs.c ----------------------------------------------------------------------------------------------- */

/* Reads, predicts in the population asked for; the caller clears, whatever the exit code. */
int eval_read(cli_call *call, const eval_options *options, eval_inputs *inputs);
void eval_clear(cli_call *call, eval_inputs *inputs);

/* ---- eval_report.c ----------------------------------------------------------------------------------------------- */

typedef struct eval_curves {
    pv_curve curve[PV_CURVES];
} eval_curves;

void eval_print_json(const cli_call *call, const eval_options *options, const eval_inputs *inputs,
                     const pv_assessment *found, const eval_curves *curves); /* curves NULL: none */
void eval_print_table(const cli_call *call, const eval_options *options, const eval_inputs *inputs,
                      const pv_assessment *found);
/* Refuses, before any work, a folder for curves that is a file. */
/* One CSV file for each curve in a folder, which is made where there is none. */
int eval_write_curves(cli_call *call, const char *folder, const eval_curves *curves);
/* Whether the rows' shares are far from those of the population, so that metrics of the rows mislead about it. */
bool eval_shares_differ(const eval_inputs *inputs);

/* ---- report_eval.c ----------------------------------------------------------------------------------------------- */

int eval_write_report(cli_call *call, const eval_options *options, const eval_inputs *inputs,
                      const pv_assessment *found);

#endif
