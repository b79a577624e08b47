/* Jobs, cross-validation and mixtures, compared with the same work done step by step. */
#include "fixture.h"
#include "problem.h"

static const pv_roles roles = {.target = "malignant"};

static pv_fit_options options_of(pv_loss loss) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    options.loss = (int)loss;
    return options;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static char heard[512];

static void hear(void *state, pv_log_level level, const char *message) {
    (void)state;
    (void)level;
    strncat(heard, message, sizeof heard - strlen(heard) - 1);
    strncat(heard, ";", sizeof heard - strlen(heard) - 1);
}

/* Logs a warning about an option, and fails on request. */
static pv_status fails_from_three(pv_ctx *own, void *state, size_t index) {
    int *done = state;
    if (index >= 3)
        return pv_option_set(own, pv_fit_option_table, &(pv_fit_options){0}, "loss", index == 3 ? "three" : "four");
    done[index]++;
    return PV_OK;
}

static void job_failures_are_the_first(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        pv_ctx *many = check_ctx(threads);
        int done[8] = {0};
        size_t finished;
        assert_int_equal(pv_jobs_run(many, "test", 8, false, fails_from_three, done, &finished), PV_ERR_USAGE);
        assert_non_null(strstr(pv_ctx_error(many)->message, "three"));
        assert_int_equal(finished, 3);
        for (int i = 0; i < 3; i++)
            assert_int_equal(done[i], 1);
        pv_ctx_free(many);
    }
}

static pv_status counts(pv_ctx *own, void *state, size_t index) {
    (void)own;
    int *done = state;
    done[index]++;
    return PV_OK;
}

static void jobs_stop_on_request(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(1);
    int done[4] = {0};
    size_t finished;
    pv_ctx_interrupt(own);
    CHECK_OK(own, pv_jobs_run(own, "test", 4, false, counts, done, &finished));
    assert_int_equal(finished, 1); /* the one that was running */
    assert_int_equal(pv_jobs_run(own, "test", 4, true, counts, done, &finished), PV_ERR_INTERRUPTED);
    pv_ctx_clear_interrupt(own);
    CHECK_OK(own, pv_jobs_run(own, "test", 4, true, counts, done, &finished));
    assert_int_equal(finished, 4);
    pv_ctx_free(own);
}

static void job_warnings_are_told_once(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 30, 30, 0.02, 14);
    pv_fit_options options = options_of(PV_LOSS_PLAIN);
    options.chains = 7;
    pv_validation_options how = pv_validation_options_default();
    for (int threads = 1; threads <= 3; threads++) {
        pv_ctx_options own = {.threads = threads, .log = hear};
        pv_ctx *listening;
        assert_int_equal(pv_ctx_new(&own, &listening), PV_OK);
        pv_validation *v;
        heard[0] = '\0';
        CHECK_OK(listening, pv_cross_validate(listening, s.schema, s.data, &options, &how, &v));
        assert_string_equal(heard, "`chains` has no effect here: it is for `infer=hmc`;");
        pv_validation_free(listening, v);
        pv_ctx_free(listening);
    }
    problem_free(ctx, &s);
}

/* ---- cross-validation -------------------------------------------------------------------------------------------- */

