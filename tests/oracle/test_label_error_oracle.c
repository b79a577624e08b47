/* Labels with errors compared with R: glm with a link function of its own, and a likelihood written from its definition
 * with numerical derivatives. tests/oracle/label_error.txt, made by make_label_error.R. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "prevail/prevail.h"

enum { PARAMS = 3 };

static pv_classifier *fit(pv_ctx *ctx, const oracle_case *item, const pv_fit_options *options) {
    static const char *const names[] = {"x1", "x2", "y"};
    const pv_roles roles = {.target = "y", .features = "x1,x2", .positive = "1"};
    size_t n = (size_t)oracle_number(item, "n");
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    assert_int_equal(pv_table_new(ctx, "labels", n, &table), PV_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(pv_table_add_numbers(ctx, table, names[i], PV_ARRAY_F64, oracle_values(item, names[i], n),
                                              PV_PACKED, NULL, false),
                         PV_OK);
    assert_int_equal(pv_schema_learn(ctx, table, &roles, &schema, &data), PV_OK);
    if (pv_fit(ctx, schema, data, options, &c) != PV_OK)
        fail_msg("%s: %s", item->name, pv_ctx_message(ctx));
    assert_non_null(c->standard_error);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    return c;
}

static void compare(const oracle_case *item, const pv_fit_options *options, const char *estimate, const char *error) {
    double coefficient[PARAMS];
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    pv_classifier *c = fit(ctx, item, options);
    assert_int_equal(pv_classifier_coefficients(ctx, c, coefficient), PV_OK);
    oracle_compare(item, estimate, coefficient, oracle_values(item, estimate, PARAMS), PARAMS, 1e-7, 0);
    oracle_compare(item, error, c->standard_error, oracle_values(item, error, PARAMS), PARAMS, 1e-5, 0);
    if (!options->prevalence)
        oracle_compare(item, "loglik", &(double){-c->loss_value}, oracle_values(item, "loglik", 1), 1, 1e-10, 0);
    pv_classifier_free(ctx, c);
    pv_ctx_free(ctx);
}

static pv_fit_options exactly(void) {
    pv_fit_options options = pv_fit_options_default();
    options.infer = PV_INFER_ML;
    options.tolerance = 1e-12;
    options.errors = PV_ERRORS_HC0;
    return options;
}

static void random_rows_agree_with_glm(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/label_error.txt");
    pv_fit_options options = exactly();
    options.loss = PV_LOSS_PLAIN;
    options.label_error = "sensitivity=0.85,specificity=0.92";
    compare(oracle_find(file, "random"), &options, "estimate", "error_hc0");
    oracle_file_free(file);
    oracle_finish();
}

static void sampled_rows_agree_with_the_definition(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/label_error.txt");
    const oracle_case *item = oracle_find(file, "sampled");
    pv_fit_options options = exactly();
    options.prevalence = "0.2";
    options.label_error = "sensitivity=0.84,specificity=0.92";
    compare(item, &options, "estimate", "error_known");
    options.prevalence_n = "400";
    options.label_error = "specificity=184/200,sensitivity=42/50";
    compare(item, &options, "estimate", "error");
    options.label_error = "ppv=60/80,npv=97/100";
    compare(item, &options, "predictive_estimate", "predictive_error");
    oracle_file_free(file);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_rows_agree_with_glm),
                                       cmocka_unit_test(sampled_rows_agree_with_the_definition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
