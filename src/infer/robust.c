/* Lines between profile, which fits the sample, and iw, which fits the population (docs/method.md, section 15).
 *
 * The member of exponent t gives the rows of label y the weight a_y = (pi_y/d_y)^t and corrects for the rest,
 *
 *   - sum_n v_n a_{y_n} log p_t(y_n|x_n),   p_t(y|x) ~ p(y|x,w) (d_y/pi_y)^(1-t):
 *
 * the selection likelihood with other weights and ratios, so that all that fits one fits the other. The weights are
 * scaled by (K-1)/(sum_y a_y - sum_y d_y a_y^2 / sum_y d_y a_y): curvature over variance of the score in a model of
 * intercepts, which gives the prior as much to say beside the rows for every t.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

enum { ROWS_MAX = 1 << 13, FOLDS = 5, EXPONENTS = 5 };
static const double exponents[EXPONENTS] = {0, 0.25, 0.5, 0.75, 1};
static const double TOLERANCE = 1e-5; /* of the fits that are only to be compared */

/* ---- one member of the family ------------------------------------------------------------------------------------ */

static void label_weights(const pv__problem *problem, double t, double *a) {
    int k = problem->targets.classes;
    double sum = 0, mean = 0, square = 0;
    for (int y = 0; y < k; y++) {
        double d = problem->design[y];
        a[y] = pow(problem->population.prevalence[y] / d, t);
        sum += a[y];
        mean += d * a[y];
        square += d * a[y] * a[y];
    }
    for (int y = 0; y < k; y++)
        a[y] *= (k - 1) / (sum - square / mean);
}

/* With strata, t = 1 alone: a [strata][k], share_s pi_sy W/n_sy, scaled as above for a model of the prevalences. */
static pv_status cell_weights(pv_ctx *ctx, const pv__problem *problem, double *a) {
    const pv_stratified *of = problem->stratified;
    size_t k = (size_t)problem->targets.classes, cells = (size_t)of->strata * k;
    double *mass, total = 0, curvature = 0, variance = 0;
    PV_TRY(pv__alloc(ctx, cells, sizeof *mass, &mass));
    pv__strata_mass(&problem->targets, of->strata, mass);
    for (size_t i = 0; i < cells; i++)
        total += mass[i];
    for (size_t i = 0; i < cells; i++) {
        const double *pi = of->prevalence + i / k * k;
        double square = 0, own = pi[i % k];
        a[i] = of->share[i / k] * own * total / mass[i];
        for (size_t y = 0; y < k; y++)
            square += pi[y] * pi[y];
        curvature += mass[i] * a[i] * (1 - square);
        variance += mass[i] * a[i] * a[i] * (1 - 2 * own + square);
    }
    for (size_t i = 0; i < cells; i++)
        a[i] *= curvature / variance;
    pv__free(ctx, mass);
    return PV_OK;
}

pv_status pv__tilt(pv_ctx *ctx, const pv__problem *problem, double t, const int32_t *fold, int32_t left_out,
                   pv__tilted *made) {
    const pv_targets *targets = &problem->targets;
    size_t n = targets->n, k = (size_t)targets->classes, soft = targets->label ? 0 : n * k;
    size_t sets = pv__ratio_sets(problem);
    PV_TRY(pv__alloc(ctx, n + soft + (1 + sets) * k, sizeof *made->block, &made->block));
    double *weight = made->block, *frequency = weight + n, *mass = frequency + soft, *all = mass + k;
    if (problem->stratified)
        PV_TRY(cell_weights(ctx, problem, all));
    else
        label_weights(problem, t, all);
    for (size_t i = 0; i < n; i++) {
        double own = 0;
        const double *a = pv__ratio_of(targets, all, i);
        for (size_t y = 0; y < k; y++) {
            double part = pv__share(targets, i, (int)y) * a[y];
            own += part;
            if (soft)
                frequency[i * k + y] = part;
        }
        for (size_t y = 0; soft && y < k; y++)
            frequency[i * k + y] /= own;
        weight[i] = fold && fold[i] == left_out ? 0 : pv__weight(targets, i) * own;
    }
    made->problem = *problem;
    made->problem.tilted = true;
    made->problem.exponent = t;
    made->problem.targets = (pv_targets){.n = n,
                                         .classes = (int)k,
                                         .label = targets->label,
                                         .frequency = soft ? frequency : NULL,
                                         .weight = weight,
                                         .stratum = targets->stratum};
    made->problem.mass = mass;
    pv_label_mass(&made->problem.targets, mass);
    return PV_OK;
}

