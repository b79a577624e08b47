/* prevail/rate.h: how common labels are in a large sample that an imperfect classifier, test or judge has rated. */
#ifndef PREVAIL_RATE_H
#define PREVAIL_RATE_H

#include "prevail/data.h"
#include "prevail/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* docs/method.md, section 20, has the likelihoods. Texts are NULL where they are not given. */
typedef struct pv_rate_options {
    const char *verdict;     /* column of verdicts: labels, or levels of another kind */
    const char *score;       /* in its place: a column of scores, which are put into bins */
    const char *cuts;        /* edges of the bins, "0.2,0.5" */
    const char *compare;     /* column of a second system's verdicts on the same rows */
    const char *outcome;     /* column of the true labels of the gold rows */
    const char *gold_by;     /* "label", "verdict" or "random": how gold rows were drawn */
    const char *positive;    /* the label of interest */
    const char *sensitivity; /* in the place of gold rows: "0.9", or "45/50" of a validation study */
    const char *specificity;
    const char *weights;
    int weights_are; /* 0: auto, 1: counts, 2: sampling */
    const char *strata;
    const char *cluster;
    double interval; /* level */
    double width;    /* wanted; 0: none */
    int64_t seed;    /* of the bootstrap that calibrates the intervals */
} pv_rate_options;
extern const pv_option pv_rate_option_table[]; /* ends with a NULL name */

/* The settings of pv_rate_estimate, with that table; the caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_rate_settings_new(pv_ctx *ctx, pv_settings **settings);

/* The share of each label among the rows of the sample, with an interval. Gold rows, whose true label is known, are the
 * rows of gold; where that is NULL, those of the sample that have an outcome. *result has: rate (by label: value, lo,
 * hi), apparent (the same of the verdicts), verdict_given_label or label_given_verdict or both, sensitivity,
 * specificity, strata, width, compare, warnings; docs/guides/rate.md explains them. The caller frees it.
 * PV_ERR_INPUT with the place of a cell that cannot be used; PV_ERR_USAGE for settings that do not fit together. */
PV_MUST_USE pv_status pv_rate_estimate(pv_ctx *ctx, const pv_table *sample, const pv_table *gold,
                                       const pv_settings *settings, pv_result **result);
/* The result in words, as the command prints it. The caller frees *text with pv_result_text_free. */
PV_MUST_USE pv_status pv_rate_text(pv_ctx *ctx, const pv_result *result, char **text);

#ifdef __cplusplus
}
#endif
#endif
