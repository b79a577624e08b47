/* Construction of graphs, and the random masks of dropout. */
#include "compute/graph.h"

#include <math.h>

pv__shape pv__graph_shape(const pv__graph *graph, int tensor) {
    return tensor == 0 ? graph->input : graph->node[tensor - 1].out;
}

static size_t window_count(size_t size, const pv__node *node) {
    return (size + 2 * node->padding - node->kernel) / node->stride + 1;
}

static int append(pv__graph *graph, pv__node node) {
    graph->node[graph->nodes++] = node;
    return graph->nodes;
}

int pv__graph_conv(pv__graph *graph, int from, size_t channels, size_t kernel, size_t stride, size_t padding,
                   double dropout) {
    pv__shape in = pv__graph_shape(graph, from);
    pv__node node = {.kind = PV_NODE_CONV,
                     .input = {from},
                     .inputs = 1,
                     .kernel = kernel,
                     .stride = stride,
                     .padding = padding,
                     .dropout = dropout,
                     .weight = graph->params};
    node.bias = node.weight + channels * in.channels * kernel * kernel;
    graph->params = node.bias + channels;
    node.out = (pv__shape){channels, window_count(in.height, &node), window_count(in.width, &node)};
    return append(graph, node);
}

int pv__graph_maxpool(pv__graph *graph, int from, size_t kernel, size_t stride, size_t padding) {
    pv__shape in = pv__graph_shape(graph, from);
    pv__node node = {
        .kind = PV_NODE_MAXPOOL, .input = {from}, .inputs = 1, .kernel = kernel, .stride = stride, .padding = padding};
    node.out = (pv__shape){in.channels, window_count(in.height, &node), window_count(in.width, &node)};
    return append(graph, node);
}

int pv__graph_concat(pv__graph *graph, const int *from, int n, double dropout) {
    pv__node node = {.kind = PV_NODE_CONCAT, .inputs = n, .dropout = dropout, .out = pv__graph_shape(graph, from[0])};
    node.out.channels = 0;
    for (int i = 0; i < n; i++) {
        node.input[i] = from[i];
        node.out.channels += pv__graph_shape(graph, from[i]).channels;
    }
    return append(graph, node);
}

/* Uses sixteen bits per draw, so the probability is accurate to 1/131072. */
void pv__dropout_mask(const pv__dropout *dropout, size_t image, int node, double probability, size_t size, bool *keep) {
    pv_rng rng =
        pv_rng_stream(dropout->seed, PV_STREAM_DROPOUT, (dropout->first + image) * PV_NODES_MAX + (uint64_t)node);
    uint64_t threshold = (uint64_t)lround(probability * 65536);
    for (size_t i = 0; i < size; i += 4) {
        uint64_t bits = pv_rng_bits(&rng);
        for (size_t j = i; j < i + 4 && j < size; j++, bits >>= 16)
            keep[j] = (bits & 0xFFFF) >= threshold;
    }
}
