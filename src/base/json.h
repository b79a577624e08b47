/* src/base/json.h: JSON in and out, a lack of memory told from text that cannot be said in it. */
#ifndef PV_SRC_BASE_JSON_H
#define PV_SRC_BASE_JSON_H

#include <jansson.h>

#include "base/base.h"

json_t *pv__json_text(const char *text); /* its bytes, checked by pv__json_dump; NULL: no memory */

/* The text of an object whose members have all been made (NULL: memory failed on the way), and releases the object.
 * PV_ERR_INPUT with the message where a text in it is no UTF-8. The caller frees *text with pv__free. */
PV_MUST_USE pv_status pv__json_dump(pv_ctx *ctx, json_t *object, const char *message, char **text);

/* (json_parse.c) text has a NUL after its size bytes. *root is NULL where it is no JSON; the caller releases it. */
PV_MUST_USE pv_status pv__json_parse(pv_ctx *ctx, const char *text, size_t size, json_t **root);

#endif
