/* src/posterior/nuts.h: one transition of the no-U-turn sampler. */
#ifndef PV_SRC_NUTS_H
#define PV_SRC_NUTS_H

#include "posterior/eval_batcher.h"
#include "posterior/whiten.h"

/* A place in phase space. */
typedef struct pv__phase {
    double *u, *gradient, *momentum; /* [dims] each, in one block in this order */
    double value;                    /* negative log density; +INFINITY where it is 0 */
} pv__phase;

/* A run of consecutive leapfrog steps, first to last in the order they were made. */
typedef struct pv__tree {
    double *first, *last; /* [dims], momenta at its ends */
    double *sum;          /* [dims], of the momenta */
    pv__phase proposal;   /* drawn from its places by their weights; the momentum is not kept */
    double log_weight;    /* log sum of exp(-energy), relative to the start's */
} pv__tree;

typedef struct pv__nuts {
    pv_ctx *ctx;
    const pv_density *density;
    void *state;          /* of the density, this sampler's own */
    pv__meeting *meeting; /* where it is evaluated with others; NULL: alone */
    const pv_ctx
        *watched; /* whose interruption ends a transition with PV_ERR_INTERRUPTED, `at` as it was; NULL: none */
    const pv__whiten *whiten;
    size_t dims;
    int depth;     /* most doublings */
    double step;   /* size of a leapfrog step */
    double *scale; /* [dims], inverse of the diagonal mass: variances of u */
    pv_rng rng;
    pv__phase at; /* where the chain is */
    /* of the last transition */
    double acceptance; /* mean over its steps of min(1, exp(-energy error)) */
    int doublings;
    bool diverged;
    bool left; /* a step went where the density is 0. It is refused, as any sampler would: no sign of a step that is too
                  long for the curvature, which `diverged` is */
    /* scratch */
    double *block, *w, *dw, *both;
    pv__phase end[2]; /* backward, forward */
    pv__tree whole, grown;
    pv__tree *part; /* [2 * depth]: two for each level */
    double energy, accepted;
    size_t steps;
    pv_status status;
} pv__nuts;

/* nuts->ctx, density, state, whiten, depth and rng are set by the caller; scale starts at 1. Free it also on failure.
 */
PV_MUST_USE pv_status pv__nuts_init(pv__nuts *nuts);
void pv__nuts_free(pv__nuts *nuts);

/* Evaluates the density at place->u. */
PV_MUST_USE pv_status pv__nuts_evaluate(pv__nuts *nuts, pv__phase *place);
/* Doubles or halves nuts->step until the acceptance of one step crosses 0.8. */
PV_MUST_USE pv_status pv__nuts_first_step(pv__nuts *nuts);
PV_MUST_USE pv_status pv__nuts_transition(pv__nuts *nuts);

#endif
