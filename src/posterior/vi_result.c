/* Results of a fitted mixture: the bound from new points, and draws.
 *
 * If some points have density 0, the bound is that of the mixture restricted to the others, which is again a bound of
 * the log evidence: E_q'[log p - log q] + log Z with q' = q/Z on the support. Stratified: Z = sum_k pi_k Z_k.
 */
#include <math.h>
#include <string.h>

#include "posterior/vi.h"

/* Gives a standard error of 0.002 if the mixture fits to 0.01. A network's mean field fits far worse and takes long per
 * point, so more points would add nothing. */
enum { BOUND_POINTS = 4096, MANY_DIMS = 1001, FEWER_POINTS = 256 };

/* log p - log q over the points of one component, as means of pairs of opposite points. */
typedef struct stratum {
    double points, inside, pairs; /* number drawn; number with positive density; pairs with at least one of these */
    double mean, squares;         /* of the pairs: mean, sum of squared deviations */
    double top, sum, sum2;        /* importance weights p/q: their sum and that of their squares, divided by exp(top) */
} stratum;

static void count_weight(stratum *s, double log_weight) {
    if (log_weight > s->top) {
        double shrink = exp(s->top - log_weight);
        s->sum *= shrink;
        s->sum2 *= shrink * shrink;
        s->top = log_weight;
    }
    if (log_weight > -INFINITY) {
        double weight = exp(log_weight - s->top);
        s->sum += weight;
        s->sum2 += weight * weight;
    }
}

typedef struct bound {
    double *block, *eps, *u, *buffer, *scratch, *log_q, *log_p, *gradient;
} bound;

static pv_status bound_new(pv_ctx *ctx, const pv__vi_mix *mix, bound *b) {
    size_t d = mix->dims, points = PV_VI_CHUNK, buffer = pv__vi_normals_buffer(d, points);
    size_t scratch = pv__vi_scratch(mix);
    PV_TRY(pv__alloc(ctx, 3 * d * points + 2 * points + buffer + scratch, sizeof(double), &b->block));
    b->eps = b->block;
    b->u = b->eps + d * points;
    b->gradient = b->u + d * points;
    b->log_q = b->gradient + d * points;
    b->log_p = b->log_q + points;
    b->buffer = b->log_p + points;
    b->scratch = b->buffer + buffer;
    return PV_OK;
}

static void count_pair(stratum *s, double one, double other) {
    int inside = (one > -INFINITY) + (other > -INFINITY);
    s->points += 2;
    s->inside += inside;
    count_weight(s, one);
    count_weight(s, other);
    if (!inside)
        return;
    double value = inside == 2 ? 0.5 * (one + other) : fmax(one, other), step = value - s->mean;
    s->pairs++;
    s->mean += step / s->pairs;
    s->squares += step * (value - s->mean);
}

static pv_status sample_component(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, size_t k, pv_rng *rng,
                                  size_t chunks, bound *b, stratum *s) {
    const pv__vi_kernels *kernels = pv__vi_kernels_get();
    enum { POINTS = PV_VI_CHUNK };
    for (size_t c = 0; c < chunks && (c == 0 || !pv__interrupted(ctx)); c++) {
        pv__vi_normals(kernels, rng, mix->dims, POINTS, POINTS, b->buffer, b->eps);
        kernels->place(mix, k, POINTS, POINTS, b->eps, b->u);
        PV_TRY(pv__vi_target_eval(ctx, target, true, 1, POINTS, POINTS, b->u, b->log_p, b->gradient));
        kernels->density(mix, POINTS, POINTS, b->u, b->scratch, b->log_q, b->gradient);
        for (size_t p = 0; p < POINTS / 2; p++)
            count_pair(s, b->log_p[p] - b->log_q[p], b->log_p[p + POINTS / 2] - b->log_q[p + POINTS / 2]);
    }
    return PV_OK;
}

