/* src/compute/onednn.h: declarations shared by the oneDNN engine's files: onednn_plan.c creates primitives and memory,
 * onednn_run.c runs them.
 */
#ifndef PV_SRC_ONEDNN_H
#define PV_SRC_ONEDNN_H

#include <dnnl.h>

#include "compute/graph.h"

typedef struct pv__onednn_layer {
    dnnl_primitive_t forward, data,
        weights; /* data: gradient with respect to the input; weights: with respect to the parameters */
    dnnl_memory_desc_t forward_md, data_md, weights_md, plain_md, bias_md; /* conv: layout of the weights for each */
    dnnl_primitive_t to_forward, to_data, to_plain;                        /* reorders */
    float *forward_weights, *data_weights;
    dnnl_memory_desc_t workspace_md;             /* maxpool */
    size_t workspace;                            /* offset in a part's block */
    dnnl_memory_desc_t piece_md[PV_NODE_INPUTS]; /* concat: each input as a section of the output */
    dnnl_primitive_t split[PV_NODE_INPUTS];      /* copies its gradient back */
} pv__onednn_layer;

/* oneDNN's fast kernels need channels in multiples of sixteen. The engine runs `padded`, the caller's graph with
 * channels rounded up: the additional weights are zero and stay zero, because their gradients are discarded. */
struct pv__engine {
    const pv__graph *given;
    pv__graph padded;
    const pv__graph *graph;                  /* the padded one */
    size_t *parameter;                       /* [given params], index of each parameter in the padded graph */
    const size_t *channel[PV_NODES_MAX + 1]; /* for each tensor: index of each channel in the padded graph */
    pv_ctx *ctx;
    size_t images, parts;
    int lanes;
    dnnl_engine_t cpu;
    dnnl_stream_t stream;
    pv__onednn_layer layer[PV_NODES_MAX];
    dnnl_memory_desc_t md[PV_NODES_MAX + 1];
    size_t offset[PV_NODES_MAX + 2]; /* in bytes, of each tensor in a part's block */
    size_t block;                    /* size of a part in bytes, including workspaces */
    dnnl_memory_desc_t features_md;  /* the last tensor in plain layout */
    dnnl_primitive_t to_features, from_features;
    size_t spare, scratch, largest; /* bytes of each lane's buffers; elements of the largest tensor */
    size_t weights_most;            /* elements of the largest weight array in any layout */
    char *value;                    /* [parts][block] */
    char *lane; /* [lanes][lane_size]: gradients of tensors, spare, scratch, features, weight gradients */
    size_t lane_size;
    bool *keep;       /* [lanes][largest] */
    bool *dropped;    /* [parts] */
    float *weights;   /* plain weights and biases in one array, [padded params] */
    float *gradient;  /* [parts][padded params] */
    void *blocks[10]; /* for pv__free; the pointers above are aligned */
    int n_blocks;
    float *layer_weights; /* reordered weights of all layers */
    const pv_ctx *heed;   /* the context whose interruption ends a batch; NULL: none */
    atomic_bool stopped;  /* a batch was ended: results are meaningless */
    int failed;           /* dnnl_status_t of the first primitive that failed: results are NaN */
};

pv_status pv__onednn_open(pv_ctx *ctx, const pv__graph *graph, size_t images, size_t parts, int lanes,
                          pv__engine **engine);
void pv__onednn_close(pv_ctx *ctx, pv__engine *engine);
/* Number of floats that a tensor takes in memory, including alignment. */
size_t pv__onednn_floats(const dnnl_memory_desc_t *md);

/* Converts a status of oneDNN. */
PV_MUST_USE pv_status pv__onednn_checked(pv_ctx *ctx, dnnl_status_t status);

#endif
