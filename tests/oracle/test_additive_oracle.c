/* Additive models compared with R's mgcv: tests/oracle/additive.txt, made by make_additive.R. */
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

enum { GROUPS = 5, ROWS = 400 };

typedef struct held {
    pv_ctx *ctx;
    oracle_file *file;
    const oracle_case *item;
    pv_table *table;
} held;

static held start(void) {
    held h = {.file = oracle_file_read(PV_TEST_DIR "/oracle/additive.txt")};
    h.item = oracle_find(h.file, "additive");
    assert_int_equal((size_t)oracle_number(h.item, "n"), ROWS);
    assert_int_equal(pv_ctx_new(NULL, &h.ctx), PV_OK);
    assert_int_equal(pv_table_new(h.ctx, "additive", ROWS, &h.table), PV_OK);
    static const char *const names[] = {"a", "b", "c", "level", "o", "w", "y"};
    for (size_t c = 0; c < sizeof names / sizeof *names; c++)
        assert_int_equal(pv_table_add_numbers(h.ctx, h.table, names[c], PV_ARRAY_F64,
                                              oracle_values(h.item, names[c], ROWS), PV_PACKED, NULL, false),
                         PV_OK);
    return h;
}

static void finish(held *h) {
    pv_table_free(h->ctx, h->table);
    pv_ctx_free(h->ctx);
    oracle_file_free(h->file);
}

static pv_roles roles_of(const char *weights, const char *offset) {
    return (pv_roles){.target = "y",
                      .features = "a,b,c,level",
                      .categorical = "level",
                      .weights = weights,
                      .offset = offset,
                      .smooth = HUGE_VAL};
}

/* Groups of the oracle, slopes, levels and three curves, are in the library's order. */
static void compare(const held *h, const char *name, const char *weights, const char *offset, const char *prior,
                    double tolerance) {
    const pv_roles roles = roles_of(weights, offset);
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    char key[40];
    pv_fit_options options = pv_fit_options_default();
    options.model = "additive";
    options.loss = PV_LOSS_PLAIN;
    options.intercept_prior = "none";
    options.prior = prior;
    options.tolerance = 1e-12;
    assert_int_equal(pv_schema_learn(h->ctx, h->table, &roles, &schema, &data), PV_OK);
    pv_status status = pv_fit(h->ctx, schema, data, &options, &c);
    if (status != PV_OK)
        fail_msg("%s: %s", name, pv_ctx_error(h->ctx)->message);
    assert_non_null(c->smoothing);
    assert_int_equal(c->smoothing->count, GROUPS);
    snprintf(key, sizeof key, "%s_scale", name);
    for (size_t g = 0; oracle_has(h->item, key) && g < GROUPS; g++) /* separately, to three digits */
        oracle_compare(h->item, key, c->smoothing->scale + g, oracle_values(h->item, key, GROUPS) + g, 1, 6e-3, 0);
    snprintf(key, sizeof key, "%s_edf", name);
    oracle_compare(h->item, key, c->smoothing->edf, oracle_values(h->item, key, GROUPS), GROUPS, tolerance, 0);
    double *eta = calloc(ROWS, sizeof *eta);
    assert_non_null(eta);
    bool moved = offset != NULL;
    for (size_t i = 0; i < ROWS; i++) {
        const double *x = data->x + i * (size_t)data->features;
        eta[i] = c->w[0] + (moved ? x[0] : 0);
        for (size_t j = moved; j < (size_t)data->features; j++)
            eta[i] += c->w[1 + j - moved] * x[j];
    }
    snprintf(key, sizeof key, "%s_eta", name);
    oracle_compare(h->item, key, eta, oracle_values(h->item, key, ROWS), ROWS, tolerance, 0);
    free(eta);
    pv_classifier_free(h->ctx, c);
    pv_dataset_free(h->ctx, data);
    pv_schema_free(h->ctx, schema);
}

static double variance_of(const pv_dataset *data, size_t feature) {
    double mean = 0, sum = 0, n = (double)data->rows;
    for (size_t i = 0; i < data->rows; i++)
        mean += data->x[i * (size_t)data->features + feature] / n;
    for (size_t i = 0; i < data->rows; i++)
        sum += pow(data->x[i * (size_t)data->features + feature] - mean, 2) / n;
    return sum;
}

/* Knots, and the variances of directions, which do not depend on the directions' signs. */
static void functions_are_mgcvs(void **state) {
    (void)state;
    held h = start();
    const pv_roles roles = roles_of(NULL, NULL);
    pv_schema *schema;
    pv_dataset *data;
    assert_int_equal(pv_schema_learn(h.ctx, h.table, &roles, &schema, &data), PV_OK);
    size_t made = 0;
    for (size_t t = 0; t < schema->terms; t++)
        made += schema->term[t].features;
    size_t first = (size_t)schema->features - made, s = schema->sources - made;
    for (size_t t = 0; t < schema->terms; first += schema->term[t].features, s += schema->term[t++].features) {
        const pv_term *term = &schema->term[t];
        char key[40];
        double variance[10];
        if (term->kind != PV_TERM_SMOOTH)
            continue;
        snprintf(key, sizeof key, "%s_knots", term->column[0]);
        oracle_compare(h.item, key, term->parameter + 2, oracle_values(h.item, key, (size_t)term->degree),
                       (size_t)term->degree, 1e-13, 0);
        for (size_t f = 0; f < term->features; f++)
            variance[f] = variance_of(data, first + f) * pow(schema->source[s + f].sd, 2);
        snprintf(key, sizeof key, "%s_variance", term->column[0]);
        oracle_compare(h.item, key, variance, oracle_values(h.item, key, term->features), term->features, 1e-10, 0);
    }
    pv_dataset_free(h.ctx, data);
    pv_schema_free(h.ctx, schema);
    finish(&h);
    oracle_finish();
}

static void stated_scales_fit_as_gam(void **state) {
    (void)state;
    held h = start();
    compare(&h, "stated", NULL, NULL, "normal:0.7", 1e-6);
    finish(&h);
    oracle_finish();
}

/* Scales are rounded to three digits. */
static void chosen_scales_are_those_of_reml(void **state) {
    (void)state;
    held h = start();
    compare(&h, "chosen", NULL, NULL, "usual", 3e-3);
    finish(&h);
    oracle_finish();
}

static void counts_and_offset_are_weights_and_offset(void **state) {
    (void)state;
    held h = start();
    compare(&h, "counts", "w", "o", "usual", 3e-3);
    finish(&h);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_mgcvs),
        cmocka_unit_test(stated_scales_fit_as_gam),
        cmocka_unit_test(chosen_scales_are_those_of_reml),
        cmocka_unit_test(counts_and_offset_are_weights_and_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
