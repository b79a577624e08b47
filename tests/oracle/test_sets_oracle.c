/* Sets of labels and calls with a refer region against NumPy and SciPy: tests/oracle/sets.txt, made by make_sets.py.
 * And exact coverage, by leaving out each row of a sample in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "prevail/core.h"
#include "sets/sets.h"
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

static const char *const names[] = {"a", "b", "c", "d"};

static pv_result *calibrated(size_t n, int k, const double *p, const int32_t *label, const double *weight,
                             const char *coverage) {
    pv_probs *probs;
    pv_settings *settings;
    pv_result *rule = NULL;
    assert_int_equal(pv_probs_new(ctx, n, names, k, k, p, label, weight, &probs), PV_OK);
    assert_int_equal(pv_sets_settings_new(ctx, &settings), PV_OK);
    assert_int_equal(pv_settings_set(ctx, settings, "coverage", coverage), PV_OK);
    if (pv_sets_calibrate(ctx, probs, NULL, settings, &rule) != PV_OK)
        fail_msg("%s", pv_ctx_message(ctx));
    pv_settings_free(ctx, settings);
    pv_probs_free(ctx, probs);
    return rule;
}

static double number_at(const pv_result *rule, int y, const char *a, const char *b) {
    return pv_result_number(pv_result_at(rule, (const char *const[]){"labels", names[y], a, b, NULL}));
}

static void rules_agree(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/sets.txt");
    size_t checked = 0;
    for (size_t i = 0; i < file->count; i++) {
        const oracle_case *item = &file->item[i];
        if (strncmp(item->name, "rule_", 5) != 0)
            continue;
        size_t n = (size_t)oracle_number(item, "rows"), k = (size_t)oracle_number(item, "classes");
        const double *y = oracle_values(item, "y", n), *coverage = oracle_values(item, "coverage", k);
        int32_t *label = calloc(n, sizeof *label);
        char text[128] = "";
        assert_non_null(label);
        for (size_t j = 0; j < n; j++)
            label[j] = (int32_t)y[j];
        for (size_t j = 0; j < k; j++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%g", j ? "," : "", names[j], coverage[j]);
        pv_result *rule =
            calibrated(n, (int)k, oracle_values(item, "p", n * k), label, oracle_values(item, "weight", n), text);
        double threshold[4], range[8], sizes[16];
        static const char *const size_name[] = {"empty", "single", "several", "labels"};
        for (int j = 0; j < (int)k; j++) {
            threshold[j] = number_at(rule, j, "threshold", NULL);
            range[2 * j] = number_at(rule, j, "range", "lo");
            range[2 * j + 1] = number_at(rule, j, "range", "hi");
            for (int s = 0; s < 4; s++)
                sizes[4 * j + s] = number_at(rule, j, "sets", size_name[s]);
        }
        oracle_compare(item, "threshold", threshold, oracle_values(item, "threshold", k), k, 0, 1);
        oracle_compare(item, "range", range, oracle_values(item, "range", 2 * k), 2 * k, 1e-10, 1);
        oracle_compare(item, "sizes", sizes, oracle_values(item, "sizes", 4 * k), 4 * k, 1e-12, 1);
        pv_result_free(rule);
        free(label);
        checked++;
    }
    assert_int_equal(checked, 4);
    oracle_file_free(file);
    oracle_finish();
}

/* Each score as one person; v ascending, perhaps with ties. */
static pv__sets_scores scores_of(const double *v, size_t n) {
    pv__sets_scores s = {0, calloc(n, sizeof(double)), calloc(n, sizeof(double)), (double)n};
    assert_true(s.value && s.upto);
    for (size_t i = 0; i < n; i++) {
        if (s.distinct == 0 || v[i] > s.value[s.distinct - 1])
            s.value[s.distinct++] = v[i];
        s.upto[s.distinct - 1] = (double)(i + 1);
    }
    return s;
}

