/* prevail/export.h: exports classifiers to ONNX, C and SQL. */
#ifndef PREVAIL_EXPORT_H
#define PREVAIL_EXPORT_H

#include "prevail/predict.h"
#include "prevail/result.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pv_export_options {
    const char *population; /* the population of the probabilities: true, known:P or design; NULL: its prevalence is an
                               input of every row */
    int missing;            /* missing cells: as the model learned, rejected, or imputed */
    int unseen;             /* pv_unseen; rejected rows get no probabilities */
    const char *table;      /* SQL: name of the table with the rows; NULL: data */
} pv_export_options;
extern const pv_option pv_export_option_table[]; /* ended by a NULL name */

/* Settings for pv_export, with that table. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_export_settings_new(pv_ctx *ctx, pv_settings **settings);

/* Writes code that computes what pv_predict computes for a row, as ONNX, C or SQL, depending on the end of path (.onnx,
 * .c, .sql). settings NULL: the defaults. *about, unless about is NULL, describes what was written: format, model,
 * population, labels, inputs, outputs; the caller frees it. Refused: what needs all rows at once, such as an unknown
 * prevalence, and what the format cannot express. */
PV_MUST_USE pv_status pv_export(pv_ctx *ctx, const pv_classifier *classifier, const pv_settings *settings,
                                const char *path, pv_result **about);

#ifdef __cplusplus
}
#endif
#endif
