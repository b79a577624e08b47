/* The oneDNN engine: single precision, with blocked layouts from the first convolution to the last.
 *
 * A tensor's layout is the one preferred by the primitive that writes it; its readers use it unchanged. Weights are
 * converted and reordered once per batch. ReLU is fused into the convolution; its derivative, dropout and sums of
 * gradients operate on memory in any layout.
 *
 * 3x3 convolutions with stride 1 and at least WINOGRAD_CHANNELS channels on both sides use Winograd's F(4x4, 3x3) if
 * oneDNN has it, which is about twice as fast as direct convolution on AVX-512 (but slower with fewer channels). The
 * choice depends on the shape alone: a timing comparison could end differently, and give different bits, from run to
 * run.
 *
 * Primitives are created and run with one thread each: the caller's threads process parts. The engine provides scratch
 * memory, so that several threads can run the same primitive.
 */
#include <omp.h>
#include <string.h>

#include "compute/onednn.h"

enum { WINOGRAD_CHANNELS = 32, ALIGNMENT = 64 };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

pv_status pv__onednn_checked(pv_ctx *ctx, dnnl_status_t status) {
    if (status == dnnl_success)
        return PV_OK;
    if (status == dnnl_out_of_memory)
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory in oneDNN");
    return pv__fail(ctx, PV_ERR_INTERNAL, "oneDNN rejected a layer (status %d)", (int)status);
}

#define DNN(call) PV_TRY(pv__onednn_checked(e->ctx, (call)))

/* ---- creating primitives ----------------------------------------------------------------------------------------- */

static pv_status describe(pv__engine *e, pv__shape s, dnnl_format_tag_t tag, dnnl_memory_desc_t *md) {
    dnnl_dims_t dims = {(dnnl_dim_t)e->images, (dnnl_dim_t)s.channels, (dnnl_dim_t)s.height, (dnnl_dim_t)s.width};
    DNN(dnnl_memory_desc_init_by_tag(md, 4, dims, dnnl_f32, tag));
    return PV_OK;
}

static pv_status attributes(pv__engine *e, bool relu, dnnl_primitive_attr_t *attr) {
    dnnl_post_ops_t ops = NULL;
    DNN(dnnl_primitive_attr_create(attr));
    dnnl_status_t status = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && relu) {
        status = dnnl_post_ops_create(&ops);
        if (status == dnnl_success)
            status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
        if (status == dnnl_success)
            status = dnnl_primitive_attr_set_post_ops(*attr, ops);
        dnnl_post_ops_destroy(ops);
    }
    if (status != dnnl_success)
        dnnl_primitive_attr_destroy(*attr);
    return pv__onednn_checked(e->ctx, status);
}

/* Creates the primitive of a descriptor and records its scratch memory. The caller destroys *pd. */
static dnnl_status_t make(pv__engine *e, const void *descriptor, dnnl_primitive_attr_t attr,
                          const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd, dnnl_primitive_t *primitive) {
    if (*pd == NULL) {
        dnnl_status_t status = dnnl_primitive_desc_create(pd, descriptor, attr, e->cpu, hint);
        if (status != dnnl_success)
            return status;
    }
    size_t bytes = dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(*pd, dnnl_query_scratchpad_md, 0));
    e->scratch = bytes > e->scratch ? bytes : e->scratch;
    return dnnl_primitive_create(primitive, *pd);
}

static pv_status make_reorder(pv__engine *e, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                              dnnl_primitive_t *primitive) {
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd = NULL;
    PV_TRY(attributes(e, false, &attr));
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&pd, from, e->cpu, to, e->cpu, attr);
    if (status == dnnl_success)
        status = make(e, NULL, attr, NULL, &pd, primitive);
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    return pv__onednn_checked(e->ctx, status);
}

/* The three primitives of a convolution. The output layout becomes that of the tensor. */
typedef struct conv_request {
    dnnl_alg_kind_t algorithm;
    dnnl_memory_desc_t weights, out; /* layouts chosen by oneDNN */
    dnnl_dims_t stride, padding;
    dnnl_memory_desc_t *x, *y;
    bool with_data; /* the gradient with respect to the input is needed */
} conv_request;

