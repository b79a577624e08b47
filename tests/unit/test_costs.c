/* Known labels, costs and decisions: results, and errors with their positions. */
#include "unit/fixture.h"

static void labels_in(const pv_csv_options *options) {
    const char text[] = "x,y\n1,1\n2,\n3,0.0\n4,2\n";
    put(text, strlen(text));
    pv_table *table = must_read(options);
    static char zero[] = "0", one[] = "1";
    char *labels[] = {zero, one};
    int32_t label[4];
    ok(pv_table_labels(ctx, table, "`labels`", "y", labels, 2, 3, NULL, label));
    assert_int_equal(label[0], 1);
    assert_int_equal(label[1], -1);
    assert_int_equal(label[2], 0);
    const size_t rows[] = {2, 3};
    assert_int_equal(pv_table_labels(ctx, table, "`labels`", "y", labels, 2, 2, rows, label), PV_ERR_INPUT);
    says("'2' in column 'y' is not one of the labels: 0, 1");
    at(5, 2);
    assert_int_equal(pv_table_labels(ctx, table, "`labels`", "z", labels, 2, 2, rows, label), PV_ERR_USAGE);
    pv_table_free(ctx, table);
}

/* In a text column and in a number column. */
static void test_labels(void **state) {
    (void)state;
    const char *const as_text[] = {"y"};
    labels_in(&(pv_csv_options){.text = as_text, .n_text = 1});
    labels_in(&(pv_csv_options){0});
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

static char no[] = "no", yes[] = "yes", perhaps[] = "perhaps";
static char *labels[] = {no, yes, perhaps};

static pv_costs *must_costs(const char *text, int classes) {
    put(text, strlen(text));
    pv_costs *costs;
    ok(pv_costs_read(ctx, path, labels, classes, &costs));
    return costs;
}

static void bad_costs(const char *text, const char *part, size_t line, size_t column) {
    put(text, strlen(text));
    pv_costs *costs;
    assert_int_equal(pv_costs_read(ctx, path, labels, 2, &costs), PV_ERR_INPUT);
    assert_null(costs);
    says(part);
    at(line, column);
}

static void test_costs_refused(void **state) {
    (void)state;
    bad_costs("action,no\nwait,0\nact,1\n", "no column for label 'yes'", 0, 0);
    bad_costs("action,no,yes,may\nwait,0,1,1\nact,1,0,1\n", "'may' of the costs is not one of the labels", 1, 4);
    bad_costs("action,no,yes\nwait,0,1\n", "only one action", 0, 0);
    bad_costs("action,no,yes\nwait,0,1\n,1,0\n", "has no name", 3, 1);
    bad_costs("action,no,yes\nwait,0,1\nwait,1,0\n", "given twice", 3, 1);
    bad_costs("action,no,yes\nwait,0,\nact,1,0\n", "'wait' for label 'yes' is missing", 2, 3);
    bad_costs("action,no,yes\nwait,0,much\nact,1,0\n", "'much' is not a cost", 2, 3);
    bad_costs("action,no,yes\nwait,0,inf\nact,1,0\n", "finite", 2, 3);
}

/* Two actions: the paper's threshold. Three: the lower envelope, where a dominated action never appears. */
static void test_thresholds(void **state) {
    (void)state;
    size_t action[8];
    double threshold[8];
    pv_costs *costs = must_costs("action,yes,no\nlet be,7,1\ntreat,2,4\n", 2); /* columns in any order */
    assert_int_equal(pv_cost_thresholds(costs, action, threshold), 2);
    assert_int_equal(action[0], 0);
    near(threshold[0], 1 / (1 + (7.0 - 2) / (4.0 - 1)), 1e-15);
    pv_costs_free(ctx, costs);
    costs = must_costs("a,no,yes\nwait,0,100\nask,5,20\nworse,6,21\ncut,30,2\n", 2);
    assert_int_equal(pv_cost_thresholds(costs, action, threshold), 3);
    assert_int_equal(action[1], 1);
    assert_int_equal(action[2], 3);
    near(threshold[0], 5.0 / 85, 1e-15);
    near(threshold[1], 25.0 / 43, 1e-15);
    pv_costs_free(ctx, costs);
    costs = must_costs("a,no,yes\nright,0,1\nwrong,1,2\n", 2); /* one action is best everywhere */
    assert_int_equal(pv_cost_thresholds(costs, action, threshold), 1);
    assert_int_equal(action[0], 0);
    pv_costs_free(ctx, costs);
}

/* Decisions have minimal cost by exhaustive search, and agree with the thresholds. */
static void test_decide(void **state) {
    (void)state;
    enum { N = 5000 };
    double *p = calloc(3 * N, sizeof *p), *expected = calloc(N, sizeof *expected);
    int32_t *action = calloc(N, sizeof *action);
    assert_true(p && expected && action);
    pv_costs *costs = must_costs("a,no,yes\nwait,0,100\nask,5,20\ncut,30,2\n", 2);
    for (size_t i = 0; i < N; i++) {
        p[2 * i + 1] = (double)i / N;
        p[2 * i] = 1 - p[2 * i + 1];
    }
    ok(pv_decide(ctx, costs, N, p, action, expected));
    for (size_t i = 0; i < N; i++) {
        double q = p[2 * i + 1];
        assert_int_equal(action[i], q <= 5.0 / 85 ? 0 : q <= 25.0 / 43 ? 1 : 2);
        near(expected[i], fmin(fmin(100 * q, 5 * (1 - q) + 20 * q), 30 * (1 - q) + 2 * q), 1e-12);
    }
    pv_costs_free(ctx, costs);
    /* 0-1 costs: the most probable label; abstaining is best if no probability exceeds 0.7. */
    costs = must_costs("a,no,yes,perhaps\nno,0,1,1\nyes,1,0,1\nperhaps,1,1,0\nabstain,0.3,0.3,0.3\n", 3);
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t y = 0; y < 3; y++)
            sum += p[3 * i + y] = (double)(1 + random_bits() % 1000);
        for (size_t y = 0; y < 3; y++)
            p[3 * i + y] /= sum;
    }
    ok(pv_decide(ctx, costs, N, p, action, NULL));
    size_t abstained = 0;
    for (size_t i = 0; i < N; i++) {
        size_t best = 0;
        for (size_t y = 1; y < 3; y++)
            best = p[3 * i + y] > p[3 * i + best] ? y : best;
        assert_int_equal(action[i], p[3 * i + best] >= 0.7 ? (int)best : 3);
        abstained += action[i] == 3;
    }
    assert_true(abstained > 0 && abstained < N);
    pv_costs_free(ctx, costs);
    free(p);
    free(expected);
    free(action);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static pv_status work(pv_ctx *poor) {
    pv_probs *probs = NULL;
    pv_costs *costs = NULL;
    pv_probs_options options = {.columns = "a=no,b=yes", .all = true};
    pv_status status = pv_probs_read(poor, path, &options, &probs);
    if (status == PV_OK)
        status = pv_costs_read(poor, path, labels, 2, &costs);
    pv_probs_free(poor, probs);
    pv_costs_free(poor, costs);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    const char text[] = "a,no,yes\nx,0.5,0.5\ny,0.25,0.75\n";
    put(text, strlen(text));
    sweep_memory(work);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels), cmocka_unit_test(test_costs_refused), cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_decide), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
