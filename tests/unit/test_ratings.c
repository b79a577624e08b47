/* Classification of votes on invented nodules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lab/ratings/ratings.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
