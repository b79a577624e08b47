/* pv_assess with numbers computed by hand: undefined values, ties, extremes, bad input, invariances. tests/oracle
 * compares values with scikit-learn. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assess/assess.h"

#define NEAR(got, expected) assert_near(#got, got, expected, __LINE__)

static void assert_near(const char *what, double got, double expected, int line) {
    if (!(fabs(got - expected) <= 1e-13 * fmax(1, fabs(expected))))
        fail_msg("line %d: %s is %.17g, should be %.17g", line, what, got, expected);
}

static int new_ctx(void **state) {
    pv_ctx *ctx;
    if (pv_ctx_new(NULL, &ctx) != PV_OK)
        return -1;
    *state = ctx;
    return 0;
}

static int free_ctx(void **state) {
    pv_ctx_free(*state);
    return 0;
}

/* Log probabilities of two classes from those of the second. */
static void two(size_t n, const double *p, double *log_p) {
    for (size_t i = 0; i < n; i++) {
        log_p[2 * i] = log1p(-p[i]);
        log_p[2 * i + 1] = log(p[i]);
    }
}

static const double half[2] = {-0.69314718055994530942, -0.69314718055994530942};

static pv_metrics assess(pv_ctx *ctx, const pv_targets *targets, const double *log_p, const double *prevalence) {
    pv_metrics metrics;
    assert_int_equal(pv_assess(ctx, targets, log_p, half, log_p, prevalence, &metrics), PV_OK);
    return metrics;
}

static void test_by_hand(void **state) {
    const int32_t label[] = {0, 0, 0, 1, 1};
    const double p[] = {0.1, 0.2, 0.6, 0.6, 0.9}, prevalence[] = {0.9, 0.1};
    double log_p[10];
    two(5, p, log_p);
    pv_targets targets = {.n = 5, .classes = 2, .label = label};
    pv_metrics m = assess(*state, &targets, log_p, prevalence);
    double mean0 = -(log(0.9) + log(0.8) + log(0.4)) / 3, mean1 = -(log(0.6) + log(0.9)) / 2;
    NEAR(m.log_loss, 0.9 * mean0 + 0.1 * mean1);
    double v0 = (pow(log(0.9) + mean0, 2) + pow(log(0.8) + mean0, 2) + pow(log(0.4) + mean0, 2)) / 2;
    double v1 = pow(log(0.6) + mean1, 2) + pow(log(0.9) + mean1, 2);
    NEAR(m.log_loss_sd, sqrt(0.81 * v0 / 3 + 0.01 * v1 / 2));
    NEAR(m.log_loss_upper, m.log_loss + 2 * m.log_loss_sd);
    NEAR(m.information_gain, (log(0.9) + log(0.8) + log(0.4) + log(0.6) + log(0.9)) / 5 + log(2));
    NEAR(m.accuracy, 0.8);
    NEAR(m.tpr, 1);
    NEAR(m.tnr, 2.0 / 3);
    NEAR(m.ppv, 2.0 / 3);
    NEAR(m.npv, 1);
    NEAR(m.auc, 5.5 / 6); /* one tie between the classes */
    NEAR(m.informedness, 2.0 / 3);
    NEAR(m.markedness, 2.0 / 3);
    NEAR(m.mcc, 2.0 / 3);
    NEAR(m.brier, (0.01 + 0.04 + 0.36 + 0.16 + 0.01) / 5);
    assert_true(isnan(m.one_off_accuracy));
}

/* Predictions that contradict the marginal cost nothing once adapted to the rows' label proportions. */
static void test_adapted_to_shares(void **state) {
    const int32_t label[] = {0, 1, 1, 1};
    const double log_p[] = {log(0.99), log(0.01), log(0.99), log(0.01), log(0.99), log(0.01), log(0.99), log(0.01)};
    const double log_marginal[] = {log(0.99), log(0.01)};
    pv_targets targets = {.n = 4, .classes = 2, .label = label};
    pv_metrics m;
    assert_int_equal(pv_assess(*state, &targets, log_p, log_marginal, log_p, NULL, &m), PV_OK);
    NEAR(m.holdout_nll, -(0.25 * log(0.25) + 0.75 * log(0.75)));
    NEAR(m.information_gain, 0);
    NEAR(m.log_loss, -(0.25 * log(0.99) + 0.75 * log(0.01))); /* the prevalence is that of the rows */
}

