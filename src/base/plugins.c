/* Plug-ins are searched for in the folder that PREVAIL_PLUGINS names; if it is not set, next to this library or
 * program, then where they were installed. Programs that run with elevated privileges load none. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
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

/* Whether this code is linked into the program rather than a shared library. dladdr identifies a program by argv[0],
 * which the caller of exec chooses and which is therefore not trusted. */
static bool part_of_program(const Dl_info *here) {
    unsigned long entry = getauxval(AT_ENTRY);
    void *address;
    Dl_info program;
    memcpy(&address, &entry, sizeof address);
    return !dladdr(address, &program) || program.dli_fbase == here->dli_fbase;
}

/* The folder of the library, or of the program that it is linked into. */
static bool own_folder(char *folder) {
    static const char here[] = "";
    Dl_info info;
    if (dladdr(here, &info) && !part_of_program(&info) && info.dli_fname && info.dli_fname[0] == '/' &&
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

static bool find(const char *file, char *path) {
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

/* Someone could put a plug-in next to a hard link or a copy of a privileged program, and it would run with the
 * program's privileges. */
static bool is_privileged(void) {
    return getauxval(AT_SECURE) != 0 || getuid() != geteuid() || getgid() != getegid();
}

void *pv__plugin_open(const char *file, const char *remedy, char *path, size_t size, char *why) {
    *path = '\0';
    if (is_privileged()) {
        pv__format(why, size,
                   "%s is not loaded: prevail runs with elevated privileges (setuid, setgid or capabilities)", file);
        return NULL;
    }
    if (!find(file, path)) {
        pv__format(why, size, "%s was not found next to prevail: %s", file, remedy);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        pv__format(why, size, "%s", dlerror());
    return library;
}
