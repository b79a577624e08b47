/* src/compute/nodes.h: the network of one view as plain data, in C and C++, for engines and device plug-ins. */
#ifndef PV_SRC_NODES_H
#define PV_SRC_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PV_NODES_MAX = 64, PV_NODE_INPUTS = 4 };

typedef enum pv__node_kind {
    PV_NODE_CONV,    /* y = relu(w * x + b) */
    PV_NODE_MAXPOOL, /* the maximum over a window; elements outside are ignored */
    PV_NODE_CONCAT   /* concatenates the channels of several tensors */
} pv__node_kind;

typedef struct pv__shape {
    size_t channels, height, width;
} pv__shape;

typedef struct pv__node {
    pv__node_kind kind;
    int input[PV_NODE_INPUTS], inputs;
    size_t kernel, stride, padding;
    double dropout; /* applied to the output in training: zero with this probability, else divided by 1 - dropout. Only
                       if the output cannot be negative */
    size_t weight, bias; /* conv: offsets of [channels][in][kernel][kernel] and [channels] */
    pv__shape out;
} pv__node;

typedef struct pv__graph {
    pv__shape input;
    pv__node node[PV_NODES_MAX];
    int nodes;
    int low;           /* the first `low` nodes are the low-level module */
    size_t low_params; /* number of leading parameters that belong to it */
    size_t params;
} pv__graph;

/* The random draws used by a part. */
typedef struct pv__dropout {
    bool on;
    uint64_t seed;
    uint64_t first; /* number of the part's first image, counted over all of training */
} pv__dropout;

#endif
