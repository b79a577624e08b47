/* The prevalence of a target sample, by each method. r_n(y) = p(y|x_n,w)/p(y|w), rho_n(y) = pi_y r_n(y)/q_n.
 *
 *   exact  p(pi | X*) prop. to prod_y pi_y^(alpha_y - 1) prod_n sum_y pi_y r_n(y): quadrature.c, sampler.c
 *   vb     q_n(y) prop. to r_n(y) exp(psi(alpha_y) - psi(sum alpha)),  alpha_y = alpha_y0 + sum_n q_n(y)  (Appendix G,
 *          Eqs. VBI unknown test prevalence)
 *   em     pi_y = 1/N sum_n rho_n(y)                                          (Saerens, Latinne and Decaestecker 2002)
 *   bbse   C pi = mu, C_ij = p(decision i | label j), mu_i the rate of decision i here       (Lipton, Wang, Smola 2018)
 *
 * Known labels add to alpha, or to the counts. em and vb converge linearly: if successive changes have ratio c, the
 * remaining distance is change c/(1-c), and they stop when that is below 1e-9.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/target.h"

static const double REST = 1e-9;
static const double LEAST = 1e-12; /* bbse: smallest prevalence after clipping */

pv_status pv__solver_init(pv_ctx *ctx, const pv_unknown_options *options, char *const *labels, int classes,
                          pv__solver *s) {
    size_t k = (size_t)classes;
    *s = (pv__solver){.options = options, .classes = classes};
    pv_status status;
    PV_GOTO(failed, pv__dirichlet_parse(ctx, options->dirichlet, labels, classes, &s->prior));
    PV_GOTO(failed, pv__alloc(ctx, 14 * k + k * k, sizeof(double), &s->alpha));
    s->posterior = s->alpha + k;
    s->value = s->posterior + k;
    s->sd = s->value + k;
    s->plugin = s->sd + k;
    s->given = s->plugin + k;
    s->moved = s->given + k;
    s->flat_value = s->moved + k;
    s->flat_sd = s->flat_value + k;
    s->work = s->flat_sd + k;
    if (classes > 2)
        PV_GOTO(failed, pv__many_init(ctx, classes, &s->many));
    s->fixed = isinf(s->prior.k) && s->prior.kind != PV__DIRICHLET_COUNTS && options->method <= PV_UNKNOWN_VB;
    return PV_OK;
failed:
    pv__solver_clear(ctx, s);
    return status;
}

void pv__solver_clear(pv_ctx *ctx, pv__solver *s) {
    pv__free(ctx, s->prior.counts);
    pv__free(ctx, s->alpha);
    pv__pair_clear(ctx, &s->pair);
    pv__many_clear(ctx, &s->many);
    *s = (pv__solver){0};
}

/* ---- linear convergence ------------------------------------------------------------------------------------------ */

typedef struct convergence {
    double last;
} convergence;

static bool converged(convergence *c, double change) {
    double ratio = c->last > 0 ? change / c->last : 1;
    c->last = change;
    return change == 0 || (ratio < 1 && change * ratio / (1 - ratio) < REST && change < 1e-6);
}

static pv_status solve_em(pv_ctx *ctx, pv__solver *s, pv__mixture *m, const double *log_marginal) {
    size_t k = (size_t)s->classes;
    double *pi = s->value, *sums = s->work, total = m->total;
    pv_log_softmax(s->classes, log_marginal, pi);
    for (size_t y = 0; y < k; y++) {
        pi[y] = exp(pi[y]);
        total += m->known[y];
    }
    convergence path = {0};
    s->stop = PV_STOP_MAX_ITER;
    for (s->iterations = 0; s->iterations < s->options->max_iter && s->stop == PV_STOP_MAX_ITER;) {
        pv__mixture_sums(ctx, m, pi, sums, NULL);
        s->iterations++;
        double change = 0;
        for (size_t y = 0; y < k; y++) {
            double next = fmax((sums[y] + m->known[y]) / total, 1e-300);
            change = fmax(change, fabs(next - pi[y]));
            pi[y] = next;
        }
        if (converged(&path, change))
            s->stop = PV_STOP_CONVERGED;
        else if (pv__interrupted(ctx))
            s->stop = PV_STOP_INTERRUPTED;
    }
    memcpy(s->plugin, pi, k * sizeof *pi);
    for (size_t y = 0; y < k; y++)
        pi[y] = pi[y] > 1e-299 ? pi[y] : 0; /* the floor was only for the ratios */
    return PV_OK;
}

