/* src/infer/side.h: one estimate of a linear model, with the quantities for its errors (side.c).
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
    size_t k, J, size, P, cells;   /* labels; logits; parameters per logit; parameters; strata x labels */
    const double *people;          /* [n], counts; NULL: all 1 */
    double *a, *ratio;             /* [cells] */
    double *w;                     /* [P] */
    double value;                  /* value of the loss there, including the prior */
    double *information, *inverse; /* [P][P], of rows and prior */
    double *hc0;                   /* [P][P], the sandwich without corrections */
    double *correction;            /* [P], to be added to the estimate against its bias */
    double *prevalence;            /* [cells][P]: derivatives of the estimate with respect to log pi of each cell */
    bool inflate;                  /* influences use leave-one-out residuals */
    bool of_ratio;                 /* the prevalences enter through the ratios instead of the weights */
    bool converged;
    double reads;     /* passes over all rows so far */
    double *residual; /* [n][J], of one person per row, corrected for leverage */
    double *block;
    pv_model_work *work[PV__ROW_SLOTS];
    double *room[PV__ROW_SLOTS];
} pv__side;

/* For the problem; the caller fills in a and ratio. Must be freed also on failure. */
PV_MUST_USE pv_status pv__side_new(pv_ctx *ctx, const pv__problem *problem, const double *people, pv__side *side);
void pv__side_free(pv_ctx *ctx, pv__side *side);
/* Newton's method from w [P] to the optimum; stores the information there and its inverse. If there is none, converged
 * is false. */
PV_MUST_USE pv_status pv__side_fit(pv_ctx *ctx, pv__side *side, const double *w);
/* The derivative of log |H| / 2 with respect to the parameters through the rows' probabilities, thirds [P], there. */
PV_MUST_USE pv_status pv__side_thirds(pv_ctx *ctx, pv__side *side, double *thirds);
/* (evidence.c) The estimate for marginal likelihoods of `labelled`, the problem `whole` without its unlabelled rows. */
PV_MUST_USE pv_status pv__evidence_side(pv_ctx *ctx, const pv__problem *whole, const pv__problem *labelled,
                                        pv__side *side);
/* A block of rows at the side's w: log probabilities and probabilities [n][k], r [n][J], the weight of one person sum_y
 * t_y a_y [n], and x~ [n][size]. Stored in the slot's work space. */
typedef struct pv__block {
    size_t n;
    const double *from; /* [n][inputs] */
    double *plain, *q, *p, *r, *weight, *spare, *forms, *small;
} pv__block;
/* (side_correct.c) Some sides of the same rows. also, where it is not NULL, adds up numbers of blocks of the last of
 * them, whose residuals of those rows are in place. */
enum { PV__SIDES = 2 };
typedef struct pv__sides {
    size_t count;
    pv__side *side[PV__SIDES];
    void (*also)(void *state, size_t slot, size_t begin, const pv__block *block, double *sums);
    void *state;
    size_t extra; /* numbers that it adds up */
    bool own;     /* a rank needs the residuals of its own rows alone: those of its groups of sums of so many numbers */
} pv__sides;
/* Numbers that are summed next to the residuals. */
size_t pv__sides_width(const pv__sides *sides);
/* Takes each side from s->w to its optimum: where it is next to that, in the pass that hc0 and prevalence take. Of what
 * has none: converged is false. */
PV_MUST_USE pv_status pv__sides_settle(pv_ctx *ctx, const pv__sides *sides);
/* Then fills correction and residual, in one pass; also [extra] is what also summed. */
PV_MUST_USE pv_status pv__sides_correct(pv_ctx *ctx, const pv__sides *sides, double *also);
/* (side_units.c) Then, if units have several rows: corrects their residuals for the leverage of the unit. */
PV_MUST_USE pv_status pv__side_lever_units(pv_ctx *ctx, pv__side *side, const pv__units *units);
void pv__block_of(const pv__side *side, size_t slot, size_t begin, size_t n, pv__block *block);
/* The same of the rows of another side's block. */
void pv__block_beside(const pv__side *side, size_t slot, size_t begin, const pv__block *rows, pv__block *block);
static inline double pv__side_people(const pv__side *side, size_t row) {
    return side->people ? side->people[row] : 1;
}
/* The weight of one of them. */
double pv__side_unit(const pv__side *side, size_t row);
/* Pairs of logits. */
static inline size_t pv__side_pairs(const pv__side *side) {
    return side->J * (side->J + 1) / 2;
}
/* The loss of the rows, its gradient [P], and the lower triangles of the blocks of the information [pairs][size][size].
 */
size_t pv__side_newton_width(const pv__side *side);
void pv__side_add_newton(const pv__side *side, pv__block *block, size_t begin, double *sums);
/* Of those sums at s->w: the information and its inverse and, next to the optimum, the step that is left. */
PV_MUST_USE pv_status pv__side_settle(pv_ctx *ctx, pv__side *side, double *sums);
/* to [P] += sum_i c_i v_i (x) x~, v [n][J], without forming x~. */
void pv__side_add_scores(const pv__side *side, const pv__block *block, size_t begin, const double *v, double *to);
/* A symmetric matrix [P][P] of the lower triangles of its blocks [pairs][size][size], each of them symmetric. */
void pv__side_unfold(const pv__side *side, const double *blocks, double *matrix);
/* x~ = (1, x) of rows begin .. begin+n-1, [n][size]. */
const double *pv__side_rows(const pv__side *side, size_t slot, size_t begin, size_t n);
/* The same; with their log-likelihoods at w [P], NULL: not wanted, in their places in loglik [rows][k]. */
const double *pv__side_rows_at(const pv__side *side, size_t slot, size_t begin, size_t n, const double *w,
                               double *loglik);

#endif
