/* src/infer/boosting.h: fitting `model=trees` (trees_fit.c), and the record of the fit in a classifier
 * (trees_file.c). */
#ifndef PV_SRC_BOOSTING_H
#define PV_SRC_BOOSTING_H

#include "base/value.h"
#include "infer/infer.h"

/* Fits trees to the problem's rows and sets model, w, marginals, reference and boosted of the classifier, whose other
 * fields must be set. */
PV_MUST_USE pv_status pv__trees_fit(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                    const pv__problem *problem, pv_classifier *classifier);

/* Conversion to and from a model file's header. The classifier's model must have been read. *wrong: why it is
 * damaged. */
pv_result *pv__boosted_to_json(const pv_boosted *of); /* NULL: out of memory */
PV_MUST_USE pv_status pv__boosted_from_json(pv_ctx *ctx, const pv_result *from, pv_classifier *classifier,
                                            const char **wrong);

#endif
