/* Boosted trees compared with XGBoost's Python package with custom losses: tests/oracle/trees.txt, made by
 * make_trees.py. Reported as skipped if XGBoost's library is not installed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/trees.h"
#include "oracle_file.h"
#include "prevail/predict.h"

#define CHECK(ctx, call)                                                                                               \
    do {                                                                                                               \
        if ((call) != PV_OK)                                                                                           \
            fail_msg("%s: %s", #call, pv_ctx_message(ctx));                                                            \
    } while (0)

/* Log odds relative to the first label, minus those of the first row. */
static void compare(pv_ctx *ctx, const oracle_case *item, const char *target, const char *features) {
    const pv_roles roles = {
        .target = target, .features = features, .weights = "count", .missing = PV_MISSING_INDICATOR};
    pv_fit_options options = pv_fit_options_default();
    char model[64];
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    pv__format(model, sizeof model, "trees:%d,%d,rate=%g", (int)oracle_number(item, "depth"),
               (int)oracle_number(item, "rounds"), oracle_number(item, "rate"));
    options.model = model;
    options.loss = PV_LOSS_PLAIN;
    CHECK(ctx, pv_table_read(ctx, PV_TEST_DIR "/oracle/trees_rows.csv", &(pv_csv_options){.roles = &roles}, &table));
    CHECK(ctx, pv_schema_learn(ctx, table, &roles, &schema, &data));
    CHECK(ctx, pv_fit(ctx, schema, data, &options, &c));
    size_t n = data->rows, k = (size_t)data->classes, each = k > 2 ? k : 1;
    double *log_p = calloc(n, k * sizeof *log_p), *margin = calloc(n, each * sizeof *margin);
    assert_non_null(log_p);
    assert_non_null(margin);
    CHECK(ctx, pv_predict_loglik(ctx, c, data, log_p));
    for (size_t i = 0; i < n; i++)
        for (size_t g = 0; g < each; g++) {
            size_t y = each == 1 ? 1 : g;
            margin[i * each + g] = log_p[i * k + y] - log_p[i * k] - (log_p[y] - log_p[0]);
        }
    oracle_compare(item, "margin", margin, oracle_values(item, "margin", n * each), n * each, 2e-5, 1);
    free(log_p);
    free(margin);
    pv_classifier_free(ctx, c);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
}

static void test_margins(void **state) {
    (void)state;
    if (!pv__boosting_here(NULL)) {
        skip();
        return;
    }
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/trees.txt");
    compare(ctx, oracle_find(file, "two"), "two", "a,b,c,d");
    compare(ctx, oracle_find(file, "three"), "three", "a,b,c,d");
    oracle_finish();
    oracle_file_free(file);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_margins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