/* A table of the rows outside a fold, learned from and applied to those inside, with the functions that fit uses. */
static void check_fold(const problem *s, const pv_validation *v, const pv_fit_options *options, int32_t fold) {
    const size_t n = s->data->rows;
    pv_table parts[2] = {*s->table, *s->table};
    for (int p = 0; p < 2; p++) {
        parts[p].column = calloc(s->table->columns, sizeof *parts[p].column);
        parts[p].rows = 0;
        for (size_t c = 0; c < s->table->columns; c++) {
            parts[p].column[c] = s->table->column[c];
            parts[p].column[c].number = calloc(n, sizeof(double));
        }
    }
    for (size_t i = 0; i < n; i++) {
        pv_table *part = &parts[v->fold[i] == fold];
        for (size_t c = 0; c < s->table->columns; c++)
            part->column[c].number[part->rows] = s->table->column[c].number[i];
        part->rows++;
    }
    problem outside = learn(ctx, &parts[0], &roles);
    pv_dataset *judge;
    ok(pv_schema_apply(ctx, outside.schema, &parts[1], &roles, &judge));
    pv_classifier *c = fit(ctx, &outside, options);
    pv_prediction *said;
    ok(pv_predict(ctx, c, judge, NULL, NULL, &said));
    const double *loglik = said->log_p;
    for (size_t i = 0, j = 0; i < n; i++)
        if (v->fold[i] == fold) {
            CHECK_NEAR(v->log_p[2 * i + 1], loglik[2 * j + 1], 1e-6);
            j++;
        }
    pv_targets targets = pv_dataset_targets(judge);
    const double stated[] = {log(0.98), log(0.02)}, prevalence[] = {0.98, 0.02};
    const pv_judged judged = {
        .log_p = loglik, .loglik = loglik, .log_marginal = options->loss == PV_LOSS_PLAIN ? stated : c->log_marginal};
    pv_assess_options in_population = pv_assess_options_default();
    in_population.prevalence = prevalence;
    in_population.bootstrap = 0;
    pv_assessment found;
    ok(pv_assess_intervals(ctx, &targets, &judged, &in_population, &found));
    const pv_metrics m = found.value;
    pv_assessment_clear(ctx, &found);
    CHECK_NEAR(v->metrics[fold].log_loss, m.log_loss, 1e-6);
    CHECK_NEAR(v->metrics[fold].information_gain, m.information_gain, 1e-5);
    CHECK_NEAR(v->metrics[fold].holdout_nll, m.holdout_nll, 1e-6);
    CHECK_NEAR(v->metrics[fold].auc, m.auc, 1e-12);
    pv_prediction_free(ctx, said);
    pv_classifier_free(ctx, c);
    pv_dataset_free(ctx, judge);
    outside.table = NULL; /* owned by the test */
    problem_free(ctx, &outside);
    for (int p = 0; p < 2; p++) {
        for (size_t c2 = 0; c2 < s->table->columns; c2++)
            free(parts[p].column[c2].number);
        free(parts[p].column);
    }
}

static void cross_validation_by_hand(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 90, 110, 0.02, 8);
    pv_validation_options how = pv_validation_options_default();
    for (pv_loss loss = PV_LOSS_IG; loss <= PV_LOSS_PLAIN; loss++) {
        pv_fit_options options = options_of(loss);
        pv_validation *v;
        ok(pv_cross_validate(ctx, s.schema, s.data, &options, &how, &v));
        assert_int_equal(v->folds, 3);
        CHECK_NEAR(v->prevalence[1], 0.02, 1e-15);
        for (int32_t f = 0; f < 3; f++)
            check_fold(&s, v, &options, f);
        /* Pooled: a mean over rows, weighted to the population, of the terms of the folds' means. */
        double gain = 0, nll = 0;
        for (size_t i = 0; i < 200; i++) {
            const double *mine = v->log_marginal + 2 * v->fold[i], *f = v->loglik + 2 * i;
            int y = s.data->label[i];
            double other = f[1 - y] - mine[1 - y] + log(y ? 0.98 : 0.02), own = f[y] - mine[y] + log(y ? 0.02 : 0.98);
            double weight = y ? 0.02 / 90 : 0.98 / 110;
            gain += weight * (f[y] - mine[y]);
            nll += weight * log1p(exp(other - own));
        }
        CHECK_NEAR(v->pooled[0].information_gain, gain, 1e-12);
        CHECK_NEAR(v->pooled[0].holdout_nll, nll, 1e-12);
        pv_metrics mean, sd, defined;
        pv_validation_summary(v, &mean, &sd, &defined, NULL);
        double a = v->metrics[0].auc, b = v->metrics[1].auc, c = v->metrics[2].auc, m = (a + b + c) / 3;
        CHECK_NEAR(mean.auc, m, 1e-14);
        CHECK_NEAR(sd.auc, sqrt(((a - m) * (a - m) + (b - m) * (b - m) + (c - m) * (c - m)) / 2), 1e-14);
        CHECK_NEAR(defined.auc, 3, 0);
        CHECK_NEAR(defined.one_off_accuracy, 0, 0);
        assert_true(isnan(mean.one_off_accuracy));
        pv_validation_free(ctx, v);
    }
    problem_free(ctx, &s);
}

