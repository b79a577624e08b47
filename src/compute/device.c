/* The plug-in of a device: where it is looked for, and why it cannot be had.
 *
 * libprevail-cuda.so is loaded when a context asks for it (pv_ctx_set_device), or, by default, when a network is about
 * to run: from the folder that PREVAIL_PLUGINS names, else from beside this library or program, else from where it was
 * installed. It stays loaded to the end of the process, as the libraries below it must.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "compute/device.h"
#include "compute/graph.h"

#ifndef PV_PLUGIN_FOLDER
#define PV_PLUGIN_FOLDER "/usr/local/lib/prevail"
#endif

enum { PATH_SIZE = 4096 };

static const char FILE_NAME[] = "libprevail-cuda.so";
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static bool folder_of(char *path) {
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* Of the library, or of the program that it is part of. */
static bool own_folder(char *folder) {
    Dl_info info;
    if (dladdr(FILE_NAME, &info) && info.dli_fname && info.dli_fname[0] == '/' && strlen(info.dli_fname) < PATH_SIZE) {
        pv__format(folder, PATH_SIZE, "%s", info.dli_fname);
        return folder_of(folder);
    }
    ssize_t length = readlink("/proc/self/exe", folder, PATH_SIZE - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    return folder_of(folder);
}

/* The first place that has the file. */
static bool find_file(char *path) {
    char own[PATH_SIZE];
    const char *named = secure_getenv("PREVAIL_PLUGINS");
    const char *folder[] = {named, !named && own_folder(own) ? own : NULL, named ? NULL : PV_PLUGIN_FOLDER};
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
        if (!folder[i])
            continue;
        int length = pv__format(path, PATH_SIZE, "%s/%s", folder[i], FILE_NAME);
        if (length > 0 && length < PATH_SIZE && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static const pv__plugin *load(pv__device_about *about, char *why) {
    char path[PATH_SIZE];
    if (!find_file(path)) {
        pv__format(why, PV_PLUGIN_TEXT,
                   "there is no %s beside prevail (build it with 'make cuda', or name its folder "
                   "in PREVAIL_PLUGINS)",
                   FILE_NAME);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        pv__format(why, PV_PLUGIN_TEXT, "%s", dlerror());
        return NULL;
    }
    const pv__plugin *table = dlsym(library, PV_PLUGIN_SYMBOL);
    if (!table || table->version != PV_PLUGIN_VERSION || table->size != sizeof *table) {
        pv__format(why, PV_PLUGIN_TEXT, "%s is %s: build both together", path,
                   table ? "of another version of prevail" : "no plug-in of prevail");
        dlclose(library);
        return NULL;
    }
    return table->about(about, why) == PV_PLUGIN_OK ? table : NULL;
}

/* Looked for once in the life of a context. */
static const pv__plugin *plugin_of(pv_ctx *root) {
    pthread_mutex_lock(&loading);
    if (!root->device.tried) {
        char why[PV_PLUGIN_TEXT] = "";
        pv__device_about about = {.device = ""};
        root->device.plugin = load(&about, why);
        pv__format(root->device.text, sizeof root->device.text, "%s%s%s", root->device.plugin ? about.device : why,
                   root->device.plugin ? ", " : "", about.libraries);
        root->device.tried = true;
    }
    const pv__plugin *plugin = root->device.plugin;
    pthread_mutex_unlock(&loading);
    return plugin;
}

const pv__plugin *pv__device_plugin(pv_ctx *ctx) {
    pv_ctx *root = ctx->root;
    return root->device.kind == PV_DEVICE_CPU || root->options.engine ? NULL : plugin_of(root);
}

pv_precision pv__device_precision(const pv_ctx *ctx) {
    return (pv_precision)ctx->root->device.precision;
}

pv_status pv_ctx_set_device(pv_ctx *ctx, pv_device device, pv_precision precision) {
    pv_ctx *root = ctx->root;
    root->device.kind = (int)device;
    root->device.precision = (int)precision;
    if (device == PV_DEVICE_CUDA && !plugin_of(root))
        return pv__fail(ctx, PV_ERR_USAGE, "`device` cuda is not available: %s", root->device.text);
    return PV_OK;
}

bool pv_ctx_device(pv_ctx *ctx, const char **text) {
    bool found = plugin_of(ctx->root) != NULL;
    *text = ctx->root->device.text;
    return found;
}

#define DEVICE(name, word) {PV_DEVICE_##name, word},
PV__NAMED(device, PV_DEVICE_LIST, DEVICE)
#define PRECISION(name, word) {PV_PRECISION_##name, word},
PV__NAMED(precision, PV_PRECISION_LIST, PRECISION)
