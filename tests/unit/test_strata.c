/* Strata: the profile as a sum over them, compared with one profile for each, logistic regression with offsets and
 * central differences; the selection likelihood with its own ratios.
 */
#include "unit/check.h"

enum { ROWS = 240, STRATA = 3 };

typedef struct sample {
    int32_t label[ROWS], stratum[ROWS];
    double weight[ROWS], x[ROWS];
    double loglik[2 * ROWS], dloglik[2 * ROWS];
} sample;

static const double SHARE[STRATA] = {0.5, 0.2, 0.3};
static const double PREVALENCE[2 * STRATA] = {0.9, 0.1, 0.99, 0.01, 0.6, 0.4};

static void set_loglik(sample *s, const double *intercept, double slope) {
    for (size_t i = 0; i < ROWS; i++) {
        double eta = intercept[s->stratum[i]] + slope * s->x[i];
        s->loglik[2 * i + 1] = -log1p(exp(-eta));
        s->loglik[2 * i] = -log1p(exp(eta));
    }
}

/* Labels and strata in random order; weights are multiples of one half. */
static sample make(void) {
    sample s = {0};
    pv_rng rng = pv_rng_stream(5, 1, 0);
    const double intercept[STRATA] = {-2, -4, -0.3};
    for (size_t i = 0; i < ROWS; i++) {
        s.stratum[i] = (int32_t)pv_rng_below(&rng, STRATA);
        s.label[i] = pv_rng_uniform(&rng) < (s.stratum[i] == 1 ? 0.3 : 0.5);
        s.weight[i] = 0.5 + 0.5 * (double)pv_rng_below(&rng, 4);
        s.x[i] = pv_rng_normal(&rng) + 0.8 * s.label[i];
    }
    set_loglik(&s, intercept, 0.7);
    return s;
}

static pv_targets targets_of(const sample *s) {
    return (pv_targets){.n = ROWS, .classes = 2, .label = s->label, .weight = s->weight, .stratum = s->stratum};
}

static pv_prevalence population_of(const double *n) {
    static double mean[2];
    mean[1] = 0;
    for (int s = 0; s < STRATA; s++)
        mean[1] += SHARE[s] * PREVALENCE[2 * s + 1];
    mean[0] = 1 - mean[1];
    return (pv_prevalence){.classes = 2,
                           .prevalence = mean,
                           .prevalence_n = HUGE_VAL,
                           .strata = STRATA,
                           .share = SHARE,
                           .stratum_prevalence = PREVALENCE,
                           .stratum_n = n};
}

/* The loss of one stratum's rows alone, and its marginal. */
static double alone(pv_ctx *ctx, const sample *s, int stratum, double n, double *log_marginal) {
    int32_t label[ROWS];
    double weight[ROWS], loglik[2 * ROWS], value;
    size_t rows = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (s->stratum[i] == stratum) {
            label[rows] = s->label[i];
            weight[rows] = s->weight[i];
            memcpy(loglik + 2 * rows++, s->loglik + 2 * i, 2 * sizeof *loglik);
        }
    pv_targets targets = {.n = rows, .classes = 2, .label = label, .weight = weight};
    pv_prevalence population = {.classes = 2, .prevalence = PREVALENCE + 2 * stratum, .prevalence_n = n};
    pv_full_loss *loss;
    CHECK_OK(ctx, pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PROFILE, &targets, &population, &loss));
    CHECK_OK(ctx, pv_full_loss_eval(ctx, loss, loglik, &value, NULL));
    memcpy(log_marginal, pv_full_loss_log_marginal(loss), 2 * sizeof *log_marginal);
    pv_full_loss_free(ctx, loss);
    return value;
}

static double together(pv_ctx *ctx, sample *s, const double *n, bool gradient, double *log_marginal) {
    pv_targets targets = targets_of(s);
    pv_prevalence population = population_of(n);
    pv_full_loss *loss;
    double value;
    CHECK_OK(ctx, pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PROFILE, &targets, &population, &loss));
    CHECK_OK(ctx, pv_full_loss_eval(ctx, loss, s->loglik, &value, gradient ? s->dloglik : NULL));
    if (log_marginal)
        memcpy(log_marginal, pv_full_loss_log_marginal(loss), 2 * (1 + STRATA) * sizeof *log_marginal);
    pv_full_loss_free(ctx, loss);
    return value;
}

static const double KNOWN[STRATA] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, COUNTED[STRATA] = {4000, 9000, HUGE_VAL};

static void is_a_sum_over_strata(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(2);
    const double *const n[] = {KNOWN, COUNTED};
    for (size_t c = 0; c < 2; c++) {
        sample s = make();
        double sum = 0, mean = 0, own[2 * STRATA], found[2 * (1 + STRATA)];
        for (int k = 0; k < STRATA; k++) {
            sum += alone(ctx, &s, k, n[c][k], own + 2 * k);
            mean += SHARE[k] * exp(own[2 * k + 1]);
        }
        double value = together(ctx, &s, n[c], false, found);
        CHECK_NEAR(value, sum, 1e-10 * fabs(sum));
        for (int i = 0; i < 2 * STRATA; i++)
            CHECK_NEAR(found[2 + i], own[i], 1e-10);
        CHECK_NEAR(exp(found[1]), mean, 1e-12);
    }
    pv_ctx_free(ctx);
}

