/* src/assess/assess.h: what the files of this part share. A case is what is judged, checked; a tally holds sums by
 * label and the confusion matrix; a ladder holds the rows in order of a score. Metrics are computed from tallies and
 * ladders alone, those of all rows and those of a bootstrap replicate alike.
 */
#ifndef PV_SRC_ASSESS_H
#define PV_SRC_ASSESS_H

#include "base/base.h"
#include "prevail/assess.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The labels a row counts for: first <= y < last, each with pv__row_mass > 0 or to be skipped. */
typedef struct pv__row {
    int first, last;
} pv__row;

static inline pv__row pv__row_labels(const pv_targets *targets, size_t n) {
    return targets->label ? (pv__row){targets->label[n], targets->label[n] + 1} : (pv__row){0, targets->classes};
}

static inline double pv__row_weight(const pv_targets *targets, size_t n) {
    return targets->weight ? targets->weight[n] : 1.0;
}

/* The mass row n lends to label y, one of pv__row_labels. */
static inline double pv__row_mass(const pv_targets *targets, size_t n, int y) {
    double share = targets->label ? 1.0 : targets->frequency[n * (size_t)targets->classes + (size_t)y];
    return pv__row_weight(targets, n) * share;
}

/* ---- cases (assess.c) -------------------------------------------------------------------------------------------- */

typedef struct pv__case {
    const pv_targets *targets;
    const double *log_p, *loglik, *log_marginal; /* as in pv_judged; loglik is never NULL */
    const double *nell;                          /* [n][classes], the log probabilities that nell judges */
    int positive;
    double total;
    double *mass;       /* [classes], of the rows; the start of one block */
    double *stated;     /* [classes], the masses the metrics are stated for; they sum to total */
    double *factor;     /* [classes], stated over mass; 0 where there are no rows */
    double *nell_share; /* [classes], label distribution of nell */
    double *offset;     /* [classes], log stated share - log marginal */
    bool missing;       /* a label of the stated population has no rows */
    /* Strata: the targets with the weights that state them, and those they had (NULL: 1), which rows are drawn by. */
    pv_targets restated;
    const double *drawn;
    double *weight; /* of restated; freed with the case */
    int kinds;      /* of rows, drawn each on its own: labels, or labels in strata */
} pv__case;

/* How many rows row n is drawn as, and within which: those of its label, or of its label and stratum. */
static inline double pv__row_drawn(const pv__case *judged, size_t n, double mass) {
    return !judged->restated.n ? mass : judged->drawn ? judged->drawn[n] : 1;
}
static inline int32_t pv__row_kind(const pv__case *judged, size_t n, int y) {
    return judged->restated.n ? judged->restated.stratum[n] * judged->targets->classes + y : y;
}

/* nell NULL: log_p. The caller clears the case, whatever the status. */
PV_MUST_USE pv_status pv__case_init(pv_ctx *ctx, const pv_targets *targets, const pv_judged *judged, const double *nell,
                                    const pv_assess_options *options, pv__case *made);
void pv__case_clear(pv_ctx *ctx, pv__case *made);
/* (strata.c) Weights rows to the population's strata, where the options have some. */
PV_MUST_USE pv_status pv__case_restate(pv_ctx *ctx, const pv_assess_options *options, pv__case *made);

/* ---- sums over rows (tally.c) ------------------------------------------------------------------------------------ */

typedef struct pv__tally {
    int classes;
    double *mass;        /* [classes]; the start of one block */
    double *nell;        /* [classes], sums of losses */
    double *nell_mean;   /* [classes], running */
    double *nell_square; /* [classes], sum of squared deviations from the mean */
    double *holdout, *gain, *brier;
    double *observed, *decided; /* [classes], sums of the matrix */
    double *confusion;          /* [classes][classes], observed, decided */
} pv__tally;

PV_MUST_USE pv_status pv__tally_new(pv_ctx *ctx, int classes, pv__tally *tally);
void pv__tally_clear(pv_ctx *ctx, pv__tally *tally);
void pv__tally_zero(pv__tally *tally);

/* One pass over the rows; refuses predictions that are not numbers. */
PV_MUST_USE pv_status pv__tally_rows(pv_ctx *ctx, const pv__case *judged, pv__tally *tally);

/* The losses of a row were its label y. */
typedef struct pv__losses {
    double nell, holdout, gain, brier;
} pv__losses;

typedef struct pv__row_view {
    size_t first; /* of its entries in [n][classes] */
    int decision;
    double normaliser; /* of the adapted predictions, a logarithm */
    double squares;    /* sum of squared probabilities; more than two classes */
} pv__row_view;

pv__row_view pv__row_open(const pv__case *judged, size_t n);
pv__losses pv__row_losses(const pv__case *judged, const pv__row_view *row, int y);

