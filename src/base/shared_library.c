/* Optional third-party libraries, loaded on demand. They are never unloaded, because some have threads of their own. */
#include <dlfcn.h>
#include <stdlib.h>

#include "base/base.h"

/* Loads a library that the user installed for this program in the data folder (XDG_DATA_HOME). NULL: not found, or the
 * program has elevated privileges. */
static void *open_from_data_folder(const char *file) {
    const char *data = secure_getenv("XDG_DATA_HOME"), *home = secure_getenv("HOME");
    bool own = data && *data == '/';
    char path[4096];
    if (!own && !(home && *home == '/'))
        return NULL;
    int length = pv__format(path, sizeof path, "%s%s/prevail/%s", own ? data : home, own ? "" : "/.local/share", file);
    return length > 0 && (size_t)length < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

void *pv__library_open(const char *variable, const char *const *files, size_t n, const char *last) {
    const char *named = secure_getenv(variable);
    void *library = NULL;
    if (named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < n && !library; i++)
        library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = open_from_data_folder(files[0]);
    return library || !last ? library : dlopen(last, RTLD_NOW | RTLD_LOCAL);
}
