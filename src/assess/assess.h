/* src/assess/assess.h: declarations shared by the files of this part. A case is the checked input of an evaluation; a
 * tally holds sums by label and the confusion matrix; a ladder holds the rows ordered by a score. Metrics, of all rows
 * as well as of bootstrap replicates, are computed from tallies and ladders alone.
 */
#ifndef PV_SRC_ASSESS_H
#define PV_SRC_ASSESS_H

#include "base/base.h"
#include "design/units.h"
#include "prevail/assess.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The labels that a row counts for: first <= y < last. Skip those with pv__row_mass 0. */
typedef struct pv__row {
    int first, last;
} pv__row;

static inline pv__row pv__row_labels(const pv_targets *targets, size_t n) {
    return targets->label ? (pv__row){targets->label[n], targets->label[n] + 1} : (pv__row){0, targets->classes};
}

static inline double pv__row_weight(const pv_targets *targets, size_t n) {
    return targets->weight ? targets->weight[n] : 1.0;
}

/* The mass that row n contributes to label y, one of pv__row_labels. */
static inline double pv__row_mass(const pv_targets *targets, size_t n, int y) {
    double share = targets->label ? 1.0 : targets->frequency[n * (size_t)targets->classes + (size_t)y];
    return pv__row_weight(targets, n) * share;
}

/* ---- cases (assess.c) -------------------------------------------------------------------------------------------- */

typedef struct pv__case {
    const pv_targets *targets;
    const double *log_p, *loglik, *log_marginal; /* as in pv_judged; loglik is never NULL */
    const double *log_loss;                      /* [n][classes], the log probabilities used for log_loss */
    int positive;
    double total;
    double *mass;           /* [classes], of the rows; start of one block */
    double *stated;         /* [classes], the masses for which metrics are reported; they sum to total */
    double *factor;         /* [classes], stated over mass; 0 if there are no rows */
    double *log_loss_share; /* [classes], label distribution of log_loss */
    double *offset;         /* [classes], log of the stated proportion - log marginal */
    bool missing;           /* a label of the stated population has no rows */
    /* With strata: the targets with weights adjusted to the population, and the original weights (NULL: 1), by which
     * rows are drawn. */
    pv_targets restated;
    const double *drawn;
    double *weight; /* of restated; freed with the case */
    int kinds;      /* number of groups within which rows are resampled: labels, or labels within strata */
} pv__case;

/* The number of rows that row n counts as in draws, and its group: its label, or its label within its stratum. */
static inline double pv__row_drawn(const pv__case *judged, size_t n, double mass) {
    return !judged->restated.n ? mass : judged->drawn ? judged->drawn[n] : 1;
}
static inline int32_t pv__row_kind(const pv__case *judged, size_t n, int y) {
    return judged->restated.n ? judged->restated.stratum[n] * judged->targets->classes + y : y;
}

/* log_loss NULL: log_p. The caller clears the case, also on failure. */
PV_MUST_USE pv_status pv__case_init(pv_ctx *ctx, const pv_targets *targets, const pv_judged *judged,
                                    const double *log_loss, const pv_assess_options *options, pv__case *made);
void pv__case_clear(pv_ctx *ctx, pv__case *made);
/* (restate.c) Adjusts weights to the population's strata, if the options have any. */
PV_MUST_USE pv_status pv__case_restate(pv_ctx *ctx, const pv_assess_options *options, pv__case *made);

/* ---- sums over rows (tally.c) ------------------------------------------------------------------------------------ */

typedef struct pv__tally {
    int classes;
    double *mass;            /* [classes]; start of one block */
    double *log_loss;        /* [classes], sums of losses */
    double *log_loss_mean;   /* [classes], running mean */
    double *log_loss_square; /* [classes], sum of squared deviations from the mean */
    double *holdout, *gain, *brier;
    double *observed, *decided; /* [classes], row and column sums of the matrix */
    double *confusion;          /* [classes][classes], observed, decided */
} pv__tally;

PV_MUST_USE pv_status pv__tally_new(pv_ctx *ctx, int classes, pv__tally *tally);
void pv__tally_clear(pv_ctx *ctx, pv__tally *tally);
void pv__tally_zero(pv__tally *tally);

/* Makes one pass over the rows; rejects predictions that are NaN. */
PV_MUST_USE pv_status pv__tally_rows(pv_ctx *ctx, const pv__case *judged, pv__tally *tally);

/* The losses of a row if its label were y. */
typedef struct pv__losses {
    double log_loss, holdout, gain, brier;
} pv__losses;

typedef struct pv__row_view {
    size_t first; /* index of its entries in [n][classes] */
    int decision;
    double normaliser; /* log normaliser of the adapted predictions */
    double squares;    /* sum of squared probabilities; only for more than two classes */
} pv__row_view;

pv__row_view pv__row_open(const pv__case *judged, size_t n);
pv__losses pv__row_losses(const pv__case *judged, const pv__row_view *row, int y);

/* The most probable label, the first if tied. */
int pv__decision(int classes, const double *log_p);

