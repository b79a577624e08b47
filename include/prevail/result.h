/* prevail/result.h: results of the library as a tree of named values. */
#ifndef PREVAIL_RESULT_H
#define PREVAIL_RESULT_H

#include "prevail/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value: null, a flag, a number, a text, a list, an object with named members, or an array of numbers. The functions
 * below accept NULL for a missing value, so that calls can be nested without checks between them:
 *
 *     double auc = pv_result_number(pv_result_at(result, (const char *[]){"metrics", "auc", "value", NULL}));
 *
 * What they return is borrowed and valid as long as the result.
 */
typedef struct pv_result pv_result;

typedef enum pv_result_type {
    PV_RESULT_NONE, /* missing: the type of NULL */
    PV_RESULT_NULL, /* undefined */
    PV_RESULT_FLAG,
    PV_RESULT_INTEGER,
    PV_RESULT_REAL,
    PV_RESULT_TEXT,
    PV_RESULT_LIST,
    PV_RESULT_OBJECT,
    PV_RESULT_ARRAY
} pv_result_type;

pv_result_type pv_result_type_of(const pv_result *value);
size_t pv_result_count(const pv_result *value); /* number of members of an object or values of a list */
const char *pv_result_name(const pv_result *value, size_t index);               /* of a member; NULL if out of range */
const pv_result *pv_result_child(const pv_result *value, size_t index);         /* NULL if out of range */
const pv_result *pv_result_get(const pv_result *value, const char *name);       /* the member of that name, or NULL */
const pv_result *pv_result_at(const pv_result *value, const char *const *path); /* path: member names, ended by NULL */

double pv_result_number(const pv_result *value);    /* a flag is 0 or 1; NaN if it is not a number */
const char *pv_result_text(const pv_result *value); /* NULL if it is not a text */

/* Numbers row after row, [rows][columns]; columns is 0 of a vector. NULL of what is no array. */
const double *pv_result_array(const pv_result *value, size_t *rows, size_t *columns);

/* The value as indented JSON without arrays; numbers in the shortest form that reads back exactly, undefined ones as
 * null. The caller frees *text with pv_result_text_free. */
PV_MUST_USE pv_status pv_result_json(pv_ctx *ctx, const pv_result *value, char **text);
void pv_result_text_free(pv_ctx *ctx, char *text); /* NULL is allowed */
void pv_result_free(pv_result *value);             /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
