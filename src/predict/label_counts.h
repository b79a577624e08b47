/* src/predict/label_counts.h: rows of which it is known how many are of each label. */
#ifndef PV_PREDICT_LABEL_COUNTS_H
#define PV_PREDICT_LABEL_COUNTS_H

#include "core/core.h"
#include "prevail/predict.h"

typedef struct pv__label_counts {
    size_t rows;
    int classes;
    const size_t *count; /* [classes], borrowed; they add up to rows */
    char *const *labels; /* [classes], borrowed, for messages */
    const pv_ctx *heed;  /* whose interruption ends the work: the caller's own, unless it is set */
    double *work;        /* [rows][classes], log r, and then the coins */
    double *tilt;        /* [3][classes] */
    double *sums;        /* two labels: [room], P(S = j) */
    size_t room;
    double *behind, *ahead; /* more: [rows + 1][cells], [cells] */
    int32_t *digit;         /* [cells][classes] */
    size_t *stride;         /* [classes] */
    size_t cells;
} pv__label_counts;

/* Refused: counts that do not add up to the rows, and with more than two labels so many combinations that the exact sum
 * does not fit into memory. The caller clears, whatever was returned. */
PV_MUST_USE pv_status pv__label_counts_new(pv_ctx *ctx, size_t rows, int classes, const size_t *count,
                                           char *const *labels, pv__label_counts *counts);
void pv__label_counts_clear(pv_ctx *ctx, pv__label_counts *counts);

/* Whether the work ends before its time; looked at now and then. */
bool pv__label_counts_stopped(const pv__label_counts *counts, size_t row);

/* log_p [rows][classes], log p(y_n|X*,counts,w); NULL: not wanted. *evidence: log p(X*|counts,w) up to what does not
 * depend on w. Refused: counts that the rows rule out. */
PV_MUST_USE pv_status pv__label_counts_rows(pv_ctx *ctx, pv__label_counts *counts, const double *loglik,
                                            const double *log_marginal, double *log_p, double *evidence);

/* (label_counts_many.c) More than two labels: room for the recursion, and the recursion over coins work
 * [rows][classes], which become p(y_n|X*,counts,w). Returns log P(S = counts); -infinity: it cannot be. */
PV_MUST_USE pv_status pv__label_counts_many_new(pv_ctx *ctx, pv__label_counts *counts);
double pv__label_counts_many(pv__label_counts *counts, bool probabilities);

#endif
