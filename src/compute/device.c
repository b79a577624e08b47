/* Finds and loads the plug-in of a device.
 *
 * libprevail-cuda.so is loaded when a context asks for it (pv_ctx_set_device) or, by default, when a network is about
 * to run (base/plugins.c has the search path). It stays loaded until the process ends, because the libraries it uses
 * must.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/names.h"
#include "compute/device.h"
#include "compute/graph.h"

static const char FILE_NAME[] = "libprevail-cuda.so";
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static const pv__plugin *load(pv__device_about *about, char *why) {
    char path[PV_PLUGIN_PATH_SIZE];
    static const char remedy[] = "build it with 'make cuda', or name its folder in PREVAIL_PLUGINS";
    void *library = pv__plugin_open(FILE_NAME, remedy, path, PV_PLUGIN_TEXT, why);
    if (!library)
        return NULL;
    const pv__plugin *table = dlsym(library, PV_PLUGIN_SYMBOL);
    if (!table || table->version != PV_PLUGIN_VERSION || table->size != sizeof *table) {
        pv__format(why, PV_PLUGIN_TEXT, "%s is %s: build both together", path,
                   table ? "for another version of prevail" : "not a plug-in of prevail");
        dlclose(library);
        return NULL;
    }
    return table->about(about, why) == PV_PLUGIN_OK ? table : NULL; /* tables_only: `why` is kept for networks */
}

/* Searches once in the lifetime of a context. */
static const pv__plugin *plugin_of(pv_ctx *root) {
    pthread_mutex_lock(&loading);
    if (!root->device.tried) {
        char why[PV_PLUGIN_TEXT] = "";
        pv__device_about about = {.device = ""};
        root->device.plugin = load(&about, why);
        pv__format(root->device.text, sizeof root->device.text, "%s%s%s", root->device.plugin ? about.device : why,
                   root->device.plugin ? ", " : "", about.libraries);
        root->device.tables_only = about.tables_only;
        pv__format(root->device.without, sizeof root->device.without, "%s", why);
        root->device.tried = true;
    }
    const pv__plugin *plugin = root->device.plugin;
    pthread_mutex_unlock(&loading);
    return plugin;
}

const pv__plugin *pv__device_for_tables(pv_ctx *ctx) {
    pv_ctx *root = ctx->root;
    return root->device.kind == PV_DEVICE_CPU || root->options.engine ? NULL : plugin_of(root);
}

/* Whether several processes share this context's work, which is divided and summed in a way devices do not support.
 * Jobs have contexts of their own. */
static bool is_shared(const pv_ctx *ctx) {
    return ctx->ranks.calls.size > 1;
}

const pv__plugin *pv__device_plugin(pv_ctx *ctx) {
    const pv__plugin *plugin = is_shared(ctx) ? NULL : pv__device_for_tables(ctx);
    return plugin && ctx->root->device.tables_only ? NULL : plugin;
}

bool pv__device_asked(const pv_ctx *ctx) {
    return ctx->root->device.kind == PV_DEVICE_CUDA;
}

pv_status pv__device_networks_check(pv_ctx *ctx) {
    if (pv__device_asked(ctx) && is_shared(ctx))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`device=cuda` runs a network in one process, and there are %d ranks:\nleave it out, or run one",
            ctx->ranks.calls.size);
    if (pv__device_asked(ctx) && plugin_of(ctx->root) && ctx->root->device.tables_only)
        return pv__fail(ctx, PV_ERR_USAGE, "`device=cuda` is not available for networks: %s",
                        ctx->root->device.without);
    if (is_shared(ctx) && ctx->root->device.kind == PV_DEVICE_AUTO && plugin_of(ctx->root))
        pv__log(ctx, PV_LOG_INFO, "with several ranks, networks run on the processors: the device is not used");
    return PV_OK;
}

pv_precision pv__device_precision(const pv_ctx *ctx) {
    return (pv_precision)ctx->root->device.precision;
}

pv_status pv_ctx_set_device(pv_ctx *ctx, pv_device device, pv_precision precision) {
    pv_ctx *root = ctx->root;
    root->device.kind = (int)device;
    root->device.precision = (int)precision;
    if (device == PV_DEVICE_CUDA && !plugin_of(root))
        return pv__fail(ctx, PV_ERR_USAGE, "`device=cuda` is not available: %s", root->device.text);
    return PV_OK;
}

bool pv_ctx_device(pv_ctx *ctx, const char **text) {
    bool found = plugin_of(ctx->root) != NULL;
    *text = ctx->root->device.text;
    return found;
}

#define PRECISION(name, word) {PV_PRECISION_##name, word},
PV__NAMED(pv_precision, pv_precision_name, PV_PRECISION_LIST, PRECISION)
