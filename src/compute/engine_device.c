/* The engine that runs networks on a device's plug-in, with parameters, views and gradients in host memory.
 * model/device_network.c trains with everything on the device. */
#include <math.h>
#include <string.h>

#include "compute/device.h"

struct pv__engine {
    const pv__plugin *plugin;
    const pv__graph *graph;
    pv__net *net;
    size_t images;
    pv__plugin_code failed; /* the first failure since load, after which results are NaN */
    char why[PV_PLUGIN_TEXT];
};

pv_status pv__device_checked(pv_ctx *ctx, pv__plugin_code code, const char *why) {
    if (code == PV_PLUGIN_OK)
        return PV_OK;
    if (code == PV_PLUGIN_MEMORY)
        return pv__fail(
            ctx, PV_ERR_MEMORY,
            "the device has too little memory: %s;\nchoose `device=cpu`, or for a network a smaller `batch`", why);
    if (code == PV_PLUGIN_UNFIT)
        return pv__fail(ctx, PV_ERR_INPUT, "the device cannot do this: %s;\nchoose `device=cpu`", why);
    return pv__fail(ctx, PV_ERR_INTERNAL, "the device failed: %s; a `checkpoint` can be continued with `device=cpu`",
                    why);
}

static void engine_close(pv_ctx *ctx, pv__engine *e) {
    if (!e)
        return;
    e->plugin->close(e->net);
    pv__free(ctx, e);
}

static pv_status engine_open(pv_ctx *ctx, const pv__graph *graph, size_t images, size_t parts, int lanes,
                             pv__engine **engine) {
    (void)parts; /* one part with all images, and one lane, because the kind is .whole */
    (void)lanes;
    *engine = NULL;
    const pv__plugin *plugin = pv__device_plugin(ctx);
    pv__engine *e;
    PV_TRY(pv__alloc(ctx, 1, sizeof *e, &e));
    e->plugin = plugin;
    e->graph = graph;
    e->images = images;
    const pv__net_spec spec = {.graph = graph, .images = images, .precision = pv__device_precision(ctx)};
    pv_status status = pv__device_checked(ctx, plugin->open(&spec, &e->net, e->why), e->why);
    if (status == PV_OK)
        *engine = e;
    else
        engine_close(ctx, e);
    return status;
}

static void engine_load(pv__engine *e, const double *w) {
    e->failed = e->plugin->load(e->net, w, e->why);
}

static void fill(size_t n, double *values) {
    for (size_t i = 0; i < n; i++)
        values[i] = (double)NAN;
}

static void engine_forward(pv__engine *e, size_t part, int lane, const double *x, const pv__dropout *dropout,
                           double *features) {
    (void)part;
    (void)lane;
    if (e->failed == PV_PLUGIN_OK)
        e->failed = e->plugin->forward(e->net, e->images, x, dropout, features, e->why);
    if (e->failed != PV_PLUGIN_OK)
        fill(e->images * pv__shape_size(pv__graph_shape(e->graph, e->graph->nodes)), features);
}

static void engine_backward(pv__engine *e, size_t part, int lane, const double *dfeatures, bool low) {
    (void)part;
    (void)lane;
    if (e->failed == PV_PLUGIN_OK)
        e->failed = e->plugin->backward(e->net, dfeatures, low, e->why);
}

static void engine_gather(pv__engine *e, size_t first, size_t last, int threads, bool low, double *dw) {
    (void)first;
    (void)last;
    (void)threads;
    size_t begin = low ? 0 : e->graph->low_params;
    if (e->failed == PV_PLUGIN_OK)
        e->failed = e->plugin->gradient(e->net, begin, dw, e->why);
    if (e->failed != PV_PLUGIN_OK)
        fill(e->graph->params - begin, dw + begin);
}

static pv_status engine_check(pv_ctx *ctx, const pv__engine *e) {
    return pv__device_checked(ctx, e->failed, e->why);
}

const pv__engine_kind pv__engine_device = {.name = "device",
                                           .whole = true,
                                           .open = engine_open,
                                           .close = engine_close,
                                           .load = engine_load,
                                           .forward = engine_forward,
                                           .backward = engine_backward,
                                           .gather = engine_gather,
                                           .check = engine_check};