/* Every fold has the population's rows on its own scale: stretching and shifting a column has no effect. */
static void folds_rescale_the_population_sample(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 90, 110, 0.02, 15);
    pv_simulation what = {.rows = 3000, .cases = -1, .controls = -1, .prevalence = 0.02, .seed = 16};
    pv_table *people;
    pv_dataset *rows;
    ok(pv_simulate(ctx, "nodules", &what, &people, NULL));
    ok(pv_schema_apply(ctx, s.schema, people, &(pv_roles){0}, &rows));
    /* Groups of sizes 1 to 18 and the rest are assigned by size, for any scale. */
    int32_t group[200];
    for (size_t g = 0, i = 0; i < 200; g += g < 18)
        for (size_t k = 0; i < 200 && (k <= g || g == 18); k++)
            group[i++ * 37 % 200] = (int32_t)g;
    s.data->group = group;
    pv_fit_options options = pv_fit_options_default();
    options.sample = rows;
    pv_validation_options how = pv_validation_options_default();
    pv_validation *v, *moved;
    ok(pv_cross_validate(ctx, s.schema, s.data, &options, &how, &v));
    assert_non_null(v->prevalence);
    CHECK_NEAR(v->prevalence[0] + v->prevalence[1], 1, 1e-12);
    double mean = 0;
    for (size_t f = 0; f < 3; f++)
        mean += exp(v->log_marginal[2 * f + 1]) / 3;
    CHECK_NEAR(v->prevalence[1], mean, 1e-12);
    /* The same rows under a schema with other means and sds, which the folds must correct. */
    pv_source_column source[16];
    pv_schema other = *s.schema;
    memcpy(source, s.schema->source, s.schema->sources * sizeof *source);
    for (size_t c = 0; c < other.sources; c++)
        if (source[c].type == PV_COLUMN_NUMBER) {
            source[c].mean += 2 * source[c].sd;
            source[c].sd *= 3;
        }
    other.source = source;
    pv_dataset_rescale(s.schema, &other, s.data);
    pv_dataset_rescale(s.schema, &other, rows);
    ok(pv_cross_validate(ctx, &other, s.data, &options, &how, &moved));
    for (size_t i = 0; i < 400; i++)
        CHECK_NEAR(moved->log_p[i], v->log_p[i], 1e-5);
    CHECK_NEAR(moved->prevalence[1], v->prevalence[1], 1e-6);
    pv_validation_free(ctx, v);
    pv_validation_free(ctx, moved);
    s.data->group = NULL;
    pv_dataset_free(ctx, rows);
    pv_table_free(ctx, people);
    problem_free(ctx, &s);
}

/* Minibatches end with their schedule; the reported result is that of the posterior's engine. */
static void folds_report_the_posterior(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 60, 60, 0.02, 17);
    pv_fit_options options = options_of(PV_LOSS_PLAIN);
    options.batch = "20";
    options.epochs = 3;
    options.infer = PV_INFER_VI;
    options.draws = 100;
    pv_validation *v;
    pv_validation_options how = pv_validation_options_default();
    pv_classifier *c;
    ok(pv_fit(ctx, s.schema, s.data, &options, &c));
    assert_int_equal(c->stop, PV_STOP_COMPLETED);
    assert_int_equal(c->posterior->stop, PV_STOP_CONVERGED);
    ok(pv_hold_out(ctx, s.schema, s.data, &options, &how, s.data, &v));
    assert_int_equal(v->stop[0], PV_STOP_CONVERGED);
    pv_classifier_free(ctx, c);
    pv_validation_free(ctx, v);
    problem_free(ctx, &s);
}

