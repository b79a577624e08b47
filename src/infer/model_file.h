/* src/infer/model_file.h: model files (docs/formats.md), three lines of text followed by binary data.
 *
 *   prevail-model 1
 *   HEADER_BYTES PAYLOAD_BYTES CHECKSUM      (decimal, decimal, XXH3-64 of header and payload in hexadecimal)
 *   {header: a JSON object on one line}
 *   payload: little-endian doubles; "arrays" in the header gives their positions
 */
#ifndef PV_SRC_INFER_MODEL_FILE_H
#define PV_SRC_INFER_MODEL_FILE_H

#include "base/value.h"
#include "prevail/infer.h"

#define PV__MODEL_MAGIC "prevail-model 1\n"

/* Proportion, n, prevalence, design, log p(y|w) and rows of all strata, in memory order. */
static inline size_t pv__model_strata_numbers(size_t strata, size_t classes) {
    return strata * (3 + 3 * classes);
}

/* A file being read. */
typedef struct pv__reader {
    pv_ctx *ctx;
    const char *path;
    char *header; /* NUL-terminated */
    size_t header_size, payload_size;
    unsigned long long sum;
    const unsigned char *payload;
    unsigned char *own; /* the payload's memory; NULL: borrowed */
    pv_result *root;
} pv__reader;

/* (model_frame.c) Read header and payload of a file, or of borrowed bytes. The caller frees what was read, also on
 * failure. */
PV_MUST_USE pv_status pv__model_frame(pv__reader *r, FILE *stream);
PV_MUST_USE pv_status pv__model_frame_bytes(pv__reader *r, const unsigned char *bytes, size_t size);
/* Fails, saying what is damaged. */
PV_MUST_USE pv_status pv__model_damaged(const pv__reader *r, const char *what);
/* Copies of a text, and of a list of texts, which the caller frees also on failure. */
PV_MUST_USE pv_status pv__model_text(const pv__reader *r, const pv_result *object, const char *key, char **text);
PV_MUST_USE pv_status pv__model_texts(const pv__reader *r, const pv_result *list, char ***text, size_t *count);
/* A copy of an array of `count` numbers, which must be finite; with undefined_too NaN is allowed. */
PV_MUST_USE pv_status pv__model_array(const pv__reader *r, const char *name, size_t count, bool undefined_too,
                                      double **values);

/* (model_schema.c) Fills an empty schema, which the caller frees also on failure. */
PV_MUST_USE pv_status pv__model_schema(const pv__reader *r, pv_schema *schema);

/* (model_terms.c) */
pv_result *pv__terms_to_json(const pv_schema *schema);
/* Fills in the terms of a schema that has its sources. *wrong: what is damaged; NULL: nothing. On failure terms are
 * freed with the schema. */
PV_MUST_USE pv_status pv__terms_from_json(pv_ctx *ctx, const pv_result *list, pv_schema *schema, const char **wrong);

/* (model_terms.c) The format of the training file. */
pv_result *pv__written_to_json(const pv_written *written);
bool pv__is_written_as_usual(const pv_written *written);
PV_MUST_USE pv_status pv__written_from_json(pv_ctx *ctx, const pv_result *object, pv_written *written,
                                            const char **wrong);

/* (label_error_file.c) Errors of the training labels. *wrong: why they are damaged. */
pv_result *pv__label_error_to_json(const pv_label_error *error);
PV_MUST_USE pv_status pv__label_error_from_json(pv_ctx *ctx, const pv_result *object, pv_classifier *classifier,
                                                const char **wrong);

/* (smoothing_file.c) Scales and degrees of freedom of an additive model. The classifier's schema and model must have
 * been read. *wrong: why they are damaged. */
pv_result *pv__smoothed_to_json(const pv_smoothing *smoothing);
PV_MUST_USE pv_status pv__smoothed_from_json(pv_ctx *ctx, const pv_result *list, pv_classifier *classifier,
                                             const char **wrong);

#endif
