/* Runs of variational inference: threads, wrong use, interruption and divergence, failing allocations, kernels. */
#include "vi.h"

/* The profile remembers its last solution: the clones' histories must not depend on the threads. */
static void test_threads(void **state) {
    (void)state;
    table t = {.of = &exacts[5]};
    ok(table_open(ctx, &t));
    pv_density density = {.dims = 2, .state = &t, .eval = table_eval, .clone = table_clone, .release = table_release};
    pv_vi_options options = pv_vi_options_default();
    options.steps = 60;
    options.samples = 5;
    pv_posterior *posterior[2];
    for (int threads = 1; threads <= 2; threads++) {
        pv_ctx *own = check_ctx(threads);
        double w[2] = {-4.1, -3.3};
        CHECK_OK(own, pv_vi(own, &density, w, &options, &posterior[threads - 1]));
        pv_ctx_free(own);
    }
    pv_mixture *a = &posterior[0]->mixture, *b = &posterior[1]->mixture;
    assert_memory_equal(posterior[0]->draws, posterior[1]->draws, 2 * posterior[0]->count * sizeof(double));
    assert_memory_equal(a->weight, b->weight, 8 * sizeof(double));
    assert_memory_equal(a->mean, b->mean, 16 * sizeof(double));
    assert_memory_equal(a->factor, b->factor, 32 * sizeof(double));
    same_bits(posterior[0]->elbo, posterior[1]->elbo);
    pv_posterior_free(ctx, posterior[0]);
    pv_posterior_free(ctx, posterior[1]);
    pv_full_loss_free(ctx, t.full);
}

static void refuse(const pv_density *density, pv_vi_options options, const char *part) {
    pv_posterior *posterior;
    double w[3] = {0};
    assert_int_equal(pv_vi(ctx, density, w, &options, &posterior), PV_ERR_USAGE);
    assert_null(posterior);
    says(part);
}

static void test_usage(void **state) {
    (void)state;
    pv_density density = {.dims = 3, .eval = gaussian_eval};
    pv_vi_options good = pv_vi_options_default(), bad;
    bad = good;
    bad.components = 0;
    refuse(&density, bad, "components");
    bad = good;
    bad.samples = 0;
    refuse(&density, bad, "samples");
    bad = good;
    bad.steps = 0;
    refuse(&density, bad, "steps");
    bad = good;
    bad.draws = -1;
    refuse(&density, bad, "draws");
    bad = good;
    bad.rate = NAN;
    refuse(&density, bad, "rate");
    density.dims = 0;
    refuse(&density, good, "no parameters");
    pv_density half = {.dims = 1, .eval = half_eval};
    pv_posterior *posterior;
    assert_int_equal(pv_vi(ctx, &half, (const double[]){-1}, NULL, &posterior), PV_ERR_NUMERIC);
    assert_null(posterior);
}

static pv_status failing_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    int *left = state;
    return --*left < 0 ? pv__fail(c, PV_ERR_INTERNAL, "by design") : gaussian_eval(c, NULL, w, value, gradient);
}

static pv_status interrupting_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    int *left = state;
    if (--*left == 0)
        pv_ctx_interrupt(c);
    return gaussian_eval(c, NULL, w, value, gradient);
}

/* For a while the density is 0 at all requested points. */
static pv_status gap_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    int call = (*(int *)state)++;
    PV_TRY(gaussian_eval(c, NULL, w, value, gradient));
    if (call >= 8000 && call < 8200)
        *value = INFINITY;
    return PV_OK;
}

/* A run that loses the density altogether stops, reports it, and returns its best result. */
static void test_diverged(void **state) {
    (void)state;
    int calls = 0;
    pv_density density = {.dims = 3, .state = &calls, .eval = gap_eval};
    double w[3] = {1, 1, 1}, mean, sd;
    pv_posterior *posterior = infer(&density, w, NULL);
    assert_int_equal(posterior->stop, PV_STOP_DIVERGED);
    assert_true(posterior->iterations < 200 && isfinite(posterior->elbo));
    summary(posterior, (const double[]){0, 0, 1}, NULL, &mean, &sd);
    near(mean, 1, sd);
    pv_posterior_free(ctx, posterior);
}

static void test_stopped(void **state) {
    (void)state;
    int left = 1000;
    pv_density density = {.dims = 3, .state = &left, .eval = failing_eval};
    pv_posterior *posterior;
    double w[3] = {0};
    assert_int_equal(pv_vi(ctx, &density, w, NULL, &posterior), PV_ERR_INTERNAL);
    assert_null(posterior);
    says("by design");

    left = 1000;
    pv_ctx *own = check_ctx(1);
    density.eval = interrupting_eval;
    CHECK_OK(own, pv_vi(own, &density, w, NULL, &posterior));
    assert_int_equal(posterior->stop, PV_STOP_INTERRUPTED);
    assert_true(posterior->iterations > 5 && posterior->iterations < 50);
    assert_true(isfinite(posterior->elbo));
    pv_posterior_free(own, posterior);
    pv_ctx_free(own);
}

