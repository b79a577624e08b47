/* Rates by imperfect verdicts against closed forms and SciPy: tests/oracle/rate.txt, made by make_rate.py. And by exact
 * enumeration: how often intervals hold the truth over all outcomes of tiny samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "prevail/core.h"
#include "rate/rate.h"
#include <math.h>

enum { AT = 6 };
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

static bool is_kind(const oracle_case *item, const char *kind) {
    return strncmp(item->name, kind, strlen(kind)) == 0;
}

static void ratio_agrees(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/rate.txt");
    for (size_t i = 0; i < file->count; i++) {
        const oracle_case *item = &file->item[i];
        if (!is_kind(item, "double_"))
            continue;
        pv__double_counts c = {.cells = (size_t)oracle_number(item, "cells")};
        memcpy(c.sample, oracle_values(item, "sample", c.cells), c.cells * sizeof(double));
        memcpy(c.yes, oracle_values(item, "yes", c.cells), c.cells * sizeof(double));
        memcpy(c.no, oracle_values(item, "no", c.cells), c.cells * sizeof(double));
        const double *at = oracle_values(item, "at", AT);
        double ratio[AT], mode = pv__double_mode(&c);
        for (size_t j = 0; j < AT; j++)
            ratio[j] = pv__double_ratio(&c, at[j], NULL, NULL);
        oracle_compare(item, "ratio", ratio, oracle_values(item, "ratio", AT), AT, 1e-7, 1);
        oracle_compare(item, "mode", &mode, oracle_values(item, "mode", 1), 1, 1e-14, 0.1);
    }
    oracle_file_free(file);
    oracle_finish();
}

static void proportions_agree(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/rate.txt");
    for (size_t i = 0; i < file->count; i++) {
        const oracle_case *item = &file->item[i];
        if (is_kind(item, "paired_")) {
            double ends[2];
            pv__rate_paired(oracle_number(item, "first"), oracle_number(item, "second"), oracle_number(item, "people"),
                            0.95, ends);
            oracle_compare(item, "ends", ends, oracle_values(item, "ends", 2), 2, 1e-6, 1);
        } else if (is_kind(item, "wilson_")) {
            pv_result *made = pv__rate_proportion(oracle_number(item, "count"), oracle_number(item, "people"), 0.95);
            double got[3] = {pv_result_number(pv_result_get(made, "value")),
                             pv_result_number(pv_result_get(made, "lo")), pv_result_number(pv_result_get(made, "hi"))};
            oracle_compare(item, "interval", got, oracle_values(item, "interval", 3), 3, 1e-12, 1);
            pv_result_free(made);
        }
    }
    oracle_file_free(file);
    oracle_finish();
}

/* ---- the whole way, from a table of counts ----------------------------------------------------------------------- */

typedef struct row {
    double verdict, label, count; /* label -1: of the sample */
} row;

static pv_table *table_of(const row *rows, size_t n) {
    pv_table *table;
    double verdict[16], count[16];
    int32_t label[16];
    static const char *const names[] = {"0", "1"};
    assert_true(n <= 16);
    for (size_t i = 0; i < n; i++) {
        verdict[i] = rows[i].verdict;
        count[i] = rows[i].count;
        label[i] = (int32_t)rows[i].label;
    }
    assert_int_equal(pv_table_new(ctx, "rows", n, &table), PV_OK);
    assert_int_equal(pv_table_add_numbers(ctx, table, "verdict", PV_ARRAY_F64, verdict, PV_PACKED, NULL, false), PV_OK);
    assert_int_equal(pv_table_add_numbers(ctx, table, "count", PV_ARRAY_F64, count, PV_PACKED, NULL, false), PV_OK);
    assert_int_equal(pv_table_add_codes(ctx, table, "label", PV_ARRAY_I32, label, PV_PACKED, 0, names, 2, NULL), PV_OK);
    return table;
}

