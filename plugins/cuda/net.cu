/* A network on the device: its memory, its layers, and its passes for the host's engine. */
#include <mutex>
#include <new>
#include <stdio.h>
#include <string.h>

#include "net.h"

/* ---- construction ------------------------------------------------------------------------------------------------ */

static size_t rounded(size_t n) {
    return (n + 7) / 8 * 8;
}

static void free_waiting(void);

pv__plugin_code take_bytes(pv__net *net, size_t size, void **block, char *why) {
    cudaError_t error = cudaMalloc(block, size);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        free_waiting();
        error = cudaMalloc(block, size);
    }
    CUDA_TRY(error);
    net->blocks.push_back(*block);
    CUDA_TRY(cudaMemsetAsync(*block, 0, size, net->stream));
    return PV_PLUGIN_OK;
}

static pv__plugin_code take_tensor(pv__net *net, size_t count, void **block, char *why) {
    char *made;
    CODE_TRY(take(net, count * (net->half ? sizeof(bf16) : sizeof(float)), &made, why));
    *block = made;
    return PV_PLUGIN_OK;
}

static Conv conv_of(const pv__net *net, int t) {
    const pv__node *node = &net->graph.node[t];
    pv__shape in = shape_of(&net->graph, node->input[0]);
    Conv c = {};
    c.images = net->images;
    c.in = (int)in.channels;
    c.height = (int)in.height;
    c.width = (int)in.width;
    c.out = (int)node->out.channels;
    c.out_height = (int)node->out.height;
    c.out_width = (int)node->out.width;
    c.kernel = (int)node->kernel;
    c.stride = (int)node->stride;
    c.padding = (int)node->padding;
    c.precision = net->spec.precision;
    if (node->kind == PV_NODE_CONV && c.out_height == 1 && c.out_width == 1 && c.padding == 0 && c.kernel == c.height &&
        c.kernel == c.width) { /* a kernel that covers the whole plane: in memory that is one pixel with many channels,
                                  so it is a matrix product */
        c.in *= c.height * c.width;
        c.height = c.width = c.kernel = c.stride = 1;
    }
    return c;
}

/* Assigns positions to parameters; the host has weights as [out][in][kernel][kernel]. */
static pv__plugin_code place_parameters(pv__net *net, char *why) {
    const pv__graph *g = &net->graph;
    size_t outputs = net->spec.classes ? (size_of(g->node[g->nodes - 1].out) + 1) * net->spec.classes : 0;
    std::vector<int> host;
    for (int t = 0; t < g->nodes; t++) {
        const pv__node *node = &g->node[t];
        Layer *layer = &net->layer[t];
        if (node->kind != PV_NODE_CONV)
            continue;
        layer->weight = host.size();
        size_t in = shape_of(g, node->input[0]).channels, taps = node->kernel * node->kernel;
        for (size_t o = 0; o < node->out.channels; o++)
            for (size_t r = 0; r < taps; r++)
                for (size_t c = 0; c < in; c++)
                    host.push_back((int)(node->weight + (o * in + c) * taps + r));
        host.resize(rounded(host.size()), -1);
        layer->bias = host.size();
        for (size_t o = 0; o < node->out.channels; o++)
            host.push_back((int)(node->bias + o));
        host.resize(rounded(host.size()), -1);
    }
    net->output = host.size();
    for (size_t i = 0; i < outputs; i++)
        host.push_back((int)(g->params + i));
    host.resize(rounded(host.size()), -1);
    net->params = g->params + outputs;
    net->room = host.size();
    if (net->spec.classes && net->params != net->spec.params) {
        snprintf(why, PV_PLUGIN_TEXT, "a network of %zu parameters, and not %zu", net->params, net->spec.params);
        return PV_PLUGIN_FAILED;
    }
    CODE_TRY(take(net, net->room, &net->host, why));
    CUDA_TRY(cudaMemcpyAsync(net->host, host.data(), net->room * sizeof(int), cudaMemcpyHostToDevice, net->stream));
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    return PV_PLUGIN_OK;
}

/* cuDNN compiles a fused pass when it is created, which takes a tenth of a second or more. It pays if a pass over the
 * output takes long: from this many bytes per image. */
enum { FUSED_LEAST = 100 << 10 };

static int users_of(const pv__graph *g, int tensor) {
    int users = 0;
    for (int t = 0; t < g->nodes; t++)
        for (int i = 0; i < g->node[t].inputs; i++)
            users += g->node[t].input[i] == tensor;
    return users;
}

