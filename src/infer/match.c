/* Matches a known prevalence exactly: shifts the output biases, by Newton's method in K-1 unknowns, until
 *   plug-in     sum_n rho_n p(y|x_n) = prevalence(y), or
 *   selection   sum_n v_n p_{s=1}(y|x_n) = n_y, which makes the profile's lambda equal to the prevalence.
 * Both are gradients of a convex function of the shifts d, sum_n a_n logsumexp_y(g_ny + d_y) - sum_y b_y d_y.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

enum { GROUPS_MAX = 64 };

typedef struct match {
    pv_ctx *ctx;
    size_t n, k;
    const double *logits;             /* [n][k]: f, or f + log ratio */
    const double *a;                  /* [n] */
    const double *b;                  /* [k] */
    double *shift, *trial, *gradient; /* [k] */
    double *direction;                /* [k-1] */
    double *matrix;                   /* [k-1][k-1] */
    size_t groups, width;             /* number of groups of rows, and of sums per group: value, gradient, matrix */
    pv__part part;                    /* this process's groups */
    double *sums, *total;             /* [groups][width], [width] */
    double *room;                     /* [groups][k] */
} match;

/* Sums over rows begin .. end-1, value first. */
static void add_rows(const match *m, const double *shift, bool derivatives, size_t begin, size_t end, double *p,
                     double *sums) {
    size_t k = m->k, J = k - 1;
    double *gradient = sums + 1, *matrix = gradient + k;
    memset(sums, 0, m->width * sizeof *sums);
    for (size_t n = begin; n < end; n++) {
        for (size_t y = 0; y < k; y++)
            p[y] = m->logits[n * k + y] + shift[y];
        double norm = pv_log_sum_exp(k, p);
        sums[0] += m->a[n] * norm;
        for (size_t y = 0; derivatives && y < k; y++)
            p[y] = exp(p[y] - norm);
        for (size_t y = 1; derivatives && y < k; y++) {
            gradient[y] += m->a[n] * p[y];
            for (size_t z = 1; z < k; z++)
                matrix[(y - 1) * J + z - 1] += m->a[n] * p[y] * ((y == z) - p[z]);
        }
    }
}

/* The same for two labels, one vector of rows at a time. */
static void add_two(const match *m, const double *shift, size_t begin, size_t end, double *sums) {
    enum { ROWS = 256 };
    static const int32_t first[ROWS] = {0};
    const double factor[2] = {1, 1};
    const pv__compute *compute = pv__compute_best();
    double z[ROWS], dz[ROWS];
    memset(sums, 0, m->width * sizeof *sums);
    for (; begin < end; begin += ROWS) {
        size_t rows = end - begin < ROWS ? end - begin : ROWS;
        const double *logits = m->logits + 2 * begin, *a = m->a + begin;
        for (size_t i = 0; i < rows; i++)
            z[i] = logits[2 * i + 1] - logits[2 * i];
        sums[0] += compute->logistic_loss(rows, z, shift[1] - shift[0], first, a, factor, dz);
        for (size_t i = 0; i < rows; i++) { /* dz = a p_1 */
            sums[0] += a[i] * (logits[2 * i] + shift[0]);
            sums[2] += dz[i];
            sums[3] += a[i] > 0 ? dz[i] * (1 - dz[i] / a[i]) : 0;
        }
    }
}

/* The value and, if wanted, gradient and curvature with respect to shifts 1 .. k-1 (shift 0 stays 0). */
static double value_at(const match *m, const double *shift, bool derivatives) {
    size_t k = m->k, J = k - 1, count = m->part.last - m->part.first;
    PV__EACH_CHUNK_BY(pv__threads_for(m->ctx, count), count, i, {
        size_t g = m->part.first + i, begin = g * m->n / m->groups, end = (g + 1) * m->n / m->groups;
        if (k == 2)
            add_two(m, shift, begin, end, m->sums + g * m->width);
        else
            add_rows(m, shift, derivatives, begin, end, m->room + g * k, m->sums + g * m->width);
    });
    pv__sum(m->ctx, &m->part, m->width, m->sums, m->total);
    double value = m->total[0];
    for (size_t y = 0; y < k; y++)
        value -= m->b[y] * shift[y];
    for (size_t y = 0; derivatives && y < k; y++)
        m->gradient[y] = m->total[1 + y] - m->b[y];
    if (derivatives)
        memcpy(m->matrix, m->total + 1 + k, J * J * sizeof *m->matrix);
    return value;
}

/* The largest relative error of a label's sum, from the last gradient. */
static double worst_of(const match *m) {
    double worst = 0;
    for (size_t y = 1; y < m->k; y++)
        worst = fmax(worst, fabs(m->gradient[y]) / m->b[y]);
    return isfinite(worst) ? worst : HUGE_VAL;
}

