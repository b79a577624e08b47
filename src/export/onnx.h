/* src/export/onnx.h: the graph of an ONNX file under construction: names, tensors, nodes. */
#ifndef PV_SRC_ONNX_H
#define PV_SRC_ONNX_H

#include "export/protobuf.h"

enum { FLOAT = 1, INT64 = 7, STRING = 8, BOOL = 9, DOUBLE = 11 }; /* tensor types */
enum { OF_INT = 2, OF_INTS = 7, OF_STRINGS = 8 };                 /* attribute types */

typedef struct pv__onnx_name {
    char text[48];
} pv__onnx_name;

typedef struct pv__onnx {
    pv_ctx *ctx;
    const pv__described *d;
    pv__out nodes, initializers, attributes; /* attributes: of the next node */
    bool *there;                             /* [steps], whether a constant's tensor has been written */
    char prefix[24];                         /* prefix of internal names, with which no column name begins */
    int others;                              /* number of names given to tensors that are not steps */
    pv__export_names names;
} pv__onnx;

static inline const pv__step *pv__onnx_step(const pv__onnx *w, int at) {
    return &w->d->steps.step[at];
}
pv__onnx_name pv__onnx_of_step(const pv__onnx *w, int at);
pv__onnx_name pv__onnx_another(pv__onnx *w);
/* The tensor of a step; that of a constant is written on first use. */
pv__onnx_name pv__onnx_taken(pv__onnx *w, int at);

void pv__onnx_tensor(pv__onnx *w, const char *called, int type, const size_t *dims, int n, const double *value);
pv__onnx_name pv__onnx_integers(pv__onnx *w, const int64_t *value, size_t n);
pv__onnx_name pv__onnx_integer(pv__onnx *w, int64_t value);

/* Add attributes to the next node. */
void pv__onnx_attribute(pv__onnx *w, const char *called, int type, pv__out *attribute);
void pv__onnx_with_integer(pv__onnx *w, const char *called, int64_t value);
void pv__onnx_with_integers(pv__onnx *w, const char *called, const int64_t *value, size_t n);
/* Writes a node with the attributes added so far and n inputs, or with one or two. */
void pv__onnx_node(pv__onnx *w, const char *operation, const char *domain, const char *const *in, size_t n,
                   const char *out);
void pv__onnx_node1(pv__onnx *w, const char *operation, const char *a, const char *out);
void pv__onnx_node2(pv__onnx *w, const char *operation, const char *a, const char *b, const char *out);
void pv__onnx_cast(pv__onnx *w, const char *a, int type, const char *out);
void pv__onnx_reshaped(pv__onnx *w, const char *a, const int64_t *dims, size_t n, const char *out);

/* (onnx_trees.c) */
void pv__onnx_trees(pv__onnx *w, const pv__step *step, const char *out);

#endif