static pv_status block_clone(pv_ctx *c, void *state, void **copy) {
    (void)state;
    return pv__alloc(c, 1, 1, copy);
}

static void block_release(pv_ctx *c, void *copy) {
    pv__free(c, copy);
}

static pv_status small_work(pv_ctx *poor) {
    pv_density density = {.dims = 3, .eval = gaussian_eval, .clone = block_clone, .release = block_release};
    pv_vi_options options = {.components = 2, .samples = 3, .steps = 3, .rate = 0.05, .draws = 10};
    pv_posterior *posterior;
    pv_status status = pv_vi(poor, &density, (const double[]){0, 0, 0}, &options, &posterior);
    assert_true((status == PV_OK) == (posterior != NULL));
    pv_posterior_free(poor, posterior);
    if (status != PV_OK)
        return status;
    density.dims = 1;
    density.eval = half_eval;
    status = pv_vi(poor, &density, (const double[]){1}, &options, &posterior);
    pv_posterior_free(poor, posterior);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    sweep_memory(small_work);
}

/* Every instruction set that this processor supports gives the same numbers. Seven dimensions and 48 points fill no
 * vector evenly. */
static void test_kernels(void **state) {
    (void)state;
    extern const pv__vi_kernels pv__vi_kernels_baseline, pv__vi_kernels_avx2;
    enum { DIMS = 7, POINTS = 48, SAMPLES = 13 };
    const pv__vi_kernels *kernels[3] = {&pv__vi_kernels_baseline, pv__vi_kernels_get(), pv__vi_kernels_get()};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        kernels[2] = &pv__vi_kernels_avx2;
    for (int diagonal = 0; diagonal < 2; diagonal++) {
        static double eps[DIMS * POINTS], u[3][DIMS * POINTS], log_q[3][POINTS], slope[3][DIMS * POINTS], scratch[1000];
        static double dmean[3][DIMS], dfactor[3][DIMS * DIMS], buffer[DIMS * POINTS];
        pv__vi_mix mix;
        ok(pv__vi_mix_new(ctx, 3, DIMS, diagonal, false, &mix));
        pv_rng rng = pv_rng_stream(3, 1, 0);
        for (size_t i = 0; i < 3 * DIMS; i++)
            mix.mean[i] = pv_rng_normal(&rng);
        for (size_t i = 0; i < 3 * mix.size; i++)
            mix.factor[i] = 0.5 + pv_rng_uniform(&rng);
        pv__vi_mix_refresh(&mix);
        assert_true(pv__vi_scratch(&mix) <= sizeof scratch / sizeof *scratch);
        pv__vi_normals(kernels[0], &rng, DIMS, POINTS, POINTS, buffer, eps);
        for (int i = 0; i < 3; i++) {
            kernels[i]->place(&mix, 1, POINTS, POINTS, eps, u[i]);
            kernels[i]->density(&mix, POINTS, POINTS, u[i], scratch, log_q[i], slope[i]);
            kernels[i]->local(&mix, 1, SAMPLES, POINTS, slope[i], eps, scratch, dmean[i], dfactor[i]);
            for (size_t p = 0; p < POINTS; p++)
                near(log_q[i][p], log_q[0][p], 1e-9);
            for (size_t p = 0; p < DIMS * POINTS; p++)
                near(slope[i][p], slope[0][p], 1e-8 * (1 + fabs(slope[0][p])));
            for (size_t p = 0; p < DIMS; p++)
                near(dmean[i][p], dmean[0][p], 1e-7 * (1 + fabs(dmean[0][p])));
            for (size_t p = 0; p < mix.size; p++)
                near(dfactor[i][p], dfactor[0][p], 1e-7 * (1 + fabs(dfactor[0][p])));
        }
        for (size_t j = 0; j < DIMS; j++) { /* the gradient is that of log q */
            double moved[2][POINTS], ignored[DIMS * POINTS];
            for (int side = 0; side < 2; side++) {
                memcpy(u[1], u[0], sizeof u[0]);
                for (size_t p = 0; p < POINTS; p++)
                    u[1][j * POINTS + p] += side ? 1e-5 : -1e-5;
                kernels[0]->density(&mix, POINTS, POINTS, u[1], scratch, moved[side], ignored);
            }
            for (size_t p = 0; p < POINTS; p++)
                near(slope[0][j * POINTS + p], (moved[1][p] - moved[0][p]) / 2e-5,
                     1e-4 * (1 + fabs(slope[0][j * POINTS + p])));
        }
        pv__vi_mix_free(ctx, &mix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads), cmocka_unit_test(test_usage),  cmocka_unit_test(test_diverged),
        cmocka_unit_test(test_stopped), cmocka_unit_test(test_memory), cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