static void test_one_class_only(void **state) {
    const int32_t label[] = {0, 0, 0};
    const double p[] = {0.1, 0.2, 0.6}, prevalence[] = {0.9, 0.1};
    double log_p[6];
    two(3, p, log_p);
    pv_targets targets = {.n = 3, .classes = 2, .label = label};
    pv_metrics m = assess(*state, &targets, log_p, prevalence);
    assert_true(isnan(m.log_loss) && isnan(m.log_loss_sd) && isnan(m.log_loss_upper));
    assert_true(isnan(m.tpr) && isnan(m.auc) && isnan(m.mcc) && isnan(m.informedness));
    NEAR(m.tnr, 2.0 / 3);
    NEAR(m.ppv, 0);
    NEAR(m.npv, 1);
    NEAR(m.holdout_nll, 0); /* given that all rows are of class 0, it predicts that */
    assert_true(isfinite(m.brier) && isfinite(m.ece));
    m = assess(*state, &targets, log_p, NULL);
    NEAR(m.log_loss, -(log(0.9) + log(0.8) + log(0.4)) / 3);
}

static void test_never_called_positive(void **state) {
    const int32_t label[] = {0, 0, 1, 1};
    const double p[] = {0.1, 0.2, 0.3, 0.5}; /* 0.5 is a tie: the lower label */
    double log_p[8];
    two(4, p, log_p);
    pv_targets targets = {.n = 4, .classes = 2, .label = label};
    pv_metrics m = assess(*state, &targets, log_p, NULL);
    assert_true(isnan(m.ppv) && isnan(m.markedness) && isnan(m.mcc));
    NEAR(m.tpr, 0);
    NEAR(m.npv, 0.5);
    NEAR(m.informedness, 0);
    NEAR(m.auc, 1);
}

static void test_single_row_of_a_class(void **state) {
    const int32_t label[] = {0, 0, 1};
    const double p[] = {0.1, 0.2, 0.3}, prevalence[] = {0.9, 0.1};
    double log_p[6];
    two(3, p, log_p);
    pv_targets targets = {.n = 3, .classes = 2, .label = label};
    pv_metrics m = assess(*state, &targets, log_p, prevalence);
    assert_true(isfinite(m.log_loss));
    assert_true(isnan(m.log_loss_sd) && isnan(m.log_loss_upper)); /* one row has no variance */
}

static void test_extreme_probabilities(void **state) {
    const int32_t label[] = {0, 1, 0, 1};
    const double sure[] = {0, -INFINITY, -INFINITY, 0, 0, -1e4, -2e4, 0};
    pv_targets targets = {.n = 4, .classes = 2, .label = label};
    pv_metrics m = assess(*state, &targets, sure, NULL);
    NEAR(m.log_loss, 0);
    NEAR(m.auc, 1);
    NEAR(m.brier, 0);
    NEAR(m.ece, 0);
    NEAR(m.mcc, 1);
    const double wrong[] = {-INFINITY, 0, -INFINITY, 0, 0, -1e4, -2e4, 0};
    m = assess(*state, &targets, wrong, NULL);
    assert_true(isinf(m.log_loss) && m.log_loss > 0);
    NEAR(m.brier, 0.25);
}

