/* Trains a network on a device. */
#include "model/device_network.h"

#include "model/network.h"

pv_status pv__resident_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv__resident *made) {
    const pv__network *network = model->network;
    *made = (pv__resident){.plugin = network ? pv__device_plugin(ctx) : NULL, .rows = rows};
    if (!network || !made->plugin || model->ordinal) /* output layers of ordinal models run on the processor */
        return PV_OK;
    made->step_views = pv__network_step_views(network, rows);
    made->low = network->graph.low_params;
    const pv__net_spec spec = {.graph = &network->graph,
                               .images = rows * network->views,
                               .precision = pv__device_precision(ctx),
                               .views = network->views,
                               .classes = (size_t)model->classes,
                               .pool = (int)network->pool,
                               .params = model->params};
    return pv__device_checked(ctx, made->plugin->open(&spec, &made->net, made->why), made->why);
}

void pv__resident_free(pv__resident *resident) {
    if (resident->plugin)
        resident->plugin->close(resident->net);
    resident->net = NULL;
}

pv_status pv__resident_score(pv_ctx *ctx, pv__resident *r, pv__rows *rows, double *loglik) {
    rows->dropout = (pv__dropout){.on = false};
    return pv__device_checked(ctx, r->plugin->score(r->net, rows, loglik, r->why), r->why);
}

pv_status pv__resident_step(pv_ctx *ctx, pv__resident *r, pv__rows *rows, uint64_t seed, const pv__step_terms *terms,
                            pv__step_rates *rates, bool freeze_low) {
    rows->dropout = (pv__dropout){.on = true, .seed = seed, .first = (uint64_t)(rates->number - 1) * r->step_views};
    rates->low = !freeze_low;
    rates->begin = freeze_low ? r->low : 0;
    return pv__device_checked(ctx, r->plugin->step(r->net, rows, terms, rates, r->why), r->why);
}