void pv__tilted_free(pv_ctx *ctx, pv__tilted *tilted) {
    pv__free(ctx, tilted->block);
    tilted->block = NULL;
}

static pv_status refit(pv_ctx *ctx, const pv__problem *problem, double t, pv__solution *solution) {
    pv__tilted tilted = {0};
    int64_t before = solution->iterations;
    pv_status status = pv__tilt(ctx, problem, t, NULL, 0, &tilted);
    solution->iterations = 0;
    if (status == PV_OK)
        status = pv__fit_full(ctx, &tilted.problem, solution);
    solution->iterations += before;
    pv__tilted_free(ctx, &tilted);
    return status;
}

/* ---- which one --------------------------------------------------------------------------------------------------- */

/* Rows to compare by: all, or of each label so many, evenly spaced, that stand for the others. */
typedef struct part {
    pv__problem problem;
    double *block;
    int32_t *label, *fold; /* the likeliest label, and what the row is left out with */
} part;

static int32_t likeliest(const pv_targets *targets, size_t n) {
    int32_t best = 0;
    if (targets->label)
        return targets->label[n];
    for (int y = 1; y < targets->classes; y++)
        if (pv__share(targets, n, y) > pv__share(targets, n, best))
            best = y;
    return best;
}

static pv_status part_alloc(pv_ctx *ctx, const pv__problem *problem, part *made) {
    size_t n = problem->n, k = (size_t)problem->targets.classes, d = (size_t)pv_model_inputs(problem->model);
    size_t rows = n < ROWS_MAX + k ? n : ROWS_MAX + k;
    PV_TRY(pv__alloc(ctx, rows * (d + 1 + k) + 2 * k, sizeof(double), &made->block));
    return pv__alloc(ctx, 2 * rows + n, sizeof(int32_t), &made->label);
}

/* Each label's rows in the order they have: every count/most-th of them. */
static void part_fill(const pv__problem *problem, part *made) {
    const pv_targets *targets = &problem->targets;
    size_t n = targets->n, k = (size_t)targets->classes, d = (size_t)pv_model_inputs(problem->model), rows = 0;
    size_t room = n < ROWS_MAX + k ? n : ROWS_MAX + k;
    double *x = made->block, *weight = x + room * d, *frequency = weight + room, *mass = frequency + room * k;
    made->fold = made->label + room;
    int32_t *all = made->fold + room;
    for (size_t i = 0; i < n; i++)
        all[i] = likeliest(targets, i);
    for (size_t y = 0; y < k; y++) {
        size_t count = 0, most = n <= ROWS_MAX ? n : ROWS_MAX / k + 1, seen = 0, next = 0;
        for (size_t i = 0; i < n; i++)
            count += all[i] == (int32_t)y;
        size_t taken = count < most ? count : most, first = rows;
        for (size_t i = 0; i < n && next < taken; i++) {
            if (all[i] != (int32_t)y || seen++ < next * count / taken)
                continue;
            pv__problem_copy(problem, i, x + rows * d);
            weight[rows] = pv__weight(targets, i) * (double)count / (double)taken;
            for (size_t c = 0; targets->frequency && c < k; c++)
                frequency[rows * k + c] = targets->frequency[i * k + c];
            made->label[rows++] = (int32_t)y;
            next++;
        }
        size_t order[FOLDS];
        for (size_t r = first; r < rows; r++) { /* in each five rows, each fold once, in random order */
            size_t place = (r - first) % FOLDS;
            for (size_t f = 0; place == 0 && f < FOLDS; f++)
                order[f] = f;
            pv_rng rng = pv_rng_stream(0, PV_STREAM_EXPONENT, (uint64_t)y << 40 | (r - first) / FOLDS);
            if (place == 0)
                pv_rng_shuffle(&rng, FOLDS, order);
            made->fold[r] = (int32_t)order[place];
        }
    }
    made->problem = *problem;
    pv__problem_take(&made->problem, rows, x);
    made->problem.shared = false; /* few rows: each rank has them all */
    made->problem.targets = (pv_targets){.n = rows,
                                         .classes = (int)k,
                                         .label = targets->label ? made->label : NULL,
                                         .frequency = targets->label ? NULL : frequency,
                                         .weight = weight};
    made->problem.mass = mass;
    made->problem.design = mass + k;
    pv_label_mass(&made->problem.targets, mass);
    double total = 0;
    for (size_t y = 0; y < k; y++)
        total += mass[y];
    for (size_t y = 0; y < k; y++)
        made->problem.design[y] = mass[y] / total;
}

