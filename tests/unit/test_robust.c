/* Models that may be wrong: the check, the choice between profile and iw, matched biases, what draws do. */
#include <pthread.h>
#include <time.h>

#include "infer/infer.h"
#include "problem.h"

enum { EACH = 1500 };

/* As many cases as controls of a population of log odds a + x1 - x2/2 + square x1^2, prevalence 0.02. */
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

static pv_fit_options options_of(const char *robust, pv_match match, pv_inference infer) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "yes=0.02";
    options.robust = robust;
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

static void a_straight_line_is_left_alone(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2);
    sample *s = straight(own);
    pv_fit_options usual = options_of("auto", PV_MATCH_NONE, PV_INFER_MAP),
                   none = options_of("0", PV_MATCH_NONE, PV_INFER_MAP);
    pv_classifier *c = fit_sample(own, s, &usual), *d = fit_sample(own, s, &none);
    assert_true(c->agreement->p_value > 0.05 && !c->agreement->chosen);
    assert_int_equal(c->agreement->df, 3);
    assert_true(c->agreement->exponent == 0);
    assert_memory_equal(c->w, d->w, 3 * sizeof *c->w);
    assert_true(c->agreement->shift[1] == 0);
    pv_classifier_free(own, c);
    pv_classifier_free(own, d);
    sample_free(own, s);
    pv_ctx_free(own);
}

static void a_bent_one_is_seen_and_mended(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2), *single = check_ctx(1);
    sample *s = bent(own);
    pv_fit_options usual = options_of("auto", PV_MATCH_AUTO, PV_INFER_MAP),
                   profile = options_of("0", PV_MATCH_NONE, PV_INFER_MAP);
    pv_classifier *c = fit_sample(own, s, &usual), *d = fit_sample(own, s, &profile);
    assert_true(d->agreement->p_value < 1e-6 && d->agreement->z[1] < -4);
    assert_true(fabs(weighted_mean(own, s, d) / d->agreement->mean[1] - 1) < 1e-9);
    assert_true(d->agreement->mean[1] < 0.019);
    assert_true(c->agreement->chosen && c->agreement->exponent > 0);
    assert_true(fabs(weighted_mean(own, s, c) / 0.02 - 1) < 1e-9);
    assert_true(fabs(exp(c->log_marginal[1]) / 0.02 - 1) < 1e-9);
    /* Neither threads nor the seed have a say. */
    usual.seed = 77;
    pv_classifier *e = fit_sample(single, s, &usual);
    assert_memory_equal(c->w, e->w, 3 * sizeof *c->w);
    pv_classifier_free(single, e);
    pv_classifier_free(own, c);
    pv_classifier_free(own, d);
    sample_free(own, s);
    pv_ctx_free(own);
    pv_ctx_free(single);
}

/* Exponent 1 without a prior is iw, exponent 0 profile. */
static void the_ends_are_profile_and_iw(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2);
    sample *s = bent(own);
    pv_fit_options one = options_of("1", PV_MATCH_NONE, PV_INFER_ML),
                   iw = options_of("auto", PV_MATCH_AUTO, PV_INFER_ML);
    iw.loss = PV_LOSS_IW;
    one.tolerance = iw.tolerance = 1e-11;
    pv_classifier *c = fit_sample(own, s, &one), *d = fit_sample(own, s, &iw);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(c->w[i] - d->w[i]) < 1e-7);
    assert_null(d->agreement);
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
    double by = d->agreement->shift[1];
    assert_true(d->agreement->exponent == 0 && by > 0.05);
    assert_true(fabs(weighted_mean(own, s, d) / 0.02 - 1) < 1e-9);
    double sum = 0, square = 0, error = by / fabs(d->agreement->z[1]);
    for (size_t i = 0; i < DRAWS; i++) {
        double moved = d->posterior->draws[3 * i] - c->posterior->draws[3 * i];
        sum += moved / DRAWS;
        square += (moved - by) * (moved - by) / DRAWS;
        assert_memory_equal(d->posterior->draws + 3 * i + 1, c->posterior->draws + 3 * i + 1, 2 * sizeof by);
    }
    CHECK_NEAR(sum, by, 0.1 * error);
    CHECK_NEAR(sqrt(square), error, 0.07 * error);
    assert_memory_equal(c->draw_log_marginal, d->draw_log_marginal, 2 * DRAWS * sizeof by);
    pv_classifier_free(own, c);
    pv_classifier_free(own, d);
    sample_free(own, s);
    pv_ctx_free(own);
}

