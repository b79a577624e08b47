/* Jobs, folds, cross-validation and mixtures: against what the same work by hand gives. */
#include "fixture.h"

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static char heard[512];

static void hear(void *state, pv_log_level level, const char *message) {
    (void)state;
    (void)level;
    strncat(heard, message, sizeof heard - strlen(heard) - 1);
    strncat(heard, ";", sizeof heard - strlen(heard) - 1);
}

/* Says something through an option that is wrong, and fails where asked. */
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

/* ---- data -------------------------------------------------------------------------------------------------------- */

typedef struct sample {
    pv_table *table;
    pv_encoding *encoding;
    char **labels;
    pv_dataset *data;
} sample;

static const pv_roles roles = {.target = "malignant"};

static sample draw(size_t cases, size_t controls, uint64_t seed) {
    sample s = {0};
    pv_simulation what = {.cases = (int64_t)cases, .controls = (int64_t)controls, .prevalence = 0.02, .seed = seed};
    ok(pv_simulate(ctx, "nodules", &what, &s.table, NULL));
    ok(pv_dataset_learn(ctx, s.table, &roles, &s.encoding, &s.labels, &s.data));
    return s;
}

static void drop(sample *s) {
    pv_string_list_free(ctx, s->labels, 2);
    pv_encoding_free(ctx, s->encoding);
    pv_dataset_free(ctx, s->data);
    pv_table_free(ctx, s->table);
}

static pv_fit_input input_of(const sample *s) {
    return (pv_fit_input){.data = s->data,
                          .encoding = s->encoding,
                          .labels = s->labels,
                          .target = "malignant",
                          .source = "test",
                          .command = "test"};
}

/* ---- folds ------------------------------------------------------------------------------------------------------- */

static void folds_are_stratified(void **state) {
    (void)state;
    sample s = draw(71, 130, 5);
    int32_t fold[201], again[201], other[201];
    for (int64_t folds = 2; folds <= 7; folds++) {
        size_t count[7][2] = {{0}};
        ok(pv_folds_make(ctx, s.data, s.labels, folds, NULL, 9, 0, fold));
        ok(pv_folds_make(ctx, s.data, s.labels, folds, NULL, 9, 0, again));
        ok(pv_folds_make(ctx, s.data, s.labels, folds, NULL, 9, 1, other));
        assert_memory_equal(fold, again, sizeof fold);
        assert_memory_not_equal(fold, other, sizeof fold);
        for (size_t i = 0; i < 201; i++) {
            assert_true(fold[i] >= 0 && fold[i] < folds);
            count[fold[i]][s.data->label[i]]++;
        }
        for (int64_t f = 0; f < folds; f++) {
            assert_in_range(count[f][0], 130 / folds, 130 / folds + 1);
            assert_in_range(count[f][1], 71 / folds, 71 / folds + 1);
            assert_in_range(count[f][0] + count[f][1], 201 / folds, 201 / folds + 1);
        }
    }
    drop(&s);
}

static void folds_keep_groups(void **state) {
    (void)state;
    sample s = draw(150, 150, 6);
    int32_t group[300], fold[300], of_group[60];
    size_t count[4][2] = {{0}};
    for (size_t i = 0; i < 300; i++)
        group[i] = (int32_t)(random_bits() % 60);
    ok(pv_folds_make(ctx, s.data, s.labels, 4, group, 1, 0, fold));
    for (size_t i = 0; i < 60; i++)
        of_group[i] = -1;
    for (size_t i = 0; i < 300; i++) {
        if (of_group[group[i]] < 0)
            of_group[group[i]] = fold[i];
        assert_int_equal(of_group[group[i]], fold[i]);
        count[fold[i]][s.data->label[i]]++;
    }
    for (int f = 0; f < 4; f++) /* 37.5 each, groups of about 5 */
        for (int y = 0; y < 2; y++)
            assert_in_range(count[f][y], 33, 42);
    drop(&s);
}

