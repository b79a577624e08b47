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
    double *chance;          /* [cells], the variance of log pi of each; 0: known */
    double *scale;           /* [cells], of a cohort: see both.c */
    double *shift;           /* [size - 1], what an intercept on the table's scale takes off for each slope */
    pv__unit_sums sums;      /* of the scores */
    double *square;          /* [parts][P][P], of the influences: weighted; efficient; their difference */
    double *second, *fourth; /* [P], of the contrasts of the weighted influences */
    double spread;
    double *block;
} pv__both;

/* parts: 1, the weighted estimate alone, or 3. kinds: units were sampled by label and stratum; otherwise labels are
 * chance. On failure to be freed all the same. */
PV_MUST_USE pv_status pv__both_new(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, bool kinds,
                                   size_t parts, pv__both *b);
void pv__both_free(pv__both *b);
/* Weights of labels such that curvature equals variance of the score in a model of the prevalences alone, a [cells]: a
 * prior has then as much to say beside the weighted rows as beside the efficient estimate's. */
void pv__both_weigh(const pv__both *b, double *a);
/* Fills chance. */
void pv__both_chances(pv__both *b);
/* Whether people were counted by label and stratum. */
bool pv__both_is_cohort(const pv__both *b);
/* Prevalences that add up: of derivatives D [cells][P] by log pi_y without the others, what moves all labels alike is
 * taken off. The people of a cohort are counted, and its strata's shares with them. */
void pv__both_tie(const pv__both *b, double *D);
/* Squares of the influences H^-1 S of what was sampled together, and the moments of the weighted ones. */
PV_MUST_USE pv_status pv__both_sum(pv__both *b);

#endif
