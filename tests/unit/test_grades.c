/* Grades evaluated as two sides of a middle one, and ensembles. */
#include <math.h>

#include "fixture.h"

/* The paper's example, uncertain rows, rows without a vote on either side, weights. */
static void votes_take_sides(void **state) {
    (void)state;
    const double votes[][5] = {{0, 0.6, 0.4, 0, 0},    {0, 0, 0.6, 0.4, 0}, {0.25, 0.25, 0, 0.25, 0.25},
                               {0, 0, 0.5, 0, 0.5},    {0, 0, 1, 0, 0},     {1, 0, 0, 0, 0},
                               {0.1, 0.1, 0.4, 0, 0.4}};
    const double weight[] = {1, 1, 2, 1, 1, 0, 1};
    const double wanted[][3] = {{1, 0, 0.6},   {0.5, 0.5, 0}, {0.5, 0.5, 2},          {0, 1, 0.5},
                                {0.5, 0.5, 0}, {1, 0, 0},     {1.0 / 3, 2.0 / 3, 0.6}};
    pv_targets targets = {.n = 7, .classes = 5, .frequency = votes[0], .weight = weight};
    double frequency[14], v[7];
    size_t uncertain;
    ok(pv_binarise(ctx, &targets, 2, frequency, v, &uncertain));
    assert_int_equal(uncertain, 2);
    for (size_t n = 0; n < 7; n++) {
        near(frequency[2 * n], wanted[n][0], 1e-15);
        near(frequency[2 * n + 1], wanted[n][1], 1e-15);
        near(v[n], wanted[n][2], 1e-15);
    }
    const int32_t label[] = {0, 2, 3};
    targets = (pv_targets){.n = 3, .classes = 4, .label = label};
    ok(pv_binarise(ctx, &targets, 2, frequency, v, &uncertain));
    assert_int_equal(uncertain, 1);
    near(frequency[0], 1, 0);
    near(frequency[5], 1, 0);
    near(v[1], 0, 0);
    assert_int_equal(pv_binarise(ctx, &targets, 0, frequency, v, &uncertain), PV_ERR_USAGE);
    assert_int_equal(pv_binarise(ctx, &targets, 3, frequency, v, &uncertain), PV_ERR_USAGE);
    says("lacks a label below or above");
    targets.n = 1;
    targets.label = label + 1;
    assert_int_equal(pv_binarise(ctx, &targets, 2, frequency, v, &uncertain), PV_ERR_INPUT);
    says("every row is uncertain");
}

static void probabilities_take_sides(void **state) {
    (void)state;
    double p[] = {0.1, 0.2, 0.3, 0.15, 0.25, 1e-300, 0, 1, 0, 1e-299}, log_p[10];
    for (size_t i = 0; i < 10; i++)
        log_p[i] = log(p[i]);
    pv_binarise_log(2, 5, 2, log_p, log_p); /* in place */
    near(exp(log_p[0]), 0.3 / 0.7, 1e-14);
    near(exp(log_p[1]), 0.4 / 0.7, 1e-14);
    near(exp(log_p[2]), 1.0 / 11, 1e-12); /* logarithms near -690 leave only this many digits */
    near(exp(log_p[3]), 10.0 / 11, 1e-12);
    double nothing[] = {-HUGE_VAL, 0, -HUGE_VAL};
    pv_binarise_log(1, 3, 1, nothing, nothing);
    near(nothing[0], log(0.5), 0);
    near(nothing[1], log(0.5), 0);
}

static void members_are_averaged(void **state) {
    (void)state;
    const double p[3][2] = {{0.2, 0.8}, {0.5, 0.5}, {0, 1}};
    double log_mean[2] = {log(0.2), log(0.8)}, mean[2] = {0.2, 0.8};
    pv_prediction ensemble = {.rows = 1, .classes = 2, .p = mean, .log_p = log_mean};
    for (size_t m = 1; m < 3; m++) {
        double log_p[2] = {log(p[m][0]), log(p[m][1])};
        pv_prediction member = {.rows = 1, .classes = 2, .log_p = log_p};
        ok(pv_ensemble_join(ctx, &ensemble, m, &member, "b.model"));
    }
    near(exp(log_mean[0]), 0.7 / 3, 1e-15);
    near(mean[0], 0.7 / 3, 1e-15);
    near(mean[1], 2.3 / 3, 1e-15);
    pv_prediction longer = {.rows = 2, .classes = 2};
    assert_int_equal(pv_ensemble_join(ctx, &ensemble, 3, &longer, "b.model"), PV_ERR_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(votes_take_sides), cmocka_unit_test(probabilities_take_sides),
                                       cmocka_unit_test(members_are_averaged)};
    return cmocka_run_group_tests_name("grades", tests, setup, teardown);
}
