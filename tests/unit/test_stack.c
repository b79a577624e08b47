/* Mixtures of models: the cap, the weights, invariances, and errors. */
#include "infer/stacking.h"

#include "problem.h"

static double logistic(double eta) {
    return 1 / (1 + exp(-eta));
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* "auto:prevalence+linear" with one column: c, log p, log v of the prevalence, then log v, log p_k and the linear
 * model. */
static void test_forward(void **state) {
    (void)state;
    enum { ROWS = 5 };
    pv_ctx *ctx = check_ctx(1);
    pv_model *model;
    pv_model_work *work;
    const double p = 0.1, m = 0.3, cap = log(5.0), v = 0.75, b = -0.4, slope = 2;
    const double w[] = {-cap, log(1 - p), log(p), log(1 - v) + 3, log(v) + 3, log(1 - m), log(m), b, slope};
    const double x[ROWS] = {0, 0.5, -0.5, 10, -1000};
    double got[2 * ROWS];
    CHECK_OK(ctx, pv_model_new(ctx, "auto:prevalence+linear", 1, 2, &model));
    assert_int_equal(pv_model_params(model), sizeof w / sizeof *w);
    CHECK_OK(ctx, pv_model_work_new(ctx, model, ROWS, &work));
    pv_model_forward(model, work, w, ROWS, x, got);
    for (int i = 0; i < ROWS; i++) {
        double ratio = b + slope * x[i] - log(m / (1 - m));
        ratio = fmin(fmax(ratio, -cap), cap);
        double wanted = (1 - v) * p + v * logistic(ratio + log(p / (1 - p)));
        CHECK_NEAR(exp(got[2 * i + 1]), wanted, 1e-15);
        CHECK_NEAR(exp(got[2 * i]), 1 - wanted, 1e-15);
    }
    pv_model_work_free(ctx, work);
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

/* No ratio of two labels exceeds the cap; smaller ones do not change. */
static void test_cap(void **state) {
    (void)state;
    const double prior[3] = {log(0.7), log(0.2), log(0.1)}, marginal[3] = {log(0.3), log(0.3), log(0.4)};
    const double cap = log(11.0);
    for (int i = 0; i < 3; i++) {
        double f[3] = {log(0.2), log(0.3), log(0.5)}, ratio[3], top = -HUGE_VAL, sum = 0;
        f[i] += 4; /* far above the others */
        for (int y = 0; y < 3; y++)
            top = fmax(top, f[y] - marginal[y]);
        for (int y = 0; y < 3; y++)
            sum += exp(prior[y] + fmax(f[y] - marginal[y], top - cap));
        pv__stack_move(3, marginal, cap, prior, f);
        for (int y = 0; y < 3; y++)
            ratio[y] = f[y] - prior[y];
        for (int y = 0; y < 3; y++)
            for (int z = 0; z < 3; z++)
                assert_true(fabs(ratio[y] - ratio[z]) <= cap + 1e-14);
        CHECK_NEAR(f[i], prior[i] + top - log(sum), 1e-14);
        CHECK_NEAR(exp(f[0]) + exp(f[1]) + exp(f[2]), 1, 1e-14);
    }
    double f[3] = {log(0.25), log(0.35), log(0.4)}, before[3];
    memcpy(before, f, sizeof f);
    pv__stack_move(3, marginal, cap, prior, f);
    CHECK_NEAR(f[1] - f[0], before[1] - marginal[1] + prior[1] - (before[0] - marginal[0] + prior[0]), 1e-14);
}

/* "linear@1" does not use the inputs after the first, which the other member has. */
static void test_first_inputs(void **state) {
    (void)state;
    enum { ROWS = 4 };
    pv_ctx *ctx = check_ctx(1);
    pv_model *model;
    pv_model_work *work;
    const double w[] = {log(50.0),
                        log(0.5),
                        log(0.5),
                        /* of one input */ log(0.3),
                        log(0.5),
                        log(0.5),
                        0.2,
                        1.5,
                        /* of two */ log(0.7),
                        log(0.5),
                        log(0.5),
                        -0.1,
                        0.4,
                        -2};
    const double x[2 * ROWS] = {0.3, 1, -0.2, 0.5, 0.1, -1, 0, 0};
    double got[2 * ROWS];
    CHECK_OK(ctx, pv_model_new(ctx, "auto:linear@1+additive", 2, 2, &model));
    assert_int_equal(pv_model_params(model), sizeof w / sizeof *w);
    CHECK_OK(ctx, pv_model_work_new(ctx, model, ROWS, &work));
    pv_model_forward(model, work, w, ROWS, x, got);
    for (int i = 0; i < ROWS; i++) {
        double first = logistic(0.2 + 1.5 * x[2 * i]), both = logistic(-0.1 + 0.4 * x[2 * i] - 2 * x[2 * i + 1]);
        CHECK_NEAR(exp(got[2 * i + 1]), 0.3 * first + 0.7 * both, 1e-14);
    }
    pv_model_work_free(ctx, work);
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

static void test_specs(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    static const char *const bad[] = {
        "auto:",      "auto:+linear",  "auto:linear+",  "auto:auto",    "auto:linear,2",  "auto:inception", "autom",
        "auto:mlp:0", "auto:linear@0", "auto:linear@3", "auto:linear@", "auto:linear@1x", "auto:@1"};
    pv_model *model;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pv_model_new(ctx, bad[i], 2, 2, &model), PV_ERR_USAGE);
        assert_null(model);
    }
    CHECK_OK(ctx, pv_model_new(ctx, "auto:mlp:3+prevalence+linear", 2, 3, &model));
    assert_int_equal(pv_model_params(model), 4 + (1 + 3 + 9 + 12) + 1 + (1 + 3 + 6));
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

static pv_fit_options options_of(const char *candidates) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.1";
    options.model = "auto";
    options.candidates = candidates;
    return options;
}

static double *predicted(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data) {
    double *log_p = calloc(data->rows, 2 * sizeof *log_p);
    assert_non_null(log_p);
    CHECK_OK(ctx, pv_predict_loglik(ctx, c, data, log_p));
    return log_p;
}

/* A mixture: weights sum to 1, the cap is that of the rarer label, and predictions combine those of its members. */
static void test_fit(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(2);
    problem p = nodules_of(ctx, 40, 60, 0.1, 5);
    pv_fit_options options = options_of("prevalence,linear,iw");
    pv_classifier *c = fit(ctx, &p, &options);
    double sum = 0, weight, gain, se, most = -HUGE_VAL;
    size_t n = 0;
    for (; pv_classifier_candidate(c, n, &weight, &gain, &se); n++) {
        sum += weight;
        assert_true(weight == 0 || weight >= 0.005);
        most = n < c->stacked->count ? fmax(most, gain) : most;
    }
    assert_int_equal(n, 9);
    CHECK_NEAR(sum, 2, 1e-12); /* the mixture itself is last */
    CHECK_NEAR(c->stacked->cap, log(41.0), 1e-12);
    assert_int_equal(c->stacked->folds, 10);
    assert_int_equal(c->stacked->repeats, 5);
    assert_true(c->stacked->candidate[0].gain == 0 && c->stacked->candidate[0].se == 0);
    assert_true(gain > 0 && gain < most + 2 * se);
    for (size_t i = 0; i < c->stacked->count; i++)
        CHECK_NEAR(c->stacked->candidate[i].lead, gain - c->stacked->candidate[i].gain, 1e-12);
    CHECK_NEAR(c->stacked->candidate[0].lead_se, se, 1e-12);
    CHECK_NEAR(c->stacked->guess, 0.1 * log(0.1) + 0.9 * log(0.9), 1e-12);
    CHECK_NEAR(exp(c->log_marginal[1]), 0.1, 1e-15);
    assert_non_null(c->reference);
    double *log_p = predicted(ctx, c, p.data);
    for (size_t i = 0; i < p.data->rows; i++) {
        double ratio = log_p[2 * i + 1] - log_p[2 * i] - log(1.0 / 9);
        assert_true(fabs(ratio) <= c->stacked->cap);
    }
    free(log_p);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* The model is bit-identical for any number of threads and, up to rounding, for any order of rows. */
static void test_order_and_threads(void **state) {
    (void)state;
    pv_ctx *one = check_ctx(1), *two = check_ctx(2);
    problem p = nodules_of(one, 30, 30, 0.1, 6);
    pv_fit_options options = options_of("all");
    pv_classifier *a = fit(one, &p, &options), *b = fit(two, &p, &options), *c;
    unsigned char *bytes[2];
    size_t size[2], row[60];
    CHECK_OK(one, pv_classifier_to_bytes(one, a, &bytes[0], &size[0]));
    CHECK_OK(two, pv_classifier_to_bytes(two, b, &bytes[1], &size[1]));
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    for (size_t i = 0; i < 60; i++) /* 7 and 60 have no common factor: every row once */
        row[i] = (7 * i + 11) % 60;
    problem other = {.schema = p.schema};
    CHECK_OK(one, pv_dataset_take(one, p.data, 60, row, &other.data));
    options = options_of("prevalence,linear,iw");
    pv_classifier_free(one, a);
    a = fit(one, &p, &options);
    c = fit(one, &other, &options);
    double *first = predicted(one, a, p.data), *second = predicted(one, c, p.data);
    for (size_t i = 0; i < 120; i++)
        CHECK_NEAR(second[i], first[i], 1e-5);
    free(first);
    free(second);
    for (int i = 0; i < 2; i++)
        pv_bytes_free(one, bytes[i]);
    pv_classifier_free(one, a);
    pv_classifier_free(two, b);
    pv_classifier_free(one, c);
    pv_dataset_free(one, other.data);
    problem_free(one, &p);
    pv_ctx_free(one);
    pv_ctx_free(two);
}

/* A count equals repeated rows. */
static void test_counts(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_table *table[2];
    problem p[2];
    pv_classifier *c[2];
    double *log_p[2];
    pv_fit_options options = options_of("prevalence,linear");
    for (int as_rows = 0; as_rows < 2; as_rows++) {
        double x[400], y[400], count[400];
        size_t n = 0;
        for (int i = 0; i < 30; i++)
            for (int k = 0; k < (as_rows ? 1 + i % 4 : 1); k++, n++) {
                x[n] = sin(1.7 * i) + 0.8 * (i % 2);
                y[n] = i % 2;
                count[n] = as_rows ? 1 : 1 + i % 4;
            }
        CHECK_OK(ctx, pv_table_new(ctx, "counts", n, &table[as_rows]));
        const struct {
            const char *name;
            const double *values;
        } columns[] = {{"x", x}, {"y", y}, {"n", count}};
        for (size_t j = 0; j < 3; j++)
            CHECK_OK(ctx, pv_table_add_numbers(ctx, table[as_rows], columns[j].name, PV_ARRAY_F64, columns[j].values,
                                               PV_PACKED, NULL, false));
        p[as_rows] = learn(ctx, table[as_rows], &(pv_roles){.target = "y", .weights = "n", .features = "x"});
        c[as_rows] = fit(ctx, &p[as_rows], &options);
        log_p[as_rows] = predicted(ctx, c[as_rows], p[0].data);
    }
    assert_true(c[0]->stacked->gain > 0);
    CHECK_NEAR(c[0]->stacked->cap, c[1]->stacked->cap, 1e-12);
    CHECK_NEAR(c[0]->stacked->gain, c[1]->stacked->gain, 1e-5);
    CHECK_NEAR(c[0]->stacked->se, c[1]->stacked->se, 1e-5);
    for (size_t i = 0; i < 60; i++)
        CHECK_NEAR(log_p[0][i], log_p[1][i], 1e-4);
    for (int i = 0; i < 2; i++) {
        free(log_p[i]);
        pv_classifier_free(ctx, c[i]);
        problem_free(ctx, &p[i]);
    }
    pv_ctx_free(ctx);
}

/* Candidates without an optimum in some fold are excluded; a mixture needs at least one. */
static void test_unsound(void **state) {
    (void)state;
    enum { ROWS = 4, CANDIDATES = 2 };
    pv_ctx *ctx = check_ctx(1);
    int32_t label[ROWS] = {0, 1, 0, 1};
    double pi[2] = {0.75, 0.25}, log_p[CANDIDATES * ROWS * 2], numbers[ROWS * (2 + CANDIDATES + 2) + 3 * CANDIDATES];
    size_t start[3] = {0, 2, 4}, row[ROWS] = {0, 1, 2, 3};
    const pv_dataset data = {.rows = ROWS, .classes = 2, .label = label};
    const pv_fit_options given = options_of("linear");
    const pv__plan plan = {.given = &given, .prevalence = pi};
    const pv__design design = {.strata = 1};
    size_t known;
    const pv__candidate *candidate = pv__candidates(&known);
    const pv__problem whole = {.plan = &plan, .design = &design};
    pv__stacking s = {.candidate = {&candidate[0], &candidate[1]},
                      .all = &data,
                      .data = &data,
                      .problem = &whole,
                      .count = CANDIDATES,
                      .k = 2,
                      .judged = 2,
                      .repeats = 1,
                      .parts = 2,
                      .start = start,
                      .row = row,
                      .log_p = log_p,
                      .a = numbers};
    s.p = s.a + 2 * ROWS;
    s.mixed = s.p + ROWS * CANDIDATES;
    s.v = s.mixed + 2 * ROWS;
    s.slope = s.v + CANDIDATES;
    for (size_t i = 0; i < CANDIDATES * ROWS * 2; i++)
        log_p[i] = i < 2 * ROWS ? log(0.5) : -HUGE_VAL; /* the second candidate failed */
    int64_t updates;
    pv_stop stop;
    CHECK_OK(ctx, pv__stack_weigh(ctx, &s, &updates, &stop));
    assert_true(s.sound[0] && !s.sound[1] && s.v[0] == 1 && s.v[1] == 0);
    for (size_t i = 0; i < 2 * ROWS; i++)
        CHECK_NEAR(s.mixed[i], log(0.5), 1e-15);
    log_p[0] = log_p[1] = -HUGE_VAL;
    assert_int_equal(pv__stack_weigh(ctx, &s, &updates, &stop), PV_ERR_NUMERIC);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "add prevalence"));
    pv_ctx_free(ctx);
}

