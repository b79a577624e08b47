/* The combination of the efficient and the weighted estimate (docs/method.md, section 15).
 *
 * The weighted estimate b_r is the best linear predictor of the population, whatever the shape of the risk; the
 * efficient one, b_e, is better where the linear model is right, and tends to another limit where it is not. With their
 * influences by unit, U_r and U_e, and d = b_e - b_r,
 *
 *   interval   of c^T b: c^T b_r -+ t_nu sqrt(c^T V_r c), V_r = sum U_r U_r^T, nu = 2 / (sum G^4 / (sum G^2)^2 - 1/n),
 *              G = U_r c
 *   point      by term B: b_B = b_r,B + min(1, k_B / Q_B) d_B, Q_B = d_B^T V_d,BB^-1 d_B, k_B its rank,
 *              V_d = sum (U_e - U_r)(U_e - U_r)^T; the intercepts then solve sum a (y - p) = 0
 *   test       Hausman's: d^T V_d^-1 d over all slopes is chi-square where the linear model is right
 *
 * Both estimates are bias-reduced, but by no more than one standard error of any coefficient. Where prevalences were
 * counted, their variance is added to V_r and V_d. With a sample of the population the weighted estimate has control
 * variates (controls.c) and is better than the efficient one, which then counts for the test alone.
 *
 * Where the rows chose the prior's scale s, of precision S = I/s^2 on the slopes, V_r gets H^-1 S H^-1, which is what
 * the prior may have drawn slopes to 0 by, and what the choice leaves uncertain (pv__add_scale).
 */
#include "infer/combined.h"

#include <math.h>
#include <string.h>

#include "infer/adequacy.h"
#include "infer/controls.h"

/* ---- the two estimates ------------------------------------------------------------------------------------------- */

typedef struct both {
    pv_ctx *ctx;
    const pv__problem *problem;
    size_t k, J, size, P, cells, parts; /* parts: 1, or 3 */
    pv__side weighted, efficient;
    pv__units *units;
    int32_t *cell;
    double *people;          /* [n]; NULL: 1 each */
    double *chance;          /* [cells], the variance of log pi of each; 0: known */
    double *scale;           /* [cells], of a cohort: see find_scales */
    double *shift;           /* [size - 1], what an intercept on the table's scale takes off for each slope */
    pv__unit_sums sums;      /* of the scores */
    double *square;          /* [parts][P][P], of the influences: weighted; efficient; their difference */
    double *second, *fourth; /* [P], of the contrasts of the weighted influences */
    double spread;
    double *block;
} both;

static int32_t likeliest(const pv_targets *t, size_t n) {
    int32_t best = 0;
    for (int y = 1; y < t->classes; y++)
        if (pv__share(t, n, y) > pv__share(t, n, best))
            best = y;
    return best;
}

/* Weights of labels such that curvature equals variance of the score in a model of the prevalences alone: a prior has
 * then as much to say beside the weighted rows as beside the efficient estimate's. */
static void weigh_cells(const both *b, double *a) {
    const pv__problem *p = b->problem;
    const pv_stratified *of = p->stratified;
    size_t k = b->k;
    double total = 0, curvature = 0, variance = 0;
    const double *mass = of ? b->weighted.prevalence : p->mass; /* room that is not used yet */
    if (of)
        pv__strata_mass(&p->targets, of->strata, b->weighted.prevalence);
    for (size_t i = 0; i < b->cells; i++)
        total += mass[i];
    for (size_t i = 0; i < b->cells; i++) {
        const double *pi = of ? of->prevalence + i / k * k : p->population.prevalence;
        double square = 0, own = pi[i % k];
        a[i] = (of ? of->share[i / k] : 1) * own * total / mass[i];
        for (size_t y = 0; y < k; y++)
            square += pi[y] * pi[y];
        curvature += mass[i] * a[i] * (1 - square);
        variance += mass[i] * a[i] * a[i] * (1 - 2 * own + square);
    }
    for (size_t i = 0; i < b->cells; i++)
        a[i] *= curvature / variance;
}

/* How uncertain the prevalences are. */
static void find_chances(both *b) {
    const pv__problem *p = b->problem;
    const pv_stratified *of = p->stratified;
    for (size_t i = 0; i < b->cells; i++) {
        double n = of ? of->prevalence[i] * of->n[i / b->k] : p->population.prevalence[i] * p->population.prevalence_n;
        if (of && p->options->subcohort > 0)
            n = b->units->people[i];
        b->chance[i] = isfinite(n) && n > 0 ? 1 / n : 0;
    }
}

