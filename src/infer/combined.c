/* The combination of the efficient and the weighted estimate (docs/method.md, section 15).
 *
 * The weighted estimate b_r is the best linear predictor of the population for any shape of the risk. The efficient
 * one, b_e, is better if the linear model is correct, and tends to another limit if it is not. With their influences by
 * unit, U_r and U_e, and d = b_e - b_r,
 *
 *   interval   of c^T b: c^T b_r -+ t_nu sqrt(c^T V_r c), V_r = sum U_r U_r^T, nu = 2 / (sum G^4 / (sum G^2)^2 - 1/n),
 *              G = U_r c
 *   point      by term B: b_B = b_r,B + min(1, k_B / Q_B) d_B, Q_B = d_B^T V_d,BB^-1 d_B, k_B its rank,
 *              V_d = sum (U_e - U_r)(U_e - U_r)^T; the intercepts then solve sum a (y - p) = 0
 *   test       Hausman's: d^T V_d^-1 d over all slopes is chi-square if the linear model is correct
 *
 * Both estimates are bias-reduced, by at most one standard error of any coefficient. If prevalences were counted, their
 * variance is added to V_r and V_d. With a population sample the weighted estimate uses control variates (controls.c)
 * and is better than the efficient one, which is then used only in the test.
 *
 * If the prior's scale s was learned from the rows, with precision S = I/s^2 on the slopes, V_r is increased by H^-1 S
 * H^-1, for the shrinkage of slopes, and by the uncertainty of the scale (pv__add_scale).
 */
#include "infer/combined.h"

#include <math.h>
#include <string.h>

#include "infer/adequacy.h"
#include "infer/both.h"
#include "infer/controls.h"

/* ---- combination ------------------------------------------------------------------------------------------------- */

/* C [P][P] += sum over cells of chance D D^T, D [cells][P] minus `other` unless that is NULL. */
static void add_chance(const pv__both *b, const double *D, const double *other, double *C) {
    for (size_t i = 0; i < b->cells; i++)
        for (size_t r = 0; b->chance[i] > 0 && r < b->P; r++)
            for (size_t c = 0; c < b->P; c++) {
                double left = D[i * b->P + r] - (other ? other[i * b->P + r] : 0);
                double right = D[i * b->P + c] - (other ? other[i * b->P + c] : 0);
                C[r * b->P + c] += b->chance[i] * left * right;
            }
}

/* Adds the uncertainty of prevalences and of the prior's scale to the weighted estimate's covariance. */
static pv_status add_uncertain(const pv__both *b, double *covariance) {
    add_chance(b, b->weighted.prevalence, NULL, covariance);
    return pv__add_scale(b->ctx, b->problem, b->weighted.w, b->weighted.inverse, true, covariance);
}

/* to [P] = the side's estimate after bias reduction, limited to one standard error per coefficient. */
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

/* Satterthwaite's degrees of freedom: for the units' part of the variance, and for the whole. */
static double freedom(const pv__both *b, double second, double fourth, double chance) {
    if (!(second > 0))
        return fmax(1, b->units->df);
    double nu = 2 / (fourth / (second * second) - 1 / b->units->units), whole = (second + chance) / second;
    nu = nu > 0 && nu < b->units->df ? nu : b->units->df;
    return fmax(1, nu * whole * whole);
}