static dnnl_status_t conv_backward_primitives(pv__engine *e, pv__onednn_layer *l, const conv_request *q,
                                              dnnl_primitive_attr_t attr, const_dnnl_primitive_desc_t hint) {
    dnnl_convolution_desc_t d;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = dnnl_convolution_backward_weights_desc_init(&d, q->algorithm, q->x, &q->weights, &l->bias_md,
                                                                       q->y, q->stride, q->padding, q->padding);
    if (status == dnnl_success)
        status = make(e, &d, attr, hint, &pd, &l->weights);
    if (status == dnnl_success)
        l->weights_md = *dnnl_primitive_desc_query_md(pd, dnnl_query_diff_weights_md, 0);
    dnnl_primitive_desc_destroy(pd);
    pd = NULL;
    if (status != dnnl_success || !q->with_data)
        return status;
    status = dnnl_convolution_backward_data_desc_init(&d, q->algorithm, q->x, &q->weights, q->y, q->stride, q->padding,
                                                      q->padding);
    if (status == dnnl_success)
        status = make(e, &d, attr, hint, &pd, &l->data);
    if (status == dnnl_success)
        l->data_md = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static void conv_discard(pv__onednn_layer *l) {
    dnnl_primitive_destroy(l->forward);
    dnnl_primitive_destroy(l->data);
    dnnl_primitive_destroy(l->weights);
    l->forward = l->data = l->weights = NULL;
}

static dnnl_status_t conv_primitives(pv__engine *e, pv__onednn_layer *l, const conv_request *q,
                                     dnnl_primitive_attr_t with_relu, dnnl_primitive_attr_t without) {
    dnnl_convolution_desc_t d;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status =
        dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, q->algorithm, q->x, &q->weights, &l->bias_md,
                                           &q->out, q->stride, q->padding, q->padding);
    if (status == dnnl_success)
        status = make(e, &d, with_relu, NULL, &pd, &l->forward);
    if (status == dnnl_success) {
        l->forward_md = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
        *q->y = *dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
        status = conv_backward_primitives(e, l, q, without, pd);
    }
    dnnl_primitive_desc_destroy(pd);
    if (status != dnnl_success)
        conv_discard(l);
    return status;
}

static pv_status make_conv(pv__engine *e, int t) {
    const pv__node *node = &e->graph->node[t];
    pv__onednn_layer *l = &e->layer[t];
    pv__shape in = pv__graph_shape(e->graph, node->input[0]);
    dnnl_dim_t k = (dnnl_dim_t)node->kernel, s = (dnnl_dim_t)node->stride, p = (dnnl_dim_t)node->padding;
    dnnl_dims_t weights = {(dnnl_dim_t)node->out.channels, (dnnl_dim_t)in.channels, k, k};
    dnnl_dims_t bias = {(dnnl_dim_t)node->out.channels};
    conv_request q = {.algorithm = dnnl_convolution_winograd,
                      .stride = {s, s},
                      .padding = {p, p},
                      .x = &e->md[node->input[0]],
                      .y = &e->md[t + 1],
                      .with_data = node->input[0] > 0};
    DNN(dnnl_memory_desc_init_by_tag(&l->bias_md, 1, bias, dnnl_f32, dnnl_a));
    DNN(dnnl_memory_desc_init_by_tag(&l->plain_md, 4, weights, dnnl_f32, dnnl_abcd));
    DNN(dnnl_memory_desc_init_by_tag(&q.weights, 4, weights, dnnl_f32, dnnl_format_tag_any));
    PV_TRY(describe(e, node->out, dnnl_format_tag_any, &q.out));
    dnnl_primitive_attr_t with_relu, without;
    PV_TRY(attributes(e, true, &with_relu));
    pv_status status = attributes(e, false, &without);
    if (status == PV_OK) {
        bool winograd = node->kernel == 3 && node->stride == 1 && in.channels >= WINOGRAD_CHANNELS &&
                        node->out.channels >= WINOGRAD_CHANNELS;
        dnnl_status_t made = winograd ? conv_primitives(e, l, &q, with_relu, without) : dnnl_unimplemented;
        if (made == dnnl_unimplemented) {
            q.algorithm = dnnl_convolution_direct;
            made = conv_primitives(e, l, &q, with_relu, without);
        }
        status = pv__onednn_checked(e->ctx, made);
        dnnl_primitive_attr_destroy(without);
    }
    dnnl_primitive_attr_destroy(with_relu);
    PV_TRY(status);
    PV_TRY(make_reorder(e, &l->plain_md, &l->forward_md, &l->to_forward));
    if (q.with_data)
        PV_TRY(make_reorder(e, &l->plain_md, &l->data_md, &l->to_data));
    return make_reorder(e, &l->weights_md, &l->plain_md, &l->to_plain);
}

