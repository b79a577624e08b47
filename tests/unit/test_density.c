/* A fit's posterior as a density: the fast path compared with the full-batch objective, gradients with central
 * differences. */
#include "unit/check.h"

#include "infer/estimate.h"

static const pv__design one_stratum = {.strata = 1};

enum { N = 137, D = 5 };

typedef struct fixture {
    pv_ctx *ctx;
    double x[N * D], weight[N], mass[2], design[2], factor[2], prevalence[2], centre[D + 1];
    int32_t label[N];
    bool is_bias[D + 1];
    pv_model *model;
    pv_fit_options options;
    pv__plan plan;
    pv__problem problem;
} fixture;

static void set_up(fixture *f, int loss, int marginal, double prevalence_n, bool weighted, const char *prior) {
    memset(f, 0, sizeof *f);
    f->ctx = check_ctx(1);
    CHECK_OK(f->ctx, pv_model_new(f->ctx, "linear", D, 2, &f->model));
    for (size_t i = 0; i < N; i++) {
        pv_rng rng = pv_rng_stream(2, 1, i);
        double z = -0.3;
        for (size_t j = 0; j < D; j++) {
            f->x[i * D + j] = pv_rng_normal(&rng);
            z += 0.5 * f->x[i * D + j];
        }
        f->label[i] = pv_rng_uniform(&rng) < pv_sigmoid(z);
        f->weight[i] = i % 7 == 3 ? 0 : 0.5 + pv_rng_uniform(&rng);
    }
    f->options = pv_fit_options_default();
    f->options.loss = loss;
    f->options.marginal = marginal;
    f->plan = (pv__plan){.options = f->options, .has_prevalence = true, .prevalence = f->prevalence, .map = true};
    f->problem =
        (pv__problem){.plan = &f->plan,
                      .design = &one_stratum,
                      .model = f->model,
                      .rows = {.n = N, .width = D, .matrix = f->x},
                      .targets = {.n = N, .classes = 2, .label = f->label, .weight = weighted ? f->weight : NULL},
                      .mass = f->mass,
                      .label_share = f->design,
                      .factor = f->factor,
                      .population = {.classes = 2, .prevalence = f->prevalence, .prevalence_n = prevalence_n},
                      .centre = f->centre,
                      .is_bias = f->is_bias};
    f->is_bias[0] = true;
    f->prevalence[0] = 0.98;
    f->prevalence[1] = 0.02;
    f->centre[0] = pv_logit(0.02);
    pv_label_mass(&f->problem.targets, f->mass);
    for (int y = 0; y < 2; y++)
        f->design[y] = f->mass[y] / (f->mass[0] + f->mass[1]);
    pv__class_factors((pv_loss)loss, 2, f->prevalence, 1, f->design, f->factor);
    CHECK_OK(f->ctx, pv_prior_parse(f->ctx, "`prior`", prior, &f->plan.prior));
    CHECK_OK(f->ctx, pv_prior_parse(f->ctx, "`intercept-prior`", "normal:10", &f->plan.intercept_prior));
}

static void check_points(fixture *f) {
    pv_density density;
    CHECK_OK(f->ctx, pv__density_new(f->ctx, &f->problem, &density));
    pv__objective *objective;
    bool ig = f->options.loss == PV_LOSS_IG;
    CHECK_OK(f->ctx, pv__objective_new(f->ctx, &f->problem, ig ? PV_FORM_JOINT : PV_FORM_ROWS, &objective));
    for (uint64_t point = 0; point < 40; point++) {
        pv_rng rng = pv_rng_stream(9, 1, point);
        double w[D + 1], got[D + 1], wanted[D + 1], value, reference, scale = point < 30 ? 1 : 40;
        w[0] = f->centre[0] + scale * pv_rng_normal(&rng);
        for (size_t j = 1; j <= D; j++)
            w[j] = scale * pv_rng_normal(&rng);
        CHECK_OK(f->ctx, density.eval(f->ctx, density.state, w, &value, got));
        CHECK_OK(f->ctx, pv__objective_eval(objective, w, false, &reference, wanted));
        if (isinf(reference)) {
            assert_true(isinf(value));
            continue;
        }
        CHECK_NEAR(value, reference, 1e-9 * (1 + fabs(reference)));
        double most = 0;
        for (size_t j = 0; j <= D; j++)
            most = fmax(most, fabs(wanted[j]));
        for (size_t j = 0; j <= D; j++)
            CHECK_NEAR(got[j], wanted[j], 1e-8 * (1 + most));
    }
    pv__objective_free(f->ctx, objective);
    pv__density_free(f->ctx, &density);
    pv_model_free(f->ctx, f->model);
    pv_ctx_free(f->ctx);
}