/* The evidence from the importance weights of all strata: log sum_k pi_k mean_k(p/q). */
static void weigh(size_t components, const double *weight, const stratum *strata, pv__vi_value *value) {
    double top = -INFINITY, sum = 0, variance = 0, total = 0, squares = 0;
    for (size_t k = 0; k < components; k++)
        top = fmax(top, strata[k].points > 0 ? strata[k].top : -INFINITY);
    for (size_t k = 0; k < components && top > -INFINITY; k++) {
        const stratum *s = &strata[k];
        if (!(s->points > 0))
            continue;
        double scale = exp(s->top - top), share = weight[k] / s->points, mean = scale * s->sum / s->points;
        sum += weight[k] * mean;
        variance += share * share * fmax(scale * scale * s->sum2 - s->points * mean * mean, 0);
        total += scale * s->sum;
        squares += scale * scale * s->sum2;
    }
    value->evidence = sum > 0 ? top + log(sum) : -INFINITY;
    value->evidence_se = sum > 0 ? sqrt(variance) / sum : (double)NAN;
    value->effective = squares > 0 ? total * total / squares : 0;
}

static pv_status sample_all(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, uint64_t seed, size_t points,
                            const double *weight, bound *b, stratum *strata) {
    double asked = points ? (double)points : pv__vi_target_dims(target) > MANY_DIMS ? FEWER_POINTS : BOUND_POINTS;
    for (size_t k = 0; k < mix->components; k++) {
        strata[k].top = -INFINITY;
        if (k > 0 && pv__interrupted(ctx))
            continue;
        size_t chunks = (size_t)ceil(weight[k] * asked / PV_VI_CHUNK);
        pv_rng rng = pv_rng_stream(seed, PV_STREAM_VI_BOUND, k);
        PV_TRY(sample_component(ctx, target, mix, k, &rng, chunks, b, &strata[k]));
    }
    return PV_OK;
}

/* Ignores components without points after an interruption. */
pv_status pv__vi_bound(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, uint64_t seed, size_t points,
                       pv__vi_value *value) {
    bound b = {0};
    size_t components = mix->components;
    double *weight = NULL, support = 0, sum = 0, variance = 0, all = 0;
    stratum *strata = NULL;
    bool whole = true;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, components, sizeof *weight, &weight));
    PV_GOTO(done, pv__alloc(ctx, components, sizeof *strata, &strata));
    PV_GOTO(done, bound_new(ctx, mix, &b));
    for (size_t k = 0; k < components; k++)
        weight[k] = exp(mix->log_weight[k]);
    PV_GOTO(done, sample_all(ctx, target, mix, seed, points, weight, &b, strata));
    for (size_t k = 0; k < components; k++) {
        const stratum *s = &strata[k];
        double inside = s->points > 0 ? weight[k] * s->inside / s->points : 0;
        whole = whole && s->inside == s->points;
        all += s->points > 0 ? weight[k] : 0;
        support += inside;
        sum += inside * s->mean;
        if (s->pairs > 1)
            variance += inside * inside * s->squares / (s->pairs - 1) / s->pairs;
    }
    value->support = whole ? 1 : support / all;
    value->elbo = support > 0 ? sum / support + (whole ? 0 : log(value->support)) : -INFINITY;
    value->se = support > 0 ? sqrt(variance) / support : (double)NAN;
    weigh(components, weight, strata, value);
done:
    pv__free(ctx, b.block);
    pv__free(ctx, weight);
    pv__free(ctx, strata);
    return status;
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

/* Number of normals per draw: for the mixture and, with a slice, for all coordinates, which are then projected. */
static size_t normals_of(const pv__vi_target *target, const pv__vi_mix *mix) {
    size_t all = pv__vi_target_dims(target);
    return mix->dims + (mix->dims < all ? all : 0);
}

/* n standard normals, one from each of n intervals of equal probability, in random order. */
static void stratified_normals(pv_rng *rng, size_t n, size_t *order, double *eps) {
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    pv_rng_shuffle(rng, n, order);
    for (size_t i = 0; i < n; i++)
        eps[i] = pv_normal_quantile(((double)order[i] + pv_rng_uniform(rng)) / (double)n);
}

/* n draws of component k, to draws[row[0 .. n-1]]; eps [normals_of][n], u [normals_of]. Each coordinate is stratified
 * (a Latin hypercube), so means over draws are closer to the mixture's than with independent draws. */