static void folds_refuse(void **state) {
    (void)state;
    sample s = draw(4, 20, 7);
    int32_t fold[24], group[24];
    assert_int_equal(pv_folds_make(ctx, s.data, s.labels, 1, NULL, 1, 0, fold), PV_ERR_USAGE);
    says("two at least");
    assert_int_equal(pv_folds_make(ctx, s.data, s.labels, 25, NULL, 1, 0, fold), PV_ERR_USAGE);
    says("24 rows only");
    assert_int_equal(pv_folds_make(ctx, s.data, s.labels, 5, NULL, 1, 0, fold), PV_ERR_INPUT);
    says("label '1' has 4 rows, fewer than the 5 folds");
    assert_int_equal(pv_folds_make(ctx, s.data, NULL, 5, NULL, 1, 0, fold), PV_ERR_INPUT);
    says("label 2 has 4 rows");
    for (size_t i = 0; i < 24; i++)
        group[i] = s.data->label[i] ? 0 : (int32_t)i;
    assert_int_equal(pv_folds_make(ctx, s.data, s.labels, 3, group, 1, 0, fold), PV_ERR_INPUT);
    says("label '1' is in 1 group, all in one fold");
    for (size_t i = 0; i < 24; i++)
        group[i] = (int32_t)(i % 2);
    assert_int_equal(pv_folds_make(ctx, s.data, s.labels, 3, group, 1, 0, fold), PV_ERR_INPUT);
    says("there are 2 groups, fewer than the 3 folds");
    group[3] = -1;
    assert_int_equal(pv_folds_make(ctx, s.data, s.labels, 2, group, 1, 0, fold), PV_ERR_INPUT);
    says("row 4 has no group");
    drop(&s);
}

/* Groups of one label each, as many as folds or more: every fold gets one, whatever the order they come in. */
static void folds_are_filled(void **state) {
    (void)state;
    for (int32_t folds = 2; folds <= 4; folds++)
        for (uint64_t seed = 0; seed < 50; seed++) {
            int32_t label[] = {0, 0, 0, 0, 1, 1, 1, 1}, group[] = {0, 0, 1, 1, 2, 2, 3, 3}, fold[8];
            size_t count[4] = {0};
            pv_dataset data = {.rows = 8, .label = label, .classes = 2};
            ok(pv_folds_make(ctx, &data, NULL, folds, group, seed, 0, fold));
            for (size_t i = 0; i < 8; i++)
                count[fold[i]]++;
            for (int32_t f = 0; f < folds; f++)
                assert_true(count[f] > 0);
        }
}

/* A label that is known but has no rows is no matter of folds; rows without labels are refused, not read. */
static void folds_need_labels(void **state) {
    (void)state;
    int32_t label[] = {0, 0, 2, 2}, fold[4];
    pv_dataset data = {.rows = 4, .label = label, .classes = 3};
    ok(pv_folds_make(ctx, &data, NULL, 2, NULL, 1, 0, fold));
    sample s = draw(6, 6, 7);
    int32_t *kept = s.data->label;
    s.data->label = NULL;
    pv_fit_input input = input_of(&s);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    pv_validation_options how = pv_validation_options_default();
    pv_validation *v;
    assert_int_equal(pv_cross_validate(ctx, &input, &options, &how, &v), PV_ERR_USAGE);
    says("folds need rows with labels");
    s.data->label = kept;
    drop(&s);
}

/* ---- rows taken out ---------------------------------------------------------------------------------------------- */

