/* The layers of a network, forward and backward. */
#include "net.h"

pv__plugin_code turn_aside(pv__net *net, char *why) {
    CUDA_TRY(cudaEventRecord(net->here, net->stream));
    CUDA_TRY(cudaStreamWaitEvent(net->aside, net->here, 0));
    return PV_PLUGIN_OK;
}

static float scale_of(const pv__node *node, bool dropout) {
    return dropout && node->dropout > 0 ? (float)(1 / (1 - node->dropout)) : 1.0f;
}

/* Where the node's output is in the tensor that has it: its own, or a concatenation. */
static Slice slice_of(const pv__net *net, int t) {
    return net->layer[t].joins < 0 ? Slice{0, (int)net->graph.node[t].out.channels} : net->layer[t].slice;
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
    int end = layer->joins < 0 ? t : layer->joins; /* whose dropout it is */
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
    if (dropout) { /* beside the first layers, which need none */
        CODE_TRY(turn_aside(net, why));
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

/* The gradient by a convolution's weights, from its slope, beside what comes next. */
static pv__plugin_code weight_gradient(pv__net *net, int t, char *why) {
    Layer *layer = &net->layer[t];
    int x = net->graph.node[t].input[0];
    float *dw = net->gradient + layer->weight;
    if (!is_cudnns(layer, PASS_WEIGHTS)) { /* fills the device by itself */
        wide_weights(net->stream, &layer->conv, &layer->maps, layer->wide_partial);
        CODE_TRY(turn_aside(net, why));
        sum_blocks(net->aside, layer->maps.blocks, layer->bias - layer->weight, layer->wide_partial, dw);
        return PV_PLUGIN_OK;
    }
    CODE_TRY(turn_aside(net, why));
    if (layer->planned[PASS_WEIGHTS])
        return plan_run(net->beside ? net->beside : net->handle, &layer->plan[PASS_WEIGHTS], why);
    any_weights(net->aside, net->half, x == 0, &layer->conv, net->value[x], net->slope[t + 1], dw);
    return PV_PLUGIN_OK;
}

/* The slope through dropout and ReLU, and the gradient by the node's parameters. */
static pv__plugin_code own_gradient(pv__net *net, int t, char *why) {
    const pv__node *node = &net->graph.node[t];
    Layer *layer = &net->layer[t];
    int end = layer->joins < 0 ? t : layer->joins; /* whose dropout it is */
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
        CODE_TRY(turn_aside(net, why));
        sum_blocks(net->aside, BLOCKS, node->out.channels, layer->partial, net->gradient + layer->bias);
    }
    return weight_gradient(net, t, why);
}

/* The slope of the input so far as that layer's own gradient has it. */
static pv__plugin_code onward_gradient(pv__net *net, int t, char *why) {
    const Layer *layer = &net->layer[t];
    int x = net->graph.node[t].input[0];
    Layer *below = &net->layer[x - 1];
    if (below->first)
        wide_data(net->stream, &layer->conv, &layer->maps, (const float *)net->value[0], below->partial);
    else
        gated_data(net->stream, &layer->conv, &layer->maps, below->partial);
    CODE_TRY(turn_aside(net, why));
    size_t biases = net->graph.node[x - 1].out.channels;
    if (below->first)
        sum_blocks(net->aside, layer->maps.rows, biases * (TAPS + 1), below->partial, net->gradient + below->weight);
    else
        sum_blocks(net->aside, layer->maps.rows, biases, below->partial, net->gradient + below->bias);
    return PV_PLUGIN_OK;
}

/* The slope of input i, whose channels are at `at` of a concatenation; reached: added to what is there. */
static pv__plugin_code input_gradient(pv__net *net, int t, int i, int at, bool reached, char *why) {
    const pv__node *node = &net->graph.node[t];
    Layer *layer = &net->layer[t];
    int x = node->input[i];
    pv__shape in = shape_of(&net->graph, x);
    bool conv = node->kind == PV_NODE_CONV;
    void *dy = net->slope[t + 1], *dx = net->slope[x];
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

pv__plugin_code layers_backward(pv__net *net, bool low, char *why) {
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
    }
    CUDA_TRY(cudaEventRecord(net->there, net->aside));
    CUDA_TRY(cudaStreamWaitEvent(net->stream, net->there, 0));
    CUDA_TRY(cudaGetLastError());
    return PV_PLUGIN_OK;
}
