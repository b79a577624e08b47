/* src/base/names.h: conversion between the values of an enum and their names, generated from its list. */
#ifndef PV_SRC_NAMES_H
#define PV_SRC_NAMES_H

#include "base/base.h"

typedef struct pv__word {
    int value;
    const char *word;
} pv__word;

const char *pv__word_of(const pv__word *words, size_t count, int value); /* "unknown" if the value is not in the list */
bool pv__word_find(const pv__word *words, size_t count, const char *word, int *value);

/* The word of an enum's value, "unknown" where there is none. LIST(ENTRY) gives the entries {value, word}, ENTRY the
 * caller's macro. */
#define PV__NAMED(type, name_of, LIST, ENTRY)                                                                          \
    static const pv__word name_of##_words[] = {LIST(ENTRY)};                                                           \
    const char *name_of(type value) {                                                                                  \
        return pv__word_of(name_of##_words, sizeof name_of##_words / sizeof *name_of##_words, (int)value);             \
    }

/* The value of a word, false where there is none of that name. */
#define PV__FOUND(type, find, LIST, ENTRY)                                                                             \
    static const pv__word find##_words[] = {LIST(ENTRY)};                                                              \
    bool find(const char *name, type *value) {                                                                         \
        int found;                                                                                                     \
        if (!pv__word_find(find##_words, sizeof find##_words / sizeof *find##_words, name, &found))                    \
            return false;                                                                                              \
        *value = (type)found;                                                                                          \
        return true;                                                                                                   \
    }

#endif
