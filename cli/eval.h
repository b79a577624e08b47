/* cli/eval.h: declarations shared by the files of prevail eval. */
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
    const char *cluster;
    int missing; /* pv_missing */
    int unseen;  /* pv_unseen */
    double interval;
    int64_t bootstrap;
    int64_t seed;
    const char *curves;
    int64_t points, bins;
    double threshold;
    const char *costs;
    bool all;
    report_options report;
    const char *training;
    bool importance;
    pv_importance_options permuted;
    pv_unknown_options unknown; /* options for --population unknown */
    cli_running running;
    pv_csv_options csv;
} eval_options;

/* Results at a threshold, or with costs. Free with eval_clear. */
typedef struct eval_decision {
    size_t count;    /* number of thresholds; 0: none requested */
    pv_rates *rates; /* [count], at each threshold */
    size_t *action;  /* [count + 1], with costs: the best actions, in order of increasing probability */
    pv_rate cost;    /* with costs: per person */
    pv_rate *alone;  /* [actions], with costs: of each action if taken for everyone */
} eval_decision;

/* Another model compared with the first on the same rows. */
typedef struct eval_compared {
    char *name;
    pv_assessment found, difference; /* its own metrics, and those minus the first model's */
} eval_compared;

/* What is evaluated, whether from a model or a file of probabilities. Owns its members. */
typedef struct eval_inputs {
    const char *name;          /* name of the model file or of the file of probabilities. Borrowed */
    pv_classifier *classifier; /* NULL: --probs */
    pv_table *table;
    pv_dataset *data;
    pv_probs *probs;   /* has its own table and data set */
    const char *votes; /* columns of votes that define the labels, given or as in the fit; NULL: a single outcome
                          column. Borrowed */
    pv_prediction *said;
    pv_judgement *judged;
    pv_roles roles;            /* with a model: the roles of the table's columns */
    pv_population *population; /* with a model: population of the predictions */
    pv_importance *importance; /* NULL: not requested */
    pv_costs *costs;           /* NULL: none; the positive label is last */
    eval_decision decision;
    eval_compared *compared; /* [others] */
    size_t others;
} eval_inputs;

static inline const pv_dataset *eval_data(const eval_inputs *inputs) {
    return inputs->probs ? inputs->probs->data : inputs->data;
}

/* Whether the rows are those that the model was fitted on, according to the stored hash. */
static inline bool eval_is_training(const eval_inputs *inputs) {
    return inputs->classifier && inputs->data && inputs->data->hash == inputs->classifier->data_hash;
}

/* The labels of the predictions; with --binarise the evaluated labels differ. */
static inline char *const *eval_labels(const eval_inputs *inputs) {
    if (inputs->probs)
        return inputs->probs->labels;
    return inputs->classifier ? inputs->classifier->schema->labels : NULL;
}

/* ---- eval_inputs.c ----------------------------------------------------------------------------------------------- */

/* Reads inputs->name, predicts in the requested population, and evaluates. The caller clears inputs, also on
 * failure. */
int eval_judge(cli_call *call, const eval_options *options, eval_inputs *inputs);
void eval_clear(cli_call *call, eval_inputs *inputs);

/* ---- eval_report.c ----------------------------------------------------------------------------------------------- */

typedef struct eval_curves {
    pv_curve curve[PV_CURVES];
} eval_curves;

void eval_print_metric(const pv_metric_row *row, int classes, const pv_assessment *found); /* without a line break */
void eval_print_json(const cli_call *call, const eval_options *options, const eval_inputs *inputs,
                     const eval_curves *curves); /* curves NULL: none */
void eval_print_table(const cli_call *call, const eval_options *options, const eval_inputs *inputs);
/* Writes one CSV file per curve to a folder, which is created if necessary. */
int eval_write_curves(cli_call *call, const char *folder, const eval_curves *curves);

/* ---- eval_decision.c --------------------------------------------------------------------------------------------- */

/* Evaluates decisions if a threshold or costs were given. */
int eval_decision_find(cli_call *call, const eval_options *options, eval_inputs *inputs);
void eval_decision_print(const eval_inputs *inputs);      /* prints nothing if there are none */
pv_result *eval_decision_json(const eval_inputs *inputs); /* null if there are none */
void eval_decision_clear(cli_call *call, eval_inputs *inputs);

/* ---- eval_compare.c ---------------------------------------------------------------------------------------------- */

int eval_compare_check(cli_call *call, const eval_options *options);
/* Evaluates the models or files of probabilities of --compare on the same rows; does nothing if none were named. */
int eval_compare_find(cli_call *call, const eval_options *options, eval_inputs *inputs);
void eval_compare_print(const eval_options *options, const eval_inputs *inputs); /* prints nothing if there are none */
pv_result *eval_compare_json(pv_ctx *ctx, const eval_inputs *inputs);            /* a list, empty if there are none */
void eval_compare_clear(cli_call *call, eval_inputs *inputs);

/* ---- eval_importance.c ------------------------------------------------------------------------------------------- */

/* Computes it if it was requested, or if a report shows it. */
int eval_importance_find(cli_call *call, const eval_options *options, eval_inputs *inputs);
void eval_importance_print(const eval_inputs *inputs);      /* prints nothing if there is none */
pv_result *eval_importance_json(const eval_inputs *inputs); /* null if there is none */
int eval_importance_report(cli_call *call, pv_report *report, const eval_inputs *inputs);

/* ---- report_eval.c ----------------------------------------------------------------------------------------------- */

int eval_write_report(cli_call *call, const eval_options *options, const eval_inputs *inputs);

#endif
