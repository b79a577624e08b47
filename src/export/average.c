/* Risks of a linear model averaged over its coefficients, as steps: what infer/averaging.c computes row by row.
 *
 *   p_y ~ E 1/(1 + exp(-l_y)),  l_y ~ N(m, s^2)
 *
 * by the same two trapezoidal sums, with nodes that suit every row:
 *   s <= 3   sum over z of h phi(z) sigma(m + s z),  h = min(1/2, 3/(4 s)), z = i h for i = -32 .. 44
 *   s > 3    sum over t of h sigma'(t) Phi((m - t)/s),  h = 3/4, t = i h for i = -53 .. 53
 * at m <= 0. The sums are equal up to terms below 1e-14 that one has and the other leaves out.
 */
#include <math.h>

#include "data/schema_learn.h"
#include "export/export.h"

static int two(pv__steps *s, pv__step_kind kind, int a, int b) {
    return pv__steps_two(s, kind, a, b);
}

/* ---- the mean of a logistic function ----------------------------------------------------------------------------- */

enum { NEAR_NODES = 77, FAR_NODES = 107 };
static const double LARGE = 3; /* standard deviation of the logit up to which the first sum is used */

/* sum of h phi(z) sigma(m + s z) */
static int by_normal(pv__steps *to, int m, int s) {
    double index[NEAR_NODES];
    for (int i = 0; i < NEAR_NODES; i++)
        index[i] = i - 32;
    int h = two(to, PV__STEP_DIVIDE, pv__steps_number(to, 0.75), two(to, PV__STEP_MAX, s, pv__steps_number(to, 1.5)));
    int z = two(to, PV__STEP_MULTIPLY, h, pv__steps_matrix(to, 1, NEAR_NODES, index));
    int square = two(to, PV__STEP_MULTIPLY, two(to, PV__STEP_MULTIPLY, z, z), pv__steps_number(to, -0.5));
    int sigma = pv__steps_log_sigma(to, two(to, PV__STEP_ADD, m, two(to, PV__STEP_MULTIPLY, s, z)));
    int sum = pv__steps_one(to, PV__STEP_SUM, pv__steps_one(to, PV__STEP_EXP, two(to, PV__STEP_ADD, square, sigma)));
    return two(to, PV__STEP_MULTIPLY, sum, two(to, PV__STEP_MULTIPLY, h, pv__steps_number(to, 0.39894228040143267794)));
}

/* weights . Phi((m - t)/s) */
static int by_logistic(pv__steps *to, int m, int s) {
    double node[FAR_NODES], weight[FAR_NODES];
    const int middle = FAR_NODES / 2;
    for (int i = 0; i < FAR_NODES; i++) {
        node[i] = 0.75 * (i - middle);
        double e = exp(-fabs(node[i]));
        weight[i] = 0.5 * 0.75 * e / ((1 + e) * (1 + e));
    }
    int u = two(to, PV__STEP_SUBTRACT, pv__steps_matrix(to, 1, FAR_NODES, node), m);
    u = two(to, PV__STEP_DIVIDE, u, two(to, PV__STEP_MAX, s, pv__steps_number(to, LARGE)));
    u = two(to, PV__STEP_MULTIPLY, u, pv__steps_number(to, 0.70710678118654752440));
    return two(to, PV__STEP_MATMUL, pv__steps_one(to, PV__STEP_ERFC, u), pv__steps_matrix(to, FAR_NODES, 1, weight));
}

/* The mean of sigma(l), l ~ N(logit, variance). */
static int logistic_mean(pv__steps *to, int logit, int variance) {
    int zero = pv__steps_number(to, 0), one = pv__steps_number(to, 1);
    int s = pv__steps_one(to, PV__STEP_SQRT, two(to, PV__STEP_MAX, variance, zero));
    s = two(to, PV__STEP_MIN, s, pv__steps_number(to, 100));
    int m = two(to, PV__STEP_SUBTRACT, zero, pv__steps_one(to, PV__STEP_ABS, logit));
    int small = pv__steps_select(to, two(to, PV__STEP_AT_MOST, s, pv__steps_number(to, LARGE)), by_normal(to, m, s),
                                 by_logistic(to, m, s));
    return pv__steps_select(to, two(to, PV__STEP_AT_MOST, logit, zero), small, two(to, PV__STEP_SUBTRACT, one, small));
}

/* ---- the variance of a logit ------------------------------------------------------------------------------------- */

/* The covariance of logits j and l at (1, x); `half`: (1, x) times the matrix block of logit j. */
static int covariance(pv__steps *to, int half, int x, size_t l, size_t size) {
    int first = pv__steps_slice(to, half, l * size, 1);
    if (size == 1)
        return first;
    int rest = two(to, PV__STEP_MULTIPLY, pv__steps_slice(to, half, l * size + 1, size - 1), x);
    return two(to, PV__STEP_ADD, first, pv__steps_one(to, PV__STEP_SUM, rest));
}

