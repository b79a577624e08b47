/* Splines, polynomials and interactions compared with R's glm: tests/oracle/terms.txt, made by make_terms.R.
 * Predictions are those of a model restored from the bytes of its file, for rows beyond the range of training. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "prevail/prevail.h"

enum { ROWS = 6, MOST = 20 };

static pv_table *later_table(pv_ctx *ctx, const oracle_file *file) {
    static const char *const names[] = {"age", "parity", "induced", "spontaneous", "stratum"};
    static const char *const levels[] = {"0-5yrs", "6-11yrs", "12+ yrs"};
    const oracle_case *item = oracle_find(file, "later");
    pv_table *table;
    assert_int_equal(pv_table_new(ctx, "later", ROWS, &table), PV_OK);
    for (size_t c = 0; c < 5; c++)
        assert_int_equal(pv_table_add_numbers(ctx, table, names[c], PV_ARRAY_F64, oracle_values(item, names[c], ROWS),
                                              PV_PACKED, NULL, false),
                         PV_OK);
    assert_int_equal(pv_table_add_codes(ctx, table, "education", PV_ARRAY_F64, oracle_values(item, "education", ROWS),
                                        PV_PACKED, 0, levels, 3, NULL),
                     PV_OK);
    return table;
}

static pv_classifier *through_bytes(pv_ctx *ctx, const pv_classifier *c) {
    unsigned char *bytes;
    size_t size;
    pv_classifier *read;
    assert_int_equal(pv_classifier_to_bytes(ctx, c, &bytes, &size), PV_OK);
    assert_int_equal(pv_classifier_from_bytes(ctx, NULL, bytes, size, &read), PV_OK);
    pv_bytes_free(ctx, bytes);
    return read;
}

static void compare(const oracle_file *file, const char *name, const char *features, const char *categorical,
                    const char *terms) {
    const oracle_case *item = oracle_find(file, name);
    size_t count = (size_t)oracle_number(item, "coefficients");
    pv_roles roles = {.target = "case", .features = features, .categorical = categorical, .terms = terms};
    pv_csv_options csv = {.roles = &roles};
    pv_fit_options options = pv_fit_options_default();
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ML;
    options.prior = options.intercept_prior = "none";
    options.tolerance = 1e-12;
    pv_ctx *ctx;
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    assert_int_equal(pv_table_read(ctx, "builtin:infert", &csv, &table), PV_OK);
    assert_int_equal(pv_schema_learn(ctx, table, &roles, &schema, &data), PV_OK);
    assert_int_equal((size_t)schema->features + 1, count);
    assert_int_equal(pv_fit(ctx, schema, data, &options, &c), PV_OK);
    double coefficient[MOST], predicted[ROWS];
    assert_int_equal(pv_classifier_coefficients(ctx, c, coefficient), PV_OK);
    oracle_compare(item, "estimate", coefficient, oracle_values(item, "estimate", count), count, 1e-7, 0);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);

    pv_classifier *read = through_bytes(ctx, c);
    table = later_table(ctx, file);
    pv_prediction *said;
    assert_int_equal(pv_schema_apply(ctx, read->schema, table, NULL, &data), PV_OK);
    assert_int_equal(pv_predict_in(ctx, read, data, "design", NULL, &said), PV_OK);
    for (size_t i = 0; i < ROWS; i++)
        predicted[i] = said->p[2 * i + 1];
    oracle_compare(item, "predicted", predicted, oracle_values(item, "predicted", ROWS), ROWS, 1e-8, 0);
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    pv_classifier_free(ctx, read);
    pv_classifier_free(ctx, c);
    pv_schema_free(ctx, schema);
    pv_ctx_free(ctx);
}

static void agrees_with_glm(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/terms.txt");
    compare(file, "functions", NULL, NULL, "ns(age,3), poly(parity,2), log(stratum), sqrt(stratum)");
    compare(file, "wide", "spontaneous", NULL, "ns(age, 5) + ns(stratum, 1) + poly(parity, 4)");
    compare(file, "products", "education,age,parity", "induced,spontaneous",
            "induced, spontaneous, age:parity, education:age, induced:\"spontaneous\"");
    oracle_file_free(file);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_glm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
