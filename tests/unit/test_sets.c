/* Sets of labels and calls with a refer region: identities, guarantees that are built in, what is refused, failing
 * allocations. */
#include "fixture.h"
#include "prevail/sets.h"

typedef struct settings_pair {
    const char *name, *value;
} settings_pair;

static const char *const names[] = {"control", "case"};

static pv_status run(pv_ctx *in, const pv_probs *p, const int32_t *unit, const settings_pair *set, pv_result **rule) {
    pv_settings *settings = NULL;
    pv_status status = pv_sets_settings_new(in, &settings);
    *rule = NULL;
    for (size_t i = 0; status == PV_OK && set[i].name; i++)
        status = pv_settings_set(in, settings, set[i].name, set[i].value);
    if (status == PV_OK)
        status = pv_sets_calibrate(in, p, unit, settings, rule);
    pv_settings_free(in, settings);
    return status;
}

/* Scores of n controls and m cases, the cases' with larger p. */
enum { MOST = 2000 };
static double score[MOST];
static int32_t label[MOST];
static pv_probs *made(size_t n, size_t m, const double *weight) {
    pv_probs *probs;
    assert_true(n + m <= MOST);
    for (size_t i = 0; i < n + m; i++) {
        double u = (double)(random_bits() >> 11) / 9007199254740992.0;
        label[i] = i >= n;
        score[i] = label[i] ? sqrt(sqrt(u)) : u * u * u * u;
    }
    ok(pv_probs_new(ctx, n + m, names, 2, 1, score, label, weight, &probs));
    return probs;
}

static double at_path(const pv_result *rule, const char *a, const char *b, const char *c, const char *d) {
    return pv_result_number(pv_result_at(rule, (const char *const[]){a, b, c, d, NULL}));
}

static const settings_pair usual[] = {{NULL, NULL}};
static const settings_pair referred[] = {
    {"refer", "0.05,0.3"}, {"prevalence", "0.3-0.5"}, {"confidence", "0.9"}, {NULL, NULL}};

/* ---- identities -------------------------------------------------------------------------------------------------- */

static void thresholds_do_not_depend_on_proportions(void **state) {
    (void)state;
    enum { N = 200, M = 50 };
    pv_result *a, *b;
    pv_probs *probs = made(N, M, NULL), *few;
    ok(run(ctx, probs, NULL, usual, &a));
    size_t first = N - 20; /* the last 20 controls, all cases */
    ok(pv_probs_new(ctx, 20 + M, names, 2, 1, score + first, label + first, NULL, &few));
    ok(run(ctx, few, NULL, usual, &b));
    same_bits(at_path(a, "labels", "case", "threshold", NULL), at_path(b, "labels", "case", "threshold", NULL));
    assert_true(at_path(b, "labels", "control", "rows", NULL) == 20);
    pv_result_free(a);
    pv_result_free(b);
    pv_probs_free(ctx, probs);
    pv_probs_free(ctx, few);
}

static void counts_are_rows(void **state) {
    (void)state;
    enum { N = 150 };
    static double count[N], p[3 * N];
    static int32_t y[3 * N];
    pv_result *a, *b;
    size_t rows = 0;
    for (size_t i = 0; i < N; i++)
        count[i] = (double)(i % 4);
    pv_probs *few = made(100, 50, count), *all;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < i % 4; j++, rows++) {
            p[rows] = score[i];
            y[rows] = label[i];
        }
    ok(pv_probs_new(ctx, rows, names, 2, 1, p, y, NULL, &all));
    ok(run(ctx, few, NULL, referred, &a));
    ok(run(ctx, all, NULL, referred, &b));
    char *first, *second;
    ok(pv_result_json(ctx, a, &first));
    ok(pv_result_json(ctx, b, &second));
    assert_string_equal(first, second);
    pv_result_text_free(ctx, first);
    pv_result_text_free(ctx, second);
    pv_result_free(a);
    pv_result_free(b);
    pv_probs_free(ctx, few);
    pv_probs_free(ctx, all);
}

