/* Summary and diagnosis of a classifier: compared with draws summarised by hand, and with fits that failed.
 */
#include "fixture.h"
#include "problem.h"

static pv_fit_options options_of(pv_inference infer) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    options.infer = (int)infer;
    options.draws = 101;
    return options;
}

/* ---- summaries --------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* For 101 draws the quantiles 0.05 and 0.95 have indices 5 and 95. */
static void check_spread(const pv_spread *s, double *values) {
    double mean = 0, square = 0, same = 0;
    for (int i = 0; i < 101; i++)
        mean += values[i] / 101;
    for (int i = 0; i < 101; i++) {
        square += (values[i] - mean) * (values[i] - mean) / 100;
        same += (values[i] < 0) == (mean < 0) ? 1.0 / 101 : 0;
    }
    qsort(values, 101, sizeof *values, ascending);
    near(s->mean, mean, 1e-12 * (1 + fabs(mean)));
    near(s->sd, sqrt(square), 1e-12 * (1 + sqrt(square)));
    near(s->lo, values[5], 1e-12 * (1 + fabs(values[5]))); /* 0.95 is not exact as a double */
    near(s->hi, values[95], 1e-12 * (1 + fabs(values[95])));
    near(s->sign, same, 1e-12);
}

static void summaries_are_those_of_the_draws(void **state) {
    (void)state;
    problem p = nodules(ctx, 60, 3);
    pv_fit_options options = options_of(PV_INFER_LAPLACE);
    pv_classifier *c = fit(ctx, &p, &options);
    pv_summary *s;
    double *closed = c->standard_error; /* without standard errors, draws are summarised as for any posterior */
    assert_non_null(closed);
    c->standard_error = NULL;
    ok(pv_classifier_summary(ctx, c, 0.9, &s));
    c->standard_error = closed;
    size_t params = pv_model_params(c->model);
    double *each = malloc(params * sizeof *each), values[101];
    assert_non_null(each);
    assert_int_equal(s->terms, c->schema->features + 1);
    assert_int_equal(s->terms, params);
    for (size_t j = 0; j < params; j++) {
        for (size_t i = 0; i < 101; i++) {
            ok(pv_classifier_draw_coefficients(ctx, c, i, each));
            values[i] = each[j];
        }
        const pv_coefficient *k = &s->coefficient[j];
        check_spread(&k->value, values);
        assert_string_equal(k->label, "1");
        assert_string_equal(k->name, j ? c->schema->feature[j - 1] : "(Intercept)");
        if (j == 0) {
            assert_true(isnan(k->odds_ratio) && isnan(k->odds_ratio_lo) && isnan(k->odds_ratio_hi));
            continue;
        }
        near(k->odds_ratio, exp(k->value.mean), 0);
        near(k->odds_ratio_lo, exp(k->value.lo), 0);
        near(k->odds_ratio_hi, exp(k->value.hi), 0);
    }
    for (size_t y = 0; y < 2; y++) {
        for (size_t i = 0; i < 101; i++)
            values[i] = exp(c->draw_log_marginal[2 * i + y]);
        check_spread(&s->marginal[y], values);
    }
    free(each);
    pv_summary_free(ctx, s);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

static void estimates_have_standard_errors(void **state) {
    (void)state;
    problem p = learn(ctx, read_text("x,g,y\n1,a,lo\n2,b,hi\n3,a,mid\n4,b,lo\n2,a,hi\n1,b,mid\n3,b,hi\n4,a,mid\n"),
                      &(pv_roles){.target = "y"});
    pv_fit_options options = options_of(PV_INFER_MAP);
    options.prevalence = "0.2,0.3,0.5";
    pv_classifier *c = fit(ctx, &p, &options);
    pv_summary *s;
    double values[6];
    ok(pv_classifier_coefficients(ctx, c, values));
    ok(pv_classifier_summary(ctx, c, 0.5, &s));
    assert_int_equal(s->terms, 3);
    for (size_t i = 0; i < 6; i++) {
        const pv_coefficient *k = &s->coefficient[i];
        near(k->value.mean, values[i], 0);
        assert_true(k->value.sd > 0 && k->value.lo < k->value.mean && k->value.hi > k->value.mean);
        assert_true(i % 3 == 0 ? isnan(k->odds_ratio_lo) : k->odds_ratio_lo < k->odds_ratio);
        assert_string_equal(k->label, c->schema->labels[1 + i / 3]);
        near(k->scale, i % 3 == 1 ? c->schema->source[0].sd : 1, 0);
    }
    for (int y = 0; y < 3; y++) {
        near(s->marginal[y].mean, exp(c->log_marginal[y]), 0);
        assert_true(isnan(s->marginal[y].sd));
    }
    pv_summary_free(ctx, s);
    assert_int_equal(pv_classifier_summary(ctx, c, 1, &s), PV_ERR_USAGE);
    assert_null(s);
    pv_classifier_free(ctx, c);
    options.model = "mlp:2";
    c = fit(ctx, &p, &options);
    ok(pv_classifier_summary(ctx, c, 0.5, &s));
    assert_null(s->coefficient);
    assert_int_equal(s->terms, 0);
    pv_summary_free(ctx, s);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

/* ---- options of a fit -------------------------------------------------------------------------------------------- */

static void recorded_options_are_those_of_the_fit(void **state) {
    (void)state;
    problem p = nodules(ctx, 30, 3);
    pv_fit_options options = options_of(PV_INFER_MAP), *again;
    options.prior = "student:3";
    options.max_iter = 77;
    options.tolerance = 1.0 / 3e4;
    options.start = PV_START_ZERO;
    pv_classifier *c = fit(ctx, &p, &options);
    ok(pv_classifier_options(ctx, c, &again));
    pv_classifier_free(ctx, c); /* the texts belong to the options */
    for (const pv_option *row = pv_fit_option_table; row->name; row++) {
        char one[64], other[64];
        pv_option_get(row, &options, one, sizeof one);
        pv_option_get(row, again, other, sizeof other);
        assert_string_equal(one, other);
    }
    pv_fit_options_free(ctx, again);
    problem_free(ctx, &p);
}

/* ---- diagnoses --------------------------------------------------------------------------------------------------- */

static const pv_check *find(const pv_diagnosis *found, const char *name) {
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->check[i].name, name) == 0)
            return &found->check[i];
    return NULL;
}

