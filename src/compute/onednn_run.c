/* Runs the oneDNN engine: forward, backward, and the sum of the parts' gradients. onednn_plan.c describes the layout.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "compute/float_kernels.h"
#include "compute/onednn.h"

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct argument {
    int which; /* DNNL_ARG_SRC ... */
    const dnnl_memory_desc_t *md;
    void *data;
} argument;

typedef struct lane {
    pv__engine *e;
    char *slope, *spare, *scratch;
    float *features, *weights;
    bool *keep;
} lane;

static lane lane_of(pv__engine *e, int number) {
    lane l = {.e = e, .slope = e->lane + (size_t)number * e->lane_size};
    l.spare = l.slope + e->offset[e->graph->nodes + 1];
    l.scratch = l.spare + e->spare;
    l.features = (float *)(void *)(l.scratch + e->scratch);
    l.weights = l.features + pv__onednn_floats(&e->features_md);
    l.keep = e->keep + (size_t)number * e->largest;
    return l;
}

enum { ARGUMENTS_MAX = PV_NODE_INPUTS + 2 };

static void execute(lane *l, dnnl_primitive_t primitive, const argument *arguments, int n) {
    pv__engine *e = l->e;
    dnnl_exec_arg_t list[ARGUMENTS_MAX + 1];
    const_dnnl_primitive_desc_t pd = NULL;
    if (e->heed && pv__interrupted(e->heed))
        atomic_store_explicit(&e->stopped, true, memory_order_relaxed);
    if (atomic_load_explicit(&e->stopped, memory_order_relaxed))
        return; /* interrupted: results will be discarded */
    dnnl_status_t status = dnnl_primitive_get_primitive_desc(primitive, &pd);
    int made = 0;
    for (; made <= n && status == dnnl_success; made++) {
        bool last = made == n;
        list[made].arg = last ? DNNL_ARG_SCRATCHPAD : arguments[made].which;
        status = dnnl_memory_create(&list[made].memory,
                                    last ? dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0)
                                         : arguments[made].md,
                                    e->cpu, last ? l->scratch : arguments[made].data);
    }
    if (status == dnnl_success)
        status = dnnl_primitive_execute(primitive, e->stream, made, list);
    else
        made--; /* excludes the one that failed */
    for (int i = 0; i < made; i++)
        dnnl_memory_destroy(list[i].memory);
    if (status != dnnl_success) {
#pragma omp atomic write
        e->failed = (int)status;
    }
}

static void reorder(lane *l, dnnl_primitive_t primitive, const dnnl_memory_desc_t *from, void *source,
                    const dnnl_memory_desc_t *to, void *target) {
    const argument arguments[] = {{DNNL_ARG_FROM, from, source}, {DNNL_ARG_TO, to, target}};
    execute(l, primitive, arguments, 2);
}

static void engine_load(pv__engine *e, const double *w) {
    lane l = lane_of(e, 0);
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    e->failed = dnnl_success;
    atomic_store_explicit(&e->stopped, false, memory_order_relaxed);
    for (size_t i = 0; i < e->given->params; i++)
        e->weights[e->parameter[i]] = (float)w[i];
    for (int t = 0; t < e->graph->nodes; t++) {
        const pv__onednn_layer *made = &e->layer[t];
        float *plain = e->weights + e->graph->node[t].weight;
        if (made->to_forward)
            reorder(&l, made->to_forward, &made->plain_md, plain, &made->forward_md, made->forward_weights);
        if (made->to_data)
            reorder(&l, made->to_data, &made->plain_md, plain, &made->data_md, made->data_weights);
    }
    omp_set_num_threads(threads);
}

/* Applies dropout. Finds element [c][0][0] of an image and the distance between pixels: layouts are plain, or have a
 * single inner block of channels. */
