/* Log, progress and poll: levels, the calling thread, and interruption by each. */
#include <pthread.h>

#include "base/base.h"
#include "fixture.h"

typedef struct ear {
    pthread_t thread; /* the only thread that may be called on */
    int elsewhere;    /* calls on other threads */
    int said[3], steps, asked;
    int stop_at; /* the poll call that requests a stop; 0: none */
    size_t last;
} ear;

static void note_thread(ear *e) {
    e->elsewhere += !pthread_equal(e->thread, pthread_self());
}

static void hear(void *state, pv_log_level level, const char *message) {
    ear *e = state;
    note_thread(e);
    assert_non_null(message);
    e->said[level - PV_LOG_DEBUG]++;
}

static void watch(void *state, const pv_progress *progress) {
    ear *e = state;
    note_thread(e);
    e->steps++;
    e->last = progress->step;
}

static bool ask(void *state) {
    ear *e = state;
    note_thread(e);
    return ++e->asked == e->stop_at;
}

static pv_ctx *with(ear *e, int threads, pv_log_level level) {
    pv_ctx *own;
    assert_int_equal(pv_ctx_new(NULL, &own), PV_OK);
    e->thread = pthread_self();
    pv_ctx_set_threads(own, threads);
    pv_ctx_set_log(own, hear, e, level);
    pv_ctx_set_progress(own, watch, e);
    pv_ctx_set_poll(own, ask, e);
    return own;
}

static void levels(void **state) {
    (void)state;
    for (int level = PV_LOG_DEBUG; level <= PV_LOG_WARNING; level++) {
        ear e = {0};
        pv_ctx *own = with(&e, 1, (pv_log_level)level);
        for (int said = PV_LOG_DEBUG; said <= PV_LOG_WARNING; said++)
            pv__log(own, (pv_log_level)said, "at %d", said);
        for (int said = PV_LOG_DEBUG; said <= PV_LOG_WARNING; said++)
            assert_int_equal(e.said[said - PV_LOG_DEBUG], said >= level);
        pv_ctx_free(own);
    }
    ear e = {.thread = pthread_self()};
    pv_ctx_options options = {.log = hear,
                              .state = &e}; /* everything else is zero, so debug messages are not passed on */
    pv_ctx *own;
    assert_int_equal(pv_ctx_new(&options, &own), PV_OK);
    pv__log(own, PV_LOG_DEBUG, "not told");
    pv__log(own, PV_LOG_INFO, "told");
    assert_int_equal(e.said[0], 0);
    assert_int_equal(e.said[1], 1);
    pv_ctx_free(own);
}

/* ---- jobs on several threads ------------------------------------------------------------------------------------- */

static pv_status job(pv_ctx *own, void *state, size_t index) {
    (void)state;
    pv__log(own, PV_LOG_WARNING, "job %zu", index);
    pv__log(own, PV_LOG_DEBUG, "job %zu, looked into", index);
    for (int i = 0; i < 50 && !pv__interrupted(own); i++) {
        pv__progress(own, &(pv_progress){.what = "job", .step = (size_t)i, .steps = 50});
        usleep(200);
    }
    return pv__interrupted(own) ? PV_ERR_INTERRUPTED : PV_OK;
}

enum { JOBS = 12 };

static void only_the_caller_hears(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        ear e = {0};
        size_t finished;
        pv_ctx *own = with(&e, threads, PV_LOG_DEBUG);
        CHECK_OK(own, pv_jobs_run(own, "jobs", JOBS, true, job, NULL, &finished));
        assert_int_equal(e.elsewhere, 0);
        assert_int_equal(e.said[0], JOBS);
        assert_int_equal(e.said[2], JOBS);
        assert_true(e.steps >= 1 && e.last == JOBS); /* the end is reported, whichever job was last */
        assert_true(e.asked >= 1);
        pv_ctx_free(own);
    }
}

static void a_yes_stops_jobs(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        ear e = {.stop_at = 1};
        size_t finished;
        pv_ctx *own = with(&e, threads, PV_LOG_INFO);
        assert_int_equal(pv_jobs_run(own, "jobs", JOBS, true, job, NULL, &finished), PV_ERR_INTERRUPTED);
        assert_true(finished < JOBS);
        assert_int_equal(e.asked, 1); /* not called again after requesting a stop */
        assert_int_equal(e.elsewhere, 0);
        assert_true(pv_ctx_interrupted(own));
        pv_ctx_free(own);
    }
}

/* ---- a fit ------------------------------------------------------------------------------------------------------- */

static pv_stop fit(pv_ctx *own, const char *batch) {
    pv_table *table = read_text("x,y\n1,0\n2,1\n3,0\n4,1\n2.5,1\n1.5,0\n3.5,1\n4.5,0\n");
    pv_roles roles = {.target = "y"};
    pv_schema *schema;
    pv_dataset *data;
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    options.batch = batch;
    pv_classifier *made;
    CHECK_OK(own, pv_fit(own, schema, data, &options, &made));
    pv_stop stop = made->stop;
    pv_classifier_free(own, made);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    return stop;
}

static void a_yes_stops_a_fit(void **state) {
    (void)state;
    static const char *const batches[] = {"full", "4"};
    for (size_t i = 0; i < 2; i++) {
        ear e = {.stop_at = 1}, patient = {0};
        pv_ctx *own = with(&e, 1, PV_LOG_DEBUG);
        assert_int_equal(fit(own, batches[i]), PV_STOP_INTERRUPTED);
        pv_ctx_free(own);
        own = with(&patient, 1, PV_LOG_DEBUG);
        pv_stop stop = fit(own, batches[i]);
        assert_true(stop == PV_STOP_CONVERGED || stop == PV_STOP_COMPLETED);
        assert_true(patient.said[0] > 0 && patient.asked > 0);
        assert_true(patient.steps > 0 || i == 1); /* training reports by the clock */
        assert_int_equal(patient.elsewhere, 0);
        pv_ctx_free(own);
    }
}

/* Uses a context on another thread, where callbacks must not be called. */
static void *elsewhere(void *own) {
    pv__progress(own, &(pv_progress){.what = "elsewhere"});
    assert_false(pv_ctx_interrupted(own));
    return NULL;
}

static void asked_at_home_alone(void **state) {
    (void)state;
    ear e = {.stop_at = 1};
    pv_ctx *own = with(&e, 1, PV_LOG_INFO);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, elsewhere, own), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(e.asked, 0);
    assert_true(pv_ctx_interrupted(own));
    assert_int_equal(e.asked, 1);
    pv_ctx_free(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels), cmocka_unit_test(only_the_caller_hears),
                                       cmocka_unit_test(a_yes_stops_jobs), cmocka_unit_test(a_yes_stops_a_fit),
                                       cmocka_unit_test(asked_at_home_alone)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
