/* Proportional odds compared with R's polr, and with p(x) profiled out with SciPy: tests/oracle/ordinal.txt, made by
 * make_ordinal.R and make_ordinal.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "prevail/prevail.h"

enum { GRADES = 5, FEATURES = 2, PARAMS = GRADES - 1 + FEATURES };

/* The rows of the case `plain`, with weights or votes. */
static void learn(pv_ctx *ctx, const oracle_case *rows, const double *weight, pv_schema **schema, pv_dataset **data) {
    size_t n = (size_t)oracle_number(rows, "n");
    const double *x = oracle_values(rows, "x", 2 * n), *grade = oracle_values(rows, "grade", n);
    double *column = calloc(4 * n, sizeof *column);
    assert_non_null(column);
    for (size_t i = 0; i < n; i++) {
        column[i] = x[2 * i];
        column[n + i] = x[2 * i + 1];
        column[2 * n + i] = grade[i];
        column[3 * n + i] = weight ? weight[i] : 1;
    }
    static const char *const names[] = {"x1", "x2", "grade", "weight"};
    pv_table *table;
    assert_int_equal(pv_table_new(ctx, "grades", n, &table), PV_OK);
    for (size_t c = 0; c < 4; c++)
        assert_int_equal(
            pv_table_add_numbers(ctx, table, names[c], PV_ARRAY_F64, column + c * n, PV_PACKED, NULL, false), PV_OK);
    pv_roles roles = {.target = "grade", .weights = "weight"};
    assert_int_equal(pv_schema_learn(ctx, table, &roles, schema, data), PV_OK);
    pv_table_free(ctx, table);
    free(column);
}

static void compare(pv_ctx *ctx, const oracle_case *item, const pv_schema *schema, const pv_dataset *data,
                    const pv_fit_options *options, double tolerance) {
    pv_classifier *fit;
    double got[PARAMS];
    assert_int_equal(pv_fit(ctx, schema, data, options, &fit), PV_OK);
    assert_int_equal(fit->stop, PV_STOP_CONVERGED);
    assert_int_equal(pv_classifier_coefficients(ctx, fit, got), PV_OK);
    oracle_compare(item, "thresholds", got, oracle_values(item, "thresholds", GRADES - 1), GRADES - 1, tolerance, 0);
    oracle_compare(item, "slopes", got + GRADES - 1, oracle_values(item, "slopes", FEATURES), FEATURES, tolerance, 0);
    if (options->loss == PV_LOSS_PLAIN) {
        double loglik = -fit->loss_value;
        oracle_compare(item, "loglik", &loglik, oracle_values(item, "loglik", 1), 1, 1e-11, 0);
        assert_non_null(fit->standard_error);
        oracle_compare(item, "errors", fit->standard_error, oracle_values(item, "errors", PARAMS), PARAMS, 1e-5, 0);
    }
    pv_classifier_free(ctx, fit);
}

static void agrees_with_polr(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/ordinal.txt");
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    pv_fit_options options = pv_fit_options_default();
    options.model = "ordinal";
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ML;
    options.tolerance = 1e-11;
    static const char *const cases[] = {"plain", "weighted"};
    for (int c = 0; c < 2; c++) {
        const oracle_case *item = oracle_find(file, cases[c]);
        pv_schema *schema;
        pv_dataset *data;
        learn(ctx, item, c ? oracle_values(item, "weight", (size_t)oracle_number(item, "n")) : NULL, &schema, &data);
        compare(ctx, item, schema, data, &options, 1e-7);
        pv_dataset_free(ctx, data);
        pv_schema_free(ctx, schema);
    }
    pv_ctx_free(ctx);
    oracle_file_free(file);
    oracle_finish();
}

/* The prevalence fixed by grade, for labels and for votes, where each row has a quarter of its vote on the next
 * grade. */
static void agrees_with_scipy(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/ordinal.txt");
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    pv_schema *schema;
    pv_dataset *data;
    learn(ctx, oracle_find(file, "plain"), NULL, &schema, &data);
    pv_fit_options options = pv_fit_options_default();
    options.model = "ordinal";
    options.infer = PV_INFER_ML;
    options.prevalence = "0.4,0.3,0.15,0.1,0.05";
    options.tolerance = 1e-10;
    compare(ctx, oracle_find(file, "profile"), schema, data, &options, 1e-6);
    pv_dataset votes = *data;
    double *share = calloc(data->rows * GRADES, sizeof *share);
    assert_non_null(share);
    for (size_t i = 0; i < data->rows; i++) {
        int32_t own = data->label[i];
        share[i * GRADES + (size_t)own] += 0.75;
        share[i * GRADES + (size_t)(own + 1 < GRADES ? own + 1 : own)] += 0.25;
    }
    votes.label = NULL;
    votes.frequency = share;
    compare(ctx, oracle_find(file, "votes"), schema, &votes, &options, 1e-6);
    free(share);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_ctx_free(ctx);
    oracle_file_free(file);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_polr), cmocka_unit_test(agrees_with_scipy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
