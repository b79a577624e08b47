/* src/model/trees.h: boosted trees (trees.c), and their fitting (xgboost.c). */
#ifndef PV_SRC_TREES_H
#define PV_SRC_TREES_H

#include "model/model.h"

enum { PV__TREES_DEPTH_MAX = 8, PV__TREES_ROUNDS_MAX = 10000, PV__TREES_BINS = 256 };

/* Whether a fit with this spec chooses the number of rounds itself. */
static inline bool pv__trees_open(const pv_model *model) {
    return !model->trees.stated;
}
/* Trees per round: one per label, or one if there are two labels. */
static inline size_t pv__trees_each(const pv_model *model) {
    return model->classes > 2 ? (size_t)model->classes : 1;
}
/* Number of nodes of a tree. The root comes first, and the children of node i are 2 i + 1 and 2 i + 2. */
static inline size_t pv__trees_nodes(const pv_model *model) {
    return ((size_t)2 << model->trees.depth) - 1;
}
/* Index of the parameters for missing cells, and of those for a tree's nodes. */
static inline size_t pv__trees_missing_at(const pv_model *model) {
    return (size_t)model->classes;
}
static inline size_t pv__trees_at(const pv_model *model, size_t tree) {
    return (size_t)model->classes + (size_t)model->inputs + tree * pv__trees_nodes(model) * 2;
}
/* The same spec with the given number of rounds. The caller frees *spec with pv__free. */
PV_MUST_USE pv_status pv__trees_spec(pv_ctx *ctx, const pv_model *model, size_t rounds, char **spec);

/* ---- bins: an input's values in at most PV__TREES_BINS classes (tree_bins.c) ------------------------------------- A
 * value belongs to the last bin whose edge is not above it. Edges depend on the set of rows, not on their order, and
 * are midway between values, so that predictions do not depend on rounding. */
typedef struct pv__tree_bins {
    size_t inputs;
    size_t *count;         /* [inputs] */
    double *edge;          /* [inputs][PV__TREES_BINS + 1]; the first is -DBL_MAX, the one after the last bin DBL_MAX */
    const int32_t *absent; /* [inputs]: the input that is 1 if the cell is missing; -1: none. Borrowed */
} pv__tree_bins;
/* weight [n]: number of people per row; NULL: 1. */
PV_MUST_USE pv_status pv__tree_bins_new(pv_ctx *ctx, size_t n, size_t inputs, const double *x, const double *weight,
                                        const int32_t *absent, pv__tree_bins **bins);
void pv__tree_bins_free(pv_ctx *ctx, pv__tree_bins *bins); /* NULL is fine */
/* Writes the bins of rows row [n] of x to code [n][inputs], NaN for missing cells. row NULL: 0 .. n-1. */
void pv__tree_bins_code(const pv__tree_bins *bins, size_t n, const size_t *row, const double *x, float *code);

/* ---- the library that fits trees (xgboost.c) ------------------------------------------------------------------------
 */

/* Loads the library; the error says how to install it. pv__boosting_here: whether it is available. */
PV_MUST_USE pv_status pv__boosting_load(pv_ctx *ctx);
bool pv__boosting_here(const pv_ctx *ctx);

typedef struct pv__booster pv__booster;
typedef enum pv__boosted_rows { PV__BOOSTED_LEARN, PV__BOOSTED_HELD } pv__boosted_rows;
/* For trees with the model's depth and rate, fitted to rows learn [n_learn]; held [n_held]: rows to predict (none: 0).
 * Borrows model and bins. */
PV_MUST_USE pv_status pv__booster_new(pv_ctx *ctx, const pv_model *model, const pv__tree_bins *bins, const double *x,
                                      size_t n_learn, const size_t *learn, size_t n_held, const size_t *held,
                                      pv__booster **booster);
void pv__booster_free(pv_ctx *ctx, pv__booster *booster); /* NULL is fine */
/* Sums over trees [rows][pv__trees_each] of the first `rounds` rounds (0: all), valid until the next call. */
PV_MUST_USE pv_status pv__booster_sums(pv_ctx *ctx, pv__booster *booster, pv__boosted_rows rows, size_t rounds,
                                       const float **sums);
/* Adds a round of trees, from gradient and curvature [n_learn][pv__trees_each] of the loss with respect to the sums. */
PV_MUST_USE pv_status pv__booster_grow(pv_ctx *ctx, pv__booster *booster, float *gradient, float *curvature);
/* Writes the trees of `rounds` rounds as parameters of a model with that many, starting at pv__trees_at(model, 0). */
PV_MUST_USE pv_status pv__booster_trees(pv_ctx *ctx, pv__booster *booster, size_t rounds, double *nodes);

#endif