static const double CLOSE = 1e-13, GOOD_ENOUGH = 1e-9; /* relative errors of a label's sum */

/* One Newton step; *better is false if no step length decreases the value as much as the slope predicts. */
static pv_status newton(match *m, bool closing, double total, bool *better) {
    size_t J = m->k - 1;
    double value = value_at(m, m->shift, true), slope = 0, step = 1, *direction = m->direction;
    PV_TRY(pv__reduce_check(m->ctx));
    memcpy(direction, m->gradient + 1, J * sizeof *direction);
    *better = false;
    if (worst_of(m) < CLOSE || !pv__solve_small((int)J, m->matrix, direction))
        return PV_OK;
    for (size_t j = 0; j < J; j++)
        slope += m->gradient[j + 1] * direction[j];
    for (int halving = 0; halving < 50 && isfinite(slope) && !*better; halving++, step *= 0.5) {
        PV_TRY(closing ? PV_OK : pv__go_on(m->ctx));
        for (size_t j = 0; j < J; j++)
            m->trial[j + 1] = m->shift[j + 1] - step * direction[j];
        *better = value_at(m, m->trial, false) <= value - 1e-4 * step * slope + 1e-14 * (fabs(value) + total);
    }
    if (*better)
        memcpy(m->shift, m->trial, m->k * sizeof *m->shift);
    return PV_OK;
}

/* Solves for the shift of label y with the others fixed: its sum increases with the shift, so the solution is
 * bracketed. Uses Newton's step if it falls inside the bracket, else the middle; until there is a bracket, steps
 * grow. */
static pv_status bracket(match *m, bool closing, size_t y) {
    enum { MOST = 400 };
    double low = -HUGE_VAL, high = HUGE_VAL, step = 1;
    for (int trial = 0; trial < MOST; trial++) {
        PV_TRY(closing ? PV_OK : pv__go_on(m->ctx));
        (void)value_at(m, m->shift, true);
        PV_TRY(pv__reduce_check(m->ctx));
        double at = m->shift[y], off = m->gradient[y], curvature = m->matrix[(y - 1) * m->k];
        if (fabs(off) < CLOSE * m->b[y])
            return PV_OK;
        *(off < 0 ? &low : &high) = at;
        double next = at - off / curvature, middle = 0.5 * (low + high);
        if (isinf(low) || isinf(high)) {
            next = isfinite(next) && fabs(next - at) < step ? next : at - copysign(step, off);
            step *= 2;
        } else if (!(next > low && next < high) || trial % 3 == 2) {
            next = middle;
        }
        if (next == at || (isfinite(middle) && (middle == low || middle == high)))
            return PV_OK; /* there is no double in between */
        m->shift[y] = next;
    }
    return PV_OK;
}

/* Newton's method; if logits are so large that the curvature vanishes, solves label by label until it works again. */
static pv_status solve(pv_ctx *ctx, match *m) {
    enum { STEPS = 100, ROUNDS = 20 };
    bool closing = pv__interrupted(ctx); /* interrupted before: a stopped fit still matches its estimate */
    double total = 0;
    for (size_t y = 0; y < m->k; y++) /* equals the sum of a */
        total += m->b[y];
    for (int round = 0; round < ROUNDS; round++) {
        bool better = true;
        for (int step = 0; step < STEPS && better; step++) {
            PV_TRY(closing ? PV_OK : pv__go_on(ctx));
            PV_TRY(newton(m, closing, total, &better));
        }
        (void)value_at(m, m->shift, true);
        PV_TRY(pv__reduce_check(ctx));
        if (worst_of(m) < GOOD_ENOUGH)
            return PV_OK;
        for (size_t y = 1; y < m->k; y++)
            PV_TRY(bracket(m, closing, y));
    }
    (void)value_at(m, m->shift, true);
    PV_TRY(pv__reduce_check(ctx));
    if (worst_of(m) < 1e-6)
        return PV_OK;
    return pv__fail(ctx, PV_ERR_NUMERIC,
                    "no intercept makes the mean risk equal to the stated prevalence, because some rows have extreme "
                    "scores:\nlook for outlying cells, such as 99999999 for a missing one, and name them with `na`");
}

/* The number of sums per row; groups of rows. */
static size_t width_of(size_t k) {
    return 1 + k + (k - 1) * (k - 1);
}

static size_t groups_of(size_t n, size_t k) {
    enum { ROWS_EACH = 16384, SUMS_MOST = 1 << 20 }; /* rows per group; limit for the sums of all groups */
    size_t groups = 1 + n / ROWS_EACH, most = 1 + SUMS_MOST / width_of(k);
    most = most < GROUPS_MAX ? most : GROUPS_MAX;
    return groups < most ? groups : most;
}

