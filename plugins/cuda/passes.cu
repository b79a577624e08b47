/* Forward and backward passes of a network's layers. */
#include "net.h"

pv__plugin_code join(pv__net *net, cudaStream_t first, cudaStream_t then, char *why) {
    CUDA_TRY(cudaEventRecord(net->here, first));
    CUDA_TRY(cudaStreamWaitEvent(then, net->here, 0));
    return PV_PLUGIN_OK;
}

static float scale_of(const pv__node *node, bool dropout) {
    return dropout && node->dropout > 0 ? (float)(1 / (1 - node->dropout)) : 1.0f;
}

/* The position of the node's output in its tensor: its own, or that of a concatenation. */
static Slice slice_of(const pv__net *net, int t) {
    return net->layer[t].joins < 0 ? Slice{0, (int)net->graph.node[t].out.channels} : net->layer[t].slice;
}

/* Both 1x1 convolutions that read the tensor. */
static void lead_forward(pv__net *net, int t) {
    const Layer *a = &net->layer[t], *b = &net->layer[a->mouth_b];
    const Narrow first = {net->w_half + a->weight, net->w + a->bias},
                 second = {net->w_half + b->weight, net->w + b->bias};
    mouth_forward(net->stream, &a->conv, net->value[net->graph.node[t].input[0]], &first, &second, net->value[t + 1],
                  net->value[a->mouth_b + 1]);
}

static pv__plugin_code conv_forward(pv__net *net, int t, bool dropout, char *why) {
    const pv__node *node = &net->graph.node[t];
    Layer *layer = &net->layer[t];
    const Conv *c = &layer->conv;
    void *x = net->value[node->input[0]], *y = net->value[t + 1];
    if (layer->first) {
        first_forward(net->stream, net->half, c, (const float *)x, net->w + layer->weight, net->w + layer->bias, y);
        return PV_PLUGIN_OK;
    }
    if (layer->leads)
        lead_forward(net, t);
    if (layer->leads || (layer->led && c->stride == 1))
        return PV_PLUGIN_OK;
    if (!is_cudnns(layer, PASS_FORWARD)) {
        wide_forward(net->stream, c, &layer->maps, net->w + layer->bias, y);
        return PV_PLUGIN_OK;
    }
    if (layer->planned[PASS_FORWARD])
        CODE_TRY(plan_run(net->handle, &layer->plan[PASS_FORWARD], why));
    if (layer->planned[PASS_FORWARD] && layer->plan[PASS_FORWARD].fused)
        return PV_PLUGIN_OK;
    if (!layer->planned[PASS_FORWARD])
        any_forward(net->stream, net->half, node->input[0] == 0, c, x, weights_of(net, t), y);
    int end = layer->joins < 0 ? t : layer->joins; /* the node whose dropout applies */
    bias_relu(net->stream, net->half, net->images, (int)(node->out.height * node->out.width), (int)node->out.channels,
              net->w + layer->bias, dropout ? net->layer[end].mask : NULL, scale_of(&net->graph.node[end], dropout), y,
              slice_of(net, t), net->value[end + 1]);
    return PV_PLUGIN_OK;
}

static void concat_forward(pv__net *net, int t, bool dropout) {
    const pv__node *node = &net->graph.node[t];
    int plane = (int)(node->out.height * node->out.width), whole = (int)node->out.channels, at = 0;
    if (net->layer[t].done)
        return;
    for (int i = 0; i < node->inputs; i++) {
        int part = (int)shape_of(&net->graph, node->input[i]).channels;
        channels_in(net->stream, net->half, (size_t)net->images * plane, part, at, whole, net->value[node->input[i]],
                    net->value[t + 1]);
        at += part;
    }
    if (dropout && node->dropout > 0)
        bias_relu(net->stream, net->half, net->images, plane, whole, NULL, net->layer[t].mask, scale_of(node, true),
                  net->value[t + 1], Slice{0, whole}, net->value[t + 1]);
}

