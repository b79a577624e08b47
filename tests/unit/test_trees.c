/* Boosted trees: the specification, the evaluator compared with XGBoost's sums, invariances of a fit, and exact
 * identities: prior correction, counts as people. Tests that need XGBoost's library are reported as skipped without it.
 */
#include "model/trees.h"

#include <float.h>
#include <stdlib.h>

#include "problem.h"

static bool here(void) {
    bool found = pv__boosting_here(NULL);
    if (!found)
        skip();
    return found;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static void test_specs(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    static const char *const bad[] = {"trees:",      "trees:0",         "trees:9",           "trees:4,-1",
                                      "trees:4,1e9", "trees:4,5,6",     "trees:rate=0",      "trees:rate=0.1,rate=0.1",
                                      "trees:a",     "trees:4,5,leaf=", "trees:depth=2.5",   "treesome",
                                      "trees:4,",    "trees:,4",        "trees:penalty=nan", "auto:trees:9"};
    pv_model *model;
    char *spec;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pv_model_new(ctx, bad[i], 2, 2, &model), PV_ERR_USAGE);
        assert_null(model);
    }
    CHECK_OK(ctx, pv_model_new(ctx, "trees:2,3,rate=0.5", 5, 2, &model));
    assert_int_equal(pv_model_params(model), 2 + 5 + 3 * 7 * 2);
    CHECK_OK(ctx, pv__trees_spec(ctx, model, 17, &spec));
    assert_string_equal(spec, "trees:2,17,rate=0.5");
    pv__free(ctx, spec);
    pv_model_free(ctx, model);
    CHECK_OK(ctx, pv_model_new(ctx, "auto:prevalence+trees:1,2+linear", 1, 3, &model));
    assert_int_equal(pv_model_params(model), 1 + 3 + 1 + (1 + 3 + (3 + 1 + 2 * 3 * 3 * 2)) + (1 + 3 + 4));
    pv_model_free(ctx, model);
    CHECK_OK(ctx, pv_model_new(ctx, "trees", 1, 2, &model));
    assert_int_equal(pv_model_params(model), 3);
    assert_true(pv__trees_open(model));
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