void pv__match_rows(const pv_ctx *ctx, const pv__problem *problem, size_t *begin, size_t *end) {
    size_t n = problem->rows.n, groups = groups_of(n, (size_t)problem->targets.classes);
    pv__part part = pv__problem_part(ctx, problem, groups);
    *begin = part.first * n / groups;
    *end = part.last * n / groups;
}

pv_status pv__match_shift(pv_ctx *ctx, const pv__problem *problem, const double *logits, const double *a,
                          const double *b, double *shift) {
    double *block;
    size_t n = problem->rows.n, k = (size_t)problem->targets.classes;
    match m = {.ctx = ctx, .n = n, .k = k, .logits = logits, .a = a, .b = b, .shift = shift};
    m.width = width_of(k);
    m.groups = groups_of(n, k);
    m.part = pv__problem_part(ctx, problem, m.groups);
    PV_TRY(pv__alloc(ctx, 3 * k + k * k + m.groups * (m.width + k) + m.width, sizeof *block, &block));
    m.trial = block;
    m.gradient = m.trial + k;
    m.direction = m.gradient + k;
    m.matrix = m.direction + k;
    m.sums = m.matrix + k * k;
    m.room = m.sums + m.groups * m.width;
    m.total = m.room + m.groups * k;
    memset(shift, 0, k * sizeof *shift);
    pv_status status = solve(ctx, &m);
    pv__free(ctx, block);
    return status;
}

/* ---- ordered labels ----------------------------------------------------------------------------------------------
 * The thresholds couple all labels, so no shift of logits works: Newton's method in the biases themselves, for the
 * plug-in. (The selection likelihood with a fixed prevalence needs no matching, because it is a likelihood by itself.)
 */
typedef struct ordinal_match {
    size_t n, k;
    const double *a, *prevalence;        /* [n], [k] */
    double *eta, *deta;                  /* [n] */
    double *loglik, *dloglik;            /* [n][k] */
    double *mean, *trial, *step, *slope; /* [k] */
    double *matrix, *room;
} ordinal_match;

/* mean [k] at the biases b; returns the largest |log(mean/prevalence)|. */
static double ordinal_mean(const ordinal_match *m, const double *b) {
    double worst = 0;
    pv__ordinal_forward(m->n, m->k, b, m->eta, m->room, m->loglik);
    memset(m->mean, 0, m->k * sizeof *m->mean);
    for (size_t i = 0; i < m->n * m->k; i++)
        m->mean[i % m->k] += m->a[i / m->k] * exp(m->loglik[i]);
    for (size_t y = 0; y < m->k; y++)
        worst = fmax(worst, fabs(log(m->mean[y] / m->prevalence[y])));
    return worst;
}

static void ordinal_solve(const ordinal_match *m, double *b) {
    size_t J = m->k - 1;
    double worst = ordinal_mean(m, b);
    for (int iteration = 0; iteration < 100 && worst > 1e-12; iteration++) {
        for (size_t y = 1; y <= J; y++) { /* d mean_y / d b */
            for (size_t i = 0; i < m->n * m->k; i++)
                m->dloglik[i] = i % m->k == y ? m->a[i / m->k] * exp(m->loglik[i]) : 0;
            memset(m->slope, 0, J * sizeof *m->slope);
            pv__ordinal_backward(m->n, m->k, b, m->eta, m->dloglik, m->room, m->deta, m->slope);
            memcpy(m->matrix + (y - 1) * J, m->slope, J * sizeof *m->slope);
            m->step[y - 1] = m->prevalence[y] - m->mean[y];
        }
        if (!pv__solve_small((int)J, m->matrix, m->step))
            return;
        double now = HUGE_VAL;
        for (double share = 1; share > 1e-6 && !(now < worst); share *= 0.5) {
            for (size_t j = 0; j < J; j++)
                m->trial[j] = b[j] + share * m->step[j];
            now = ordinal_mean(m, m->trial);
        }
        if (!(now < worst)) /* only rounding is left */
            return;
        memcpy(b, m->trial, J * sizeof *b);
        worst = now;
    }
}