/* Decides whether the layer has kernels of its own, and how much they cover. */
static pv__plugin_code make_wide(pv__net *net, int t, char *why) {
    const pv__graph *g = &net->graph;
    Layer *layer = &net->layer[t];
    int x = g->node[t].input[0];
    bool one = layer->conv.stride == 1, alone = x > 0 && users_of(g, x) == 1;
    if (x == 0 || !wide_fits(&layer->conv) || (one && (g->node[t].dropout > 0 || layer->joins >= 0)))
        return PV_PLUGIN_OK;
    Layer *below = &net->layer[x - 1];
    /* The kernel for a layer of stride 2 works with any convolution below except the first, whose kernel needs stride
     * 1. */
    bool gates = !below->first && g->node[x - 1].kind == PV_NODE_CONV && g->node[x - 1].dropout == 0;
    bool onward = net->half && alone && (one ? below->first : gates);
    if ((!one && !onward) ||
        !wide_make(&layer->conv, net->value[x], weights_of(net, t), net->slope[t + 1], net->slope[x], &layer->maps))
        return PV_PLUGIN_OK;
    layer->wide = true;
    layer->onward = onward;
    below->done = below->done || onward;
    return one ? take(net, layer->maps.blocks * (layer->bias - layer->weight), &layer->wide_partial, why)
               : PV_PLUGIN_OK;
}

/* Convolutions whose output is only a part of a concatenation write directly to that part, and read it in the backward
 * pass. */
static void find_slices(pv__net *net) {
    const pv__graph *g = &net->graph;
    for (int t = 0; t < g->nodes; t++)
        net->layer[t].joins = -1;
    for (int t = 0; t < g->nodes; t++) {
        const pv__node *node = &g->node[t];
        bool all = node->kind == PV_NODE_CONCAT;
        for (int i = 0; i < node->inputs && all; i++) {
            int x = node->input[i];
            all = x > 0 && users_of(g, x) == 1 && g->node[x - 1].kind == PV_NODE_CONV && g->node[x - 1].dropout == 0 &&
                  g->node[x - 1].input[0] > 0;
        }
        net->layer[t].done = all;
        for (int i = 0, at = 0; i < node->inputs && all; i++) {
            Layer *part = &net->layer[node->input[i] - 1];
            part->joins = t;
            part->slice = Slice{at, (int)node->out.channels};
            at += (int)shape_of(g, node->input[i]).channels;
        }
    }
}

/* Whether the node reads tensor x like one of the four nodes in inception_entry.cu, with this many output channels. */
static bool is_narrow(const pv__net *net, int t, int x, size_t out, size_t stride) {
    const pv__node *node = &net->graph.node[t];
    return node->kind == PV_NODE_CONV && node->input[0] == x && node->kernel == 1 && node->padding == 0 &&
           node->stride == stride && node->out.channels == out && node->dropout == 0 &&
           (stride == 2 || net->layer[t].joins < 0);
}

/* Finds tensors that are read only by those four, which come in the order a, c, b, max pooling (inception_block). */
static void find_mouths(pv__net *net) {
    const pv__graph *g = &net->graph;
    for (int x = 1; x <= g->nodes; x++) {
        int user[4] = {-1, -1, -1, -1}, users = 0;
        for (int t = 0; t < g->nodes; t++)
            if (g->node[t].input[0] == x && users++ < 4)
                user[users - 1] = t;
        if (users != 4 || users_of(g, x) != 4)
            continue;
        int a = user[0], c = user[1], b = user[2], pool = user[3];
        const pv__node *most = &g->node[pool];
        const Conv conv = conv_of(net, a);
        size_t out = g->node[a].out.channels;
        if (!is_narrow(net, a, x, out, 1) || !is_narrow(net, c, x, out, 2) || !is_narrow(net, b, x, out, 1) ||
            most->kind != PV_NODE_MAXPOOL || most->kernel != 3 || most->stride != 2 || most->padding != 1 ||
            !mouth_fits(&conv))
            continue;
        Layer *lead = &net->layer[a];
        lead->leads = true;
        lead->mouth_b = b;
        lead->mouth_c = c;
        lead->mouth_pool = pool;
        net->layer[b].led = net->layer[c].led = net->layer[pool].led = true;
        const pv__node *below = &g->node[x - 1];
        lead->onward =
            below->kind == PV_NODE_CONV && below->dropout == 0 && below->input[0] > 0 && net->layer[x - 1].joins < 0;
        net->layer[x - 1].done = net->layer[x - 1].done || lead->onward;
    }
}