/* Rows of a dataset on a scale of their own are what learning from a table of just these rows gives. */
static void taken_rows_are_learned_alike(void **state) {
    (void)state;
    const char *whole = "a,b,c,y\n1,4,u,0\n2,1e6,v,1\n7,-3,u,1\n4,5,v,0\n9,2,w,1\n", *part =
                                                                                         "a,b,c,y\n2,1e6,v,1\n4,5,v,"
                                                                                         "0\n9,2,u,1\n";
    pv_roles some = {.target = "y", .keep_collinear = true};
    pv_table *table = read_text(whole), *other;
    pv_encoding *encoding, *wanted;
    char **labels, **labels2;
    pv_dataset *data, *taken, *learned;
    ok(pv_dataset_learn(ctx, table, &some, &encoding, &labels, &data));
    other = read_text(part);
    ok(pv_dataset_learn(ctx, other, &some, &wanted, &labels2, &learned));
    const size_t rows[] = {1, 3, 4};
    ok(pv_dataset_take(ctx, data, 3, rows, &taken));
    pv_source_column source[3];
    ok(pv_dataset_scales(ctx, encoding, taken, source));
    pv_encoding scaled = {
        .sources = encoding->sources, .source = source, .features = encoding->features, .feature = encoding->feature};
    pv_dataset_rescale(encoding, &scaled, taken);
    for (size_t j = 0; j < 2; j++) {
        CHECK_NEAR(source[j].mean, wanted->source[j].mean, 1e-9 * fabs(wanted->source[j].mean));
        CHECK_NEAR(source[j].sd, wanted->source[j].sd, 1e-12 * wanted->source[j].sd);
        for (size_t i = 0; i < 3; i++)
            CHECK_NEAR(taken->x[i * 4 + j], learned->x[i * (size_t)learned->features + j], 1e-9);
    }
    const double indicators[3][2] = {{1, 0}, {1, 0}, {0, 1}}; /* c=v, c=w: as the whole table has them */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(taken->table_row[i], rows[i]);
        assert_int_equal(taken->label[i], data->label[rows[i]]);
        for (size_t j = 0; j < 2; j++)
            CHECK_NEAR(taken->x[i * 4 + 2 + j], indicators[i][j], 0);
    }
    const size_t one[] = {2, 2};
    pv_dataset *constant;
    ok(pv_dataset_take(ctx, data, 2, one, &constant));
    assert_int_equal(pv_dataset_scales(ctx, encoding, constant, source), PV_ERR_INPUT);
    says("column 'a' has one value only");
    pv_dataset_free(ctx, constant);
    pv_dataset_free(ctx, taken);
    pv_dataset_free(ctx, data);
    pv_dataset_free(ctx, learned);
    pv_encoding_free(ctx, encoding);
    pv_encoding_free(ctx, wanted);
    pv_string_list_free(ctx, labels, 2);
    pv_string_list_free(ctx, labels2, 2);
    pv_table_free(ctx, table);
    pv_table_free(ctx, other);
}

/* ---- cross-validation -------------------------------------------------------------------------------------------- */

static pv_fit_options options_of(pv_loss loss) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    options.loss = (int)loss;
    return options;
}

/* A table of the rows outside a fold, learned from and applied to those inside, by the functions that fit uses. */
static void check_fold(const sample *s, const pv_validation *v, const pv_fit_options *options, int32_t fold) {
    sample learn = {0};
    pv_table *inside;
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
    inside = &parts[1];
    ok(pv_dataset_learn(ctx, &parts[0], &roles, &learn.encoding, &learn.labels, &learn.data));
    pv_dataset *judge;
    ok(pv_dataset_apply(ctx, inside, &roles, learn.encoding, learn.labels, 2, &judge));
    pv_fit_input input = input_of(&learn);
    pv_classifier *c;
    ok(pv_fit(ctx, &input, options, &c));
    double *loglik = calloc(2 * judge->rows, sizeof *loglik);
    ok(pv_predict_loglik(ctx, c, judge, loglik));
    pv_predict_population(c, PV_POPULATION_TRUE, NULL, judge->rows, loglik, loglik);
    for (size_t i = 0, j = 0; i < n; i++)
        if (v->fold[i] == fold) {
            CHECK_NEAR(v->log_p[2 * i + 1], loglik[2 * j + 1], 1e-6);
            j++;
        }
    pv_metrics m;
    pv_targets targets = pv_dataset_targets(judge);
    const double stated[] = {log(0.98), log(0.02)}, prevalence[] = {0.98, 0.02};
    ok(pv_assess(ctx, &targets, loglik, options->loss == PV_LOSS_PLAIN ? stated : c->log_marginal, loglik, prevalence,
                 &m));
    CHECK_NEAR(v->metrics[fold].nell, m.nell, 1e-6);
    CHECK_NEAR(v->metrics[fold].information_gain, m.information_gain, 1e-5);
    CHECK_NEAR(v->metrics[fold].holdout_nll, m.holdout_nll, 1e-6);
    CHECK_NEAR(v->metrics[fold].auc, m.auc, 1e-12);
    free(loglik);
    pv_classifier_free(ctx, c);
    pv_dataset_free(ctx, judge);
    pv_string_list_free(ctx, learn.labels, 2);
    pv_encoding_free(ctx, learn.encoding);
    pv_dataset_free(ctx, learn.data);
    for (int p = 0; p < 2; p++) {
        for (size_t c2 = 0; c2 < s->table->columns; c2++)
            free(parts[p].column[c2].number);
        free(parts[p].column);
    }
}

