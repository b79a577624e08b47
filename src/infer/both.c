/* The weighted and the efficient estimate of a linear model, as two sides, with the sampling units and the uncertainty
 * of the prevalences (both.h). */
#include "infer/both.h"

#include <math.h>
#include <string.h>

#include "infer/adequacy.h"

static int32_t likeliest(const pv_targets *t, size_t n) {
    int32_t best = 0;
    for (int y = 1; y < t->classes; y++)
        if (pv__share(t, n, y) > pv__share(t, n, best))
            best = y;
    return best;
}

void pv__weigh_cells(const pv__problem *p, const double *mass, double *a) {
    const pv_stratified *of = pv__strata_of(p);
    size_t k = (size_t)p->targets.classes, cells = pv__ratio_sets(p) * k;
    double total = 0, curvature = 0, variance = 0;
    for (size_t i = 0; i < cells; i++)
        total += mass[i];
    for (size_t i = 0; i < cells; i++) {
        const double *pi = of ? of->prevalence + i / k * k : p->population.prevalence;
        double square = 0, own = pi[i % k];
        a[i] = (of ? of->share[i / k] : 1) * own * total / mass[i];
        for (size_t y = 0; y < k; y++)
            square += pi[y] * pi[y];
        curvature += mass[i] * a[i] * (1 - square);
        variance += mass[i] * a[i] * a[i] * (1 - 2 * own + square);
    }
    for (size_t i = 0; i < cells; i++)
        a[i] *= curvature / variance;
}

void pv__both_weigh(const pv__both *b, double *a) {
    const pv_stratified *of = pv__strata_of(b->problem);
    double *mass = of ? b->weighted.prevalence : b->problem->mass; /* an array that is not in use yet */
    if (of)
        pv__strata_mass(&b->problem->targets, of->strata, mass);
    pv__weigh_cells(b->problem, mass, a);
}

void pv__both_chances(pv__both *b) {
    const pv__problem *p = b->problem;
    const pv_stratified *of = pv__strata_of(p);
    for (size_t i = 0; i < b->cells; i++) {
        double n = of ? of->prevalence[i] * of->n[i / b->k] : p->population.prevalence[i] * p->population.prevalence_n;
        if (of && p->plan->options.subcohort > 0)
            n = b->units->people[i];
        b->chance[i] = isfinite(n) && n > 0 ? 1 / n : 0;
    }
}

bool pv__both_is_cohort(const pv__both *b) {
    return pv__strata_of(b->problem) &&
           (b->problem->plan->options.phase_one || b->problem->plan->options.subcohort > 0);
}

void pv__both_tie(const pv__both *b, double *D) {
    const pv__problem *p = b->problem;
    const pv_stratified *of = pv__strata_of(p);
    if (pv__both_is_cohort(b))
        return;
    for (size_t first = 0; first < b->cells; first += b->k)
        for (size_t c = 0; c < b->P; c++) {
            const double *pi = of ? of->prevalence + first : p->population.prevalence;
            double sum = 0;
            for (size_t y = 0; y < b->k; y++)
                sum += D[(first + y) * b->P + c];
            for (size_t y = 0; y < b->k; y++)
                D[(first + y) * b->P + c] -= pi[y] * sum;
        }
}

/* A column's mean over its standard deviation: the part of the intercept on the table's scale that is due to its
 * slope. */
static void find_shifts(const pv_schema *schema, double *shift) {
    for (size_t s = schema->offset; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        *shift = source->type == PV_COLUMN_NUMBER ? source->mean / source->sd : 0;
        shift += pv_source_width(source);
    }
}

/* If n people were drawn from the N of a cell of a cohort, the variance of a total over both phases is the sum over
 * cells of N(N-1)/n s^2 + N mean^2, with s^2 divided by n-1, as in survey::twophase. The sums of squares contain N^2/n
 * s^2, and the part due to the prevalences is N mean^2. */
