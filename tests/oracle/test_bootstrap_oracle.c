/* Bootstrap intervals compared with NumPy's: tests/oracle/bootstrap.txt, made by make_bootstrap.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/oracle_file.h"
#include "prevail/assess.h"

enum { REPLICATES = 20000 };

static double field(const pv_metrics *metrics, const pv_metric_row *row) {
    double value;
    memcpy(&value, (const char *)metrics + row->offset, sizeof value);
    return value;
}

static size_t compare(const oracle_case *item, const pv_assessment *found) {
    size_t compared = 0;
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        if (!oracle_has(item, row->name))
            continue;
        const double *expected = oracle_values(item, row->name, 4);
        double lo = field(&found->lo, row), hi = field(&found->hi, row), value = field(&found->value, row);
        assert_true(expected[1] < (expected[2] - expected[0]) / 3); /* proportions of few rows are discrete */
        assert_true(lo < hi && isfinite(value));
        if (!(fabs(lo - expected[0]) <= expected[1] + 1e-12 && fabs(hi - expected[2]) <= expected[3] + 1e-12)) {
            fprintf(stderr, "%s %s: %.6f to %.6f, should be %.6f (%.6f) to %.6f (%.6f)\n", item->name, row->name, lo,
                    hi, expected[0], expected[1], expected[2], expected[3]);
            oracle_mismatch(item, row->name);
        }
        compared++;
    }
    return compared;
}

static const int32_t *codes(const oracle_case *item, const char *name, size_t n, int32_t *to) {
    const double *from = oracle_values_or_null(item, name, n);
    for (size_t r = 0; from && r < n; r++)
        to[r] = (int32_t)from[r];
    return from ? to : NULL;
}

static void test_against_file(void **state) {
    (void)state;
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/bootstrap.txt");
    size_t compared = 0;
    for (size_t i = 0; i < file->count; i++) {
        const oracle_case *item = &file->item[i];
        size_t n = (size_t)oracle_number(item, "rows"), classes = (size_t)oracle_number(item, "classes");
        const double *label = oracle_values(item, "label", n), *log_p = oracle_values(item, "log_p", n * classes);
        int32_t labels[64], unit[64], block[64];
        assert_true(n <= 64);
        for (size_t r = 0; r < n; r++)
            labels[r] = (int32_t)label[r];
        pv_targets targets = {.n = n,
                              .classes = (int)classes,
                              .label = labels,
                              .weight = oracle_values_or_null(item, "weight", n),
                              .unit = codes(item, "unit", n, unit),
                              .block = codes(item, "block", n, block),
                              .sampling = oracle_has(item, "sampling")};
        pv_assess_options options = pv_assess_options_default();
        options.level = 0.9;
        options.prevalence = oracle_values_or_null(item, "stated", classes);
        options.bootstrap = REPLICATES;
        pv_assessment found;
        assert_int_equal(pv_assess_intervals(ctx, &targets, &(pv_judged){.log_p = log_p}, &options, &found), PV_OK);
        assert_int_equal(found.replicates, REPLICATES);
        compared += compare(item, &found);
        pv_assessment_clear(ctx, &found);
    }
    assert_int_equal(compared, 9 * 9 + 3 * 10);
    oracle_file_free(file);
    pv_ctx_free(ctx);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