pv__plugin_code layers_forward(pv__net *net, bool dropout, char *why) {
    const pv__graph *g = &net->graph;
    bool drawn = !dropout;
    if (dropout) { /* in parallel with the first layers, which have no dropout */
        CODE_TRY(join(net, net->stream, net->aside, why));
        for (int t = 0; t < g->nodes; t++)
            if (g->node[t].dropout > 0)
                draw_masks(net->aside, net->draws, t, g->node[t].dropout, net->images,
                           (int)(g->node[t].out.height * g->node[t].out.width), (int)g->node[t].out.channels,
                           net->layer[t].mask);
        CUDA_TRY(cudaEventRecord(net->there, net->aside));
    }
    for (int t = 0; t < g->nodes; t++) {
        const pv__node *node = &g->node[t];
        if (!drawn && (node->dropout > 0 || net->layer[t].joins >= 0 || t + 1 == g->nodes)) {
            CUDA_TRY(cudaStreamWaitEvent(net->stream, net->there, 0));
            drawn = true;
        }
        if (node->kind == PV_NODE_CONV)
            CODE_TRY(conv_forward(net, t, dropout, why));
        else if (node->kind == PV_NODE_MAXPOOL)
            maxpool_forward(net->stream, net->half, &net->layer[t].conv, net->value[node->input[0]], net->value[t + 1],
                            net->layer[t].from);
        else
            concat_forward(net, t, dropout);
    }
    CUDA_TRY(cudaGetLastError());
    net->dropped = dropout;
    return PV_PLUGIN_OK;
}

/* The gradient of a convolution's weights from its output's, in parallel with what comes next. */
static pv__plugin_code weight_gradient(pv__net *net, int t, char *why) {
    Layer *layer = &net->layer[t];
    int x = net->graph.node[t].input[0];
    float *dw = net->gradient + layer->weight;
    if (!is_cudnns(layer, PASS_WEIGHTS)) { /* fills the device by itself */
        wide_weights(net->stream, &layer->conv, &layer->maps, layer->wide_partial);
        CODE_TRY(join(net, net->stream, net->apart, why));
        sum_blocks(net->apart, layer->maps.blocks, layer->bias - layer->weight, layer->wide_partial, dw);
        return PV_PLUGIN_OK;
    }
    CODE_TRY(join(net, net->stream, net->aside, why));
    if (layer->planned[PASS_WEIGHTS])
        return plan_run(net->beside ? net->beside : net->handle, &layer->plan[PASS_WEIGHTS], why);
    any_weights(net->aside, net->half, x == 0, &layer->conv, net->value[x], net->slope[t + 1], dw);
    return PV_PLUGIN_OK;
}

/* Propagates the gradient through dropout and ReLU, and computes that of the node's parameters. */
static pv__plugin_code own_gradient(pv__net *net, int t, char *why) {
    const pv__node *node = &net->graph.node[t];
    Layer *layer = &net->layer[t];
    int end = layer->joins < 0 ? t : layer->joins; /* the node whose dropout applies */
    float scale = scale_of(&net->graph.node[end], net->dropped);
    bool conv = node->kind == PV_NODE_CONV;
    if (layer->first && layer->done)
        return PV_PLUGIN_OK;
    if (layer->first) {
        first_backward(net->stream, net->half, &layer->conv, (const float *)net->value[0], net->value[t + 1],
                       net->slope[t + 1], layer->partial, net->gradient + layer->weight);
        return PV_PLUGIN_OK;
    }
    if (!layer->done && (conv || scale != 1.0f))
        gate(net->stream, net->half, net->images, (int)(node->out.height * node->out.width), (int)node->out.channels,
             scale, net->value[end + 1], net->slope[end + 1], slice_of(net, t), net->slope[t + 1],
             conv ? layer->partial : NULL);
    if (!conv)
        return PV_PLUGIN_OK;
    if (!layer->done) {
        CODE_TRY(join(net, net->stream, net->apart, why));
        sum_blocks(net->apart, BLOCKS, node->out.channels, layer->partial, net->gradient + layer->bias);
    }
    return weight_gradient(net, t, why);
}

/* Computes the gradient of the input, including that layer's own ReLU. */
static pv__plugin_code onward_gradient(pv__net *net, int t, char *why) {
    const Layer *layer = &net->layer[t];
    int x = net->graph.node[t].input[0];
    Layer *below = &net->layer[x - 1];
    int blocks = layer->maps.rows;
    if (layer->branch)
        blocks = branch_data(net->stream, &layer->conv, net->slope[t + 1], weights_of(net, t), net->value[x],
                             net->slope[x], below->partial);
    else if (below->first)
        wide_data(net->stream, &layer->conv, &layer->maps, (const float *)net->value[0], below->partial);
    else
        gated_data(net->stream, &layer->conv, &layer->maps, below->partial);
    CODE_TRY(join(net, net->stream, net->apart, why));
    size_t biases = net->graph.node[x - 1].out.channels;
    if (below->first)
        sum_blocks(net->apart, blocks, biases * (TAPS + 1), below->partial, net->gradient + below->weight);
    else
        sum_blocks(net->apart, blocks, biases, below->partial, net->gradient + below->bias);
    return PV_PLUGIN_OK;
}

