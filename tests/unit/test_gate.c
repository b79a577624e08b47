/* Checks of probabilities: no decision based on invalid ones, and no invalid prediction, whatever overflows. */
#include "predict/predict.h"

#include "fixture.h"
#include "problem.h"

static const double nan_ = (double)NAN, inf_ = (double)INFINITY;

static void refused(pv_status status, const char *part) {
    assert_int_equal(status, PV_ERR_NUMERIC);
    says(part);
}

static void what_passes(void **state) {
    (void)state;
    const struct {
        double row[2];
        bool log, shares, bounds;
    } cases[] = {
        {{0.25, 0.75}, true, true, true},      {{0, 1}, true, true, true},        {{0, 0}, true, false, true},
        {{1, 1}, true, false, true},           {{nan_, 0}, false, false, false},  {{0, nan_}, false, false, false},
        {{nan_, nan_}, false, false, false},   {{inf_, 0}, false, false, false},  {{-inf_, 0}, true, false, false},
        {{-inf_, -inf_}, false, false, false}, {{-0.1, 1.1}, true, false, false}, {{1 + 1e-12, 0}, true, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pv__gate_stops(PV__GATE_LOG, 1, 2, cases[i].row), cases[i].log);
        assert_int_equal(pv__gate_stops(PV__GATE_SHARES, 1, 2, cases[i].row), cases[i].shares);
        assert_int_equal(pv__gate_stops(PV__GATE_BOUNDS, 1, 2, cases[i].row), cases[i].bounds);
    }
}

static void nothing_is_decided(void **state) {
    (void)state;
    enum { N = 9000 }; /* more than one chunk */
    static char no[] = "no", yes[] = "yes";
    char *labels[] = {no, yes};
    const char text[] = "a,no,yes\nwait,0,50\ntreat,1,0\n";
    put(text, strlen(text));
    pv_costs *costs;
    ok(pv_costs_read(ctx, path, labels, 2, &costs));
    double *p = calloc(2 * N, sizeof *p), *expected = calloc(N, sizeof *expected);
    int32_t *decided = calloc(N, sizeof *decided);
    assert_true(p && expected && decided);
    for (size_t i = 0; i < N; i++)
        p[2 * i] = 1 - (p[2 * i + 1] = (double)i / N);
    ok(pv_decide(ctx, costs, N, p, decided, expected));
    ok(pv_decide_label(ctx, N, 2, p, decided));
    for (size_t i = 0; i < N; i++)
        assert_int_equal(decided[i], p[2 * i + 1] > p[2 * i]);
    const double bad[] = {nan_, inf_, -inf_, -1, 2};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t row = i % 2 ? N - 1 : 17;
        double was = p[2 * row + 1];
        p[2 * row + 1] = bad[i];
        memset(decided, 0x55, N * sizeof *decided);
        refused(pv_decide(ctx, costs, N, p, decided, expected), row == 17 ? "of row 18 are" : "of row 9000 are");
        refused(pv_decide_label(ctx, N, 2, p, decided), row == 17 ? "of row 18 are" : "of row 9000 are");
        for (size_t n = 0; n < N; n++)
            assert_int_equal(decided[n], 0x55555555);
        p[2 * row + 1] = was;
    }
    free(p);
    free(expected);
    free(decided);
    pv_costs_free(ctx, costs);
}