static void test_fast_path(void **state) {
    (void)state;
    fixture f;
    const double strengths[] = {0, 10, N, 1e5, HUGE_VAL};
    for (int weighted = 0; weighted < 2; weighted++) {
        set_up(&f, PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, 10, weighted, "normal:2.5");
        check_points(&f);
        set_up(&f, PV_LOSS_IW, PV_MARGINAL_PROFILE, 10, weighted, "student:0.002");
        check_points(&f);
        for (size_t i = 0; i < 5; i++) {
            set_up(&f, PV_LOSS_IG, PV_MARGINAL_PROFILE, strengths[i], weighted, "normal:2.5");
            check_points(&f);
            if (isinf(strengths[i]))
                continue;
            set_up(&f, PV_LOSS_IG, PV_MARGINAL_PLUGIN, strengths[i], weighted, "laplace:1");
            check_points(&f);
        }
    }
}

/* Batches of one epoch, each row once: their estimates average to the full data's value and gradient, and each is exact
 * at the centre. */
static void check_estimates(fixture *f, bool averages) {
    enum { ROWS = 136, BATCH = 34, POINTS = 3 };
    f->problem.rows.n = f->problem.targets.n = ROWS;
    pv_label_mass(&f->problem.targets, f->mass);
    for (int y = 0; y < 2; y++)
        f->design[y] = f->mass[y] / (f->mass[0] + f->mass[1]);
    pv__class_factors((pv_loss)f->plan.options.loss, 2, f->prevalence, 1, f->design, f->factor);
    f->problem.batch = BATCH;
    f->plan.options.design = "uniform";
    f->plan.options.epoch_weight = f->plan.options.population_weight = PV_WEIGHT_EXPECTED;
    double centre[D + 1] = {-3, 0.5, 0.2, -0.1, 0.4, 0.3}, w[POINTS * (D + 1)], values[POINTS], sum[POINTS] = {0};
    double gradients[POINTS * (D + 1)], sums[POINTS * (D + 1)] = {0}, value, gradient[D + 1];
    for (size_t j = 0; j <= D; j++) {
        w[j] = centre[j];
        w[D + 1 + j] = centre[j] + 0.1;
        w[2 * (D + 1) + j] = centre[j] - (j % 2 ? 0.2 : -0.3);
    }
    pv_density density;
    pv__estimator *estimator;
    CHECK_OK(f->ctx, pv__estimator_new(f->ctx, &f->problem, centre, &estimator, &density));
    for (int batch = 0; batch < ROWS / BATCH; batch++) {
        CHECK_OK(f->ctx, density.estimate(f->ctx, density.source, POINTS, w, values, gradients));
        CHECK_OK(f->ctx, density.eval(f->ctx, density.state, centre, &value, gradient));
        if (batch == 0 || averages) { /* an auxiliary network changes after that */
            CHECK_NEAR(values[0], value, 1e-10 * fabs(value));
            for (size_t j = 0; j <= D; j++)
                CHECK_NEAR(gradients[j], gradient[j], 1e-9);
        }
        for (size_t i = 0; i < POINTS; i++)
            sum[i] += values[i] * BATCH / ROWS;
        for (size_t i = 0; i < POINTS * (D + 1); i++)
            sums[i] += gradients[i] * BATCH / ROWS;
    }
    for (size_t i = 0; averages && i < POINTS; i++) {
        CHECK_OK(f->ctx, density.eval(f->ctx, density.state, w + i * (D + 1), &value, gradient));
        CHECK_NEAR(sum[i], value, 1e-10 * fabs(value));
        for (size_t j = 0; j <= D; j++)
            CHECK_NEAR(sums[i * (D + 1) + j], gradient[j], 1e-9);
    }
    pv__estimator_free(f->ctx, estimator);
    pv_model_free(f->ctx, f->model);
    pv_ctx_free(f->ctx);
}

static void test_estimates(void **state) {
    (void)state;
    fixture f;
    for (int weighted = 0; weighted < 2; weighted++) {
        set_up(&f, PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, 10, weighted, "normal:2.5");
        check_estimates(&f, true);
        set_up(&f, PV_LOSS_IW, PV_MARGINAL_PROFILE, 10, weighted, "student:0.002");
        check_estimates(&f, true);
        set_up(&f, PV_LOSS_IG, PV_MARGINAL_AUXILIARY_CONSTANT, 100, weighted, "normal:2.5");
        check_estimates(&f, false);
        set_up(&f, PV_LOSS_IG, PV_MARGINAL_AUXILIARY_LINEAR, 100, weighted, "normal:2.5");
        check_estimates(&f, false);
    }
}

