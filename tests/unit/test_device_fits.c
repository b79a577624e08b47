/* Fits to tables on a device, their posteriors and predictions, compared with the processor. test_device_tables.c
 * describes where they run. */
#include "problem.h"

#include "device.h"

/* ---- fits -------------------------------------------------------------------------------------------------------- */

typedef struct way {
    pv_loss loss;
    pv_marginal marginal;
    pv_inference infer;
    const char *model, *prior, *intercept, *prevalence_n;
    bool bent; /* not convex: rounding can lead to different points along its valleys */
} way;

static const way ways[] = {
    {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP, "linear", "normal:1", "auto", "auto", false},
    {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP, "linear", "student:3", "normal:2", "200", false},
    {PV_LOSS_IG, PV_MARGINAL_PLUGIN, PV_INFER_MAP, "linear", "normal:1", "auto", "200", false},
    {PV_LOSS_IG, PV_MARGINAL_PLUGIN, PV_INFER_MAP, "linear", "normal:1", "auto", "known", false},
    {PV_LOSS_IW, PV_MARGINAL_PROFILE, PV_INFER_MAP, "linear", "normal:1", "auto", "auto", false},
    {PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, PV_INFER_ML, "linear", NULL, NULL, "auto", false},
    {PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, PV_INFER_MAP, "linear", "laplace:0.5", "auto", "auto", false},
    {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP, "ordinal", "normal:1", "auto", "auto", false},
    {PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, PV_INFER_MAP, "mlp:4", "normal:0.3", "auto", "auto", true},
    {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_LAPLACE, "linear", "normal:1", "auto", "auto", false},
};

static pv_classifier *fit_way(pv_ctx *ctx, const problem *p, const way *chosen) {
    pv_fit_options options = pv_fit_options_default();
    options.model = chosen->model;
    options.prevalence = "0.01";
    options.prevalence_n = chosen->prevalence_n;
    options.loss = (int)chosen->loss;
    options.marginal = (int)chosen->marginal;
    options.infer = (int)chosen->infer;
    options.seed = 1;
    if (chosen->prior)
        options.prior = chosen->prior;
    if (chosen->intercept)
        options.intercept_prior = chosen->intercept;
    return fit(ctx, p, &options);
}

/* Every loss, marginal, prior and model: the processor's parameters, up to the table's single precision; and
 * bit-identical when repeated. */
static void test_fits(void **state) {
    (void)state;
    pv_ctx *device = device_ctx(2, PV_PRECISION_TF32), *processor = check_ctx(2);
    CHECK_OK(processor, pv_ctx_set_device(processor, PV_DEVICE_CPU, PV_PRECISION_TF32));
    problem p = nodules(processor, 300, 5);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        pv_classifier *c = fit_way(processor, &p, &ways[i]), *d = fit_way(device, &p, &ways[i]);
        pv_classifier *again = fit_way(device, &p, &ways[i]);
        size_t params = pv_model_params(c->model);
        print_message("way %zu: away by %.1e\n", i, away(params, d->w, c->w));
        assert_int_equal(d->stop, c->stop);
        CHECK_NEAR(away(params, d->w, c->w), 0, ways[i].bent ? 1e-2 : 2e-6);
        CHECK_NEAR(d->loss_value, c->loss_value, 1e-5 * fabs(c->loss_value));
        assert_memory_equal(d->w, again->w, params * sizeof *d->w);
        pv_classifier_free(processor, c);
        pv_classifier_free(device, d);
        pv_classifier_free(device, again);
    }
    problem_free(processor, &p);
    pv_ctx_free(processor);
    pv_ctx_free(device);
}