/* Units that are rows change nothing; of units of copies one row is used, whichever. */
static void one_row_of_each_unit(void **state) {
    (void)state;
    enum { N = 120, TIMES = 3 };
    static double p[TIMES * N];
    static int32_t y[TIMES * N], unit[TIMES * N];
    static const settings_pair seeded[] = {{"seed", "7"}, {NULL, NULL}};
    pv_result *rule[4];
    pv_probs *single = made(80, 40, NULL), *copies;
    for (size_t i = 0; i < TIMES * N; i++) {
        p[i] = score[i % N];
        y[i] = label[i % N];
        unit[i] = (int32_t)(i % N);
    }
    ok(pv_probs_new(ctx, TIMES * N, names, 2, 1, p, y, NULL, &copies));
    ok(run(ctx, single, NULL, usual, &rule[0]));
    ok(run(ctx, single, unit, usual, &rule[1]));
    ok(run(ctx, copies, unit, usual, &rule[2]));
    ok(run(ctx, copies, unit, seeded, &rule[3]));
    for (int i = 1; i < 4; i++)
        for (int l = 0; l < 2; l++) {
            same_bits(at_path(rule[0], "labels", names[l], "threshold", NULL),
                      at_path(rule[i], "labels", names[l], "threshold", NULL));
            assert_true(at_path(rule[i], "labels", names[l], "rows", NULL) == (l ? 40 : 80));
        }
    for (int i = 0; i < 4; i++)
        pv_result_free(rule[i]);
    /* rows of one unit differ, and the seed chooses among them */
    int different = 0;
    for (size_t i = 0; i < TIMES * N; i++)
        p[i] = fmod(score[i % N] + 0.1 * floor((double)i / N), 1);
    pv_probs_free(ctx, copies);
    ok(pv_probs_new(ctx, TIMES * N, names, 2, 1, p, y, NULL, &copies));
    ok(run(ctx, copies, unit, usual, &rule[0]));
    for (int s = 2; s < 12; s++) {
        char seed[16];
        snprintf(seed, sizeof seed, "%d", s);
        const settings_pair pairs[] = {{"seed", seed}, {NULL, NULL}};
        ok(run(ctx, copies, unit, pairs, &rule[1]));
        different += at_path(rule[0], "labels", "case", "threshold", NULL) <
                         at_path(rule[1], "labels", "case", "threshold", NULL) ||
                     at_path(rule[0], "labels", "case", "threshold", NULL) >
                         at_path(rule[1], "labels", "case", "threshold", NULL);
        pv_result_free(rule[1]);
    }
    assert_true(different > 0);
    pv_result_free(rule[0]);
    pv_probs_free(ctx, single);
    pv_probs_free(ctx, copies);
}

/* Calls are disjoint, their errors among the calibration rows are below the wanted ones at both ends, and swapping the
 * labels swaps the calls. */
static void calls_keep_their_errors(void **state) {
    (void)state;
    enum { N = 1000, M = 500 };
    pv_result *rule, *mirror;
    pv_probs *probs = made(N, M, NULL), *swapped;
    ok(run(ctx, probs, NULL, referred, &rule));
    static double q[N + M];
    static int32_t y[N + M], member[2 * (N + M)], call[N + M], mirrored[N + M];
    static const char *const other_way[] = {"case", "control"};
    static const settings_pair back[] = {{"refer", "control=0.05,case=0.3"},
                                         {"prevalence", "0.5-0.7"}, /* of the label that is now the last */
                                         {"confidence", "0.9"},
                                         {NULL, NULL}};
    double lo = at_path(rule, "refer", "calls", "control", "threshold"),
           hi = at_path(rule, "refer", "calls", "case", "threshold");
    if (!(lo > 0 && lo < hi && hi < 1))
        fail_msg("%g and %g", lo, hi);
    ok(pv_sets_apply(ctx, rule, N + M, 2, probs->p, member, call));
    double called[2][2] = {{0, 0}, {0, 0}};
    for (size_t i = 0; i < N + M; i++) {
        assert_true(call[i] >= -1 && call[i] <= 1);
        assert_int_equal(call[i], score[i] <= lo ? 0 : score[i] >= hi ? 1 : -1);
        if (call[i] >= 0)
            called[call[i]][label[i]]++;
        assert_int_equal(member[2 * i + 1], score[i] >= at_path(rule, "labels", "case", "threshold", NULL));
        y[i] = 1 - label[i];
        q[i] = 1 - score[i];
    }
    for (int l = 0; l < 2; l++) {
        double worst = l ? 0.7 : 0.5, wrong = worst * called[l][1 - l] / (l ? N : M),
               all = wrong + (1 - worst) * called[l][l] / (l ? M : N);
        near(at_path(rule, "refer", "calls", names[l], "error"), wrong / all, 1e-12);
        assert_true(wrong / all <= (l ? 0.3 : 0.05));
    }
    ok(pv_probs_new(ctx, N + M, other_way, 2, 1, q, y, NULL, &swapped));
    ok(run(ctx, swapped, NULL, back, &mirror));
    ok(pv_sets_apply(ctx, mirror, N + M, 2, swapped->p, member, mirrored));
    size_t alike = 0;
    for (size_t i = 0; i < N + M; i++)
        alike += mirrored[i] == (call[i] < 0 ? -1 : 1 - call[i]);
    assert_true(alike >= N + M - 2); /* 1 - (1 - p) may differ from p in the last bit */
    pv_probs_free(ctx, swapped);
    pv_probs_free(ctx, probs);
    pv_result_free(mirror);
    pv_result_free(rule);
}

