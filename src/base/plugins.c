/* Where plug-ins are looked for: the folder that PREVAIL_PLUGINS names, else beside this library or program, else where
 * they were installed. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#ifndef PV_PLUGIN_FOLDER
#define PV_PLUGIN_FOLDER "/usr/local/lib/prevail"
#endif

static bool folder_of(char *path) {
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* Of the library, or of the program that it is part of. */
static bool own_folder(char *folder) {
    static const char here[] = "";
    Dl_info info;
    if (dladdr(here, &info) && info.dli_fname && info.dli_fname[0] == '/' &&
        strlen(info.dli_fname) < PV_PLUGIN_PATH_SIZE) {
        pv__format(folder, PV_PLUGIN_PATH_SIZE, "%s", info.dli_fname);
        return folder_of(folder);
    }
    ssize_t length = readlink("/proc/self/exe", folder, PV_PLUGIN_PATH_SIZE - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    return folder_of(folder);
}

bool pv__plugin_find(const char *file, char *path) {
    char own[PV_PLUGIN_PATH_SIZE];
    const char *named = secure_getenv("PREVAIL_PLUGINS");
    const char *folder[] = {named, !named && own_folder(own) ? own : NULL, named ? NULL : PV_PLUGIN_FOLDER};
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
        if (!folder[i])
            continue;
        int length = pv__format(path, PV_PLUGIN_PATH_SIZE, "%s/%s", folder[i], file);
        if (length > 0 && length < PV_PLUGIN_PATH_SIZE && access(path, F_OK) == 0)
            return true;
    }
    return false;
}