static pv_result *found(const row *sample, size_t n, const row *gold, size_t m, const char *const (*pairs)[2],
                        size_t k) {
    pv_table *tables[2] = {table_of(sample, n), m > 0 ? table_of(gold, m) : NULL};
    pv_settings *settings;
    pv_result *result = NULL;
    assert_int_equal(pv_rate_settings_new(ctx, &settings), PV_OK);
    assert_int_equal(pv_settings_set(ctx, settings, "verdict", "verdict"), PV_OK);
    assert_int_equal(pv_settings_set(ctx, settings, "weights", "count"), PV_OK);
    for (size_t i = 0; i < k; i++)
        assert_int_equal(pv_settings_set(ctx, settings, pairs[i][0], pairs[i][1]), PV_OK);
    pv_status status = pv_rate_estimate(ctx, tables[0], tables[1], settings, &result);
    if (status != PV_OK)
        fail_msg("%s", pv_ctx_message(ctx));
    pv_settings_free(ctx, settings);
    pv_table_free(ctx, tables[0]);
    pv_table_free(ctx, tables[1]);
    return result;
}

static double number_at(const pv_result *result, const char *a, const char *b, const char *c) {
    return pv_result_number(pv_result_at(result, (const char *const[]){a, b, c, NULL}));
}

/* Rogan and Gladen's estimate; the interval, of the same sort, is near the exact or approximate one, and no wider than
 * it by more than a twentieth. */
static void stated_accuracy_agrees(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/rate.txt");
    for (size_t i = 0; i < file->count; i++) {
        const oracle_case *item = &file->item[i];
        bool known = is_kind(item, "known_");
        char se[64], sp[64];
        if (!known && !is_kind(item, "estimated_"))
            continue;
        double positive = oracle_number(item, "positive"), people = oracle_number(item, "people");
        if (known) {
            snprintf(se, sizeof se, "%.17g", oracle_number(item, "sensitivity"));
            snprintf(sp, sizeof sp, "%.17g", oracle_number(item, "specificity"));
        } else {
            snprintf(se, sizeof se, "%g/%g", oracle_number(item, "right1"), oracle_number(item, "all1"));
            snprintf(sp, sizeof sp, "%g/%g", oracle_number(item, "right0"), oracle_number(item, "all0"));
        }
        const row rows[2] = {{0, -1, people - positive}, {1, -1, positive}};
        const char *const pairs[2][2] = {{"sensitivity", se}, {"specificity", sp}};
        pv_result *made = found(rows, 2, NULL, 0, pairs, 2);
        const double *wanted = oracle_values(item, "interval", 3);
        double value = number_at(made, "rate", "1", "value"), lo = number_at(made, "rate", "1", "lo"),
               hi = number_at(made, "rate", "1", "hi"), width = wanted[2] - wanted[1];
        oracle_compare(item, "value", &value, wanted, 1, 2e-6, 1);
        if (!(fabs(lo - wanted[1]) < 0.12 * width && fabs(hi - wanted[2]) < 0.12 * width && hi - lo < 1.05 * width)) {
            print_error("[%g, %g] for [%g, %g]\n", lo, hi, wanted[1], wanted[2]);
            oracle_mismatch(item, "the interval is another one");
        }
        pv_result_free(made);
    }
    oracle_file_free(file);
    oracle_finish();
}

static void width_agrees(void **state) {
    (void)state;
    static const char *const ways[] = {"label", "verdict", "random"};
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/rate.txt");
    for (int w = 0; w < 3; w++) {
        char name[32], width[32];
        snprintf(name, sizeof name, "plan_%s", ways[w]);
        const oracle_case *item = oracle_find(file, name);
        const double *m = oracle_values(item, "sample", 2), *g = oracle_values(item, "gold", 4);
        snprintf(width, sizeof width, "%g", oracle_number(item, "width"));
        const row sample[2] = {{0, -1, m[0]}, {1, -1, m[1]}};
        const row gold[4] = {{0, 0, g[0]}, {1, 0, g[1]}, {0, 1, g[2]}, {1, 1, g[3]}};
        const char *const pairs[3][2] = {{"outcome", "label"}, {"gold-by", ways[w]}, {"width", width}};
        pv_result *made = found(sample, 2, gold, 4, pairs, 3);
        double now[2] = {number_at(made, "width", "now", NULL), number_at(made, "width", "least", NULL)};
        double more[2] = {number_at(made, "width", "more", w == 2 ? NULL : "0"), number_at(made, "width", "more", "1")};
        oracle_compare(item, "now", now, oracle_values(item, "now", 2), 2, 1e-5, 0.01);
        size_t groups = w == 2 ? 1 : 2;
        const double *wanted = oracle_values(item, "more", groups);
        for (size_t k = 0; k < groups; k++)
            if (!(fabs(more[k] - wanted[k]) <= 1))
                oracle_mismatch(item, "another number of gold rows");
        pv_result_free(made);
    }
    oracle_file_free(file);
    oracle_finish();
}

