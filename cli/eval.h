/* cli/eval.h: what the files of prevail eval share. */
#ifndef PREVAIL_CLI_EVAL_H
#define PREVAIL_CLI_EVAL_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"
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
    const char *compare;
    const char *weights;
    int missing; /* pv_missing */
    int unseen;  /* pv_unseen */
    double interval;
    int64_t bootstrap;
    int64_t seed;
    const char *curves;
    int64_t points, bins;
    double threshold;
    const char *costs;
    report_options report;
    const char *training;
    bool importance;
    pv_importance_options permuted;
    pv_unknown_options unknown; /* --population unknown: how */
    cli_running running;
    pv_csv_options csv;
} eval_options;

/* What comes of a threshold, or of costs. Owned: eval_clear. */
typedef struct eval_decision {
    size_t count;    /* of thresholds; 0: none was asked for */
    pv_rates *rates; /* [count], each against what is below */
    size_t *action;  /* [count + 1], with costs: the best ones, by rising probability */
    pv_rate cost;    /* with costs, of a person */
    pv_rate *alone;  /* [actions], with costs, of each action for everyone */
} eval_decision;

/* How another model differs from the first on the same rows. */
typedef struct eval_compared {
    char *name;
    pv_assessment found, difference; /* its own, and that minus the first's */
} eval_compared;

/* What is judged, whether a model or a file of probabilities gave it. Owned. */
typedef struct eval_inputs {
    const char *name;          /* of the model's file, or of the probabilities. Borrowed */
    pv_classifier *classifier; /* NULL: --probs */
    pv_table *table;
    pv_dataset *data;
    pv_probs *probs;   /* with a table and a dataset of its own */
    const char *votes; /* columns that are the labels, given or as in the fit; NULL: a target is. Borrowed */
    pv_prediction *said;
    pv_judgement *judged;
    pv_roles roles;            /* a model: by which the rows were taken from the table */
    pv_population *population; /* a model: of the predictions */
    pv_importance *importance; /* NULL: not asked for */
    pv_costs *costs;           /* NULL: none; the positive label last */
    eval_decision decision;
    eval_compared *compared; /* [others] */
    size_t others;
} eval_inputs;

static inline const pv_dataset *eval_data(const eval_inputs *inputs) {
    return inputs->probs ? inputs->probs->data : inputs->data;
}

/* Whether the rows are those that the model was fitted on, by the hash it keeps. */
static inline bool eval_is_training(const eval_inputs *inputs) {
    return inputs->classifier && inputs->data && inputs->data->hash == inputs->classifier->data_hash;
}

/* The predictions' own; with --binarise those judged are others. */
static inline char *const *eval_labels(const eval_inputs *inputs) {
    if (inputs->probs)
        return inputs->probs->labels;
    return inputs->classifier ? inputs->classifier->schema->labels : NULL;
}

/* ---- eval_inputs.c ----------------------------------------------------------------------------------------------- */

/* Reads inputs->name, predicts in the population asked for, judges; the caller clears, whatever the exit code. */
int eval_judge(cli_call *call, const eval_options *options, eval_inputs *inputs);
void eval_clear(cli_call *call, eval_inputs *inputs);

/* ---- eval_report.c ----------------------------------------------------------------------------------------------- */

typedef struct eval_curves {
    pv_curve curve[PV_CURVES];
} eval_curves;

void eval_print_metric(const pv_metric_row *row, int classes, const pv_assessment *found); /* no line break */
void eval_print_json(const cli_call *call, const eval_options *options, const eval_inputs *inputs,
                     const eval_curves *curves); /* curves NULL: none */
void eval_print_table(const cli_call *call, const eval_options *options, const eval_inputs *inputs);
/* One CSV file for each curve in a folder, which is made where there is none. */
int eval_write_curves(cli_call *call, const char *folder, const eval_curves *curves);

/* ---- eval_decision.c --------------------------------------------------------------------------------------------- */

/* Where a threshold or costs were given. */
int eval_decision_find(cli_call *call, const eval_options *options, eval_inputs *inputs);
void eval_decision_print(const eval_inputs *inputs);   /* nothing where there is none */
json_t *eval_decision_json(const eval_inputs *inputs); /* null there */
void eval_decision_clear(cli_call *call, eval_inputs *inputs);

/* ---- eval_compare.c ---------------------------------------------------------------------------------------------- */

int eval_compare_check(cli_call *call, const eval_options *options);
/* Judges the models, or files of probabilities, of --compare on the same rows; nothing where none were named. */
int eval_compare_find(cli_call *call, const eval_options *options, eval_inputs *inputs);
void eval_compare_print(const eval_options *options, const eval_inputs *inputs); /* nothing where there are none */
json_t *eval_compare_json(const eval_inputs *inputs);                            /* a list, empty there */
void eval_compare_clear(cli_call *call, eval_inputs *inputs);

/* ---- eval_importance.c ------------------------------------------------------------------------------------------- */

/* Why it cannot be asked for, before any work. */
int eval_importance_check(cli_call *call, const eval_options *options);
/* Where it was asked for, or a report has room for it. */
int eval_importance_find(cli_call *call, const eval_options *options, eval_inputs *inputs);
void eval_importance_print(const eval_inputs *inputs);   /* nothing where there is none */
json_t *eval_importance_json(const eval_inputs *inputs); /* null there */
int eval_importance_report(cli_call *call, pv_report *report, const eval_inputs *inputs);

/* ---- report_eval.c ----------------------------------------------------------------------------------------------- */

int eval_write_report(cli_call *call, const eval_options *options, const eval_inputs *inputs);

#endif
