/* lab/common/grid_report.h: reports of grids of fits, for the studies of nodules and ratings. */
#ifndef PREVAIL_LAB_COMMON_GRID_REPORT_H
#define PREVAIL_LAB_COMMON_GRID_REPORT_H

#include "prevail/prevail.h"
#include "lab/common/grid.h"

/* Predictions adapted to the label proportions of the held-out rows, or the model's own for the given prevalence. */
enum { GRID_ADAPTED, GRID_OWN, GRID_PREDICTIONS };
enum { GRID_PAPER_IG, GRID_PAPER_IW, GRID_PAPER_LOSSES };

typedef struct grid_column {
    const char *name;  /* "holdout_nll", as in prevail eval */
    const char *title; /* at most six letters */
} grid_column;

typedef struct grid_reported {
    const char *title;
    const char *note;   /* printed below the description of the tables */
    int columns, shown; /* shown: the first columns, which are in the tables and in the paper */
    int paper_losses;   /* number of these that have three digits in the paper */
    const grid_column *column;
    /* Computes values [columns] for a fold. */
    pv_status (*judge)(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted, double *values);
    /* The paper's results [shown], NaN where it has NaN; NULL: none. */
    const double *(*paper)(int network, int design, const char *prevalence, int loss);
    const char *picture; /* prefix of the names of figures */
    int (*draw)(const grid *g, int network, int design, const char *name);
} grid_reported;

typedef struct grid_results {
    grid *g;
    const grid_reported *kind;
    double *value; /* [networks][designs][prevalences][methods][GRID_PREDICTIONS][folds][columns] */
} grid_results;

/* [folds][columns]; arguments are positions in the lists of the grid. */
double *grid_values(const grid_results *r, size_t network, size_t design, size_t prevalence, size_t method,
                    int predictions);

/* Evaluates all cells and prints, writes and draws the results. */
int grid_report(grid *g, const grid_reported *kind);

/* The values of the metrics that the columns name. */
void grid_metrics(const pv_metrics *metrics, int n, const grid_column *column, double *values);

/* ---- evaluation: grid_judge.c ------------------------------------------------------------------------------------ */

/* Held-out predictions of a cell in both populations. Clear with grid_judged_clear. */
typedef struct grid_judged {
    size_t rows, classes;
    double *loglik;                        /* [rows][classes], in the population of the fit */
    double log_marginal[GRID_CLASSES_MAX]; /* of loglik */
    double *log_p;                         /* [rows][classes], adapted or equal to loglik */
} grid_judged;

grid_judged grid_judged_new(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted);
void grid_judged_clear(grid_judged *judged);
/* The metrics of prevail eval. For predictions that are not adapted, holdout_nll is their mean log-loss. */
PV_MUST_USE pv_status grid_assess(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted,
                                  const grid_judged *judged, pv_metrics *metrics);

#endif
