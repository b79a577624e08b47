/* Sampling weights, clusters and their strata compared with R's svyglm: tests/oracle/survey.txt, made by make_survey.R.
 * Few clusters compared with clubSandwich: clusters.txt, made by make_clusters.R. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "prevail/prevail.h"

static void compare(pv_ctx *ctx, const oracle_case *item, const pv_table *table, const char *cluster,
                    const char *strata, const char *error) {
    pv_roles roles = {.target = "y", .weights = "w", .features = "x1,x2", .cluster = cluster, .strata = strata};
    pv_schema *schema;
    pv_dataset *data;
    assert_int_equal(pv_schema_learn(ctx, table, &roles, &schema, &data), PV_OK);
    assert_true(data->sampling && data->clustered == (cluster != NULL));
    pv_fit_options options = pv_fit_options_default();
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ROBUST;
    options.errors = PV_ERRORS_HC0;
    options.tolerance = 1e-12;
    pv_classifier *c;
    assert_int_equal(pv_fit(ctx, schema, data, &options, &c), PV_OK);
    double coefficient[3], found[2];
    assert_int_equal(pv_classifier_coefficients(ctx, c, coefficient), PV_OK);
    for (size_t j = 0; j < 2; j++)
        found[j] = c->standard_error[j + 1];
    oracle_compare(item, "estimate", coefficient + 1, oracle_values(item, "estimate", 2), 2, 1e-8, 0);
    oracle_compare(item, error, found, oracle_values(item, error, 2), 2, 1e-7, 0);
    pv_classifier_free(ctx, c);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
}

static void agrees_with_svyglm(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/survey.txt");
    const oracle_case *item = oracle_find(file, "survey");
    size_t n = (size_t)oracle_number(item, "n");
    pv_ctx *ctx;
    pv_table *table;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    assert_int_equal(pv_table_new(ctx, "survey", n, &table), PV_OK);
    static const char *const names[] = {"cluster", "x1", "x2", "y", "stratum", "w"};
    for (size_t c = 0; c < 6; c++)
        assert_int_equal(pv_table_add_numbers(ctx, table, names[c], PV_ARRAY_F64, oracle_values(item, names[c], n),
                                              PV_PACKED, NULL, false),
                         PV_OK);
    compare(ctx, item, table, NULL, NULL, "error_rows");
    compare(ctx, item, table, "cluster", NULL, "error_clusters");
    compare(ctx, item, table, NULL, "stratum", "error_rows_strata");
    compare(ctx, item, table, "cluster", "stratum", "error_clusters_strata");
    pv_table_free(ctx, table);
    pv_ctx_free(ctx);
    oracle_file_free(file);
    oracle_finish();
}

/* With the leverage of clusters, and Satterthwaite's degrees of freedom. */
static void compare_clusters(pv_ctx *ctx, const oracle_case *item, const pv_table *table, bool weighted) {
    pv_roles roles = {.target = "y", .features = "x1,x2", .cluster = "cluster", .weights = weighted ? "w" : NULL};
    const char *const name[2][3] = {{"estimate_equal", "error_equal", "df_equal"},
                                    {"estimate_sampling", "error_sampling", "df_sampling"}};
    pv_schema *schema;
    pv_dataset *data;
    assert_int_equal(pv_schema_learn(ctx, table, &roles, &schema, &data), PV_OK);
    pv_fit_options options = pv_fit_options_default();
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ROBUST;
    options.tolerance = 1e-12;
    pv_classifier *c;
    assert_int_equal(pv_fit(ctx, schema, data, &options, &c), PV_OK);
    double coefficient[3];
    assert_int_equal(pv_classifier_coefficients(ctx, c, coefficient), PV_OK);
    const double *const found[] = {coefficient + 1, c->standard_error + 1, c->combination->df + 1};
    for (size_t i = 0; i < 3; i++)
        oracle_compare(item, name[weighted][i], found[i], oracle_values(item, name[weighted][i], 2), 2, 1e-8, 0);
    pv_classifier_free(ctx, c);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
}

static void agrees_with_club_sandwich(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/clusters.txt");
    const oracle_case *item = oracle_find(file, "clusters");
    size_t n = (size_t)oracle_number(item, "n");
    pv_ctx *ctx;
    pv_table *table;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    assert_int_equal(pv_table_new(ctx, "clusters", n, &table), PV_OK);
    static const char *const names[] = {"cluster", "x1", "x2", "w", "y"};
    for (size_t c = 0; c < 5; c++)
        assert_int_equal(pv_table_add_numbers(ctx, table, names[c], PV_ARRAY_F64, oracle_values(item, names[c], n),
                                              PV_PACKED, NULL, false),
                         PV_OK);
    compare_clusters(ctx, item, table, false);
    compare_clusters(ctx, item, table, true);
    pv_table_free(ctx, table);
    pv_ctx_free(ctx);
    oracle_file_free(file);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_svyglm),
                                       cmocka_unit_test(agrees_with_club_sandwich)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