/* All metrics except auc and ece (decisions.c). Scales the confusion matrix to the stated masses. */
void pv__tally_metrics(const pv__case *judged, pv__tally *tally, pv_metrics *metrics);

/* ---- sorting (sort.c, ladder.c) ---------------------------------------------------------------------------------- */

/* Sorts scores (no NaN) in ascending order, and carried [n] with them. The sort is stable. */
PV_MUST_USE pv_status pv__sort_scores(pv_ctx *ctx, size_t n, double *score, uint32_t *carried);

/* Rows ordered by score. Two classes have one ladder, by log odds. More classes have one ladder each, by log
 * probability, whose channels are the labels, and one by the log probability of the decision, whose channels are wrong
 * and right (stated masses). */
typedef struct pv__ladder {
    size_t points;
    int channels;
    double *score;  /* [points], ascending; after coarsening, the log odds of p for two labels and NULL for more */
    double *mass;   /* [points][channels] */
    double *p;      /* [points], mean probability; NULL if ece does not need it */
    uint32_t *code; /* [n], the point of each row; NULL if not wanted */
    double line[2]; /* two labels: intercept and slope of the regression of the label on the log odds */
} pv__ladder;

/* Bootstrap replicates draw single rows up to PV_EXACT_ROWS, and points of a coarse ladder beyond. */
enum { PV_EXACT_ROWS = 8192, PV_COARSE_POINTS = 4096 };

int pv__ladders(int classes); /* number of ladders */
PV_MUST_USE pv_status pv__ladder_new(pv_ctx *ctx, const pv__case *judged, int which, bool want_code,
                                     pv__ladder *ladder);
/* Merges neighbours until at most `most` points are left, with about equal shares of each label; drops the scores. */
PV_MUST_USE pv_status pv__ladder_coarsen(pv_ctx *ctx, size_t rows, size_t most, pv__ladder *ladder);
void pv__ladder_clear(pv_ctx *ctx, pv__ladder *ladder);

/* Area under the ROC curve of this ladder's class against each other class, summed over these (two classes: the area).
 * Scratch [2 channels]. */
double pv__ladder_area(size_t points, int channels, const double *mass, int a, double *scratch);
/* Expected calibration error; the masses of the two channels are multiplied by factor0 and factor1. */
double pv__ladder_error(size_t points, const double *mass, const double *p, double factor0, double factor1);
/* (calibration.c) Two labels: calibration_ratio, calibration_slope and average_precision with these masses. line [2] is
 * the starting point of the search for intercept and slope (NaN: none), and then the result (NaN if there is no
 * solution). ctx NULL: uses the caller's thread alone. */
void pv__ladder_judge(pv_ctx *ctx, const pv__case *judged, const pv__ladder *ladder, const double *mass,
                      double tolerance, double *line, pv_metrics *metrics);

/* Rows ranked for one label. All other labels count as one, in their stated proportions. */
struct pv_ranking {
    size_t points;
    double *log_odds;      /* [points], descending */
    double *tp, *fp;       /* [points], mass of the positive label and of the others at or above this score */
    double *expected;      /* [points], expected positives among the stated mass, from the probabilities themselves */
    double rows_p, rows_n; /* total masses: numbers of rows for intervals */
    double stated_p, stated_n; /* total stated masses */
    double weight_p, weight_n; /* stated over counted mass; 0 if there are no rows */
};

PV_MUST_USE pv_status pv__ranking_make(pv_ctx *ctx, const pv__case *judged, const pv__ladder *ladder,
                                       pv_ranking **ranking);

/* ---- intervals (bootstrap.c, cells.c) ------------------------------------------------------------------------ */

/* Rows of one label, alone or with their neighbours in rank. */
typedef struct pv__cell {
    double rows;                      /* mass */
    double log_loss, log_loss_square; /* sum of deviations from the label's mean, and of their squares */
    double holdout, gain, brier;      /* sums */
    int32_t y, decision;
} pv__cell;

typedef struct pv__cells {
    size_t count;
    pv__cell *cell;
    int ladders;
    uint32_t *code;        /* [count][ladders], the cell's point in each ladder */
    int32_t *kind;         /* [count], label, or label within stratum; the arrays of a pv__units_design are per cell */
    double *people;        /* [count], number of rows to draw: the mass, unless rows are weighted to strata */
    int32_t *unit, *block; /* [count], what cells are drawn with, and a survey's stratum; NULL: each by itself, none */
    pv__units *units;
} pv__cells;

/* single: one cell per row and label, regardless of their number. */
PV_MUST_USE pv_status pv__cells_new(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally,
                                    const pv__ladder *ladders, bool single, pv__cells *cells);
void pv__cells_clear(pv_ctx *ctx, pv__cells *cells);
const char *pv__cells_drawn(const pv__case *judged, const pv__cells *cells); /* as in pv_assessment */

/* Intervals of the metrics in assessment->value; ladders [pv__ladders] must be coarse. */
PV_MUST_USE pv_status pv__bootstrap(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally,
                                    const pv__ladder *ladders, const pv_assess_options *options,
                                    pv_assessment *assessment);

#endif