/* Decides whether the layer is a branch whose kernel includes the ReLU below it. */
static void make_branch(pv__net *net, int t) {
    const pv__graph *g = &net->graph;
    Layer *layer = &net->layer[t];
    int x = g->node[t].input[0];
    if (x == 0 || users_of(g, x) != 1 || !branch_fits(&layer->conv))
        return;
    Layer *below = &net->layer[x - 1];
    const pv__node *node = &g->node[x - 1];
    layer->branch = layer->onward =
        node->kind == PV_NODE_CONV && node->dropout == 0 && node->input[0] > 0 && below->joins < 0;
    below->done = below->done || layer->branch;
}

/* Whether the gradient with respect to the node's input is computed after that of another node. */
static bool comes_after(const pv__graph *g, int t) {
    for (int later = t + 1; later < g->nodes; later++)
        for (int i = 0; i < g->node[later].inputs; i++)
            if (g->node[later].input[i] == g->node[t].input[0])
                return true;
    return false;
}

/* Creates cuDNN plans for everything that our kernels do not cover. */
static void make_plans(pv__net *net, int t, size_t *room, size_t *room_beside) {
    const pv__node *node = &net->graph.node[t];
    Layer *layer = &net->layer[t];
    size_t bytes = size_of(node->out) * (net->half ? sizeof(bf16) : sizeof(float));
    for (int pass = 0; pass < PASSES && node->input[0] > 0; pass++) {
        if (!is_cudnns(layer, pass))
            continue;
        cudnnHandle_t handle = pass == PASS_WEIGHTS && net->beside ? net->beside : net->handle;
        bool fused = pass == PASS_FORWARD && node->dropout == 0 && layer->joins < 0 && bytes >= FUSED_LEAST;
        bool adds = pass == PASS_DATA && comes_after(&net->graph, t);
        Plan *plan = &layer->plan[pass];
        layer->planned[pass] = ((fused || adds) && plan_make(handle, &layer->conv, (Pass)pass, fused, adds, plan)) ||
                               plan_make(handle, &layer->conv, (Pass)pass, false, false, plan);
        size_t *needs = pass == PASS_WEIGHTS ? room_beside : room;
        if (layer->planned[pass] && plan->workspace > *needs)
            *needs = plan->workspace;
    }
}

static pv__plugin_code make_layers(pv__net *net, char *why) {
    const pv__graph *g = &net->graph;
    size_t images = (size_t)net->images, largest = 0, room = 0, room_beside = 0;
    float *x;
    CODE_TRY(take(net, images * size_of(g->input), &x, why));
    net->value[0] = x;
    find_slices(net);
    find_mouths(net);
    for (int t = 0; t < g->nodes; t++) {
        const pv__node *node = &g->node[t];
        Layer *layer = &net->layer[t];
        size_t size = size_of(node->out);
        largest = size > largest ? size : largest;
        CODE_TRY(take_tensor(net, images * size, &net->value[t + 1], why));
        CODE_TRY(take_tensor(net, images * size, &net->slope[t + 1], why));
        if (node->dropout > 0)
            CODE_TRY(take(net, images * mask_bytes(size), &layer->mask, why));
        layer->conv = conv_of(net, t);
        if (node->kind == PV_NODE_MAXPOOL)
            CODE_TRY(take(net, images * size, &layer->from, why));
        if (node->kind != PV_NODE_CONV)
            continue;
        layer->first = node->input[0] == 0 && node->dropout == 0 && first_fits(&layer->conv);
        CODE_TRY(take(net, BLOCKS * node->out.channels * (layer->first ? TAPS + 1 : 1), &layer->partial, why));
        CODE_TRY(make_wide(net, t, why));
        make_branch(net, t);
        make_plans(net, t, &room, &room_beside);
    }
    char *space, *space_beside;
    CODE_TRY(take(net, room, &space, why));
    CODE_TRY(take(net, room_beside, &space_beside, why));
    net->workspace = space;
    net->workspace_beside = space_beside;
    return take_tensor(net, images * largest, &net->spare, why);
}

/* Binds the buffers of cuDNN's passes. The gradient of an input goes to the spare tensor if others add to it, so two
 * plans may be needed, whose buffers are bound when that is known. */