/* Two inputs, the second of which marks the first as missing: a tree of depth 2 written by hand. */
static void test_forward(void **state) {
    (void)state;
    enum { ROWS = 6 };
    pv_ctx *ctx = check_ctx(1);
    pv_model *model;
    pv_model_work *work;
    const double w[] = {0.5,   -0.25, 2,  0, /* b; input 1 is missing if input 2 is 1 */
                        1,     0,            /* x1 < 0: left; missing: right */
                        0,     -1,           /*   x1 < -1: left; missing: left */
                        -1,    7,            /*   a leaf */
                        -1,    1,     -1, 2, /* leaves of the left node */
                        1e300, 9,     -5, 9};
    const double x[2 * ROWS] = {-2, 0, -1, 0, -0.5, 0, 0, 0, 3, 0, -2, 1};
    const double leaf[ROWS] = {1, 2, 2, 7, 7, 7};
    double got[2 * ROWS];
    CHECK_OK(ctx, pv_model_new(ctx, "trees:2,1", 2, 2, &model));
    assert_int_equal(pv_model_params(model), sizeof w / sizeof *w);
    CHECK_OK(ctx, pv_model_work_new(ctx, model, ROWS, &work));
    pv_model_forward(model, work, w, ROWS, x, got);
    for (int i = 0; i < ROWS; i++) {
        CHECK_NEAR(got[2 * i + 1] - got[2 * i], leaf[i] - 0.75, 1e-14);
        CHECK_NEAR(exp(got[2 * i]) + exp(got[2 * i + 1]), 1, 1e-14);
    }
    pv_model_work_free(ctx, work);
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

/* ---- XGBoost's sums ---------------------------------------------------------------------------------------------- */

/* Uniform in 0 .. 1, the same in every run. */
static double noise(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

enum { N = 700, D = 5 };

/* Columns with many values, few, and one, and a column that is missing where the last is 1. */
static void fill(double *x) {
    uint64_t seed = 7;
    for (size_t i = 0; i < N; i++) {
        double *row = x + i * D;
        row[0] = noise(&seed) * 1e6;
        row[1] = floor(noise(&seed) * 4) - 2;
        row[2] = 3;
        row[3] = noise(&seed) - 0.5;
        row[4] = noise(&seed) < 0.2;
    }
}

/* Our evaluator gives the same sums as the library. */
static void compare_sums(int classes) {
    pv_ctx *ctx = check_ctx(2);
    const int32_t absent[D] = {-1, -1, -1, 4, -1};
    static double x[N * D];
    static float gradient[3 * N], curvature[3 * N];
    size_t each = classes > 2 ? (size_t)classes : 1, k = (size_t)classes;
    uint64_t seed = 11;
    pv_model *model;
    pv__tree_bins *bins;
    pv__booster *booster;
    const float *sums;
    fill(x);
    CHECK_OK(ctx, pv_model_new(ctx, "trees:4,30,rate=0.3", D, classes, &model));
    CHECK_OK(ctx, pv__tree_bins_new(ctx, N, D, x, NULL, absent, &bins));
    assert_int_equal(bins->count[1], 4);
    assert_int_equal(bins->count[2], 1);
    assert_int_equal(bins->count[0], PV__TREES_BINS);
    CHECK_OK(ctx, pv__booster_new(ctx, model, bins, x, N, NULL, 0, NULL, &booster));
    for (int round = 0; round < 30; round++) {
        CHECK_OK(ctx, pv__booster_sums(ctx, booster, PV__BOOSTED_LEARN, 0, &sums));
        for (size_t i = 0; i < N; i++)
            for (size_t g = 0; g < each; g++) {
                double wanted = sin((double)(g + 1) * x[i * D] / 1e5) + x[i * D + 1] * (x[i * D + 4] > 0 ? -1 : 1);
                gradient[i * each + g] = (float)((double)sums[i * each + g] - wanted + noise(&seed));
                curvature[i * each + g] = 1;
            }
        CHECK_OK(ctx, pv__booster_grow(ctx, booster, gradient, curvature));
    }
    double *w = calloc(pv_model_params(model), sizeof *w), *loglik = calloc(N, k * sizeof *loglik);
    assert_non_null(w);
    assert_non_null(loglik);
    CHECK_OK(ctx, pv__booster_trees(ctx, booster, 30, w + pv__trees_at(model, 0)));
    for (int j = 0; j < D; j++)
        w[pv__trees_missing_at(model) + (size_t)j] = absent[j] + 1;
    pv_model_work *work;
    CHECK_OK(ctx, pv_model_work_new(ctx, model, N, &work));
    pv_model_forward(model, work, w, N, x, loglik);
    CHECK_OK(ctx, pv__booster_sums(ctx, booster, PV__BOOSTED_LEARN, 0, &sums));
    double spread = 0;
    for (size_t i = 0; i < N; i++) {
        for (size_t y = 1; y < k; y++) {
            double theirs = classes == 2 ? (double)sums[i] : (double)sums[i * k + y] - (double)sums[i * k];
            CHECK_NEAR(loglik[i * k + y] - loglik[i * k], theirs, 4e-6);
            spread = fmax(spread, fabs(theirs));
        }
    }
    assert_true(spread > 1);
    free(w);
    free(loglik);
    pv_model_work_free(ctx, work);
    pv__booster_free(ctx, booster);
    pv__tree_bins_free(ctx, bins);
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

static void test_sums(void **state) {
    (void)state;
    if (here())
        compare_sums(2);
}

static void test_sums_many(void **state) {
    (void)state;
    if (here())
        compare_sums(3);
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

static pv_fit_options options_of(const char *model, const char *prevalence) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = prevalence;
    options.model = model;
    return options;
}

static double *predicted(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data) {
    double *log_p = calloc(data->rows, 2 * sizeof *log_p);
    assert_non_null(log_p);
    CHECK_OK(ctx, pv_predict_loglik(ctx, c, data, log_p));
    return log_p;
}

/* Bit-identical for any number of threads. */
static void test_threads(void **state) {
    (void)state;
    if (!here())
        return;
    pv_classifier *c[3];
    pv_ctx *ctx[3];
    problem p[3];
    pv_fit_options options = options_of("trees", "0.1");
    for (int i = 0; i < 3; i++) {
        ctx[i] = check_ctx(i + 1);
        p[i] = nodules_of(ctx[i], 150, 200, 0.1, 5);
        c[i] = fit(ctx[i], &p[i], &options);
        assert_string_equal(pv_model_spec(c[i]->model), pv_model_spec(c[0]->model));
        assert_memory_equal(c[i]->w, c[0]->w, pv_model_params(c[0]->model) * sizeof(double));
        assert_true(c[i]->boosted->loss == c[0]->boosted->loss);
    }
    assert_true(c[0]->boosted->chosen && c[0]->boosted->rounds > 3 && c[0]->boosted->folds == 5);
    assert_true(c[0]->boosted->loss < c[0]->boosted->guess);
    CHECK_NEAR(exp(c[0]->log_marginal[1]), 0.1, 1e-15);
    assert_non_null(c[0]->reference);
    for (int i = 0; i < 3; i++) {
        pv_classifier_free(ctx[i], c[i]);
        problem_free(ctx[i], &p[i]);
        pv_ctx_free(ctx[i]);
    }
}

/* Rows in another order, and people instead of counts, give the same risks. */
static void test_order(void **state) {
    (void)state;
    if (!here())
        return;
    pv_ctx *ctx = check_ctx(2);
    problem p = nodules_of(ctx, 120, 150, 0.1, 6);
    pv_fit_options options = options_of("trees:3,25", "0.1");
    size_t n = p.data->rows, *backward = calloc(3 * n, sizeof *backward), m = 0;
    double *count = calloc(n, sizeof *count);
    assert_non_null(backward);
    assert_non_null(count);
    pv_dataset *other, *people, counts = *p.data;
    for (size_t i = 0; i < n; i++)
        backward[i] = n - 1 - i;
    CHECK_OK(ctx, pv_dataset_take(ctx, p.data, n, backward, &other));
    for (size_t i = 0; i < n; i++) {
        count[i] = 1 + (double)(i % 3);
        for (size_t j = 0; j < 1 + i % 3; j++)
            backward[m++] = i;
    }
    CHECK_OK(ctx, pv_dataset_take(ctx, p.data, m, backward, &people));
    counts.weight = count;
    const pv_dataset *of[4] = {p.data, other, &counts, people};
    double *log_p[4];
    for (int i = 0; i < 4; i++) {
        pv_classifier *c;
        CHECK_OK(ctx, pv_fit(ctx, p.schema, of[i], &options, &c));
        log_p[i] = predicted(ctx, c, p.data);
        pv_classifier_free(ctx, c);
    }
    for (size_t i = 0; i < 2 * n; i++) {
        CHECK_NEAR(log_p[1][i], log_p[0][i], 1e-8);
        CHECK_NEAR(log_p[3][i], log_p[2][i], 1e-6); /* gradients are floats, of one row or of several */
    }
    for (int i = 0; i < 4; i++)
        free(log_p[i]);
    pv_dataset_free(ctx, other);
    pv_dataset_free(ctx, people);
    free(backward);
    free(count);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* The selection likelihood of trees equals plain training followed by prior correction, for any prevalence: the same
 * trees, with log odds that differ by the log of the ratio of odds. */
static void test_prior(void **state) {
    (void)state;
    if (!here())
        return;
    pv_ctx *ctx = check_ctx(2);
    problem p = nodules_of(ctx, 200, 100, 0.1, 7);
    pv_fit_options plain = options_of("trees:3,40", NULL);
    plain.loss = PV_LOSS_PLAIN;
    pv_classifier *of_sample = fit(ctx, &p, &plain);
    double *f = predicted(ctx, of_sample, p.data);
    static const char *const stated[] = {"0.1", "0.003"};
    for (int s = 0; s < 2; s++) {
        double prevalence = strtod(stated[s], NULL);
        pv_fit_options options = options_of("trees:3,40", stated[s]);
        pv_classifier *c = fit(ctx, &p, &options);
        double *g = predicted(ctx, c, p.data), moved = log(prevalence / (1 - prevalence)) - log(2);
        for (size_t i = 0; i < p.data->rows; i++)
            CHECK_NEAR(g[2 * i + 1] - g[2 * i], f[2 * i + 1] - f[2 * i] + moved, 1e-7);
        free(g);
        pv_classifier_free(ctx, c);
    }
    free(f);
    pv_classifier_free(ctx, of_sample);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* Two normal labels with known risks: from 3,000 + 3,000 rows at a prevalence of 0.05, for new people. */
static void test_simulated(void **state) {
    (void)state;
    if (!here())
        return;
    pv_ctx *ctx = check_ctx(2);
    enum { TRIES = 4 };
    double ratio = 0, excess = 0;
    for (int t = 0; t < TRIES; t++) {
        problem p = nodules_of(ctx, 1500, 1500, 0.05, (uint64_t)(20 + t));
        problem drawn = nodules_of(ctx, 1000, 19000, 0.05, (uint64_t)(40 + t));
        pv_dataset *people;
        CHECK_OK(ctx, pv_schema_apply(ctx, p.schema, drawn.table, &(pv_roles){.target = "malignant"}, &people));
        pv_fit_options options = options_of("trees:2", "0.05");
        pv_classifier *c = fit(ctx, &p, &options);
        options.model = "linear";
        pv_classifier *right = fit(ctx, &p, &options); /* the model that generated the rows */
        double *f = predicted(ctx, c, people), *best = predicted(ctx, right, people), mean = 0;
        for (size_t i = 0; i < people->rows; i++) {
            size_t y = (size_t)people->label[i];
            mean += exp(f[2 * i + 1]) / (double)people->rows;
            excess += (best[2 * i + y] - f[2 * i + y]) / (double)people->rows / TRIES;
        }
        ratio += mean / 0.05 / TRIES;
        free(f);
        free(best);
        pv_classifier_free(ctx, c);
        pv_classifier_free(ctx, right);
        pv_dataset_free(ctx, people);
        problem_free(ctx, &p);
        problem_free(ctx, &drawn);
    }
    print_message("mean risk by prevalence %.4f; %.4f nats behind the true model\n", ratio, excess);
    CHECK_NEAR(ratio, 1, 0.05);
    assert_true(excess > 0 && excess < 0.01);
    pv_ctx_free(ctx);
}

/* A model in bytes predicts as before, also without the library; fitting then reports what is missing. */
static void test_without(void **state) {
    (void)state;
    if (!here())
        return;
    pv_ctx *ctx = check_ctx(1);
    problem p = nodules_of(ctx, 60, 60, 0.1, 8);
    pv_fit_options options = options_of("trees", "0.1");
    pv_classifier *c = fit(ctx, &p, &options), *read;
    unsigned char *bytes;
    size_t size;
    CHECK_OK(ctx, pv_classifier_to_bytes(ctx, c, &bytes, &size));
    assert_int_equal(setenv("PREVAIL_XGBOOST", "/nowhere/libxgboost.so", 1), 0);
    CHECK_OK(ctx, pv_classifier_from_bytes(ctx, "trees", bytes, size, &read));
    double *before = predicted(ctx, c, p.data), *after = predicted(ctx, read, p.data);
    assert_memory_equal(before, after, 2 * p.data->rows * sizeof *before);
    assert_int_equal(read->boosted->rounds, c->boosted->rounds);
    assert_true(read->boosted->chosen && read->boosted->loss == c->boosted->loss);
    pv_classifier *none;
    assert_int_equal(pv_fit(ctx, p.schema, p.data, &options, &none), PV_ERR_PATH);
    assert_non_null(strstr(pv_ctx_message(ctx), "PREVAIL_XGBOOST"));
    assert_null(strchr(pv_ctx_message(ctx), '\n'));
    assert_int_equal(unsetenv("PREVAIL_XGBOOST"), 0);
    free(before);
    free(after);
    pv_bytes_free(ctx, bytes);
    pv_classifier_free(ctx, read);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* Trees in a mixture: the same for any number of threads, preserved in bytes, an error if requested without the
 * library.
 */
static void test_mixed(void **state) {
    (void)state;
    if (!here())
        return;
    pv_classifier *c[2], *read;
    pv_ctx *ctx[2];
    problem p[2];
    pv_fit_options options = options_of("auto", "0.1");
    options.candidates = "trees,prevalence";
    for (int i = 0; i < 2; i++) {
        ctx[i] = check_ctx(i + 1);
        p[i] = nodules_of(ctx[i], 60, 80, 0.1, 9);
        c[i] = fit(ctx[i], &p[i], &options);
        assert_string_equal(pv_model_spec(c[i]->model), pv_model_spec(c[0]->model));
        assert_memory_equal(c[i]->w, c[0]->w, pv_model_params(c[0]->model) * sizeof(double));
    }
    assert_int_equal(c[0]->stacked->count, 3);
    assert_non_null(strstr(pv_model_spec(c[0]->model), "trees:"));
    assert_true(c[0]->stacked->gain > 0);
    unsigned char *bytes;
    size_t size;
    CHECK_OK(ctx[0], pv_classifier_to_bytes(ctx[0], c[0], &bytes, &size));
    CHECK_OK(ctx[0], pv_classifier_from_bytes(ctx[0], "mixture", bytes, size, &read));
    double *before = predicted(ctx[0], c[0], p[0].data), *after = predicted(ctx[0], read, p[0].data);
    assert_memory_equal(before, after, 2 * p[0].data->rows * sizeof *before);
    assert_int_equal(setenv("PREVAIL_XGBOOST", "/nowhere/libxgboost.so", 1), 0);
    pv_classifier *none;
    assert_int_equal(pv_fit(ctx[0], p[0].schema, p[0].data, &options, &none), PV_ERR_PATH);
    options.candidates = "all"; /* those that are available */
    pv_dataset *few;
    size_t row[40];
    for (size_t i = 0; i < 40; i++)
        row[i] = i < 20 ? i : p[0].data->rows - 1 - i;
    CHECK_OK(ctx[0], pv_dataset_take(ctx[0], p[0].data, 40, row, &few));
    CHECK_OK(ctx[0], pv_fit(ctx[0], p[0].schema, few, &options, &none));
    assert_null(strstr(pv_model_spec(none->model), "trees:"));
    assert_int_equal(unsetenv("PREVAIL_XGBOOST"), 0);
    pv_classifier_free(ctx[0], none);
    pv_dataset_free(ctx[0], few);
    free(before);
    free(after);
    pv_bytes_free(ctx[0], bytes);
    pv_classifier_free(ctx[0], read);
    for (int i = 0; i < 2; i++) {
        pv_classifier_free(ctx[i], c[i]);
        problem_free(ctx[i], &p[i]);
        pv_ctx_free(ctx[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_specs),   cmocka_unit_test(test_forward),
                                       cmocka_unit_test(test_sums),    cmocka_unit_test(test_sums_many),
                                       cmocka_unit_test(test_threads), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_prior),   cmocka_unit_test(test_simulated),
                                       cmocka_unit_test(test_without), cmocka_unit_test(test_mixed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
