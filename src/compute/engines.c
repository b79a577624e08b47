/* Selects the engine for networks by name, among those built in and those that plug-ins have added to the context. */
#include <string.h>

#include "compute/device.h"

enum { BUILT_IN = 2 };

static const pv__engine_kind *engine_at(const pv_ctx *root, int i) {
    const pv__engine_kind *const built_in[BUILT_IN] = {pv__engine_best(), &pv__engine_reference};
    return i < BUILT_IN ? built_in[i] : root->engine[i - BUILT_IN];
}

pv_status pv__engine_find(pv_ctx *ctx, const pv__engine_kind **kind) {
    const pv_ctx *root = ctx->root;
    const char *name = root->options.engine;
    char names[256] = "";
    if (!name)
        PV_TRY(pv__device_networks_check(ctx));
    if (!name && pv__engine_best() && pv__device_plugin(ctx)) {
        *kind = &pv__engine_device;
        return PV_OK;
    }
    for (int i = 0; i < BUILT_IN + root->engines; i++) {
        *kind = engine_at(root, i);
        if (!*kind) /* a build without images rejects networks before they need an engine */
            continue;
        if (!name || strcmp((*kind)->name, name) == 0)
            return PV_OK;
        size_t used = strlen(names);
        pv__format(names + used, sizeof names - used, "%s%s", i ? ", " : "", (*kind)->name);
    }
    *kind = NULL;
    return pv__fail(ctx, PV_ERR_USAGE, "there is no engine '%s' for networks:\nchoose one of %s", name, names);
}

pv_status pv__engine_add(pv_ctx *ctx, const pv__engine_kind *kind) {
    pv_ctx *root = ctx->root;
    if (root->engines == PV_ENGINES_MAX)
        return pv__fail(ctx, PV_ERR_USAGE, "engine %s: a context supports at most %d engines of plug-ins", kind->name,
                        (int)PV_ENGINES_MAX);
    root->engine[root->engines++] = kind;
    return PV_OK;
}
