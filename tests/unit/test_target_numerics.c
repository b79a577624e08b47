/* Internals of inferring a prevalence: searches that do not converge, the sine integral, the kernels. */
#include "predict/target.h"

#include "target.h"

/* Failing to converge is reported. With uninformative rows and weights that dominate the prior, Newton's equations are
 * nearly singular, and the decrement may be anything, even negative. */
static void test_not_converged(void **state) {
    (void)state;
    enum { N = 60 };
    double loglik[3 * N], weight[N], log_marginal[] = {-1.1, -1.1, -1.1}, alpha[] = {1, 1, 1};
    for (uint64_t s = 0; s < 40; s++) {
        pv_rng rng = pv_rng_stream(s, 5, 5);
        for (size_t i = 0; i < 3 * N; i++)
            loglik[i] = (s % 2 ? 3 : 1e-10) * pv_rng_normal(&rng);
        for (size_t i = 0; i < N; i++)
            weight[i] = s % 2 ? 1 : 1e16 * pv_rng_uniform(&rng);
        pv_unknown_sample sample = {
            .n = N, .classes = 3, .loglik = loglik, .log_marginal = log_marginal, .weight = weight};
        pv__mixture m;
        pv__many many;
        ok(pv__mixture_init(ctx, &sample, true, &m));
        ok(pv__many_init(ctx, 3, &many));
        pv_ctx_interrupt(ctx);
        assert_int_equal(pv__many_mode(ctx, &m, alpha, &many), PV_ERR_INTERRUPTED);
        pv_ctx_clear_interrupt(ctx);
        pv_status status = pv__many_mode(ctx, &m, alpha, &many);
        assert_true(s % 2 == 0 ? status == PV_ERR_NUMERIC || !many.converged : status == PV_OK && many.converged);
        pv__many_clear(ctx, &many);
        pv__mixture_clear(ctx, &m);
    }
    loglik[1] = (double)NAN;
    pv_unknown_sample pair = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv__mixture m;
    pv__pair quadrature = {0};
    ok(pv__mixture_init(ctx, &pair, false, &m));
    ok(pv__pair_solve(ctx, &m, alpha, &quadrature));
    assert_false(quadrature.converged);
    loglik[1] = 0;
    pv__mixture_load(ctx, &m, loglik, half);
    ok(pv__pair_solve(ctx, &m, alpha, &quadrature));
    assert_true(quadrature.converged);
    pv__pair_clear(ctx, &quadrature);
    pv__mixture_clear(ctx, &m);
}

/* Expected values from SciPy's sici. */
static void test_sine_integral(void **state) {
    (void)state;
    const double wanted[][2] = {{0.1, 0.09994446110827694}, {1, 0.9460830703671831}, {3.9, 1.7765013604478055},
                                {4.1, 1.7387436264917688},  {10, 1.658347594218874}, {50, 1.551617072485936},
                                {1000, 1.5702331219687713}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        near(pv__sine_integral(wanted[i][0]), wanted[i][1], 2e-14);
        near(pv__sine_integral(-wanted[i][0]), -wanted[i][1], 2e-14);
    }
}

/* ---- intervals near a bound -------------------------------------------------------------------------------------- */

/* Each copy of the kernels compared with direct sums. */
static void test_kernels(void **state) {
    (void)state;
    enum { N = 203, K = 4 };
    extern const pv__mixture_kernels pv__mixture_kernels_baseline, pv__mixture_kernels_avx2, pv__mixture_kernels_avx512;
    const pv__mixture_kernels *const all[] = {&pv__mixture_kernels_baseline, &pv__mixture_kernels_avx2,
                                              &pv__mixture_kernels_avx512};
    double loglik[N * K], shift[K] = {-1, -0.5, -2, -1.5}, r[K * N], log_r[K * N], v[N], out[K * N];
    const double pi[2 * K] = {0.1, 0.2, 0.3, 0.4, 1e-9, 0.5, 0.25, 0.25 - 1e-9}, share[2] = {0.3, 0.7};
    pv_rng rng = pv_rng_stream(1, 2, 3);
    for (size_t i = 0; i < N * K; i++)
        loglik[i] = 3 * pv_rng_normal(&rng);
    for (size_t i = 0; i < N; i++)
        v[i] = i % 7 ? pv_rng_uniform(&rng) : 0;
    for (int isa = 0; isa <= (int)pv__isa_best(); isa++) { /* NaN is preserved, and large odds stay finite */
        const double pair[6] = {-1, -2, (double)NAN, -1, 0, -1e6};
        double u[3];
        all[isa]->pair_ratios(3, pair, 0, u);
        near(u[0], 1 / (1 + exp(1)), 1e-15);
        assert_true(isnan(u[1]));
        near(u[2], 0, 1e-300);
    }
    for (int isa = 0; isa <= (int)pv__isa_best(); isa++)
        for (int weighted = 0; weighted < 2; weighted++) {
            const double *w = weighted ? v : NULL;
            double sums[K], cross[K * K], work[K * PV__BLOCK], logs[2], want[K] = {0}, want_cross = 0,
                                                                        want_log[2] = {0};
            all[isa]->ratios(N, K, loglik, shift, N, r, log_r);
            all[isa]->sums(N, K, N, r, w, pi, sums, cross, work);
            all[isa]->logs(N, K, N, r, w, 2, pi, logs);
            all[isa]->average(N, K, N, r, 2, pi, share, out);
            for (size_t i = 0; i < N; i++) {
                double q[2] = {0}, weight = w ? w[i] : 1, top = -HUGE_VAL, e[K];
                for (size_t y = 0; y < K; y++)
                    top = fmax(top, loglik[i * K + y] - shift[y]);
                for (size_t y = 0; y < K; y++) {
                    e[y] = exp(loglik[i * K + y] - shift[y] - top);
                    near(r[y * N + i], e[y], 1e-15);
                    near(exp(log_r[y * N + i]), e[y], 1e-15);
                    q[0] += pi[y] * e[y];
                    q[1] += pi[K + y] * e[y];
                }
                want_log[0] += weight * log(q[0]);
                want_log[1] += weight * log(q[1]);
                for (size_t y = 0; y < K; y++) {
                    want[y] += weight * pi[y] * e[y] / q[0];
                    near(out[y * N + i], share[0] * pi[y] / q[0] + share[1] * pi[K + y] / q[1], 1e-12 / q[0] / q[1]);
                }
                want_cross += weight * pi[1] * e[1] * pi[3] * e[3] / (q[0] * q[0]);
            }
            near(logs[0], want_log[0], 1e-10);
            near(logs[1], want_log[1], 1e-10);
            for (size_t y = 0; y < K; y++)
                near(sums[y], want[y], 1e-10);
            near(cross[1 * K + 3], want_cross, 1e-10);
            near(cross[3 * K + 1], want_cross, 1e-10);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_converged),
        cmocka_unit_test(test_sine_integral),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
