/* src/infer/stacking.h: `model=auto`. Candidates are fitted to folds (stack_folds.c), weighed (stack_weights.c,
 * mixture.c's mathematics), scored (stack_gains.c), and those that count fitted to all rows (stack_fit.c).
 */
#ifndef PV_SRC_STACKING_H
#define PV_SRC_STACKING_H

#include "base/json.h"
#include "infer/infer.h"
#include "model/stack.h"

/* A fit on its way. */
typedef struct pv__stacking {
    const pv_schema *schema;
    const pv_dataset *all, *data; /* all rows; those that folds have, counts in pieces */
    const pv__problem *problem;
    const pv__candidate *candidate[PV__CANDIDATES_MAX];
    bool sound[PV__CANDIDATES_MAX]; /* it could be fitted to every part */
    size_t count, k;
    size_t folds, judged, repeats, parts; /* parts: judged folds of all repeats */
    int32_t *fold;                        /* [repeats][rows] */
    size_t *start, *row; /* [parts + 1] and [start[parts]]: the rows judged in each part, those of a repeat together */
    double *log_prior;   /* [classes] */
    double cap;
    double *log_p;     /* [count][start[parts]][classes], of candidates */
    double *a, *p;     /* as pv__mixture's, of the judged rows */
    double *v, *slope; /* [count] */
    double *mixed;     /* [start[parts]][classes], log of the mixture, its weights found without the part */
    pv_classifier *made;
    double *stratum_marginal; /* [members][strata][classes] */
} pv__stacking;

static inline size_t pv__stack_judged(const pv__stacking *s) {
    return s->start[s->parts];
}

/* Whether weights are how many people a row is. */
static inline bool pv__stack_counts(const pv_dataset *data) {
    return data->weight && !data->sampling;
}

static inline double pv__stack_weight(const pv__stacking *s, size_t row) {
    return s->data->weight ? s->data->weight[row] : 1;
}

/* A row's stratum and label. */
static inline size_t pv__stack_cell(const pv__stacking *s, size_t row) {
    bool strata = s->problem->sampled->strata > 1;
    return (strata ? (size_t)s->data->stratum[row] * s->k : 0) + (size_t)s->data->label[row];
}

/* (stack_folds.c) The cap, and which rows are judged in which part; *split, freed by the caller, are counts in pieces.
 */
PV_MUST_USE pv_status pv__stack_deal(pv_ctx *ctx, pv__stacking *s, pv_dataset **split);
/* log_p of every candidate in every part; its room is the caller's. */
PV_MUST_USE pv_status pv__stack_cross_fit(pv_ctx *ctx, pv__stacking *s);
/* The fit's options, but for what is the candidate's own. */
pv_fit_options pv__stack_options(const pv__stacking *s, const pv__candidate *candidate);

/* (stack_weights.c) a, p, sound, v and mixed; a failure where no candidate is sound. Tells how many updates there were,
 * and whether they ended. */
PV_MUST_USE pv_status pv__stack_weigh(pv_ctx *ctx, pv__stacking *s, int64_t *updates, pv_stop *stop);

/* (stack_gains.c) Fills all of told, of so many candidates. */
PV_MUST_USE pv_status pv__stack_tell(pv_ctx *ctx, const pv__stacking *s, pv_stacked *told);

/* The population-weighted log score of a mixture,  f(v) = sum_n a_n log sum_k v_k p_nk,  v on the simplex. */
typedef struct pv__mixture {
    size_t n, members;
    const double *a; /* [n], >= 0, their sum 1; 0: the row does not count */
    const double *p; /* [n][members], >= 0 */
} pv__mixture;

/* v [members] holds the start, its sum 1; EM updates raise f until no other v that is 0 where this is has f higher by
 * `gap`, or `most` are done. slope [members] is scratch. Returns how many there were; *left, where not NULL: what may
 * be missing. */
int64_t pv__mixture_solve(const pv__mixture *mixture, double gap, int64_t most, double *v, double *slope, double *left);

void pv__stacked_free(pv_ctx *ctx, pv_stacked *stacked); /* NULL is fine */
PV_MUST_USE pv_status pv__stacked_new(pv_ctx *ctx, size_t count, pv_stacked **stacked);
/* (stack_file.c) In a model file's header; to a classifier whose model and w are read. *wrong: why it is damaged. */
json_t *pv__stacked_to_json(const pv_stacked *of); /* NULL: no memory */
PV_MUST_USE pv_status pv__stacked_from_json(pv_ctx *ctx, json_t *from, pv_classifier *classifier, const char **wrong);

/* Cross-fits the plan's candidates, weighs them, and fits those that count to all rows: model, w, marginals, reference
 * and stacked of the classifier, whose other fields are there. */
PV_MUST_USE pv_status pv__stack_fit(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                    const pv__problem *problem, pv_classifier *classifier);

/* (reference.c) How many people scores [n] of rows row [n] of the problem are worth, where rows have clusters or
 * sampling weights. */
PV_MUST_USE pv_status pv__reference_units(pv_ctx *ctx, const pv__problem *problem, size_t n, const double *score,
                                          const int32_t *label, const double *weight, const size_t *row,
                                          pv_reference *made);
/* (reference.c) Means and variances of the columns, by label, of two. */
PV_MUST_USE pv_status pv__reference_columns(pv_ctx *ctx, const pv__problem *problem, pv_reference *made);

#endif
