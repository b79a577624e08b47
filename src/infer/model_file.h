/* src/infer/model_file.h: model files (docs/formats.md), three lines of text, then binary.
 *
 *   prevail-model 1
 *   HEADER_BYTES PAYLOAD_BYTES CHECKSUM      (decimal, decimal, XXH3-64 of header and payload in hexadecimal)
 *   {header: a JSON object on one line}
 *   payload: little-endian doubles; the header's "arrays" says which are where
 */
#ifndef PV_SRC_INFER_MODEL_FILE_H
#define PV_SRC_INFER_MODEL_FILE_H

#include "base/json.h"
#include "prevail/data.h"

#define PV__MODEL_MAGIC "prevail-model 1\n"

/* Share, n, prevalence, design, log p(y|w) and rows of all strata, as they lie in memory. */
static inline size_t pv__model_strata_numbers(size_t strata, size_t classes) {
    return strata * (3 + 3 * classes);
}

/* A file that is being read. */
typedef struct pv__reader {
    pv_ctx *ctx;
    const char *path;
    char *header; /* terminated */
    size_t header_size, payload_size;
    unsigned long long sum;
    const unsigned char *payload;
    unsigned char *own; /* the payload's memory; NULL: borrowed */
    json_t *root;
} pv__reader;

/* (model_frame.c) Header and payload of a file, or of bytes that are borrowed; what is there already after a failure is
 * the caller's as well. */
PV_MUST_USE pv_status pv__model_frame(pv__reader *r, FILE *stream);
PV_MUST_USE pv_status pv__model_frame_bytes(pv__reader *r, const unsigned char *bytes, size_t size);
/* Fails: what is damaged. */
PV_MUST_USE pv_status pv__model_damaged(const pv__reader *r, const char *what);
/* A copy of a text; of a list of texts, which the caller frees after a failure as well. */
PV_MUST_USE pv_status pv__model_text(const pv__reader *r, json_t *object, const char *key, char **text);
PV_MUST_USE pv_status pv__model_texts(const pv__reader *r, json_t *list, char ***text, size_t *count);
/* A copy of an array of so many numbers, all finite; with undefined_too NaN as well. */
PV_MUST_USE pv_status pv__model_array(const pv__reader *r, const char *name, size_t count, bool undefined_too,
                                      double **values);

/* (model_schema.c) Into an empty schema, which is the caller's after a failure as well. */
PV_MUST_USE pv_status pv__model_schema(const pv__reader *r, pv_schema *schema);

/* (model_terms.c) NULL: no memory. */
json_t *pv__terms_to_json(const pv_schema *schema);
/* Into a schema that has its sources. *wrong: what is damaged; NULL: nothing. A failure is freed with the schema. */
PV_MUST_USE pv_status pv__terms_from_json(pv_ctx *ctx, json_t *list, pv_schema *schema, const char **wrong);

/* (model_terms.c) How the training file was written; NULL: as usual, or no memory, which *failed tells. */
json_t *pv__written_to_json(const pv_written *written, bool *failed);
PV_MUST_USE pv_status pv__written_from_json(pv_ctx *ctx, json_t *object, pv_written *written, const char **wrong);

#endif