static void never_and_everyone(void **state) {
    (void)state;
    pv_result *rule;
    pv_probs *probs = made(30, 30, NULL);
    static int32_t member[120], call[60];
    static const settings_pair strict[] = {{"refer", "0.0001"}, {"prevalence", "0.2"}, {NULL, NULL}};
    static const settings_pair rare[] = {{"refer", "0.05,0"}, {"prevalence", "0.001-0.01"}, {NULL, NULL}};
    ok(run(ctx, probs, NULL, strict, &rule));
    assert_true(at_path(rule, "refer", "all_referred", NULL, NULL) > 0);
    assert_int_equal(pv_result_count(pv_result_get(rule, "warnings")), 2);
    ok(pv_sets_apply(ctx, rule, 60, 2, probs->p, member, call));
    for (size_t i = 0; i < 60; i++)
        assert_int_equal(call[i], -1);
    pv_result_free(rule);
    ok(run(ctx, probs, NULL, rare, &rule)); /* one in a hundred at most is a case, and one in twenty may be wrong */
    assert_int_equal(pv_result_count(pv_result_get(rule, "warnings")), 1);
    ok(pv_sets_apply(ctx, rule, 60, 2, probs->p, member, call));
    for (size_t i = 0; i < 60; i++)
        assert_int_equal(call[i], 0);
    pv_result_free(rule);
    pv_probs_free(ctx, probs);
}