/* exp(psi(alpha_y)), normalised: the scale does not affect rho. */
static void expected_logs(int k, const double *alpha, double *pi) {
    for (int y = 0; y < k; y++)
        pi[y] = pv_digamma(alpha[y]);
    pv_log_softmax(k, pi, pi);
    for (int y = 0; y < k; y++)
        pi[y] = fmax(exp(pi[y]), 1e-300);
}

static pv_status update_vb(pv_ctx *ctx, pv__solver *s, pv__mixture *m, double more) {
    size_t k = (size_t)s->classes;
    double *alpha = s->posterior, *sums = s->work, total = 0;
    convergence path = {0};
    for (size_t y = 0; y < k; y++) {
        s->given[y] = alpha[y] = s->alpha[y] + m->known[y] + more; /* alpha is updated from here on */
        total += alpha[y];
    }
    total += m->total;
    s->stop = PV_STOP_MAX_ITER;
    for (s->iterations = 0; s->iterations < s->options->max_iter && s->stop == PV_STOP_MAX_ITER;) {
        expected_logs(s->classes, alpha, s->plugin);
        pv__mixture_sums(ctx, m, s->plugin, sums, NULL);
        s->iterations++;
        double change = 0;
        for (size_t y = 0; y < k; y++) {
            double next = s->given[y] + sums[y];
            change = fmax(change, fabs(next - alpha[y]) / total);
            alpha[y] = next;
        }
        if (converged(&path, change))
            s->stop = PV_STOP_CONVERGED;
        else if (pv__interrupted(ctx))
            s->stop = PV_STOP_INTERRUPTED;
    }
    expected_logs(s->classes, alpha, s->plugin);
    for (size_t y = 0; y < k; y++) {
        s->value[y] = alpha[y] / total;
        s->sd[y] = sqrt(s->value[y] * (1 - s->value[y]) / (total + 1));
    }
    return PV_OK;
}

/* With a flat prior, solves first with half an observation more of each label, to see how much that moves the mean. */
static pv_status solve_vb(pv_ctx *ctx, pv__solver *s, pv__mixture *m) {
    if (s->flat) {
        PV_TRY(update_vb(ctx, s, m, 0.5));
        memcpy(s->moved, s->value, (size_t)s->classes * sizeof *s->moved);
    }
    return update_vb(ctx, s, m, 0);
}

/* The label with the largest r. */
static size_t most_likely(const pv__mixture *m, size_t i) {
    if (m->classes == 2)
        return m->r[i] > 0.5;
    size_t best = 0;
    for (size_t y = 1; y < (size_t)m->classes; y++)
        if (m->r[y * m->n + i] > m->r[best * m->n + i])
            best = y;
    return best;
}

static pv_status solve_bbse(pv_ctx *ctx, pv__solver *s, pv__mixture *m) {
    size_t k = (size_t)s->classes;
    double *share = s->value, *matrix = s->work, sum = 0, known = 0;
    memset(share, 0, k * sizeof *share);
    for (size_t i = 0; i < m->n; i++)
        share[most_likely(m, i)] += (m->weight ? m->weight[i] : 1) / fmax(m->total, 1e-300);
    memcpy(matrix, s->options->confusion, k * k * sizeof *matrix);
    if (!pv__solve_small(s->classes, matrix, share))
        return pv__fail(
            ctx, PV_ERR_INPUT,
            "bbse: the confusion matrix is singular: decisions do not separate the labels;\nuse `method=exact`");
    for (size_t y = 0; y < k; y++) {
        sum += share[y] = fmax(share[y], LEAST); /* sampling error can leave the simplex */
        known += m->known[y];
    }
    for (size_t y = 0; y < k; y++)
        s->plugin[y] = share[y] = (share[y] / sum * m->total + m->known[y]) / (m->total + known);
    s->iterations = 1;
    s->stop = PV_STOP_COMPLETED;
    return PV_OK;
}

/* ---- information in the rows ------------------------------------------------------------------------------------- */

/* The number of labelled rows that would determine value as well as sd does with a flat prior, not counting the k
 * observations of that prior: n rows leave a variance of about value (1 - value)/(n + k + 1). */
