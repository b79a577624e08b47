/* src/infer/both.h: the weighted and the efficient estimate of a linear model (both.c); combined.c combines them. */
#ifndef PV_SRC_BOTH_H
#define PV_SRC_BOTH_H

#include "infer/side.h"

typedef struct pv__both {
    pv_ctx *ctx;
    const pv__problem *problem;
    size_t k, J, size, P, cells, parts; /* parts: 1, or 3 */
    pv__side weighted, efficient;
    pv__units *units;
    int32_t *cell;
    double *people;          /* [n]; NULL: 1 each */
    double *chance;          /* [cells], variance of log pi of each; 0: known */
    double *scale;           /* [cells], for a cohort: see both.c */
    double *shift;           /* [size - 1], what each slope subtracts from an intercept on the table's scale */
    pv__unit_sums sums;      /* of the scores */
    double *square;          /* [parts][P][P], of the influences: weighted; efficient; their difference */
    double *second, *fourth; /* [P], of the contrasts of the weighted influences */
    double spread;
    double *tail; /* [size - 1], of the columns: adequacy.h */
    bool own;     /* a rank needs residuals of its own rows alone */
    size_t like;  /* those of its groups of sums of so many numbers; 0: all */
    double *block;
} pv__both;

/* parts: 1 for the weighted estimate alone, or 3. kinds: units were sampled by label and stratum; otherwise labels are
 * random. Must be freed also on failure. */
PV_MUST_USE pv_status pv__both_new(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, bool kinds,
                                   size_t parts, pv__both *b);
void pv__both_free(pv__both *b);
/* Weights of labels for which curvature equals the variance of the score in a model of the prevalences alone, a
 * [cells]: a prior then has the same influence on the weighted as on the efficient estimate. */
void pv__both_weigh(const pv__both *b, double *a);
/* The same by the masses of the cells, strata x labels. */
void pv__weigh_cells(const pv__problem *problem, const double *mass, double *a);
/* Fills chance. */
void pv__both_chances(pv__both *b);
/* Whether people were counted by label and stratum. */
bool pv__both_is_cohort(const pv__both *b);
/* For prevalences that sum to 1: removes from derivatives D [cells][P] with respect to log pi_y the part that shifts
 * all labels alike. With a cohort, people are counted, and so are the strata's proportions. */
void pv__both_tie(const pv__both *b, double *D);
/* Takes the sides from such points, close to their optima, to these (found false: there are none) with their biases,
 * residuals corrected for leverage, derivatives by the prevalences, and tails. */
PV_MUST_USE pv_status pv__both_fit(pv__both *b, const double *efficient, const double *weighted, bool *found);
/* Then: squares of the influences H^-1 S of what was sampled together. */
PV_MUST_USE pv_status pv__both_sum(pv__both *b);
/* Then: the moments of the weighted ones. In the same pass log-likelihoods [n][k] at w [P], NULL: not wanted, of the
 * rows that pv__match_shift takes. */
PV_MUST_USE pv_status pv__both_moments(pv__both *b, const double *w, double *loglik);

#endif