/* Where p(y|w) is the mean itself, it moves too, at the maximum and at each draw. */
static void marginals_move_where_they_are_the_mean(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(2);
    sample *s = bent(own);
    pv_fit_options options = options_of("auto", PV_MATCH_FULL, PV_INFER_LAPLACE);
    options.loss = PV_LOSS_IW;
    options.intercept_prior = "normal:0.1"; /* which pulls it away */
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
    pv_fit_options options = options_of("auto", PV_MATCH_SHRUNK, PV_INFER_ML);
    pv_classifier *c;
    CHECK_OK(own, pv_fit(own, schema, &s->data, &options, &c));
    assert_int_equal(c->agreement->df, 0);
    assert_true(c->agreement->z[0] == 0 && c->agreement->z[1] == 0 && c->agreement->shift[1] == 0);
    assert_true(c->agreement->p_value == 1 && !c->agreement->chosen);
    pv_classifier_free(own, c);
    pv_schema_free(own, schema);
    sample_free(own, s);
    pv_ctx_free(own);
}

/* The label's copy has a modest coefficient under the default prior; it is seen all the same. */
static void separation_is_seen_under_a_prior(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(1);
    sample *s = straight(own);
    pv_fit_options options = options_of("auto", PV_MATCH_AUTO, PV_INFER_MAP);
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

/* ---- interruptions ----------------------------------------------------------------------------------------------- */

typedef struct alarm_clock {
    pv_ctx *ctx;
    long nanoseconds;
    pthread_t thread;
} alarm_clock;

static void *interrupt_later(void *state) {
    const alarm_clock *clock = state;
    nanosleep(&(struct timespec){0, clock->nanoseconds}, NULL);
    pv_ctx_interrupt(clock->ctx);
    return NULL;
}

/* Matching ends with the interruption: it has a million rows to go through many times. */
static void matching_stops_when_asked(void **state) {
    (void)state;
    enum { N = 1 << 20, K = 6 };
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
    const pv__problem rows = {.n = N, .targets = {.n = N, .classes = K}};
    pv_status status = PV_OK;
    for (int i = 0; i < 20 && status == PV_OK; i++) { /* on a busy machine the clock may come too late */
        alarm_clock clock = {.ctx = own, .nanoseconds = 1000000};
        assert_int_equal(pthread_create(&clock.thread, NULL, interrupt_later, &clock), 0);
        status = pv__match_shift(own, &rows, logits, a, b, shift);
        pthread_join(clock.thread, NULL);
        pv_ctx_clear_interrupt(own);
    }
    assert_int_equal(status, PV_ERR_INTERRUPTED);
    free(logits);
    pv_ctx_free(own);
}

/* Interrupted ever later, until it is not: a fit is whole, says that it was stopped, or has nothing to show. */
static void stop_anywhere(pv_inference infer) {
    pv_ctx *own = check_ctx(1);
    sample *s = bent(own);
    pv_fit_options options = options_of("auto", PV_MATCH_FULL, infer);
    size_t stopped = 0;
    for (long delay = 0;; delay += 50000 + delay / 3) {
        if (delay == 0) /* before it begins */
            pv_ctx_interrupt(own);
        alarm_clock clock = {.ctx = own, .nanoseconds = delay < 999999999 ? delay : 999999999};
        assert_int_equal(pthread_create(&clock.thread, NULL, interrupt_later, &clock), 0);
        pv_classifier *c = NULL;
        pv_status status = pv_fit(own, s->schema, &s->data, &options, &c);
        bool whole = status == PV_OK && c->stop != PV_STOP_INTERRUPTED;
        assert_true(status == PV_OK || status == PV_ERR_INTERRUPTED);
        if (whole)
            assert_true(c->agreement && c->reference && !c->posterior == (infer == PV_INFER_MAP));
        pthread_join(clock.thread, NULL);
        pv_ctx_clear_interrupt(own);
        pv_classifier_free(own, c);
        stopped += !whole;
        if (whole)
            break;
    }
    assert_true(stopped > 0);
    sample_free(own, s);
    pv_ctx_free(own);
}

static void a_fit_stops_anywhere(void **state) {
    (void)state;
    stop_anywhere(PV_INFER_MAP);
    stop_anywhere(PV_INFER_ROBUST);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_straight_line_is_left_alone),
                                       cmocka_unit_test(a_bent_one_is_seen_and_mended),
                                       cmocka_unit_test(the_ends_are_profile_and_iw),
                                       cmocka_unit_test(draws_move_with_the_maximum),
                                       cmocka_unit_test(marginals_move_where_they_are_the_mean),
                                       cmocka_unit_test(a_saturated_model_has_nothing_to_test),
                                       cmocka_unit_test(separation_is_seen_under_a_prior),
                                       cmocka_unit_test(matching_stops_when_asked),
                                       cmocka_unit_test(a_fit_stops_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