/* ---- exact enumeration ------------------------------------------------------------------------------------------- */

static double binomial(int n, int k, double p) {
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + (k ? k * log(p) : 0) +
               (n - k ? (n - k) * log1p(-p) : 0));
}

/* Sample of 15 people, 4 gold rows of each verdict or label: all 400 outcomes. So few people leave few outcomes, and no
 * interval that is not conservative holds in exactly 0.95. */
enum { PEOPLE = 15, GOLD = 4, TRUTHS = 4 };

static void coverage_is_enumerated(void **state) {
    (void)state;
    /* sensitivity, specificity, rate */
    static const double truth[TRUTHS][3] = {{0.9, 0.9, 0.2}, {0.8, 0.9, 0.5}, {0.95, 0.7, 0.35}, {0.7, 0.8, 0.05}};
    for (int by = 0; by < 2; by++) {
        double held[TRUTHS] = {0}, all[TRUTHS] = {0};
        for (int x = 0; x <= PEOPLE; x++)
            for (int a = 0; a <= GOLD; a++)
                for (int b = 0; b <= GOLD; b++) {
                    /* by label: gold [label][verdict], a of label 0 and b of label 1 have the verdict; by verdict:
                     * [label][verdict], a of verdict 0 and b of verdict 1 have the label */
                    pv__rate_counts c = {
                        .gold_by = by ? PV__GOLD_BY_VERDICT : PV__GOLD_BY_LABEL, .labels = 2, .cells = 2};
                    c.sample[1] = x;
                    c.sample[0] = PEOPLE - x;
                    c.gold[0][0] = GOLD - a;
                    c.gold[by ? 1 : 0][by ? 0 : 1] = a;
                    c.gold[by ? 0 : 1][by ? 1 : 0] = GOLD - b;
                    c.gold[1][1] = b;
                    pv_rate_options options = {.interval = 0.95, .seed = 1};
                    pv__rate_estimate e;
                    assert_int_equal(pv__rate_estimate_of(ctx, &c, &options, &e), PV_OK);
                    for (int t = 0; t < TRUTHS; t++) {
                        double se = truth[t][0], sp = truth[t][1], pi = truth[t][2], q = pi * se + (1 - pi) * (1 - sp);
                        double p0 = by ? pi * (1 - se) / (1 - q) : 1 - sp, p1 = by ? pi * se / q : se;
                        double p = binomial(PEOPLE, x, q) * binomial(GOLD, a, p0) * binomial(GOLD, b, p1);
                        all[t] += p;
                        held[t] += e.lo[1] <= pi && e.hi[1] >= pi ? p : 0;
                    }
                }
        for (int t = 0; t < TRUTHS; t++) {
            print_message("gold by %s, Se %g, Sp %g, rate %g: the interval holds in %.4f\n", by ? "verdict" : "label",
                          truth[t][0], truth[t][1], truth[t][2], held[t]);
            assert_true(fabs(all[t] - 1) < 1e-9);
            assert_true(held[t] > 0.915);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ratio_agrees), cmocka_unit_test(proportions_agree),
                                       cmocka_unit_test(stated_accuracy_agrees), cmocka_unit_test(width_agrees),
                                       cmocka_unit_test(coverage_is_enumerated)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
