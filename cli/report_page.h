/* cli/report_page.h: reports of commands, from the parts that they share. */
#ifndef PREVAIL_CLI_REPORT_PAGE_H
#define PREVAIL_CLI_REPORT_PAGE_H

#include "common.h"
#include "prevail/report.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef struct report_options {
    const char *page;
    const char *figures;
} report_options;

#define CLI_OPTIONS_REPORT(type, field)                                                                                \
    {"report",                                                                                                         \
     PV_OPTION_TEXT,                                                                                                   \
     offsetof(type, field.page),                                                                                       \
     NULL,                                                                                                             \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     "FILE",                                                                                                           \
     "Write a report to this HTML file: one page that needs no network, with charts and an explorer of prevalences, "  \
     "costs and thresholds."},                                                                                         \
    {                                                                                                                  \
        "figures", PV_OPTION_TEXT, offsetof(type, field.figures), NULL, 0, 0, NULL, "DIR",                             \
            "Write each chart of the report to this folder, as SVG, and its data as CSV."                              \
    }

static inline bool report_wanted(const report_options *options) {
    return options->page || options->figures;
}

/* Refuses, before any work, a page or folder that could not be written, or that is an input (NULL: none). */
int report_check(cli_call *call, const report_options *options, const char *input);
/* Begins, and at the end writes: code is what came before. */
int report_begin(cli_call *call, const report_options *options, const char *title, const char *lead,
                 pv_report **report);
int report_end(cli_call *call, const report_options *options, pv_report *report, int code);

/* ---- tables: report_page.c --------------------------------------------------------------------------------------- */

/* Cells, row by row. */
typedef struct report_cells {
    char **cell;
    size_t count;
} report_cells;

void report_cell(report_cells *cells, const char *text); /* NULL: empty */
void report_cell_number(report_cells *cells, double value);
void report_cell_format(report_cells *cells, const char *format, ...) PV_PRINTF(2, 3);
/* Into the report; the cells are freed. columns: a letter for each, t for text, n for numbers. head may be NULL. */
void report_put_cells(pv_report *report, report_cells *cells, const char *caption, const char *columns,
                      const char *const *head, bool folded);

/* A paragraph or note of any length. */
void report_say(pv_report *report, const char *format, ...) PV_PRINTF(2, 3);
void report_note(pv_report *report, pv_note kind, const char *format, ...) PV_PRINTF(3, 4);

/* ---- judged predictions: report_judged.c, report_curves.c -------------------------------------------------------- */

typedef struct report_judged {
    char *const *labels;
    const char *target; /* name of the column; NULL: unknown */
    int classes, positive;
    size_t rows;
    const double *observed;   /* [classes] */
    const double *stated;     /* [classes], that the metrics are for */
    const double *population; /* [classes], that the predictions are for; NULL: unknown */
    const pv_assessment *found;
    double level;
    double offset;              /* of the explorer */
    double threshold;           /* where it starts; NaN: at the prevalence */
    int bins;                   /* of the calibration chart */
    const pv_ranking *training; /* of the training rows, reweighted; NULL: none */
    const char *caveat;         /* of the explorer; NULL: none */
    const char *advice;         /* how the metrics would be stated for the population; NULL: they are */
} report_judged;

/* A label as sentences name it: itself, or TARGET = LABEL where it is a number. */
const char *report_label(const report_judged *judged, int label, char *to, size_t size);
/* The sections from the answer to the decision curve. */
int report_put_judged(cli_call *call, pv_report *report, const report_judged *judged);
pv_status report_put_curves(cli_call *call, pv_report *report, const report_judged *judged, const pv_operating *at);
typedef struct report_names {
    char positive[400], negative[400];
} report_names;
void report_explorer(const report_judged *judged, report_names *names, pv_explorer *explorer);

/* ---- validations: report_validation.c ---------------------------------------------------------------------------- */

typedef struct report_validated {
    char *const *labels;
    int classes;
    const char *target;
    const pv_validation *validation;
} report_validated;

/* The sections of judged predictions, of the first repeat's out-of-fold probabilities, stated for the population that
 * they are for (of an unknown one: for the rows). */
int report_put_validated(cli_call *call, pv_report *report, const report_validated *validated, const char *population,
                         int64_t seed);
void report_put_folds(pv_report *report, const pv_validation *validation);
void report_put_warnings(cli_call *call, pv_report *report);
void report_put_source(cli_call *call, pv_report *report, const pv_table *table, const char *holdout, int64_t seed);

/* A row of a sweep, losses together. */
typedef struct report_sweep_row {
    pv_loss loss;
    const char *prevalence; /* as given; "mixture" */
    const pv_validation *validation;
} report_sweep_row;

int report_put_sweep(cli_call *call, pv_report *report, const report_sweep_row *rows, size_t n, int classes);
size_t report_best(const report_sweep_row *rows, size_t n); /* by held-out log-loss */

/* ---- studies: report_study.c ------------------------------------------------------------------------------------- */

/* Headings become sections, tables tables. The text is changed. */
void report_put_markdown(pv_report *report, char *text);

/* ---- models: report_model.c -------------------------------------------------------------------------------------- */

/* What was fitted on what, with the findings of diagnose. */
int report_put_model(cli_call *call, pv_report *report, const char *path, const pv_classifier *classifier);
int report_put_coefficients(cli_call *call, pv_report *report, const pv_classifier *classifier, double level);
/* How to reproduce it; names and values end with NULL. */
void report_put_provenance(cli_call *call, pv_report *report, const char *const *names, const char *const *values);

#endif
