/* src/infer/cross_fit.h: a logistic model fitted without a fold of its rows (cross_fit.c), for reference rows. */
#ifndef PV_SRC_CROSS_FIT_H
#define PV_SRC_CROSS_FIT_H

#include "infer/infer.h"

enum { PV__CROSS_FOLDS = PV_REFERENCE_FOLDS, PV__CROSS_PARAMS = 500, PV__CROSS_LABELS = PV_REFERENCE_LABELS };

typedef struct pv__cross {
    const pv_ctx *ctx; /* to be asked whether to go on */
    const pv__problem *problem;
    size_t n, p;                     /* rows; parameters */
    size_t logits, size;             /* labels but the first; parameters of each, the intercept first */
    double shift[PV__CROSS_LABELS];  /* of the logits, to those of the sample */
    double factor[PV__CROSS_LABELS]; /* of a row's loss, by label */
    double *share;                   /* [n][folds]: the weight of a row that is in the fold */
    bool to_the_end;                 /* Newton's method is */
    double *total;                   /* [p][p]: information at the model of all rows, of all */
    double *H, *g, *w;               /* the fold's */
} pv__cross;

/* Rows dealt to folds and the information at w; its share and total are the caller's to free. weighted: rows stand for
 * the population by their weights alone. */
PV_MUST_USE pv_status pv__cross_new(pv_ctx *ctx, const pv__problem *problem, const double *w, bool weighted,
                                    pv__cross *cross);
/* To cross->w: w of all rows but the fold's, from that of all. False where there is none. */
bool pv__leave_out(const pv__cross *cross, const double *w, size_t fold);
/* The two estimates of a combination without a fold: cross->w, of the weighted estimate's, becomes that of the
 * combination. */
bool pv__combine_without(const pv__cross *cross, const pv__cross *efficient, const pv_combination *m, const double *w,
                         size_t fold);
/* The logits [logits] of row i; one, by its parameters, of inputs x that have slopes. */
void pv__cross_logits(const pv__cross *cross, const double *w, size_t i, double *z);
double pv__cross_logit(const pv__cross *cross, const double *w, const double *x);

/* (reference_cells.c) The reference of a model of three labels and more; many: rows as the model itself scores them.
 * The cross is yet to be filled, but for its sizes. *made NULL: there is none. */
PV_MUST_USE pv_status pv__label_cells_of_fit(pv_ctx *ctx, pv__cross *cross, const pv_classifier *classifier, bool many,
                                             pv_reference **made);

#endif