/* Far from sensible parameters the profile is still solved: theta sums to 1, and lambda agrees with theta. Samplers
 * reach such points. */
static void test_profile_far_out(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    const int32_t label[4] = {0, 1, 0, 1};
    const double weight[4] = {47, 44, 3, 6}, prevalence[2] = {0.99, 0.01}, strengths[] = {0, 1, 10, 100, 1000};
    pv_targets targets = {.n = 4, .classes = 2, .label = label, .weight = weight};
    for (size_t s = 0; s < 5; s++)
        for (uint64_t point = 0; point < 400; point++) {
            pv_prevalence population = {.classes = 2, .prevalence = prevalence, .prevalence_n = strengths[s]};
            pv_full_loss *full;
            CHECK_OK(ctx, pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PROFILE, &targets, &population, &full));
            pv_rng rng = pv_rng_stream(3, 7, point);
            double loglik[8], dloglik[8], value, sum = 0, scale = pow(10, 3.3 * pv_rng_uniform(&rng)), part[4];
            double eta[2] = {scale * pv_rng_normal(&rng), 0};
            eta[1] = point % 2 ? eta[0] + 0.1 * scale * pv_rng_normal(&rng) : scale * pv_rng_normal(&rng);
            if (fabs(eta[0] - eta[1]) > 500)
                eta[1] = eta[0] + 1;
            for (int n = 0; n < 4; n++) {
                loglik[2 * n] = pv_log_sigmoid(-eta[n / 2]);
                loglik[2 * n + 1] = pv_log_sigmoid(eta[n / 2]);
            }
            CHECK_OK(ctx, pv_full_loss_eval(ctx, full, loglik, &value, dloglik));
            assert_true(isfinite(value));
            const double *theta = pv_full_loss_theta(full), *log_marginal = pv_full_loss_log_marginal(full);
            for (int y = 0; y < 2; y++) {
                for (int n = 0; n < 4; n++) {
                    part[n] = log(theta[n]) + loglik[2 * n + y];
                    sum += y ? 0 : theta[n];
                }
                CHECK_NEAR(pv_log_sum_exp(4, part), log_marginal[y], 1e-6);
            }
            CHECK_NEAR(sum, 1, 1e-7);
            pv_full_loss_free(ctx, full);
        }
    pv_ctx_free(ctx);
}

/* Unlabelled rows count by their weight; a sample without any weight is rejected, and so is one that the loss does not
 * use. */
static void test_unlabelled(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    const int32_t label[4] = {0, 1, PV_UNLABELLED, PV_UNLABELLED};
    const double prevalence[2] = {0.9, 0.1}, loglik[8] = {-0.1, -2.4, -0.2, -1.7, -0.3, -1.35, -0.05, -3};
    double weight[4] = {1, 1, 2, 0}, value, dloglik[8];
    pv_targets targets = {.n = 4, .classes = 2, .label = label, .weight = weight};
    pv_prevalence population = {.classes = 2, .prevalence = prevalence, .prevalence_n = 10};
    for (int marginal = PV_MARGINAL_PROFILE; marginal <= PV_MARGINAL_PLUGIN; marginal++) {
        pv_full_loss *full;
        weight[2] = 2;
        CHECK_OK(ctx, pv_full_loss_new(ctx, PV_LOSS_IG, (pv_marginal)marginal, &targets, &population, &full));
        CHECK_OK(ctx, pv_full_loss_eval(ctx, full, loglik, &value, dloglik));
        if (marginal == PV_MARGINAL_PLUGIN) /* only the one sampled row */
            CHECK_NEAR(pv_full_loss_log_marginal(full)[1], -1.35, 1e-12);
        pv_full_loss_free(ctx, full);
        weight[2] = 0;
        assert_int_equal(pv_full_loss_new(ctx, PV_LOSS_IG, (pv_marginal)marginal, &targets, &population, &full),
                         PV_ERR_INPUT);
        assert_null(full);
    }
    pv_full_loss *full;
    weight[2] = 1;
    assert_int_equal(pv_full_loss_new(ctx, PV_LOSS_PLAIN, PV_MARGINAL_PLUGIN, &targets, &population, &full),
                     PV_ERR_INPUT);
    assert_int_equal(pv_targets_check(ctx, &targets), PV_ERR_INPUT);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fast_path), cmocka_unit_test(test_estimates),
                                       cmocka_unit_test(test_profile_far_out), cmocka_unit_test(test_unlabelled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