static void expected_sets_are_mixtures(void **state) {
    (void)state;
    static const settings_pair somewhere[] = {{"prevalence", "0.1-0.3"}, {"coverage", "0.95,0.8"}, {NULL, NULL}};
    static const char *const sizes[] = {"empty", "single", "several", "labels"};
    pv_result *rule;
    pv_probs *probs = made(300, 100, NULL);
    ok(run(ctx, probs, NULL, somewhere, &rule));
    for (int s = 0; s < 4; s++) {
        double own[2], at[2];
        for (int l = 0; l < 2; l++)
            own[l] = at_path(rule, "labels", names[l], "sets", sizes[s]);
        at[0] = 0.9 * own[0] + 0.1 * own[1];
        at[1] = 0.7 * own[0] + 0.3 * own[1];
        near(at_path(rule, "population", sizes[s], "lo", NULL), fmin(at[0], at[1]), 1e-12);
        near(at_path(rule, "population", sizes[s], "hi", NULL), fmax(at[0], at[1]), 1e-12);
    }
    char *text;
    ok(pv_sets_text(ctx, rule, &text));
    assert_non_null(strstr(text, "Expected in the population (10-30 % case)"));
    pv_result_text_free(ctx, text);
    pv_result_free(rule);
    pv_probs_free(ctx, probs);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refuse(const pv_probs *probs, const int32_t *unit, const char *name, const char *value, const char *name2,
                   const char *value2, const char *part) {
    const settings_pair pairs[] = {{name, value}, {name2, value2}, {NULL, NULL}};
    pv_result *rule;
    assert_true(run(ctx, probs, unit, pairs, &rule) != PV_OK);
    assert_null(rule);
    says(part);
}

static void refuses_with_the_remedy(void **state) {
    (void)state;
    static double weight[60];
    static int32_t unit[60], member[4], call[2];
    pv_probs *probs = made(20, 8, NULL), *weighted, *unlabelled;
    refuse(probs, NULL, NULL, NULL, NULL, NULL,
           "label 'case' has 8 calibration rows, and a coverage of 0.9 takes at least 9");
    refuse(probs, NULL, "coverage", "0.99,0.5", NULL, NULL,
           "label 'control' has 20 calibration rows, and a coverage of 0.99 takes at least 99");
    refuse(probs, NULL, "coverage", "1", NULL, NULL, "1 is not between 0.01 and 0.9999");
    refuse(probs, NULL, "coverage", "nan", NULL, NULL, "neither one number");
    refuse(probs, NULL, "coverage", "0.5,0.5,0.5", NULL, NULL, "neither one number");
    refuse(probs, NULL, "coverage", "case=0.5", NULL, NULL, "has no number for label 'control'");
    refuse(probs, NULL, "coverage", "case=0.5,case=0.4", NULL, NULL, "neither one number");
    refuse(probs, NULL, "coverage", "case=0.5,kase=0.4", NULL, NULL, "neither one number");
    refuse(probs, NULL, "coverage", "", NULL, NULL, "");
    refuse(probs, NULL, "coverage", "0.5", "refer", "0.1", "`refer` needs `prevalence`");
    refuse(probs, NULL, "refer", "0", "prevalence", "0.1", "never calls a label");
    refuse(probs, NULL, "refer", "0.1", "prevalence", "1.5", "1.5");
    for (size_t i = 0; i < 60; i++) {
        weight[i] = 1;
        unit[i] = (int32_t)i;
    }
    weight[3] = 0.5;
    weighted = made(20, 20, weight);
    refuse(weighted, NULL, NULL, NULL, NULL, NULL, "calibration row 4 has the weight 0.5");
    pv_probs_free(ctx, weighted);
    weight[3] = 2;
    weighted = made(20, 20, weight);
    refuse(weighted, unit, NULL, NULL, NULL, NULL, "counts as well as units");
    pv_probs_free(ctx, weighted);
    unit[2] = -1;
    refuse(probs, unit, NULL, NULL, NULL, NULL, "calibration row 3 belongs to no unit");
    ok(pv_probs_new(ctx, 28, names, 2, 1, score, NULL, NULL, &unlabelled));
    refuse(unlabelled, NULL, NULL, NULL, NULL, NULL, "need a label each");
    pv_probs_free(ctx, unlabelled);
    pv_probs_free(ctx, probs);
    probs = made(30, 30, NULL);
    pv_result *rule;
    ok(run(ctx, probs, NULL, usual, &rule));
    static const double three[3] = {0.2, 0.3, 0.5}, wrong[2] = {0.5, 0.7}, absent[2] = {(double)NAN, 0.5};
    assert_int_equal(pv_sets_apply(ctx, rule, 1, 3, three, member, NULL), PV_ERR_USAGE);
    says("the rule is for 2 labels");
    assert_int_equal(pv_sets_apply(ctx, rule, 1, 2, wrong, member, call), PV_ERR_USAGE);
    says("the rule has no calls");
    assert_int_equal(pv_sets_apply(ctx, rule, 1, 2, wrong, member, NULL), PV_ERR_INPUT);
    says("row 1 has no probabilities");
    assert_int_equal(pv_sets_apply(ctx, rule, 1, 2, absent, member, NULL), PV_ERR_INPUT);
    pv_result_free(rule);
    pv_probs_free(ctx, probs);
}

static const pv_probs *swept;
static const int32_t *swept_unit;

static pv_status once_more(pv_ctx *poor) {
    pv_result *rule;
    char *text = NULL;
    pv_status status = run(poor, swept, swept_unit, referred, &rule);
    if (status == PV_OK)
        status = pv_sets_text(poor, rule, &text);
    pv_result_text_free(poor, text);
    pv_result_free(rule);
    return status;
}

static void survives_failing_allocations(void **state) {
    (void)state;
    static int32_t unit[60];
    pv_probs *probs = made(30, 30, NULL);
    for (int32_t i = 0; i < 60; i++)
        unit[i] = i / 2;
    swept = probs;
    sweep_memory(once_more);
    swept_unit = unit;
    sweep_memory(once_more);
    pv_probs_free(ctx, probs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(thresholds_do_not_depend_on_proportions),
                                       cmocka_unit_test(counts_are_rows),
                                       cmocka_unit_test(one_row_of_each_unit),
                                       cmocka_unit_test(calls_keep_their_errors),
                                       cmocka_unit_test(never_and_everyone),
                                       cmocka_unit_test(expected_sets_are_mixtures),
                                       cmocka_unit_test(refuses_with_the_remedy),
                                       cmocka_unit_test(survives_failing_allocations)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