static void gradient_is_that_of_the_value(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(2);
    const double *const n[] = {KNOWN, COUNTED};
    for (size_t c = 0; c < 2; c++) {
        sample s = make();
        together(ctx, &s, n[c], true, NULL);
        for (size_t i = 0; i < 2 * ROWS; i += 7) {
            const double step = 1e-5;
            sample up = s, down = s;
            up.loglik[i] += step;
            down.loglik[i] -= step;
            double slope = (together(ctx, &up, n[c], false, NULL) - together(ctx, &down, n[c], false, NULL)) / 2 / step;
            CHECK_NEAR(s.dloglik[i], slope, 1e-6 * (1 + fabs(slope)));
        }
    }
    pv_ctx_free(ctx);
}

/* With an intercept per stratum the optimum is that of logistic regression with offsets log(d_s/pi_s) for any strength:
 * there the gradient with respect to intercepts and slope vanishes. */
static void optimum_is_regression_with_offsets(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    sample s = make();
    double mass[2 * STRATA] = {0}, w[STRATA + 1] = {0};
    for (size_t i = 0; i < ROWS; i++)
        mass[2 * s.stratum[i] + s.label[i]] += s.weight[i];
    for (int iteration = 0; iteration < 5000;
         iteration++) { /* plain, by small steps, independent of the library's solvers */
        double g[STRATA + 1] = {0};
        for (size_t i = 0; i < ROWS; i++) {
            double p = 1 / (1 + exp(-(w[s.stratum[i]] + w[STRATA] * s.x[i]))), r = s.weight[i] * (p - s.label[i]);
            g[s.stratum[i]] += r;
            g[STRATA] += r * s.x[i];
        }
        for (int j = 0; j <= STRATA; j++)
            w[j] -= 0.02 * g[j];
    }
    double intercept[STRATA];
    for (int k = 0; k < STRATA; k++)
        intercept[k] = w[k] - log(mass[2 * k + 1] / mass[2 * k]) + log(PREVALENCE[2 * k + 1] / PREVALENCE[2 * k]);
    set_loglik(&s, intercept, w[STRATA]);
    const double *const n[] = {KNOWN, COUNTED};
    for (size_t c = 0; c < 2; c++) {
        double g[STRATA + 1] = {0};
        together(ctx, &s, n[c], true, NULL);
        for (size_t i = 0; i < ROWS; i++) {
            double p0 = exp(s.loglik[2 * i]), p1 = exp(s.loglik[2 * i + 1]);
            double r = s.dloglik[2 * i + 1] * p0 - s.dloglik[2 * i] * p1;
            g[s.stratum[i]] += r;
            g[STRATA] += r * s.x[i];
        }
        for (int j = 0; j <= STRATA; j++)
            CHECK_NEAR(g[j], 0, 1e-8);
    }
    pv_ctx_free(ctx);
}

static void selection_has_ratios_by_stratum(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(2);
    sample s = make();
    pv_targets targets = targets_of(&s);
    const double ratio[2 * STRATA] = {-0.5, 1.2, -0.7, 3, 0.1, 0.2};
    double value, by_hand = 0;
    CHECK_OK(ctx, pv_selection_loss(ctx, &targets, ratio, s.loglik, &value, s.dloglik, NULL));
    for (size_t i = 0; i < ROWS; i++) {
        const double *r = ratio + 2 * s.stratum[i];
        double g0 = s.loglik[2 * i] + r[0], g1 = s.loglik[2 * i + 1] + r[1], p1 = 1 / (1 + exp(g0 - g1));
        by_hand -= s.weight[i] * log(s.label[i] ? p1 : 1 - p1);
        CHECK_NEAR(s.dloglik[2 * i + 1], s.weight[i] * (p1 - s.label[i]), 1e-12);
    }
    CHECK_NEAR(value, by_hand, 1e-9);
    assert_int_equal(pv_selection_loss(ctx, &targets, ratio, s.loglik, &value, s.dloglik, s.x), PV_ERR_USAGE);
    pv_ctx_free(ctx);
}

static void bad_strata_are_refused(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_full_loss *loss;
    sample s = make();
    pv_targets targets = targets_of(&s);
    pv_prevalence population = population_of(KNOWN), none = {.classes = 2, .prevalence = PREVALENCE};
    assert_int_equal(pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PLUGIN, &targets, &population, &loss), PV_ERR_USAGE);
    assert_int_equal(pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PROFILE, &targets, &none, &loss), PV_ERR_USAGE);
    s.stratum[7] = STRATA;
    assert_int_equal(pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PROFILE, &targets, &population, &loss),
                     PV_ERR_INPUT);
    s.stratum[7] = 0;
    for (size_t i = 0; i < ROWS; i++)
        s.label[i] = s.stratum[i] == 1 ? 0 : s.label[i];
    assert_int_equal(pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PROFILE, &targets, &population, &loss),
                     PV_ERR_INPUT);
    const double uneven[STRATA] = {0.5, 0.5, 0.5};
    population.share = uneven;
    assert_int_equal(pv_prevalence_check(ctx, &population), PV_ERR_USAGE);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_sum_over_strata), cmocka_unit_test(gradient_is_that_of_the_value),
        cmocka_unit_test(optimum_is_regression_with_offsets), cmocka_unit_test(selection_has_ratios_by_stratum),
        cmocka_unit_test(bad_strata_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