static void too_many_repeats_are_refused(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 8, 8, 0.02, 18);
    pv_fit_options options = options_of(PV_LOSS_PLAIN);
    pv_validation_options how = {.folds = 4, .repeats = (int64_t)1 << 58, .population = "true"};
    pv_validation *v;
    assert_int_equal(pv_cross_validate(ctx, s.schema, s.data, &options, &how, &v), PV_ERR_MEMORY);
    problem_free(ctx, &s);
}

static void threads_change_nothing(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 60, 60, 0.02, 9);
    pv_validation_options how = {.folds = 4, .repeats = 3, .population = "known:0.3"};
    pv_fit_options options = options_of(PV_LOSS_IG);
    options.infer = PV_INFER_LAPLACE;
    options.draws = 200;
    pv_validation *one, *four;
    pv_ctx *single = check_ctx(1), *many = check_ctx(4);
    CHECK_OK(single, pv_cross_validate(single, s.schema, s.data, &options, &how, &one));
    CHECK_OK(many, pv_cross_validate(many, s.schema, s.data, &options, &how, &four));
    assert_memory_equal(one->log_p, four->log_p, 3 * 120 * 2 * sizeof(double));
    assert_memory_equal(one->metrics, four->metrics, 12 * sizeof(pv_metrics));
    assert_memory_equal(one->pooled, four->pooled, 3 * sizeof(pv_metrics));
    pv_validation_free(single, one);
    pv_validation_free(many, four);
    pv_ctx_free(single);
    pv_ctx_free(many);
    problem_free(ctx, &s);
}

/* ---- mixtures ---------------------------------------------------------------------------------------------------- */

static void mixtures_average(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 60, 60, 0.02, 10);
    pv_validation_options how = pv_validation_options_default();
    pv_fit_options options = options_of(PV_LOSS_IG);
    pv_validation *a, *b, *mixed, *alone, *elsewhere;
    ok(pv_cross_validate(ctx, s.schema, s.data, &options, &how, &a));
    options.prevalence = "0.2";
    ok(pv_cross_validate(ctx, s.schema, s.data, &options, &how, &b));
    const pv_validation *members[] = {a, b};
    const double weights[] = {3, 1}, first[] = {1, 0}, bad[] = {1, -1}, none[] = {0, 0};
    ok(pv_validation_mix(ctx, 2, members, weights, &mixed));
    for (size_t i = 0; i < 240; i++)
        CHECK_NEAR(exp(mixed->log_p[i]), 0.75 * exp(a->log_p[i]) + 0.25 * exp(b->log_p[i]), 1e-14);
    CHECK_NEAR(mixed->prevalence[1], 0.75 * 0.02 + 0.25 * 0.2, 1e-15);
    CHECK_NEAR(exp(mixed->log_marginal[1]), 0.75 * exp(a->log_marginal[1]) + 0.25 * exp(b->log_marginal[1]), 1e-14);
    ok(pv_validation_mix(ctx, 2, members, first, &alone));
    assert_memory_equal(alone->metrics, a->metrics, 3 * sizeof(pv_metrics));
    pv_validation *refused;
    assert_int_equal(pv_validation_mix(ctx, 2, members, bad, &refused), PV_ERR_USAGE);
    says("weight 2");
    assert_int_equal(pv_validation_mix(ctx, 2, members, none, &refused), PV_ERR_USAGE);
    options.seed = 2;
    ok(pv_cross_validate(ctx, s.schema, s.data, &options, &how, &elsewhere));
    members[1] = elsewhere;
    assert_int_equal(pv_validation_mix(ctx, 2, members, weights, &refused), PV_ERR_USAGE);
    says("different rows or folds");
    pv_validation_free(ctx, a);
    pv_validation_free(ctx, b);
    pv_validation_free(ctx, mixed);
    pv_validation_free(ctx, alone);
    pv_validation_free(ctx, elsewhere);
    problem_free(ctx, &s);
}

