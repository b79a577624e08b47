/* The reference engine: computes every node by its definition, in double precision.
 *
 *   conv      y[o][i][j] = relu(b[o] + sum_{c,u,v} w[o][c][u][v] x[c][i s + u - p][j s + v - p])
 *   maxpool   y[c][i][j] = max_{u,v} x[c][i s + u - p][j s + v - p]
 *   dropout   y := y keep / (1 - rate)
 *
 * The derivative of ReLU follows from the output: y > 0. A dropped element has y = 0 and passes no gradient.
 */
#include <math.h>
#include <string.h>

#include "compute/graph.h"

struct pv__engine {
    const pv__graph *graph;
    size_t images, parts;
    int lanes;
    const double *w;                 /* from the last load; borrowed until gather */
    size_t offset[PV_NODES_MAX + 2]; /* of each tensor in a part's block, which holds all its images */
    double *value;                   /* [parts][block size] */
    double *slope;                   /* [lanes][block size] */
    double *dw;                      /* [parts][params] */
    bool *keep;                      /* [lanes][largest tensor] */
    size_t largest;
    double *scale; /* [parts]: 1 / (1 - rate) if dropout is on; 0: no dropout */
};

static void engine_close(pv_ctx *ctx, pv__engine *e) {
    if (!e)
        return;
    pv__free(ctx, e->value);
    pv__free(ctx, e->slope);
    pv__free(ctx, e->dw);
    pv__free(ctx, e->keep);
    pv__free(ctx, e->scale);
    pv__free(ctx, e);
}

static pv_status engine_open(pv_ctx *ctx, const pv__graph *graph, size_t images, size_t parts, int lanes,
                             pv__engine **engine) {
    *engine = NULL;
    pv__engine *e;
    PV_TRY(pv__alloc(ctx, 1, sizeof *e, &e));
    e->graph = graph;
    e->images = images;
    e->parts = parts;
    e->lanes = lanes;
    for (int t = 0; t <= graph->nodes; t++) {
        size_t size = pv__shape_size(pv__graph_shape(graph, t));
        e->offset[t + 1] = e->offset[t] + images * size;
        e->largest = size > e->largest ? size : e->largest;
    }
    size_t block = e->offset[graph->nodes + 1];
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, parts, block * sizeof(double), &e->value));
    PV_GOTO(fail, pv__alloc(ctx, (size_t)lanes, block * sizeof(double), &e->slope));
    PV_GOTO(fail, pv__alloc(ctx, parts, graph->params * sizeof(double), &e->dw));
    PV_GOTO(fail, pv__alloc(ctx, (size_t)lanes, e->largest, &e->keep));
    PV_GOTO(fail, pv__alloc(ctx, parts, sizeof(double), &e->scale));
    *engine = e;
    return PV_OK;
fail:
    engine_close(ctx, e);
    return status;
}

