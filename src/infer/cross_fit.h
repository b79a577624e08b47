/* src/infer/cross_fit.h: fits a logistic model without a fold of its rows (cross_fit.c), for reference rows. */
#ifndef PV_SRC_CROSS_FIT_H
#define PV_SRC_CROSS_FIT_H

#include "infer/infer.h"

enum { PV__CROSS_FOLDS = PV_REFERENCE_FOLDS, PV__CROSS_PARAMS = 500, PV__CROSS_LABELS = PV_REFERENCE_LABELS };

typedef struct pv__cross {
    const pv_ctx *ctx; /* checked for interruption */
    const pv__problem *problem;
    size_t n, p;                     /* rows; parameters */
    size_t logits, size;             /* labels except the first; parameters per logit, the intercept first */
    double shift[PV__CROSS_LABELS];  /* added to the logits to obtain those of the sample */
    double factor[PV__CROSS_LABELS]; /* of a row's loss, by label */
    double *share;                   /* [n][folds]: the weight of the part of a row that is in the fold */
    bool to_the_end;                 /* iterate Newton's method to convergence */
    double *total;                   /* [p][p]: information of all rows at the model of all rows */
    double *H, *g, *w;               /* work space for a fold */
} pv__cross;

/* Assigns rows to folds and computes the information at w. The caller frees share and total. weighted: only weights
 * relate rows to the population. */
PV_MUST_USE pv_status pv__cross_new(pv_ctx *ctx, const pv__problem *problem, const double *w, bool weighted,
                                    pv__cross *cross);
/* Sets cross->w to the parameters without the fold's rows, starting from those of all rows. False if they do not
 * exist. */
bool pv__leave_out(const pv__cross *cross, const double *w, size_t fold);
/* The combined estimate without a fold: replaces cross->w, the weighted estimate. */
bool pv__combine_without(const pv__cross *cross, const pv__cross *efficient, const pv_combination *m, const double *w,
                         size_t fold);
/* The logits [logits] of row i; and a single logit for inputs x with slopes. */
void pv__cross_logits(const pv__cross *cross, const double *w, size_t i, double *z);
double pv__cross_logit(const pv__cross *cross, const double *w, const double *x);

/* (reference_cells.c) The reference for a model with three or more labels; many: scores rows with the model itself. The
 * cross needs only its sizes. *made NULL: not possible. */
PV_MUST_USE pv_status pv__label_cells_of_fit(pv_ctx *ctx, pv__cross *cross, const pv_classifier *classifier, bool many,
                                             pv_reference **made);

#endif