static void sides_agree(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/sets.txt");
    size_t checked = 0;
    for (size_t i = 0; i < file->count; i++) {
        const oracle_case *item = &file->item[i];
        if (strncmp(item->name, "side_", 5) != 0)
            continue;
        size_t n = (size_t)oracle_number(item, "right"), m = (size_t)oracle_number(item, "wrong");
        pv__sets_scores right = scores_of(oracle_values(item, "scores", n), n),
                        wrong = scores_of(oracle_values(item, "others", m), m);
        pv__sets_side side;
        assert_int_equal(pv__sets_side_of(ctx, &right, &wrong, oracle_number(item, "first") > 0,
                                          oracle_number(item, "error"), oracle_number(item, "odds"),
                                          oracle_number(item, "delta"), &side),
                         PV_OK);
        double *holds = calloc(side.candidates, sizeof *holds);
        assert_non_null(holds);
        for (size_t j = 0; j < side.candidates; j++)
            holds[j] = side.holds[j];
        oracle_compare(item, "at", side.at, oracle_values(item, "at", side.candidates), side.candidates, 0, 1);
        oracle_compare(item, "holds", holds, oracle_values(item, "holds", side.candidates), side.candidates, 0, 1);
        free(holds);
        pv__sets_side_free(ctx, &side);
        free(right.value);
        free(right.upto);
        free(wrong.value);
        free(wrong.upto);
        checked++;
    }
    assert_int_equal(checked, 5);
    oracle_file_free(file);
    oracle_finish();
}

/* n + 1 exchangeable rows: each is equally likely the new one. The share of them that their sets contain is 1 - k/(n+1)
 * exactly without ties, and at least that with ties. */
static double covered(size_t n, const char *coverage, int ties, double *promised) {
    enum { MOST = 64 };
    double p[2 * MOST], all[MOST];
    int32_t label[MOST], member[2];
    pv_rng rng = pv_rng_stream(n, PV_STREAM_STUDY_PEOPLE, (uint64_t)ties);
    double count = 0;
    assert_true(2 * n + 2 <= MOST);
    for (size_t i = 0; i <= n; i++)
        all[i] = ties ? (double)(pv_rng_below(&rng, 4) + 1) / 8 : pv_rng_uniform(&rng);
    for (size_t left = 0; left <= n; left++) {
        size_t rows = 0;
        for (size_t i = 0; i <= n; i++)
            if (i != left) {
                label[rows] = 0;
                p[2 * rows] = all[i];
                p[2 * rows + 1] = 1 - all[i];
                rows++;
            }
        for (size_t i = 0; i < n; i++, rows++) { /* the other label */
            label[rows] = 1;
            p[2 * rows] = p[2 * rows + 1] = 0.5;
        }
        pv_result *rule = calibrated(rows, 2, p, label, NULL, coverage);
        const double own[2] = {all[left], 1 - all[left]};
        assert_int_equal(pv_sets_apply(ctx, rule, 1, 2, own, member, NULL), PV_OK);
        count += member[0];
        *promised = number_at(rule, 0, "expected", NULL);
        pv_result_free(rule);
    }
    return count / (double)(n + 1);
}

static void coverage_is_exact(void **state) {
    (void)state;
    static const char *const levels[] = {"0.5", "0.8", "0.9"};
    double promised;
    for (size_t n = 9; n <= 30; n++)
        for (int l = 0; l < 3; l++) {
            double wanted = strtod(levels[l], NULL), k = floor((double)(n + 1) * (1 - wanted) + 1e-9);
            double found = covered(n, levels[l], 0, &promised);
            assert_true(fabs(found - (1 - k / (double)(n + 1))) < 1e-12);
            assert_true(fabs(promised - found) < 1e-12);
            assert_true(found >= wanted - 1e-12 && found < wanted + 1 / (double)(n + 1));
            assert_true(covered(n, levels[l], 1, &promised) >= promised - 1e-12);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_agree),
        cmocka_unit_test(sides_agree),
        cmocka_unit_test(coverage_is_exact),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
