/* Random streams and special functions, compared with published values and by moments. */
#include "unit/check.h"

#include "infer/infer.h"

static void test_streams(void **state) {
    (void)state;
    pv_rng a = pv_rng_stream(1, 2, 3), b = pv_rng_stream(1, 2, 3), c = pv_rng_stream(1, 2, 4),
           d = pv_rng_stream(1, 3, 3);
    int same_c = 0, same_d = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t bits = pv_rng_bits(&a);
        assert_true(bits == pv_rng_bits(&b));
        same_c += bits == pv_rng_bits(&c);
        same_d += bits == pv_rng_bits(&d);
    }
    assert_int_equal(same_c, 0);
    assert_int_equal(same_d, 0);
    /* Random123's known answer: philox4x32-10, counter and key zero. */
    pv_rng zero = pv_rng_stream(0, 0, 0);
    assert_true(pv_rng_bits(&zero) == 0x6627e8d5e169c58dULL);
    assert_true(pv_rng_bits(&zero) == 0xbc57ac4c9b00dbd8ULL);
}

typedef double draw(pv_rng *rng, double parameter);

static double draw_uniform(pv_rng *rng, double parameter) {
    (void)parameter;
    return pv_rng_uniform(rng);
}
static double draw_normal(pv_rng *rng, double parameter) {
    (void)parameter;
    return pv_rng_normal(rng);
}
static double draw_gamma(pv_rng *rng, double parameter) {
    return pv_rng_gamma(rng, parameter);
}
static double draw_below(pv_rng *rng, double parameter) {
    return (double)pv_rng_below(rng, (size_t)parameter);
}

static void check_moments(draw *one, double parameter, double mean, double variance) {
    enum { N = 200000 };
    pv_rng rng = pv_rng_stream(7, 1, (uint64_t)(parameter * 1000));
    double sum = 0, square = 0;
    for (int i = 0; i < N; i++) {
        double x = one(&rng, parameter);
        sum += x;
        square += (x - mean) * (x - mean);
    }
    CHECK_NEAR((sum / N - mean) / sqrt(variance / N), 0, 4.5);
    CHECK_NEAR(square / N / variance, 1, 0.05);
}

static void test_moments(void **state) {
    (void)state;
    check_moments(draw_uniform, 0, 0.5, 1.0 / 12);
    check_moments(draw_normal, 0, 0, 1);
    check_moments(draw_gamma, 0.3, 0.3, 0.3);
    check_moments(draw_gamma, 4, 4, 4);
    check_moments(draw_below, 7, 3, 4);
}

