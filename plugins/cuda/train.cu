/* Training with everything on the device: rows forward, rows backward, and the step of the parameters.
 *
 * The host sends what it drew (which volumes, the planes of their views, the streams of dropout), receives the rows'
 * log-likelihoods, and answers with the loss's slopes: a few kilobytes, in one captured graph each way. The losses and
 * marginals are the host's own code, so that every one of them works here as there.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net.h"

static bool same_cut(const pv__cut *a, const pv__cut *b) {
    return a->size == b->size && a->field == b->field && a->low == b->low && a->high == b->high && a->mean == b->mean &&
           a->spread == b->spread;
}

static pv__plugin_code send_rows(pv__net *net, const pv__rows *rows, char *why) {
    Draws *draws = (Draws *)net->pinned;
    Where *where = (Where *)(net->pinned + net->where_at);
    *draws = Draws{rows->dropout.seed, rows->dropout.first};
    if (rows->x) {
        size_t in = rows->n * net->spec.views * net->graph.input.height * net->graph.input.width;
        CUDA_TRY(cudaMemcpyAsync(net->stage, rows->x, in * sizeof *rows->x, cudaMemcpyHostToDevice, net->stream));
        narrow(net->stream, in, net->stage, (float *)net->value[0]);
        return PV_PLUGIN_OK;
    }
    pv__plane *plane = (pv__plane *)(net->pinned + net->planes_at);
    size_t views = net->spec.views;
    for (size_t i = 0; i < (size_t)net->rows; i++) {
        size_t row = i < rows->n ? i : 0; /* too few: the first stands in */
        where[i].volume = rows->volume[row];
        memcpy(where[i].spacing, rows->spacing + 3 * row, sizeof where[i].spacing);
        memcpy(plane + i * views, rows->plane + row * views, views * sizeof *plane);
    }
    return PV_PLUGIN_OK;
}

static Head head_of(const pv__net *net) {
    return Head{net->rows, (int)net->spec.views, (int)net->graph.node[net->graph.nodes - 1].out.channels,
                (int)net->spec.classes, net->spec.pool};
}