static void cross_validation_by_hand(void **state) {
    (void)state;
    sample s = draw(90, 110, 8);
    pv_fit_input input = input_of(&s);
    pv_validation_options how = pv_validation_options_default();
    for (pv_loss loss = PV_LOSS_IG; loss <= PV_LOSS_PLAIN; loss++) {
        pv_fit_options options = options_of(loss);
        pv_validation *v;
        ok(pv_cross_validate(ctx, &input, &options, &how, &v));
        assert_int_equal(v->folds, 3);
        CHECK_NEAR(v->prevalence[1], 0.02, 1e-15);
        for (int32_t f = 0; f < 3; f++)
            check_fold(&s, v, &options, f);
        /* Pooled: a mean over rows of what the folds' means are made of. */
        double gain = 0, nll = 0;
        for (size_t i = 0; i < 200; i++) {
            const double *mine = v->log_marginal + 2 * v->fold[i], *f = v->loglik + 2 * i;
            int y = s.data->label[i];
            double other = f[1 - y] - mine[1 - y] + log(y ? 0.55 : 0.45), own = f[y] - mine[y] + log(y ? 0.45 : 0.55);
            gain += f[y] - mine[y];
            nll += log1p(exp(other - own));
        }
        CHECK_NEAR(v->pooled[0].information_gain, gain / 200, 1e-12);
        CHECK_NEAR(v->pooled[0].holdout_nll, nll / 200, 1e-12);
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
    drop(&s);
}

/* Every fold has the population's rows on its own scale: a stretched and shifted column changes nothing. */
static void folds_rescale_the_population_sample(void **state) {
    (void)state;
    sample s = draw(90, 110, 15);
    pv_simulation what = {.rows = 3000, .cases = -1, .controls = -1, .prevalence = 0.02, .seed = 16};
    pv_table *people;
    pv_dataset *rows;
    ok(pv_simulate(ctx, "nodules", &what, &people, NULL));
    ok(pv_dataset_apply(ctx, people, &(pv_roles){0}, s.encoding, s.labels, 2, &rows));
    pv_fit_input input = input_of(&s);
    input.sample = rows;
    pv_fit_options options = pv_fit_options_default();
    pv_validation_options how = pv_validation_options_default();
    pv_validation *v, *moved;
    ok(pv_cross_validate(ctx, &input, &options, &how, &v));
    assert_non_null(v->prevalence);
    CHECK_NEAR(v->prevalence[0] + v->prevalence[1], 1, 1e-12);
    double mean = 0;
    for (size_t f = 0; f < 3; f++)
        mean += exp(v->log_marginal[2 * f + 1]) / 3;
    CHECK_NEAR(v->prevalence[1], mean, 1e-12);
    /* The same rows under an encoding with other means and sds: all of it is the folds' to set right. */
    pv_source_column source[16];
    pv_encoding other = *s.encoding;
    memcpy(source, s.encoding->source, s.encoding->sources * sizeof *source);
    for (size_t c = 0; c < other.sources; c++)
        if (source[c].type == PV_COLUMN_NUMBER) {
            source[c].mean += 2 * source[c].sd;
            source[c].sd *= 3;
        }
    other.source = source;
    pv_dataset_rescale(s.encoding, &other, s.data);
    pv_dataset_rescale(s.encoding, &other, rows);
    input.encoding = &other;
    ok(pv_cross_validate(ctx, &input, &options, &how, &moved));
    for (size_t i = 0; i < 400; i++)
        CHECK_NEAR(moved->log_p[i], v->log_p[i], 1e-5);
    CHECK_NEAR(moved->prevalence[1], v->prevalence[1], 1e-6);
    pv_validation_free(ctx, v);
    pv_validation_free(ctx, moved);
    pv_dataset_free(ctx, rows);
    pv_table_free(ctx, people);
    drop(&s);
}

/* Minibatches end when their schedule does; what the posterior's engine says is what is reported. */
static void folds_report_the_posterior(void **state) {
    (void)state;
    sample s = draw(60, 60, 17);
    pv_fit_input input = input_of(&s);
    pv_fit_options options = options_of(PV_LOSS_PLAIN);
    options.batch = "20";
    options.epochs = 3;
    options.infer = PV_INFER_VI;
    options.draws = 100;
    pv_validation *v;
    pv_validation_options how = pv_validation_options_default();
    pv_classifier *c;
    ok(pv_fit(ctx, &input, &options, &c));
    assert_int_equal(c->stop, PV_STOP_COMPLETED);
    assert_int_equal(c->posterior->stop, PV_STOP_CONVERGED);
    ok(pv_hold_out(ctx, &input, &options, &how, s.data, &v));
    assert_int_equal(v->stop[0], PV_STOP_CONVERGED);
    pv_classifier_free(ctx, c);
    pv_validation_free(ctx, v);
    drop(&s);
}

static void too_many_repeats_are_refused(void **state) {
    (void)state;
    sample s = draw(8, 8, 18);
    pv_fit_input input = input_of(&s);
    pv_fit_options options = options_of(PV_LOSS_PLAIN);
    pv_validation_options how = {.folds = 4, .repeats = (int64_t)1 << 58, .population = "true"};
    pv_validation *v;
    assert_int_equal(pv_cross_validate(ctx, &input, &options, &how, &v), PV_ERR_MEMORY);
    drop(&s);
}

static void threads_change_nothing(void **state) {
    (void)state;
    sample s = draw(60, 60, 9);
    pv_fit_input input = input_of(&s);
    pv_validation_options how = {.folds = 4, .repeats = 3, .population = "known:0.3"};
    pv_fit_options options = options_of(PV_LOSS_IG);
    options.infer = PV_INFER_LAPLACE;
    options.draws = 200;
    pv_validation *one, *four;
    pv_ctx *single = check_ctx(1), *many = check_ctx(4);
    CHECK_OK(single, pv_cross_validate(single, &input, &options, &how, &one));
    CHECK_OK(many, pv_cross_validate(many, &input, &options, &how, &four));
    assert_memory_equal(one->log_p, four->log_p, 3 * 120 * 2 * sizeof(double));
    assert_memory_equal(one->metrics, four->metrics, 12 * sizeof(pv_metrics));
    assert_memory_equal(one->pooled, four->pooled, 3 * sizeof(pv_metrics));
    pv_validation_free(single, one);
    pv_validation_free(many, four);
    pv_ctx_free(single);
    pv_ctx_free(many);
    drop(&s);
}

/* ---- mixtures ---------------------------------------------------------------------------------------------------- */

static void mixtures_average(void **state) {
    (void)state;
    sample s = draw(60, 60, 10);
    pv_fit_input input = input_of(&s);
    pv_validation_options how = pv_validation_options_default();
    pv_fit_options options = options_of(PV_LOSS_IG);
    pv_validation *a, *b, *mixed, *alone, *elsewhere;
    ok(pv_cross_validate(ctx, &input, &options, &how, &a));
    options.prevalence = "0.2";
    ok(pv_cross_validate(ctx, &input, &options, &how, &b));
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
    ok(pv_cross_validate(ctx, &input, &options, &how, &elsewhere));
    members[1] = elsewhere;
    assert_int_equal(pv_validation_mix(ctx, 2, members, weights, &refused), PV_ERR_USAGE);
    says("different rows or folds");
    pv_validation_free(ctx, a);
    pv_validation_free(ctx, b);
    pv_validation_free(ctx, mixed);
    pv_validation_free(ctx, alone);
    pv_validation_free(ctx, elsewhere);
    drop(&s);
}

static void hold_out_is_fit_and_predict(void **state) {
    (void)state;
    sample s = draw(80, 80, 11), rest = draw(40, 50, 12);
    pv_dataset *rows;
    ok(pv_dataset_apply(ctx, rest.table, &roles, s.encoding, s.labels, 2, &rows));
    pv_fit_input input = input_of(&s);
    pv_fit_options options = options_of(PV_LOSS_IG);
    pv_validation_options how = pv_validation_options_default();
    pv_validation *v;
    ok(pv_hold_out(ctx, &input, &options, &how, rows, &v));
    pv_classifier *c;
    ok(pv_fit(ctx, &input, &options, &c));
    double loglik[180];
    ok(pv_predict_loglik(ctx, c, rows, loglik));
    for (size_t i = 0; i < 180; i++)
        CHECK_NEAR(v->log_p[i], loglik[i], 0);
    CHECK_NEAR(v->pooled[0].information_gain, v->metrics[0].information_gain, 1e-12);
    pv_classifier_free(ctx, c);
    pv_validation_free(ctx, v);
    pv_dataset_free(ctx, rows);
    drop(&s);
    drop(&rest);
}

/* ---- lack of memory ---------------------------------------------------------------------------------------------- */

static sample small;

static pv_status validate_poorly(pv_ctx *poor) {
    int32_t group[24], fold[24];
    for (int32_t i = 0; i < 24; i++)
        group[i] = i / 2;
    pv_status status = pv_folds_make(poor, small.data, NULL, 2, group, 1, 0, fold);
    if (status != PV_OK)
        return status;
    pv_fit_input input = input_of(&small);
    pv_validation_options how = pv_validation_options_default();
    how.folds = 2;
    how.population = "unknown";
    how.stated_for = "population";
    how.bootstrap = 2;
    pv_fit_options options = options_of(PV_LOSS_PLAIN);
    options.max_iter = 3;
    pv_validation *v = NULL, *mixed = NULL;
    status = pv_cross_validate(poor, &input, &options, &how, &v);
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
    small = draw(12, 12, 13);
    sweep_memory(validate_poorly);
    drop(&small);
}

/* What jobs warn of is heard once, whatever the threads. */
static void job_warnings_are_told_once(void **state) {
    (void)state;
    sample s = draw(30, 30, 14);
    pv_fit_input input = input_of(&s);
    pv_fit_options options = options_of(PV_LOSS_PLAIN);
    options.chains = 7;
    pv_validation_options how = pv_validation_options_default();
    for (int threads = 1; threads <= 3; threads++) {
        pv_ctx_options own = {.threads = threads, .log = hear};
        pv_ctx *listening;
        assert_int_equal(pv_ctx_new(&own, &listening), PV_OK);
        pv_validation *v;
        heard[0] = '\0';
        CHECK_OK(listening, pv_cross_validate(listening, &input, &options, &how, &v));
        assert_string_equal(heard, "--chains has no effect with this --infer;");
        pv_validation_free(listening, v);
        pv_ctx_free(listening);
    }
    drop(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_failures_are_the_first),
        cmocka_unit_test(jobs_stop_on_request),
        cmocka_unit_test(job_warnings_are_told_once),
        cmocka_unit_test(folds_are_stratified),
        cmocka_unit_test(folds_keep_groups),
        cmocka_unit_test(folds_refuse),
        cmocka_unit_test(folds_are_filled),
        cmocka_unit_test(folds_need_labels),
        cmocka_unit_test(taken_rows_are_learned_alike),
        cmocka_unit_test(cross_validation_by_hand),
        cmocka_unit_test(folds_rescale_the_population_sample),
        cmocka_unit_test(folds_report_the_posterior),
        cmocka_unit_test(too_many_repeats_are_refused),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(mixtures_average),
        cmocka_unit_test(hold_out_is_fit_and_predict),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
