/* Patterns of file names are those of an engine's queries (src/data/query.c), and there is none here. */
#ifndef PV_WINDOWS_GLOB_H
#define PV_WINDOWS_GLOB_H

#include <stddef.h>

enum { GLOB_NOSORT = 1, GLOB_NOMATCH = 3 };

typedef struct {
    size_t gl_pathc;
    char **gl_pathv;
} glob_t;

static inline int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found) {
    (void)pattern, (void)flags, (void)failed;
    *found = (glob_t){0};
    return GLOB_NOMATCH;
}
static inline void globfree(glob_t *found) {
    (void)found;
}
#endif