/* Posteriors: losses with different marginals, and each engine. */
static const way posteriors[] = {
    {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_LAPLACE, "linear", "normal:1", "auto", "200", false},
    {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_VI, "linear", "normal:1", "auto", "200", false},
    {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_VI, "linear", "student:3", "auto", "known", false},
    {PV_LOSS_IG, PV_MARGINAL_PLUGIN, PV_INFER_VI, "linear", "normal:1", "auto", "200", false},
    {PV_LOSS_IW, PV_MARGINAL_PROFILE, PV_INFER_VI, "linear", "normal:1", "auto", "auto", false},
    {PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, PV_INFER_LAPLACE, "linear", "normal:1", "auto", "auto", false},
    {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_HMC, "linear", "normal:1", "auto", "200", false},
    {PV_LOSS_IW, PV_MARGINAL_PROFILE, PV_INFER_HMC, "linear", "normal:1", "auto", "auto", false},
};

/* Locations of draws, in units of their spread; chains diverge after a while and are compared by means and spreads. */
static void check_draws(const pv_classifier *d, const pv_classifier *c) {
    const pv_posterior *a = d->posterior, *b = c->posterior;
    bool chains = b->kind == PV_POSTERIOR_HMC;
    assert_int_equal(a->count, b->count);
    for (size_t j = 0; j < b->dims; j++) {
        double mean[2] = {0, 0}, square[2] = {0, 0}, most = 0, n = (double)b->count;
        for (size_t s = 0; s < b->count; s++) {
            double x = a->draws[s * a->dims + j], y = b->draws[s * b->dims + j];
            mean[0] += x / n;
            mean[1] += y / n;
            square[0] += x * x / n;
            square[1] += y * y / n;
            most = fmax(most, fabs(x - y));
        }
        double sd = sqrt(square[1] - mean[1] * mean[1]);
        CHECK_NEAR(mean[0], mean[1], (chains ? 0.3 : 1e-3) * sd);
        if (chains)
            CHECK_NEAR(sqrt(square[0] - mean[0] * mean[0]), sd, 0.3 * sd);
        else
            CHECK_NEAR(most, 0, 0.02 * sd);
    }
    for (size_t i = 0; i < 2 * b->count && !chains; i++)
        CHECK_NEAR(d->draw_log_marginal[i], c->draw_log_marginal[i], 1e-3);
}

static pv_classifier *fit_posterior(pv_ctx *ctx, const problem *p, const way *chosen) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    options.prevalence_n = chosen->prevalence_n;
    options.loss = (int)chosen->loss;
    options.marginal = (int)chosen->marginal;
    options.infer = (int)chosen->infer;
    options.prior = chosen->prior;
    options.draws = 60;
    options.warmup = 40;
    options.chains = 3;
    options.steps = 30;
    options.components = 2;
    options.seed = 1;
    return fit(ctx, p, &options);
}

