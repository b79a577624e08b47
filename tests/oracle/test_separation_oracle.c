/* Recession cones compared with linear programs: tests/oracle/separation.txt, made by make_separation.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "infer/recession.h"

enum { SYSTEMS = 300 };

/* Verifies a direction: no row loses, the rows reported to gain do, and the others have 0. */
static void verify(const pv__recession *found, size_t rows, size_t size, const double *A) {
    for (size_t i = 0; i < rows; i++) {
        long double own = 0, sum = 0;
        for (size_t j = 0; j < size; j++) {
            long double term = (long double)A[i * size + j] * found->direction[j];
            own += term;
            sum += fabsl(term);
        }
        if (found->gains[i])
            assert_true(own > 1e-10L * sum);
        else
            assert_true(fabsl(own) <= 1e-9L * (1 + sum));
    }
}

/* Mixing columns and changing their units must not change the answer. */
static void mix(size_t rows, size_t size, const double *A, double *mixed) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < size; j++)
            mixed[i * size + j] = pow(10, (double)(j % 3) - 1) * (A[i * size + j] + (j > 0 ? A[i * size] / 2 : 0));
}

static void test_linear_programs(void **state) {
    (void)state;
    pv_ctx *ctx;
    FILE *file = fopen(PV_TEST_DIR "/oracle/separation.txt", "r");
    assert_non_null(file);
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    size_t rows, size, systems = 0, apart = 0;
    int separated;
    while (fscanf(file, "%zu %zu %d", &rows, &size, &separated) == 3) {
        assert_true(rows < 1000 && size > 0 && size < 100);
        double *A = calloc(2 * rows * size + 1, sizeof *A), *mixed = A + rows * size;
        assert_non_null(A);
        for (size_t i = 0; i < rows * size; i++)
            assert_int_equal(fscanf(file, "%lf", &A[i]), 1);
        mix(rows, size, A, mixed);
        for (int m = 0; m < 2; m++) {
            pv__recession found;
            assert_int_equal(pv__recession_find(ctx, rows, size, m ? mixed : A, NULL, &found), PV_OK);
            assert_true(found.decided);
            if ((found.gained > 0) != separated)
                fail_msg("system %zu: the linear program says %d", systems, separated);
            if (separated)
                verify(&found, rows, size, m ? mixed : A);
            pv__recession_free(ctx, &found);
        }
        free(A);
        systems++;
        apart += separated != 0;
    }
    fclose(file);
    assert_int_equal(systems, SYSTEMS);
    assert_true(apart > SYSTEMS / 4 && apart < 3 * SYSTEMS / 4);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
