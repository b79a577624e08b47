/* src/posterior/nuts.h: one transition of the no-U-turn sampler. */
#ifndef PV_SRC_NUTS_H
#define PV_SRC_NUTS_H

#include "posterior/eval_batcher.h"
#include "posterior/whiten.h"

/* A point in phase space. */
typedef struct pv__phase {
    double *u, *gradient, *momentum; /* [dims] each, in one block in this order */
    double value;                    /* negative log density; +INFINITY if the density is 0 */
} pv__phase;

/* A run of consecutive leapfrog steps, from first to last in the order taken. */
typedef struct pv__tree {
    double *first, *last; /* [dims], momenta at its ends */
    double *sum;          /* [dims], sum of the momenta */
    pv__phase proposal;   /* drawn from its points by their weights; without momentum */
    double log_weight;    /* log sum of exp(-energy), relative to the starting energy */
} pv__tree;

typedef struct pv__nuts {
    pv_ctx *ctx;
    const pv_density *density;
    void *state;           /* of the density, owned by this sampler */
    pv__meeting *meeting;  /* batches evaluations with other samplers; NULL: none */
    const pv_ctx *watched; /* if this context is interrupted, a transition returns PV_ERR_INTERRUPTED and leaves `at`
                              unchanged; NULL: none */
    const pv__whiten *whiten;
    size_t dims;
    int depth;     /* maximum number of doublings */
    double step;   /* size of a leapfrog step */
    double *scale; /* [dims], inverse of the diagonal mass matrix: variances of u */
    pv_rng rng;
    pv__phase at; /* current state of the chain */
    /* of the last transition */
    double acceptance; /* mean over its steps of min(1, exp(-energy error)) */
    int doublings;
    bool diverged;
    bool left; /* a step reached density 0. The step is rejected as in any sampler and, unlike a divergence, does not
                  mean that the step is too long for the curvature */
    /* scratch */
    double *block, *w, *dw, *both;
    pv__phase end[2]; /* backward end, forward end */
    pv__tree whole, grown;
    pv__tree *part; /* [2 * depth]: two per level */
    double energy, accepted;
    size_t steps;
    pv_status status;
} pv__nuts;

/* The caller sets nuts->ctx, density, state, whiten, depth and rng; scale starts at 1. Free it also on failure.
 */
PV_MUST_USE pv_status pv__nuts_init(pv__nuts *nuts);
void pv__nuts_free(pv__nuts *nuts);

/* Evaluates the density at place->u. */
PV_MUST_USE pv_status pv__nuts_evaluate(pv__nuts *nuts, pv__phase *place);
/* Doubles or halves nuts->step until the acceptance of one step crosses 0.8. */
PV_MUST_USE pv_status pv__nuts_first_step(pv__nuts *nuts);
PV_MUST_USE pv_status pv__nuts_transition(pv__nuts *nuts);

#endif
