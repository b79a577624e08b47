/* Misspecified models: the efficient and the weighted estimate, their combination, and matched biases. */

#include "infer/infer.h"
#include "looks.h"
#include "problem.h"

static const pv__design one_stratum = {.strata = 1};

enum { EACH = 1500 };

/* Equal numbers of cases and controls from a population with log odds a + x1 - x2/2 + square x1^2 and prevalence
 * 0.02. */
typedef struct sample {
    double x[4 * EACH];
    int32_t label[2 * EACH];
    pv_dataset data;
    pv_schema *schema;
} sample;

static sample *draw(pv_ctx *own, double square, double intercept, uint64_t seed) {
    static const char *const labels[] = {"no", "yes"};
    sample *s = calloc(1, sizeof *s);
    assert_non_null(s);
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_PEOPLE, 0);
    size_t left[2] = {EACH, EACH}, n = 0;
    while (left[0] + left[1]) {
        double x[2] = {pv_rng_normal(&rng), pv_rng_normal(&rng)};
        int y = pv_rng_uniform(&rng) < pv_sigmoid(intercept + x[0] - 0.5 * x[1] + square * x[0] * x[0]);
        if (!left[y])
            continue;
        left[y]--;
        memcpy(s->x + 2 * n, x, sizeof x);
        s->label[n++] = y;
    }
    s->data = (pv_dataset){.rows = n, .features = 2, .x = s->x, .label = s->label, .classes = 2};
    CHECK_OK(own, pv_schema_new(own, "y", labels, 2, NULL, 2, &s->schema));
    return s;
}

static sample *straight(pv_ctx *own) {
    return draw(own, 0, -4.45, 3);
}

static sample *bent(pv_ctx *own) {
    return draw(own, 0.35, -5.1, 3);
}

static void sample_free(pv_ctx *own, sample *s) {
    pv_schema_free(own, s->schema);
    free(s);
}

static pv_fit_options options_of(const char *weighting, pv_match match, pv_inference infer) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "yes=0.02";
    options.weighting = weighting;
    options.match = (int)match;
    options.infer = (int)infer;
    return options;
}

static pv_classifier *fit_sample(pv_ctx *own, const sample *s, const pv_fit_options *options) {
    pv_classifier *c;
    CHECK_OK(own, pv_fit(own, s->schema, &s->data, options, &c));
    return c;
}

/* The mean risk of the rows, weighted to a prevalence of 0.02. */
static double weighted_mean(pv_ctx *own, const sample *s, const pv_classifier *c) {
    double *loglik = malloc(2 * s->data.rows * sizeof *loglik), sum = 0;
    assert_non_null(loglik);
    CHECK_OK(own, pv_predict_loglik(own, c, &s->data, loglik));
    for (size_t i = 0; i < s->data.rows; i++)
        sum += (s->label[i] ? 0.02 : 0.98) / EACH * exp(loglik[2 * i + 1]);
    free(loglik);
    return sum;
}

/* Slopes that the test does not distinguish are close to the efficient ones. */
static void a_right_model_keeps_the_efficient_estimate(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2);
    sample *s = straight(own);
    pv_fit_options usual = options_of("auto", PV_MATCH_NONE, PV_INFER_MAP),
                   none = options_of("0", PV_MATCH_NONE, PV_INFER_MAP);
    pv_classifier *c = fit_sample(own, s, &usual), *d = fit_sample(own, s, &none);
    const pv_combination *m = c->combination;
    assert_int_equal(m->use, PV_ESTIMATE_COMBINED);
    assert_int_equal(d->combination->use, PV_ESTIMATE_EFFICIENT);
    assert_true(m->p_value > 0.05 && !pv_combination_differs(m));
    assert_int_equal(m->rank, 2);
    assert_true(m->p_value == d->combination->p_value);
    for (size_t i = 1; i < 3; i++) {
        double between = m->share[i - 1] * m->weighted[i] + (1 - m->share[i - 1]) * m->efficient[i];
        CHECK_NEAR(c->w[i], between, 1e-12);
    }
    assert_true(fabs(weighted_mean(own, s, c) / 0.02 - 1) < 1e-9);
    pv_classifier_free(own, c);
    pv_classifier_free(own, d);
    sample_free(own, s);
    pv_ctx_free(own);
}