typedef struct scratch {
    double *loglik, *a; /* [n][k], [n] */
    double *shift, *b;  /* [k] */
} scratch;

/* Adds the log-likelihood, in the population, of the rows left out, once the others' output biases are matched. */
static pv_status add_score(pv_ctx *ctx, const part *rows, int32_t left_out, const double *w, const scratch *s,
                           double *score) {
    const pv__problem *problem = &rows->problem;
    const pv_targets *targets = &problem->targets;
    const double *prevalence = problem->population.prevalence;
    size_t n = targets->n, k = (size_t)targets->classes;
    PV_TRY(pv__objective_loglik(ctx, problem, w, s->loglik));
    pv__plugin_weights(targets, prevalence, problem->mass, s->a);
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        s->a[i] = rows->fold[i] == left_out ? 0 : s->a[i];
        total += s->a[i];
    }
    for (size_t y = 0; y < k; y++)
        s->b[y] = total * prevalence[y];
    PV_TRY(pv__match_shift(ctx, problem, s->loglik, s->a, s->b, s->shift));
    for (size_t i = 0; i < n; i++) {
        double *f = s->loglik + i * k;
        if (rows->fold[i] != left_out)
            continue;
        for (size_t y = 0; y < k; y++)
            f[y] += s->shift[y];
        pv_log_softmax((int)k, f, f);
        for (size_t y = 0; y < k; y++) {
            double share = pv__weight(targets, i) * pv__share(targets, i, (int)y);
            *score += share > 0 ? share * prevalence[y] / problem->mass[y] * f[y] : 0;
        }
    }
    return PV_OK;
}

/* One member in all folds; w [params] of the fold before is a good start for the next. */
static pv_status add_member(pv_ctx *ctx, const part *rows, double t, double *w, const scratch *s, double *score,
                            pv_stop *stop) {
    pv__tilted whole = {0}, tilted = {0};
    pv__precondition metric = {0};
    pv_status status;
    PV_GOTO(done, pv__tilt(ctx, &rows->problem, t, NULL, 0, &whole));
    PV_GOTO(done, pv__precondition_new(ctx, &whole.problem, w, &metric));
    for (int32_t fold = 0; fold < FOLDS; fold++) {
        PV_GOTO(done, pv__tilt(ctx, &rows->problem, t, rows->fold, fold, &tilted));
        PV_GOTO(done, pv__fit_roughly(ctx, &tilted.problem, TOLERANCE, &metric, w, stop));
        pv__tilted_free(ctx, &tilted);
        if (*stop == PV_STOP_INTERRUPTED)
            break;
        PV_GOTO(done, add_score(ctx, rows, fold, w, s, score));
    }
done:
    pv__precondition_free(ctx, &metric);
    pv__tilted_free(ctx, &tilted);
    pv__tilted_free(ctx, &whole);
    return status;
}