static void find_freedom(const pv__both *b, pv_combination *c) {
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

/* For a combination of coefficients in an arbitrary direction: the mean over all directions in the metric of their
 * covariance. */
static void find_risk_freedom(const pv__both *b, pv_combination *c) {
    double P = (double)b->P;
    if (!isnan(b->spread))
        c->df_risk = freedom(b, 1, 3 * b->spread / (P * (P + 2)), 0);
}

/* Extracts the entries of some parameters: C [m][m] of V_d, d [m] and scale [m]. */
static void take(const pv__both *b, const pv_combination *c, const size_t *which, size_t m, const double *difference,
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

static size_t slopes_of(const pv__both *b, const pv_combination *c, int32_t term, size_t *which) {
    size_t m = 0;
    for (size_t j = 0; j < b->J; j++)
        for (size_t i = 0; i + 1 < b->size; i++)
            if (term < 0 || c->term[i] == term)
                which[m++] = j * b->size + 1 + i;
    return m;
}

/* Computes the weights of the terms, the test, and w: efficient where a term allows it. */
static pv_status weigh_terms(const pv__both *b, pv_estimate use, pv_combination *c, double *w) {
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
    if (b->units->units < 10 * (double)c->rank) { /* too few for a chi-square distribution */
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

/* The intercepts of w for which the weighted mean of the probabilities equals the stated prevalence, given the
 * log-likelihoods [n][k] at w, which begin `room` [n][k + 1]. */
static pv_status match(const pv__both *b, double *room, double *w) {
    const pv__problem *p = b->problem;
    const pv_targets *t = &p->targets;
    size_t n = t->n, k = b->k;
    double total = 0, *weight = room + n * k, *target, *shift;
    PV_TRY(pv__alloc(b->ctx, 2 * k, sizeof *target, &target));
    shift = target + k;
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
    pv_status status = pv__match_shift(b->ctx, p, room, weight, target, shift);
    if (status == PV_OK)
        pv_model_shift(p->model, shift, w);
    pv__free(b->ctx, target);
    return status;
}

/* Degrees of freedom, and where they are to be matched the intercepts of w, by one pass. */
static pv_status find_moments(pv__both *b, bool matched, double *w, pv_combination *c) {
    double *room = NULL;
    if (matched)
        PV_TRY(pv__alloc(b->ctx, b->problem->targets.n, (b->k + 1) * sizeof *room, &room));
    pv_status status = pv__both_moments(b, matched ? w : NULL, room);
    find_freedom(b, c);
    find_risk_freedom(b, c);
    if (status == PV_OK && matched)
        status = match(b, room, w);
    pv__free(b->ctx, room);
    return status;
}

/* The covariance of the efficient estimate if its model is correct. The design fixes the numbers of rows of each label:
 * that is subtracted from the intercepts' part of the inverse information (docs/method.md, 9). */
static pv_status find_efficient_covariance(const pv__both *b, double *covariance) {
    const pv__problem *p = b->problem;
    bool rows = !pv__strata_of(p) && !p->design->cluster && !p->design->sampling && !p->design->block;
    const double *sandwich = b->square + b->P * b->P;
    memcpy(covariance, rows ? b->efficient.inverse : sandwich, b->P * b->P * sizeof *covariance);
    if (rows)
        pv__hold_labels(p, b->P, p->population.prevalence_n, covariance);
    else
        add_chance(b, b->efficient.prevalence, NULL, covariance);
    return pv__add_scale(b->ctx, p, b->efficient.w, b->efficient.inverse, !rows, covariance);
}

/* Number of passes made over the rows. */
static double reads_of(const pv__both *b) {
    const double moments = 1, clusters = b->units->of ? 1 : 0;
    return b->weighted.reads + b->efficient.reads + moments + clusters;
}

/* Fits both sides and corrects them; *found is false if one has no optimum. */
static pv_status fit_both(pv__both *b, const pv__solution *from, bool *found) {
    const double *near = from->ahead ? from->ahead : from->w;
    for (size_t i = 0; i < b->cells; i++)
        b->efficient.a[i] = 1;
    pv__both_weigh(b, b->weighted.a);
    pv__log_ratio(b->problem, b->efficient.ratio);
    b->efficient.of_ratio = true;
    return pv__both_fit(b, near, from->weighted ? from->weighted : near, found);
}

/* Whether the intercepts that match the slopes of w are far from the weighted estimate's. That happens if one row is so
 * extreme that the efficient slope gives it the whole prevalence, leaving almost no risk for others. */
static bool strays(const pv__both *b, const pv_combination *c, const double *w) {
    const double allowance = 1, errors = 5; /* a factor of e in the odds, plus this many standard errors */
    for (size_t i = 0; i < b->P; i += b->size)
        if (!(fabs(w[i] - b->weighted.w[i]) <= allowance + errors * sqrt(c->covariance[i * (b->P + 1)])))
            return true;
    return false;
}

/* The weighted estimate with the population sample; if there are effective controls, w becomes that. */
static pv_status control(pv__both *b, const pv__problem *whole, double *w, pv_combination *c) {
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

/* If the prior's scale was learned: the two estimates are shrunk by different amounts, so V_d is increased by (H_e^-1 -
 * H_w^-1) S (H_e^-1 - H_w^-1), the difference for slopes drawn from that prior. */
static void add_drawn(const pv__both *b, double *apart) {
    size_t P = b->P;
    for (size_t l = 0; b->problem->plan->prior_spread > 0 && l < P; l++) {
        double own = b->problem->is_bias[l] ? 0 : pv__prior_curvature(b->problem, l, 0);
        for (size_t i = 0; own > 0 && i < P; i++)
            for (size_t j = 0; j < P; j++)
                apart[i * P + j] += own * (b->efficient.inverse[i * P + l] - b->weighted.inverse[i * P + l]) *
                                    (b->efficient.inverse[j * P + l] - b->weighted.inverse[j * P + l]);
    }
}

static pv_status conclude(pv__both *b, const pv__problem *whole, pv_estimate use, bool corrected, double *w,
                          pv_combination *c) {
    size_t square = b->P * b->P;
    PV_TRY(pv__both_sum(b));
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
    c->use = (int)use;
    c->units = b->units->units;
    memcpy(c->tail, b->tail, c->slopes * sizeof *c->tail);
    PV_TRY(pv__test_strata(b->ctx, &b->efficient, b->units, b->chance, !pv__both_is_cohort(b), c->strata));
    PV_TRY(weigh_terms(b, use, c, w));
    PV_TRY(control(b, whole, w, c));
    bool matched = c->controls == 0 && (use == PV_ESTIMATE_COMBINED || (corrected && use == PV_ESTIMATE_WEIGHTED));
    PV_TRY(find_moments(b, matched, w, c));
    if (c->controls > 0)
        return PV_OK;
    if (use == PV_ESTIMATE_EFFICIENT || !strays(b, c, w))
        return PV_OK;
    c->use = PV_ESTIMATE_WEIGHTED; /* the solution of its equations, without bias reduction */
    memcpy(c->weighted, b->weighted.w, b->P * sizeof *c->weighted);
    return weigh_terms(b, PV_ESTIMATE_WEIGHTED, c, w);
}

bool pv__combination_factors(const pv__problem *p, double *factor) {
    if (!pv__has_combination(p) || pv__combination_is_idle(p) || !pv__combination_is_cheap(p) || pv__strata_of(p))
        return false;
    pv__weigh_cells(p, p->mass, factor);
    return true;
}

bool pv__has_combination(const pv__problem *p) {
    return pv__plan_is(p->plan, PV_FACT_TWO) &&
           !(p->unlabelled > 0 && p->plan->use == PV_ESTIMATE_EFFICIENT); /* that also uses the sample */
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

pv_status pv__combine(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, pv_estimate use,
                      pv__solution *solution, double *w, pv_combination **found) {
    pv__both b = {.ctx = ctx};
    bool has = false, corrected = problem->plan->options.errors != PV_ERRORS_HC0;
    const pv__problem labelled = pv__labelled(problem);
    *found = NULL;
    pv_status status;
    PV_GOTO(done, pv__both_new(ctx, &labelled, schema, true, 3, &b));
    pv__both_chances(&b);
    b.weighted.inflate = b.efficient.inflate = corrected;
    b.own = problem->unlabelled == 0; /* controls take all */
    PV_GOTO(done, fit_both(&b, solution, &has));
    if (!has)
        goto done;
    PV_GOTO(done, new_for(ctx, problem, schema, found));
    status = conclude(&b, problem, use, corrected, w, *found);
    solution->passes += reads_of(&b) + (pv__strata_of(problem) ? 2 : 0);
done:
    if (status != PV_OK) {
        pv__combination_free(ctx, *found);
        *found = NULL;
    }
    pv__both_free(&b);
    return status;
}

pv_status pv__weigh_alone(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, pv__solution *solution,
                          double *w, pv_combination **found) {
    pv__both b = {.ctx = ctx};
    bool has;
    bool design = pv_loss_of_design(pv__problem_loss(problem)); /* labels are random, and there is one cell */
    *found = NULL;
    pv_status status;
    PV_GOTO(done, pv__both_new(ctx, problem, schema, !design, 1, &b));
    for (size_t i = 0; i < b.cells; i++)
        b.weighted.a[i] = problem->factor[i % b.k];
    b.weighted.inflate = problem->plan->options.errors != PV_ERRORS_HC0;
    b.own = true;
    if (!design)
        pv__both_chances(&b);
    PV_GOTO(done, pv__both_fit(&b, NULL, solution->ahead ? solution->ahead : w, &has));
    if (!has)
        goto done;
    PV_GOTO(done, new_for(ctx, problem, schema, found));
    pv_combination *c = *found;
    PV_GOTO(done, pv__both_sum(&b));
    memcpy(c->covariance, b.square, b.P * b.P * sizeof *c->covariance);
    PV_GOTO(done, add_uncertain(&b, c->covariance));
    memcpy(c->tail, b.tail, c->slopes * sizeof *c->tail);
    PV_GOTO(done, find_moments(&b, false, NULL, c));
    memcpy(w, b.weighted.w, b.P * sizeof *w);
    memcpy(c->weighted, w, b.P * sizeof *w);
    c->use = PV_ESTIMATE_WEIGHTED;
    c->units = b.units->units;
    for (size_t t = 0; t < c->terms; t++)
        c->share[t] = 1;
    solution->passes += reads_of(&b);
done:
    if (status != PV_OK) {
        pv__combination_free(ctx, *found);
        *found = NULL;
    }
    pv__both_free(&b);
    return status;
}
