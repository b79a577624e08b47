/* src/predict/label_cells.h: inference of an unknown prevalence of three or more labels from cells of their density
 * ratios (label_cells.c, label_cells_interval.c). */
#ifndef PV_PREDICT_LABEL_CELLS_H
#define PV_PREDICT_LABEL_CELLS_H

#include "predict/mixture.h"

enum { PV__LABELS_MOST = PV_REFERENCE_LABELS, PV__CELLS_MOST = 2 * PV_REFERENCE_LABELS };

/* Numbers of people of each label and of target rows, by cell. */
typedef struct pv__label_cell_counts {
    size_t labels, cells;
    double known[PV__LABELS_MOST][PV__CELLS_MOST], target[PV__CELLS_MOST];
    double mass[PV__LABELS_MOST], targets; /* sums over cells */
    double told[PV__LABELS_MOST];          /* target rows with known labels */
} pv__label_cell_counts;

typedef struct pv__label_cell_fit {
    double pi[PV__LABELS_MOST], f[PV__LABELS_MOST][PV__CELLS_MOST];
    double value; /* the log-likelihood */
} pv__label_cell_fit;

PV_MUST_USE pv_status pv__label_cell_counts_new(pv_ctx *ctx, const pv_unknown_sample *sample,
                                                const pv_unknown_options *options, pv__label_cell_counts *counts);
/* Which entries of pi are fixed. */
enum { PV__PI_FREE = -1, PV__PI_GIVEN = -2 }; /* or the index of the label whose proportion is fixed */
/* Maximises the likelihood over the cell probabilities and the free entries of pi, starting from *fit, which
 * pv__label_cells_begin sets, or from a nearby solution. */
void pv__label_cells_climb(const pv__label_cell_counts *counts, int held, double tolerance, pv__label_cell_fit *fit);
/* A starting point: the proportions of the reference, none of them 0, and equal prevalences. */
void pv__label_cells_begin(const pv__label_cell_counts *counts, pv__label_cell_fit *fit);
void pv__label_cells_mode(const pv__label_cell_counts *counts, pv__label_cell_fit *fit);
/* The most likely fit in which label y has prevalence pi. */
void pv__label_cells_profile(const pv__label_cell_counts *counts, const pv__label_cell_fit *mode, size_t y, double pi,
                             pv__label_cell_fit *fit);

/* (label_cells_interval.c) For each label, the prevalences that the likelihood-ratio test does not reject, by a
 * bootstrap; *scale as for pv__bins_interval. */
PV_MUST_USE pv_status pv__label_cells_interval(pv_ctx *ctx, const pv__label_cell_counts *counts, double level,
                                               int64_t seed, double *lo, double *hi, double *scale);
/* Draws from the posterior with alpha (prior plus known labels) and the likelihood raised to the power `scale`. The
 * caller clears points. */
PV_MUST_USE pv_status pv__label_cells_posterior(pv_ctx *ctx, const pv__label_cell_counts *counts, const double *alpha,
                                                double scale, int64_t seed, pv__points *points, double *effective);

#endif
