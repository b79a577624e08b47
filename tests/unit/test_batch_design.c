/* Variances of minibatch designs (paper, Appendix E) compared with the spread over many batches, and optimal counts
 * with all possible allocations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "prevail/core.h"

enum { ROWS = 60, CLASSES = 3, DIMS = 2, BATCHES = 40000 };

typedef struct world {
    int32_t label[ROWS];
    double g[ROWS][DIMS];
    size_t member[CLASSES][ROWS], count[CLASSES];
    double spread[CLASSES]; /* variance of g within a class, summed over dimensions; sampling is with replacement, so
                               divided by the count */
    double mean[CLASSES][DIMS];
} world;

static void make_world(world *w) {
    *w = (world){.spread = {0}};
    pv_rng rng = pv_rng_stream(30, 0, 0);
    for (size_t n = 0; n < ROWS; n++) {
        size_t y = n < 30 ? 0 : n < 48 ? 1 : 2;
        w->label[n] = (int32_t)y;
        w->member[y][w->count[y]++] = n;
        for (size_t d = 0; d < DIMS; d++) {
            w->g[n][d] = (1 + 2 * (double)y) * pv_rng_normal(&rng) + 3 * (double)d - 2 * (double)y;
            w->mean[y][d] += w->g[n][d];
        }
    }
    for (size_t y = 0; y < CLASSES; y++)
        for (size_t d = 0; d < DIMS; d++)
            w->mean[y][d] /= (double)w->count[y];
    for (size_t n = 0; n < ROWS; n++)
        for (size_t d = 0; d < DIMS; d++) {
            size_t y = (size_t)w->label[n];
            w->spread[y] += pow(w->g[n][d] - w->mean[y][d], 2) / (double)w->count[y];
        }
}

static pv_ctx *context(void) {
    pv_ctx *ctx = NULL;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    return ctx;
}

/* ---- variances --------------------------------------------------------------------------------------------------- */

typedef struct moments {
    double mean[DIMS], squares[DIMS];
    size_t n;
} moments;

static void add(moments *m, const double *x) {
    m->n++;
    for (size_t d = 0; d < DIMS; d++) {
        double before = x[d] - m->mean[d];
        m->mean[d] += before / (double)m->n;
        m->squares[d] += before * (x[d] - m->mean[d]);
    }
}

static void check_variance(const char *what, const moments *m, double stated) {
    double measured = 0;
    for (size_t d = 0; d < DIMS; d++)
        measured += m->squares[d] / ((double)m->n - 1);
    if (!(fabs(measured / stated - 1) < 0.05))
        fail_msg("%s: variance %.6g over batches, %.6g stated", what, measured, stated);
}

static void test_conditional_variance(void **state) {
    (void)state;
    world w;
    make_world(&w);
    pv_ctx *ctx = context();
    double variance[CLASSES], mean[CLASSES][DIMS];
    assert_int_equal(pv_conditional_variance(ctx, ROWS, CLASSES, DIMS, w.label, w.g[0], variance, mean[0]), PV_OK);
    for (size_t y = 0; y < CLASSES; y++) {
        double count = (double)w.count[y];
        assert_true(fabs(variance[y] - w.spread[y] * count / (count - 1)) < 1e-12 * variance[y]);
        for (size_t d = 0; d < DIMS; d++)
            assert_true(fabs(mean[y][d] - w.mean[y][d]) < 1e-12 * (1 + fabs(mean[y][d])));
    }
    assert_int_equal(pv_conditional_variance(ctx, ROWS, CLASSES, DIMS, w.label, w.g[0], variance, NULL), PV_OK);
    /* One row of a class is not enough for a variance. */
    assert_int_equal(pv_conditional_variance(ctx, 49, CLASSES, DIMS, w.label, w.g[0], variance, NULL), PV_ERR_INPUT);
    assert_true(strlen(pv_ctx_error(ctx)->message) > 10);
    pv_ctx_free(ctx);
}

static const double TARGET[CLASSES] = {0.9, 0.08, 0.02};