/* A weight of k counts as k equal rows, and soft labels count as hard labels with fractional weights. */
static void test_weights_repeat_rows(void **state) {
    const int32_t label[] = {0, 1, 2, 1}, repeated[] = {0, 0, 1, 2, 2, 2, 1, 1};
    const double weight[] = {2, 1, 3, 2}, prevalence[] = {0.5, 0.3, 0.2};
    const size_t source[] = {0, 0, 1, 2, 2, 2, 3, 3};
    double log_p[12], log_p_repeated[24];
    for (size_t i = 0; i < 4; i++) {
        double logits[] = {0, sin(3.0 * (double)i), cos(2.0 * (double)i)};
        pv_log_softmax(3, logits, log_p + 3 * i);
    }
    for (size_t i = 0; i < 8; i++)
        memcpy(log_p_repeated + 3 * i, log_p + 3 * source[i], 3 * sizeof(double));
    const double marginal[] = {log(0.2), log(0.3), log(0.5)};
    pv_targets weighted = {.n = 4, .classes = 3, .label = label, .weight = weight};
    pv_targets plain = {.n = 8, .classes = 3, .label = repeated};
    pv_metrics a, b;
    assert_int_equal(pv_assess(*state, &weighted, log_p, marginal, log_p, prevalence, &a), PV_OK);
    assert_int_equal(pv_assess(*state, &plain, log_p_repeated, marginal, log_p_repeated, prevalence, &b), PV_OK);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        double x, y;
        memcpy(&x, (const char *)&a + row->offset, sizeof x);
        memcpy(&y, (const char *)&b + row->offset, sizeof y);
        assert_true(isnan(x) == isnan(y));
        if (!isnan(x))
            assert_near(row->name, x, y, __LINE__);
    }
    NEAR(a.log_loss_sd, b.log_loss_sd);
}

/* With ties, neither area nor calibration may depend on the order of the rows. */
static void test_order_of_rows(void **state) {
    enum { N = 40 };
    int32_t label[N], turned_label[N];
    double p[N], turned[N], log_p[2 * N];
    for (int i = 0; i < N; i++) {
        label[i] = i * i % 3 == 1;
        p[i] = (double)(i % 5 + 1) / 7;
        turned_label[N - 1 - i] = label[i];
        turned[N - 1 - i] = p[i];
    }
    pv_targets targets = {.n = N, .classes = 2, .label = label};
    two(N, p, log_p);
    pv_metrics a = assess(*state, &targets, log_p, NULL);
    targets.label = turned_label;
    two(N, turned, log_p);
    pv_metrics b = assess(*state, &targets, log_p, NULL);
    NEAR(a.auc, b.auc);
    NEAR(a.ece, b.ece);
    assert_true(a.ece > 0.01);
}

static void test_bad_input(void **state) {
    const int32_t label[] = {0, 1};
    const double good[] = {log(0.5), log(0.5), log(0.5), log(0.5)};
    double bad[] = {log(0.5), log(0.5), NAN, log(0.5)};
    const double none[] = {0, 0};
    pv_metrics m;
    pv_targets targets = {.n = 2, .classes = 2, .label = label};
    assert_int_equal(pv_assess(*state, &targets, bad, half, good, NULL, &m), PV_ERR_NUMERIC);
    assert_int_equal(pv_assess(*state, &targets, good, half, bad, NULL, &m), PV_ERR_NUMERIC);
    assert_non_null(strstr(pv_ctx_error(*state)->message, "row 2"));
    bad[2] = bad[3] = -INFINITY;
    assert_int_equal(pv_assess(*state, &targets, good, half, bad, NULL, &m), PV_ERR_NUMERIC);
    targets.weight = none;
    assert_int_equal(pv_assess(*state, &targets, good, half, good, NULL, &m), PV_ERR_INPUT);
    targets.n = 0;
    assert_int_equal(pv_assess(*state, &targets, good, half, good, NULL, &m), PV_ERR_INPUT);
}

