/* src/predict/label_cells.h: an unknown prevalence of three labels and more by cells of their ratios (label_cells.c,
 * label_cells_interval.c). */
#ifndef PV_PREDICT_LABEL_CELLS_H
#define PV_PREDICT_LABEL_CELLS_H

#include "predict/mixture.h"

enum { PV__LABELS_MOST = PV_REFERENCE_LABELS, PV__CELLS_MOST = 2 * PV_REFERENCE_LABELS };

/* People of each label and target rows, by cell. */
typedef struct pv__label_cell_counts {
    size_t labels, cells;
    double known[PV__LABELS_MOST][PV__CELLS_MOST], target[PV__CELLS_MOST];
    double mass[PV__LABELS_MOST], targets; /* their sums */
    double told[PV__LABELS_MOST];          /* target rows whose labels are known */
} pv__label_cell_counts;

typedef struct pv__label_cell_fit {
    double pi[PV__LABELS_MOST], f[PV__LABELS_MOST][PV__CELLS_MOST];
    double value; /* the log-likelihood */
} pv__label_cell_fit;

PV_MUST_USE pv_status pv__label_cell_counts_new(pv_ctx *ctx, const pv_unknown_sample *sample,
                                                const pv_unknown_options *options, pv__label_cell_counts *counts);
/* Which entries of pi are given. */
enum { PV__PI_FREE = -1, PV__PI_GIVEN = -2 }; /* or the label whose share is */
/* The most likely shares, and what is free of pi, from what fit has: begun by pv__label_cells_begin, or near by. */
void pv__label_cells_climb(const pv__label_cell_counts *counts, int held, double tolerance, pv__label_cell_fit *fit);
/* Shares of the reference, none 0, and labels alike. */
void pv__label_cells_begin(const pv__label_cell_counts *counts, pv__label_cell_fit *fit);
void pv__label_cells_mode(const pv__label_cell_counts *counts, pv__label_cell_fit *fit);
/* The most likely fit where label y has the share pi. */
void pv__label_cells_profile(const pv__label_cell_counts *counts, const pv__label_cell_fit *mode, size_t y, double pi,
                             pv__label_cell_fit *fit);

/* (label_cells_interval.c) For each label the shares that the likelihood ratio does not refuse, by a bootstrap; *scale
 * as pv__bins_interval. */
PV_MUST_USE pv_status pv__label_cells_interval(pv_ctx *ctx, const pv__label_cell_counts *counts, double level,
                                               int64_t seed, double *lo, double *hi, double *scale);
/* Draws of the posterior with prior and known labels alpha, the likelihood taken to the power `scale`. The caller
 * clears points. */
PV_MUST_USE pv_status pv__label_cells_posterior(pv_ctx *ctx, const pv__label_cell_counts *counts, const double *alpha,
                                                double scale, int64_t seed, pv__points *points, double *effective);

#endif
