/* The linear auxiliary network that tracks w: it has no effect at its own position, learns the slope of log p(y|w)
 * along the path for any number of parameters, and is closer to p(y|w) in training than the constant one. */
#include "unit/check.h"

#include "core/core.h"

/* Two labels: the log odds of the second are c + a.w, and w changes direction. Returns the largest |log(q/p)| of the
 * second half. */
static double lag(pv_marginal kind, size_t params, double speed) {
    enum { STEPS = 400 };
    pv_ctx *ctx = check_ctx(1);
    double *w = calloc(2 * params, sizeof *w), *a = w + params, worst = 0;
    pv_rng rng = pv_rng_stream(4, 1, params);
    for (size_t i = 0; i < params; i++)
        a[i] = pv_rng_normal(&rng) / sqrt((double)params);
    const double start[2] = {log(0.95), log(0.05)};
    pv_auxiliary *network;
    CHECK_OK(ctx, pv_auxiliary_new(ctx, kind, 2, params, start, w, &network));
    for (int t = 0; t < STEPS; t++) {
        double odds = log(0.05 / 0.95), log_q[2], p, before[2];
        for (size_t i = 0; i < params; i++) /* along a for a while, then back, with other directions mixed in */
            w[i] += speed * (sin(2 * M_PI * t / 150.0) * a[i] + 0.3 * cos((double)i + t / 40.0) / sqrt((double)params));
        for (size_t i = 0; i < params; i++)
            odds += a[i] * w[i];
        p = 1 / (1 + exp(-odds));
        pv_auxiliary_forward(network, w, log_q);
        if (t >= STEPS / 2)
            worst = fmax(worst, fabs(log_q[1] - log(p)));
        double error[2] = {(1 - p) / exp(log_q[0]) - 1, p / exp(log_q[1]) - 1};
        const double gain[2] = {0.05, 0.05};
        double *bias = pv_auxiliary_parameters(network).bias;
        for (int y = 0; y < 2; y++) {
            error[y] = fmin(fmax(error[y], -0.5), 0.5);
            bias[y] += log(1 + gain[y] * error[y]);
        }
        pv_auxiliary_forward(network, w, before);
        pv_auxiliary_follow(network, w, error, gain, 0.05, 0);
        pv_auxiliary_forward(network, w, log_q);
        CHECK_NEAR(log_q[1], before[1], 1e-9 * (1 + fabs(before[1])));
    }
    pv_auxiliary_free(ctx, network);
    pv_ctx_free(ctx);
    free(w);
    return worst;
}

static void test_follows(void **state) {
    (void)state;
    const size_t params[] = {3, 50, 4000};
    for (int i = 0; i < 3; i++)
        for (int s = 0; s < 3; s++) {
            static const double speed[] = {0.01, 0.04, 0.16};
            double constant = lag(PV_MARGINAL_AUXILIARY_CONSTANT, params[i], speed[s]);
            double linear = lag(PV_MARGINAL_AUXILIARY_LINEAR, params[i], speed[s]);
            assert_true(linear < 0.6 * constant);
        }
}

/* The prior: with a factor of 1 the matrix hardly leaves zero, so the network is nearly the constant one. */
static void test_sparsity(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    double w[4] = {0}, sum[2] = {0};
    const double error[2] = {-0.1, 0.3}, gain[2] = {0.5, 0.5};
    for (int s = 0; s < 2; s++) {
        pv_auxiliary *network;
        CHECK_OK(ctx, pv_auxiliary_new(ctx, PV_MARGINAL_AUXILIARY_LINEAR, 2, 4, NULL, w, &network));
        double at[4] = {0.1, -0.1, 0.1, -0.1};
        pv_auxiliary_follow(network, at, error, gain, 0.5, s);
        for (int i = 0; i < 8; i++)
            sum[s] += fabs(pv_auxiliary_parameters(network).matrix[i]);
        pv_auxiliary_free(ctx, network);
    }
    assert_true(sum[0] > 0.1);
    CHECK_NEAR(sum[1], 0, 1e-12);
    pv_ctx_free(ctx);
}

/* Regression test: without limits it diverged for a rare label, because each step of Adam is equally long for every
 * entry of the matrix. */
static void test_rare_label(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    double off[2] = {0};
    for (int linear = 0; linear < 2; linear++)
        for (int64_t seed = 1; seed <= 3; seed++) {
            enum { ROWS = 600, D = 4 };
            static double x[D][ROWS], y[ROWS];
            pv_rng rng = pv_rng_stream(6, 1, 0);
            for (size_t i = 0; i < ROWS; i++) {
                y[i] = (double)(i % 2);
                for (size_t d = 0; d < D; d++)
                    x[d][i] = pv_rng_normal(&rng) + 0.8 * y[i];
            }
            static const char *const names[D] = {"a", "b", "c", "d"};
            pv_table *table;
            pv_schema *schema;
            pv_dataset *data;
            pv_classifier *fit;
            CHECK_OK(ctx, pv_table_new(ctx, "people", ROWS, &table));
            for (size_t d = 0; d < D; d++)
                CHECK_OK(ctx, pv_table_add_numbers(ctx, table, names[d], PV_ARRAY_F64, x[d], PV_PACKED, NULL, false));
            CHECK_OK(ctx, pv_table_add_numbers(ctx, table, "y", PV_ARRAY_F64, y, PV_PACKED, NULL, false));
            CHECK_OK(ctx, pv_schema_learn(ctx, table, &(pv_roles){.target = "y"}, &schema, &data));
            pv_fit_options options = pv_fit_options_default();
            options.prevalence = "0.01";
            options.prevalence_n = "rows";
            options.model = "mlp:16";
            options.prior = "normal:2.5";
            options.marginal = linear ? PV_MARGINAL_AUXILIARY_LINEAR : PV_MARGINAL_AUXILIARY_CONSTANT;
            options.batch = "64";
            options.epochs = 20;
            options.auxiliary_sparsity = 0;
            options.seed = seed;
            options.trace = true;
            CHECK_OK(ctx, pv_fit(ctx, schema, data, &options, &fit));
            assert_int_equal(fit->stop, PV_STOP_COMPLETED);
            CHECK_NEAR(exp(fit->log_marginal[1]), 0.01, 0.005);
            for (size_t e = fit->trace->count / 2; e < fit->trace->count; e++)
                off[linear] += fabs(log(fit->trace->used[2 * e + 1] / fit->trace->exact[2 * e + 1]));
            pv_classifier_free(ctx, fit);
            pv_dataset_free(ctx, data);
            pv_schema_free(ctx, schema);
            pv_table_free(ctx, table);
        }
    assert_true(off[1] < off[0]);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_follows), cmocka_unit_test(test_sparsity),
                                       cmocka_unit_test(test_rare_label)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
