/* Jobs with a checkpoint: each runs once, and its outcome and messages are restored, wherever it was interrupted. */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/base.h"
#include "fixture.h"

static char made[] = "/tmp/prevail-jobs-XXXXXX";
static char kept_at[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(kept_at, sizeof kept_at, "%s/ck", mkdtemp(made));
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(kept_at);
    return rmdir(made);
}

/* ---- work: each job computes a square and logs messages -------------------------------------------------------------
 */

enum { JOBS = 6 };

typedef struct work {
    double square[JOBS], first[2];
    int done[JOBS];
    size_t stop_at; /* the job that interrupts all; JOBS: none */
    pv_ctx *parent;
} work;

static pv_status square(pv_ctx *own, void *state, size_t index) {
    work *w = state;
    w->done[index]++;
    pv__log(own, PV_LOG_WARNING, "even or odd: %zu", index % 2);
    if (index == 3) {
        pv__log(own, PV_LOG_INFO, "three");
        pv__log(own, PV_LOG_WARNING, "%s", ""); /* an empty message counts too */
    }
    double half = 7; /* intermediate state, deleted when the job is done */
    pv_status status = pv_checkpoint_keep(own, "half", &(pv_field){&half, sizeof half}, 1);
    if (status != PV_OK)
        return status;
    w->square[index] = (double)(index * index);
    if (index == 0)
        w->first[0] = w->first[1] = 0.5;
    if (index == w->stop_at) {
        pv_ctx_interrupt(w->parent);
        pv_ctx_interrupt(own);
        if (index % 2) /* an interrupted job may have any status */
            return pv__fail(own, PV_ERR_USAGE, "no posterior, so no intervals");
    }
    return PV_OK;
}

static size_t outcome(void *state, size_t index, pv_field *field) {
    work *w = state;
    field[0] = (pv_field){&w->square[index], sizeof *w->square};
    field[1] = (pv_field){w->first, index == 0 ? sizeof w->first : 0};
    return 2;
}

static bool sound(const void *state, size_t index) {
    const work *w = state;
    return isfinite(w->square[index]) && w->square[index] >= 0;
}

static char heard[512];

static void hear(void *state, pv_log_level level, const char *message) {
    (void)state;
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof heard - used, "%d %s;", (int)level, message);
}

static pv_ctx *hearing_ctx(int threads) {
    pv_ctx_options options = pv_ctx_options_default();
    options.threads = threads;
    options.log = hear;
    pv_ctx *own;
    assert_int_equal(pv_ctx_new(&options, &own), PV_OK);
    heard[0] = '\0';
    return own;
}

static void check_outcome(const work *w) {
    for (size_t i = 0; i < JOBS; i++)
        assert_true(w->square[i] == (double)(i * i));
    assert_true(w->first[0] == 0.5 && w->first[1] == 0.5);
    assert_string_equal(heard, "1 even or odd: 0;1 even or odd: 1;0 three;1 ;");
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void without_a_checkpoint(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        pv_ctx *own = hearing_ctx(threads);
        work w = {.stop_at = JOBS};
        size_t finished;
        CHECK_OK(own, pv_jobs_run_kept(own, "squares", JOBS, true, square, outcome, sound, &w, &finished));
        assert_int_equal(finished, JOBS);
        check_outcome(&w);
        pv_ctx_free(own);
    }
}

/* Interrupted in each job, written, and continued by another process. */
static void done_once(void **state) {
    (void)state;
    for (size_t stop_at = 0; stop_at < JOBS; stop_at++) {
        pv_ctx *own = hearing_ctx(1);
        work before = {.stop_at = stop_at, .parent = own}, after = {.stop_at = JOBS};
        size_t finished;
        CHECK_OK(own, pv_checkpoint_open(own, kept_at, 1e9, false));
        assert_int_equal(pv_jobs_run_kept(own, "squares", JOBS, true, square, outcome, sound, &before, &finished),
                         PV_ERR_INTERRUPTED);
        assert_int_equal(finished, stop_at); /* the job itself does not count, because it may have been cut short */
        CHECK_OK(own, pv_checkpoint_write(own));
        pv_ctx_free(own);

        own = hearing_ctx(2);
        CHECK_OK(own, pv_checkpoint_open(own, kept_at, 1e9, true));
        size_t entered = pv_checkpoint_enter(own, "squares", stop_at);
        assert_int_equal(pv_checkpoint_size(own, "half"), sizeof(double));
        assert_int_equal(pv_checkpoint_size(own, "job"), 0);
        pv_checkpoint_leave(own, entered);
        CHECK_OK(own, pv_jobs_run_kept(own, "squares", JOBS, true, square, outcome, sound, &after, &finished));
        assert_int_equal(finished, JOBS);
        for (size_t i = 0; i < JOBS; i++) {
            assert_int_equal(after.done[i], i < stop_at ? 0 : 1);
            entered = pv_checkpoint_enter(own, "squares", i);
            assert_int_equal(pv_checkpoint_size(own, "half"), 0);
            pv_checkpoint_leave(own, entered);
        }
        check_outcome(&after);
        CHECK_OK(own, pv_checkpoint_finish(own));
        pv_ctx_free(own);
    }
}

