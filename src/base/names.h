/* src/base/names.h: the words of an enum, both ways, from its list. */
#ifndef PV_SRC_NAMES_H
#define PV_SRC_NAMES_H

#include "base/base.h"

typedef struct pv__word {
    int value;
    const char *word;
} pv__word;

const char *pv__word_of(const pv__word *words, size_t count, int value); /* "unknown" where there is none */
bool pv__word_find(const pv__word *words, size_t count, const char *word, int *value);

/* pv_TYPE_name and pv_TYPE_find. LIST(ENTRY) gives the entries {value, word}, ENTRY the caller's macro. */
#define PV__NAMED(type, LIST, ENTRY)                                                                                   \
    static const pv__word type##_words[] = {LIST(ENTRY)};                                                              \
    const char *pv_##type##_name(pv_##type value) {                                                                    \
        return pv__word_of(type##_words, sizeof type##_words / sizeof *type##_words, (int)value);                      \
    }                                                                                                                  \
    bool pv_##type##_find(const char *name, pv_##type *value) {                                                        \
        int found;                                                                                                     \
        if (!pv__word_find(type##_words, sizeof type##_words / sizeof *type##_words, name, &found))                    \
            return false;                                                                                              \
        *value = (pv_##type)found;                                                                                     \
        return true;                                                                                                   \
    }

#endif