/* One parameter after the other is made extremely large, as in a damaged model file: all predictions must fail. */
static void parameters_overflow(void **state) {
    (void)state;
    problem p = nodules(ctx, 60, 4);
    size_t n = p.data->rows;
    double *out = calloc(2 * n, sizeof *out);
    assert_non_null(out);
    const char *const models[] = {"linear", "mlp:4", "linear"};
    for (int m = 0; m < 3; m++) {
        pv_fit_options options = pv_fit_options_default();
        options.prevalence = "0.02";
        options.model = models[m];
        options.infer = m == 2 ? PV_INFER_LAPLACE : PV_INFER_MAP;
        options.draws = 100;
        pv_classifier *c = fit(ctx, &p, &options);
        drop_reference(ctx, c);
        double *w = m == 2 ? c->posterior->draws : c->w; /* of the first draw */
        size_t params = pv_model_params(c->model);
        double was[2] = {w[1], w[2]};
        w[1] = 1e308;
        w[2] = -1e308;
        p.data->x[1] = p.data->x[0] = 10; /* infinity minus infinity */
        p.data->before = 500;             /* the message must give the row's number in the whole table */
        const char *part = "row 501: the model's probabilities overflow";
        if (m < 2) {
            refused(pv_predict_loglik(ctx, c, p.data, out), part);
            says("column 'age'");
        }
        const char *const populations[] = {"true", "known:0.1", "design", "unknown"};
        const pv_predict_options all = {.level = m == 2 ? 0.9 : 0, .likelihood = true};
        pv_prediction *said;
        for (int i = 0; i < 4; i++) {
            refused(pv_predict_in(ctx, c, p.data, populations[i], NULL, &said), part);
            assert_null(said);
            refused(pv_predict_in(ctx, c, p.data, populations[i], &all, &said), part);
            assert_null(said);
        }
        w[1] = was[0];
        w[2] = was[1];
        ok(pv_predict(ctx, c, p.data, NULL, NULL, &said));
        pv_prediction_free(ctx, said);
        /* A single one: infinite log odds are a probability of 0 or 1, which is valid. */
        for (size_t j = 0; j < params && m == 0; j++) {
            double kept = w[j];
            w[j] = 1e308;
            pv_status status = pv_predict(ctx, c, p.data, NULL, NULL, &said);
            for (size_t i = 0; status == PV_OK && i < 2 * n; i++)
                assert_true(said->p[i] >= 0 && said->p[i] <= 1 && fabs(said->p[i] + said->p[i ^ 1] - 1) < 1e-9);
            pv_prediction_free(ctx, said);
            w[j] = kept;
        }
        pv_classifier_free(ctx, c);
    }
    free(out);
    problem_free(ctx, &p);
}

/* Probabilities passed by a caller. */
static void given_rows(void **state) {
    (void)state;
    double loglik[] = {-0.1, -2.3, nan_, 0, -1, -0.5}, log_marginal[] = {-0.7, -0.7}, to[] = {0.9, 0.1}, p[6];
    pv_unknown_sample sample = {.n = 3, .classes = 2, .loglik = loglik, .log_marginal = log_marginal};
    pv_unknown_prevalence known = {.classes = 2, .plugin = to}, *found;
    pv_unknown_options options = pv_unknown_options_default();
    static char no[] = "no", yes[] = "yes";
    char *labels[] = {no, yes};
    refused(pv_unknown_predict(ctx, &sample, &known, p, NULL, NULL, NULL), "the probabilities of row 2 are");
    refused(pv_unknown_predict(ctx, &sample, &known, NULL, p, NULL, NULL), "the log-likelihoods of row 2 are");
    refused(pv_unknown_infer(ctx, &sample, labels, &options, &found), "the log-likelihoods of row 2 are");
    loglik[2] = -inf_;
    ok(pv_unknown_predict(ctx, &sample, &known, p, NULL, NULL, NULL));
    assert_true(p[2] == 0 && p[3] == 1);
    to[1] = nan_;
    refused(pv_unknown_predict(ctx, &sample, &known, p, NULL, NULL, NULL), "the probabilities of row 1 are");
}

/* Cells that are too far from the training data, with their position. */
static void far_cells(void **state) {
    (void)state;
    const char learned[] = "x,z,y\n1,2,0\n2,1,1\n3,5,0\n4,2,1\n5,7,0\n6,1,1\n";
    put(learned, strlen(learned));
    pv_csv_options csv = {.text = (const char *const[]){"y"}, .n_text = 1};
    problem p = learn(ctx, must_read(&csv), &(pv_roles){.target = "y"});
    const char *const bad[] = {"1e308", "-1e308", "1e200", "1.7976931348623157e308"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[100];
        snprintf(text, sizeof text, "x,z\n1,2\n2,%s\n", bad[i]);
        put(text, strlen(text));
        pv_table *table = must_read(NULL);
        pv_dataset *data;
        assert_int_equal(pv_schema_apply(ctx, p.schema, table, &(pv_roles){0}, &data), PV_ERR_INPUT);
        says("in column 'z' is too far from the mean 3 ");
        at(3, 2);
        pv_table_free(ctx, table);
    }
    problem_free(ctx, &p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_passes), cmocka_unit_test(nothing_is_decided),
                                       cmocka_unit_test(parameters_overflow), cmocka_unit_test(given_rows),
                                       cmocka_unit_test(far_cells)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
