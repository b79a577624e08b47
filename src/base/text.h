/* src/base/text.h: text in messages, lists of names, labels. */
#ifndef PV_SRC_BASE_TEXT_H
#define PV_SRC_BASE_TEXT_H

#include "base/base.h"

/* Untrusted text made safe for a message: control characters and invalid UTF-8 are escaped, long text is cut. Returned
 * by value so that pv__show(name).text can be an argument of printf. */
typedef struct pv__shown {
    char text[72];
} pv__shown;

pv__shown pv__show(const char *text);
pv__shown pv__show_n(const char *text, size_t n);
/* A name in the form that list options accept, such as `exclude=NAME`: in double quotes if it contains a comma. */
pv__shown pv__show_item(const char *name);

/* These ignore the case of the letters A to Z, in any locale. */
bool pv__text_begins(const char *text, const char *with);
bool pv__text_ends(const char *text, const char *with); /* and has something before it */
bool pv__text_contains(const char *text, const char *part);

/* "a, b, c and 4 more" of at most size bytes. */
void pv__join(char *const *words, size_t n, size_t most, char *joined, size_t size);

/* Splits "a,b" (CSV quoting) into names. option: the option's name for messages. NULL or empty text gives no names. The
 * caller frees with pv_string_list_free. */
PV_MUST_USE pv_status pv__names_split(pv_ctx *ctx, const char *option, const char *text, char ***list, size_t *n);
size_t pv__names_entries(const char *text); /* number of names in such a list, counting duplicates */
bool pv__names_have(char *const *list, size_t n, const char *name);
/* A deep copy of the list. The caller frees it with pv_string_list_free, also on failure. */
PV_MUST_USE pv_status pv__names_copy(pv_ctx *ctx, const char *const *from, size_t n, char ***to);

/* Sorts in place: numerically if all labels are numbers, else by bytes. order [n] receives the original index of each
 * (NULL: not wanted). */
PV_MUST_USE pv_status pv__labels_sort(pv_ctx *ctx, char **labels, int32_t n, int32_t *order);
/* The same, but in natural order if not all are numbers: numbers within texts are compared by value, so that 5-9 comes
 * before 10-14, and texts that begin with < come first. */
PV_MUST_USE pv_status pv__levels_sort(pv_ctx *ctx, char **levels, int32_t n, int32_t *order);
/* The label equal to text [length], by bytes or else as a number; -1 if there is none. */
int32_t pv__label_find(char *const *labels, int32_t n, const char *text, size_t length);

/* The first index whose name occurs earlier, and *earlier, where; n if all names differ. */
PV_MUST_USE pv_status pv__names_duplicate(pv_ctx *ctx, char *const *names, size_t n, size_t *at, size_t *earlier);

#endif
