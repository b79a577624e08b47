/* A child of fork, after the parent has used threads: works with one thread, with bit-identical results. OpenMP's
 * threads belong to the parent, so a parallel region in the child would wait for ever; an alarm would end it.
 */
#include <sys/wait.h>

#include "base/base.h"
#include "fixture.h"
#include "problem.h"

enum { EACH = 3000, ALARM = 60 };

typedef struct result {
    double w[64];
    size_t params;
    double p[4 * EACH];
    double folds[2 * 80];
} result;

static void predict(pv_ctx *own, const pv_classifier *c, const pv_dataset *data, double *p) {
    pv_prediction *said;
    CHECK_OK(own, pv_predict(own, c, data, NULL, NULL, &said));
    memcpy(p, said->p, said->rows * (size_t)said->classes * sizeof *p);
    pv_prediction_free(own, said);
}

/* All kinds of parallel regions: chunks of rows, chains, jobs, predictions. */
static void work(pv_ctx *own, const problem *p, const problem *small, result *r) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    options.infer = PV_INFER_LAPLACE;
    options.draws = 100;
    pv_classifier *c = fit(own, p, &options);
    r->params = pv_model_params(c->model);
    assert_true(r->params <= 64);
    memcpy(r->w, c->w, r->params * sizeof *r->w);
    predict(own, c, p->data, r->p);
    pv_classifier_free(own, c);
    options = pv_fit_options_default();
    options.prevalence = "0.02";
    options.infer = PV_INFER_HMC;
    options.chains = 2;
    options.draws = 100;
    options.warmup = 30;
    c = fit(own, small, &options);
    predict(own, c, small->data, r->folds);
    pv_classifier_free(own, c);
}

static pv_status touch(pv_ctx *own, void *state, size_t index) {
    ((int *)state)[index] = pv_ctx_threads(own);
    return PV_OK;
}

static void in_child(pv_ctx *own, const problem *p, const problem *small, const result *wanted) {
    static result got;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(ALARM);
        int seen[4] = {0};
        size_t finished;
        work(own, p, small, &got);
        bool same = got.params == wanted->params && memcmp(got.w, wanted->w, sizeof got.w) == 0 &&
                    memcmp(got.p, wanted->p, sizeof got.p) == 0 &&
                    memcmp(got.folds, wanted->folds, sizeof got.folds) == 0;
        bool ran = pv_jobs_run(own, "jobs", 4, false, touch, seen, &finished) == PV_OK && finished == 4;
        _exit(!same ? 2 : !ran ? 3 : pv_ctx_threads(own) != 1 ? 4 : 0);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
        fail_msg("the child ended with %s %d", WIFEXITED(how) ? "status" : "signal",
                 WIFEXITED(how) ? WEXITSTATUS(how) : WTERMSIG(how));
}

static void child_works(void **state) {
    (void)state;
    static result wanted, again;
    pv_ctx *own = check_ctx(3);
    problem p = nodules(own, EACH, 5), small = nodules(own, 40, 6);
    work(own, &p, &small, &wanted);
    in_child(own, &p, &small, &wanted); /* with the parent's context, and with its own */
    pv_ctx *another = check_ctx(3);
    in_child(another, &p, &small, &wanted);
    assert_int_equal(pv_ctx_threads(own), 3);
    work(own, &p, &small, &again); /* the parent is unaffected */
    assert_memory_equal(&again, &wanted, sizeof wanted);
    pv_ctx_free(another);
    problem_free(own, &small);
    problem_free(own, &p);
    pv_ctx_free(own);
}

/* Images: views are cut on a parallel thread, and the network has teams of its own. */
static void child_fits_images(void **state) {
    (void)state;
    pv_image_options image = {0};
    pv_options_default(pv_image_option_table, &image);
    image.views = 2;
    image.size = 6;
    pv_ctx *own = check_ctx(3);
    problem p = discs(own, &image);
    pv_fit_options options = pv_fit_options_default();
    options.model = "convnet:views=2,size=6,low=4,channels=8,features=8";
    options.prevalence = "0.1";
    options.epochs = 1;
    pv_classifier *c = fit(own, &p, &options);
    size_t size = pv_model_params(c->model) * sizeof *c->w;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(ALARM);
        pv_classifier *other = fit(own, &p, &options);
        _exit(memcmp(other->w, c->w, size) == 0 ? 0 : 2);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    pv_classifier_free(own, c);
    problem_free(own, &p);
    pv_ctx_free(own);
}

/* The number of threads requested, and what a child gets. tests/memory/limit.sh tests limits of the system. */
static void ready_threads(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(ALARM);
        _exit(pv_threads_ready(4) == 1 && pv_threads_ready(0) == 1 && pv_threads_ready(-3) == 1 ? 0 : 2);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(pv_threads_ready(3), 3);
    assert_int_equal(pv_threads_ready(1), 1);
    assert_int_equal(pv_threads_ready(0), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(child_works), cmocka_unit_test(child_fits_images),
                                       cmocka_unit_test(ready_threads)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
