/* Sums of groups of rows as a binary tree, within one process or across several. */
#include "base/tree.h"

#include <string.h>

#include "base/reduce.h"

/* The fewest nodes that cover the groups first .. last-1. Any node may extend past the last group of all. */
static size_t limbs_of(size_t groups, size_t first, size_t last, pv__limb *limb) {
    size_t n = 0;
    while (first < last) {
        int level = 0;
        size_t size = 1;
        while (first % (2 * size) == 0 && size < groups && (first + 2 * size <= last || last == groups)) {
            size *= 2;
            level++;
        }
        size_t end = first + size < groups ? first + size : groups;
        limb[n++] = (pv__limb){.first = first, .last = end, .level = level};
        first = end;
    }
    return n;
}

pv__tree pv__tree_of(const pv_ctx *ctx, bool shared, size_t groups) {
    pv__tree tree = {.groups = groups, .last = groups, .shared = shared && pv__shares(ctx)};
    int size = tree.shared ? ctx->ranks.calls.size : 1, rank = tree.shared ? ctx->ranks.calls.rank : 0;
    for (int r = 0; r < size; r++) {
        pv__limb limb[PV_LIMBS_MAX];
        size_t n = limbs_of(groups, pv__share_of(groups, r, size), pv__share_of(groups, r + 1, size), limb);
        tree.most = n > tree.most ? n : tree.most;
    }
    tree.first = pv__share_of(groups, rank, size);
    tree.last = pv__share_of(groups, rank + 1, size);
    tree.limbs = limbs_of(groups, tree.first, tree.last, tree.limb);
    return tree;
}

/* The limbs of all processes in order. */
typedef struct walk {
    const pv_ctx *ctx;
    size_t groups, width, stride;
    double *all;
    int rank;     /* the rank whose limbs these are */
    size_t n, at; /* their number, and the index of the next one */
    pv__limb limb[PV_LIMBS_MAX];
} walk;

static void next_limb(walk *w) {
    int size = w->ctx->ranks.calls.size;
    w->at++;
    while (w->at >= w->n && w->rank + 1 < size) {
        w->rank++;
        w->at = 0;
        w->n = limbs_of(w->groups, pv__share_of(w->groups, w->rank, size), pv__share_of(w->groups, w->rank + 1, size),
                        w->limb);
    }
}

/* The sum of the node that begins at a group: that of a limb, or the sum of its two children, stored in the first one's
 * place. */
static double *node(walk *w, size_t first, int level) {
    if (w->limb[w->at].level == level) {
        double *own = w->all + (size_t)w->rank * w->stride + w->at * w->width;
        next_limb(w);
        return own;
    }
    double *sum = node(w, first, level - 1);
    size_t half = first + ((size_t)1 << (level - 1));
    if (half >= w->groups)
        return sum;
    const double *more = node(w, half, level - 1);
    for (size_t i = 0; i < w->width; i++)
        sum[i] += more[i];
    return sum;
}

void pv__tree_join(const pv_ctx *ctx, const pv__tree *tree, size_t width, size_t stride, double *all, double *total) {
    walk w = {.ctx = ctx, .groups = tree->groups, .width = width, .stride = stride, .rank = -1};
    int level = 0;
    w.all = all;
    while (((size_t)1 << level) < tree->groups)
        level++;
    next_limb(&w);
    memcpy(total, node(&w, 0, level), width * sizeof *total);
}