static void find_scales(pv__both *b) {
    const pv_stratified *of = pv__strata_of(b->problem);
    for (size_t i = 0; i < b->cells; i++) {
        double n = of->prevalence[i] * of->n[i / b->k];
        b->scale[i] = n > 1 ? (n - 1) / n : 1;
    }
}

static pv_status make_units(pv__both *b, bool kinds) {
    const pv__problem *p = b->problem;
    const pv_targets *t = &p->targets;
    PV_TRY(pv__alloc(b->ctx, t->n, sizeof *b->cell, &b->cell));
    for (size_t i = 0; kinds && i < t->n; i++)
        b->cell[i] = (t->stratum ? t->stratum[i] * (int32_t)b->k : 0) + likeliest(t, i);
    if (kinds && pv__strata_of(p) && p->plan->options.phase_one) {
        PV_TRY(pv__alloc(b->ctx, b->cells, sizeof *b->scale, &b->scale));
        find_scales(b);
    }
    if (p->counted) {
        PV_TRY(pv__alloc(b->ctx, t->n, sizeof *b->people, &b->people));
        for (size_t i = 0; i < t->n; i++)
            b->people[i] = p->design->sampling && p->counted[i] > 0 ? 1 : p->counted[i];
    }
    const pv__units_design design = {.rows = t->n,
                                     .cells = kinds ? b->cells : 1,
                                     .cells_per_stratum = kinds ? b->k : 1,
                                     .cell = kinds ? b->cell : NULL,
                                     .people = b->people,
                                     .cluster = p->design->cluster,
                                     .survey = p->design->block,
                                     .scale = b->scale,
                                     .shared = p->shared};
    PV_TRY(pv__units_new(b->ctx, &design, &b->units));
    bool one = (p->design->cluster || p->design->block) && b->units->units < 2;
    return one ? pv__fail(b->ctx, PV_ERR_INPUT, "all rows are in one `cluster`: standard errors need several clusters")
               : PV_OK;
}

pv_status pv__both_new(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, bool kinds, size_t parts,
                       pv__both *b) {
    size_t k = (size_t)problem->targets.classes, P = pv_model_params(problem->model);
    *b = (pv__both){.ctx = ctx, .problem = problem, .k = k, .J = k - 1, .P = P, .size = P / (k - 1), .parts = parts};
    b->cells = pv__ratio_sets(problem) * k;
    PV_TRY(make_units(b, kinds));
    size_t means = b->units->design.cells * 2 * P;
    PV_TRY(pv__alloc(ctx, b->cells + 2 * b->size + 2 * parts * P * P + 2 * P + means, sizeof *b->block, &b->block));
    b->chance = b->block;
    b->shift = b->chance + b->cells;
    b->tail = b->shift + b->size;
    b->square = b->tail + b->size;
    b->sums.square = b->square + parts * P * P;
    b->second = b->sums.square + parts * P * P;
    b->fourth = b->second + P;
    b->sums.mean = b->fourth + P;
    find_shifts(schema, b->shift);
    PV_TRY(pv__side_new(ctx, problem, b->people, &b->weighted));
    return parts > 1 ? pv__side_new(ctx, problem, b->people, &b->efficient) : PV_OK;
}

void pv__both_free(pv__both *b) {
    pv__side_free(b->ctx, &b->weighted);
    pv__side_free(b->ctx, &b->efficient);
    pv__units_free(b->ctx, b->units);
    pv__free(b->ctx, b->cell);
    pv__free(b->ctx, b->people);
    pv__free(b->ctx, b->scale);
    pv__free(b->ctx, b->block);
}

/* Rows of the sides, and their log-likelihoods at another w where that is not NULL. */
typedef struct looking {
    const pv__side *side;
    const double *w;
    double *loglik;
    size_t first; /* row, of ranges */
} looking;

