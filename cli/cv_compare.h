/* cli/cv_compare.h: other fits on the folds of a cross-validation. */
#ifndef PREVAIL_CLI_CV_COMPARE_H
#define PREVAIL_CLI_CV_COMPARE_H

#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

typedef struct cv_variant {
    const char *name; /* as given, in names of the list */
    char *text;       /* its settings, cut into names and values, which fit points to */
    pv_fit_options fit;
    pv_validation *found;
    pv_assessment difference; /* what its metrics have more than those of the fit as given */
} cv_variant;

typedef struct cv_compared {
    char **names;
    cv_variant *variant;
    size_t count; /* 0: none was asked for */
} cv_compared;

/* Reads --compare, a list of settings by which each further fit differs from fit; cv_compare_clear also after failure.
 */
int cv_compare_read(cli_call *call, const char *list, const pv_fit_options *fit, bool images, bool sample,
                    cv_compared *to);
/* Cross-validates each as first was, and compares. */
int cv_compare_find(cli_call *call, cv_compared *c, const pv_schema *schema, const pv_dataset *data,
                    const pv_validation_options *how, const pv_dataset *sample, const pv_validation *first,
                    bool *trouble);
void cv_compare_print(const cv_compared *c, int classes, double level);
json_t *cv_compare_json(const cv_compared *c);
void cv_compare_clear(cli_call *call, cv_compared *c);

#endif
