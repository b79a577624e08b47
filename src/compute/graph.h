/* src/compute/graph.h: the network of one view as a list of nodes, and the engines that run it.
 *
 * A node reads tensors and computes one: tensor 0 is the input, tensor i + 1 the output of node i. Parameters are one
 * flat block in double precision; an engine may keep copies in other forms. A batch is divided into parts with a fixed
 * number of images. Parts are independent, so threads may process them in any order; their gradients are added as a
 * binary tree (base/tree.h). Results therefore depend neither on the number of threads nor on the processes that share
 * parts.
 */
#ifndef PV_SRC_GRAPH_H
#define PV_SRC_GRAPH_H

#include "base/base.h"
#include "base/tree.h"
#include "compute/nodes.h"
#include "prevail/core.h"

/* These append a node and return the number of its tensor. */
int pv__graph_conv(pv__graph *graph, int from, size_t channels, size_t kernel, size_t stride, size_t padding,
                   double dropout);
int pv__graph_maxpool(pv__graph *graph, int from, size_t kernel, size_t stride, size_t padding);
int pv__graph_concat(pv__graph *graph, const int *from, int n, double dropout);
pv__shape pv__graph_shape(const pv__graph *graph, int tensor);
static inline size_t pv__shape_size(pv__shape s) {
    return s.channels * s.height * s.width;
}

/* ---- dropout ----------------------------------------------------------------------------------------------------- */

/* keep [size] for one image, in the order [channels][height][width]; each image and node has its own stream. */
void pv__dropout_mask(const pv__dropout *dropout, size_t image, int node, double probability, size_t size, bool *keep);

/* ---- engines ----------------------------------------------------------------------------------------------------- */

typedef struct pv__engine pv__engine; /* defined by each backend */

typedef struct pv__engine_kind {
    const char *name;
    bool whole; /* takes a batch as a single part */
    /* Allocates for parts of this many images; lanes: how many parts may be processed at the same time. */
    pv_status (*open)(pv_ctx *ctx, const pv__graph *graph, size_t images, size_t parts, int lanes, pv__engine **engine);
    void (*close)(pv_ctx *ctx, pv__engine *engine);
    /* Copies the parameters; call before the forward passes of a batch. */
    void (*load)(pv__engine *engine, const double *w);
    /* y [images][size of the last tensor] from x [images][size of the input]. */
    void (*forward)(pv__engine *engine, size_t part, int lane, const double *x, const pv__dropout *dropout, double *y);
    /* After forward of the same part: computes its gradient for dy. low: also for the low-level module. */
    void (*backward)(pv__engine *engine, size_t part, int lane, const double *dy, bool low);
    /* Adds the gradients of parts first .. last-1, which are those below a node of a tree, to dw. */
    void (*gather)(pv__engine *engine, size_t first, size_t last, int threads, bool low, double *dw);
    /* From this call on an interruption of ctx ends a batch at once, and check reports it. ctx NULL: batches are
     * completed. Without this function batches are always completed. */
    void (*heed)(pv__engine *engine, const pv_ctx *ctx);
    /* Whether everything since load has succeeded; after a failure results are NaN. NULL: cannot fail. */
    pv_status (*check)(pv_ctx *ctx, const pv__engine *engine);
} pv__engine_kind;

extern const pv__engine_kind
    pv__engine_reference; /* plain C in double precision: complete, and the oracle for the others */
extern const pv__engine_kind pv__engine_onednn; /* oneDNN in single precision */
const pv__engine_kind *pv__engine_best(void);   /* the fastest engine built in; NULL: built without images */
size_t pv__engine_library(pv_library *library); /* the library behind it, if any; returns how many */

/* The engine that the context's options name, or the first if they name none. */
PV_MUST_USE pv_status pv__engine_find(pv_ctx *ctx, const pv__engine_kind **kind);
/* For plug-ins: adds an engine to the context and those derived from it. kind must outlive them. */
PV_MUST_USE pv_status pv__engine_add(pv_ctx *ctx, const pv__engine_kind *kind);

#endif
