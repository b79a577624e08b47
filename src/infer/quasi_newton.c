/* L-BFGS and OWL-QN.
 *
 * The direction is -H g, with H from the last PAIRS changes of u and g. The step length starts at 1 (the first step has
 * length 1 in u) and is multiplied by 2.1 or halved until it satisfies the strong Wolfe conditions, f(u + t d) <= f(u)
 * + 1e-4 t d.g, |d.g(u + t d)| <= 0.9 |d.g|.
 *
 * With a penalty rate |u_i|, g is the pseudo-gradient: the one-sided derivative of steepest descent, or 0. Entries of
 * the direction that point against it are set to 0, a step ends where a variable would change sign, and only the first
 * condition is required, with d.g replaced by the change of u times g. Pairs are those of the smooth part.
 */
#include "infer/quasi_newton.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 12, TRIES = 60 };
static const double shortest = 1e-20, longest = 1e20, sufficient = 1e-4, curvature = 0.9, lengthen = 2.1, halve = 0.5;

typedef struct run {
    const pv__quasi_newton *of;
    size_t n;
    double *u, *g, *d;        /* [n], current point, gradient, direction */
    double *steepest;         /* [n], pseudo-gradient; without a penalty the gradient */
    double *from, *from_g;    /* [n], last accepted point and its gradient */
    double *du, *dg;          /* [PAIRS][n] changes */
    double product[PAIRS];    /* du.dg */
    size_t pairs, next;       /* how many there are; index of the next one to overwrite */
    double value, from_value; /* including the penalty */
} run;

