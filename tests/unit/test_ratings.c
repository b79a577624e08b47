/* Grades as benign and malignant, by values worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../cli/study_ratings.h"

/* The paper's example: three votes for 2 and two for 3 are (0, 0.6, 0.4, 0, 0), then (0.6, 0). */
static void test_masses(void **state) {
    (void)state;
    const double paper[] = {0, 0.6, 0.4, 0, 0}, both[] = {0.25, 0, 0.25, 0.25, 0.25};
    double benign, malignant;
    ratings_binarise(paper, &benign, &malignant);
    assert_true(fabs(benign - 0.6) < 1e-15);
    assert_true(fabs(malignant) < 1e-15);
    ratings_binarise(both, &benign, &malignant);
    assert_true(fabs(benign - 0.25) < 1e-15);
    assert_true(fabs(malignant - 0.5) < 1e-15);
}

static void test_kinds(void **state) {
    (void)state;
    const struct {
        double frequency[RATING_GRADES];
        rating_kind kind;
    } cases[] = {
        {{0, 0.6, 0.4, 0, 0}, RATING_BENIGN},
        {{0.5, 0.25, 0, 0.25, 0}, RATING_BENIGN},
        {{0, 0, 0.25, 0.5, 0.25}, RATING_MALIGNANT},
        {{0, 0.25, 0.75, 0, 0}, RATING_UNSURE_BENIGN},
        {{0.25, 0.25, 0.5, 0, 0}, RATING_UNSURE_BENIGN}, /* half is not more than half */
        {{0, 0, 0.5, 0.5, 0}, RATING_UNSURE_MALIGNANT},
        {{0, 0, 1, 0, 0}, RATING_UNDECIDED},
        {{0.25, 0.25, 0, 0.25, 0.25}, RATING_UNDECIDED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(ratings_kind(cases[i].frequency), cases[i].kind);
}

static void test_malignancy(void **state) {
    (void)state;
    const double p[] = {0.1, 0.2, 0.3, 0.3, 0.1}; /* 0.4 / (0.3 + 0.4) */
    double log_p[RATING_GRADES];
    for (int y = 0; y < RATING_GRADES; y++)
        log_p[y] = log(p[y]);
    assert_true(fabs(ratings_malignancy(log_p) - 4.0 / 7) < 1e-15);
    for (int y = 0; y < RATING_GRADES; y++) /* a factor cancels, however small */
        log_p[y] -= 900;
    assert_true(fabs(ratings_malignancy(log_p) - 4.0 / 7) < 1e-12);
    const double sure[] = {-800, -800, 0, -800, -900}; /* nearly all on 3: still the odds of the rest */
    assert_true(fabs(ratings_malignancy(sure) - 1.0 / 3) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_masses), cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_malignancy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