static pv_status compare(pv_ctx *ctx, const pv__problem *problem, const double *start, double *t, pv_stop *stop) {
    part rows = {0};
    scratch s = {0};
    size_t k = (size_t)problem->targets.classes, params = pv_model_params(problem->model);
    double *block = NULL, best = -HUGE_VAL;
    pv_status status;
    PV_GOTO(done, part_alloc(ctx, problem, &rows));
    part_fill(problem, &rows);
    size_t n = rows.problem.n;
    PV_GOTO(done, pv__alloc(ctx, n * (k + 1) + 2 * k + params, sizeof *block, &block));
    s = (scratch){block, block + n * k, block + n * (k + 1), block + n * (k + 1) + k};
    double *w = s.b + k;
    memcpy(w, start, params * sizeof *w);
    for (size_t e = 0; e < EXPONENTS && *stop != PV_STOP_INTERRUPTED; e++) {
        double score = 0;
        PV_GOTO(done, add_member(ctx, &rows, exponents[e], w, &s, &score, stop));
        pv__log(ctx, PV_LOG_DEBUG, "robust: exponent %g, log-likelihood %.8g in the population", exponents[e], score);
        if (score > best) {
            best = score;
            *t = exponents[e];
        }
    }
done:
    pv__free(ctx, block);
    pv__free(ctx, rows.block);
    pv__free(ctx, rows.label);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

bool pv__is_checked(const pv__problem *problem) {
    return pv__is_profile(problem) && pv__model_is_free(problem->model) && problem->has_prevalence &&
           !problem->unlabelled && problem->population.prevalence_n > 0 &&
           (problem->stratified ? problem->batch == 0 : !problem->data || problem->match > PV_MATCH_NONE);
}

pv_status pv__check_population(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution, pv_agreement *found) {
    size_t n = problem->n, k = (size_t)problem->targets.classes;
    size_t sets = problem->stratified ? pv__ratio_sets(problem) : 0; /* whose marginals lie behind that of all */
    double *block = NULL, *lambda, t = problem->robust;
    pv_stop stop = solution->stop;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, (n + 1 + sets) * k, sizeof *block, &block));
    lambda = block + n * k;
    for (size_t y = 0; y < (1 + sets) * k; y++)
        lambda[y] = exp(solution->log_marginal[y]);
    if (sets > 0) {
        PV_GOTO(done, pv__objective_loglik(ctx, problem, solution->w, block));
        PV_GOTO(done, pv__agree_strata(ctx, problem, lambda + k, block, found));
    } else {
        PV_GOTO(done, pv__agree(ctx, problem, lambda, solution->w, block, found));
    }
    if (isnan(t)) {
        t = 0;
        found->chosen = pv_agreement_differs(found);
        if (found->chosen)
            PV_GOTO(done, compare(ctx, problem, solution->w, &t, &stop));
    }
    if (stop == PV_STOP_INTERRUPTED)
        solution->stop = stop;
    else if (t > 0)
        PV_GOTO(done, refit(ctx, problem, t, solution));
    found->exponent = t;
done:
    pv__free(ctx, block);
    return status;
}

/* How much of the shift the check is sure of. */
static double share_of(const pv__problem *problem, const pv_agreement *found) {
    if (problem->match == PV_MATCH_FULL || !found || found->exponent > 0)
        return 1;
    if (!(found->mean_statistic > (double)found->mean_df))
        return 0;
    return 1 - (double)found->mean_df / found->mean_statistic;
}

/* The error of a shift, as a share of it. All the way: it is z standard errors. Shrunk: where the model is right it is
 * error and nothing else, so that its own square is its variance; where it is wrong that would be too much, and two
 * standard errors are the most. */
static double error_of(const pv__problem *problem, const pv_agreement *found, double share) {
    if (!found || !(found->mean_statistic > 0))
        return 0;
    double z = sqrt(found->mean_statistic);
    return problem->match == PV_MATCH_FULL ? 1 / z : fmin(1, 2 / (share * z));
}