static void drop(lane *l, int t, const pv__dropout *dropout, float *y) {
    const pv__node *node = &l->e->given->node[t];
    const dnnl_memory_desc_t *md = &l->e->md[t + 1];
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    size_t size = pv__shape_size(node->out), pixels = node->out.height * node->out.width;
    size_t inner = b->inner_nblks ? (size_t)b->inner_blks[0] : 1, step = (size_t)b->strides[3];
    float scale = (float)(1 / (1 - node->dropout));
    for (size_t n = 0; n < l->e->images; n++) {
        pv__dropout_mask(dropout, n, t, node->dropout, size, l->keep);
        for (size_t c = 0; c < node->out.channels; c++) {
            size_t at = l->e->channel[t + 1][c];
            float *channel = y + n * (size_t)b->strides[0] + at / inner * (size_t)b->strides[1] + at % inner;
            const bool *keep = l->keep + c * pixels;
            for (size_t p = 0; p < pixels; p++)
                channel[p * step] = keep[p] ? channel[p * step] * scale : 0;
        }
    }
}

static void node_forward(lane *l, int t, char *value) {
    pv__engine *e = l->e;
    const pv__node *node = &e->graph->node[t];
    pv__onednn_layer *made = &e->layer[t];
    argument arguments[ARGUMENTS_MAX] = {{DNNL_ARG_DST, &e->md[t + 1], value + e->offset[t + 1]}};
    int n = 1;
    for (int i = 0; i < node->inputs; i++) {
        int x = node->input[i];
        int which = node->kind == PV_NODE_CONCAT ? DNNL_ARG_MULTIPLE_SRC + i : DNNL_ARG_SRC;
        arguments[n++] = (argument){which, &e->md[x], value + e->offset[x]};
    }
    if (node->kind == PV_NODE_CONV) {
        arguments[n++] = (argument){DNNL_ARG_WEIGHTS, &made->forward_md, made->forward_weights};
        arguments[n++] = (argument){DNNL_ARG_BIAS, &made->bias_md, e->weights + node->bias};
    }
    if (node->kind == PV_NODE_MAXPOOL)
        arguments[n++] = (argument){DNNL_ARG_WORKSPACE, &made->workspace_md, value + made->workspace};
    execute(l, made->forward, arguments, n);
}

static void engine_forward(pv__engine *e, size_t part, int number, const double *x, const pv__dropout *dropout,
                           double *features) {
    const pv__graph *g = e->graph;
    lane l = lane_of(e, number);
    char *value = e->value + part * e->block;
    float *input = (float *)(void *)value;
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    e->dropped[part] = dropout->on;
    pv__float_kernels_get()->narrow(e->images * pv__shape_size(g->input), x, input);
    for (int t = 0; t < g->nodes; t++) {
        node_forward(&l, t, value);
        if (dropout->on && g->node[t].dropout > 0)
            drop(&l, t, dropout, (float *)(void *)(value + e->offset[t + 1]));
    }
    reorder(&l, e->to_features, &e->md[g->nodes], value + e->offset[g->nodes], &e->features_md, l.features);
    size_t made = pv__shape_size(pv__graph_shape(e->given, g->nodes));
    size_t wide = pv__shape_size(pv__graph_shape(g, g->nodes));
    for (size_t i = 0; i < e->images * made; i++)
        features[i] = e->failed ? (double)NAN : (double)l.features[i / made * wide + i % made];
    omp_set_num_threads(threads);
}

/* Propagates the gradient of node t's output back through dropout and ReLU, in place. */
static void gate(lane *l, int t, bool dropped, const char *value) {
    const pv__engine *e = l->e;
    const pv__node *node = &e->graph->node[t];
    bool drops = dropped && node->dropout > 0;
    if (node->kind != PV_NODE_CONV && !drops)
        return;
    size_t n = (e->offset[t + 2] - e->offset[t + 1]) / sizeof(float);
    pv__float_kernels_get()->gate(n, drops ? (float)(1 / (1 - node->dropout)) : 1,
                                  (const float *)(const void *)(value + e->offset[t + 1]),
                                  (float *)(void *)(l->slope + e->offset[t + 1]));
}

static void conv_gradient(lane *l, size_t part, int t, char *value) {
    pv__engine *e = l->e;
    const pv__node *node = &e->graph->node[t];
    pv__onednn_layer *made = &e->layer[t];
    float *gradient = e->gradient + part * e->graph->params;
    int x = node->input[0];
    const argument arguments[] = {{DNNL_ARG_SRC, &e->md[x], value + e->offset[x]},
                                  {DNNL_ARG_DIFF_DST, &e->md[t + 1], l->slope + e->offset[t + 1]},
                                  {DNNL_ARG_DIFF_WEIGHTS, &made->weights_md, l->weights},
                                  {DNNL_ARG_DIFF_BIAS, &made->bias_md, gradient + node->bias}};
    execute(l, made->weights, arguments, 4);
    reorder(l, made->to_plain, &made->weights_md, l->weights, &made->plain_md, gradient + node->weight);
}