static void test_shuffle(void **state) {
    (void)state;
    enum { N = 5, ROUNDS = 50000 };
    double seen[N][N] = {{0}};
    for (int round = 0; round < ROUNDS; round++) {
        size_t items[N] = {0, 1, 2, 3, 4};
        pv_rng rng = pv_rng_stream(3, 1, (uint64_t)round);
        pv_rng_shuffle(&rng, N, items);
        for (int i = 0; i < N; i++)
            seen[i][items[i]] += 1;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            CHECK_NEAR(seen[i][j] / ROUNDS, 0.2, 4.5 * sqrt(0.16 / ROUNDS));
}

static void test_functions(void **state) {
    (void)state;
    double x[] = {-1e4, 0, 1e4}, p[3];
    CHECK_NEAR(pv_log_sum_exp(3, x), 1e4, 0);
    assert_true(pv_log_sum_exp(0, x) < -1e300);
    pv_log_softmax(3, x, p);
    CHECK_NEAR(p[2], 0, 0);
    CHECK_NEAR(p[0], -2e4, 1e-9);
    CHECK_NEAR(pv_sigmoid(-1e4), 0, 0);
    CHECK_NEAR(pv_log_sigmoid(-1e4), -1e4, 0);
    CHECK_NEAR(pv_log_sigmoid(2), -0.12692801104297249644, 1e-16);
    CHECK_NEAR(pv_logit(1e-9), -20.72326583594641, 1e-12);
    /* R: qnorm(c(1e-300, 1e-9, 0.025, 0.3, 0.5, 0.999)) */
    const double wanted[][2] = {{1e-300, -37.047096299361201},
                                {1e-9, -5.9978070150076865},
                                {0.025, -1.9599639845400538},
                                {0.3, -0.52440051270804067},
                                {0.5, 0},
                                {0.999, 3.0902323061678132}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        CHECK_NEAR(pv_normal_quantile(wanted[i][0]), wanted[i][1], 1e-12 * (1 + fabs(wanted[i][1])));
    assert_true(isnan(pv_normal_quantile(1.5)));
}

static void test_interval(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    const double intervals[][2] = {{0.005, 0.02}, {0.2, 0.6}, {0.0009, 0.0011}, {0.4, 0.6}};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        double mean, n, low = intervals[i][0], high = intervals[i][1];
        CHECK_OK(ctx, pv__beta_from_interval(ctx, low, high, &mean, &n));
        CHECK_NEAR(pv_beta_cdf(mean * n, (1 - mean) * n, low), 0.025, 1e-10);
        CHECK_NEAR(pv_beta_cdf(mean * n, (1 - mean) * n, high), 0.975, 1e-10);
    }
    pv_ctx_free(ctx);
}

static void test_priors(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    const char *texts[] = {"normal:2.5", "student:4", "laplace:0.7", "student:0.5"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        pv_prior prior;
        CHECK_OK(ctx, pv_prior_parse(ctx, "`prior`", texts[t], &prior));
        /* Normalised: the density integrates to 1, computed in s = asinh(w), where the tails are short. */
        double mass = 0, h = 1e-3;
        for (double s = -60; s < 60; s += h)
            mass += h * exp(-pv_prior_loss(&prior, sinh(s), NULL)) * cosh(s);
        CHECK_NEAR(mass, 1, 1e-5);
        for (double w = -3.3; w < 3; w += 0.7) { /* central differences */
            double slope, e = 1e-6;
            pv_prior_loss(&prior, w, &slope);
            CHECK_NEAR((pv_prior_loss(&prior, w + e, NULL) - pv_prior_loss(&prior, w - e, NULL)) / (2 * e), slope,
                       1e-7);
        }
    }
    pv_prior prior;
    const char *wrong[] = {"normal", "normal:", "normal:-1", "normal:x", "cauchy:1", "normal:inf", ""};
    for (size_t t = 0; t < sizeof wrong / sizeof *wrong; t++)
        assert_int_equal(pv_prior_parse(ctx, "`prior`", wrong[t], &prior), PV_ERR_USAGE);
    pv_ctx_free(ctx);
}

/* Expected values from SciPy's digamma, betainc and betaincinv; the series of DLMF 8.17.7 with fifty digits at a = 1e4
 * and above, where SciPy has eleven, and for the values of R's pbeta (2, 30, 0.5 and 100); binomial sums in fractions
 * at a or b of 10 to 12, where Stirling's series begins. */
static void test_beta(void **state) {
    (void)state;
    const double digamma[][2] = {{1e-3, -1000.5755719318103}, {0.5, -1.9635100260214235}, {1, -0.5772156649015329},
                                 {1.5, 0.03648997397857652},  {7.25, 1.9104535268837362}, {1e6, 13.81551005796419}};
    for (size_t i = 0; i < sizeof digamma / sizeof *digamma; i++)
        CHECK_NEAR(pv_digamma(digamma[i][0]), digamma[i][1], 1e-14 * (1 + fabs(digamma[i][1])));
    const double cdf[][4] = {{0.5, 0.5, 0.3, 0.3690101195655454},
                             {2, 3, 0.1, 0.05230000000000001},
                             {1e4, 30, 0.997, 0.46928890968981168},
                             {1, 501, 0.002, 0.6332237676525798},
                             {0.01, 5, 1e-8, 0.8492138284624128},
                             {2, 5, 0.3, 0.579825},
                             {30, 4, 0.9, 0.5769436641256927},
                             {0.5, 200, 1e-3, 0.47275589297476465},
                             {100, 9900, 0.01, 0.51309865365900569},
                             {2e4, 98e4, 0.0199, 0.23787074804287843},
                             {2e6, 98e6, 0.02001, 0.7625093502384207},
                             {10, 10, 0.45, 0.3289640875783923},
                             {10, 12, 0.4, 0.30855818788527417},
                             {3, 10, 0.2, 0.44165425152000004},
                             {11, 2, 0.85, 0.4434595957774777},
                             {2, 5, 0, 0},
                             {2, 5, 1, 1}};
    for (size_t i = 0; i < sizeof cdf / sizeof *cdf; i++)
        CHECK_NEAR(pv_beta_cdf(cdf[i][0], cdf[i][1], cdf[i][2]), cdf[i][3], 1e-13);
    const double quantile[][4] = {{0.5, 0.5, 0.05, 0.006155829702431135},
                                  {2, 3, 0.95, 0.7513953742698185},
                                  {1e4, 30, 0.05, 0.99605940914484129},
                                  {1, 501, 0.95, 0.005961663871964055},
                                  {3e5, 7e5, 0.05, 0.29924646117054837}};
    for (size_t i = 0; i < sizeof quantile / sizeof *quantile; i++)
        CHECK_NEAR(pv_beta_quantile(quantile[i][0], quantile[i][1], quantile[i][2]), quantile[i][3], 1e-13);
    assert_true(isnan(pv_digamma(0)) && isnan(pv_beta_cdf(0, 1, 0.5)) && isnan(pv_beta_quantile(1, 1, 1.5)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_streams),  cmocka_unit_test(test_moments),
                                       cmocka_unit_test(test_shuffle),  cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_interval), cmocka_unit_test(test_priors),
                                       cmocka_unit_test(test_beta)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