/* 200 rows with a total weight of a tenth: most replicates draw none, and are undefined. */
static void test_empty_replicates(void **state) {
    enum { N = 200 };
    int32_t label[N];
    double p[N], log_p[2 * N], weight[N];
    for (int i = 0; i < N; i++) {
        label[i] = i % 2;
        p[i] = i % 2 ? 0.9 : 0.1; /* all correct */
        weight[i] = 0.0005;
    }
    two(N, p, log_p);
    pv_targets targets = {.n = N, .classes = 2, .label = label, .weight = weight};
    pv_judged judged = {.log_p = log_p};
    pv_assess_options options = pv_assess_options_default();
    pv_assessment found;
    assert_int_equal(pv_assess_intervals(*state, &targets, &judged, &options, &found), PV_OK);
    NEAR(found.value.informedness, 1);
    NEAR(found.value.markedness, 1);
    assert_true(isnan(found.lo.accuracy) || found.lo.accuracy > 0.99);
    assert_true(isnan(found.lo.informedness) || found.lo.informedness > 0.99);
    assert_true(isnan(found.lo.markedness) || found.lo.markedness > 0.99);
    pv_assessment_clear(*state, &found);
    const double mass[] = {0, 0, 0, 0}, at[] = {0.2, 0.8}; /* bins cannot be made from no rows */
    assert_true(isnan(pv__ladder_error(2, mass, at, 1, 1)));
}

/* With two replicates the bounds are interpolated linearly between them: at level 1/2 a quarter of the way in.
 */
static void test_interval_between_replicates(void **state) {
    enum { N = 40, SEEDS = 20 };
    int32_t label[N];
    double p[N], log_p[2 * N];
    for (int i = 0; i < N; i++) {
        label[i] = i % 2;
        p[i] = 0.1 + 0.8 * (i * 17 % N) / N;
    }
    two(N, p, log_p);
    pv_targets targets = {.n = N, .classes = 2, .label = label};
    pv_judged judged = {.log_p = log_p};
    pv_assess_options options = pv_assess_options_default();
    options.bootstrap = 2;
    int below = 0, above = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pv_assessment all, inner;
        options.seed = seed;
        options.level = 1 - 1e-12;
        assert_int_equal(pv_assess_intervals(*state, &targets, &judged, &options, &all), PV_OK);
        options.level = 0.5;
        assert_int_equal(pv_assess_intervals(*state, &targets, &judged, &options, &inner), PV_OK);
        double value = all.value.log_loss, lo = all.lo.log_loss, hi = all.hi.log_loss, quarter = 0.25 * (hi - lo);
        if (lo < value && value < hi) { /* otherwise one bound is the value, not a replicate */
            assert_true(fabs(inner.lo.log_loss - fmin(value, lo + quarter)) <= 1e-10);
            assert_true(fabs(inner.hi.log_loss - fmax(value, hi - quarter)) <= 1e-10);
            below += lo + quarter < value;
            above += hi - quarter > value;
        }
        pv_assessment_clear(*state, &all);
        pv_assessment_clear(*state, &inner);
    }
    assert_true(below > 3 && above > 3);
}

/* One label only: everything that needs the other is undefined, including bounds, but thresholds are numbers. Grids
 * have round values. */
