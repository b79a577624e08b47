/* Sample sizes against closed forms and SciPy: tests/oracle/size.txt, made by make_size.py. The whole way, from
 * settings to a result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "prevail/core.h"
#include "prevail/size.h"
#include "size/size.h"
#include <math.h>

static pv_ctx *ctx;

static int setup(void **state) {
    (void)state;
    return pv_ctx_new(NULL, &ctx) != PV_OK;
}

static int teardown(void **state) {
    (void)state;
    pv_ctx_free(ctx);
    return 0;
}

/* keys: pairs of an option and its key in the case, up to NULL; a value of 0 is not set. */
static pv_result *plan(const oracle_case *item, const char *const (*keys)[2], const char *ratio) {
    pv_settings *settings;
    pv_result *result = NULL;
    assert_int_equal(pv_size_settings_new(ctx, &settings), PV_OK);
    for (size_t i = 0; keys[i][0]; i++) {
        char text[32];
        double value = oracle_number(item, keys[i][1]);
        pv_format_double(value, text, sizeof text);
        if (value > 0)
            assert_int_equal(pv_settings_set(ctx, settings, keys[i][0], text), PV_OK);
    }
    if (ratio)
        assert_int_equal(pv_settings_set(ctx, settings, "ratio", ratio), PV_OK);
    if (strncmp(item->name, "odds_", 5) == 0)
        assert_int_equal(pv_settings_set(ctx, settings, "prevalence", "0.02"), PV_OK);
    if (pv_size_find(ctx, NULL, settings, &result) != PV_OK)
        fail_msg("%s", pv_ctx_error(ctx)->message);
    pv_settings_free(ctx, settings);
    return result;
}

static double at(const pv_result *result, const char *first, const char *second, const char *third) {
    return pv_result_number(pv_result_at(result, (const char *const[]){first, second, third, NULL}));
}

/* Calls check for each case of that kind. */
static void each(const char *kind, void (*check)(const oracle_case *item)) {
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/size.txt");
    size_t found = 0;
    for (size_t i = 0; i < file->count; i++)
        if (strncmp(file->item[i].name, kind, strlen(kind)) == 0) {
            check(&file->item[i]);
            found++;
        }
    assert_true(found > 0);
    oracle_file_free(file);
    oracle_finish();
}

static void check_riley(const oracle_case *item) {
    static const char *const keys[][2] = {
        {"prevalence", "prevalence"}, {"parameters", "parameters"}, {"r2", "r2"}, {NULL, NULL}};
    pv_result *r = plan(item, keys, "population");
    double rows[3] = {at(r, "criteria", "shrinkage", "rows"), at(r, "criteria", "optimism", "rows"),
                      at(r, "criteria", "margin", "rows")};
    oracle_compare(item, "rows", rows, oracle_values(item, "rows", 3), 3, 1e-12, 1);
    pv_result_free(r);
}

static void riley_is_reproduced(void **state) {
    (void)state;
    each("riley_", check_riley);
}

static void check_model(const oracle_case *item) {
    static const char *const keys[][2] = {
        {"prevalence", "prevalence"}, {"prevalence-n", "people"}, {"auc", "auc"},     {"parameters", "parameters"},
        {"threshold", "threshold"},   {"cases", "cases"},         {"ratio", "ratio"}, {NULL, NULL}};
    pv_result *r = plan(item, keys, NULL);
    double got[6] = {at(r, "model", "r2", NULL),       at(r, "model", "r2_design", NULL),
                     at(r, "figures", "auc", "error"), at(r, "figures", "risk", "error"),
                     at(r, "figures", "ppv", "error"), at(r, "figures", "net_benefit", "error")};
    const double *expected = oracle_values(item, "errors", 6);
    for (size_t i = 0; i < 6; i++)
        oracle_compare(item, "errors", &got[i], &expected[i], 1, 1e-8, 1e-6);
    pv_result_free(r);
}

static void errors_agree(void **state) {
    (void)state;
    each("model_", check_model);
}

static void check_odds(const oracle_case *item) {
    static const char *const keys[][2] = {{"odds-ratio", "odds_ratio"}, {"exposure", "exposure"}, {"auc", "auc"},
                                          {"cases", "cases"},           {"ratio", "ratio"},       {NULL, NULL}};
    pv_result *r = plan(item, keys, NULL);
    double got[2] = {at(r, "figures", "odds_ratio", "error"), at(r, "figures", "power", NULL)};
    oracle_compare(item, "error", got, oracle_values(item, "error", 2), 2, 1e-8, 0.1);
    pv_result_free(r);
}

static void odds_ratios_agree(void **state) {
    (void)state;
    each("odds_", check_odds);
}

static void check_slope(const oracle_case *item) {
    double d = sqrt(2) * pv_normal_quantile(oracle_number(item, "auc")), share = oracle_number(item, "share");
    double parameters = oracle_number(item, "parameters"), rows = oracle_number(item, "rows");
    double got = pv__size_slope_of(d, share, parameters, rows), back;
    oracle_compare(item, "slope", &got, oracle_values(item, "slope", 1), 1, 1e-7, 1);
    back = pv__size_rows_of_slope(d, share, parameters, got);
    oracle_compare(item, "rows of that slope", &back, &rows, 1, 1e-6, 1);
}

static void slopes_agree(void **state) {
    (void)state;
    each("slope_", check_slope);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(riley_is_reproduced), cmocka_unit_test(errors_agree),
                                       cmocka_unit_test(odds_ratios_agree), cmocka_unit_test(slopes_agree)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
