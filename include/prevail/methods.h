/* prevail/methods.h: a methods paragraph for a manuscript, and the items of TRIPOD+AI that follow from a fit.
 *
 * The text states what was done, from the classifier, its record and, where there is one, the evaluation. What no
 * software can know (where the participants came from, who measured what) is left to the authors, by item.
 */
#ifndef PREVAIL_METHODS_H
#define PREVAIL_METHODS_H

#include "prevail/infer.h"
#include "prevail/judge.h"
#include "prevail/result.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pv_methods_options {
    double level;                  /* of the coefficients' intervals that are reported */
    const pv_judgement *judgement; /* an evaluation; NULL: none */
    double judged_level;           /* of its intervals */
    bool training_rows;            /* it was made on the rows of the fit */
} pv_methods_options;

pv_methods_options pv_methods_options_default(void); /* 95 %, no evaluation */

/* An object:
 *   text      the paragraph
 *   parts     its sentences by topic: sample, missing, design, prevalence, model, predictors, estimation, intervals,
 *             adequacy, evaluation, performance, software; null where there is nothing to state
 *   citation  a list of references
 *   tripod    a list of {item, topic, text, authors}: text is null where only the authors can answer; authors is what
 *             is left for them, or null
 * The classifier may be NULL where there is an evaluation (of another model's probabilities). options may be NULL. The
 * caller frees *methods with pv_result_free. */
PV_MUST_USE pv_status pv_methods(pv_ctx *ctx, const pv_classifier *classifier, const pv_methods_options *options,
                                 pv_result **methods);

#ifdef __cplusplus
}
#endif
#endif
