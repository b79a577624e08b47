/* src/base/tree.h: sums of groups of rows, each of very many numbers, such as a gradient.
 *
 * The groups are the leaves of a binary tree, in their order from the left. A node is the sum of the two below it, or,
 * at the right edge, of the one. Who has all the groups below a node may send its sum instead of theirs: the total has
 * the same bits for any number of processes, and each sends the sums of a few nodes, however many groups it has.
 */
#ifndef PV_SRC_TREE_H
#define PV_SRC_TREE_H

#include "base/base.h"

/* A node: the groups first .. last-1, 2^level of them unless the tree ends before. */
typedef struct pv__limb {
    size_t first, last;
    int level;
} pv__limb;

enum { PV_LIMBS_MAX = 128 }; /* that a run of groups is made of: two for each level */

typedef struct pv__tree {
    size_t groups;
    size_t first, last; /* this process's own */
    size_t limbs;       /* the nodes that hold them, from the left, as few as there can be */
    size_t most;        /* of those, what any process has */
    pv__limb limb[PV_LIMBS_MAX];
    bool shared; /* with other processes */
} pv__tree;

/* Not shared: all groups are this process's own. */
pv__tree pv__tree_of(const pv_ctx *ctx, bool shared, size_t groups);

/* total [width] of all, from the sums of every process's limbs, [width] each, which it works in: those of rank r begin
 * at all + r stride. */
void pv__tree_join(const pv_ctx *ctx, const pv__tree *tree, size_t width, size_t stride, double *all, double *total);

/* Single numbers of the groups below one node, from the left. Begins as zeros. */
typedef struct pv__tree_adder {
    size_t count, depth;
    double part[64];
} pv__tree_adder;

static inline void pv__tree_add(pv__tree_adder *a, double x) {
    for (size_t left = a->count++; left & 1; left >>= 1)
        x = a->part[--a->depth] + x;
    a->part[a->depth++] = x;
}

/* The sum, and the adder is as it began. */
static inline double pv__tree_total(pv__tree_adder *a) {
    double x = a->depth ? a->part[--a->depth] : 0;
    while (a->depth)
        x = a->part[--a->depth] + x;
    a->count = 0;
    return x;
}

#endif
