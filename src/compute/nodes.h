/* src/compute/nodes.h: a network of one view as data, in C and in C++: what engines and plug-ins of devices read. */
#ifndef PV_SRC_NODES_H
#define PV_SRC_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PV_NODES_MAX = 64, PV_NODE_INPUTS = 4 };

typedef enum pv__node_kind {
    PV_NODE_CONV,    /* y = relu(w * x + b) */
    PV_NODE_MAXPOOL, /* the largest of a window; what lies outside does not count */
    PV_NODE_CONCAT   /* channels of several tensors after each other */
} pv__node_kind;

typedef struct pv__shape {
    size_t channels, height, width;
} pv__shape;

typedef struct pv__node {
    pv__node_kind kind;
    int input[PV_NODE_INPUTS], inputs;
    size_t kernel, stride, padding;
    double dropout;      /* after it, in training: zero with this probability, else divided by 1 - dropout. Only where
                            the output is not negative */
    size_t weight, bias; /* conv: offsets of [channels][in][kernel][kernel] and [channels] */
    pv__shape out;
} pv__node;

typedef struct pv__graph {
    pv__shape input;
    pv__node node[PV_NODES_MAX];
    int nodes;
    int low;           /* the first so many nodes are the low-level module */
    size_t low_params; /* and the first so many parameters its own */
    size_t params;
} pv__graph;

/* Which draws a part takes. */
typedef struct pv__dropout {
    bool on;
    uint64_t seed;
    uint64_t first; /* number of the part's first image, in all of training */
} pv__dropout;

#endif
