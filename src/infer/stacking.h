/* src/infer/stacking.h: `model=auto`. Candidates are fitted to folds (stack_folds.c), weighted (stack_weights.c),
 * scored (stack_gains.c), and those with enough weight are fitted to all rows (stack_fit.c).
 */
#ifndef PV_SRC_STACKING_H
#define PV_SRC_STACKING_H

#include "base/value.h"
#include "infer/infer.h"
#include "model/stack.h"

/* The state of a fit. */
typedef struct pv__stacking {
    const pv_schema *schema;
    const pv_dataset *all, *data; /* all rows; those in the folds, where counts may be split into pieces */
    const pv__problem *problem;
    const pv__candidate *candidate[PV__CANDIDATES_MAX];
    pv__candidate given[PV__CANDIDATES_MAX]; /* other models, of which each has a score for every label but the first */
    size_t scores;                           /* features of all that are such, the last */
    bool mixes[PV__CANDIDATES_MAX];          /* it is sound, and not for comparison alone */
    bool sound[PV__CANDIDATES_MAX];          /* it could be fitted in every part */
    size_t count, k;
    size_t curves;                        /* features of all that additive models alone take, the last before scores */
    size_t folds, judged, repeats, parts; /* parts: evaluated folds of all repeats */
    int32_t *fold;                        /* [repeats][rows] */
    size_t *start,
        *row; /* [parts + 1] and [start[parts]]: the rows evaluated in each part, with those of a repeat together */
    double *log_prior; /* [classes] */
    double cap;
    double *log_p;     /* [count][start[parts]][classes], of candidates */
    double *a, *p;     /* as in pv__mixture, for the evaluated rows */
    double *v, *slope; /* [count] */
    double *mixed;     /* [start[parts]][classes], log of the mixture, with weights found without the part */
    pv_classifier *made;
    double *stratum_marginal; /* [members][strata][classes] */
} pv__stacking;

static inline size_t pv__stack_judged(const pv__stacking *s) {
    return s->start[s->parts];
}

/* Whether weights are counts of people. */
static inline bool pv__stack_counts(const pv_dataset *data) {
    return data->weight && !data->sampling;
}

static inline double pv__stack_weight(const pv__stacking *s, size_t row) {
    return s->data->weight ? s->data->weight[row] : 1;
}

/* Whether a candidate is a score of the rows, which nothing is fitted for. */
static inline bool pv__stack_is_score(const pv__stacking *s, const pv__candidate *candidate) {
    return candidate >= s->given && candidate < s->given + PV__CANDIDATES_MAX;
}
/* The first of its features. */
static inline size_t pv__stack_score_at(const pv__stacking *s, const pv__candidate *candidate) {
    return (size_t)s->all->features - s->scores + (size_t)(candidate - s->given) * (s->k - 1);
}

/* Index of a row's stratum and label. */
static inline size_t pv__stack_cell(const pv__stacking *s, size_t row) {
    bool strata = s->problem->design->strata > 1;
    return (strata ? (size_t)s->data->stratum[row] * s->k : 0) + (size_t)s->data->label[row];
}

/* (stack_folds.c) Sets the cap and the rows evaluated in each part; *split, freed by the caller: counts in pieces.
 */
PV_MUST_USE pv_status pv__stack_deal(pv_ctx *ctx, pv__stacking *s, pv_dataset **split);
/* Fills log_p, which the caller allocates, for every candidate in every part. */
PV_MUST_USE pv_status pv__stack_cross_fit(pv_ctx *ctx, pv__stacking *s);
/* The log-likelihood ratios [classes - 1], against the first label, of another model's scores: x, of the rows that
 * schema has scaled, times slope [classes - 1] and centre added. */
void pv__stack_score(const pv__stacking *s, const pv__candidate *candidate, const pv_schema *schema, double *centre,
                     double *slope);
/* Schema and data without what the candidate does not use; owned by the caller. */
void pv__stack_narrow(pv_ctx *ctx, const pv__stacking *s, const pv__candidate *candidate, pv_schema *schema,
                      pv_dataset *data);
/* The fit's options with those of the candidate. */
pv_fit_options pv__stack_options(const pv__stacking *s, const pv__candidate *candidate);

/* (stack_weights.c) Fills a, p, sound, v and mixed; fails if no candidate is sound. Reports the number of updates, and
 * whether they converged. */
PV_MUST_USE pv_status pv__stack_weigh(pv_ctx *ctx, pv__stacking *s, int64_t *updates, pv_stop *stop);

/* (stack_gains.c) Fills told for all candidates. */
PV_MUST_USE pv_status pv__stack_tell(pv_ctx *ctx, const pv__stacking *s, pv_stacked *told);

/* The population-weighted log score of a mixture, f(v) = sum_n a_n log sum_k v_k p_nk, with v on the simplex. */
typedef struct pv__mixture {
    size_t n, members;
    const double *a; /* [n], >= 0 with sum 1; 0: the row does not count */
    const double *p; /* [n][members], >= 0 */
} pv__mixture;

/* v [members] holds the starting values, with sum 1. EM updates increase f until no other v with zeros in the same
 * places exceeds it by more than `gap`, or `most` updates are done. slope [members] is scratch. Returns the number of
 * updates; *left, if not NULL: an upper bound of the remaining gap. */
int64_t pv__mixture_solve(const pv__mixture *mixture, double gap, int64_t most, double *v, double *slope, double *left);

void pv__stacked_free(pv_ctx *ctx, pv_stacked *stacked); /* NULL is fine */
PV_MUST_USE pv_status pv__stacked_new(pv_ctx *ctx, size_t count, pv_stacked **stacked);
/* (stack_file.c) Conversion to and from a model file's header; the classifier's model and w must have been read.
 * *wrong: why it is damaged. */
pv_result *pv__stacked_to_json(const pv_stacked *of); /* NULL: out of memory */
PV_MUST_USE pv_status pv__stacked_from_json(pv_ctx *ctx, const pv_result *from, pv_classifier *classifier,
                                            const char **wrong);

/* Cross-fits the plan's candidates, weights them, and fits those with enough weight to all rows: sets model, w,
 * marginals, reference and stacked of the classifier, whose other fields must be set. */
PV_MUST_USE pv_status pv__stack_fit(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                    const pv__problem *problem, pv_classifier *classifier);

#endif
