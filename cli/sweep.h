/* cli/sweep.h: the options and results of a sweep, for the files of that command. */
#ifndef PREVAIL_CLI_SWEEP_H
#define PREVAIL_CLI_SWEEP_H

#include "prevail/prevail.h"
#include "tool/checkpoint.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/report.h"
#include "tool/training.h"

typedef struct sweep_options {
    cli_roles roles;
    pv_fit_options fit;
    const char *prevalence, *odds, *losses;
    int64_t folds, repeats;
    const char *holdout;
    const char *population, *stated_for;
    pv_unknown_options unknown; /* options for --population unknown */
    bool mixture;
    const char *mixture_prior;
    const char *output;
    report_options report;
    cli_running running;
    cli_checkpoint checkpoint;
} sweep_options;

/* A row of the result. */
typedef struct sweep_row {
    pv_loss loss;
    const char *prevalence; /* as given; "mixture" */
    pv_validation *v;
    size_t first;             /* the row it is compared with: the first with the same population */
    pv_assessment difference; /* its metrics minus those of that row; not set for the first row itself */
} sweep_row;

typedef struct sweep_work {
    const sweep_options *options;
    cli_training training;
    pv_table *holdout;
    pv_dataset *judged; /* from the hold-out file */
    char *list;         /* the list of prevalences, split in place */
    const char **prevalence;
    size_t prevalences;
    double *odds;     /* [prevalences], factors if there are strata; else NULL */
    char (*name)[40]; /* [prevalences], their names */
    pv_loss losses[PV_LOSSES];
    size_t n_losses;
    double *weight;  /* [prevalences] */
    sweep_row *rows; /* [n_losses][prevalences, plus one for the mixture] */
    size_t n_rows;
} sweep_work;

/* (sweep_results.c) */
void sweep_print_json(cli_call *call, const sweep_work *w);
void sweep_print_table(cli_call *call, const sweep_work *w);
int sweep_write_csv(cli_call *call, const sweep_work *w);
int sweep_write_report(cli_call *call, const sweep_work *w);

#endif
