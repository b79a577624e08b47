/* Standard errors of a linear model whose labels were recorded with errors (core/label_error.h).
 *
 *   Cov(w) = A^-1 B A^-1 + sum_j v_j d_j d_j^T,   d_j = - A^-1 dU/dpsi_j
 *
 * U is the score, A = - dU/dw + the prior's curvature, B the sum of squares of the rows' scores: centred within each
 * recorded label if rows were sampled by it, and times n/(n - P) unless `errors=hc0`. psi are the two values of
 * `label-error` and the stated prevalence, each with the variance v_j of what it was estimated from (0: known), which
 * are independent of each other and of the rows. dU/dpsi is a difference, towards 1/2, where it is defined.
 *
 * Domain: rows are independent; their weights are counts. Limits: as normal as the estimates are; with few validated
 * labels of a rare outcome they are skewed.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"
#include "core/label_error.h"
#include "infer/infer.h"

enum { PARAMS_MOST = 300 };
static const double WORK_MOST = 2e9; /* rows times parameters squared: some seconds */

typedef struct scores {
    const pv__problem *problem;
    size_t n, P;
    bool by_label; /* rows were sampled by the recorded label */
    double *loglik, *x, *row;
    double *bread, *meat, *inverse, *covariance; /* [P][P] */
    double *mean, *total, *moved, *step;         /* [2][P], [P], [P], [P] */
} scores;

static pv_status scores_new(pv_ctx *ctx, const pv__problem *problem, const double *w, scores *s) {
    size_t P = pv_model_params(problem->model), n = problem->rows.n;
    *s = (scores){.problem = problem, .n = n, .P = P, .by_label = pv_loss_has_marginal(pv__problem_loss(problem))};
    PV_TRY(pv__alloc(ctx, n, 2 * sizeof *s->loglik, &s->loglik));
    PV_TRY(pv__alloc(ctx, P, (4 * P + 6) * sizeof *s->bread, &s->bread));
    PV_TRY(pv__alloc(ctx, (size_t)pv_model_inputs(problem->model) + 1, sizeof *s->x, &s->x));
    s->meat = s->bread + P * P;
    s->inverse = s->meat + P * P;
    s->covariance = s->inverse + P * P;
    s->mean = s->covariance + P * P;
    s->total = s->mean + 2 * P;
    s->moved = s->total + P;
    s->step = s->moved + P;
    s->row = s->step + P;
    return pv__objective_loglik(ctx, problem, w, s->loglik);
}

static void scores_free(pv_ctx *ctx, scores *s) {
    pv__free(ctx, s->loglik);
    pv__free(ctx, s->bread);
    pv__free(ctx, s->x);
}

/* The columns of row i after a 1, to s->row. */
static void read_row(const scores *s, size_t i) {
    const double *x = pv__problem_row(s->problem, i, s->x);
    s->row[0] = 1;
    memcpy(s->row + 1, x, (s->P - 1) * sizeof *x);
}

static double ratio_of(const scores *s, const pv_label_error *error) {
    const double *share = s->problem->label_share;
    return s->by_label ? log(share[1] / share[0]) - log(error->share) + log1p(-error->share) : 0;
}

/* The derivative of a row's log-likelihood with respect to the log odds of its true label. */
static double score_of(const pv__recorded *row, int label) {
    return row->slope * exp(row->log_p[1 - label]) * (label == 1 ? 1 : -1);
}

/* The score of all rows, U [P]. */
static void add_scores(const scores *s, const pv_label_error *error, double *U) {
    const pv_targets *t = &s->problem->targets;
    double ratio = ratio_of(s, error);
    memset(U, 0, s->P * sizeof *U);
    for (size_t i = 0; i < s->n; i++) {
        pv__recorded row = pv__recorded_of(error, ratio, s->loglik + 2 * i);
        double u = pv__weight(t, i) * score_of(&row, t->label[i]);
        read_row(s, i);
        for (size_t j = 0; j < s->P; j++)
            U[j] += u * s->row[j];
    }
}

static void add_square(size_t P, double by, const double *row, double *square) {
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j <= i; j++)
            square[i * P + j] += by * row[i] * row[j];
}

static void mirror(size_t P, double *square) {
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < i; j++)
            square[j * P + i] = square[i * P + j];
}

