/* src/infer/model_file.h: parts of model files that have files of their own. */
#ifndef PV_SRC_INFER_MODEL_FILE_H
#define PV_SRC_INFER_MODEL_FILE_H

#include "base/json.h"
#include "prevail/data.h"

/* (model_terms.c) NULL: no memory. */
json_t *pv__terms_to_json(const pv_schema *schema);
/* Into a schema that has its sources. *wrong: what is damaged; NULL: nothing. A failure is freed with the schema. */
PV_MUST_USE pv_status pv__terms_from_json(pv_ctx *ctx, json_t *list, pv_schema *schema, const char **wrong);

/* (model_terms.c) How the training file was written; NULL: as usual, or no memory, which *failed tells. */
json_t *pv__written_to_json(const pv_written *written, bool *failed);
PV_MUST_USE pv_status pv__written_from_json(pv_ctx *ctx, json_t *object, pv_written *written, const char **wrong);

#endif