static pv_status make_maxpool(pv__engine *e, int t) {
    const pv__node *node = &e->graph->node[t];
    pv__onednn_layer *l = &e->layer[t];
    dnnl_dim_t k = (dnnl_dim_t)node->kernel, s = (dnnl_dim_t)node->stride, p = (dnnl_dim_t)node->padding;
    dnnl_dims_t kernel = {k, k}, stride = {s, s}, padding = {p, p};
    dnnl_memory_desc_t out;
    dnnl_pooling_desc_t d;
    dnnl_primitive_desc_t pd = NULL, back = NULL;
    dnnl_primitive_attr_t attr;
    PV_TRY(describe(e, node->out, dnnl_format_tag_any, &out));
    PV_TRY(attributes(e, false, &attr));
    const dnnl_memory_desc_t *x = &e->md[node->input[0]];
    dnnl_status_t status = dnnl_pooling_forward_desc_init(&d, dnnl_forward_training, dnnl_pooling_max, x, &out, stride,
                                                          kernel, padding, padding);
    if (status == dnnl_success)
        status = make(e, &d, attr, NULL, &pd, &l->forward);
    if (status == dnnl_success) {
        e->md[t + 1] = *dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
        l->workspace_md = *dnnl_primitive_desc_query_md(pd, dnnl_query_workspace_md, 0);
        status =
            dnnl_pooling_backward_desc_init(&d, dnnl_pooling_max, x, &e->md[t + 1], stride, kernel, padding, padding);
    }
    if (status == dnnl_success)
        status = make(e, &d, attr, pd, &back, &l->data);
    dnnl_primitive_desc_destroy(back);
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    return pv__onednn_checked(e->ctx, status);
}

/* Each input as a section of the output; fails if a section boundary cuts a block of channels. */
static dnnl_status_t concat_pieces(pv__engine *e, int t) {
    const pv__node *node = &e->graph->node[t];
    dnnl_dims_t from = {0, 0, 0, 0};
    for (int i = 0; i < node->inputs; i++) {
        const dnnl_memory_desc_t *x = &e->md[node->input[i]];
        dnnl_status_t status = dnnl_memory_desc_init_submemory(&e->layer[t].piece_md[i], &e->md[t + 1], x->dims, from);
        if (status != dnnl_success)
            return status;
        from[1] += x->dims[1];
    }
    return dnnl_success;
}

