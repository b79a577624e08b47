/* Training entirely on the device: a step, from the rows to the parameters, is one captured graph.
 *
 * The host writes its random draws (volumes, planes of their views, dropout streams) and all that is known about the
 * rows without the network into a ring of slots in host memory; each run of the graph reads the next slot. Several
 * steps can thus be in flight, and the host reads their losses later.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool same_cut(const pv__cut *a, const pv__cut *b) {
    return a->size == b->size && a->field == b->field && a->low == b->low && a->high == b->high && a->mean == b->mean &&
           a->spread == b->spread;
}

/* Views cut by the host are copied at once; for views cut by the device, its parameters are written to the slot. */
static pv__plugin_code send_rows(pv__net *net, const pv__rows *rows, char *slot, char *why) {
    if (rows->x) {
        size_t in = rows->n * net->spec.views * net->graph.input.height * net->graph.input.width;
        CUDA_TRY(cudaMemcpyAsync(net->stage, rows->x, in * sizeof *rows->x, cudaMemcpyHostToDevice, net->stream));
        narrow(net->stream, in, net->stage, (float *)net->value[0]);
        return PV_PLUGIN_OK;
    }
    Where *where = (Where *)(slot + net->place.where);
    pv__plane *plane = (pv__plane *)(slot + net->place.planes);
    size_t views = net->spec.views;
    for (size_t i = 0; i < (size_t)net->rows; i++) {
        size_t row = i < rows->n ? i : 0; /* fewer rows than the batch: repeat the first */
        where[i].volume = rows->volume[row];
        memcpy(where[i].spacing, rows->spacing + 3 * row, sizeof where[i].spacing);
        memcpy(plane + i * views, rows->plane + row * views, views * sizeof *plane);
    }
    return PV_PLUGIN_OK;
}

/* Graphs that cut views contain the addresses of these volumes. */
static void set_volumes(pv__net *net, const pv__rows *rows) {
    if (rows->x || (net->volumes == rows->volumes && same_cut(&net->cut, &rows->cut)))
        return;
    forget(&net->scored[1]);
    forget(&net->stepped[1][0]);
    forget(&net->stepped[1][1]);
    net->volumes = rows->volumes;
    net->cut = rows->cut;
}

static Head head_of(const pv__net *net) {
    return Head{net->rows, (int)net->spec.views, (int)net->graph.node[net->graph.nodes - 1].out.channels,
                (int)net->spec.classes, net->spec.pool};
}

static pv__plugin_code run_forward(pv__net *net, bool cut, bool dropout, char *why) {
    const Head head = head_of(net);
    if (cut)
        cut_views(net->stream, net->rows, (int)net->spec.views, &net->cut, net->volumes,
                  (const Where *)(net->sent + net->place.where), (const pv__plane *)(net->sent + net->place.planes),
                  (float *)net->value[0]);
    CODE_TRY(layers_forward(net, dropout, why));
    head_forward(net->stream, net->half, &head, net->value[net->graph.nodes], net->w + net->output, net->pooled,
                 net->chosen, net->loglik);
    return PV_PLUGIN_OK;
}

