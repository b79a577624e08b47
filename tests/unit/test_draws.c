/* Summaries of draws: R-hat and effective size compared with NumPy, quantiles, mixture densities in closed form. */
#include "check.h"
#include "prevail/posterior.h"

static void test_oracle(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    FILE *file = fopen(PV_TEST_DIR "/oracle/draws.txt", "r");
    assert_non_null(file);
    char name[64];
    assert_int_equal(fscanf(file, "#%*[^\n] %63s", name), 1);
    size_t cases = 0, claimed = 0, chains, each;
    for (; strcmp(name, "end") != 0; cases++) {
        double rhat, ess;
        assert_int_equal(fscanf(file, "%zu %zu %lf %lf", &chains, &each, &rhat, &ess), 4);
        assert_true(chains > 0 && chains < 10 && each > 0 && each < 1000);
        double *draws = malloc(chains * each * sizeof *draws);
        assert_non_null(draws);
        for (size_t i = 0; i < chains * each; i++)
            assert_int_equal(fscanf(file, "%lf", &draws[i]), 1);
        double got_rhat = pv_split_rhat(ctx, chains, each, draws),
               got_ess = pv_effective_size(ctx, chains, each, draws);
        if (!(fabs(got_rhat - rhat) <= 1e-11 * rhat && fabs(got_ess - ess) <= 1e-9 * ess))
            fail_msg("%s: R-hat %.17g, should be %.17g; effective size %.17g, should be %.17g", name, got_rhat, rhat,
                     got_ess, ess);
        free(draws);
        assert_int_equal(fscanf(file, "%63s", name), 1);
    }
    assert_int_equal(fscanf(file, "%zu", &claimed), 1);
    assert_int_equal(claimed, cases);
    assert_true(cases >= 11);
    fclose(file);
    pv_ctx_free(ctx);
}

static void test_undefined(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    double draws[40];
    for (size_t i = 0; i < 40; i++)
        draws[i] = 3.5;
    assert_true(isnan(pv_split_rhat(ctx, 2, 20, draws)) && isnan(pv_effective_size(ctx, 2, 20, draws)));
    for (size_t i = 20; i < 40; i++)
        draws[i] = 4.5; /* two chains, each stuck at one value */
    assert_true(isinf(pv_split_rhat(ctx, 2, 20, draws)));
    for (size_t i = 0; i < 40; i++)
        draws[i] = sin(17.0 * (double)i);
    assert_true(isfinite(pv_split_rhat(ctx, 2, 20, draws)) && isfinite(pv_effective_size(ctx, 2, 20, draws)));
    draws[7] = NAN;
    assert_true(isnan(pv_split_rhat(ctx, 2, 20, draws)) && isnan(pv_effective_size(ctx, 2, 20, draws)));
    draws[7] = INFINITY;
    assert_true(isnan(pv_split_rhat(ctx, 2, 20, draws)));
    draws[7] = 0;
    assert_true(isnan(pv_split_rhat(ctx, 4, 3, draws)) && isnan(pv_split_rhat(ctx, 4, 0, draws)));
    assert_true(isfinite(pv_split_rhat(ctx, 4, 4, draws)) && isnan(pv_effective_size(ctx, 4, 4, draws)));
    pv_ctx_free(ctx);
}

/* R-hat does not depend on location and scale, nor the effective size on monotone transformations. */
static void test_invariance(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    enum { N = 3 * 101 };
    double draws[N], mapped[N];
    pv_rng rng = pv_rng_stream(5, 1, 0);
    for (size_t i = 0; i < N; i++) {
        draws[i] = pv_rng_normal(&rng);
        mapped[i] = 1e3 + 1e-2 * draws[i];
    }
    CHECK_NEAR(pv_split_rhat(ctx, 3, 101, mapped), pv_split_rhat(ctx, 3, 101, draws), 1e-9);
    for (size_t i = 0; i < N; i++)
        mapped[i] = exp(draws[i]);
    CHECK_NEAR(pv_effective_size(ctx, 3, 101, mapped), pv_effective_size(ctx, 3, 101, draws), 1e-9);
    pv_ctx_free(ctx);
}

static void test_quantile(void **state) {
    (void)state;
    double values[] = {4, 1, 3, 2}, one[] = {7}, ends[] = {-INFINITY, 0, INFINITY};
    CHECK_NEAR(pv_quantile(4, values, 0), 1, 0);
    CHECK_NEAR(pv_quantile(4, values, 1), 4, 0);
    CHECK_NEAR(pv_quantile(4, values, 0.5), 2.5, 1e-15);
    CHECK_NEAR(pv_quantile(4, values, 0.1), 1.3, 1e-15); /* R: quantile(1:4, 0.1) */
    CHECK_NEAR(pv_quantile(1, one, 0.9), 7, 0);
    CHECK_NEAR(pv_quantile(3, ends, 0.5), 0, 0);
    assert_true(isnan(pv_quantile(0, one, 0.5)) && isnan(pv_quantile(1, one, NAN)) && isnan(pv_quantile(1, one, 1.1)));
}

static void test_mixture(void **state) {
    (void)state;
    const double pi = 3.14159265358979323846;
    double weight[] = {0.25, 0.75, 0}, mean[] = {1, 2, -1, 0, 0, 0}, w[] = {0.5, 1};
    double factor[] = {2, 0, 0.5, 1, 1, 0, 0, 3, 1, 0, 0, 1};
    pv_mixture mixture = {.components = 3, .dims = 2, .weight = weight, .mean = mean, .factor = factor};
    /* first: z = (-1/4, -1 + 1/8); second: z = (3/2, 1/3) */
    double first = 0.25 * exp(-0.5 * (0.0625 + 0.875 * 0.875)) / (2 * pi * 2);
    double second = 0.75 * exp(-0.5 * (2.25 + 1.0 / 9)) / (2 * pi * 3);
    CHECK_NEAR(pv_mixture_log_density(&mixture, w), log(first + second), 1e-14);
    double far[] = {1e3, 1e3}; /* where exp underflows */
    assert_true(isfinite(pv_mixture_log_density(&mixture, far)));
    mixture.components = 0;
    assert_true(pv_mixture_log_density(&mixture, w) == -INFINITY);
}

/* More dimensions than one section of the solution: L z = w - mean with known z. */
static void test_mixture_large(void **state) {
    (void)state;
    enum { D = 150 };
    static double factor[D * D], mean[D], z[D], w[D];
    double weight = 1, expected = -0.5 * D * log(2 * 3.14159265358979323846);
    pv_rng rng = pv_rng_stream(3, 1, 0);
    for (size_t i = 0; i < D; i++) {
        mean[i] = pv_rng_normal(&rng);
        z[i] = pv_rng_normal(&rng);
        w[i] = mean[i];
        for (size_t j = 0; j <= i; j++) {
            factor[i * D + j] = i == j ? 1 + pv_rng_uniform(&rng) : 0.1 * pv_rng_normal(&rng);
            w[i] += factor[i * D + j] * z[j];
        }
        expected -= 0.5 * z[i] * z[i] + log(factor[i * D + i]);
    }
    pv_mixture mixture = {.components = 1, .dims = D, .weight = &weight, .mean = mean, .factor = factor};
    CHECK_NEAR(pv_mixture_log_density(&mixture, w), expected, 1e-8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),   cmocka_unit_test(test_undefined), cmocka_unit_test(test_invariance),
        cmocka_unit_test(test_quantile), cmocka_unit_test(test_mixture),   cmocka_unit_test(test_mixture_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
