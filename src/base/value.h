/* src/base/value.h: the values that a pv_result consists of.
 *
 * The caller owns a new value until pv__value_set or pv__value_append takes it. Both accept NULL, the result of a
 * failed allocation, and mark the tree as incomplete: check the finished tree once with pv__value_whole instead of
 * every step.
 */
#ifndef PV_SRC_BASE_VALUE_H
#define PV_SRC_BASE_VALUE_H

#include <stdint.h>
#include <stdio.h>

#include "base/base.h"
#include "prevail/result.h"

pv_result *pv__value_object(void);
pv_result *pv__value_list(void);
pv_result *pv__value_text(const char *text); /* copied; NULL gives null */
pv_result *pv__value_text_n(const char *text,
                            size_t bytes); /* from a given number of bytes, which must not contain NUL */
pv_result *pv__value_real(double value);   /* null if it is not finite */
pv_result *pv__value_integer(int64_t value);
pv_result *pv__value_flag(bool value);
pv_result *pv__value_null(void);
pv_result *pv__value_array(const double *data, size_t rows, size_t columns); /* copied; columns 0: one-dimensional */

/* Adds a reference to a value, which can then be in two trees; each frees it. */
pv_result *pv__value_share(pv_result *value);

/* Takes ownership of the value, and replaces that of an existing name. Returns whether it was added. */
bool pv__value_set(pv_result *object, const char *name, pv_result *value);
/* The same of a member of another tree, which both share; nothing where from has none of that name. */
void pv__value_take(pv_result *object, const char *name, const pv_result *from);
bool pv__value_append(pv_result *list, pv_result *value);
void pv__value_drop(pv_result *object, const char *name);
/* An object from pairs of name and value, up to a NULL name: t a text, r a real, i an int, I an int64_t, b a flag
 * (int), v a value, which it takes. pv__value_pack("tI", "name", name, "rows", (int64_t)rows). NULL: out of memory. */
pv_result *pv__value_pack(const char *types, ...);

bool pv__value_whole(const pv_result *value); /* complete and not NULL */
bool pv__value_equal(const pv_result *a, const pv_result *b);
int64_t pv__value_integer_of(const pv_result *value); /* 0 if it is not an integer */
double pv__value_number_of(const pv_result *value);   /* the same for any number */
bool pv__value_is(const pv_result *value, pv_result_type type);
bool pv__value_is_number(const pv_result *value);
bool pv__value_is_true(const pv_result *value);

/* (json_parse.c) text must have a NUL after its size bytes. *root is NULL on failure; the caller frees it. */
PV_MUST_USE pv_status pv__json_parse(pv_ctx *ctx, const char *text, size_t size, pv_result **root);
/* The text of a tree. PV_ERR_INPUT with `message` if a text in it is not UTF-8. The caller frees *text with
 * pv__free. */
PV_MUST_USE pv_status pv__json_dump(pv_ctx *ctx, const pv_result *value, const char *message, char **text);

/* Replaces the memory functions of values, for tests that let allocations fail; NULL: malloc, realloc and free. */
void pv__value_memory(void *(*resize)(void *block, size_t size), void (*release)(void *block));

#endif