static pv__plugin_code run_score(pv__net *net, bool cut, char *why) {
    size_t size = (size_t)net->rows * net->spec.classes * sizeof(double);
    CUDA_TRY(cudaMemcpyAsync(net->sent, net->pinned, net->place.size, cudaMemcpyHostToDevice, net->stream));
    CODE_TRY(run_forward(net, cut, false, why));
    CUDA_TRY(cudaMemcpyAsync(net->pinned + net->place.size, net->loglik, size, cudaMemcpyDeviceToHost, net->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code rows_score(pv__net *net, const pv__rows *rows, double *loglik, char *why) {
    if (rows->n < 1 || rows->n > (size_t)net->rows) {
        snprintf(why, PV_PLUGIN_TEXT, "at most %d rows are scored, and not %zu", net->rows, rows->n);
        return PV_PLUGIN_FAILED;
    }
    set_volumes(net, rows);
    CODE_TRY(send_rows(net, rows, net->pinned, why));
    CODE_TRY(replay(net, &net->scored[!rows->x], why, [&] { return run_score(net, !rows->x, why); }));
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    memcpy(loglik, net->pinned + net->place.size, rows->n * net->spec.classes * sizeof *loglik);
    return PV_PLUGIN_OK;
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

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

static bool same_slope(const pv__slope *a, const pv__slope *b) {
    return a->kind == b->kind && a->scale == b->scale && a->df == b->df;
}

pv__plugin_code rows_pull(pv__net *net, const pv__pull *pull, char *why) {
    std::vector<int> host(net->room);
    std::vector<unsigned char> kind(net->room, 0);
    bool kept = net->pulled == (pull != NULL) &&
                (!pull || (same_slope(&net->prior, &pull->prior) && same_slope(&net->intercept, &pull->intercept)));
    if (!kept)
        forget_steps(net);
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

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* The first device parameter that is not before the host's `begin`; layers are not split. */
static size_t device_begin(const pv__net *net, size_t begin) {
    for (int t = 0; t < net->graph.nodes; t++)
        if (net->graph.node[t].kind == PV_NODE_CONV && net->graph.node[t].weight >= begin)
            return net->layer[t].weight;
    return net->output;
}

Parameters parameters_of(const pv__net *net) {
    return Parameters{net->prior,    net->intercept,     net->kind, net->pulled ? net->centre : NULL,
                      net->gradient, net->gradient_half, net->mean, net->square,
                      net->w,        net->w_half};
}

pv__plugin_code learn(pv__net *net, cudaStream_t s, size_t begin, size_t end, char *why) {
    const Parameters parameters = parameters_of(net);
    if (auxiliary_learns(net))
        return auxiliary_learn(net, s, begin, end, begin == early_begin(net), &parameters, why);
    adam_step(s, begin, end, (const Sent *)net->sent, &parameters);
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}

static pv__plugin_code run_step(pv__net *net, bool cut, bool low, size_t begin, char *why) {
    const Head head = head_of(net);
    take_sent(net->stream, net->loss.ring, net->place.size, net->loss.turn, net->sent);
    CODE_TRY(join(net, net->stream, net->apart, why));
    if (net->loss.spec.linear)
        CODE_TRY(auxiliary_sums(net, why));
    CODE_TRY(run_forward(net, cut, true, why));
    CODE_TRY(join(net, net->apart, net->stream, why));
    CODE_TRY(loss_slopes(net, why));
    CODE_TRY(join(net, net->stream, net->apart, why));
    CODE_TRY(loss_follow(net, why));
    head_backward(net->stream, net->half, &head, net->chosen, net->w + net->output, net->loglik, net->dloglik,
                  net->dlogits, net->slope[net->graph.nodes]);
    CODE_TRY(join(net, net->stream, net->apart, why));
    head_weights(net->apart, &head, net->pooled, net->dlogits, net->gradient + net->output);
    CODE_TRY(layers_backward(net, low, true, why));
    return learn(net, net->stream, device_begin(net, begin), early_begin(net), why);
}

static void fill_slot(pv__net *net, const pv__rows *rows, const pv__step_terms *terms, const pv__step_rates *rates,
                      char *slot) {
    const Place *at = &net->place;
    size_t n = rows->n, k = net->spec.classes;
    pv__step_form form = net->loss.spec.form;
    *(Sent *)slot = Sent{Draws{rows->dropout.seed, rows->dropout.first},
                         (float)(rates->rate / (1 - pow(0.9, (double)rates->number))),
                         (float)(1 / (1 - pow(0.999, (double)rates->number))),
                         rates->bias_rate / (1 - pow(0.9, (double)rates->bias_number)),
                         1 / (1 - pow(0.999, (double)rates->bias_number)),
                         terms->constant};
    memcpy(slot + at->data, terms->data, n * k * sizeof(double));
    if (form == PV_STEP_SELECTION) {
        memcpy(slot + at->weight, terms->weight, n * sizeof(double));
        memcpy(slot + at->ratio, terms->ratio, n * k * sizeof(double));
    }
    if (form != PV_STEP_JOINT)
        return;
    memcpy(slot + at->weight, terms->population, n * sizeof(double));
    memcpy(slot + at->counts, terms->counts, k * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        ((unsigned *)(slot + at->row))[i] = (unsigned)terms->row[i];
        ((int *)(slot + at->stratum))[i] = terms->stratum[i];
    }
}

pv__plugin_code rows_step(pv__net *net, const pv__rows *rows, const pv__step_terms *terms, const pv__step_rates *rates,
                          char *why) {
    Loss *l = &net->loss;
    if (rows->n != (size_t)net->rows || l->begun - l->asked >= PV_STEPS_AHEAD) {
        snprintf(why, PV_PLUGIN_TEXT, "a step takes %d rows, and not %zu, at most %d ahead of its outcome", net->rows,
                 rows->n, (int)PV_STEPS_AHEAD);
        return PV_PLUGIN_FAILED;
    }
    size_t turn = l->begun % SLOTS;
    char *slot = l->ring + turn * net->place.size;
    set_volumes(net, rows);
    CODE_TRY(send_rows(net, rows, slot, why));
    fill_slot(net, rows, terms, rates, slot);
    CODE_TRY(replay(net, &net->stepped[!rows->x][rates->low], why,
                    [&] { return run_step(net, !rows->x, rates->low, rates->begin, why); }));
    net->dropped = true;
    CUDA_TRY(cudaEventRecord(l->done[turn], net->stream));
    l->begun++;
    return PV_PLUGIN_OK;
}

pv__plugin_code rows_outcome(pv__net *net, double *value, double *log_q, char *why) {
    Loss *l = &net->loss;
    if (l->asked == l->begun) {
        snprintf(why, PV_PLUGIN_TEXT, "no step is under way");
        return PV_PLUGIN_FAILED;
    }
    size_t turn = l->asked % SLOTS, k = net->spec.classes;
    CUDA_TRY(cudaEventSynchronize(l->done[turn]));
    const double *outcome = l->outcomes + turn * (1 + k);
    *value = outcome[0];
    if (l->spec.form == PV_STEP_JOINT)
        memcpy(log_q, outcome + 1, k * sizeof *log_q);
    l->asked++;
    return PV_PLUGIN_OK;
}
