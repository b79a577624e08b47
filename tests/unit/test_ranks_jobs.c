/* Jobs shared by several ranks, simulated by threads: each runs once, all ranks have every outcome, errors are the same
 * for all, and another number of ranks can continue from a checkpoint. */
#include <unistd.h>

#include "base/base.h"
#include "ranks.h"

enum { JOBS = 11, HEARD = 1024 };

static char folder[] = "/tmp/prevail-ranks-XXXXXX", kept_at[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(kept_at, sizeof kept_at, "%s/ck", mkdtemp(folder));
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(kept_at);
    return rmdir(folder);
}

/* A rank and its copy of the work. */
typedef struct work {
    member who;
    int threads;
    size_t fails[2], stops; /* jobs that fail, and one that interrupts its rank; JOBS: none */
    bool checkpoint, resume;
    double square[JOBS];
    int ran[JOBS];
    pv_ctx *ctx;
    size_t finished;
    pv_status status, ended;
    char message[512], heard[HEARD];
} work;

static void hear(void *state, pv_log_level level, const char *message) {
    work *w = state;
    size_t used = strlen(w->heard);
    (void)level;
    snprintf(w->heard + used, sizeof w->heard - used, "%s;", message);
}

static pv_status square(pv_ctx *own, void *state, size_t index) {
    work *w = state;
    double half = (double)index;
    w->ran[index]++;
    pv__log(own, PV_LOG_WARNING, "remainder %zu", index % 4);
    pv_status status = pv_checkpoint_keep(own, "half", &(pv_field){&half, sizeof half}, 1);
    if (status != PV_OK)
        return status;
    if (index == w->fails[0] || index == w->fails[1])
        return pv__fail_at(own, PV_ERR_INPUT, "file.csv", index, 0, "job %zu", index);
    if (index == w->stops) {
        pv_ctx_interrupt(w->ctx);
        pv_ctx_interrupt(own);
    }
    w->square[index] = (double)(index * index);
    return PV_OK;
}

static size_t outcome(void *state, size_t index, pv_field *field) {
    work *w = state;
    field[0] = (pv_field){&w->square[index], sizeof *w->square};
    return 1;
}

static bool sound(const void *state, size_t index) {
    const work *w = state;
    return w->square[index] >= 0;
}

static void *run(void *state) {
    work *w = state;
    pv_ctx_options options = pv_ctx_options_default();
    options.threads = w->threads;
    options.log = hear;
    options.state = w;
    assert_int_equal(pv_ctx_new(&options, &w->ctx), PV_OK);
    pv_ranks ranks = {.rank = w->who.rank, .size = w->who.all->size, .state = &w->who, .gather = gather};
    w->status = pv_ctx_set_ranks(w->ctx, &ranks);
    if (w->status == PV_OK && w->checkpoint)
        w->status = pv_checkpoint_open(w->ctx, kept_at, 0, w->resume);
    if (w->status == PV_OK)
        w->status = pv_jobs_run_kept(w->ctx, "squares", JOBS, true, square, outcome, sound, w, &w->finished);
    if (w->status == PV_OK)
        w->status = pv_checkpoint_finish(w->ctx);
    else
        assert_int_equal(pv_checkpoint_write(w->ctx), PV_OK);
    snprintf(w->message, sizeof w->message, "%s", pv_ctx_message(w->ctx));
    w->ended = pv_ranks_end(w->ctx, w->status);
    pv_ctx_free(w->ctx);
    return NULL;
}

static void run_all(int size, work *works, const work *like) {
    cluster all = {.size = size, .left = -1};
    for (int r = 0; r < size; r++) {
        works[r] = *like;
        works[r].who = (member){&all, r};
        works[r].threads = 1 + r % 2;
    }
    cluster_run(&all, run, works, sizeof *works);
    for (int r = 0; r < size; r++)
        works[r].who.all = NULL;
}

static int times(int size, const work *works, size_t job) {
    int ran = 0;
    for (int r = 0; r < size; r++)
        ran += works[r].ran[job];
    return ran;
}

static void all_done(int size, const work *works) {
    for (int r = 0; r < size; r++) {
        if (works[r].status != PV_OK)
            print_error("rank %d of %d: %s\n", r, size, works[r].message);
        assert_int_equal(works[r].status, PV_OK);
        assert_int_equal(works[r].ended, PV_OK);
        assert_int_equal(works[r].finished, JOBS);
        for (size_t i = 0; i < JOBS; i++)
            assert_true(works[r].square[i] == (double)(i * i));
    }
}

static const work plain = {.fails = {JOBS, JOBS}, .stops = JOBS};

static void each_runs_once(void **state) {
    (void)state;
    for (int size = 1; size <= RANKS_MAX; size++) {
        work works[RANKS_MAX];
        run_all(size, works, &plain);
        all_done(size, works);
        for (size_t i = 0; i < JOBS; i++)
            assert_int_equal(times(size, works, i), 1);
        for (int r = 0; r < size; r++)
            assert_string_equal(works[r].heard, "remainder 0;remainder 1;remainder 2;remainder 3;");
    }
}

/* The first failed job is reported to all ranks, with its position. */
static void a_failure_is_everybodys(void **state) {
    (void)state;
    work like = plain, works[RANKS_MAX];
    like.fails[0] = 2;
    like.fails[1] = 1;
    run_all(3, works, &like);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(works[r].status, PV_ERR_INPUT);
        assert_string_equal(works[r].message, "file.csv:1: job 1");
    }
}

/* One rank is interrupted; all stop, and another number of ranks continues. */
static void continued_by_others(void **state) {
    (void)state;
    for (size_t stops = 0; stops < JOBS; stops += 3)
        for (int size = 1; size <= RANKS_MAX; size++) {
            work like = plain, before[RANKS_MAX], after[RANKS_MAX];
            like.checkpoint = true;
            like.stops = stops;
            run_all(size, before, &like);
            assert_int_equal(access(kept_at, F_OK), 0);
            for (int r = 0; r < size; r++)
                assert_int_equal(before[r].status, PV_ERR_INTERRUPTED);
            like.stops = JOBS;
            like.resume = true;
            int others = RANKS_MAX + 1 - size;
            run_all(others, after, &like);
            all_done(others, after);
            size_t again = 0;
            for (size_t i = 0; i < JOBS; i++)
                again += times(size, before, i) > 0 && times(others, after, i) > 0;
            assert_int_equal(again, 1); /* the interrupted job */
            assert_int_not_equal(access(kept_at, F_OK), 0);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_runs_once), cmocka_unit_test(a_failure_is_everybodys),
                                       cmocka_unit_test(continued_by_others)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