static pv__plugin_code bind_plans(pv__net *net, char *why) {
    const pv__graph *g = &net->graph;
    int users[PV_NODES_MAX + 1] = {0};
    for (int t = g->nodes - 1; t >= 0; t--) {
        const pv__node *node = &g->node[t];
        Layer *layer = &net->layer[t];
        int x = node->input[0];
        for (int pass = 0; pass < PASSES; pass++) {
            Plan *plan = &layer->plan[pass];
            if (!layer->planned[pass])
                continue;
            void *from = pass == PASS_DATA ? (users[x] && !plan->adds ? net->spare : net->slope[x]) : net->value[x];
            void *workspace = pass == PASS_WEIGHTS ? net->workspace_beside : net->workspace;
            void *dw =
                net->half ? (void *)(net->gradient_half + layer->weight) : (void *)(net->gradient + layer->weight);
            void *w = pass == PASS_WEIGHTS ? dw : weights_of(net, t);
            void *y = pass == PASS_FORWARD ? net->value[t + 1] : net->slope[t + 1];
            if (!plan_bind(plan, from, w, y, net->w + layer->bias, workspace)) {
                snprintf(why, PV_PLUGIN_TEXT, "cuDNN refused the buffers of a convolution");
                return PV_PLUGIN_FAILED;
            }
        }
        for (int i = 0; i < node->inputs; i++)
            users[node->input[i]]++;
    }
    return PV_PLUGIN_OK;
}

static pv__plugin_code make_rows(pv__net *net, char *why) {
    const pv__net_spec *spec = &net->spec;
    if (!spec->classes)
        return PV_PLUGIN_OK;
    net->rows = (int)(spec->images / spec->views);
    size_t rows = (size_t)net->rows, features = size_of(net->graph.node[net->graph.nodes - 1].out);
    size_t k = spec->classes, at = sizeof(Sent);
    Place *place = &net->place;
    const struct {
        size_t *at, size;
    } parts[] = {{&place->data, rows * k * sizeof(double)},  {&place->weight, rows * sizeof(double)},
                 {&place->ratio, rows * k * sizeof(double)}, {&place->counts, k * sizeof(double)},
                 {&place->where, rows * sizeof(Where)},      {&place->planes, spec->images * sizeof(pv__plane)},
                 {&place->row, rows * sizeof(unsigned)},     {&place->stratum, rows * sizeof(int)}};
    for (const auto &part : parts) {
        *part.at = at;
        at += part.size;
    }
    place->size = (at + 15) / 16 * 16;
    CODE_TRY(take(net, place->size, &net->sent, why));
    net->draws = &((Sent *)net->sent)->draws;
    CUDA_TRY(cudaHostAlloc((void **)&net->pinned, place->size + rows * k * sizeof(double), cudaHostAllocDefault));
    memset(net->pinned, 0, place->size);
    CODE_TRY(take(net, rows * k, &net->loglik, why));
    CODE_TRY(take(net, rows * k, &net->dloglik, why));
    CODE_TRY(take(net, rows * features, &net->pooled, why));
    CODE_TRY(take(net, rows * features, &net->chosen, why));
    CODE_TRY(take(net, rows * k, &net->dlogits, why));
    CODE_TRY(take(net, net->room, &net->mean, why));
    CODE_TRY(take(net, net->room, &net->square, why));
    CODE_TRY(take(net, net->room, &net->marked, why));
    CODE_TRY(take(net, net->room, &net->centre, why));
    return take(net, net->room, &net->kind, why);
}

