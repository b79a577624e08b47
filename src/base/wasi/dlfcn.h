/* Shared libraries where none can be loaded. */
#ifndef PV_WASI_DLFCN_H
#define PV_WASI_DLFCN_H

#include <stddef.h>

enum { RTLD_LAZY = 1, RTLD_NOW = 2, RTLD_LOCAL = 0 };
#define RTLD_DEFAULT ((void *)0)

typedef struct {
    const char *dli_fname;
    void *dli_fbase;
} Dl_info;

static inline void *dlopen(const char *path, int flags) {
    (void)path, (void)flags;
    return NULL;
}
static inline void *dlsym(void *library, const char *name) {
    (void)library, (void)name;
    return NULL;
}
static inline int dlclose(void *library) {
    (void)library;
    return 0;
}
static inline int dladdr(const void *address, Dl_info *about) {
    (void)address, (void)about;
    return 0;
}
static inline char *dlerror(void) {
    static char text[] = "this build loads no libraries";
    return text;
}
#endif
