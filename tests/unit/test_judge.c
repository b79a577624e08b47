/* The studies' measures of calibration, compared with values computed by hand. */
#include "check.h"

#include "../../lab/common/judge.c"

/* Replaces the command's function, which would end the program. */
void *cli_alloc(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    assert_non_null(block);
    return block;
}

static const double p[] = {0.1, 0.4, 0.4, 0.8}, y[] = {0, 1, 0, 1};

/* Expected negatives 0.9, 0.6, 0.6, 0.2 of 2.3; expected positives 0.1, 0.4, 0.4, 0.8 of 1.7. */
static void test_rates(void **state) {
    (void)state;
    judge_rows rows = {4, p, y, NULL};
    judge_rates r = judge_rates_at(&rows, 0.4);
    CHECK_NEAR(r.expected_fpr, 1.4 / 2.3, 1e-15);
    CHECK_NEAR(r.expected_fnr, 0.1 / 1.7, 1e-15);
    CHECK_NEAR(r.fpr, 0.5, 1e-15);
    CHECK_NEAR(r.fnr, 0, 1e-15);
    r = judge_rates_at(&rows, 0.9);
    CHECK_NEAR(r.expected_fpr, 0, 1e-15);
    CHECK_NEAR(r.fnr, 1, 1e-15);
    /* Below 0.1: 0.9/2.3 and 1/2, 0.1/1.7 and 0; below 0.4: 2.1/2.3 and 1, 0.9/1.7 and 1/2. */
    double fpr, fnr;
    judge_gaps(&rows, &fpr, &fnr);
    CHECK_NEAR(fpr, 0.5 - 0.9 / 2.3, 1e-15);
    CHECK_NEAR(fnr, 0.1 / 1.7, 1e-15);
}

static void test_right_by_construction(void **state) {
    (void)state;
    judge_rows rows = {4, p, p, NULL};
    double fpr, fnr, a, b;
    judge_gaps(&rows, &fpr, &fnr);
    CHECK_NEAR(fpr, 0, 1e-15);
    CHECK_NEAR(fnr, 0, 1e-15);
    CHECK_NEAR(judge_in_the_large(&rows), 1, 1e-15);
    CHECK_NEAR(judge_excess(&rows), 0, 1e-15);
    judge_recalibrate(&rows, &a, &b);
    CHECK_NEAR(a, 0, 1e-9);
    CHECK_NEAR(b, 1, 1e-9);
}

/* Probabilities with logits 2 z - 1 where the truth is z: intercept 1/2, slope 1/2. Weights count as repeated rows. */
static void test_recalibrates(void **state) {
    (void)state;
    double q[21], truth[21], weight[21], a, b;
    for (int i = 0; i < 21; i++) {
        double z = -3 + 0.3 * i;
        q[i] = pv_sigmoid(2 * z - 1);
        truth[i] = pv_sigmoid(z);
        weight[i] = 1 + i % 3;
    }
    judge_rows rows = {21, q, truth, weight};
    judge_recalibrate(&rows, &a, &b);
    CHECK_NEAR(a, 0.5, 1e-9);
    CHECK_NEAR(b, 0.5, 1e-9);
    const double separated[] = {0, 0, 1, 1}, rising[] = {0.1, 0.2, 0.8, 0.9};
    judge_recalibrate(&(judge_rows){4, rising, separated, NULL}, &a, &b);
    assert_true(isnan(b) || b > 5); /* no maximum */
}

static void test_sums(void **state) {
    (void)state;
    const double weight[] = {1, 2, 1, 1};
    judge_rows rows = {4, p, y, weight};
    CHECK_NEAR(judge_in_the_large(&rows), (0.1 + 0.8 + 0.4 + 0.8) / 3, 1e-15);
    CHECK_NEAR(judge_excess(&rows), -(log(0.9) + 2 * log(0.4) + log(0.6) + log(0.8)) / 5, 1e-15);
    judge_bins linear = {{0}, {0}, {0}}, logs = {{0}, {0}, {0}};
    judge_bins_add(&linear, &rows, 0);
    CHECK_NEAR(linear.mass[4], 3, 0);
    CHECK_NEAR(linear.p[4], 1.2, 1e-15);
    CHECK_NEAR(linear.y[4], 2, 0);
    const double small[] = {1e-9, 2e-7, 0.5, 1};
    judge_bins_add(&logs, &(judge_rows){4, small, y, NULL}, 1);
    CHECK_NEAR(logs.mass[0], 2, 0);              /* up to 10^-6.5 */
    CHECK_NEAR(logs.mass[JUDGE_BINS - 1], 2, 0); /* from 10^-0.5 */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_right_by_construction),
        cmocka_unit_test(test_recalibrates),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