static pv_status match_ordinal(pv_ctx *ctx, const pv__problem *problem, double *w) {
    size_t n = problem->rows.n, k = (size_t)problem->targets.classes, stride;
    double *block, *b = problem->model->architecture->output_bias(problem->model, w, &stride);
    PV_TRY(pv__alloc(ctx, n * (2 * k + 3) + 4 * k + k * k + pv__ordinal_room(k), sizeof *block, &block));
    ordinal_match m = {.n = n, .k = k, .prevalence = problem->population.prevalence, .loglik = block};
    m.dloglik = m.loglik + n * k;
    m.eta = m.dloglik + n * k;
    m.deta = m.eta + n;
    double *a = m.deta + n;
    m.a = a;
    m.mean = a + n;
    m.trial = m.mean + k;
    m.step = m.trial + k;
    m.slope = m.step + k;
    m.matrix = m.slope + k;
    m.room = m.matrix + k * k;
    pv__plugin_weights(&problem->targets, m.prevalence, problem->mass, a);
    pv_status status = pv__objective_loglik(ctx, problem, w, m.loglik);
    if (status == PV_OK) {
        pv__ordinal_thresholds(k, b, m.room, m.trial);
        for (size_t i = 0; i < n; i++) /* log odds of the first label are c_0 - eta */
            m.eta[i] = m.trial[0] - m.loglik[i * k] + pv_log_sum_exp(k - 1, m.loglik + i * k + 1);
        ordinal_solve(&m, b);
    }
    pv__free(ctx, block);
    return status;
}

pv_status pv__match_prevalence(pv_ctx *ctx, const pv__problem *problem, bool selection, double *w) {
    size_t n = problem->rows.n, k = (size_t)problem->targets.classes;
    if (!pv__model_is_free(problem->model))
        return selection ? PV_OK : match_ordinal(ctx, problem, w);
    double *logits;
    PV_TRY(pv__alloc(ctx, n * (k + 1) + (1 + pv__ratio_sets(problem)) * k, sizeof *logits, &logits));
    double *a = logits + n * k, *shift = a + n, *log_ratio = shift + k;
    pv_status status;
    size_t begin, end;
    pv__match_rows(ctx, problem, &begin, &end);
    pv_targets own = pv__targets_slice(&problem->targets, begin, end - begin);
    PV_GOTO(done, pv__objective_loglik_of(ctx, problem, w, begin, end, logits));
    pv__log_ratio(problem, log_ratio);
    for (size_t i = begin * k; selection && i < end * k; i++)
        logits[i] += pv__ratio_of(&problem->targets, log_ratio, i / k)[i % k];
    if (!selection)
        pv__plugin_weights(&own, problem->population.prevalence, problem->mass, a + begin);
    for (size_t i = begin; selection && i < end; i++)
        a[i] = pv__weight(&problem->targets, i);
    const double *b = selection ? problem->mass : problem->population.prevalence;
    status = pv__match_shift(ctx, problem, logits, a, b, shift);
    if (status == PV_ERR_INTERRUPTED) /* hours of training must not be lost, so finish despite the interruption */
        status = pv__match_shift(ctx, problem, logits, a, b, shift);
    PV_GOTO(done, status);
    pv_model_shift(problem->model, shift, w);
done:
    pv__free(ctx, logits);
    return status;
}

/* ---- after a fit ------------------------------------------------------------------------------------------------- */

static void move_all(const pv__problem *problem, const double *shift, pv_classifier *c) {
    pv_posterior *p = c->posterior;
    pv_model_shift(problem->model, shift, c->w);
    for (size_t i = 0; p && i < p->count; i++)
        pv__model_shift_draw(problem->model, shift, p->dims, p->draws + i * p->dims);
    for (size_t i = 0; p && i < p->mixture.components; i++)
        pv_model_shift(problem->model, shift, p->mixture.mean + i * p->dims);
}

/* For losses whose marginal is the shifted mean: updates it at the maximum and for each draw. */
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
    size_t n = problem->rows.n, k = (size_t)problem->targets.classes, begin, end;
    double *block;
    if (problem->plan->match == PV_MATCH_NONE)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, n * (k + 1) + 2 * k, sizeof *block, &block));
    double *a = block + n * k, *target = a + n, *shift = target + k;
    pv_status status;
    for (size_t y = 0; y < k; y++) /* profile has its own; for others, the mean to be shifted */
        target[y] = pv__is_profile(problem) ? exp(c->log_marginal[y]) : problem->population.prevalence[y];
    pv__match_rows(ctx, problem, &begin, &end);
    pv_targets own = pv__targets_slice(&problem->targets, begin, end - begin);
    PV_GOTO(done, pv__objective_loglik_of(ctx, problem, c->w, begin, end, block));
    pv__plugin_weights(&own, target, problem->mass, a + begin);
    PV_GOTO(done, pv__match_shift(ctx, problem, block, a, target, shift));
    move_all(problem, shift, c);
    if (!pv__is_profile(problem))
        PV_GOTO(done, find_marginals(ctx, problem, c));
done:
    pv__free(ctx, block);
    return status;
}