static dnnl_status_t concat_with(pv__engine *e, int t, dnnl_primitive_attr_t attr, const dnnl_memory_desc_t *out) {
    const pv__node *node = &e->graph->node[t];
    dnnl_memory_desc_t inputs[PV_NODE_INPUTS];
    dnnl_primitive_desc_t pd = NULL;
    for (int i = 0; i < node->inputs; i++)
        inputs[i] = e->md[node->input[i]];
    dnnl_status_t status = dnnl_concat_primitive_desc_create(&pd, out, node->inputs, 1, inputs, attr, e->cpu);
    if (status == dnnl_success)
        status = make(e, NULL, attr, NULL, &pd, &e->layer[t].forward);
    if (status == dnnl_success) {
        e->md[t + 1] = *dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
        status = concat_pieces(e, t);
    }
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static pv_status make_concat(pv__engine *e, int t) {
    const pv__node *node = &e->graph->node[t];
    pv__onednn_layer *l = &e->layer[t];
    dnnl_memory_desc_t out;
    dnnl_primitive_attr_t attr;
    PV_TRY(describe(e, node->out, dnnl_format_tag_any, &out));
    PV_TRY(attributes(e, false, &attr));
    dnnl_status_t made = concat_with(e, t, attr, &out);
    if (made != dnnl_success && made != dnnl_out_of_memory) {
        dnnl_primitive_destroy(l->forward);
        l->forward = NULL;
        pv_status status = describe(e, node->out, dnnl_abcd, &out);
        made = status == PV_OK ? concat_with(e, t, attr, &out) : dnnl_runtime_error;
    }
    dnnl_primitive_attr_destroy(attr);
    PV_TRY(pv__onednn_checked(e->ctx, made));
    for (int i = 0; i < node->inputs; i++)
        PV_TRY(make_reorder(e, &l->piece_md[i], &e->md[node->input[i]], &l->split[i]));
    return PV_OK;
}

static pv_status make_primitives(pv__engine *e) {
    const pv__graph *g = e->graph;
    DNN(dnnl_engine_create(&e->cpu, dnnl_cpu, 0));
    DNN(dnnl_stream_create(&e->stream, e->cpu, dnnl_stream_default_flags));
    PV_TRY(describe(e, g->input, dnnl_abcd, &e->md[0]));
    for (int t = 0; t < g->nodes; t++) {
        pv__node_kind kind = g->node[t].kind;
        PV_TRY(kind == PV_NODE_CONV      ? make_conv(e, t)
               : kind == PV_NODE_MAXPOOL ? make_maxpool(e, t)
                                         : make_concat(e, t));
    }
    PV_TRY(describe(e, pv__graph_shape(g, g->nodes), dnnl_abcd, &e->features_md));
    PV_TRY(make_reorder(e, &e->md[g->nodes], &e->features_md, &e->to_features));
    return make_reorder(e, &e->features_md, &e->md[g->nodes], &e->from_features);
}

/* ---- padded channels --------------------------------------------------------------------------------------------- */

enum { CHANNEL_BLOCK = 16 };

static void pad_graph(pv__engine *e) {
    const pv__graph *g = e->given;
    e->padded = (pv__graph){.input = g->input, .low = g->low};
    for (int t = 0; t < g->nodes; t++) {
        const pv__node *n = &g->node[t];
        size_t channels = (n->out.channels + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK * CHANNEL_BLOCK;
        if (n->kind == PV_NODE_CONV)
            pv__graph_conv(&e->padded, n->input[0], channels, n->kernel, n->stride, n->padding, n->dropout);
        else if (n->kind == PV_NODE_MAXPOOL)
            pv__graph_maxpool(&e->padded, n->input[0], n->kernel, n->stride, n->padding);
        else
            pv__graph_concat(&e->padded, n->input, n->inputs, n->dropout);
    }
    e->graph = &e->padded;
}

static void map_channels(const pv__engine *e, int t, size_t *channel) {
    const pv__node *n = &e->given->node[t > 0 ? t - 1 : 0];
    size_t at = 0, start = 0;
    if (t == 0 || n->kind == PV_NODE_CONV) {
        for (; at < pv__graph_shape(e->given, t).channels; at++)
            channel[at] = at;
        return;
    }
    for (int i = 0; i < n->inputs; i++) {
        for (size_t c = 0; c < pv__graph_shape(e->given, n->input[i]).channels; c++)
            channel[at++] = start + e->channel[n->input[i]][c];
        start += pv__graph_shape(&e->padded, n->input[i]).channels;
    }
}

static void map_parameters(pv__engine *e, int t) {
    const pv__node *n = &e->given->node[t], *p = &e->padded.node[t];
    size_t in = pv__graph_shape(e->given, n->input[0]).channels, taps = n->kernel * n->kernel;
    size_t wide = pv__graph_shape(&e->padded, n->input[0]).channels;
    for (size_t o = 0; o < n->out.channels; o++) {
        e->parameter[n->bias + o] = p->bias + o;
        for (size_t c = 0; c < in; c++)
            for (size_t k = 0; k < taps; k++)
                e->parameter[n->weight + (o * in + c) * taps + k] =
                    p->weight + (o * wide + e->channel[n->input[0]][c]) * taps + k;
    }
}

static pv_status make_padding(pv__engine *e) {
    const pv__graph *g = e->given;
    size_t total = 0, *at;
    for (int t = 0; t <= g->nodes; t++)
        total += pv__graph_shape(g, t).channels;
    PV_TRY(pv__alloc(e->ctx, g->params, sizeof *e->parameter, &e->parameter));
    PV_TRY(pv__alloc(e->ctx, total, sizeof *at, &at));
    e->channel[0] = at;
    for (int t = 0; t <= g->nodes; t++) {
        e->channel[t] = at;
        map_channels(e, t, at);
        at += pv__graph_shape(g, t).channels;
    }
    for (int t = 0; t < g->nodes; t++)
        if (g->node[t].kind == PV_NODE_CONV)
            map_parameters(e, t);
    return PV_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static pv_status reserve(pv__engine *e, size_t count, size_t size, void *pointer) {
    char *block;
    if (count && size > (SIZE_MAX - ALIGNMENT) / count)
        return pv__fail(e->ctx, PV_ERR_MEMORY, "out of memory in oneDNN");
    PV_TRY(pv__alloc(e->ctx, count * size + ALIGNMENT, 1, &block));
    e->blocks[e->n_blocks++] = block;
    void *start = block + (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT;
    memcpy(pointer, &start, sizeof start);
    return PV_OK;
}

size_t pv__onednn_floats(const dnnl_memory_desc_t *md) {
    return aligned(dnnl_memory_desc_get_size(md)) / sizeof(float);
}

static void lay_out(pv__engine *e, size_t *weights) {
    const pv__graph *g = e->graph;
    for (int t = 0; t <= g->nodes; t++) {
        size_t bytes = aligned(dnnl_memory_desc_get_size(&e->md[t])), size = pv__shape_size(pv__graph_shape(g, t));
        e->offset[t + 1] = e->offset[t] + bytes;
        e->spare = bytes > e->spare ? bytes : e->spare;
        e->largest = size > e->largest ? size : e->largest;
    }
    e->block = e->offset[g->nodes + 1];
    *weights = 0;
    for (int t = 0; t < g->nodes; t++) {
        pv__onednn_layer *l = &e->layer[t];
        if (g->node[t].kind == PV_NODE_MAXPOOL) {
            l->workspace = e->block;
            e->block += aligned(dnnl_memory_desc_get_size(&l->workspace_md));
        }
        if (g->node[t].kind != PV_NODE_CONV)
            continue;
        *weights += pv__onednn_floats(&l->forward_md) + (l->to_data ? pv__onednn_floats(&l->data_md) : 0);
        size_t gradient = pv__onednn_floats(&l->weights_md);
        e->weights_most = gradient > e->weights_most ? gradient : e->weights_most;
    }
}

static pv_status reserve_all(pv__engine *e) {
    const pv__graph *g = e->graph;
    size_t weights;
    lay_out(e, &weights);
    e->scratch = aligned(e->scratch);
    e->lane_size = e->offset[g->nodes + 1] + e->spare + e->scratch +
                   aligned(dnnl_memory_desc_get_size(&e->features_md)) + e->weights_most * sizeof(float);
    PV_TRY(reserve(e, e->parts, e->block, &e->value));
    PV_TRY(reserve(e, (size_t)e->lanes, e->lane_size, &e->lane));
    PV_TRY(reserve(e, (size_t)e->lanes, e->largest, &e->keep));
    PV_TRY(reserve(e, e->parts, sizeof(bool), &e->dropped));
    PV_TRY(reserve(e, g->params, sizeof(float), &e->weights));
    PV_TRY(reserve(e, e->parts, g->params * sizeof(float), &e->gradient));
    PV_TRY(reserve(e, weights, sizeof(float), &e->layer_weights));
    float *at = e->layer_weights;
    for (int t = 0; t < g->nodes; t++)
        if (g->node[t].kind == PV_NODE_CONV) {
            pv__onednn_layer *l = &e->layer[t];
            l->forward_weights = at;
            at += pv__onednn_floats(&l->forward_md);
            l->data_weights = at;
            at += l->to_data ? pv__onednn_floats(&l->data_md) : 0;
        }
    return PV_OK;
}

void pv__onednn_close(pv_ctx *ctx, pv__engine *e) {
    if (!e)
        return;
    for (int t = 0; t < PV_NODES_MAX; t++) {
        pv__onednn_layer *l = &e->layer[t];
        conv_discard(l);
        dnnl_primitive_destroy(l->to_forward);
        dnnl_primitive_destroy(l->to_data);
        dnnl_primitive_destroy(l->to_plain);
        for (int i = 0; i < PV_NODE_INPUTS; i++)
            dnnl_primitive_destroy(l->split[i]);
    }
    dnnl_primitive_destroy(e->to_features);
    dnnl_primitive_destroy(e->from_features);
    dnnl_stream_destroy(e->stream);
    dnnl_engine_destroy(e->cpu);
    for (int i = 0; i < e->n_blocks; i++)
        pv__free(ctx, e->blocks[i]);
    pv__free(ctx, e->parameter);
    pv__free(ctx, e->channel[0]);
    pv__free(ctx, e);
}

pv_status pv__onednn_open(pv_ctx *ctx, const pv__graph *graph, size_t images, size_t parts, int lanes,
                          pv__engine **engine) {
    *engine = NULL;
    pv__engine *e;
    PV_TRY(pv__alloc(ctx, 1, sizeof *e, &e));
    e->given = graph;
    e->ctx = ctx;
    e->images = images;
    e->parts = parts;
    e->lanes = lanes;
    pad_graph(e);
    pv_status status = make_padding(e);
    int threads = omp_get_max_threads();
    omp_set_num_threads(1); /* primitives are planned for the current number of threads */
    if (status == PV_OK)
        status = make_primitives(e);
    omp_set_num_threads(threads);
    if (status == PV_OK)
        status = reserve_all(e);
    if (status == PV_OK)
        *engine = e;
    else
        pv__onednn_close(ctx, e);
    return status;
}
