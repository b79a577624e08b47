/* Weights of a mixture compared with SciPy: tests/oracle/stack.txt, made by make_stack.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "infer/stacking.h"
#include "oracle_file.h"

enum { MOST = 16 };

/* Mean of log sum_k v_k p_k. */
static double score(const pv__mixture *m, const double *v) {
    double total = 0;
    for (size_t n = 0; n < m->n; n++) {
        double sum = 0;
        for (size_t k = 0; k < m->members; k++)
            sum += v[k] * m->p[n * m->members + k];
        total += m->a[n] > 0 ? m->a[n] * log(sum) : 0;
    }
    return total;
}

static void test_weights(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/stack.txt");
    for (size_t c = 0; c < file->count; c++) {
        const oracle_case *item = &file->item[c];
        size_t n = (size_t)oracle_number(item, "rows"), members = (size_t)oracle_number(item, "members");
        pv__mixture m = {n, members, oracle_values(item, "a", n), oracle_values(item, "p", n * members)};
        double v[MOST], slope[MOST], left, best = oracle_number(item, "best");
        for (size_t k = 0; k < members; k++)
            v[k] = 1.0 / (double)members;
        assert_true(pv__mixture_solve(&m, 1e-9, 10000000, v, slope, &left) > 0);
        double own = score(&m, v);
        oracle_compare(item, "score", &own, &best, 1, 1e-7, 1);
        oracle_compare(item, "weights", v, oracle_values(item, "v", members), members, 1e-3, 1);
        assert_true(left <= 1e-9);

        /* The bound on the remaining gap must hold wherever the updates stop. */
        for (size_t k = 0; k < members; k++)
            v[k] = 1.0 / (double)members;
        double before = score(&m, v);
        assert_int_equal(pv__mixture_solve(&m, 0, 3, v, slope, &left), 3);
        own = score(&m, v);
        assert_true(own >= before && best - own <= left && left > 0);
    }
    oracle_finish();
    oracle_file_free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