static void a_wrong_model_is_weighted(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2), *single = check_ctx(1);
    sample *s = bent(own);
    pv_fit_options usual = options_of("auto", PV_MATCH_NONE, PV_INFER_MAP);
    pv_classifier *c = fit_sample(own, s, &usual);
    assert_true(c->combination->p_value < 1e-6 && c->combination->share[0] > 0.5);
    assert_true(fabs(weighted_mean(own, s, c) / 0.02 - 1) < 1e-9);
    assert_true(fabs(exp(c->log_marginal[1]) / 0.02 - 1) < 1e-9);
    /* Neither threads nor the seed affect the result. */
    usual.seed = 77;
    pv_classifier *e = fit_sample(single, s, &usual);
    assert_memory_equal(c->w, e->w, 3 * sizeof *c->w);
    assert_memory_equal(c->spread, e->spread, 9 * sizeof *c->spread);
    pv_classifier_free(single, e);
    pv_classifier_free(own, c);
    sample_free(own, s);
    pv_ctx_free(own);
    pv_ctx_free(single);
}

static void compare_fits(const pv_classifier *c, const pv_classifier *d) {
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(c->w[i], d->w[i], 1e-9);
        CHECK_NEAR(c->combination->df[i], d->combination->df[i], 1e-6);
    }
    for (int i = 0; i < 9; i++)
        CHECK_NEAR(c->spread[i], d->spread[i], 1e-10);
    CHECK_NEAR(c->combination->statistic, d->combination->statistic, 1e-7);
}

/* Invariance to the order of rows; counts for repeated rows; clusters of one row each, with any numbers. */
static void the_same_people_give_the_same_fit(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2);
    sample *s = bent(own);
    size_t n = s->data.rows;
    double *x = malloc(2 * n * sizeof *x), *weight = malloc(n * sizeof *weight);
    int32_t *label = malloc(n * sizeof *label), *group = malloc(n * sizeof *group);
    assert_true(x && weight && label && group);
    pv_fit_options usual = options_of("auto", PV_MATCH_NONE, PV_INFER_MAP);
    for (size_t i = 0; i < n; i++) { /* every third person repeats the one before as another row */
        size_t from = i % 3 == 2 ? i - 1 : i;
        memcpy(s->x + 2 * i, s->x + 2 * from, 2 * sizeof *x);
        s->label[i] = s->label[from];
    }
    pv_classifier *c = fit_sample(own, s, &usual), *d;
    for (size_t i = 0; i < n; i++) { /* 7 and n have no common factor */
        size_t to = i * 7 % n;
        memcpy(x + 2 * to, s->x + 2 * i, 2 * sizeof *x);
        label[to] = s->label[i];
        group[to] = (int32_t)(n - 1 - i);
    }
    pv_dataset other = {.rows = n, .features = 2, .x = x, .label = label, .classes = 2};
    CHECK_OK(own, pv_fit(own, s->schema, &other, &usual, &d));
    compare_fits(c, d);
    pv_classifier_free(own, d);
    other.group = group;
    other.clustered = true;
    CHECK_OK(own, pv_fit(own, s->schema, &other, &usual, &d));
    compare_fits(c, d);
    pv_classifier_free(own, d);
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 3 == 2)
            continue;
        memcpy(x + 2 * rows, s->x + 2 * i, 2 * sizeof *x);
        label[rows] = s->label[i];
        weight[rows++] = i % 3 == 1 && i + 1 < n ? 2 : 1;
    }
    other = (pv_dataset){.rows = rows, .features = 2, .x = x, .label = label, .weight = weight, .classes = 2};
    CHECK_OK(own, pv_fit(own, s->schema, &other, &usual, &d));
    compare_fits(c, d);
    pv_classifier_free(own, d);
    pv_classifier_free(own, c);
    free(x);
    free(weight);
    free(label);
    free(group);
    sample_free(own, s);
    pv_ctx_free(own);
}

/* Risks at the rows have intervals around the weighted estimate that include the prediction, in any population. */
static void risks_have_intervals(void **state) {
    (void)state;
    static const char *const populations[] = {"true", "known:0.3", "design"};
    pv_ctx *own = check_ctx(2);
    sample *s = bent(own);
    pv_fit_options usual = options_of("auto", PV_MATCH_NONE, PV_INFER_MAP);
    pv_classifier *c = fit_sample(own, s, &usual);
    for (size_t p = 0; p < 3; p++) {
        pv_prediction *made;
        CHECK_OK(own, pv_predict_in(own, c, &s->data, populations[p], &(pv_predict_options){.level = 0.9}, &made));
        double t = pv_student_quantile(c->spread_df, 0.95), pi = p == 0 ? 0.02 : p == 1 ? 0.3 : 0.5;
        for (size_t i = 0; i < 100; i++) {
            double x[3] = {1, s->x[2 * i], s->x[2 * i + 1]}, z = pv_logit(pi) - pv_logit(0.02), variance = 0;
            for (int j = 0; j < 3; j++)
                for (int l = 0; l < 3; l++)
                    variance += x[j] * x[l] * c->spread[3 * j + l];
            for (int j = 0; j < 3; j++)
                z += x[j] * c->centre[j];
            double lo = fmin(made->p[2 * i + 1], pv_sigmoid(z - t * sqrt(variance)));
            double hi = fmax(made->p[2 * i + 1], pv_sigmoid(z + t * sqrt(variance)));
            CHECK_NEAR(made->lo[2 * i + 1], lo, 1e-12);
            CHECK_NEAR(made->hi[2 * i + 1], hi, 1e-12);
            CHECK_NEAR(made->lo[2 * i], 1 - hi, 1e-12);
        }
        pv_prediction_free(own, made);
    }
    pv_classifier_free(own, c);
    sample_free(own, s);
    pv_ctx_free(own);
}