/* An incomplete fit is not evaluated. */
static void interruption_is_no_result(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 80, 80, 0.02, 11);
    pv_fit_options options = options_of(PV_LOSS_IG);
    pv_validation_options how = pv_validation_options_default();
    pv_ctx *own = check_ctx(1);
    pv_validation *v;
    pv_ctx_interrupt(own);
    assert_int_equal(pv_hold_out(own, s.schema, s.data, &options, &how, s.data, &v), PV_ERR_INTERRUPTED);
    assert_null(v);
    assert_non_null(strstr(pv_ctx_error(own)->message, "stopped on request"));
    assert_int_equal(pv_cross_validate(own, s.schema, s.data, &options, &how, &v), PV_ERR_INTERRUPTED);
    assert_null(v);
    pv_ctx_free(own);
    problem_free(ctx, &s);
}

static void hold_out_is_fit_and_predict(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 80, 80, 0.02, 11), rest = nodules_of(ctx, 40, 50, 0.02, 12);
    pv_dataset *rows;
    ok(pv_schema_apply(ctx, s.schema, rest.table, &roles, &rows));
    pv_fit_options options = options_of(PV_LOSS_IG);
    pv_validation_options how = pv_validation_options_default();
    pv_validation *v;
    ok(pv_hold_out(ctx, s.schema, s.data, &options, &how, rows, &v));
    pv_classifier *c;
    ok(pv_fit(ctx, s.schema, s.data, &options, &c));
    pv_prediction *said;
    ok(pv_predict(ctx, c, rows, NULL, NULL, &said));
    for (size_t i = 0; i < 180; i++)
        CHECK_NEAR(v->log_p[i], said->log_p[i], 0);
    pv_prediction_free(ctx, said);
    CHECK_NEAR(v->pooled[0].information_gain, v->metrics[0].information_gain, 1e-12);
    pv_classifier_free(ctx, c);
    pv_validation_free(ctx, v);
    pv_dataset_free(ctx, rows);
    problem_free(ctx, &s);
    problem_free(ctx, &rest);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static problem small;

static pv_status validate_poorly(pv_ctx *poor) {
    int32_t group[24], fold[24];
    for (int32_t i = 0; i < 24; i++)
        group[i] = i / 2;
    small.data->group = group;
    pv_status status = pv_folds_make(poor, NULL, small.data, 2, 1, 0, fold);
    small.data->group = NULL;
    if (status != PV_OK)
        return status;
    pv_validation_options how = pv_validation_options_default();
    how.folds = 2;
    how.population = "unknown";
    how.stated_for = "population";
    how.bootstrap = 2;
    pv_fit_options options = options_of(PV_LOSS_PLAIN);
    options.max_iter = 3;
    pv_validation *v = NULL, *mixed = NULL;
    status = pv_cross_validate(poor, small.schema, small.data, &options, &how, &v);
    const pv_validation *members[] = {v, v};
    const double weights[] = {1, 1};
    if (status == PV_OK)
        status = pv_validation_mix(poor, 2, members, weights, &mixed);
    pv_validation_free(poor, mixed);
    pv_validation_free(poor, v);
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    small = nodules_of(ctx, 12, 12, 0.02, 13);
    sweep_memory(validate_poorly);
    problem_free(ctx, &small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_failures_are_the_first),
        cmocka_unit_test(jobs_stop_on_request),
        cmocka_unit_test(job_warnings_are_told_once),
        cmocka_unit_test(cross_validation_by_hand),
        cmocka_unit_test(folds_rescale_the_population_sample),
        cmocka_unit_test(folds_report_the_posterior),
        cmocka_unit_test(too_many_repeats_are_refused),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(mixtures_average),
        cmocka_unit_test(hold_out_is_fit_and_predict),
        cmocka_unit_test(interruption_is_no_result),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
