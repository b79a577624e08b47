/* cli/cv_compare.h: comparison of fits on the folds of a cross-validation. */
#ifndef PREVAIL_CLI_CV_COMPARE_H
#define PREVAIL_CLI_CV_COMPARE_H

#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

typedef struct cv_variant {
    const char *name; /* as given; points into the list of names */
    char *text;       /* its settings, split into names and values to which fit points */
    pv_fit_options fit;
    pv_validation *found;
    pv_assessment difference; /* its metrics minus those of the fit as given */
} cv_variant;

typedef struct cv_compared {
    char **names;
    cv_variant *variant;
    size_t count; /* 0: no comparison */
} cv_compared;

/* Parses --compare, a list of settings by which each variant differs from fit. Call cv_compare_clear, also on failure.
 */
int cv_compare_read(cli_call *call, const char *list, const pv_fit_options *fit, bool images, bool sample,
                    cv_compared *to);
/* Cross-validates each variant like `first`, and compares. */
int cv_compare_find(cli_call *call, cv_compared *c, const pv_schema *schema, const pv_dataset *data,
                    const pv_validation_options *how, const pv_dataset *sample, const pv_validation *first,
                    bool *trouble);
void cv_compare_print(const cv_compared *c, int classes, double level);
pv_result *cv_compare_json(pv_ctx *ctx, const cv_compared *c);
void cv_compare_clear(cli_call *call, cv_compared *c);

#endif
