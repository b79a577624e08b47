/* prevail/effect.h: how much an exposure changes the risk in the population, from outcome-sampled rows. */
#ifndef PREVAIL_EFFECT_H
#define PREVAIL_EFFECT_H

#include "prevail/data.h"
#include "prevail/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* docs/method.md, section 22, has the estimates and their influence functions. Texts are NULL where they are not given.
 */
typedef struct pv_effect_options {
    const char *exposure;  /* column of the model */
    const char *from, *to; /* the two values that are compared; NULL: the reference level with each other level */
    const char *by;        /* column: effects in each of its groups as well */
    const char *at;        /* "age=50,sex=F": columns held at these values */
    double interval;       /* level */
} pv_effect_options;
extern const pv_option pv_effect_option_table[]; /* ends with a NULL name */

/* The settings of pv_fit_settings_new with those of that table; the caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_effect_settings_new(pv_ctx *ctx, pv_settings **settings);

/* Fits a linear model with two labels to the table, and compares the risks of the population if everyone had one value
 * of the exposure or another. *result has: exposure, from, estimate, prior, prevalence, rows, units, effects (a list:
 * group, to, share, risk, risk_from, risk_to, difference, ratio, odds_ratio, attributable: objects of value, lo, hi,
 * se, df and linear; number_needed), assumes, warnings; docs/guides/effect.md explains them. The caller frees it.
 * PV_ERR_USAGE for settings that do not fit together, PV_ERR_INPUT with the place of a cell that cannot be used. */
PV_MUST_USE pv_status pv_effect_estimate(pv_ctx *ctx, const pv_table *table, const pv_settings *settings,
                                         pv_result **result);
/* The result in words, as the command prints it. The caller frees *text with pv_result_text_free. */
PV_MUST_USE pv_status pv_effect_text(pv_ctx *ctx, const pv_result *result, char **text);

#ifdef __cplusplus
}
#endif
#endif