/* The gradient of the tensor that four nodes read, once those of all four outputs are available. */
static pv__plugin_code lead_gradient(pv__net *net, int t, char *why) {
    const Layer *layer = &net->layer[t];
    int x = net->graph.node[t].input[0], b = layer->mouth_b, c = layer->mouth_c, pool = layer->mouth_pool;
    Layer *below = &net->layer[x - 1];
    Mouth m = {};
    m.height = layer->conv.height;
    m.width = layer->conv.width;
    m.d_a = (const bf16 *)net->slope[t + 1];
    m.d_b = (const bf16 *)net->slope[b + 1];
    m.d_c = (const bf16 *)net->slope[c + 1];
    m.w_a = net->w_half + layer->weight;
    m.w_b = net->w_half + net->layer[b].weight;
    m.w_c = net->w_half + net->layer[c].weight;
    m.d_pool = (const bf16 *)net->slope[pool + 1];
    m.from = net->layer[pool].from;
    m.y = (const bf16 *)net->value[x];
    m.dx = (bf16 *)net->slope[x];
    m.partial = layer->onward ? below->partial : NULL;
    int blocks = mouth_data(net->stream, &layer->conv, &m);
    if (!layer->onward)
        return PV_PLUGIN_OK;
    CODE_TRY(join(net, net->stream, net->apart, why));
    sum_blocks(net->apart, blocks, net->graph.node[x - 1].out.channels, below->partial, net->gradient + below->bias);
    return PV_PLUGIN_OK;
}

/* The gradient of input i, whose channels begin at `at` in a concatenation; reached: added to existing gradients. */
static pv__plugin_code input_gradient(pv__net *net, int t, int i, int at, bool reached, char *why) {
    const pv__node *node = &net->graph.node[t];
    Layer *layer = &net->layer[t];
    int x = node->input[i];
    pv__shape in = shape_of(&net->graph, x);
    bool conv = node->kind == PV_NODE_CONV;
    void *dy = net->slope[t + 1], *dx = net->slope[x];
    if (layer->leads)
        return lead_gradient(net, t, why);
    if (layer->led)
        return PV_PLUGIN_OK; /* computed as part of it */
    if (conv && layer->onward)
        return onward_gradient(net, t, why);
    if (node->kind == PV_NODE_CONCAT && layer->done)
        return PV_PLUGIN_OK;
    if (node->kind == PV_NODE_MAXPOOL) {
        maxpool_backward(net->stream, net->half, &layer->conv, dy, layer->from, reached, dx);
        return PV_PLUGIN_OK;
    }
    bool apart = reached && !(conv && layer->planned[PASS_DATA] && layer->plan[PASS_DATA].adds);
    void *target = apart ? net->spare : dx;
    if (node->kind == PV_NODE_CONCAT)
        channels_out(net->stream, net->half, (size_t)net->images * node->out.height * node->out.width, (int)in.channels,
                     at, (int)node->out.channels, dy, target);
    else if (layer->planned[PASS_DATA])
        CODE_TRY(plan_run(net->handle, &layer->plan[PASS_DATA], why));
    else
        any_data(net->stream, net->half, &layer->conv, dy, weights_of(net, t), target);
    if (apart)
        add(net->stream, net->half, net->images * size_of(in), net->spare, dx);
    return PV_PLUGIN_OK;
}

pv__plugin_code layers_backward(pv__net *net, bool low, bool early, char *why) {
    const pv__graph *g = &net->graph;
    bool reached[PV_NODES_MAX + 1] = {false};
    int first = low ? 0 : g->low;
    for (int t = g->nodes - 1; t >= first; t--) {
        const pv__node *node = &g->node[t];
        CODE_TRY(own_gradient(net, t, why));
        int at = 0;
        for (int i = 0; i < node->inputs; i++) {
            int x = node->input[i];
            if (x > first) {
                CODE_TRY(input_gradient(net, t, i, at, reached[x], why));
                reached[x] = true;
            }
            at += (int)shape_of(g, x).channels;
        }
        if (early && t + 1 == g->nodes) { /* most of the parameters, in parallel with the layers below */
            CODE_TRY(join(net, net->stream, net->apart, why));
            CODE_TRY(join(net, net->aside, net->apart, why));
            CODE_TRY(learn(net, net->apart, early_begin(net), net->room, why));
        }
    }
    CUDA_TRY(cudaGetLastError());
    CODE_TRY(join(net, net->aside, net->stream, why));
    return join(net, net->apart, net->stream, why);
}