static void test_fixed_design(void **state) {
    (void)state;
    world w;
    make_world(&w);
    static const double counts[][CLASSES] = {{8, 8, 8}, {14, 3, 7}, {1, 1, 1}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        moments m = {{0}, {0}, 0};
        pv_rng rng = pv_rng_stream(31, 0, i);
        while (m.n < BATCHES) {
            double x[DIMS] = {0};
            for (size_t y = 0; y < CLASSES; y++)
                for (size_t k = 0; k < (size_t)counts[i][y]; k++) {
                    const double *g = w.g[w.member[y][pv_rng_below(&rng, w.count[y])]];
                    for (size_t d = 0; d < DIMS; d++)
                        x[d] += TARGET[y] / counts[i][y] * g[d];
                }
            add(&m, x);
        }
        check_variance("fixed counts", &m, pv_fixed_design_variance(CLASSES, TARGET, counts[i], w.spread));
    }
}

static void test_random_design(void **state) {
    (void)state;
    world w;
    make_world(&w);
    static const double expected[][CLASSES] = {{1. / 3, 1. / 3, 1. / 3}, {0.9, 0.08, 0.02}, {0.5, 0.1, 0.4}};
    static const size_t size[] = {24, 24, 5};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        moments m = {{0}, {0}, 0};
        pv_rng rng = pv_rng_stream(32, 0, i);
        while (m.n < BATCHES) {
            double x[DIMS] = {0};
            for (size_t k = 0; k < size[i]; k++) {
                double u = pv_rng_uniform(&rng);
                size_t y = u < expected[i][0] ? 0 : u < expected[i][0] + expected[i][1] ? 1 : 2;
                const double *g = w.g[w.member[y][pv_rng_below(&rng, w.count[y])]];
                for (size_t d = 0; d < DIMS; d++)
                    x[d] += TARGET[y] / expected[i][y] * g[d] / (double)size[i];
            }
            add(&m, x);
        }
        double stated =
            pv_random_design_variance(CLASSES, DIMS, (double)size[i], TARGET, expected[i], w.spread, w.mean[0]);
        check_variance("random labels", &m, stated);
    }
}

/* ---- optimal counts ---------------------------------------------------------------------------------------------- */

/* The smallest variance over all allocations of n rows to classes, at least one each, by enumeration. */
static double best_of_all(int classes, size_t n, const double *target, const double *variance, double *counts, int at) {
    if (at == classes - 1) {
        counts[at] = (double)n;
        return pv_fixed_design_variance(classes, target, counts, variance);
    }
    double best = HUGE_VAL;
    for (size_t k = 1; k + (size_t)(classes - 1 - at) <= n; k++) {
        counts[at] = (double)k;
        best = fmin(best, best_of_all(classes, n - k, target, variance, counts, at + 1));
    }
    return best;
}

static void test_optimal_counts(void **state) {
    (void)state;
    pv_ctx *ctx = context();
    pv_rng rng = pv_rng_stream(33, 0, 0);
    for (int tried = 0; tried < 300; tried++) {
        int classes = 2 + (int)pv_rng_below(&rng, 3);
        size_t n = (size_t)classes + pv_rng_below(&rng, 12), counts[4] = {0}, sum = 0;
        double target[4], variance[4], as_real[4], scratch[4], total = 0;
        for (int y = 0; y < classes; y++) {
            total += target[y] = pow(pv_rng_uniform(&rng), 3) + 1e-4;
            variance[y] = pv_rng_below(&rng, 8) ? exp(3 * pv_rng_normal(&rng)) : 0;
        }
        for (int y = 0; y < classes; y++)
            target[y] /= total;
        assert_int_equal(pv_optimal_counts(ctx, classes, n, target, variance, counts), PV_OK);
        for (int y = 0; y < classes; y++) {
            assert_true(counts[y] >= 1);
            sum += counts[y];
            as_real[y] = (double)counts[y];
        }
        assert_int_equal(sum, n);
        double found = pv_fixed_design_variance(classes, target, as_real, variance);
        double best = best_of_all(classes, n, target, variance, scratch, 0);
        if (!(found <= best * (1 + 1e-12)))
            fail_msg("%d classes, %zu rows: variance %.17g, the best is %.17g", classes, n, found, best);
    }
    double target[] = {0.5, 0.5}, variance[] = {1, 1};
    size_t counts[2];
    assert_int_not_equal(pv_optimal_counts(ctx, 2, 1, target, variance, counts), PV_OK);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditional_variance),
        cmocka_unit_test(test_fixed_design),
        cmocka_unit_test(test_random_design),
        cmocka_unit_test(test_optimal_counts),
    };
    return cmocka_run_group_tests_name("batch design", tests, NULL, NULL);
}
