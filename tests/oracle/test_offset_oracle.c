/* Offsets compared with R's glm, svyglm, polr and clogit: tests/oracle/offset.txt, made by make_offset.R. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "prevail/prevail.h"

enum { MOST = 8 };

typedef struct held {
    pv_ctx *ctx;
    oracle_file *file;
    const oracle_case *item;
    pv_table *table;
} held;

static held start(void) {
    held h = {.file = oracle_file_read(PV_TEST_DIR "/oracle/offset.txt")};
    h.item = oracle_find(h.file, "offset");
    size_t n = (size_t)oracle_number(h.item, "n");
    assert_int_equal(pv_ctx_new(NULL, &h.ctx), PV_OK);
    assert_int_equal(pv_table_new(h.ctx, "offset", n, &h.table), PV_OK);
    static const char *const names[] = {"set", "x1", "x2", "o", "y", "case", "cluster", "w", "grade"};
    for (size_t c = 0; c < sizeof names / sizeof *names; c++)
        assert_int_equal(pv_table_add_numbers(h.ctx, h.table, names[c], PV_ARRAY_F64,
                                              oracle_values(h.item, names[c], n), PV_PACKED, NULL, false),
                         PV_OK);
    return h;
}

static void finish(held *h) {
    pv_table_free(h->ctx, h->table);
    pv_ctx_free(h->ctx);
    oracle_file_free(h->file);
}

static pv_fit_options exactly(void) {
    pv_fit_options options = pv_fit_options_default();
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ML;
    options.tolerance = 1e-13;
    return options;
}

/* Compares the fit's coefficients and standard errors from `first` on with the oracle. */
static void compare(const held *h, pv_roles roles, const pv_fit_options *options, const char *name, size_t first,
                    size_t count, double error_tolerance) {
    char estimate[40], error[40];
    snprintf(estimate, sizeof estimate, "%s_estimate", name);
    snprintf(error, sizeof error, "%s_error", name);
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    double coefficient[MOST];
    roles.offset = "o";
    roles.features = "x1,x2";
    assert_int_equal(pv_schema_learn(h->ctx, h->table, &roles, &schema, &data), PV_OK);
    pv_status status = pv_fit(h->ctx, schema, data, options, &c);
    if (status != PV_OK)
        fail_msg("%s: %s", name, pv_ctx_error(h->ctx)->message);
    assert_int_equal(pv_model_params(c->model), first + count);
    assert_int_equal(pv_classifier_coefficients(h->ctx, c, coefficient), PV_OK);
    assert_non_null(c->standard_error);
    oracle_compare(h->item, estimate, coefficient + first, oracle_values(h->item, estimate, count), count, 1e-8, 0);
    oracle_compare(h->item, error, c->standard_error + first, oracle_values(h->item, error, count), count,
                   error_tolerance, 0);
    pv_classifier_free(h->ctx, c);
    pv_dataset_free(h->ctx, data);
    pv_schema_free(h->ctx, schema);
}

static void agrees_with_glm(void **state) {
    (void)state;
    held h = start();
    pv_fit_options options = exactly();
    compare(&h, (pv_roles){.target = "y"}, &options, "glm", 0, 3, 1e-7);
    finish(&h);
    oracle_finish();
}

static void agrees_with_svyglm(void **state) {
    (void)state;
    held h = start();
    pv_fit_options options = exactly();
    options.errors = PV_ERRORS_HC0;
    compare(&h, (pv_roles){.target = "y", .weights = "w", .cluster = "cluster"}, &options, "svyglm", 0, 3, 1e-7);
    finish(&h);
    oracle_finish();
}

static void agrees_with_polr(void **state) {
    (void)state;
    held h = start();
    pv_fit_options options = exactly();
    options.model = "ordinal";
    compare(&h, (pv_roles){.target = "grade"}, &options, "polr", 0, 5, 1e-5);
    finish(&h);
    oracle_finish();
}

static void agrees_with_clogit(void **state) {
    (void)state;
    held h = start();
    pv_fit_options options = exactly();
    options.loss = PV_LOSS_MATCHED;
    compare(&h, (pv_roles){.target = "case", .matched = "set"}, &options, "clogit", 1, 2, 1e-6);
    finish(&h);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_glm), cmocka_unit_test(agrees_with_svyglm),
                                       cmocka_unit_test(agrees_with_polr), cmocka_unit_test(agrees_with_clogit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