double pv__worth(int k, const double *value, const double *sd) {
    double least = HUGE_VAL;
    for (int y = 0; y < k; y++)
        least = fmin(least, value[y] * (1 - value[y]) / fmax(sd[y] * sd[y], 1e-300) - k - 1);
    return fmax(least, 0);
}

/* sd of pi from the curvature at the mode: |factor^-1 J_y|, J = diag pi - pi pi', in the coordinates of the sampler.
 */
static void laplace_sd(const pv__many *many, double *row, double *sd) {
    size_t k = (size_t)many->classes, n = k - 1;
    for (size_t y = 0; y < k; y++) {
        size_t i = 0;
        for (size_t x = 0; x < k; x++)
            if ((int)x != many->reference)
                row[i++] = many->mode[y] * ((x == y) - many->mode[x]);
        double squares = 0;
        for (i = 0; i < n; i++) {
            for (size_t j = 0; j < i; j++)
                row[i] -= many->factor[i * n + j] * row[j];
            row[i] /= many->factor[i * n + i];
            squares += row[i] * row[i];
        }
        sd[y] = sqrt(squares);
    }
}

static pv_status solve_exact(pv_ctx *ctx, pv__solver *s, pv__mixture *m, const double *alpha, double *sd) {
    s->stop = PV_STOP_CONVERGED;
    if (s->classes > 2) {
        PV_TRY(pv__many_mode(ctx, m, alpha, &s->many));
        s->iterations = s->many.passes;
        if (!s->many.converged)
            s->stop = PV_STOP_NO_PROGRESS;
        laplace_sd(&s->many, s->work, sd);
        memcpy(s->value, s->many.mode, (size_t)s->classes * sizeof *s->value);
        return PV_OK;
    }
    PV_TRY(pv__pair_solve(ctx, m, alpha, &s->pair));
    s->iterations = s->pair.passes;
    if (!s->pair.converged)
        s->stop = PV_STOP_NO_PROGRESS;
    pv__points points = {s->pair.count, 2, s->pair.pi, s->pair.weight};
    pv__points_moments(&points, s->value, sd);
    if (s->flat)
        s->movement = pv__points_movement(&points, s->value, sd, &s->swayed);
    return PV_OK;
}

/* The result with a flat prior, from the mode and the curvature there. */
static pv_status solve_flat(pv_ctx *ctx, pv__solver *s, pv__mixture *m) {
    size_t k = (size_t)s->classes;
    double *alpha = s->work + k, scale;
    int64_t passes = 0;
    for (size_t y = 0; y < k; y++)
        alpha[y] = 1 + m->known[y];
    if (k == 2) {
        double z = pv__pair_mode(ctx, m, alpha, &scale, &passes);
        s->flat_value[0] = pv_sigmoid(-z);
        s->flat_value[1] = pv_sigmoid(z);
        s->flat_sd[0] = s->flat_sd[1] = s->flat_value[0] * s->flat_value[1] * scale;
        return PV_OK;
    }
    PV_TRY(pv__many_mode(ctx, m, alpha, &s->many));
    laplace_sd(&s->many, s->work, s->flat_sd);
    memcpy(s->flat_value, s->many.mode, k * sizeof *s->flat_value);
    return PV_OK;
}

/* How far another prior moves the result, in units of the sd under a flat prior; `least`: the threshold for a
 * warning. */
static void compare_priors(pv__solver *s, const double *other, double least) {
    s->movement = 0;
    for (int y = 0; y < s->classes; y++) {
        double move = fabs(s->value[y] - other[y]);
        s->movement = fmax(s->movement, move / fmax(s->flat_sd[y], 1e-300));
        s->swayed = s->swayed || (move > least * s->flat_sd[y] && move > 0.05);
    }
}

static void solve_fixed(pv__solver *s) {
    size_t k = (size_t)s->classes;
    for (size_t y = 0; y < k; y++) {
        s->value[y] = s->plugin[y] = s->alpha[y];
        s->sd[y] = 0;
    }
    s->iterations = 0;
    s->stop = PV_STOP_CONVERGED;
    s->worth = HUGE_VAL; /* the prevalence is fixed, so the rows are not needed */
    s->movement = (double)NAN;
    s->swayed = false;
}