/* Without a prior and with R's definitions, the weighted estimate equals iw, with the same errors. */
static void the_weighted_estimate_is_iw(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2);
    sample *s = bent(own);
    pv_fit_options one = options_of("1", PV_MATCH_NONE, PV_INFER_ML),
                   iw = options_of("auto", PV_MATCH_NONE, PV_INFER_ML);
    iw.loss = PV_LOSS_IW;
    one.errors = iw.errors = PV_ERRORS_HC0;
    one.tolerance = iw.tolerance = 1e-11;
    pv_classifier *c = fit_sample(own, s, &one), *d = fit_sample(own, s, &iw);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(c->w[i], d->w[i], 1e-7);
        CHECK_NEAR(c->standard_error[i], d->standard_error[i], 1e-8);
    }
    pv_classifier_free(own, c);
    pv_classifier_free(own, d);
    sample_free(own, s);
    pv_ctx_free(own);
}

enum { DRAWS = 2000 };

static void draws_move_with_the_maximum(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2);
    sample *s = bent(own);
    pv_fit_options none = options_of("auto", PV_MATCH_NONE, PV_INFER_LAPLACE),
                   full = options_of("auto", PV_MATCH_FULL, PV_INFER_LAPLACE);
    none.draws = full.draws = DRAWS;
    pv_classifier *c = fit_sample(own, s, &none), *d = fit_sample(own, s, &full);
    double by = d->w[0] - c->w[0];
    assert_true(by > 0.05);
    assert_true(fabs(weighted_mean(own, s, d) / 0.02 - 1) < 1e-9);
    for (size_t i = 0; i < DRAWS; i++) {
        CHECK_NEAR(d->posterior->draws[3 * i] - c->posterior->draws[3 * i], by, 1e-12);
        assert_memory_equal(d->posterior->draws + 3 * i + 1, c->posterior->draws + 3 * i + 1, 2 * sizeof by);
    }
    assert_memory_equal(c->draw_log_marginal, d->draw_log_marginal, 2 * DRAWS * sizeof by);
    pv_classifier_free(own, c);
    pv_classifier_free(own, d);
    sample_free(own, s);
    pv_ctx_free(own);
}

/* If p(y|w) is the mean itself, it moves too, at the maximum and at each draw. */
static void marginals_move_where_they_are_the_mean(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2);
    sample *s = bent(own);
    pv_fit_options options = options_of("auto", PV_MATCH_FULL, PV_INFER_LAPLACE);
    options.loss = PV_LOSS_IW;
    options.intercept_prior = "normal:0.1"; /* pulls it away */
    options.draws = 100;
    pv_classifier *c = fit_sample(own, s, &options);
    assert_true(fabs(exp(c->log_marginal[1]) / 0.02 - 1) < 1e-9);
    memcpy(c->w, c->posterior->draws + 3 * 17, 3 * sizeof *c->w);
    assert_true(fabs(exp(c->draw_log_marginal[2 * 17 + 1]) / weighted_mean(own, s, c) - 1) < 1e-9);
    pv_classifier_free(own, c);
    sample_free(own, s);
    pv_ctx_free(own);
}

/* A column of two values saturates the model: profile and iw cannot differ. */
static void a_saturated_model_has_nothing_to_test(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(1);
    sample *s = bent(own);
    static const char *const labels[] = {"no", "yes"};
    pv_schema *schema;
    CHECK_OK(own, pv_schema_new(own, "y", labels, 2, NULL, 1, &schema));
    for (size_t i = 0; i < s->data.rows; i++)
        s->x[i] = s->x[2 * i] > 0.3;
    s->data.features = 1;
    pv_fit_options options = options_of("auto", PV_MATCH_NONE, PV_INFER_ML);
    pv_classifier *c;
    CHECK_OK(own, pv_fit(own, schema, &s->data, &options, &c));
    assert_int_equal(c->combination->rank, 0);
    assert_true(c->combination->p_value == 1);
    pv_classifier_free(own, c);
    pv_schema_free(own, schema);
    sample_free(own, s);
    pv_ctx_free(own);
}