/* The most probable label, the first if tied. */
int pv__decision(int classes, const double *log_p);

/* All metrics but auc and ece (decisions.c). The confusion matrix is scaled to the stated masses. */
void pv__tally_metrics(const pv__case *judged, pv__tally *tally, pv_metrics *metrics);

/* ---- order (sort.c, ladder.c) ------------------------------------------------------------------------------------ */

/* Sorts scores (no NaN) ascending, and carried [n] with them; equal ones keep their order. */
PV_MUST_USE pv_status pv__sort_scores(pv_ctx *ctx, size_t n, double *score, uint32_t *carried);

/* Two classes have one ladder, by the log odds. More have one for each class by its log probability, channels the
 * labels, and one by that of the decision, channels wrong and right (stated masses). */
typedef struct pv__ladder {
    size_t points;
    int channels;
    double *score;  /* [points], ascending; of a coarse one of two labels the log odds of p, of others NULL */
    double *mass;   /* [points][channels] */
    double *p;      /* [points], mean probability; NULL where ece does not need it */
    uint32_t *code; /* [n], the point of each row; NULL where not wanted */
    double line[2]; /* two labels: intercept and slope of the label on the log odds */
} pv__ladder;

/* Bootstrap replicates draw single rows up to so many, then points of so coarse a ladder. */
enum { PV_EXACT_ROWS = 8192, PV_COARSE_POINTS = 4096 };

int pv__ladders(int classes); /* how many there are */
PV_MUST_USE pv_status pv__ladder_new(pv_ctx *ctx, const pv__case *judged, int which, bool want_code,
                                     pv__ladder *ladder);
/* Joins neighbours until at most `most` points are left, an even share of each label in each; drops the scores. */
PV_MUST_USE pv_status pv__ladder_coarsen(pv_ctx *ctx, size_t rows, size_t most, pv__ladder *ladder);
void pv__ladder_clear(pv_ctx *ctx, pv__ladder *ladder);

/* Area for the class of this ladder against each other one, summed over these (two classes: the area). Scratch
 * [2 channels]. */
double pv__ladder_area(size_t points, int channels, const double *mass, int a, double *scratch);
/* Expected calibration error; the masses of the two channels count as factor times themselves. */
double pv__ladder_error(size_t points, const double *mass, const double *p, double factor0, double factor1);
/* (calibration.c) Two labels: calibration_ratio, calibration_slope and average_precision with these masses. line [2]:
 * where the search for the slope starts, NaN: nowhere near; then intercept and slope, NaN where there are none. ctx
 * NULL: on the caller's thread alone. */
void pv__ladder_judge(pv_ctx *ctx, const pv__case *judged, const pv__ladder *ladder, const double *mass,
                      double tolerance, double *line, pv_metrics *metrics);

/* The others' masses count as those of one label with their stated mix. */
struct pv_ranking {
    size_t points;
    double *log_odds;          /* [points], descending */
    double *tp, *fp;           /* [points], mass of the positive label, and of the others, at this score or above */
    double *expected;          /* [points], of their stated mass what is positive by the probabilities themselves */
    double rows_p, rows_n;     /* masses in all: numbers of rows for intervals */
    double stated_p, stated_n; /* stated masses */
    double weight_p, weight_n; /* stated over counted mass; 0 without rows */
};

PV_MUST_USE pv_status pv__ranking_make(pv_ctx *ctx, const pv__case *judged, const pv__ladder *ladder,
                                       pv_ranking **ranking);

/* ---- intervals (bootstrap.c, cells.c) ------------------------------------------------------------------------ */

/* What is drawn: rows of one label, alone or with their neighbours in rank. */
typedef struct pv__cell {
    double rows;                 /* mass */
    double drawn;                /* how many rows are drawn: the mass, unless rows are weighted to strata */
    double nell, nell_square;    /* sums of deviations from the label's mean, and of their squares */
    double holdout, gain, brier; /* sums */
    int32_t y, decision, kind;
} pv__cell;

typedef struct pv__cells {
    size_t count;
    pv__cell *cell;
    int ladders;
    uint32_t *code; /* [count][ladders], the cell's point in each */
} pv__cells;

/* single: one for each row and label, however many. */
PV_MUST_USE pv_status pv__cells_new(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally,
                                    const pv__ladder *ladders, bool single, pv__cells *cells);
void pv__cells_clear(pv_ctx *ctx, pv__cells *cells);

/* Intervals of the metrics in assessment->value; ladders [pv__ladders] are coarse. */
PV_MUST_USE pv_status pv__bootstrap(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally,
                                    const pv__ladder *ladders, const pv_assess_options *options,
                                    pv_assessment *assessment);

#endif