static pv__plugin_code run_forward(pv__net *net, bool cut, bool dropout, char *why) {
    const Head head = head_of(net);
    size_t length = cut ? net->dloglik_at : sizeof(Draws), back = net->sent_size - net->loglik_at;
    CUDA_TRY(cudaMemcpyAsync(net->sent, net->pinned, length, cudaMemcpyHostToDevice, net->stream));
    if (cut)
        cut_views(net->stream, net->rows, (int)net->spec.views, &net->cut, net->volumes,
                  (const Where *)(net->sent + net->where_at), (const pv__plane *)(net->sent + net->planes_at),
                  (float *)net->value[0]);
    CODE_TRY(layers_forward(net, dropout, why));
    head_forward(net->stream, net->half, &head, net->value[net->graph.nodes], net->w + net->output, net->pooled,
                 net->chosen, (double *)(net->sent + net->loglik_at));
    CUDA_TRY(cudaMemcpyAsync(net->pinned + net->loglik_at, net->sent + net->loglik_at, back, cudaMemcpyDeviceToHost,
                             net->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code rows_forward(pv__net *net, const pv__rows *rows, double *loglik, char *why) {
    bool cut = !rows->x, dropout = rows->dropout.on;
    if (dropout ? rows->n != (size_t)net->rows : rows->n < 1 || rows->n > (size_t)net->rows) {
        snprintf(why, PV_PLUGIN_TEXT, "a step takes %d rows, and not %zu", net->rows, rows->n);
        return PV_PLUGIN_FAILED;
    }
    if (cut && (net->volumes != rows->volumes || !same_cut(&net->cut, &rows->cut))) {
        forget(&net->forward[1]);
        forget(&net->forward[3]);
        net->volumes = rows->volumes;
        net->cut = rows->cut;
    }
    CODE_TRY(send_rows(net, rows, why));
    Captured *captured = &net->forward[(dropout ? 0 : 2) + (cut ? 1 : 0)];
    CODE_TRY(replay(net, captured, why, [&] { return run_forward(net, cut, dropout, why); }));
    net->dropped = dropout;
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    memcpy(loglik, net->pinned + net->loglik_at, rows->n * net->spec.classes * sizeof *loglik);
    return PV_PLUGIN_OK;
}

static pv__plugin_code run_backward(pv__net *net, bool low, char *why) {
    const Head head = head_of(net);
    CUDA_TRY(cudaMemcpyAsync(net->sent + net->dloglik_at, net->pinned + net->dloglik_at,
                             net->loglik_at - net->dloglik_at, cudaMemcpyHostToDevice, net->stream));
    head_backward(net->stream, net->half, &head, net->chosen, net->w + net->output,
                  (const double *)(net->sent + net->loglik_at), (const double *)(net->sent + net->dloglik_at),
                  net->dlogits, net->slope[net->graph.nodes]);
    CODE_TRY(turn_aside(net, why));
    head_weights(net->aside, &head, net->pooled, net->dlogits, net->gradient + net->output);
    return layers_backward(net, low, why);
}

pv__plugin_code rows_backward(pv__net *net, const double *dloglik, bool low, char *why) {
    memcpy(net->pinned + net->dloglik_at, dloglik, net->loglik_at - net->dloglik_at);
    return replay(net, &net->backward[low], why, [&] { return run_backward(net, low, why); });
}

pv__plugin_code rows_put(pv__net *net, const double *w, const double *mean, const double *square, const double *marked,
                         char *why) {
    CODE_TRY(net_load(net, w, why));
    CODE_TRY(params_in(net, mean, net->mean, why));
    CODE_TRY(params_in(net, square, net->square, why));
    CODE_TRY(params_in(net, marked, net->marked, why));
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code rows_get(pv__net *net, double *w, double *mean, double *square, double *marked, char *why) {
    const float *from[] = {net->w, net->mean, net->square, net->marked};
    double *to[] = {w, mean, square, marked};
    for (int i = 0; i < 4; i++)
        if (to[i])
            CODE_TRY(params_out(net, from[i], to[i], why));
    return PV_PLUGIN_OK;
}

pv__plugin_code rows_mark(pv__net *net, char *why) {
    CUDA_TRY(cudaMemcpyAsync(net->marked, net->w, net->room * sizeof(float), cudaMemcpyDeviceToDevice, net->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code rows_pull(pv__net *net, const pv__pull *pull, char *why) {
    std::vector<int> host(net->room);
    std::vector<unsigned char> kind(net->room, 0);
    net->pulled = pull != NULL;
    CUDA_TRY(cudaMemcpyAsync(host.data(), net->host, net->room * sizeof(int), cudaMemcpyDeviceToHost, net->stream));
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    for (size_t i = 0; pull && i < net->room; i++)
        kind[i] = host[i] >= 0 && pull->is_bias[host[i]] ? PARAMETER_BIAS : 0;
    for (int t = 0; t < net->graph.nodes; t++)
        for (size_t i = net->layer[t].weight; has_half_gradient(net, t) && i < net->layer[t].bias; i++)
            kind[i] |= PARAMETER_HALF;
    CUDA_TRY(cudaMemcpyAsync(net->kind, kind.data(), net->room, cudaMemcpyHostToDevice, net->stream));
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    if (!pull)
        return PV_PLUGIN_OK;
    net->prior = pull->prior;
    net->intercept = pull->intercept;
    return params_in(net, pull->centre, net->centre, why);
}

/* The first parameter of the device that is not before the host's `begin`: whole layers. */
static size_t device_begin(const pv__net *net, size_t begin) {
    for (int t = 0; t < net->graph.nodes; t++)
        if (net->graph.node[t].kind == PV_NODE_CONV && net->graph.node[t].weight >= begin)
            return net->layer[t].weight;
    return net->output;
}

pv__plugin_code rows_learn(pv__net *net, size_t begin, double rate, int64_t step, const pv__follow *follow, char *why) {
    Adam adam = {};
    if (follow)
        CODE_TRY(auxiliary_follow(net, follow, why));
    adam.scale = (float)(rate / (1 - pow(0.9, (double)step)));
    adam.unbias = (float)(1 / (1 - pow(0.999, (double)step)));
    adam.prior = net->prior;
    adam.intercept = net->intercept;
    const Parameters parameters = {
        net->kind,  net->pulled ? net->centre : NULL, net->gradient, net->gradient_half, net->mean, net->square, net->w,
        net->w_half};
    adam_step(net->stream, device_begin(net, begin), net->room, &adam, &parameters);
    CUDA_TRY(cudaGetLastError());
    return follow ? auxiliary_learned(net, why) : PV_PLUGIN_OK;
}