/* A copy of the label has a moderate coefficient under the default prior but is still detected. */
static void separation_is_seen_under_a_prior(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(1);
    sample *s = straight(own);
    pv_fit_options options = options_of("auto", PV_MATCH_NONE, PV_INFER_MAP);
    for (int together = 0; together < 2; together++) {
        for (size_t i = 0; i < s->data.rows; i++) {
            double own_side = s->label[i] ? 0.5 : -0.5;
            s->x[2 * i + 1] = together ? own_side - s->x[2 * i] : own_side;
        }
        pv_classifier *c = fit_sample(own, s, &options);
        pv_diagnosis *found;
        CHECK_OK(own, pv_diagnose(own, c, &(pv_diagnose_options){.fit = &options}, &found));
        assert_int_equal(c->separated, together ? PV_SEPARATED_TOGETHER : 2);
        bool seen = false;
        for (size_t i = 0; i < found->count; i++)
            seen |= strcmp(found->check[i].name, "separation") == 0 && !found->check[i].ok;
        assert_true(seen);
        pv_diagnosis_free(own, found);
        pv_classifier_free(own, c);
    }
    sample_free(own, s);
    pv_ctx_free(own);
}

/* ---- interruption ------------------------------------------------------------------------------------------------ */

/* Matching can be interrupted: rows may be many, and it makes many passes. */
static void matching_stops_when_asked(void **state) {
    (void)state;
    enum { N = 1000, K = 6 };
    pv_ctx *own = check_ctx(1);
    double *logits = calloc((size_t)N * (K + 1), sizeof *logits), *a = logits + (size_t)N * K, b[K], shift[K];
    assert_non_null(logits);
    for (size_t i = 0; i < N; i++) {
        a[i] = 1;
        for (size_t y = 0; y < K; y++)
            logits[i * K + y] = (double)((i * (y + 3)) % 97) - 40 * (double)y;
    }
    for (size_t y = 0; y < K; y++)
        b[y] = N * pow(0.01, (double)y) / 1.010101;
    const pv__problem rows = {.rows = {.n = N}, .design = &one_stratum, .targets = {.n = N, .classes = K}};
    looks l;
    looks_begin(&l, own, 2); /* the first call is before it begins, where a stopped fit is left as it is */
    pv_status status = pv__match_shift(own, &rows, logits, a, b, shift);
    looks_end(&l);
    assert_int_equal(status, PV_ERR_INTERRUPTED);
    free(logits);
    pv_ctx_free(own);
}

/* Interrupted at ever later points, until it completes: a fit is complete, marked as interrupted, or absent. */
static void stop_anywhere(pv_inference infer) {
    pv_ctx *own = check_ctx(1);
    sample *s = bent(own);
    pv_fit_options options = options_of("auto", PV_MATCH_FULL, infer);
    bool whole = false;
    int stopped = 0;
    for (int64_t look = 1; !whole; look += 1 + look / 8) {
        looks l;
        looks_begin(&l, own, look);
        pv_classifier *c = NULL;
        pv_status status = pv_fit(own, s->schema, &s->data, &options, &c);
        looks_end(&l);
        assert_true(status == PV_OK || status == PV_ERR_INTERRUPTED);
        whole = status == PV_OK && c->stop != PV_STOP_INTERRUPTED;
        assert_true(whole || l.seen >= look);
        if (whole)
            assert_true(c->combination && c->reference && c->spread && !c->posterior);
        pv_classifier_free(own, c);
        stopped += !whole;
    }
    assert_true(stopped > 10);
    sample_free(own, s);
    pv_ctx_free(own);
}

static void a_fit_stops_anywhere(void **state) {
    (void)state;
    stop_anywhere(PV_INFER_MAP);
    stop_anywhere(PV_INFER_ROBUST);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_right_model_keeps_the_efficient_estimate),
                                       cmocka_unit_test(a_wrong_model_is_weighted),
                                       cmocka_unit_test(the_same_people_give_the_same_fit),
                                       cmocka_unit_test(risks_have_intervals),
                                       cmocka_unit_test(the_weighted_estimate_is_iw),
                                       cmocka_unit_test(draws_move_with_the_maximum),
                                       cmocka_unit_test(marginals_move_where_they_are_the_mean),
                                       cmocka_unit_test(a_saturated_model_has_nothing_to_test),
                                       cmocka_unit_test(separation_is_seen_under_a_prior),
                                       cmocka_unit_test(matching_stops_when_asked),
                                       cmocka_unit_test(a_fit_stops_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