static const double *rows_of(void *state, size_t slot, size_t begin, size_t n) {
    const looking *l = state;
    return pv__side_rows_at(l->side, slot, begin, n, l->w, l->loglik);
}

static void look_at(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const looking *l = state;
    (void)pv__side_rows_at(l->side, slot, l->first + begin, n, l->w, l->loglik);
    sums[0] += (double)n;
}

/* In the blocks that a pass over all rows has, so that rounding is the same. */
static pv_status look_at_range(const pv__both *b, looking *l, size_t begin, size_t end) {
    double rows;
    size_t n = b->problem->targets.n;
    end = (end + PV__ROW_BLOCK - 1) / PV__ROW_BLOCK * PV__ROW_BLOCK;
    end = end < n ? end : n;
    l->first = begin / PV__ROW_BLOCK * PV__ROW_BLOCK;
    return pv__sum_rows(b->ctx, end - l->first, false, 1, look_at, l, &rows);
}

static pv__scores scores_of(const pv__both *b, looking *l) {
    return (pv__scores){.parts = b->parts > 1 ? 2 : 1,
                        .logits = b->J,
                        .size = b->size,
                        .residual = {b->weighted.residual, b->efficient.residual},
                        .x = rows_of,
                        .state = l,
                        .like = b->like};
}

/* What is summed next to the corrections: squares of the residuals, where units are rows, and what tails are of. */
typedef struct going_along {
    pv__both *b;
    pv__unit_squares *squares; /* NULL: clusters, whose leverage comes first */
} going_along;

static void add_along(void *state, size_t slot, size_t begin, const pv__block *block, double *sums) {
    const going_along *with = state;
    pv__tails_add(&with->b->weighted, begin, block, sums);
    if (with->squares)
        pv__unit_squares_add(with->squares, slot, begin, block->n, block->plain,
                             sums + pv__tails_width(&with->b->weighted));
}

pv_status pv__both_fit(pv__both *b, const double *efficient, const double *weighted, bool *found) {
    going_along with = {.b = b};
    const pv__scores scores = scores_of(b, NULL); /* rows come by add_along */
    bool rows = !b->units->of;
    pv__sides sides = {.side = {&b->weighted}, .count = 1, .also = add_along, .state = &with, .own = b->own && rows};
    double *sums = NULL;
    pv_status status;
    *found = false;
    memcpy(b->weighted.w, weighted, b->P * sizeof *weighted);
    if (b->parts > 1)
        memcpy(b->efficient.w, efficient, b->P * sizeof *efficient);
    if (b->parts > 1)
        sides = (pv__sides){.side = {&b->efficient, &b->weighted},
                            .count = 2,
                            .also = add_along,
                            .state = &with,
                            .own = b->own && rows};
    sides.extra = pv__tails_width(&b->weighted);
    if (rows) {
        PV_GOTO(done, pv__unit_squares_new(b->ctx, b->units, &scores, &with.squares));
        sides.extra += pv__unit_squares_width(with.squares);
    }
    b->like = sides.own ? pv__sides_width(&sides) : 0;
    PV_GOTO(done, pv__alloc(b->ctx, sides.extra, sizeof *sums, &sums));
    PV_GOTO(done, pv__sides_settle(b->ctx, &sides));
    *found = b->weighted.converged && (b->parts == 1 || b->efficient.converged);
    if (!*found)
        goto done;
    PV_GOTO(done, pv__sides_correct(b->ctx, &sides, sums));
    pv__tails_take(&b->weighted, sums, b->tail);
    if (rows)
        pv__unit_squares_take(with.squares, sums + pv__tails_width(&b->weighted), &b->sums);
    for (size_t i = 0; i < sides.count; i++)
        PV_GOTO(done, pv__side_lever_units(b->ctx, sides.side[i], b->units));
    for (size_t i = 0; i < sides.count; i++)
        pv__both_tie(b, sides.side[i]->prevalence);
done:
    pv__unit_squares_free(b->ctx, with.squares);
    pv__free(b->ctx, sums);
    return status;
}

