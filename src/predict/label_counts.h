/* src/predict/label_counts.h: prediction for rows whose label counts are known. */
#ifndef PV_PREDICT_LABEL_COUNTS_H
#define PV_PREDICT_LABEL_COUNTS_H

#include "core/core.h"
#include "prevail/predict.h"

typedef struct pv__label_counts {
    size_t rows;
    int classes;
    const size_t *count; /* [classes], borrowed; must sum to rows */
    char *const *labels; /* [classes], borrowed, for messages */
    const pv_ctx *heed;  /* the context checked for interruption: by default the caller's */
    double *work;        /* [rows][classes], log r, then the coins */
    double *tilt;        /* [3][classes] */
    double *sums;        /* two labels: [room], P(S = j) */
    size_t room;
    double *behind, *ahead; /* more labels: [rows + 1][cells], [cells] */
    int32_t *digit;         /* [cells][classes] */
    size_t *stride;         /* [classes] */
    size_t cells;
} pv__label_counts;

/* Rejects counts that do not sum to the rows and, with more than two labels, so many combinations that the exact sum
 * does not fit into memory. The caller clears *counts, also on failure. */
PV_MUST_USE pv_status pv__label_counts_new(pv_ctx *ctx, size_t rows, int classes, const size_t *count,
                                           char *const *labels, pv__label_counts *counts);
void pv__label_counts_clear(pv_ctx *ctx, pv__label_counts *counts);

/* Whether to stop early; checks for interruption at some rows. */
bool pv__label_counts_stopped(const pv__label_counts *counts, size_t row);

/* log_p [rows][classes], log p(y_n|X*,counts,w); NULL: not wanted. *evidence: log p(X*|counts,w) up to terms that do
 * not depend on w. Rejects counts that are impossible given the rows. */
PV_MUST_USE pv_status pv__label_counts_rows(pv_ctx *ctx, pv__label_counts *counts, const double *loglik,
                                            const double *log_marginal, double *log_p, double *evidence);

/* (label_counts_many.c) More than two labels: allocates the recursion, and runs it over coins work [rows][classes],
 * which become p(y_n|X*,counts,w). Returns log P(S = counts); -infinity: impossible. */
PV_MUST_USE pv_status pv__label_counts_many_new(pv_ctx *ctx, pv__label_counts *counts);
double pv__label_counts_many(pv__label_counts *counts, bool probabilities);

#endif
