/* src/base/tree.h: sums over groups of rows of very long vectors, such as a gradient.
 *
 * The groups are the leaves of a binary tree, in order from the left. A node is the sum of its two children, or at the
 * right edge of its only child. A process that has all groups below a node can send the node's sum instead of theirs:
 * the total is bit-identical for any number of processes, and each sends the sums of only a few nodes.
 */
#ifndef PV_SRC_TREE_H
#define PV_SRC_TREE_H

#include "base/base.h"

/* A node: the groups first .. last-1, which are 2^level unless the tree ends before. */
typedef struct pv__limb {
    size_t first, last;
    int level;
} pv__limb;

enum { PV_LIMBS_MAX = 128 }; /* the most that cover a run of groups: two per level */

typedef struct pv__tree {
    size_t groups;
    size_t first, last; /* groups of this process */
    size_t limbs;       /* the number of nodes that cover them, which is minimal; ordered from the left */
    size_t most;        /* the largest number of limbs of any process */
    pv__limb limb[PV_LIMBS_MAX];
    bool shared; /* shared with other processes */
} pv__tree;

/* If not shared, all groups belong to this process. */
pv__tree pv__tree_of(const pv_ctx *ctx, bool shared, size_t groups);

/* total [width], from the sums [width] of every process's limbs, which are overwritten. Those of rank r begin at all +
 * r stride. */
void pv__tree_join(const pv_ctx *ctx, const pv__tree *tree, size_t width, size_t stride, double *all, double *total);

/* Adds scalars in the same tree order, one group at a time from the left. Initialise with zeros. */
typedef struct pv__tree_adder {
    size_t count, depth;
    double part[64];
} pv__tree_adder;

static inline void pv__tree_add(pv__tree_adder *a, double x) {
    for (size_t left = a->count++; left & 1; left >>= 1)
        x = a->part[--a->depth] + x;
    a->part[a->depth++] = x;
}

/* Returns the sum and resets the adder. */
static inline double pv__tree_total(pv__tree_adder *a) {
    double x = a->depth ? a->part[--a->depth] : 0;
    while (a->depth)
        x = a->part[--a->depth] + x;
    a->count = 0;
    return x;
}

#endif