static void engine_load(pv__engine *e, const double *w) {
    e->w = w;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* The input index at window position u of output i, or -1 outside. */
static inline ptrdiff_t under(const pv__node *node, size_t i, size_t u, size_t size) {
    ptrdiff_t at = (ptrdiff_t)(i * node->stride + u) - (ptrdiff_t)node->padding;
    return at >= 0 && at < (ptrdiff_t)size ? at : -1;
}

/* Computes one output element or, with dy, adds to the gradients of x and w. */
static double conv_at(const pv__node *node, pv__shape in, const double *w, const double *x, size_t o, size_t i,
                      size_t j, double dy, double *dx, double *dw) {
    size_t k = node->kernel, taps = in.channels * k * k;
    double sum = 0;
    for (size_t c = 0; c < in.channels; c++)
        for (size_t u = 0; u < k; u++)
            for (size_t v = 0; v < k; v++) {
                ptrdiff_t row = under(node, i, u, in.height), column = under(node, j, v, in.width);
                if (row < 0 || column < 0)
                    continue;
                size_t tap = o * taps + (c * k + u) * k + v;
                size_t at = (c * in.height + (size_t)row) * in.width + (size_t)column;
                sum += w[tap] * x[at];
                if (dw)
                    dw[tap] += dy * x[at];
                if (dx)
                    dx[at] += dy * w[tap];
            }
    return sum;
}

static void conv_forward(const pv__node *node, pv__shape in, const double *w, const double *x, double *y) {
    for (size_t o = 0; o < node->out.channels; o++)
        for (size_t i = 0; i < node->out.height; i++)
            for (size_t j = 0; j < node->out.width; j++) {
                double z = w[node->bias + o] + conv_at(node, in, w + node->weight, x, o, i, j, 0, NULL, NULL);
                *y++ = z > 0 ? z : 0;
            }
}

static void conv_backward(const pv__node *node, pv__shape in, const double *w, const double *x, const double *dy,
                          double *dx, double *dw) {
    for (size_t o = 0; o < node->out.channels; o++)
        for (size_t i = 0; i < node->out.height; i++)
            for (size_t j = 0; j < node->out.width; j++, dy++) {
                if (*dy == 0)
                    continue;
                dw[node->bias + o] += *dy;
                conv_at(node, in, w + node->weight, x, o, i, j, *dy, dx, dw + node->weight);
            }
}

/* Position of the window's maximum; the first if tied. */
static size_t largest_under(const pv__node *node, pv__shape in, const double *x, size_t c, size_t i, size_t j) {
    size_t best = SIZE_MAX;
    for (size_t u = 0; u < node->kernel; u++)
        for (size_t v = 0; v < node->kernel; v++) {
            ptrdiff_t row = under(node, i, u, in.height), column = under(node, j, v, in.width);
            if (row < 0 || column < 0)
                continue;
            size_t at = (c * in.height + (size_t)row) * in.width + (size_t)column;
            if (best == SIZE_MAX || x[at] > x[best])
                best = at;
        }
    return best;
}

static void maxpool(const pv__node *node, pv__shape in, const double *x, double *y, const double *dy, double *dx) {
    for (size_t c = 0; c < node->out.channels; c++)
        for (size_t i = 0; i < node->out.height; i++)
            for (size_t j = 0; j < node->out.width; j++) {
                size_t at = largest_under(node, in, x, c, i, j);
                if (y)
                    *y++ = x[at];
                else
                    dx[at] += *dy++;
            }
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static void drop(pv__engine *e, const pv__node *node, int number, int lane, const pv__dropout *dropout, size_t image,
                 double *y) {
    size_t size = pv__shape_size(node->out);
    bool *keep = e->keep + (size_t)lane * e->largest;
    pv__dropout_mask(dropout, image, number, node->dropout, size, keep);
    for (size_t i = 0; i < size; i++)
        y[i] = keep[i] ? y[i] / (1 - node->dropout) : 0;
}

static void engine_forward(pv__engine *e, size_t part, int lane, const double *x, const pv__dropout *dropout,
                           double *features) {
    const pv__graph *g = e->graph;
    double *value = e->value + part * e->offset[g->nodes + 1];
    e->scale[part] = dropout->on;
    memcpy(value, x, e->offset[1] * sizeof *value);
    for (int t = 0; t < g->nodes; t++) {
        const pv__node *node = &g->node[t];
        size_t size = pv__shape_size(node->out);
        for (size_t n = 0; n < e->images; n++) {
            double *y = value + e->offset[t + 1] + n * size, *to = y;
            for (int i = 0; i < node->inputs; i++) {
                pv__shape in = pv__graph_shape(g, node->input[i]);
                const double *from = value + e->offset[node->input[i]] + n * pv__shape_size(in);
                if (node->kind == PV_NODE_CONV)
                    conv_forward(node, in, e->w, from, y);
                else if (node->kind == PV_NODE_MAXPOOL)
                    maxpool(node, in, from, y, NULL, NULL);
                else
                    memcpy(to, from, pv__shape_size(in) * sizeof *to);
                to += pv__shape_size(in);
            }
            if (dropout->on && node->dropout > 0)
                drop(e, node, t, lane, dropout, n, y);
        }
    }
    memcpy(features, value + e->offset[g->nodes], (e->offset[g->nodes + 1] - e->offset[g->nodes]) * sizeof *features);
}

/* Propagates dy back through dropout and ReLU, in place. */
static void activation_backward(const pv__node *node, bool dropped, size_t n, const double *y, double *dy) {
    double scale = dropped && node->dropout > 0 ? 1 / (1 - node->dropout) : 1;
    bool gated = node->kind == PV_NODE_CONV || scale != 1;
    for (size_t i = 0; gated && i < n; i++)
        dy[i] = y[i] > 0 ? dy[i] * scale : 0;
}

static void engine_backward(pv__engine *e, size_t part, int lane, const double *dfeatures, bool low) {
    const pv__graph *g = e->graph;
    size_t block = e->offset[g->nodes + 1];
    double *value = e->value + part * block, *slope = e->slope + (size_t)lane * block;
    double *dw = e->dw + part * g->params;
    memset(slope, 0, block * sizeof *slope);
    memset(dw, 0, g->params * sizeof *dw);
    memcpy(slope + e->offset[g->nodes], dfeatures, (block - e->offset[g->nodes]) * sizeof *slope);
    for (int t = g->nodes - 1; t >= (low ? 0 : g->low); t--) {
        const pv__node *node = &g->node[t];
        size_t size = pv__shape_size(node->out);
        double *dy = slope + e->offset[t + 1];
        activation_backward(node, e->scale[part] > 0, e->images * size, value + e->offset[t + 1], dy);
        for (size_t n = 0; n < e->images; n++, dy += size) {
            const double *from = dy;
            for (int i = 0; i < node->inputs; i++) {
                pv__shape in = pv__graph_shape(g, node->input[i]);
                size_t at = e->offset[node->input[i]] + n * pv__shape_size(in);
                bool wanted = node->input[i] > (low ? 0 : g->low);
                if (node->kind == PV_NODE_CONV)
                    conv_backward(node, in, e->w, value + at, dy, wanted ? slope + at : NULL, dw);
                else if (node->kind == PV_NODE_MAXPOOL)
                    maxpool(node, in, value + at, NULL, dy, slope + at);
                for (size_t j = 0; node->kind == PV_NODE_CONCAT && j < pv__shape_size(in); j++)
                    slope[at + j] += *from++;
            }
        }
    }
}

static void engine_gather(pv__engine *e, size_t first, size_t last, int threads, bool low, double *dw) {
    (void)threads;
    pv__tree_adder sum = {.count = 0};
    for (size_t i = low ? 0 : e->graph->low_params; i < e->graph->params; i++) {
        for (size_t p = first; p < last; p++)
            pv__tree_add(&sum, e->dw[p * e->graph->params + i]);
        dw[i] += pv__tree_total(&sum);
    }
}

const pv__engine_kind pv__engine_reference = {.name = "reference",
                                              .open = engine_open,
                                              .close = engine_close,
                                              .load = engine_load,
                                              .forward = engine_forward,
                                              .backward = engine_backward,
                                              .gather = engine_gather};