/* to [P][P] = left M right, both symmetric; room [P][P] */
static void between(size_t P, const double *left, const double *M, const double *right, double *room, double *to) {
    pv__compute_best()->matmul(P, P, P, M, P, 1, right, room, false);
    pv__compute_best()->matmul(P, P, P, left, P, 1, room, to, false);
}

/* H_w^-1 with the intercepts' rows on the scale of the table. */
static void make_contrasts(const pv__both *b, double *map) {
    size_t P = b->P;
    memcpy(map, b->weighted.inverse, P * P * sizeof *map);
    for (size_t i = 0; i < P; i += b->size)
        for (size_t j = 1; j < b->size; j++)
            for (size_t c = 0; c < P; c++)
                map[i * P + c] -= b->shift[j - 1] * b->weighted.inverse[(i + j) * P + c];
}

/* second [P]: the variances of the contrasts, map S map^T. */
static void find_second(const pv__both *b, const double *map, double *room) {
    size_t P = b->P;
    pv__compute_best()->matmul(P, P, P, map, P, 1, b->sums.square, room, false);
    for (size_t i = 0; i < P; i++) {
        b->second[i] = 0;
        for (size_t j = 0; j < P; j++)
            b->second[i] += room[i * P + j] * map[i * P + j];
    }
}

pv_status pv__both_sum(pv__both *b) {
    size_t P = b->P;
    double *room;
    looking l = {.side = &b->weighted};
    const pv__scores scores = scores_of(b, &l);
    if (b->units->of)
        PV_TRY(pv__units_sum(b->ctx, b->units, &scores, &b->sums));
    PV_TRY(pv__alloc(b->ctx, P, P * sizeof *room, &room));
    for (size_t pair = 0; pair < b->parts; pair++)
        between(P, pair > 0 ? b->efficient.inverse : b->weighted.inverse, b->sums.square + pair * P * P,
                pair == 1 ? b->efficient.inverse : b->weighted.inverse, room, b->square + pair * P * P);
    for (size_t i = 0; b->parts > 1 && i < P; i++) /* V_d = V_r + V_e - V_er - V_er^T */
        for (size_t j = 0; j <= i; j++) {
            double *own = b->square + 2 * P * P, *other = own + j * P + i;
            double apart = b->square[i * P + j] + b->square[P * P + i * P + j] - own[i * P + j] - *other;
            own[i * P + j] = *other = apart;
        }
    pv__free(b->ctx, room);
    return PV_OK;
}

pv_status pv__both_moments(pv__both *b, const double *w,
                           double *loglik) { // NOLINT(readability-non-const-parameter): it is filled
    size_t P = b->P, begin, end;
    looking l = {.side = &b->weighted, .w = w, .loglik = loglik};
    const pv__scores scores = scores_of(b, &l);
    bool apart = w && !b->units->of && pv__shares(b->ctx); /* other rows than those whose moments are a rank's */
    double *room, *map, *form;
    PV_TRY(pv__alloc(b->ctx, 3 * P, P * sizeof *room, &room));
    map = room + P * P;
    form = map + P * P;
    make_contrasts(b, map);
    find_second(b, map, room);
    memcpy(room, b->sums.square, P * P * sizeof *room);
    bool regular = pv__cholesky(P, room, 1e-12); /* if singular, risks have no directions with variance */
    if (regular)
        pv__factor_invert(P, room, form);
    l.w = apart ? NULL : w;
    pv_status status = pv__units_moments(b->ctx, b->units, &scores, &b->sums, map, form, b->fourth, &b->spread);
    b->spread = regular ? b->spread : (double)NAN;
    pv__free(b->ctx, room);
    pv__match_rows(b->ctx, b->problem, &begin, &end);
    l.w = w;
    return status == PV_OK && apart && begin < end ? look_at_range(b, &l, begin, end) : status;
}
