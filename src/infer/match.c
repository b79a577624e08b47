/* A known prevalence, held exactly: the output biases are shifted, by Newton's method in K-1 unknowns, until
 *   plug-in     sum_n rho_n p(y|x_n) = prevalence(y), or
 *   selection   sum_n v_n p_{s=1}(y|x_n) = n_y, which makes the profile's lambda the prevalence (BEYOND's twin).
 * Both are the gradient of a convex function of the shifts d, sum_n a_n logsumexp_y(g_ny + d_y) - sum_y b_y d_y.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

typedef struct match {
    size_t n, k;
    const double *logits;                 /* [n][k]: f, or f + log ratio */
    const double *a;                      /* [n] */
    const double *b;                      /* [k] */
    double *shift, *trial, *p, *gradient; /* [k] */
    double *matrix;                       /* [k-1][k-1] */
} match;

/* Value, and where wanted gradient and curvature in shifts 1 .. k-1 (shift 0 stays 0). */
static double value_at(const match *m, const double *shift, bool derivatives) {
    size_t k = m->k, J = k - 1;
    double value = 0;
    if (derivatives) {
        memset(m->matrix, 0, J * J * sizeof *m->matrix);
        for (size_t y = 0; y < k; y++)
            m->gradient[y] = -m->b[y];
    }
    for (size_t n = 0; n < m->n; n++) {
        for (size_t y = 0; y < k; y++)
            m->p[y] = m->logits[n * k + y] + shift[y];
        double norm = pv_log_sum_exp(k, m->p);
        value += m->a[n] * norm;
        for (size_t y = 0; derivatives && y < k; y++)
            m->p[y] = exp(m->p[y] - norm);
        for (size_t y = 1; derivatives && y < k; y++) {
            m->gradient[y] += m->a[n] * m->p[y];
            for (size_t z = 1; z < k; z++)
                m->matrix[(y - 1) * J + z - 1] += m->a[n] * m->p[y] * ((y == z) - m->p[z]);
        }
    }
    for (size_t y = 0; y < k; y++)
        value -= m->b[y] * shift[y];
    return value;
}

static void solve(match *m) {
    size_t J = m->k - 1;
    double total = 0;
    for (size_t n = 0; n < m->n; n++)
        total += m->a[n];
    for (int iteration = 0; iteration < 100; iteration++) {
        double value = value_at(m, m->shift, true), worst = 0, slope = 0, step = 1;
        for (size_t j = 1; j <= J; j++)
            worst = fmax(worst, fabs(m->gradient[j]) / m->b[j]);
        double *direction = m->p + m->k;
        memcpy(direction, m->gradient + 1, J * sizeof *direction);
        if (worst < 1e-13 || !pv__solve_small((int)J, m->matrix, direction))
            return;
        for (size_t j = 0; j < J; j++)
            slope += m->gradient[j + 1] * direction[j];
        for (int halving = 0; halving < 50; halving++, step *= 0.5) {
            for (size_t j = 0; j < J; j++)
                m->trial[j + 1] = m->shift[j + 1] - step * direction[j];
            if (value_at(m, m->trial, false) <= value - 1e-4 * step * slope + 1e-14 * (fabs(value) + total))
                break;
        }
        memcpy(m->shift, m->trial, m->k * sizeof *m->shift);
    }
}

pv_status pv__match_shift(pv_ctx *ctx, size_t n, size_t k, const double *logits, const double *a, const double *b,
                          double *shift) {
    double *block;
    PV_TRY(pv__alloc(ctx, 4 * k + k * k, sizeof *block, &block));
    match m = {.n = n, .k = k, .logits = logits, .a = a, .b = b, .shift = shift, .trial = block};
    m.gradient = m.trial + k;
    m.p = m.gradient + k; /* with room for the direction behind it */
    m.matrix = m.p + 2 * k;
    memset(shift, 0, k * sizeof *shift);
    solve(&m);
    pv__free(ctx, block);
    return PV_OK;
}

pv_status pv__match_prevalence(pv_ctx *ctx, const pv__problem *problem, bool selection, double *w) {
    size_t n = problem->n, k = (size_t)problem->targets.classes;
    double *logits;
    PV_TRY(pv__alloc(ctx, n * (k + 1) + (1 + pv__ratio_sets(problem)) * k, sizeof *logits, &logits));
    double *a = logits + n * k, *shift = a + n, *log_ratio = shift + k;
    pv_status status;
    PV_GOTO(done, pv__objective_loglik(ctx, problem, w, logits));
    pv__log_ratio(problem, log_ratio);
    for (size_t i = 0; selection && i < n * k; i++)
        logits[i] += pv__ratio_of(&problem->targets, log_ratio, i / k)[i % k];
    if (!selection)
        pv__plugin_weights(&problem->targets, problem->population.prevalence, problem->mass, a);
    for (size_t i = 0; selection && i < n; i++)
        a[i] = pv__weight(&problem->targets, i);
    PV_GOTO(done,
            pv__match_shift(ctx, n, k, logits, a, selection ? problem->mass : problem->population.prevalence, shift));
    pv_model_shift(problem->model, shift, w);
done:
    pv__free(ctx, logits);
    return status;
}
