/* cli/report_sections.h: sections of reports that several commands use. */
#ifndef PREVAIL_CLI_REPORT_SECTIONS_H
#define PREVAIL_CLI_REPORT_SECTIONS_H

#include "prevail/prevail.h"
#include "tool/command.h"

/* ---- validations: report_validation.c ---------------------------------------------------------------------------- */

typedef struct report_validated {
    char *const *labels;
    const char *target;
    const pv_validation *validation;
} report_validated;

/* The sections on evaluated predictions, as computed by pv_validation_judge. */
int report_put_validated(cli_call *call, pv_report *report, const report_validated *validated, int64_t seed);
void report_put_folds(pv_report *report, const pv_validation *validation);
void report_put_source(cli_call *call, pv_report *report, const pv_table *table, const char *holdout, int64_t seed);

/* A row of a sweep; rows with the same loss are adjacent. */
typedef struct report_sweep_row {
    pv_loss loss;
    const char *prevalence; /* as given; "mixture" */
    bool odds;              /* it is a factor for the odds of the strata's prevalences */
    const pv_validation *validation;
} report_sweep_row;

int report_put_sweep(cli_call *call, pv_report *report, const report_sweep_row *rows, size_t n, int classes);
size_t report_best(const report_sweep_row *rows, size_t n); /* index of the row with the lowest held-out log-loss */

/* ---- models: report_model.c -------------------------------------------------------------------------------------- */

/* The model and its data, with the findings of diagnose. */
int report_put_model(cli_call *call, pv_report *report, const char *path, const pv_classifier *classifier);
/* (report_columns.c) Risk along each column, predicted and observed; nothing if the population is unknown. */
/* The test of label shift for an unknown prevalence; nothing if it was not done. */
int report_put_shift(cli_call *call, pv_report *report, const pv_unknown_prevalence *prevalence, char *const *labels);
int report_put_columns(cli_call *call, pv_report *report, const pv_classifier *classifier, const pv_dataset *data,
                       const pv_prediction *said);
int report_put_effects(cli_call *call, pv_report *report, const pv_classifier *classifier,
                       double level); /* for additive models */
int report_put_coefficients(cli_call *call, pv_report *report, const pv_classifier *classifier, double level);

#endif