static void draw_component(pv__vi_target *target, const pv__vi_mix *mix, size_t k, size_t n, const size_t *row,
                           const double *eps, double *u, double *draws) {
    size_t d = mix->dims, all = pv__vi_target_dims(target);
    const double *c = mix->factor + k * mix->size;
    double *rest = u + d;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < d; j++) {
            u[j] = mix->mean[k * d + j];
            if (mix->diagonal)
                u[j] += c[j] * eps[j * n + i];
            for (size_t l = 0; !mix->diagonal && l <= j; l++)
                u[j] += c[j * d + l] * eps[l * n + i];
        }
        for (size_t j = 0; d < all && j < all; j++)
            rest[j] = eps[(d + j) * n + i];
        pv__vi_target_point(target, u, rest, draws + row[i] * all);
    }
}

/* One draw of the mixture, independent of others; room [2][normals_of]. */
static void draw_one(pv__vi_target *target, const pv__vi_mix *mix, pv_rng *rng, double *room, double *draw) {
    double at = pv_rng_uniform(rng);
    size_t k = 0, row = 0;
    for (; k + 1 < mix->components && (at -= exp(mix->log_weight[k])) > 0; k++)
        ;
    size_t normals = normals_of(target, mix);
    for (size_t j = 0; j < normals; j++)
        room[j] = pv_rng_normal(rng);
    draw_component(target, mix, k, 1, &row, room, room + normals, draw);
}

/* Redraws the draws outside the support, up to a limit. */
static pv_status redraw(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, uint64_t seed, size_t count,
                        double *draws) {
    enum { ROUNDS = 100 };
    size_t d = pv__vi_target_dims(target), outside = count;
    bool *inside = NULL;
    double *room = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, count, sizeof *inside, &inside));
    PV_GOTO(done, pv__alloc(ctx, 2 * normals_of(target, mix), sizeof *room, &room));
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_VI_DRAWS, UINT64_MAX);
    for (int round = 0; round < ROUNDS && outside > 0 && !pv__interrupted(ctx); round++) {
        PV_GOTO(done, pv__vi_target_inside(ctx, target, count, draws, inside));
        outside = 0;
        for (size_t i = 0; i < count; i++)
            if (!inside[i]) {
                outside++;
                draw_one(target, mix, &rng, room, draws + i * d);
            }
    }
    if (outside > 0)
        pv__log(ctx, PV_LOG_WARNING, "some draws are where the density is zero");
done:
    pv__free(ctx, inside);
    pv__free(ctx, room);
    return status;
}

/* Each component gets its share of the draws, rounded; their order is random, so any subset of them is a sample.
 */
pv_status pv__vi_draws(pv_ctx *ctx, pv__vi_target *target, const pv__vi_mix *mix, uint64_t seed, bool whole,
                       size_t count, double *draws) {
    size_t normals = normals_of(target, mix), *row = NULL, *order = NULL;
    double *eps = NULL, *u = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, count, sizeof *row, &row));
    PV_GOTO(done, pv__alloc(ctx, count, sizeof *order, &order));
    PV_GOTO(done, pv__alloc(ctx, count, normals * sizeof *eps, &eps));
    PV_GOTO(done, pv__alloc(ctx, normals, sizeof *u, &u));
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_VI_DRAWS, 0);
    for (size_t i = 0; i < count; i++)
        row[i] = i;
    pv_rng_shuffle(&rng, count, row);
    double offset = pv_rng_uniform(&rng), up_to = 0;
    for (size_t k = 0, first = 0; k < mix->components; k++) {
        up_to += exp(mix->log_weight[k]) * (double)count;
        size_t end = first;
        while (end < count && (k + 1 == mix->components || (double)end + offset < up_to))
            end++;
        pv_rng own = pv_rng_stream(seed, PV_STREAM_VI_DRAWS, k + 1);
        for (size_t j = 0; j < normals; j++)
            stratified_normals(&own, end - first, order, eps + j * (end - first));
        draw_component(target, mix, k, end - first, row + first, eps, u, draws);
        first = end;
    }
    if (!whole)
        status = redraw(ctx, target, mix, seed, count, draws);
done:
    pv__free(ctx, row);
    pv__free(ctx, order);
    pv__free(ctx, eps);
    pv__free(ctx, u);
    return status;
}