static pv_diagnosis *diagnose(const pv_classifier *c, const pv_diagnose_options *how) {
    pv_diagnosis *found;
    ok(pv_diagnose(ctx, c, how, &found));
    size_t bad = 0;
    for (size_t i = 0; i < found->count; i++) {
        const pv_check *check = &found->check[i];
        bad += !check->ok;
        assert_int_equal(check->ok, !*check->remedy);
        assert_true(*check->text && *check->title);
    }
    assert_int_equal(found->failed, bad);
    return found;
}

static void good_fits_pass(void **state) {
    (void)state;
    problem p = nodules(ctx, 150, 3);
    pv_fit_options options = options_of(PV_INFER_MAP);
    pv_classifier *c = fit(ctx, &p, &options);
    pv_diagnosis *found = diagnose(c, NULL);
    assert_int_equal(found->failed, 0);
    assert_int_equal(found->count, 5);
    assert_string_equal(found->check[0].name, "optimiser");
    assert_string_equal(found->check[1].name, "prevalence");
    assert_string_equal(found->check[2].name, "population");
    assert_string_equal(found->check[3].name, "few_decide");
    assert_string_equal(found->check[4].name, "separation");
    near(found->check[0].value, (double)c->iterations, 0);
    near(find(found, "prevalence")->value, exp(c->log_marginal[1]) / 0.02, 1e-9);
    for (size_t i = 0; i < found->count; i++)
        assert_string_equal(found->check[i].warning, i == 3 ? found->check[3].text : ""); /* one check gives advice */
    pv_diagnosis_free(ctx, found);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

static void unfinished_fits_fail(void **state) {
    (void)state;
    problem p = nodules(ctx, 150, 3);
    pv_fit_options options = options_of(PV_INFER_MAP);
    options.max_iter = 1;
    options.start = PV_START_ZERO;
    options.prevalence_n = "0";
    pv_classifier *c = fit(ctx, &p, &options);
    assert_int_equal(c->stop, PV_STOP_MAX_ITER);
    pv_diagnosis *found = diagnose(c, NULL);
    assert_false(find(found, "optimiser")->ok);
    assert_non_null(strstr(find(found, "optimiser")->remedy, "`max-iter`"));
    assert_string_equal(find(found, "optimiser")->warning,
                        "stopped after 1 steps before it converged; raise `max-iter` or `epochs`");
    assert_false(find(found, "prevalence")->ok);
    assert_non_null(strstr(find(found, "prevalence")->warning, "label 1 has probability"));
    pv_diagnosis_free(ctx, found);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

/* Regression test: a parameter without R-hat, whose chains never moved, was hidden by numbers after it. */
static void chains_that_never_moved_are_seen(void **state) {
    (void)state;
    problem p = nodules(ctx, 60, 3);
    pv_fit_options options = options_of(PV_INFER_HMC);
    options.chains = 2;
    options.warmup = 50;
    pv_classifier *c = fit(ctx, &p, &options);
    double *rhat = c->posterior->rhat, *ess = c->posterior->ess;
    for (size_t j = 0; j < c->posterior->dims; j++) {
        rhat[j] = 1;
        ess[j] = 1000;
    }
    pv_diagnosis *found = diagnose(c, NULL);
    assert_true(find(found, "rhat")->ok && find(found, "effective_size")->ok);
    pv_diagnosis_free(ctx, found);
    for (size_t j = 0; j < c->posterior->dims; j++) {
        rhat[j] = ess[j] = NAN;
        assert_true(isnan(pv_posterior_rhat_max(c->posterior)) && isnan(pv_posterior_ess_min(c->posterior)));
        found = diagnose(c, NULL);
        assert_false(find(found, "rhat")->ok || find(found, "effective_size")->ok);
        assert_non_null(strstr(find(found, "rhat")->warning, find(found, "rhat")->remedy));
        pv_diagnosis_free(ctx, found);
        rhat[j] = 1;
        ess[j] = 1000;
    }
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

/* ---- other seeds ------------------------------------------------------------------------------------------------- */

static size_t heard;

static void hear(void *state, pv_log_level level, const char *message) {
    (void)state;
    (void)level;
    (void)message;
    heard++;
}

static void other_seeds_are_tried_with_the_data_of_the_fit(void **state) {
    (void)state;
    pv_ctx *quiet = ctx;
    assert_int_equal(pv_ctx_new(&(pv_ctx_options){.threads = 1, .log = hear}, &ctx), PV_OK);
    problem p = nodules(ctx, 40, 3);
    pv_fit_options options = options_of(PV_INFER_MAP);
    options.chains = 7; /* has no effect, which is reported */
    pv_classifier *c = fit(ctx, &p, &options);
    assert_true(heard > 0);
    size_t before = heard;
    pv_diagnose_options how = {.data = p.data};
    pv_diagnosis *found = diagnose(c, &how);
    assert_true(found->refitted && find(found, "data")->ok && find(found, "seed")->ok);
    near(find(found, "seed")->value, 0, 1e-3); /* a convex fit has a single optimum */
    assert_int_equal(heard, before);
    pv_diagnosis_free(ctx, found);
    p.data->hash++;
    found = diagnose(c, &how);
    assert_false(found->refitted || find(found, "data")->ok);
    assert_null(find(found, "seed"));
    pv_diagnosis_free(ctx, found);
    p.data->hash--;
    pv_ctx_interrupt(ctx);
    assert_int_equal(pv_diagnose(ctx, c, &how, &found), PV_ERR_INTERRUPTED);
    assert_null(found);
    says("no verdict");
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
    ctx = quiet;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries_are_those_of_the_draws),
        cmocka_unit_test(estimates_have_standard_errors),
        cmocka_unit_test(recorded_options_are_those_of_the_fit),
        cmocka_unit_test(good_fits_pass),
        cmocka_unit_test(unfinished_fits_fail),
        cmocka_unit_test(chains_that_never_moved_are_seen),
        cmocka_unit_test(other_seeds_are_tried_with_the_data_of_the_fit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