/* Whether people were counted by label and stratum. */
static bool is_cohort(const both *b) {
    return b->problem->stratified && (b->problem->options->phase_one || b->problem->options->subcohort > 0);
}

/* Prevalences that add up: of a derivative by log pi_y without the others, what moves all labels alike is taken off.
 * The people of a cohort are counted, and its strata's shares with them. */
static void tie_prevalences(const both *b, double *D) {
    const pv__problem *p = b->problem;
    const pv_stratified *of = p->stratified;
    if (is_cohort(b))
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

/* A column's mean over its standard deviation: what the intercept on the table's scale has for its slope. */
static void find_shifts(const pv_schema *schema, double *shift) {
    for (size_t s = schema->offset; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        *shift = source->type == PV_COLUMN_NUMBER ? source->mean / source->sd : 0;
        shift += pv_source_width(source);
    }
}

/* Of n people drawn from the N of a cell of a cohort, the variance of a total that both phases leave is the sum over
 * cells of N(N-1)/n s^2 + N mean^2, s^2 with n-1, as survey::twophase has it. The sums of squares have N^2/n s^2, and
 * the prevalences' part is N mean^2. */
static void find_scales(both *b) {
    const pv_stratified *of = b->problem->stratified;
    for (size_t i = 0; i < b->cells; i++) {
        double n = of->prevalence[i] * of->n[i / b->k];
        b->scale[i] = n > 1 ? (n - 1) / n : 1;
    }
}

static pv_status make_units(both *b, bool kinds) {
    const pv__problem *p = b->problem;
    const pv_targets *t = &p->targets;
    PV_TRY(pv__alloc(b->ctx, t->n, sizeof *b->cell, &b->cell));
    for (size_t i = 0; kinds && i < t->n; i++)
        b->cell[i] = (t->stratum ? t->stratum[i] * (int32_t)b->k : 0) + likeliest(t, i);
    if (kinds && p->stratified && p->options->phase_one) {
        PV_TRY(pv__alloc(b->ctx, b->cells, sizeof *b->scale, &b->scale));
        find_scales(b);
    }
    if (p->counted) {
        PV_TRY(pv__alloc(b->ctx, t->n, sizeof *b->people, &b->people));
        for (size_t i = 0; i < t->n; i++)
            b->people[i] = p->sampling && p->counted[i] > 0 ? 1 : p->counted[i];
    }
    const pv__units_design design = {.rows = t->n,
                                     .cells = kinds ? b->cells : 1,
                                     .cells_per_stratum = kinds ? b->k : 1,
                                     .cell = kinds ? b->cell : NULL,
                                     .people = b->people,
                                     .cluster = p->cluster,
                                     .survey = p->survey,
                                     .scale = b->scale,
                                     .shared = p->shared};
    PV_TRY(pv__units_new(b->ctx, &design, &b->units));
    bool one = (p->cluster || p->survey) && b->units->units < 2;
    return one ? pv__fail(b->ctx, PV_ERR_INPUT, "all rows are in one `cluster`: standard errors need several") : PV_OK;
}

static pv_status both_new(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, bool kinds, size_t parts,
                          both *b) {
    size_t k = (size_t)problem->targets.classes, P = pv_model_params(problem->model);
    *b = (both){.ctx = ctx, .problem = problem, .k = k, .J = k - 1, .P = P, .size = P / (k - 1), .parts = parts};
    b->cells = pv__ratio_sets(problem) * k;
    PV_TRY(make_units(b, kinds));
    size_t means = b->units->design.cells * 2 * P;
    PV_TRY(pv__alloc(ctx, b->cells + b->size + 2 * parts * P * P + 2 * P + means, sizeof *b->block, &b->block));
    b->chance = b->block;
    b->shift = b->chance + b->cells;
    b->square = b->shift + b->size;
    b->sums.square = b->square + parts * P * P;
    b->second = b->sums.square + parts * P * P;
    b->fourth = b->second + P;
    b->sums.mean = b->fourth + P;
    find_shifts(schema, b->shift);
    PV_TRY(pv__side_new(ctx, problem, b->people, &b->weighted));
    return parts > 1 ? pv__side_new(ctx, problem, b->people, &b->efficient) : PV_OK;
}

static void both_free(both *b) {
    pv__side_free(b->ctx, &b->weighted);
    pv__side_free(b->ctx, &b->efficient);
    pv__units_free(b->ctx, b->units);
    pv__free(b->ctx, b->cell);
    pv__free(b->ctx, b->people);
    pv__free(b->ctx, b->scale);
    pv__free(b->ctx, b->block);
}

static const double *rows_of(void *state, size_t slot, size_t begin, size_t n) {
    return pv__side_rows(state, slot, begin, n);
}

static pv__scores scores_of(both *b) {
    return (pv__scores){.parts = b->parts > 1 ? 2 : 1,
                        .logits = b->J,
                        .size = b->size,
                        .residual = {b->weighted.residual, b->efficient.residual},
                        .x = rows_of,
                        .state = &b->weighted};
}

/* to [P][P] = left M right, both symmetric; room [P][P] */
static void between(size_t P, const double *left, const double *M, const double *right, double *room, double *to) {
    pv__compute_best()->matmul(P, P, P, M, P, 1, right, room, false);
    pv__compute_best()->matmul(P, P, P, left, P, 1, room, to, false);
}

/* H_w^-1 with the rows of the intercepts on the table's scale. */
static void make_contrasts(const both *b, double *map) {
    size_t P = b->P;
    memcpy(map, b->weighted.inverse, P * P * sizeof *map);
    for (size_t i = 0; i < P; i += b->size)
        for (size_t j = 1; j < b->size; j++)
            for (size_t c = 0; c < P; c++)
                map[i * P + c] -= b->shift[j - 1] * b->weighted.inverse[(i + j) * P + c];
}

/* second [P]: the variances of the contrasts, map S map^T. */
static void find_second(const both *b, const double *map, double *room) {
    size_t P = b->P;
    pv__compute_best()->matmul(P, P, P, map, P, 1, b->sums.square, room, false);
    for (size_t i = 0; i < P; i++) {
        b->second[i] = 0;
        for (size_t j = 0; j < P; j++)
            b->second[i] += room[i * P + j] * map[i * P + j];
    }
}

/* Squares of the influences H^-1 S of what was sampled together, and the moments of the weighted ones. */
static pv_status sum_influences(both *b) {
    size_t P = b->P;
    const pv__scores scores = scores_of(b);
    double *room, *map, *form;
    PV_TRY(pv__units_sum(b->ctx, b->units, &scores, &b->sums));
    PV_TRY(pv__alloc(b->ctx, 3 * P, P * sizeof *room, &room));
    map = room + P * P;
    form = map + P * P;
    for (size_t pair = 0; pair < b->parts; pair++)
        between(P, pair > 0 ? b->efficient.inverse : b->weighted.inverse, b->sums.square + pair * P * P,
                pair == 1 ? b->efficient.inverse : b->weighted.inverse, room, b->square + pair * P * P);
    for (size_t i = 0; b->parts > 1 && i < P; i++) /* V_d = V_r + V_e - V_er - V_er^T */
        for (size_t j = 0; j <= i; j++) {
            double *own = b->square + 2 * P * P, *other = own + j * P + i;
            double apart = b->square[i * P + j] + b->square[P * P + i * P + j] - own[i * P + j] - *other;
            own[i * P + j] = *other = apart;
        }
    make_contrasts(b, map);
    find_second(b, map, room);
    memcpy(room, b->sums.square, P * P * sizeof *room);
    bool regular = pv__cholesky(P, room, 1e-12); /* without it no direction of a risk has a spread */
    if (regular)
        pv__factor_invert(P, room, form);
    pv_status status = pv__units_moments(b->ctx, b->units, &scores, &b->sums, map, form, b->fourth, &b->spread);
    b->spread = regular ? b->spread : (double)NAN;
    pv__free(b->ctx, room);
    return status;
}

/* ---- what is made of them ---------------------------------------------------------------------------------------- */

/* C [P][P] += sum over cells of chance D D^T, D [cells][P], less `other` where there is one. */
static void add_chance(const both *b, const double *D, const double *other, double *C) {
    for (size_t i = 0; i < b->cells; i++)
        for (size_t r = 0; b->chance[i] > 0 && r < b->P; r++)
            for (size_t c = 0; c < b->P; c++) {
                double left = D[i * b->P + r] - (other ? other[i * b->P + r] : 0);
                double right = D[i * b->P + c] - (other ? other[i * b->P + c] : 0);
                C[r * b->P + c] += b->chance[i] * left * right;
            }
}

/* What prevalences and the prior's scale leave uncertain of the weighted estimate, added to its covariance. */
static pv_status add_uncertain(const both *b, double *covariance) {
    add_chance(b, b->weighted.prevalence, NULL, covariance);
    return pv__add_scale(b->ctx, b->problem, b->weighted.w, b->weighted.inverse, true, covariance);
}

/* to [P] = the side's estimate with its bias taken off, no coefficient by more than a standard error. */
static void reduce_bias(const pv__side *s, const double *covariance, double *to) {
    double share = 1;
    for (size_t i = 0; i < s->P; i++) {
        double error = sqrt(covariance[i * (s->P + 1)]), by = fabs(s->correction[i]);
        if (by * share > error)
            share = error / by;
    }
    for (size_t i = 0; i < s->P; i++)
        to[i] = s->w[i] + share * s->correction[i];
}

/* Satterthwaite's degrees of freedom: of the units' part of the variance, and of the whole. */
static double freedom(const both *b, double second, double fourth, double chance) {
    if (!(second > 0))
        return fmax(1, b->units->df);
    double nu = 2 / (fourth / (second * second) - 1 / b->units->units), whole = (second + chance) / second;
    nu = nu > 0 && nu < b->units->df ? nu : b->units->df;
    return fmax(1, nu * whole * whole);
}

static void find_freedom(const both *b, pv_combination *c) {
    for (size_t i = 0; i < b->P; i++) {
        double chance = 0;
        for (size_t cell = 0; cell < b->cells; cell++) {
            const double *D = b->weighted.prevalence + cell * b->P + i;
            double own = D[0];
            for (size_t j = 1; i % b->size == 0 && j < b->size; j++)
                own -= b->shift[j - 1] * D[j];
            chance += b->chance[cell] * own * own;
        }
        c->df[i] = freedom(b, b->second[i], b->fourth[i], chance);
    }
}

/* Of a combination of the coefficients in no direction of its own: in the metric of their covariance, the mean over all
 * of them. */
static void find_risk_freedom(const both *b, pv_combination *c) {
    double P = (double)b->P;
    if (!isnan(b->spread))
        c->df_risk = freedom(b, 1, 3 * b->spread / (P * (P + 2)), 0);
}

/* The entries of some parameters: C [m][m] of V_d, d [m] and scale [m]. */
static void take(const both *b, const pv_combination *c, const size_t *which, size_t m, const double *difference,
                 double *C, double *d, double *scale) {
    const double *V = b->square + 2 * b->P * b->P;
    for (size_t i = 0; i < m; i++) {
        size_t at = which[i];
        d[i] = difference[at];
        scale[i] = b->square[at * (b->P + 1)] + b->square[b->P * b->P + at * (b->P + 1)];
        for (size_t j = 0; j < m; j++)
            C[i * m + j] = V[at * b->P + which[j]];
    }
    (void)c;
}

static size_t slopes_of(const both *b, const pv_combination *c, int32_t term, size_t *which) {
    size_t m = 0;
    for (size_t j = 0; j < b->J; j++)
        for (size_t i = 0; i + 1 < b->size; i++)
            if (term < 0 || c->term[i] == term)
                which[m++] = j * b->size + 1 + i;
    return m;
}

/* Shares of the terms, the test, and w: efficient where a term allows it. */
static pv_status weigh_terms(const both *b, pv_estimate use, pv_combination *c, double *w) {
    size_t P = b->P, *which = NULL;
    double *room = NULL, *d, *scale, *difference;
    pv_status status;
    PV_GOTO(done, pv__alloc(b->ctx, P * P + 3 * P, sizeof *room, &room));
    PV_GOTO(done, pv__alloc(b->ctx, P, sizeof *which, &which));
    d = room + P * P;
    scale = d + P;
    difference = scale + P;
    for (size_t i = 0; i < P; i++)
        difference[i] = c->efficient[i] - c->weighted[i];
    size_t m = slopes_of(b, c, -1, which);
    take(b, c, which, m, difference, room, d, scale);
    c->statistic = pv__quadratic(m, room, d, scale, &c->rank);
    if (b->units->units < 10 * (double)c->rank) { /* a chi-square it is not, with so few */
        c->rank = 0;
        c->statistic = 0;
    }
    c->p_value = c->rank > 0 ? pv_chi_square_tail((double)c->rank, c->statistic) : 1;
    memcpy(w, use == PV_ESTIMATE_EFFICIENT ? c->efficient : c->weighted, P * sizeof *w);
    for (size_t t = 0; t < c->terms; t++) {
        int64_t rank;
        m = slopes_of(b, c, (int32_t)t, which);
        take(b, c, which, m, difference, room, d, scale);
        double Q = pv__quadratic(m, room, d, scale, &rank);
        double efficient = rank == 0 || !(Q > (double)rank) ? 1 : (double)rank / Q;
        c->share[t] = use == PV_ESTIMATE_COMBINED ? 1 - efficient : use == PV_ESTIMATE_WEIGHTED;
        for (size_t i = 0; use == PV_ESTIMATE_COMBINED && i < m; i++)
            w[which[i]] += efficient * difference[which[i]];
    }
done:
    pv__free(b->ctx, room);
    pv__free(b->ctx, which);
    return status;
}

/* The intercepts of w by which the weighted mean of the probabilities is the stated prevalence. */
static pv_status match(const both *b, double *w) {
    const pv__problem *p = b->problem;
    const pv_targets *t = &p->targets;
    size_t n = t->n, k = b->k, begin, end;
    double *logits, total = 0, *weight, *target, *shift;
    PV_TRY(pv__alloc(b->ctx, n * (k + 1) + 2 * k, sizeof *logits, &logits));
    weight = logits + n * k;
    target = weight + n;
    shift = target + k;
    pv_status status;
    pv__match_rows(b->ctx, p, &begin, &end);
    for (size_t i = 0; i < n; i++) {
        const double *a = pv__ratio_of(t, b->weighted.a, i);
        for (size_t y = 0; y < k; y++) {
            double own = pv__weight(t, i) * pv__share(t, i, (int)y) * a[y];
            weight[i] += own;
            target[y] += own;
            total += own;
        }
    }
    for (size_t i = 0; i < n; i++)
        weight[i] /= total;
    for (size_t y = 0; y < k; y++)
        target[y] /= total;
    PV_GOTO(done, pv__objective_loglik_of(b->ctx, p, w, begin, end, logits));
    PV_GOTO(done, pv__match_shift(b->ctx, p, logits, weight, target, shift));
    pv_model_shift(p->model, shift, w);
done:
    pv__free(b->ctx, logits);
    return status;
}

/* The covariance of the efficient estimate where its model is right. The numbers of rows of each label are the
 * design's: of the intercepts' part of the inverse information that is taken off (docs/method.md, 9). */
static pv_status find_efficient_covariance(const both *b, double *covariance) {
    const pv__problem *p = b->problem;
    bool rows = !p->stratified && !p->cluster && !p->sampling && !p->survey;
    const double *sandwich = b->square + b->P * b->P;
    memcpy(covariance, rows ? b->efficient.inverse : sandwich, b->P * b->P * sizeof *covariance);
    if (rows)
        pv__hold_labels(p, b->P, p->population.prevalence_n, covariance);
    else
        add_chance(b, b->efficient.prevalence, NULL, covariance);
    return pv__add_scale(b->ctx, p, b->efficient.w, b->efficient.inverse, !rows, covariance);
}

/* Both at their optima, with corrections; false: one of them has none. */
static pv_status fit_both(both *b, const double *w, bool *found) {
    *found = false;
    for (size_t i = 0; i < b->cells; i++)
        b->efficient.a[i] = 1;
    weigh_cells(b, b->weighted.a);
    pv__log_ratio(b->problem, b->efficient.ratio);
    b->efficient.of_ratio = true;
    PV_TRY(pv__side_fit(b->ctx, &b->efficient, w));
    PV_TRY(pv__side_fit(b->ctx, &b->weighted, w));
    if (!b->efficient.converged || !b->weighted.converged)
        return PV_OK;
    PV_TRY(pv__side_correct(b->ctx, &b->efficient));
    PV_TRY(pv__side_correct(b->ctx, &b->weighted));
    PV_TRY(pv__side_lever_units(b->ctx, &b->efficient, b->units));
    PV_TRY(pv__side_lever_units(b->ctx, &b->weighted, b->units));
    tie_prevalences(b, b->weighted.prevalence);
    tie_prevalences(b, b->efficient.prevalence);
    *found = true;
    return PV_OK;
}

/* Whether the intercepts that match the slopes of w are far from the weighted estimate's: where one row is so far out
 * that the efficient slope gives it all of the prevalence, everybody else's risk is next to nothing. */
static bool strays(const both *b, const pv_combination *c, const double *w) {
    const double allowance = 1, errors = 5; /* a factor of e of the odds, beyond so many standard errors */
    for (size_t i = 0; i < b->P; i += b->size)
        if (!(fabs(w[i] - b->weighted.w[i]) <= allowance + errors * sqrt(c->covariance[i * (b->P + 1)])))
            return true;
    return false;
}

/* The weighted estimate with the sample of the population; where there are controls, w is that. */
static pv_status control(both *b, const pv__problem *whole, double *w, pv_combination *c) {
    const pv__controlled of = {.whole = whole,
                               .side = &b->weighted,
                               .units = b->units,
                               .square = b->square,
                               .chance = b->chance,
                               .estimate = c->weighted,
                               .covariance = c->covariance,
                               .prevalence = b->weighted.prevalence};
    if (!pv__controls_fit(b->ctx, whole, b->units))
        return PV_OK;
    pv__control_test test;
    PV_TRY(pv__control(b->ctx, &of, &test));
    if (!pv__control_holds(&test) || test.controls == 0)
        return PV_OK;
    c->controls = (int64_t)test.controls;
    PV_TRY(add_uncertain(b, c->covariance));
    c->use = PV_ESTIMATE_WEIGHTED;
    memcpy(w, c->weighted, b->P * sizeof *w);
    for (size_t t = 0; t < c->terms; t++)
        c->share[t] = 1;
    return PV_OK;
}

/* Where the rows chose the prior's scale: the two estimates are drawn to 0 by different shares, so that V_d gets
 * (H_e^-1 - H_w^-1) S (H_e^-1 - H_w^-1), by which slopes drawn from that prior differ. */
static void add_drawn(const both *b, double *apart) {
    size_t P = b->P;
    for (size_t l = 0; b->problem->plan->prior_spread > 0 && l < P; l++) {
        double own = b->problem->is_bias[l] ? 0 : pv__prior_curvature(b->problem, l, 0);
        for (size_t i = 0; own > 0 && i < P; i++)
            for (size_t j = 0; j < P; j++)
                apart[i * P + j] += own * (b->efficient.inverse[i * P + l] - b->weighted.inverse[i * P + l]) *
                                    (b->efficient.inverse[j * P + l] - b->weighted.inverse[j * P + l]);
    }
}

static pv_status conclude(both *b, const pv__problem *whole, pv_estimate use, bool corrected, double *w,
                          pv_combination *c) {
    size_t square = b->P * b->P;
    PV_TRY(sum_influences(b));
    add_chance(b, b->efficient.prevalence, b->weighted.prevalence, b->square + 2 * square);
    add_drawn(b, b->square + 2 * square);
    memcpy(c->covariance, b->square, square * sizeof *c->covariance);
    PV_TRY(add_uncertain(b, c->covariance));
    PV_TRY(find_efficient_covariance(b, c->efficient_covariance));
    memcpy(c->weighted, b->weighted.w, b->P * sizeof *c->weighted);
    memcpy(c->efficient, b->efficient.w, b->P * sizeof *c->efficient);
    if (corrected) {
        reduce_bias(&b->weighted, c->covariance, c->weighted);
        reduce_bias(&b->efficient, b->square + square, c->efficient);
    }
    find_freedom(b, c);
    find_risk_freedom(b, c);
    c->use = (int)use;
    c->units = b->units->units;
    PV_TRY(pv__find_tails(b->ctx, &b->weighted, c->tail));
    PV_TRY(pv__test_strata(b->ctx, &b->efficient, b->units, b->chance, !is_cohort(b), c->strata));
    PV_TRY(weigh_terms(b, use, c, w));
    PV_TRY(control(b, whole, w, c));
    if (c->controls > 0)
        return PV_OK;
    if (use == PV_ESTIMATE_COMBINED || (corrected && use == PV_ESTIMATE_WEIGHTED))
        PV_TRY(match(b, w));
    if (use == PV_ESTIMATE_EFFICIENT || !strays(b, c, w))
        return PV_OK;
    c->use = PV_ESTIMATE_WEIGHTED; /* as its equations have it, bias and all */
    memcpy(c->weighted, b->weighted.w, b->P * sizeof *c->weighted);
    return weigh_terms(b, PV_ESTIMATE_WEIGHTED, c, w);
}

bool pv__has_combination(const pv__problem *p) {
    bool linear = pv_model_has_coefficients(p->model) && !p->data;
    return pv__plan_has_two(p->plan, linear, p->unlabelled > 0) &&
           !(p->unlabelled > 0 && p->plan->use == PV_ESTIMATE_EFFICIENT); /* that is of the sample as well */
}

static pv_status new_for(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, pv_combination **made) {
    size_t slopes = pv__model_slopes(problem->model), terms;
    int32_t *term;
    PV_TRY(pv__alloc(ctx, slopes, sizeof *term, &term));
    terms = pv__terms_of(schema, term);
    pv_status status = pv__combination_new(ctx, pv_model_params(problem->model), terms, slopes, made);
    if (status == PV_OK && slopes > 0)
        memcpy((*made)->term, term, slopes * sizeof *term);
    pv__free(ctx, term);
    return status;
}

pv_status pv__combine(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, pv_estimate use, double *w,
                      pv_combination **found) {
    both b = {.ctx = ctx};
    bool has = false, corrected = problem->options->errors != PV_ERRORS_HC0;
    const pv__problem labelled = pv__labelled(problem);
    *found = NULL;
    pv_status status;
    PV_GOTO(done, both_new(ctx, &labelled, schema, true, 3, &b));
    find_chances(&b);
    b.weighted.inflate = b.efficient.inflate = corrected;
    PV_GOTO(done, fit_both(&b, w, &has));
    if (!has)
        goto done;
    PV_GOTO(done, new_for(ctx, problem, schema, found));
    status = conclude(&b, problem, use, corrected, w, *found);
done:
    if (status != PV_OK) {
        pv__combination_free(ctx, *found);
        *found = NULL;
    }
    both_free(&b);
    return status;
}

pv_status pv__weigh_alone(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, double *w,
                          pv_combination **found) {
    both b = {.ctx = ctx};
    bool design = pv_loss_of_design(pv__problem_loss(problem)); /* labels are chance, and one cell */
    *found = NULL;
    pv_status status;
    PV_GOTO(done, both_new(ctx, problem, schema, !design, 1, &b));
    for (size_t i = 0; i < b.cells; i++)
        b.weighted.a[i] = problem->factor[i % b.k];
    b.weighted.inflate = problem->options->errors != PV_ERRORS_HC0;
    if (!design)
        find_chances(&b);
    PV_GOTO(done, pv__side_fit(ctx, &b.weighted, w));
    if (!b.weighted.converged)
        goto done;
    PV_GOTO(done, new_for(ctx, problem, schema, found));
    pv_combination *c = *found;
    PV_GOTO(done, pv__side_correct(ctx, &b.weighted));
    PV_GOTO(done, pv__side_lever_units(ctx, &b.weighted, b.units));
    tie_prevalences(&b, b.weighted.prevalence);
    PV_GOTO(done, sum_influences(&b));
    memcpy(c->covariance, b.square, b.P * b.P * sizeof *c->covariance);
    PV_GOTO(done, add_uncertain(&b, c->covariance));
    PV_GOTO(done, pv__find_tails(ctx, &b.weighted, c->tail));
    find_freedom(&b, c);
    find_risk_freedom(&b, c);
    memcpy(w, b.weighted.w, b.P * sizeof *w);
    memcpy(c->weighted, w, b.P * sizeof *w);
    c->use = PV_ESTIMATE_WEIGHTED;
    c->units = b.units->units;
    for (size_t t = 0; t < c->terms; t++)
        c->share[t] = 1;
done:
    if (status != PV_OK) {
        pv__combination_free(ctx, *found);
        *found = NULL;
    }
    both_free(&b);
    return status;
}
