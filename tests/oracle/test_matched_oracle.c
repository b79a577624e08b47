/* Fits of matched sets compared with R's clogit: tests/oracle/matched.txt, made by make_matched.R. */
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

/* Maximum likelihood with its standard errors, and Laplace's approximation without a prior. */
static void compare(pv_ctx *ctx, const oracle_case *item, const pv_schema *schema, const pv_dataset *data) {
    pv_fit_options options = pv_fit_options_default();
    options.infer = PV_INFER_ML;
    options.tolerance = 1e-12;
    pv_classifier *ml, *laplace;
    assert_int_equal(pv_fit(ctx, schema, data, &options, &ml), PV_OK);
    options.infer = PV_INFER_LAPLACE;
    options.prior = "none";
    assert_int_equal(pv_fit(ctx, schema, data, &options, &laplace), PV_OK);
    double coefficient[3], loglik = -ml->loss_value, error[2];
    assert_int_equal(pv_classifier_coefficients(ctx, ml, coefficient), PV_OK);
    for (size_t j = 0; j < 2; j++) {
        const double *row = laplace->posterior->mixture.factor + (j + 1) * 3;
        error[j] = hypot(hypot(row[0], row[1]), row[2]) / schema->source[j].sd;
    }
    oracle_compare(item, "estimate", coefficient + 1, oracle_values(item, "estimate", 2), 2, 1e-8, 0);
    oracle_compare(item, "loglik", &loglik, oracle_values(item, "loglik", 1), 1, 1e-11, 0);
    oracle_compare(item, "error", error, oracle_values(item, "error", 2), 2, 1e-6, 0);
    oracle_compare(item, "error", ml->standard_error + 1, oracle_values(item, "error", 2), 2, 1e-6, 0);
    assert_true(isnan(ml->standard_error[0])); /* there is no intercept */
    pv_classifier_free(ctx, ml);
    pv_classifier_free(ctx, laplace);
}

/* Sets, two columns and the cases, from the file. */
static void compare_table(pv_ctx *ctx, const oracle_case *item) {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    size_t n = (size_t)oracle_number(item, "n");
    const double *x = oracle_values(item, "x", 2 * n);
    double *column = calloc(4 * n, sizeof *column);
    assert_non_null(column);
    for (size_t i = 0; i < n; i++) {
        column[i] = oracle_values(item, "set", n)[i];
        column[n + i] = x[2 * i];
        column[2 * n + i] = x[2 * i + 1];
        column[3 * n + i] = oracle_values(item, "case", n)[i];
    }
    static const char *const names[] = {"set", "x1", "x2", "case"};
    assert_int_equal(pv_table_new(ctx, "sets", n, &table), PV_OK);
    for (size_t c = 0; c < 4; c++)
        assert_int_equal(
            pv_table_add_numbers(ctx, table, names[c], PV_ARRAY_F64, column + c * n, PV_PACKED, NULL, false), PV_OK);
    pv_roles sets = {.target = "case", .matched = "set"};
    assert_int_equal(pv_schema_learn(ctx, table, &sets, &schema, &data), PV_OK);
    compare(ctx, item, schema, data);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    free(column);
}

static void agrees_with_clogit(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/matched.txt");
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_roles roles = {.target = "case", .matched = "stratum", .features = "induced,spontaneous"};
    assert_int_equal(pv_table_builtin(ctx, "infert", &table), PV_OK);
    assert_int_equal(pv_schema_learn(ctx, table, &roles, &schema, &data), PV_OK);
    compare(ctx, oracle_find(file, "infert"), schema, data);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);

    compare_table(ctx, oracle_find(file, "simulated"));
    compare_table(ctx, oracle_find(file, "bdendo"));
    compare_table(ctx, oracle_find(file, "retinopathy"));
    pv_ctx_free(ctx);
    oracle_file_free(file);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_clogit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