static void test_curves_of_one_label(void **state) {
    const int32_t label[] = {0, 0, 0, 0};
    const double p[] = {0.1, 0.2, 0.3, 0.4}, rare[] = {0.95, 0.05};
    double log_p[8];
    two(4, p, log_p);
    pv_targets targets = {.n = 4, .classes = 2, .label = label};
    pv_judged judged = {.log_p = log_p};
    pv_assess_options options = pv_assess_options_default();
    options.bootstrap = 0;
    pv_curve_options drawn = pv_curve_options_default();
    pv_assessment found;
    pv_curve curve;
    assert_int_equal(pv_assess_intervals(*state, &targets, &judged, &options, &found), PV_OK);
    assert_int_equal(pv_curve_make(*state, found.ranking, PV_CURVE_im, &drawn, &curve), PV_OK);
    for (size_t i = 0; i < curve.points; i++)
        for (size_t c = 2; c < 5; c++)
            assert_true(isnan(curve.value[i * curve.columns + c]));
    pv_curve_clear(*state, &curve);
    assert_int_equal(pv_curve_make(*state, found.ranking, PV_CURVE_net_benefit, &drawn, &curve), PV_OK);
    for (size_t i = 0; i < curve.points; i++)
        assert_true(curve.value[i * curve.columns] == (double)(i + 1) / 100);
    pv_curve_clear(*state, &curve);
    assert_int_equal(pv_curve_make(*state, found.ranking, PV_CURVE_predictive_values, &drawn, &curve), PV_OK);
    assert_true(curve.value[0] == 0.001 && curve.value[49 * curve.columns] == 0.5 &&
                curve.value[98 * curve.columns] == 0.999);
    pv_curve_clear(*state, &curve);
    pv_assessment_clear(*state, &found);
    const int32_t both[] = {0, 1, 0, 1};
    targets.label = both;
    assert_int_equal(pv_assess_intervals(*state, &targets, &judged, &options, &found), PV_OK);
    assert_int_equal(pv_curve_make(*state, found.ranking, PV_CURVE_calibration, &drawn, &curve), PV_OK);
    for (size_t i = 0; i < curve.points; i++) {
        const double *row = curve.value + i * curve.columns;
        assert_true(row[0] <= row[2] && row[2] <= row[1] && row[6] > 0);
    }
    pv_curve_clear(*state, &curve);
    pv_assessment_clear(*state, &found);
    options.prevalence = rare;
    assert_int_equal(pv_assess_intervals(*state, &targets, &judged, &options, &found), PV_OK);
    assert_int_equal(pv_curve_make(*state, found.ranking, PV_CURVE_net_benefit, &drawn, &curve), PV_OK);
    NEAR(curve.value[0], 0.005);
    assert_true(curve.value[98 * curve.columns] == 0.99);
    pv_curve_clear(*state, &curve);
    pv_assessment_clear(*state, &found);
}

/* Every allocation may fail; earlier allocations must then be freed (checked by sanitisers). */
typedef struct limited {
    int left;
} limited;

static void *limited_alloc(void *state, size_t size) {
    limited *budget = state;
    return budget->left-- > 0 ? malloc(size) : NULL;
}

static void *limited_resize(void *state, void *block, size_t size) {
    (void)state;
    return realloc(block, size);
}

static void limited_release(void *state, void *block) {
    (void)state;
    free(block);
}

static void test_memory_sweep(void **state) {
    (void)state;
    const int32_t label[] = {0, 1};
    const double log_p[] = {log(0.5), log(0.5), log(0.5), log(0.5)};
    pv_targets targets = {.n = 2, .classes = 2, .label = label};
    pv_status status = PV_ERR_MEMORY;
    for (int allowed = 1; status == PV_ERR_MEMORY && allowed < 20; allowed++) {
        limited budget = {allowed};
        pv_ctx_options options = {.allocator = {limited_alloc, limited_resize, limited_release, &budget}};
        pv_ctx *ctx;
        assert_int_equal(pv_ctx_new(&options, &ctx), PV_OK);
        pv_metrics m;
        status = pv_assess(ctx, &targets, log_p, half, log_p, NULL, &m);
        assert_true(status == PV_OK || status == PV_ERR_MEMORY);
        pv_ctx_free(ctx);
    }
    assert_int_equal(status, PV_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_adapted_to_shares),
        cmocka_unit_test(test_one_class_only),
        cmocka_unit_test(test_never_called_positive),
        cmocka_unit_test(test_single_row_of_a_class),
        cmocka_unit_test(test_extreme_probabilities),
        cmocka_unit_test(test_weights_repeat_rows),
        cmocka_unit_test(test_order_of_rows),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_empty_replicates),
        cmocka_unit_test(test_interval_between_replicates),
        cmocka_unit_test(test_curves_of_one_label),
        cmocka_unit_test(test_memory_sweep),
    };
    return cmocka_run_group_tests(tests, new_ctx, free_ctx);
}