static void test_posteriors(void **state) {
    (void)state;
    pv_ctx *device = device_ctx(2, PV_PRECISION_TF32), *processor = check_ctx(2),
           *alone = device_ctx(2, PV_PRECISION_TF32);
    CHECK_OK(processor, pv_ctx_set_device(processor, PV_DEVICE_CPU, PV_PRECISION_TF32));
    pv_ctx_set_threads(alone, 1);
    problem p = nodules(processor, 50, 5);
    for (size_t i = 0; i < sizeof posteriors / sizeof *posteriors; i++) {
        pv_classifier *c = fit_posterior(processor, &p, &posteriors[i]), *d = fit_posterior(device, &p, &posteriors[i]);
        pv_classifier *again = fit_posterior(alone, &p, &posteriors[i]); /* without batching of chains */
        const pv_posterior *a = d->posterior, *b = again->posterior;
        print_message("posterior %zu\n", i);
        check_draws(d, c);
        assert_int_equal(a->count, b->count);
        assert_memory_equal(a->draws, b->draws, a->count * a->dims * sizeof *a->draws);
        assert_memory_equal(d->draw_log_marginal, again->draw_log_marginal,
                            2 * a->count * sizeof *d->draw_log_marginal);
        pv_classifier_free(processor, c);
        pv_classifier_free(device, d);
        pv_classifier_free(alone, again);
    }
    problem_free(processor, &p);
    pv_ctx_free(processor);
    pv_ctx_free(device);
    pv_ctx_free(alone);
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

/* For an unknown prevalence, one of the methods; "exact" otherwise. */
typedef struct place {
    const char *population;
    pv_unknown_method method;
    double level;
} place;

static pv_prediction *predict(pv_ctx *ctx, const pv_classifier *c, const problem *p, const place *at) {
    const pv_predict_options options = {.level = at->level, .likelihood = true};
    pv_unknown_options unknown = pv_unknown_options_default();
    unknown.method = (int)at->method;
    pv_population *population;
    pv_prediction *made;
    CHECK_OK(ctx, pv_population_new(ctx, c, at->population, &unknown, &population));
    CHECK_OK(ctx, pv_predict(ctx, c, p->data, population, &options, &made));
    pv_population_free(ctx, population);
    return made;
}

static void check_alike(size_t n, const double *a, const double *b, double bound) {
    assert_int_equal(a == NULL, b == NULL);
    for (size_t i = 0; a && b && i < n; i++)
        CHECK_NEAR(a[i], b[i], bound * (1 + fabs(b[i])));
}

/* Over draws: means, their logarithms and intervals equal those of the processor, up to the table's single
 * precision. */
static void check_population(pv_ctx *device, pv_ctx *processor, const pv_classifier *c, const problem *p,
                             const place *at) {
    pv_prediction *a = predict(device, c, p, at), *b = predict(processor, c, p, at);
    pv_prediction *again = predict(device, c, p, at);
    size_t n = 2 * b->rows;
    assert_int_equal(a->rows, b->rows);
    check_alike(n, a->p, b->p, 1e-6);
    check_alike(n, a->log_p, b->log_p, 1e-6);
    check_alike(n, a->loglik, b->loglik, 1e-6);
    check_alike(n, a->lo, b->lo, 1e-6);
    check_alike(n, a->hi, b->hi, 1e-6);
    assert_memory_equal(a->p, again->p, n * sizeof *a->p);
    assert_memory_equal(a->log_p, again->log_p, n * sizeof *a->log_p);
    if (at->level > 0)
        assert_memory_equal(a->lo, again->lo, n * sizeof *a->lo);
    assert_int_equal(a->inferred == NULL, b->inferred == NULL);
    if (a->inferred && b->inferred) {
        check_alike(2, a->inferred->value, b->inferred->value, 1e-7);
        check_alike(2, a->inferred->lo, b->inferred->lo, 1e-6);
        check_alike(2, a->inferred->hi, b->inferred->hi, 1e-6);
    }
    pv_prediction_free(device, a);
    pv_prediction_free(processor, b);
    pv_prediction_free(device, again);
}

static void test_predictions(void **state) {
    (void)state;
    static const place places[] = {
        {"true", PV_UNKNOWN_EXACT, 0},          {"true", PV_UNKNOWN_EXACT, 0.9},   {"known:0.3", PV_UNKNOWN_EXACT, 0.5},
        {"known:1e-12", PV_UNKNOWN_EXACT, 0.9}, {"design", PV_UNKNOWN_EXACT, 0.9}, {"unknown", PV_UNKNOWN_EXACT, 0.9},
        {"unknown", PV_UNKNOWN_VB, 0.9},        {"unknown", PV_UNKNOWN_EM, 0.9},
    };
    pv_ctx *device = device_ctx(2, PV_PRECISION_TF32), *processor = check_ctx(2);
    CHECK_OK(processor, pv_ctx_set_device(processor, PV_DEVICE_CPU, PV_PRECISION_TF32));
    problem p = nodules(processor, 50, 5);
    for (size_t i = 0; i < 2; i++) {
        pv_classifier *c = fit_posterior(processor, &p, &posteriors[i == 0 ? 0 : 5]);
        drop_reference(processor, c);
        for (size_t j = 0; j < sizeof places / sizeof *places; j++)
            check_population(device, processor, c, &p, &places[j]);
        pv_classifier_free(processor, c);
    }
    problem_free(processor, &p);
    pv_ctx_free(processor);
    pv_ctx_free(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fits), cmocka_unit_test(test_posteriors),
                                       cmocka_unit_test(test_predictions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
