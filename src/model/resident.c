/* A network on a device, trained there. */
#include "model/resident.h"

#include "model/network.h"

pv_status pv__resident_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv__resident *made) {
    const pv__network *network = model->network;
    *made = (pv__resident){.plugin = network ? pv__device_plugin(ctx) : NULL, .rows = rows};
    if (!network || !made->plugin)
        return PV_OK;
    made->step_views = pv__network_step_views(network, rows);
    made->low = network->graph.low_params;
    const pv__net_spec spec = {.graph = &network->graph,
                               .images = rows * network->views,
                               .precision = pv__device_precision(ctx),
                               .views = network->views,
                               .classes = (size_t)model->classes,
                               .pool = (int)network->pool};
    return pv__device_checked(ctx, made->plugin->open(&spec, &made->net, made->why), made->why);
}

void pv__resident_free(pv__resident *resident) {
    if (resident->plugin)
        resident->plugin->close(resident->net);
    resident->net = NULL;
}

pv_status pv__resident_forward(pv_ctx *ctx, pv__resident *r, pv__rows *rows, uint64_t seed, uint64_t step,
                               double *loglik) {
    rows->dropout = (pv__dropout){.on = true, .seed = seed, .first = step * r->step_views};
    return pv__device_checked(ctx, r->plugin->rows_forward(r->net, rows, loglik, r->why), r->why);
}

pv_status pv__resident_score(pv_ctx *ctx, pv__resident *r, pv__rows *rows, double *loglik) {
    rows->dropout = (pv__dropout){.on = false};
    return pv__device_checked(ctx, r->plugin->rows_forward(r->net, rows, loglik, r->why), r->why);
}

pv_status pv__resident_backward(pv_ctx *ctx, pv__resident *r, const double *dloglik, bool freeze_low) {
    return pv__device_checked(ctx, r->plugin->rows_backward(r->net, dloglik, !freeze_low, r->why), r->why);
}

pv_status pv__resident_learn(pv_ctx *ctx, pv__resident *r, bool freeze_low, double rate, int64_t step,
                             const pv__follow *follow) {
    return pv__device_checked(ctx, r->plugin->learn(r->net, freeze_low ? r->low : 0, rate, step, follow, r->why),
                              r->why);
}
