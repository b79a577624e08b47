/* src/compute/onednn.h: what the two files of the oneDNN engine share: onednn_plan.c makes primitives and memory,
 * onednn_run.c runs them.
 */
#ifndef PV_SRC_ONEDNN_H
#define PV_SRC_ONEDNN_H

#include <dnnl.h>

#include "compute/graph.h"

typedef struct pv__onednn_layer {
    dnnl_primitive_t forward, data, weights; /* data: gradient by the input; weights: by the parameters */
    dnnl_memory_desc_t forward_md, data_md, weights_md, plain_md, bias_md; /* conv: the weights in each */
    dnnl_primitive_t to_forward, to_data, to_plain;                        /* reorders */
    float *forward_weights, *data_weights;
    dnnl_memory_desc_t workspace_md;             /* maxpool */
    size_t workspace;                            /* its offset in a part's block */
    dnnl_memory_desc_t piece_md[PV_NODE_INPUTS]; /* concat: each input as a part of the output */
    dnnl_primitive_t split[PV_NODE_INPUTS];      /* and its gradient back */
} pv__onednn_layer;

/* oneDNN's fast kernels want channels in sixteens. The engine runs `padded`, the caller's graph with channels rounded
 * up: their weights are zero, so they stay zero, and their gradients are left out. */
struct pv__engine {
    const pv__graph *given;
    pv__graph padded;
    const pv__graph *graph;                  /* the padded one */
    size_t *parameter;                       /* [given params], the padded parameter of each */
    const size_t *channel[PV_NODES_MAX + 1]; /* of each tensor: the padded channel of each */
    pv_ctx *ctx;
    size_t images, parts;
    int lanes;
    dnnl_engine_t cpu;
    dnnl_stream_t stream;
    pv__onednn_layer layer[PV_NODES_MAX];
    dnnl_memory_desc_t md[PV_NODES_MAX + 1];
    size_t offset[PV_NODES_MAX + 2]; /* bytes, of each tensor in a part's block */
    size_t block;                    /* bytes of a part, workspaces included */
    dnnl_memory_desc_t features_md;  /* the last tensor, plain */
    dnnl_primitive_t to_features, from_features;
    size_t spare, scratch, largest; /* bytes of each lane's own buffers; elements of the largest tensor */
    size_t weights_most;            /* elements of the largest weight array in any layout */
    char *value;                    /* [parts][block] */
    char *lane;                     /* [lanes][lane_size]: slopes, spare, scratch, features, weight gradients */
    size_t lane_size;
    bool *keep;       /* [lanes][largest] */
    bool *dropped;    /* [parts] */
    float *weights;   /* one array of plain weights and biases, [padded params] */
    float *gradient;  /* [parts][padded params] */
    void *blocks[10]; /* what pv__free gets; the pointers above are aligned */
    int n_blocks;
    float *layer_weights; /* all layers' reordered weights */
    const pv_ctx *heed;   /* whose interruption ends the work on a batch; NULL: nobody's */
    atomic_bool stopped;  /* it did: results mean nothing */
    int failed;           /* a primitive did not run, for this reason (dnnl_status_t): results are NaN */
};

pv_status pv__onednn_open(pv_ctx *ctx, const pv__graph *graph, size_t images, size_t parts, int lanes,
                          pv__engine **engine);
void pv__onednn_close(pv_ctx *ctx, pv__engine *engine);
/* Floats that a tensor takes in memory, up to the next one's start. */
size_t pv__onednn_floats(const dnnl_memory_desc_t *md);

/* What a status of oneDNN means to the caller. */
PV_MUST_USE pv_status pv__onednn_checked(pv_ctx *ctx, dnnl_status_t status);

#endif
