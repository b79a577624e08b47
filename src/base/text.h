/* src/base/text.h: text in messages, lists of names, labels. */
#ifndef PV_SRC_BASE_TEXT_H
#define PV_SRC_BASE_TEXT_H

#include "base/base.h"

/* Text from outside made fit for a message: control characters and invalid UTF-8 escaped, cut where long. Returned by
 * value so that pv__show(name).text can stand among printf's arguments. */
typedef struct pv__shown {
    char text[72];
} pv__shown;

pv__shown pv__show(const char *text);
pv__shown pv__show_n(const char *text, size_t n);
/* A name as an option that lists names takes it, for `exclude=NAME`: in double quotes where it has a comma. */
pv__shown pv__show_item(const char *name);

/* Whatever the case of letters A to Z, in any locale. */
bool pv__text_begins(const char *text, const char *with);
bool pv__text_ends(const char *text, const char *with); /* and has something before that */
bool pv__text_contains(const char *text, const char *part);

/* "a, b, c and 4 more" of at most size bytes. */
void pv__join(char *const *words, size_t n, size_t most, char *joined, size_t size);

/* Splits "a,b" (CSV quoting) into names. option names the option in messages. NULL or empty text: none. The caller
 * frees with pv_string_list_free. */
PV_MUST_USE pv_status pv__names_split(pv_ctx *ctx, const char *option, const char *text, char ***list, size_t *n);
size_t pv__names_entries(const char *text); /* of such a list, those that are in it twice among them */
bool pv__names_have(char *const *list, size_t n, const char *name);
/* A list of their own; the caller frees it with pv_string_list_free, also on failure. */
PV_MUST_USE pv_status pv__names_copy(pv_ctx *ctx, const char *const *from, size_t n, char ***to);

/* Sorts in place: as numbers where all are, else by bytes. order [n], where not NULL, receives the index each came
 * from. */
PV_MUST_USE pv_status pv__labels_sort(pv_ctx *ctx, char **labels, int32_t n, int32_t *order);
/* The same in natural order where not all are numbers: numbers within texts by their value, 5-9 before 10-14, and what
 * begins with < first. */
PV_MUST_USE pv_status pv__levels_sort(pv_ctx *ctx, char **levels, int32_t n, int32_t *order);
/* The label equal to text [length]: by bytes, else as a number; -1 where there is none. */
int32_t pv__label_find(char *const *labels, int32_t n, const char *text, size_t length);

/* The first index whose name occurs earlier, with *earlier; n where all differ. */
PV_MUST_USE pv_status pv__names_duplicate(pv_ctx *ctx, char *const *names, size_t n, size_t *at, size_t *earlier);

#endif
