/* prevail/sets.h: sets of labels with guaranteed coverage, and calls with a "refer" region, whatever the prevalence. */
#ifndef PREVAIL_SETS_H
#define PREVAIL_SETS_H

#include "prevail/probs.h"
#include "prevail/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* docs/method.md, section "Prediction sets", has the guarantees. Texts are NULL where they are not given. */
typedef struct pv_sets_options {
    const char *coverage;   /* "0.9", or by label: "LABEL=0.95,..." or "0.95,0.9" in label order */
    const char *prevalence; /* of the population; two labels: also an interval, "0.005-0.02" */
    const char *refer;      /* two labels: largest share of wrong ones among the calls of each label, as coverage; 0:
                               never call that label. NULL: no calls */
    double confidence;      /* of refer */
    int64_t seed;           /* with units: which row of each is used */
} pv_sets_options;
extern const pv_option pv_sets_option_table[]; /* ends with a NULL name */

/* The settings of pv_sets_calibrate, with that table; the caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_sets_settings_new(pv_ctx *ctx, pv_settings **settings);

/* Learns a rule from labelled rows that were not used to fit the model: a set contains label y where the probability of
 * y is at least labels.y.threshold. Weights of the rows are counts. unit [rows]: the unit that each row belongs to, of
 * which one row of each label is used; NULL: each row is one. *rule has: labels (by label: coverage, rows, rank,
 * threshold, expected, range, sets), population, refer, warnings; docs/guides/sets.md explains them. The caller frees
 * it. PV_ERR_INPUT: a label has too few rows, or weights are not counts. */
PV_MUST_USE pv_status pv_sets_calibrate(pv_ctx *ctx, const pv_probs *calibration, const int32_t *unit,
                                        const pv_settings *settings, pv_result **rule);

/* Applies a rule to probabilities p [rows][classes], of the same model and population as those it was learned from.
 * member [rows][classes]: 1 if the set contains the label, else 0. call [rows]: the label that is called, -1: refer;
 * NULL: not wanted. Calls need a rule with refer. */
PV_MUST_USE pv_status pv_sets_apply(pv_ctx *ctx, const pv_result *rule, size_t rows, int classes, const double *p,
                                    int32_t *member, int32_t *call);

/* The rule in words, as the command prints it. The caller frees *text with pv_result_text_free. */
PV_MUST_USE pv_status pv_sets_text(pv_ctx *ctx, const pv_result *rule, char **text);

#ifdef __cplusplus
}
#endif
#endif
