/* The no-U-turn sampler (Hoffman and Gelman 2014) with multinomial weights and the generalised criterion (Betancourt
 * 2017), as in Stan: energy H(u, p) = value(u) + 1/2 sum_i scale_i p_i^2. A trajectory is doubled in a random direction
 * until its ends move towards each other, p_end . scale . sum of p <= 0, in the whole, in either half or across the
 * seam. The next point is drawn from the trajectory with weights exp(-H), with preference for new halves at the top
 * level.
 *
 * An energy error above 1000, or a density of 0, ends the trajectory as divergent; the draw of the last complete tree
 * is used.
 */
#include "core/log_add.h"
#include "posterior/nuts.h"

#include <math.h>
#include <string.h>

static const double MOST_ENERGY_ERROR = 1000;

/* ---- memory: one block with named pointers into it --------------------------------------------------------------- */

static double *take(double **next, size_t count) {
    double *taken = *next;
    *next += count;
    return taken;
}

static pv__phase take_phase(double **next, size_t d) {
    pv__phase phase = {.u = take(next, d)};
    phase.gradient = take(next, d);
    phase.momentum = take(next, d);
    return phase;
}

static pv__tree take_tree(double **next, size_t d) {
    pv__tree tree = {.first = take(next, d)};
    tree.last = take(next, d);
    tree.sum = take(next, d);
    tree.proposal = take_phase(next, d);
    return tree;
}

pv_status pv__nuts_init(pv__nuts *nuts) {
    size_t d = nuts->dims = nuts->density->dims, parts = 2 * (size_t)nuts->depth;
    PV_TRY(pv__alloc(nuts->ctx, 6 * (parts + 2) + 3 * 3 + 4, d * sizeof *nuts->block, &nuts->block));
    PV_TRY(pv__alloc(nuts->ctx, parts, sizeof *nuts->part, &nuts->part));
    double *next = nuts->block;
    nuts->scale = take(&next, d);
    nuts->w = take(&next, d);
    nuts->dw = take(&next, d);
    nuts->both = take(&next, d);
    nuts->at = take_phase(&next, d);
    nuts->end[0] = take_phase(&next, d);
    nuts->end[1] = take_phase(&next, d);
    nuts->whole = take_tree(&next, d);
    nuts->grown = take_tree(&next, d);
    for (size_t i = 0; i < parts; i++)
        nuts->part[i] = take_tree(&next, d);
    for (size_t i = 0; i < d; i++)
        nuts->scale[i] = 1;
    nuts->step = 1;
    return PV_OK;
}

void pv__nuts_free(pv__nuts *nuts) {
    if (!nuts->ctx)
        return;
    pv__free(nuts->ctx, nuts->block);
    pv__free(nuts->ctx, nuts->part);
}

static void copy_place(size_t d, pv__phase *to, const pv__phase *from) {
    memcpy(to->u, from->u, 2 * d * sizeof *to->u); /* includes the gradient, which follows */
    to->value = from->value;
}

static void copy_phase(size_t d, pv__phase *to, const pv__phase *from) {
    memcpy(to->u, from->u, 3 * d * sizeof *to->u);
    to->value = from->value;
}

/* ---- dynamics ---------------------------------------------------------------------------------------------------- */

pv_status pv__nuts_evaluate(pv__nuts *nuts, pv__phase *place) {
    pv__whiten_to_w(nuts->whiten, place->u, nuts->w);
    if (nuts->meeting)
        PV_TRY(pv__meeting_eval(nuts->ctx, nuts->meeting, nuts->state, nuts->w, &place->value, nuts->dw));
    else
        PV_TRY(nuts->density->eval(nuts->ctx, nuts->state, nuts->w, &place->value, nuts->dw));
    bool finite = isfinite(place->value);
    for (size_t i = 0; i < nuts->dims; i++)
        finite = finite && isfinite(nuts->dw[i]);
    if (!finite)
        place->value = INFINITY; /* without a gradient the trajectory cannot continue, as if the density were 0 */
    else
        pv__whiten_gradient(nuts->whiten, nuts->dw, place->gradient);
    return PV_OK;
}