/* Computes the gradient with respect to input i of node t, into target. */
static void input_gradient(lane *l, int t, int i, char *value, char *target) {
    pv__engine *e = l->e;
    const pv__node *node = &e->graph->node[t];
    pv__onednn_layer *made = &e->layer[t];
    int x = node->input[i];
    char *dy = l->slope + e->offset[t + 1];
    if (node->kind == PV_NODE_CONCAT) {
        reorder(l, made->split[i], &made->piece_md[i], dy, &e->md[x], target);
        return;
    }
    const argument arguments[] = {{DNNL_ARG_DIFF_SRC, &e->md[x], target},
                                  {DNNL_ARG_DIFF_DST, &e->md[t + 1], dy},
                                  node->kind == PV_NODE_CONV
                                      ? (argument){DNNL_ARG_WEIGHTS, &made->data_md, made->data_weights}
                                      : (argument){DNNL_ARG_WORKSPACE, &made->workspace_md, value + made->workspace}};
    execute(l, made->data, arguments, 3);
}

static void engine_backward(pv__engine *e, size_t part, int number, const double *dfeatures, bool low) {
    const pv__graph *g = e->graph;
    lane l = lane_of(e, number);
    char *value = e->value + part * e->block;
    bool reached[PV_NODES_MAX + 1] = {false};
    int threads = omp_get_max_threads(), first = low ? 0 : g->low;
    omp_set_num_threads(1);
    size_t made = pv__shape_size(pv__graph_shape(e->given, g->nodes));
    size_t wide = pv__shape_size(pv__graph_shape(g, g->nodes));
    memset(l.features, 0, e->images * wide * sizeof *l.features);
    for (size_t i = 0; i < e->images * made; i++)
        l.features[i / made * wide + i % made] = (float)dfeatures[i];
    reorder(&l, e->from_features, &e->features_md, l.features, &e->md[g->nodes], l.slope + e->offset[g->nodes]);
    for (int t = g->nodes - 1; t >= first; t--) {
        const pv__node *node = &g->node[t];
        gate(&l, t, e->dropped[part], value);
        if (node->kind == PV_NODE_CONV)
            conv_gradient(&l, part, t, value);
        for (int i = 0; i < node->inputs; i++) {
            int x = node->input[i];
            if (x <= first)
                continue;
            char *slope = l.slope + e->offset[x];
            input_gradient(&l, t, i, value, reached[x] ? l.spare : slope);
            if (reached[x])
                pv__float_kernels_get()->add((e->offset[x + 1] - e->offset[x]) / sizeof(float),
                                             (const float *)(const void *)l.spare, (float *)(void *)slope);
            reached[x] = true;
        }
    }
    omp_set_num_threads(threads);
}

static void engine_gather(pv__engine *e, size_t first, size_t last, int threads, bool low, double *dw) {
    size_t params = e->graph->params, begin = low ? 0 : e->given->low_params;
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
    for (size_t i = begin; i < e->given->params; i++) {
        pv__tree_adder sum;
        sum.count = sum.depth = 0;
        for (size_t p = first; p < last; p++)
            pv__tree_add(&sum, (double)e->gradient[p * params + e->parameter[i]]);
        dw[i] += e->failed ? (double)NAN : pv__tree_total(&sum);
    }
}

static void engine_heed(pv__engine *e, const pv_ctx *ctx) {
    e->heed = ctx;
}

static pv_status engine_check(pv_ctx *ctx, const pv__engine *e) {
    if (atomic_load_explicit(&e->stopped, memory_order_relaxed))
        return pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    return pv__onednn_checked(ctx, (dnnl_status_t)e->failed);
}

const pv__engine_kind pv__engine_onednn = {.name = "onednn",
                                           .open = pv__onednn_open,
                                           .close = pv__onednn_close,
                                           .load = engine_load,
                                           .forward = engine_forward,
                                           .backward = engine_backward,
                                           .gather = engine_gather,
                                           .heed = engine_heed,
                                           .check = engine_check};