/* Draws move as the maximum does, and by as much more or less as the shift is uncertain. It does not depend on the
 * profile's estimate (Hausman's argument), so the two errors add up. Of other losses the shift closes what a prior
 * opened, and is exact. */
static void move_all(const pv__problem *problem, double *shift, double error, pv_classifier *c) {
    pv_posterior *p = c->posterior;
    size_t k = (size_t)problem->targets.classes;
    pv_model_shift(problem->model, shift, c->w);
    size_t terms = pv__model_slopes(problem->model) + 1;
    for (size_t y = 1; c->standard_error && y < k; y++) { /* of a linear model: intercepts */
        double *own = c->standard_error + (y - 1) * terms;
        *own = hypot(*own, error * (shift[y] - shift[0]));
    }
    for (size_t y = 1; c->covariance && y < k; y++)
        for (size_t z = 1; z < k; z++)
            c->covariance[((y - 1) * pv_model_params(c->model) + z - 1) * terms] +=
                error * error * (shift[y] - shift[0]) * (shift[z] - shift[0]);
    for (size_t i = 0; p && i < p->count; i++) {
        pv_rng rng = pv_rng_stream((uint64_t)problem->options->seed, PV_STREAM_MATCH, i);
        double *own = shift + k, by = 1 + error * pv_rng_normal(&rng);
        for (size_t y = 0; y < k; y++)
            own[y] = by * shift[y];
        pv__model_shift_draw(problem->model, own, p->dims, p->draws + i * p->dims);
    }
    for (size_t i = 0; p && i < p->mixture.components; i++)
        pv_model_shift(problem->model, shift, p->mixture.mean + i * p->dims);
}

/* Of a loss whose marginal is the mean that was moved, at the maximum and at each draw. */
static pv_status find_marginals(pv_ctx *ctx, const pv__problem *problem, pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    size_t k = (size_t)problem->targets.classes;
    PV_TRY(pv__log_marginal(ctx, problem, NULL, c->w, NULL, c->log_marginal));
    for (size_t i = 0; p && i < p->count; i++) {
        PV_TRY(pv__go_on(ctx));
        PV_TRY(pv__log_marginal(ctx, problem, NULL, p->draws + i * p->dims, NULL, c->draw_log_marginal + i * k));
    }
    return PV_OK;
}

pv_status pv__match_population(pv_ctx *ctx, const pv__problem *problem, pv_classifier *c) {
    size_t n = problem->n, k = (size_t)problem->targets.classes;
    double share = share_of(problem, c->agreement), *block;
    if (problem->match == PV_MATCH_NONE || share == 0)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, n * (k + 1) + 3 * k, sizeof *block, &block));
    double *a = block + n * k, *target = a + n, *shift = target + k; /* with room for a draw's own */
    pv_status status;
    for (size_t y = 0; y < k; y++) /* profile's own; the others' is the mean that is to be moved */
        target[y] = pv__is_profile(problem) ? exp(c->log_marginal[y]) : problem->population.prevalence[y];
    size_t begin, end;
    pv__match_rows(ctx, problem, &begin, &end);
    pv_targets own = pv__targets_slice(&problem->targets, begin, end - begin);
    PV_GOTO(done, pv__objective_loglik_of(ctx, problem, c->w, begin, end, block));
    pv__plugin_weights(&own, target, problem->mass, a + begin);
    PV_GOTO(done, pv__match_shift(ctx, problem, block, a, target, shift));
    for (size_t y = 0; y < k; y++)
        shift[y] *= share;
    move_all(problem, shift, error_of(problem, c->agreement, share), c);
    if (c->agreement)
        memcpy(c->agreement->shift, shift, k * sizeof *shift);
    if (!pv__is_profile(problem))
        PV_GOTO(done, find_marginals(ctx, problem, c));
done:
    pv__free(ctx, block);
    return status;
}