pv_status pv__solver_run(pv_ctx *ctx, pv__solver *s, pv__mixture *m, const double *marginal,
                         const double *log_marginal) {
    size_t k = (size_t)s->classes;
    pv__dirichlet_set(&s->prior, s->classes, marginal, s->alpha);
    if (s->fixed) {
        solve_fixed(s);
        return PV_OK;
    }
    for (size_t y = 0; y < k; y++) {
        s->posterior[y] = s->alpha[y] + m->known[y];
        s->sd[y] = (double)NAN;
    }
    bool has_prior = s->options->method <= PV_UNKNOWN_VB;
    s->flat = has_prior && s->prior.kind == PV__DIRICHLET_EQUAL && s->prior.k == 1;
    s->movement = (double)NAN;
    s->swayed = false;
    if (!s->flat || s->options->method == PV_UNKNOWN_VB)
        PV_TRY(solve_flat(ctx, s, m)); /* first, because the sampler reuses the last mode */
    switch ((pv_unknown_method)s->options->method) {
    case PV_UNKNOWN_BINS: /* handled elsewhere */
    case PV_UNKNOWN_EXACT:
        PV_TRY(solve_exact(ctx, s, m, s->posterior, s->sd));
        break;
    case PV_UNKNOWN_VB:
        PV_TRY(solve_vb(ctx, s, m));
        break;
    case PV_UNKNOWN_EM:
        PV_TRY(solve_em(ctx, s, m, log_marginal));
        break;
    case PV_UNKNOWN_BBSE:
        PV_TRY(solve_bbse(ctx, s, m));
        break;
    }
    bool own = s->flat && s->options->method == PV_UNKNOWN_EXACT;
    s->worth = own ? pv__worth(s->classes, s->value, s->sd) : pv__worth(s->classes, s->flat_value, s->flat_sd);
    if (has_prior && !s->flat)
        compare_priors(s, s->flat_value, 1);
    else if (has_prior && !own)
        compare_priors(s, s->moved, 0.25);
    if (isnan(s->value[0]))
        return pv__fail(ctx, PV_ERR_NUMERIC, "the log-likelihoods of the target sample are not finite");
    return PV_OK;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

void pv__points_moments(const pv__points *points, double *mean, double *sd) {
    size_t k = points->classes;
    memset(mean, 0, k * sizeof *mean);
    memset(sd, 0, k * sizeof *sd);
    for (size_t j = 0; j < points->count; j++)
        for (size_t y = 0; y < k; y++)
            mean[y] += points->weight[j] * points->pi[j * k + y];
    for (size_t j = 0; j < points->count; j++)
        for (size_t y = 0; y < k; y++)
            sd[y] += points->weight[j] * (points->pi[j * k + y] - mean[y]) * (points->pi[j * k + y] - mean[y]);
    for (size_t y = 0; y < k; y++)
        sd[y] = sqrt(sd[y]);
}

/* Half an observation more of each label multiplies each point's weight by prod pi^1/2. */
double pv__points_movement(const pv__points *points, const double *mean, const double *sd, bool *swayed) {
    size_t k = points->classes;
    double most = 0;
    for (size_t y = 0; y < k; y++) {
        double sum = 0, moved = 0;
        for (size_t j = 0; j < points->count; j++) {
            double factor = points->weight[j];
            for (size_t x = 0; x < k; x++)
                factor *= sqrt(points->pi[j * k + x]);
            sum += factor;
            moved += factor * points->pi[j * k + y];
        }
        double move = fabs(moved / sum - mean[y]);
        most = fmax(most, move / fmax(sd[y], 1e-300));
        *swayed = *swayed || (move > 0.25 * sd[y] && move > 0.05);
    }
    return most;
}

static int by_value(const void *a, const void *b, void *values) {
    const double *v = *(const double *const *)values;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return v[i] < v[j] ? -1 : v[i] > v[j] ? 1 : i < j ? -1 : i > j;
}

void pv__sort_by(size_t n, const double *value, size_t *order) {
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, by_value, &value);
}

double pv__weighted_quantile(size_t n, const double *value, const double *weight, const size_t *order, double p) {
    double before = 0, last = -1, last_value = value[order[0]];
    for (size_t i = 0; i < n; i++) {
        double middle = before + 0.5 * weight[order[i]], here = value[order[i]];
        before += weight[order[i]];
        if (middle >= p)
            return last < 0 ? here : last_value + (here - last_value) * (p - last) / (middle - last);
        last = middle;
        last_value = here;
    }
    return last_value;
}
