/* prevail/size.h: how many cases and controls a study needs. */
#ifndef PREVAIL_SIZE_H
#define PREVAIL_SIZE_H

#include "prevail/data.h"
#include "prevail/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* docs/method.md, section 21, has the equations. Texts are NULL, and numbers 0, where they are not given. */
typedef struct pv_size_options {
    const char *prevalence; /* "0.02", or the interval "0.01-0.03" */
    double prevalence_n;    /* people it rests on; 0: known */
    double margin;          /* wanted of the prevalence */
    const char *ratio;      /* controls per case: a number, "population" or "best" */
    double cost_case, cost_control;
    int64_t cases;      /* of a design that is given; 0: find them */
    double auc, r2;     /* of the model, in the target population */
    int64_t parameters; /* of the model, without the intercept */
    const char *score;  /* columns of the pilot */
    const char *outcome;
    const char *positive;
    double shrinkage, optimism, slope; /* wanted */
    double auc_width;
    double threshold; /* a risk */
    double risk_width, ppv_width, benefit_width;
    double odds_ratio, exposure, power;
    double interval; /* level */
} pv_size_options;
extern const pv_option pv_size_option_table[]; /* ends with a NULL name */

/* The settings of pv_size_find, with that table; the caller frees *settings with pv_settings_free. Set only what is
 * stated: an option that was set and has no effect is rejected. */
PV_MUST_USE pv_status pv_size_settings_new(pv_ctx *ctx, pv_settings **settings);

/* The number of cases and controls that an assumed model needs for what is wanted of it. pilot: a table of scores and
 * outcomes whose distribution is assumed; NULL: by `auc` or `r2`. *result has: prevalence, model, criteria, design,
 * figures (what the design gives), curve (over the ratio), assumptions, warnings; docs/guides/size.md explains them.
 * The caller frees it. PV_ERR_INPUT with the place of a cell that cannot be used; PV_ERR_USAGE for settings that do not
 * fit together, or that no number of rows can fulfil. */
PV_MUST_USE pv_status pv_size_find(pv_ctx *ctx, const pv_table *pilot, const pv_settings *settings, pv_result **result);
/* The result in words, as the command prints it. The caller frees *text with pv_result_text_free. */
PV_MUST_USE pv_status pv_size_text(pv_ctx *ctx, const pv_result *result, char **text);

#ifdef __cplusplus
}
#endif
#endif