/* A without the prior, and B. */
static void fill_matrices(const scores *s, const pv_label_error *error) {
    const pv_targets *t = &s->problem->targets;
    double ratio = ratio_of(s, error), *mass = s->problem->mass, units = mass[0] + mass[1];
    for (size_t i = 0; i < s->n; i++) {
        pv__recorded row = pv__recorded_of(error, ratio, s->loglik + 2 * i);
        int y = t->label[i];
        double v = pv__weight(t, i), u = score_of(&row, y), rest = exp(row.log_p[1 - y]) * (y == 1 ? 1 : -1);
        double bend = row.slope * row.slope * exp(row.log_p[0] + row.log_p[1]) - rest * row.bend;
        read_row(s, i);
        add_square(s->P, v * bend, s->row, s->bread);
        add_square(s->P, v * u * u, s->row, s->meat);
        for (size_t j = 0; j < s->P; j++)
            s->mean[(size_t)y * s->P + j] += v * u * s->row[j] / mass[y];
    }
    for (int y = 0; s->by_label && y < 2; y++)
        add_square(s->P, -mass[y], s->mean + (size_t)y * s->P, s->meat);
    bool plain = s->problem->plan->options.errors == PV_ERRORS_HC0 || units <= (double)s->P;
    double scale = plain ? 1 : units / (units - (double)s->P);
    for (size_t i = 0; i < s->P * s->P; i++)
        s->meat[i] *= scale;
    mirror(s->P, s->bread);
    mirror(s->P, s->meat);
}

/* covariance = inverse meat inverse */
static void fill_sandwich(const scores *s) {
    size_t P = s->P;
    for (size_t i = 0; i < P; i++) {
        memset(s->row, 0, P * sizeof *s->row);
        for (size_t a = 0; a < P; a++)
            for (size_t b = 0; b < P; b++)
                s->row[b] += s->inverse[i * P + a] * s->meat[a * P + b];
        for (size_t j = 0; j < P; j++)
            for (size_t b = 0; b < P; b++)
                s->covariance[i * P + j] += s->row[b] * s->inverse[b * P + j];
    }
}

/* Adds the part of one uncertain value: the errors' (0, 1) or the prevalence (2). */
static void add_uncertain(const scores *s, int which) {
    const pv__problem *problem = s->problem;
    pv_label_error moved = *pv__problem_label_error(problem);
    double prevalence = s->by_label ? problem->population.prevalence[1] : (double)NAN;
    double n = problem->population.prevalence_n, at = which < 2 ? moved.value[which] : prevalence;
    double variance = which < 2                  ? pv__label_error_variance(&moved, which)
                      : !s->by_label || isinf(n) ? 0
                                                 : prevalence * (1 - prevalence) / n;
    double step = 1e-6 * fmin(1, 10 * fmin(at, 1 - at) + 1e-2) * (at > 0.5 ? -1 : 1);
    if (!(variance > 0))
        return;
    if (which < 2)
        moved.value[which] += step;
    if (!pv__label_error_complete(&moved, prevalence + (which == 2 ? step : 0)))
        return; /* not for values that are inside their domain */
    add_scores(s, &moved, s->moved);
    for (size_t i = 0; i < s->P; i++) {
        s->step[i] = 0;
        for (size_t j = 0; j < s->P; j++)
            s->step[i] += s->inverse[i * s->P + j] * (s->moved[j] - s->total[j]) / step;
    }
    for (size_t i = 0; i < s->P; i++)
        for (size_t j = 0; j < s->P; j++)
            s->covariance[i * s->P + j] += variance * s->step[i] * s->step[j];
}

static bool fill_covariance(const scores *s, const double *w) {
    const pv_label_error *error = pv__problem_label_error(s->problem);
    fill_matrices(s, error);
    for (size_t i = 0; i < s->P; i++)
        s->bread[i * (s->P + 1)] += pv__prior_bend(s->problem, i, w[i]);
    if (!pv__cholesky(s->P, s->bread, 0))
        return false;
    pv__factor_invert(s->P, s->bread, s->inverse);
    fill_sandwich(s);
    add_scores(s, error, s->total);
    for (int which = 0; which < 3; which++)
        add_uncertain(s, which);
    return true;
}

pv_status pv__label_error_errors(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                                 pv_classifier *c) {
    double P = (double)pv_model_params(problem->model);
    scores s;
    c->no_errors = solution->stop != PV_STOP_CONVERGED ? "the optimum was not reached exactly; raise `max-iter`"
                   : P > PARAMS_MOST                   ? "there are more than 300 coefficients"
                   : (double)problem->rows.n * P * P > WORK_MOST ? "they would take much longer than the fit"
                   : problem->plan->map && problem->plan->prior.kind == PV_PRIOR_LAPLACE
                       ? "`prior=laplace` has no curvature at zero; use normal:2.5"
                       : NULL;
    if (c->no_errors)
        return PV_OK;
    pv_status status;
    PV_GOTO(done, scores_new(ctx, problem, solution->w, &s));
    if (fill_covariance(&s, solution->w))
        status = pv__errors_keep(ctx, s.covariance, NULL, HUGE_VAL, c);
    else
        c->no_errors = "the curvature is not positive in every direction: these labels do not determine the model";
done:
    scores_free(ctx, &s);
    return status;
}
