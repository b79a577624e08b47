/* src/compute/graph.h: a network of one view as a list of nodes, and the engines that run it.
 *
 * A node reads tensors and makes one: tensor 0 is the input, tensor i + 1 the output of node i. Parameters are one flat
 * block in double precision; an engine keeps what copies it likes. A batch is cut into parts of a fixed number of
 * images. Parts are independent of each other, so threads may take them in any order; their gradients are added as a
 * tree has them (base/tree.h). So results do not depend on the number of threads, nor of processes that share parts.
 */
#ifndef PV_SRC_GRAPH_H
#define PV_SRC_GRAPH_H

#include "base/base.h"
#include "base/tree.h"
#include "compute/nodes.h"
#include "prevail/core.h"

/* Each appends a node and returns its tensor. */
int pv__graph_conv(pv__graph *graph, int from, size_t channels, size_t kernel, size_t stride, size_t padding,
                   double dropout);
int pv__graph_maxpool(pv__graph *graph, int from, size_t kernel, size_t stride, size_t padding);
int pv__graph_concat(pv__graph *graph, const int *from, int n, double dropout);
pv__shape pv__graph_shape(const pv__graph *graph, int tensor);
static inline size_t pv__shape_size(pv__shape s) {
    return s.channels * s.height * s.width;
}

/* ---- dropout ----------------------------------------------------------------------------------------------------- */

/* keep [size] of one image, in the order [channels][height][width]: one stream for each image and node. */
void pv__dropout_mask(const pv__dropout *dropout, size_t image, int node, double probability, size_t size, bool *keep);

/* ---- engines ----------------------------------------------------------------------------------------------------- */

typedef struct pv__engine pv__engine; /* each backend's own */

typedef struct pv__engine_kind {
    const char *name;
    bool whole; /* takes a batch as one part */
    /* Room for parts of so many images; lanes: how many parts may be worked on at a time. */
    pv_status (*open)(pv_ctx *ctx, const pv__graph *graph, size_t images, size_t parts, int lanes, pv__engine **engine);
    void (*close)(pv_ctx *ctx, pv__engine *engine);
    /* Takes over the parameters; before the forward passes of a batch. */
    void (*load)(pv__engine *engine, const double *w);
    /* y [images][size of the last tensor] of x [images][size of the input]. */
    void (*forward)(pv__engine *engine, size_t part, int lane, const double *x, const pv__dropout *dropout, double *y);
    /* After forward of the same part: its gradient for dy. low: through the low-level module too. */
    void (*backward)(pv__engine *engine, size_t part, int lane, const double *dy, bool low);
    /* Adds the gradients of parts first .. last-1, which are those below a node of a tree, to dw. */
    void (*gather)(pv__engine *engine, size_t first, size_t last, int threads, bool low, double *dw);
    /* From now on an interruption of ctx ends the work on a batch at once; check then says so. NULL: it does not. No
     * function: batches are worked on to their end. */
    void (*heed)(pv__engine *engine, const pv_ctx *ctx);
    /* Whether all has gone well since load; what has not is NaN in the results. NULL: nothing can go wrong. */
    pv_status (*check)(pv_ctx *ctx, const pv__engine *engine);
} pv__engine_kind;

extern const pv__engine_kind pv__engine_reference; /* plain C in double precision: complete, and the oracle */
extern const pv__engine_kind pv__engine_onednn;    /* oneDNN in single precision */
const pv__engine_kind *pv__engine_best(void);      /* the fastest built in; NULL: built without images */
size_t pv__engine_library(pv_library *library);    /* the library it comes from, where there is one; returns how many */

/* The engine that the context's options name; the first, where they name none. */
PV_MUST_USE pv_status pv__engine_find(pv_ctx *ctx, const pv__engine_kind **kind);
/* For plug-ins: one more engine for the context and those made of it. The kind must outlive them. */
PV_MUST_USE pv_status pv__engine_add(pv_ctx *ctx, const pv__engine_kind *kind);

#endif