static double dot(size_t n, const double *a, const double *b) {
    double sum[4] = {0, 0, 0, 0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t l = 0; l < 4; l++)
            sum[l] += a[i + l] * b[i + l];
    for (; i < n; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void add(size_t n, double factor, const double *x, double *y) {
    for (size_t i = 0; i < n; i++)
        y[i] += factor * x[i];
}

static void evaluate(run *r) {
    const pv__quasi_newton *of = r->of;
    r->value = of->evaluate(of->state, r->u, r->g);
    for (size_t i = 0; of->rate > 0 && i < of->penalised; i++)
        r->value += of->rate * fabs(r->u[i]);
}

static void find_steepest(run *r) {
    double rate = r->of->rate;
    if (!(rate > 0))
        return; /* steepest equals g */
    memcpy(r->steepest, r->g, r->n * sizeof *r->g);
    for (size_t i = 0; i < r->of->penalised; i++) {
        double g = r->g[i], u = r->u[i];
        r->steepest[i] = u > 0 || (u == 0 && g < -rate) ? g + rate : u < 0 || (u == 0 && g > rate) ? g - rate : 0;
    }
}

static void remember(run *r) {
    double *du = r->du + r->next * r->n, *dg = r->dg + r->next * r->n;
    for (size_t i = 0; i < r->n; i++) {
        du[i] = r->u[i] - r->from[i];
        dg[i] = r->g[i] - r->from_g[i];
    }
    r->product[r->next] = dot(r->n, du, dg);
    r->next = (r->next + 1) % PAIRS;
    r->pairs += r->pairs < PAIRS;
}

static void find_direction(run *r) {
    size_t n = r->n, last = (r->next + PAIRS - 1) % PAIRS;
    double along[PAIRS] = {0};
    for (size_t i = 0; i < n; i++)
        r->d[i] = -r->steepest[i];
    for (size_t k = 0, at = last; k < r->pairs; k++, at = (at + PAIRS - 1) % PAIRS) {
        along[at] = dot(n, r->du + at * n, r->d) / r->product[at];
        add(n, -along[at], r->dg + at * n, r->d);
    }
    const double *dg = r->dg + last * n;
    double scale = r->pairs ? r->product[last] / dot(n, dg, dg) : 1;
    for (size_t i = 0; i < n; i++)
        r->d[i] *= scale;
    for (size_t k = 0, at = (r->next + PAIRS - r->pairs) % PAIRS; k < r->pairs; k++, at = (at + 1) % PAIRS)
        add(n, along[at] - dot(n, r->dg + at * n, r->d) / r->product[at], r->du + at * n, r->d);
    for (size_t i = 0; r->of->rate > 0 && i < r->of->penalised; i++)
        if (r->d[i] * r->steepest[i] >= 0)
            r->d[i] = 0;
}

/* Moves to u = from + step d; with a penalty, within the orthant of `from`. */
static void go(run *r, double step) {
    for (size_t i = 0; i < r->n; i++)
        r->u[i] = r->from[i] + step * r->d[i];
    for (size_t i = 0; r->of->rate > 0 && i < r->of->penalised; i++) {
        double side = r->from[i] == 0 ? -r->steepest[i] : r->from[i];
        if (r->u[i] * side <= 0)
            r->u[i] = 0;
    }
    evaluate(r);
}

/* The factor for the step length; 0: accept it. */
static double judge(const run *r, double step, double slope) {
    if (r->of->rate > 0) {
        double change = 0;
        for (size_t i = 0; i < r->n; i++)
            change += (r->u[i] - r->from[i]) * r->steepest[i];
        return r->value <= r->from_value + sufficient * change ? 0 : halve;
    }
    if (!(r->value <= r->from_value + sufficient * step * slope))
        return halve;
    double now = dot(r->n, r->g, r->d);
    return now < curvature * slope ? lengthen : now > -curvature * slope ? halve : 0;
}

/* Whether there is such a step; if not, the run returns to where it was. */
static bool search(run *r, double step) {
    memcpy(r->from, r->u, r->n * sizeof *r->u);
    memcpy(r->from_g, r->g, r->n * sizeof *r->g);
    r->from_value = r->value;
    double slope = dot(r->n, r->steepest, r->d);
    bool down = slope <= 0 || r->of->rate > 0;
    for (int tries = 0; down && tries < TRIES; tries++) {
        go(r, step);
        double factor = judge(r, step, slope);
        if (factor == 0)
            return true;
        if (step < shortest || step > longest)
            break;
        step *= factor;
    }
    memcpy(r->u, r->from, r->n * sizeof *r->u);
    memcpy(r->g, r->from_g, r->n * sizeof *r->g);
    r->value = r->from_value;
    return false;
}

static pv__quasi_newton_stop descend(run *r) {
    const pv__quasi_newton *of = r->of;
    double past[PV_QUASI_NEWTON_PAST];
    evaluate(r);
    find_steepest(r);
    find_direction(r);
    past[0] = r->value;
    double step = 1 / sqrt(dot(r->n, r->d, r->d));
    for (int64_t k = 1;; k++, step = 1) {
        if (!search(r, step))
            return PV_QUASI_NEWTON_STUCK;
        find_steepest(r);
        if (of->accepted(of->state, r->u, r->g, r->value, k))
            return PV_QUASI_NEWTON_TOLD;
        double *before = &past[k % PV_QUASI_NEWTON_PAST];
        if (k >= PV_QUASI_NEWTON_PAST && fabs(*before - r->value) < of->delta * fabs(r->value))
            return PV_QUASI_NEWTON_FLAT;
        *before = r->value;
        if (of->max_iter != 0 && k >= of->max_iter)
            return PV_QUASI_NEWTON_MAX_ITER;
        remember(r);
        find_direction(r);
    }
}

pv_status pv__quasi_newton_run(pv_ctx *ctx, const pv__quasi_newton *problem,
                               double *u, // NOLINT(readability-non-const-parameter): it is moved
                               double *value, pv__quasi_newton_stop *stop) {
    enum { VECTORS = 5 };
    size_t n = problem->n;
    double *block;
    PV_TRY(pv__alloc(ctx, n, (VECTORS + 2 * PAIRS) * sizeof *block, &block));
    run r = {.of = problem, .n = n, .u = u, .g = block, .d = block + n, .from = block + 2 * n, .from_g = block + 3 * n};
    r.steepest = problem->rate > 0 ? block + 4 * n : r.g;
    r.du = block + VECTORS * n;
    r.dg = r.du + PAIRS * n;
    *stop = descend(&r);
    *value = r.value;
    pv__free(ctx, block);
    return PV_OK;
}
