/* src/infer/side.h: one estimate of a linear model with what its errors are made of (side.c).
 *
 * Rows of stratum s and label y have the weight a_sy, and probabilities q ~ p(y|x) e^ratio_sy. The weighted estimate
 * has a_sy = p(s) pi_sy / n_sy and no ratio; the efficient one a = 1 and ratio log(n_sy / pi_sy).
 */
#ifndef PV_SRC_SIDE_H
#define PV_SRC_SIDE_H

#include "design/unit_sums.h"
#include "infer/infer.h"

typedef struct pv__side {
    pv_ctx *ctx;
    const pv__problem *problem;
    size_t k, J, size, P, cells;   /* labels; logits; of a logit; parameters; strata x labels */
    const double *people;          /* [n], counts; NULL: all 1 */
    double *a, *ratio;             /* [cells] */
    double *w;                     /* [P] */
    double value;                  /* of the loss there, the prior's included */
    double *information, *inverse; /* [P][P], of the rows and the prior */
    double *hc0;                   /* [P][P], the sandwich without corrections */
    double *correction;            /* [P], the estimate's bias, to be added */
    double *prevalence;            /* [cells][P]: how the estimate moves with log pi of each cell */
    bool inflate;                  /* influence of what is left of a row without itself */
    bool of_ratio;                 /* the prevalences are in the ratios, and not in the weights */
    bool converged;
    double *residual; /* [n][J], of one person of each row, corrected for leverage */
    double *block;
    pv_model_work *work[PV__ROW_SLOTS];
    double *room[PV__ROW_SLOTS];
} pv__side;

/* Of the problem, with a and ratio to be filled in by the caller. On failure to be freed all the same. */
PV_MUST_USE pv_status pv__side_new(pv_ctx *ctx, const pv__problem *problem, const double *people, pv__side *side);
void pv__side_free(pv_ctx *ctx, pv__side *side);
/* Newton's method from w [P] to the optimum, whose information and its inverse are left. Of what has none: converged is
 * false. */
PV_MUST_USE pv_status pv__side_fit(pv_ctx *ctx, pv__side *side, const double *w);
/* Fills hc0, correction, prevalence and residual there. */
PV_MUST_USE pv_status pv__side_correct(pv_ctx *ctx, pv__side *side);
/* (side_units.c) Then, where units are more than rows: their residuals, corrected for the leverage of the unit. */
PV_MUST_USE pv_status pv__side_lever_units(pv_ctx *ctx, pv__side *side, const pv__units *units);
/* A block of rows at the side's w: log probabilities and probabilities [n][k], r [n][J], the weight of one person
 * sum_y t_y a_y [n], and x~ [n][size]. In room of the slot's. */
typedef struct pv__block {
    size_t n;
    const double *from; /* [n][inputs] */
    double *plain, *q, *p, *r, *weight, *spare, *forms, *small;
} pv__block;
void pv__block_of(const pv__side *side, size_t slot, size_t begin, size_t n, pv__block *block);
static inline double pv__side_people(const pv__side *side, size_t row) {
    return side->people ? side->people[row] : 1;
}
/* x~ = (1, x) of rows begin .. begin+n-1, [n][size]. */
const double *pv__side_rows(const pv__side *side, size_t slot, size_t begin, size_t n);

#endif
