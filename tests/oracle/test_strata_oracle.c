/* Fits of strata compared with SciPy's maximum over coefficients and every row's mass: strata.txt, made by
 * make_strata.py. */
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

#define FILE_OF(name) PV_TEST_DIR "/oracle/strata_" name ".csv"

static void set(pv_ctx *ctx, pv_settings *settings, const char *name, const char *value) {
    assert_int_equal(pv_settings_set(ctx, settings, name, value), PV_OK);
}

static void compare(pv_ctx *ctx, const oracle_case *item, bool counts, bool weighted, bool feature) {
    pv_settings *settings;
    pv_classifier *c;
    size_t n = feature ? 5 : 3;
    double coefficient[5];
    assert_int_equal(pv_fit_settings_new(ctx, &settings), PV_OK);
    set(ctx, settings, "outcome", "y");
    set(ctx, settings, "strata", "site");
    set(ctx, settings, counts ? "phase-one" : "prevalence-by", counts ? FILE_OF("counts") : FILE_OF("known"));
    set(ctx, settings, "loss", weighted ? "iw" : "ig");
    set(ctx, settings, "infer", "ml");
    set(ctx, settings, "tolerance", "1e-12");
    if (!feature)
        set(ctx, settings, "exclude", "site");
    assert_int_equal(pv_learn(ctx, FILE_OF("rows"), settings, &c), PV_OK);
    assert_int_equal(pv_classifier_coefficients(ctx, c, coefficient), PV_OK);
    oracle_compare(item, "estimate", coefficient, oracle_values(item, "estimate", n), n, 1e-8, 0);
    pv_classifier_free(ctx, c);
    pv_settings_free(ctx, settings);
}

static void agrees_with_scipy(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/strata.txt");
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    for (int feature = 0; feature < 2; feature++) {
        compare(ctx, oracle_find(file, feature ? "counts1" : "counts0"), true, false, feature);
        compare(ctx, oracle_find(file, feature ? "known1" : "known0"), false, false, feature);
        compare(ctx, oracle_find(file, feature ? "weighted1" : "weighted0"), true, true, feature);
        compare(ctx, oracle_find(file, feature ? "weighted1" : "weighted0"), false, true, feature);
    }
    pv_ctx_free(ctx);
    oracle_file_free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_scipy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