/* A job's entry is checked for size and form. */
static void refuses_other_entries(void **state) {
    (void)state;
    static const struct {
        char words[8];
        size_t size;
        const char *text;
    } wrong[] = {{"", 0, "has the wrong size"}, {"1a", 2, "the result of a job"}, {"7a", 3, "the result of a job"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pv_ctx *own = hearing_ctx(1);
        work w = {.stop_at = JOBS};
        size_t finished;
        char said[8];
        memcpy(said, wrong[i].words, sizeof said);
        CHECK_OK(own, pv_checkpoint_open(own, kept_at, 1e9, false));
        size_t entered = pv_checkpoint_enter(own, "squares", 1);
        CHECK_OK(own, pv_checkpoint_keep(
                          own, "job",
                          (pv_field[]){{w.square, wrong[i].size ? sizeof(double) : 4}, {said, wrong[i].size}}, 2));
        pv_checkpoint_leave(own, entered);
        assert_int_equal(pv_jobs_run_kept(own, "squares", JOBS, true, square, outcome, sound, &w, &finished),
                         PV_ERR_FORMAT);
        assert_non_null(strstr(pv_ctx_error(own)->message, wrong[i].text));
        pv_ctx_free(own);
    }
}

/* Bytes of the right size that no job produces. */
static void refuses_unsound_outcomes(void **state) {
    (void)state;
    double wrong[] = {(double)NAN, (double)INFINITY, -1, 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pv_ctx *own = hearing_ctx(2);
        work w = {.stop_at = JOBS};
        size_t finished;
        CHECK_OK(own, pv_checkpoint_open(own, kept_at, 1e9, false));
        size_t entered = pv_checkpoint_enter(own, "squares", 1);
        CHECK_OK(own, pv_checkpoint_keep(own, "job", &(pv_field){&wrong[i], sizeof wrong[i]}, 1));
        pv_checkpoint_leave(own, entered);
        pv_status status = pv_jobs_run_kept(own, "squares", JOBS, true, square, outcome, sound, &w, &finished);
        assert_int_equal(status, wrong[i] == 1 ? PV_OK : PV_ERR_FORMAT);
        if (status != PV_OK)
            assert_non_null(strstr(pv_ctx_error(own)->message, "an impossible result"));
        pv_ctx_free(own);
    }
}

/* ---- fits in jobs: an interruption also interrupts them, keeping their state ----------------------------------------
 */

typedef struct training {
    pv_dataset *data;
    pv_schema *schema;
    pv_fit_options options;
} training;

static pv_status fit_without_end(pv_ctx *own, void *state, size_t index) {
    (void)index;
    const training *t = state;
    pv_classifier *fit = NULL;
    pv_status status = pv_fit(own, t->schema, t->data, &t->options, &fit);
    pv_classifier_free(own, fit);
    return status;
}

static pv_ctx *interrupted_ctx;

static void on_alarm(int number) {
    (void)number;
    pv_ctx_interrupt(interrupted_ctx);
}

static void fits_keep_what_they_have(void **state) {
    (void)state;
    static const char *const keys[] = {"minibatch", "vi", "hmc/0"};
    const struct itimerval soon = {.it_value = {.tv_usec = 300000}};
    signal(SIGALRM, on_alarm);
    for (size_t i = 0; i < 3; i++) {
        pv_ctx *own = interrupted_ctx = check_ctx(2);
        pv_simulation what = {.cases = 60, .controls = 60, .prevalence = 0.1, .seed = 1};
        pv_roles roles = {.target = "malignant"};
        pv_table *table;
        training t = {.options = pv_fit_options_default()};
        size_t finished;
        CHECK_OK(own, pv_simulate(own, "nodules", &what, &table, NULL));
        CHECK_OK(own, pv_schema_learn(own, table, &roles, &t.schema, &t.data));
        t.options.prevalence = "0.1";
        t.options.infer = i == 1 ? PV_INFER_VI : i == 2 ? PV_INFER_HMC : t.options.infer;
        t.options.epochs = t.options.steps = t.options.warmup = 100000000; /* each fit uses one of them */
        if (i == 0)
            t.options.batch = "20";
        CHECK_OK(own, pv_checkpoint_open(own, kept_at, 1e9, true));
        setitimer(ITIMER_REAL, &soon, NULL);
        assert_int_equal(pv_jobs_run(own, "fits", 2, true, fit_without_end, &t, &finished), PV_ERR_INTERRUPTED);
        for (size_t job = 0; job < 2; job++) {
            size_t entered = pv_checkpoint_enter(own, "fits", job);
            assert_true(pv_checkpoint_size(own, keys[i]) > 0);
            pv_checkpoint_leave(own, entered);
        }
        pv_checkpoint_close(own);
        pv_dataset_free(own, t.data);
        pv_schema_free(own, t.schema);
        pv_table_free(own, table);
        pv_ctx_free(own);
    }
    signal(SIGALRM, SIG_DFL);
}

static pv_status twice(pv_ctx *poor) {
    size_t finished;
    pv_status status = pv_checkpoint_open(poor, kept_at, 1e9, true);
    for (int i = 0; i < 2 && status == PV_OK; i++) {
        work w = {.stop_at = JOBS};
        status = pv_jobs_run_kept(poor, "squares", JOBS, false, square, outcome, sound, &w, &finished);
    }
    pv_checkpoint_close(poor);
    return status;
}

static void survives_no_memory(void **state) {
    (void)state;
    sweep_memory(twice);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_checkpoint),  cmocka_unit_test(done_once),
        cmocka_unit_test(refuses_other_entries), cmocka_unit_test(refuses_unsound_outcomes),
        cmocka_unit_test(survives_no_memory),    cmocka_unit_test(fits_keep_what_they_have)};
    return cmocka_run_group_tests_name("jobs", tests, make_folder, remove_folder);
}
