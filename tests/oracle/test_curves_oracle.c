/* pv_curve_make compared with scikit-learn and NumPy: tests/oracle/curves.txt, made by make_curves.py. */
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

static pv_ranking *rank_problem(pv_ctx *ctx, const oracle_case *problem) {
    size_t n = (size_t)oracle_number(problem, "rows"), classes = (size_t)oracle_number(problem, "classes");
    const double *label = oracle_values_or_null(problem, "label", n);
    int32_t *labels = calloc(n, sizeof *labels);
    assert_non_null(labels);
    for (size_t i = 0; label && i < n; i++)
        labels[i] = (int32_t)label[i];
    pv_targets targets = {.n = n,
                          .classes = (int)classes,
                          .label = label ? labels : NULL,
                          .frequency = oracle_values_or_null(problem, "frequency", n * classes),
                          .weight = oracle_values_or_null(problem, "weight", n)};
    pv_ranking *ranking, *other;
    int positive = (int)oracle_number(problem, "positive");
    const double *log_p = oracle_values(problem, "log_p", n * classes);
    const double *stated = oracle_values_or_null(problem, "stated", classes);
    assert_int_equal(pv_ranking_new(ctx, &targets, log_p, positive, stated, &ranking), PV_OK);
    /* The ranking returned with the metrics is the same. */
    pv_assess_options options = pv_assess_options_default();
    options.level = 0.9;
    options.positive = positive;
    options.prevalence = stated;
    options.bootstrap = 0;
    pv_assessment found;
    assert_int_equal(pv_assess_intervals(ctx, &targets, &(pv_judged){.log_p = log_p}, &options, &found), PV_OK);
    other = found.ranking;
    pv_curve a, b;
    pv_curve_options curves = pv_curve_options_default();
    curves.level = 0.9;
    assert_int_equal(pv_curve_make(ctx, ranking, PV_CURVE_expected, &curves, &a), PV_OK);
    assert_int_equal(pv_curve_make(ctx, other, PV_CURVE_expected, &curves, &b), PV_OK);
    assert_int_equal(a.points, b.points);
    assert_memory_equal(a.value, b.value, a.points * a.columns * sizeof *a.value);
    pv_curve_clear(ctx, &a);
    pv_curve_clear(ctx, &b);
    pv_assessment_clear(ctx, &found);
    free(labels);
    return ranking;
}

static void compare(const oracle_case *item, const pv_curve *curve) {
    size_t points = (size_t)oracle_number(item, "points");
    if (points != curve->points) {
        fprintf(stderr, "%s: %zu points, should be %zu\n", item->name, curve->points, points);
        oracle_mismatch(item, "number of points");
        return;
    }
    assert_int_equal(item->arrays, curve->columns);
    for (size_t c = 0; c < curve->columns; c++) {
        const double *expected = oracle_values(item, curve->column[c], points);
        for (size_t i = 0; i < points; i++) {
            double got = curve->value[i * curve->columns + c];
            bool same = isnan(expected[i])   ? isnan(got)
                        : isinf(expected[i]) ? got == expected[i]
                                             : fabs(got - expected[i]) <= 1e-11 * fmax(1, fabs(expected[i]));
            if (!same) {
                fprintf(stderr, "%s: %s[%zu] is %.17g, should be %.17g\n", item->name, curve->column[c], i, got,
                        expected[i]);
                oracle_mismatch(item, curve->column[c]);
                break;
            }
        }
    }
}

static void test_against_file(void **state) {
    (void)state;
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/curves.txt");
    pv_curve_options options = pv_curve_options_default();
    options.level = 0.9;
    options.points = 0;
    size_t problems = 0;
    for (size_t i = 0; i < file->count; i++) {
        if (strchr(file->item[i].name, '/'))
            continue;
        problems++;
        pv_ranking *ranking = rank_problem(ctx, &file->item[i]);
        for (int kind = 0; kind < PV_CURVES; kind++) {
            pv_curve curve;
            assert_int_equal(pv_curve_make(ctx, ranking, (pv_curve_kind)kind, &options, &curve), PV_OK);
            char name[160];
            snprintf(name, sizeof name, "%s/%s", file->item[i].name, curve.name);
            compare(oracle_find(file, name), &curve);
            pv_curve_clear(ctx, &curve);
        }
        pv_ranking_free(ctx, ranking);
    }
    assert_int_equal(problems, 9);
    assert_int_equal(file->count, problems * (1 + PV_CURVES));
    oracle_file_free(file);
    pv_ctx_free(ctx);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
