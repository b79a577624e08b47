/* L-BFGS and OWL-QN on functions with known minima. */
#include "check.h"
#include "infer/quasi_newton.h"

enum { MOST = 50 };

typedef struct problem {
    size_t n;
    double (*value)(size_t n, const double *u, double *du);
    double scale; /* largest gradient at which to stop; 0: none */
    int64_t evaluations, steps;
    double last;
    bool rose;
} problem;

static double rosenbrock(size_t n, const double *u, double *du) {
    double f = 0;
    memset(du, 0, n * sizeof *du);
    for (size_t i = 0; i + 1 < n; i += 2) {
        double a = 1 - u[i], b = u[i + 1] - u[i] * u[i];
        f += a * a + 100 * b * b;
        du[i] = -2 * a - 400 * u[i] * b;
        du[i + 1] = 200 * b;
    }
    return f;
}

/* sum (i+1) (u_i - c_i)^2 / 2, c_i = (-1)^i (i+1)/2: with the penalty rate |u_i| the minimum is c_i shrunk by
 * rate/(i+1). */
static double centre(size_t i) {
    return (i % 2 ? -0.5 : 0.5) * (double)(i + 1);
}
static double bowl(size_t n, const double *u, double *du) {
    double f = 0;
    for (size_t i = 0; i < n; i++) {
        double d = u[i] - centre(i), k = (double)(i + 1);
        f += k * d * d / 2;
        du[i] = k * d;
    }
    return f;
}

/* Defined for u < 1 only. */
static double barrier(size_t n, const double *u, double *du) {
    double f = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(u[i] < 1)) {
            memset(du, 0, n * sizeof *du);
            return HUGE_VAL;
        }
        f += -log1p(-u[i]) - 4 * u[i];
        du[i] = 1 / (1 - u[i]) - 4;
    }
    return f;
}

static double evaluate(void *state, const double *u, double *du) {
    problem *p = state;
    p->evaluations++;
    return p->value(p->n, u, du);
}

static bool accepted(void *state, const double *u, const double *du, double value, int64_t k) {
    problem *p = state;
    (void)u;
    p->rose = p->rose || value > p->last || k != p->steps + 1;
    p->last = value;
    p->steps = k;
    double most = 0;
    for (size_t i = 0; i < p->n; i++)
        most = fmax(most, fabs(du[i]));
    return most <= p->scale;
}

static pv_ctx *ctx;

static pv__quasi_newton_stop run(problem *p, pv__quasi_newton how, double *u, double *value) {
    pv__quasi_newton_stop stop;
    p->last = HUGE_VAL;
    how.n = p->n;
    how.state = p;
    how.evaluate = evaluate;
    how.accepted = accepted;
    CHECK_OK(ctx, pv__quasi_newton_run(ctx, &how, u, value, &stop));
    assert_false(p->rose);
    return stop;
}

static void smooth(void **state) {
    (void)state;
    double u[MOST], value;
    problem p = {.n = MOST, .value = rosenbrock, .scale = 1e-9};
    for (size_t i = 0; i < MOST; i++)
        u[i] = i % 2 ? 1 : -1.2;
    assert_int_equal(run(&p, (pv__quasi_newton){0}, u, &value), PV_QUASI_NEWTON_TOLD);
    for (size_t i = 0; i < MOST; i++)
        CHECK_NEAR(u[i], 1, 1e-9);
    assert_true(p.evaluations < 100); /* libLBFGS needs 40 steps and 46 evaluations to 1e-5 */
    p = (problem){.n = 3, .value = barrier, .scale = 1e-10};
    memset(u, 0, sizeof u);
    assert_int_equal(run(&p, (pv__quasi_newton){0}, u, &value), PV_QUASI_NEWTON_TOLD);
    CHECK_NEAR(u[2], 0.75, 1e-10);
}

static void penalised(void **state) {
    (void)state;
    enum { N = 20, FREE = 3 };
    const double rate = 2.6;
    double u[MOST] = {0}, value, wanted = 0;
    problem p = {.n = N, .value = bowl};
    assert_int_equal(
        run(&p, (pv__quasi_newton){.penalised = N - FREE, .rate = rate, .max_iter = 400, .delta = 1e-15}, u, &value),
        PV_QUASI_NEWTON_FLAT);
    for (size_t i = 0; i < N; i++) {
        double least = i < N - FREE ? rate / (double)(i + 1) : 0, size = fabs(centre(i));
        double best = size > least ? copysign(size - least, centre(i)) : 0, d = best - centre(i);
        CHECK_NEAR(u[i], best, 1e-6);
        assert_true(best != 0 || u[i] == 0);
        wanted += (double)(i + 1) * d * d / 2 + (i < N - FREE ? rate * fabs(best) : 0);
    }
    CHECK_NEAR(value, wanted, 1e-9);
}

static void why_it_stopped(void **state) {
    (void)state;
    double u[MOST] = {0}, value;
    problem p = {.n = MOST, .value = rosenbrock, .scale = 0};
    assert_int_equal(run(&p, (pv__quasi_newton){.max_iter = 3}, u, &value), PV_QUASI_NEWTON_MAX_ITER);
    assert_int_equal(p.steps, 3);
    double du[MOST];
    assert_true(value == rosenbrock(MOST, u, du));
    p = (problem){.n = MOST, .value = rosenbrock, .scale = -1};
    assert_int_equal(run(&p, (pv__quasi_newton){0}, u, &value), PV_QUASI_NEWTON_STUCK); /* rounding errors decide */
    assert_true(value == rosenbrock(MOST, u, du) && value < 1e-15);
    for (size_t i = 0; i < MOST; i++)
        u[i] = i % 2 ? 1 : -1.2;
    p = (problem){.n = MOST, .value = rosenbrock, .scale = -1};
    assert_int_equal(run(&p, (pv__quasi_newton){.delta = 0.9}, u, &value), PV_QUASI_NEWTON_FLAT);
    assert_true(p.steps < 30);
}

static int set_up(void **state) {
    (void)state;
    return pv_ctx_new(NULL, &ctx) != PV_OK;
}

static int tear_down(void **state) {
    (void)state;
    pv_ctx_free(ctx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(smooth), cmocka_unit_test(penalised),
                                       cmocka_unit_test(why_it_stopped)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
