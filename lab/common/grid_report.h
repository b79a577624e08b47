/* lab/common/grid_report.h: how the studies of nodules and of ratings show a grid of fits. */
#ifndef PREVAIL_LAB_COMMON_GRID_REPORT_H
#define PREVAIL_LAB_COMMON_GRID_REPORT_H

#include "prevail/prevail.h"
#include "lab/common/grid.h"

/* Predictions adapted to the label shares of the rows held out, or the model's own, for the stated prevalence. */
enum { GRID_ADAPTED, GRID_OWN, GRID_PREDICTIONS };
enum { GRID_PAPER_IG, GRID_PAPER_IW, GRID_PAPER_LOSSES };

typedef struct grid_column {
    const char *name;  /* "holdout_nll", as in prevail eval */
    const char *title; /* of at most six letters */
} grid_column;

typedef struct grid_reported {
    const char *title;
    const char *note;   /* below the description of the tables */
    int columns, shown; /* the first ones are in the tables and in the paper */
    int paper_losses;   /* of these, so many have three digits in the paper */
    const grid_column *column;
    /* values [columns] of a fold */
    pv_status (*judge)(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted, double *values);
    /* The paper's numbers [shown], NaN where it has NaN; NULL: it has none. */
    const double *(*paper)(int network, int design, const char *prevalence, int loss);
    const char *picture; /* its name begins with this */
    int (*draw)(const grid *g, int network, int design, const char *name);
} grid_reported;

typedef struct grid_results {
    grid *g;
    const grid_reported *kind;
    double *value; /* [networks][designs][prevalences][methods][GRID_PREDICTIONS][folds][columns] */
} grid_results;

/* [folds][columns]; places in the lists of the grid. */
double *grid_values(const grid_results *r, size_t network, size_t design, size_t prevalence, size_t method,
                    int predictions);

/* Judges all cells and writes, prints and draws the results. */
int grid_report(grid *g, const grid_reported *kind);

/* Values of the columns that are metrics of these names. */
void grid_metrics(const pv_metrics *metrics, int n, const grid_column *column, double *values);

/* ---- judging: grid_judge.c --------------------------------------------------------------------------------------- */

/* Held-out predictions of a cell in both populations. The caller clears. */
typedef struct grid_judged {
    size_t rows, classes;
    double *loglik;                        /* [rows][classes], in the stated population */
    double log_marginal[GRID_CLASSES_MAX]; /* of these */
    double *log_p;                         /* [rows][classes], adapted or the same */
} grid_judged;

grid_judged grid_judged_new(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted);
void grid_judged_clear(grid_judged *judged);
/* The metrics of prevail eval. holdout_nll of predictions that are not adapted is their mean log-loss as they are. */
PV_MUST_USE pv_status grid_assess(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted,
                                  const grid_judged *judged, pv_metrics *metrics);

#endif