static pv__plugin_code net_make(pv__net *net, char *why) {
    int least, greatest; /* work that others wait for has priority */
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_TRY(cudaStreamCreateWithPriority(&net->stream, cudaStreamNonBlocking, greatest));
    CUDA_TRY(cudaStreamCreateWithPriority(&net->aside, cudaStreamNonBlocking, least));
    CUDA_TRY(cudaStreamCreateWithPriority(&net->apart, cudaStreamNonBlocking, least));
    CUDA_TRY(cudaEventCreateWithFlags(&net->here, cudaEventDisableTiming));
    CUDA_TRY(cudaEventCreateWithFlags(&net->there, cudaEventDisableTiming));
    CODE_TRY(cudnn_open(&net->handle, net->stream, why));
    char unneeded[PV_PLUGIN_TEXT];
    if (cudnn_open(&net->beside, net->aside, unneeded) !=
        PV_PLUGIN_OK) { /* then gradients of weights are not computed in parallel */
        cudnn_close(net->beside);
        net->beside = NULL;
        (void)cudaGetLastError();
    }
    CODE_TRY(place_parameters(net, why));
    CODE_TRY(take(net, net->room, &net->w, why));
    CODE_TRY(take(net, net->room, &net->gradient, why));
    if (net->half) {
        CODE_TRY(take(net, net->room, &net->w_half, why));
        CODE_TRY(take(net, net->room, &net->gradient_half, why));
    }
    CODE_TRY(take(net, 1, &net->draws, why));
    CODE_TRY(make_layers(net, why));
    size_t x = net->images * size_of(net->graph.input),
           y = net->images * size_of(shape_of(&net->graph, net->graph.nodes));
    net->staged = net->params > x ? net->params : x;
    net->staged = y > net->staged ? y : net->staged;
    CODE_TRY(take(net, net->staged, &net->stage, why));
    CODE_TRY(make_rows(net, why));
    return bind_plans(net, why);
}

static void net_free(pv__net *net) {
    if (net->stream)
        cudaStreamSynchronize(net->stream);
    for (cudaStream_t beside : {net->aside, net->apart})
        if (beside)
            cudaStreamSynchronize(beside);
    for (Captured &captured : net->scored)
        forget(&captured);
    forget_steps(net);
    loss_free(&net->loss);
    for (int t = 0; t < net->graph.nodes; t++)
        for (int pass = 0; pass < PASSES; pass++)
            plan_free(&net->layer[t].plan[pass]);
    for (void *block : net->blocks)
        cudaFree(block);
    if (net->pinned)
        cudaFreeHost(net->pinned);
    cudnn_close(net->handle);
    cudnn_close(net->beside);
    if (net->here)
        cudaEventDestroy(net->here);
    if (net->there)
        cudaEventDestroy(net->there);
    for (cudaStream_t beside : {net->aside, net->apart})
        if (beside)
            cudaStreamDestroy(beside);
    if (net->stream)
        cudaStreamDestroy(net->stream);
    (void)cudaGetLastError(); /* the error of a lost device, which was already reported */
    delete net;
}

std::mutex &one_at_a_time(void) {
    static std::mutex lock;
    return lock;
}

/* Closed nets are kept for reuse by the next one of the same kind: creating a net takes longer than an epoch of a fit,
 * and blocks all others on the device meanwhile. */
static std::mutex waiting_lock;
static pv__net *waiting;
enum { WAITING_MOST = 64 };

static void free_all(pv__net *list) {
    while (list) {
        pv__net *net = list;
        list = net->next;
        net_free(net);
    }
}

static void free_waiting(void) {
    pv__net *list;
    {
        std::lock_guard<std::mutex> held(waiting_lock);
        list = waiting;
        waiting = NULL;
    }
    free_all(list);
}

/* Whether cached nets take so much memory that others may lack it. */
static bool is_crowded(void) {
    size_t left, whole;
    return cudaMemGetInfo(&left, &whole) != cudaSuccess || left < whole / 2;
}

static bool alike(const pv__net *net, const pv__net_spec *spec) {
    return net->spec.images == spec->images && net->spec.precision == spec->precision &&
           net->spec.views == spec->views && net->spec.classes == spec->classes && net->spec.pool == spec->pool &&
           memcmp(&net->graph, spec->graph, sizeof net->graph) == 0;
}

static pv__net *take_waiting(const pv__net_spec *spec) {
    std::lock_guard<std::mutex> held(waiting_lock);
    for (pv__net **at = &waiting; *at; at = &(*at)->next)
        if (alike(*at, spec)) {
            pv__net *found = *at;
            *at = found->next;
            found->next = NULL;
            return found;
        }
    return NULL;
}

pv__plugin_code net_open(const pv__net_spec *spec, pv__net **made, char *why) {
    *made = take_waiting(spec);
    if (*made)
        return PV_PLUGIN_OK;
    pv__net *net = new (std::nothrow) pv__net{};
    if (!net) {
        snprintf(why, PV_PLUGIN_TEXT, "out of memory");
        return PV_PLUGIN_MEMORY;
    }
    net->spec = *spec;
    net->graph = *spec->graph;
    net->spec.graph = &net->graph;
    net->half = spec->precision == PV_PRECISION_BF16;
    net->images = (int)spec->images;
    pv__plugin_code code;
    {
        std::lock_guard<std::mutex> held(one_at_a_time());
        code = net_make(net, why);
    }
    if (code == PV_PLUGIN_OK)
        *made = net;
    else
        net_free(net);
    return code;
}