static int half_of(pv__steps *to, const pv_classifier *c, int x, size_t j, size_t size, size_t P) {
    const double *from = c->spread + j * size * P;
    int constant = pv__steps_matrix(to, 1, P, from);
    if (size == 1)
        return constant;
    int slopes = pv__steps_matrix(to, size - 1, P, from + P);
    return two(to, PV__STEP_ADD, two(to, PV__STEP_MATMUL, x, slopes), constant);
}

/* The variance for label y of several: sum over j and l of g_j g_l C_jl with g_j = 1 for y itself and -p_j/(1 - p_y)
 * for the others. */
static int variance_of(pv__steps *to, size_t y, size_t k, const int *p, const int *cell) {
    size_t J = k - 1;
    int rest = -1, sum = -1;
    for (size_t j = 0; j < k; j++)
        if (j != y)
            rest = rest < 0 ? p[j] : two(to, PV__STEP_ADD, rest, p[j]);
    rest = two(to, PV__STEP_MAX, rest, pv__steps_number(to, 1e-300));
    for (size_t j = 1; j < k; j++)
        for (size_t l = 1; l < k; l++) {
            int term = cell[(j - 1) * J + l - 1];
            for (int side = 0; side < 2; side++) {
                size_t at = side ? l : j;
                int g = two(to, PV__STEP_SUBTRACT, pv__steps_number(to, 0), two(to, PV__STEP_DIVIDE, p[at], rest));
                term = at == y ? term : two(to, PV__STEP_MULTIPLY, term, g);
            }
            sum = sum < 0 ? term : two(to, PV__STEP_ADD, sum, term);
        }
    return sum;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int average_several(pv__steps *to, const pv_classifier *c, size_t k, int log_p, const int *cell) {
    int p[PV__CLASSES_MAX], mean[PV__CLASSES_MAX], moved = pv__steps_one(to, PV__STEP_EXP, log_p);
    double shift[PV__CLASSES_MAX] = {0};
    for (size_t y = 1; y < k; y++)
        shift[y] = c->averaging[y - 1];
    for (size_t y = 0; y < k; y++)
        p[y] = pv__steps_slice(to, moved, y, 1);
    int shifted = pv__steps_log_softmax(to, two(to, PV__STEP_ADD, log_p, pv__steps_matrix(to, 1, k, shift)));
    int share = pv__steps_one(to, PV__STEP_EXP, shifted);
    for (size_t y = 0; y < k; y++) {
        int variance = variance_of(to, y, k, p, cell), rest = -1;
        for (size_t j = 0; j < k; j++)
            if (j != y)
                rest = rest < 0 ? pv__steps_slice(to, share, j, 1)
                                : two(to, PV__STEP_ADD, rest, pv__steps_slice(to, share, j, 1));
        rest = two(to, PV__STEP_MAX, rest, pv__steps_number(to, 1e-300));
        int logit =
            two(to, PV__STEP_SUBTRACT, pv__steps_slice(to, shifted, y, 1), pv__steps_one(to, PV__STEP_LOG, rest));
        mean[y] = logistic_mean(to, logit, variance);
    }
    int all = pv__steps_concat(to, mean, (int)k);
    return two(to, PV__STEP_DIVIDE, all, pv__steps_one(to, PV__STEP_SUM, all));
}

int pv__describe_average(pv__steps *to, const pv_classifier *c, int x, int said) {
    size_t k = (size_t)c->schema->classes, J = k - 1, P = pv_model_params(c->model), size = P / J;
    size_t skip = (size_t)pv_model_inputs(c->model) + 1 - size;
    int log_p = pv__steps_log_softmax(to, said), slopes = size > 1 ? pv__steps_slice(to, x, skip, size - 1) : -1;
    if (k == 2) {
        int variance = covariance(to, half_of(to, c, slopes, 0, size, P), slopes, 0, size);
        int logit = two(to, PV__STEP_SUBTRACT, pv__steps_slice(to, log_p, 1, 1), pv__steps_slice(to, log_p, 0, 1));
        logit = two(to, PV__STEP_ADD, logit, pv__steps_number(to, c->averaging[0]));
        int mean = logistic_mean(to, logit, variance);
        const int both[] = {two(to, PV__STEP_SUBTRACT, pv__steps_number(to, 1), mean), mean};
        return pv__steps_concat(to, both, 2);
    }
    int *cell = NULL;
    if (to->status == PV_OK)
        to->status = pv__alloc(to->ctx, J * J, sizeof *cell, &cell);
    for (size_t j = 0; cell && j < J; j++) {
        int half = half_of(to, c, slopes, j, size, P);
        for (size_t l = 0; l < J; l++)
            cell[j * J + l] = covariance(to, half, slopes, l, size);
    }
    int made = cell ? average_several(to, c, k, log_p, cell) : -1;
    pv__free(to->ctx, cell);
    return made;
}