static void draw_momentum(pv__nuts *nuts, pv__phase *place) {
    for (size_t i = 0; i < nuts->dims; i++)
        place->momentum[i] = pv_rng_normal(&nuts->rng) / sqrt(nuts->scale[i]);
}

/* sum_i scale_i a_i b_i */
static double along(const pv__nuts *nuts, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < nuts->dims; i++)
        sum += nuts->scale[i] * a[i] * b[i];
    return sum;
}

static double energy(const pv__nuts *nuts, const pv__phase *place) {
    double h = place->value + 0.5 * along(nuts, place->momentum, place->momentum);
    return isnan(h) ? INFINITY : h;
}

/* Starts from a point with positive density. */
static pv_status leapfrog(pv__nuts *nuts, pv__phase *place, double step) {
    for (size_t i = 0; i < nuts->dims; i++) {
        place->momentum[i] -= 0.5 * step * place->gradient[i];
        place->u[i] += step * nuts->scale[i] * place->momentum[i];
    }
    PV_TRY(pv__nuts_evaluate(nuts, place));
    for (size_t i = 0; i < nuts->dims && isfinite(place->value); i++)
        place->momentum[i] -= 0.5 * step * place->gradient[i];
    return PV_OK;
}

pv_status pv__nuts_first_step(pv__nuts *nuts) {
    pv__phase *trial = &nuts->end[0];
    int direction = 0;
    for (int round = 0; round < 100; round++) {
        copy_place(nuts->dims, trial, &nuts->at);
        draw_momentum(nuts, trial);
        double start = energy(nuts, trial);
        PV_TRY(leapfrog(nuts, trial, nuts->step));
        int wanted = start - energy(nuts, trial) > log(0.8) ? 1 : -1;
        if (direction != 0 && wanted != direction)
            return PV_OK;
        direction = wanted;
        nuts->step *= direction > 0 ? 2 : 0.5;
    }
    return pv__fail(nuts->ctx, PV_ERR_NUMERIC,
                    direction > 0 ? "hmc: the density is flat: the posterior is improper"
                                  : "hmc: no step is small enough: the density is not smooth");
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

/* Whether neither end moves against the sum of the momenta in between. */
static bool straight(const pv__nuts *nuts, const double *first, const double *last, const double *sum) {
    return along(nuts, first, sum) > 0 && along(nuts, last, sum) > 0;
}

/* a, then b which starts where a ends: whether the two together are straight, also across the seam. */
static bool straight_together(pv__nuts *nuts, const pv__tree *a, const pv__tree *b) {
    double *sum = nuts->both;
    for (size_t i = 0; i < nuts->dims; i++)
        sum[i] = a->sum[i] + b->sum[i];
    if (!straight(nuts, a->first, b->last, sum))
        return false;
    for (size_t i = 0; i < nuts->dims; i++)
        sum[i] = a->sum[i] + b->first[i];
    if (!straight(nuts, a->first, b->first, sum))
        return false;
    for (size_t i = 0; i < nuts->dims; i++)
        sum[i] = b->sum[i] + a->last[i];
    return straight(nuts, a->last, b->last, sum);
}

static void leaf(pv__nuts *nuts, int direction, pv__tree *tree) {
    if (nuts->watched && pv__interrupted(nuts->watched)) {
        nuts->status = PV_ERR_INTERRUPTED;
        return;
    }
    pv__phase *end = &nuts->end[direction > 0];
    size_t bytes = nuts->dims * sizeof(double);
    nuts->status = leapfrog(nuts, end, direction * nuts->step);
    double error = energy(nuts, end) - nuts->energy;
    nuts->steps++;
    nuts->accepted += error < 0 ? 1 : exp(-error);
    nuts->left = !isfinite(end->value);
    nuts->diverged = !nuts->left && error > MOST_ENERGY_ERROR;
    tree->log_weight = -error;
    memcpy(tree->first, end->momentum, bytes);
    memcpy(tree->last, end->momentum, bytes);
    memcpy(tree->sum, end->momentum, bytes);
    copy_place(nuts->dims, &tree->proposal, end);
}

/* Takes 2^depth steps from an end; false if the tree turned, diverged or failed, and must be discarded. */
static bool grow(pv__nuts *nuts, int depth, int direction, pv__tree *tree) {
    if (depth == 0) {
        leaf(nuts, direction, tree);
        return nuts->status == PV_OK && !nuts->diverged && !nuts->left;
    }
    pv__tree *a = nuts->part + 2 * (depth - 1), *b = a + 1;
    if (!grow(nuts, depth - 1, direction, a) || !grow(nuts, depth - 1, direction, b))
        return false;
    size_t bytes = nuts->dims * sizeof(double);
    tree->log_weight = pv__log_add(a->log_weight, b->log_weight);
    bool second = log(pv_rng_uniform(&nuts->rng)) < b->log_weight - tree->log_weight;
    copy_place(nuts->dims, &tree->proposal, second ? &b->proposal : &a->proposal);
    memcpy(tree->first, a->first, bytes);
    memcpy(tree->last, b->last, bytes);
    for (size_t i = 0; i < nuts->dims; i++)
        tree->sum[i] = a->sum[i] + b->sum[i];
    return straight_together(nuts, a, b);
}

static void turn_round(pv__tree *tree) {
    double *held = tree->first;
    tree->first = tree->last;
    tree->last = held;
}

static void start(pv__nuts *nuts) {
    size_t d = nuts->dims, bytes = d * sizeof(double);
    pv__tree *whole = &nuts->whole;
    draw_momentum(nuts, &nuts->at);
    copy_phase(d, &nuts->end[0], &nuts->at);
    copy_phase(d, &nuts->end[1], &nuts->at);
    copy_place(d, &whole->proposal, &nuts->at);
    memcpy(whole->first, nuts->at.momentum, bytes);
    memcpy(whole->last, nuts->at.momentum, bytes);
    memcpy(whole->sum, nuts->at.momentum, bytes);
    whole->log_weight = 0;
    nuts->energy = energy(nuts, &nuts->at);
    nuts->steps = 0;
    nuts->accepted = 0;
    nuts->doublings = 0;
    nuts->diverged = nuts->left = false;
    nuts->status = PV_OK;
}

pv_status pv__nuts_transition(pv__nuts *nuts) {
    pv__tree *whole = &nuts->whole, *grown = &nuts->grown;
    start(nuts);
    bool going = true;
    while (going && nuts->doublings < nuts->depth) {
        int direction = pv_rng_uniform(&nuts->rng) > 0.5 ? 1 : -1;
        if (!grow(nuts, nuts->doublings, direction, grown))
            break;
        nuts->doublings++;
        if (log(pv_rng_uniform(&nuts->rng)) < grown->log_weight - whole->log_weight)
            copy_place(nuts->dims, &whole->proposal, &grown->proposal);
        whole->log_weight = pv__log_add(whole->log_weight, grown->log_weight);
        /* The whole tree is stored from backward to forward; going backward, it is reversed. */
        if (direction < 0)
            turn_round(whole);
        going = straight_together(nuts, whole, grown);
        memcpy(whole->last, grown->last, nuts->dims * sizeof(double));
        if (direction < 0)
            turn_round(whole);
        for (size_t i = 0; i < nuts->dims; i++)
            whole->sum[i] += grown->sum[i];
    }
    nuts->acceptance = nuts->accepted / (double)(nuts->steps ? nuts->steps : 1);
    if (nuts->status == PV_OK)
        copy_place(nuts->dims, &nuts->at, &whole->proposal);
    return nuts->status;
}