/* Copies of rows that form clusters are no more informative about an unknown prevalence than the rows. */
static void test_clusters(void **state) {
    (void)state;
    enum { PEOPLE = 80, COPIES = 4 };
    pv_ctx *ctx = check_ctx(1);
    double x[PEOPLE * COPIES], y[PEOPLE * COPIES], own[PEOPLE * COPIES];
    for (size_t i = 0; i < PEOPLE * COPIES; i++) {
        own[i] = (double)(i / COPIES);
        y[i] = (double)(i / COPIES % 2);
        x[i] = sin(1.7 * own[i]) + 0.8 * y[i] + 1e-3 * (double)(i % COPIES);
    }
    pv_table *table;
    CHECK_OK(ctx, pv_table_new(ctx, "clusters", PEOPLE * COPIES, &table));
    const double *columns[] = {x, y, own};
    for (size_t j = 0; j < 3; j++)
        CHECK_OK(ctx, pv_table_add_numbers(ctx, table, (const char *const[]){"x", "y", "own"}[j], PV_ARRAY_F64,
                                           columns[j], PV_PACKED, NULL, false));
    problem p = learn(ctx, table, &(pv_roles){.target = "y", .cluster = "own", .features = "x"});
    pv_fit_options options = options_of("prevalence,linear");
    pv_classifier *c = fit(ctx, &p, &options);
    assert_non_null(c->reference);
    for (int k = 0; k < 2; k++)
        assert_true(c->reference->units[k] > 0.4 * PEOPLE && c->reference->units[k] < 0.75 * PEOPLE);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    problem p = nodules(ctx, 20, 1), few = {.schema = p.schema};
    size_t row[6] = {0}, n = 0;
    for (size_t i = 0; i < p.data->rows && n < 6; i++) /* one case, five controls */
        if (p.data->label[i] == (n == 0))
            row[n++] = i;
    CHECK_OK(ctx, pv_dataset_take(ctx, p.data, 6, row, &few.data));
    pv_fit_options options = options_of("all");
    assert_int_equal(try_fit(ctx, &few, &options), PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "too few"));
    pv_dataset_free(ctx, few.data);
    options.candidates = "linear,forest";
    assert_int_equal(try_fit(ctx, &p, &options), PV_ERR_USAGE);
    options.candidates = "";
    assert_int_equal(try_fit(ctx, &p, &options), PV_ERR_USAGE);
    options = options_of("all");
    options.model = "auto:linear";
    assert_int_equal(try_fit(ctx, &p, &options), PV_ERR_USAGE);
    options = options_of("all");
    options.infer = PV_INFER_LAPLACE;
    assert_int_equal(try_fit(ctx, &p, &options), PV_ERR_USAGE);
    pv_classifier *c;
    pv_prediction *said;
    options = options_of("prevalence,iw");
    c = fit(ctx, &p, &options);
    assert_int_equal(pv_predict_in(ctx, c, p.data, "true", &(pv_predict_options){.level = 0.9}, &said), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "auto"));
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward),      cmocka_unit_test(test_cap),
                                       cmocka_unit_test(test_first_inputs), cmocka_unit_test(test_specs),
                                       cmocka_unit_test(test_fit),          cmocka_unit_test(test_order_and_threads),
                                       cmocka_unit_test(test_counts),       cmocka_unit_test(test_unsound),
                                       cmocka_unit_test(test_clusters),     cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