void net_close(pv__net *net) {
    if (!net)
        return;
    bool well = cudaStreamSynchronize(net->stream) == cudaSuccess && cudaStreamSynchronize(net->aside) == cudaSuccess &&
                cudaStreamSynchronize(net->apart) == cudaSuccess;
    int most = is_crowded() ? 1 : WAITING_MOST;
    pv__net *oldest = NULL;
    net->volumes = NULL;
    {
        std::lock_guard<std::mutex> held(waiting_lock);
        int count = 0;
        if (well) {
            net->next = waiting;
            waiting = net;
        }
        for (pv__net **at = &waiting; *at; at = &(*at)->next)
            if (++count > most) {
                oldest = *at;
                *at = NULL;
                break;
            }
    }
    free_all(oldest);
    if (!well)
        net_free(net);
}

/* ---- functions of the host's engine ------------------------------------------------------------------------------ */

pv__plugin_code params_in(pv__net *net, const double *from, float *to, char *why) {
    CUDA_TRY(cudaMemcpyAsync(net->stage, from, net->params * sizeof(double), cudaMemcpyHostToDevice, net->stream));
    scatter_in(net->stream, net->room, net->host, net->stage, to);
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}

pv__plugin_code params_out(pv__net *net, const float *from, double *to, char *why) {
    scatter_out(net->stream, net->room, net->host, from, net->stage);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(to, net->stage, net->params * sizeof(double), cudaMemcpyDeviceToHost, net->stream));
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code net_load(pv__net *net, const double *w, char *why) {
    CODE_TRY(params_in(net, w, net->w, why));
    if (net->half)
        to_half(net->stream, net->room, net->w, net->w_half);
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code net_forward(pv__net *net, size_t images, const double *x, const pv__dropout *dropout, double *features,
                            char *why) {
    pv__shape last = shape_of(&net->graph, net->graph.nodes);
    size_t in = images * size_of(net->graph.input), out = images * size_of(last);
    const Draws draws = {dropout->seed, dropout->first};
    CUDA_TRY(cudaMemcpyAsync(net->draws, &draws, sizeof draws, cudaMemcpyHostToDevice, net->stream));
    CUDA_TRY(cudaMemcpyAsync(net->stage, x, in * sizeof *x, cudaMemcpyHostToDevice, net->stream));
    narrow(net->stream, in, net->stage, (float *)net->value[0]);
    CODE_TRY(layers_forward(net, dropout->on, why));
    tensor_out(net->stream, net->half, (int)images, (int)(last.height * last.width), (int)last.channels,
               net->value[net->graph.nodes], net->stage);
    CUDA_TRY(cudaMemcpyAsync(features, net->stage, out * sizeof *features, cudaMemcpyDeviceToHost, net->stream));
    CUDA_TRY(cudaStreamSynchronize(net->stream));
    return PV_PLUGIN_OK;
}

pv__plugin_code net_backward(pv__net *net, const double *dfeatures, bool low, char *why) {
    pv__shape last = shape_of(&net->graph, net->graph.nodes);
    size_t out = (size_t)net->images * size_of(last);
    CUDA_TRY(cudaMemcpyAsync(net->stage, dfeatures, out * sizeof *dfeatures, cudaMemcpyHostToDevice, net->stream));
    tensor_in(net->stream, net->half, net->images, (int)(last.height * last.width), (int)last.channels, net->stage,
              net->slope[net->graph.nodes]);
    return layers_backward(net, low, false, why);
}

pv__plugin_code net_gradient(pv__net *net, size_t begin, double *dw, char *why) {
    std::vector<double> found(net->params);
    for (int t = 0; t < net->graph.nodes; t++) {
        const Layer *layer = &net->layer[t];
        if (has_half_gradient(net, t))
            from_half(net->stream, layer->bias - layer->weight, net->gradient_half + layer->weight,
                      net->gradient + layer->weight);
    }
    CODE_TRY(params_out(net, net->gradient, found.data(), why));
    for (size_t i = begin; i < net->params; i++)
        dw[i] += found[i];
    return PV_PLUGIN_OK;
}
