/* Predictions in a population: the number of forward passes, and consistency of all results. */
#include "fixture.h"
#include "predicting.h"
#include "problem.h"

/* Replaces the library's function (-Wl,--wrap) to count rows. */
static size_t forwarded;
void __real_pv_model_forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                             double *loglik);
void __wrap_pv_model_forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                             double *loglik);
void __wrap_pv_model_forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                             double *loglik) {
#pragma omp atomic
    forwarded += n;
    __real_pv_model_forward(model, work, w, n, x, loglik);
}

static const char *const everywhere[] = {"true", "known:0.3", "design", "unknown"};
enum { POPULATIONS = sizeof everywhere / sizeof *everywhere };

/* All results, in each population: the number of forward passes per row (unknown: additional ones). */
static void check_passes(const pv_classifier *c, const pv_dataset *data, size_t passes, size_t unknown) {
    const pv_predict_options wanted = {.level = c->posterior ? 0.9 : 0, .likelihood = true};
    pv_prediction *home, *said;
    ok(pv_predict(ctx, c, data, NULL, NULL, &home));
    for (size_t i = 0; i < POPULATIONS; i++) {
        forwarded = 0;
        ok(predict_in(ctx, c, data, everywhere[i], NULL, &wanted, &said));
        assert_int_equal(forwarded, data->rows * (i == POPULATIONS - 1 ? unknown : passes));
        assert_memory_equal(said->loglik, home->log_p, said->rows * (size_t)said->classes * sizeof(double));
        assert_int_equal(said->elsewhere, i > 0);
        assert_int_equal(said->inferred != NULL, i == POPULATIONS - 1);
        double mass = 0;
        for (int y = 0; y < said->classes; y++)
            mass += said->prevalence[y];
        near(mass, 1, 1e-12);
        for (size_t j = 0; j < said->rows * (size_t)said->classes; j++) {
            near(exp(said->log_p[j]), said->p[j], 1e-14);
            if (said->lo)
                assert_true(said->lo[j] <= said->hi[j]);
        }
        pv_prediction_free(ctx, said);
    }
    pv_prediction_free(ctx, home);
}

static void a_network_goes_forward_once(void **state) {
    (void)state;
    pv_image_options image = {0};
    pv_options_default(pv_image_option_table, &image);
    image.views = 2;
    image.size = 6;
    problem p = discs(ctx, &image);
    pv_fit_options options = pv_fit_options_default();
    options.model = "convnet:views=2,size=6,low=4,channels=8,features=8";
    options.prevalence = "0.1";
    options.epochs = 1;
    pv_classifier *c = fit(ctx, &p, &options);
    check_passes(c, p.data, 1, 1);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

/* Once per draw; an unknown prevalence needs the ratios of all rows before the first is predicted. */
static void draws_go_forward_once(void **state) {
    (void)state;
    problem p = nodules(ctx, 30, 1);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.match = PV_MATCH_NONE; /* otherwise likelihoods differ between populations */
    pv_classifier *c = fit(ctx, &p, &options);
    check_passes(c, p.data, 1, 1);
    pv_classifier_free(ctx, c);
    options.infer = PV_INFER_LAPLACE;
    options.draws = 60;
    c = fit(ctx, &p, &options);
    drop_reference(ctx, c);
    check_passes(c, p.data, 60, 120);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

/* plain is corrected to the given prevalence; without one there is no true population. */
static void plain_is_corrected(void **state) {
    (void)state;
    problem p = nodules(ctx, 30, 2);
    pv_fit_options options = pv_fit_options_default();
    options.loss = PV_LOSS_PLAIN;
    options.prevalence = "0.05";
    pv_classifier *c = fit(ctx, &p, &options);
    pv_prediction *home, *design;
    ok(pv_predict_in(ctx, c, p.data, "true", NULL, &home));
    ok(pv_predict_in(ctx, c, p.data, "design", NULL, &design));
    for (size_t i = 0; i < home->rows; i++) {
        double odds = design->p[2 * i + 1] / design->p[2 * i] * 0.05 / 0.95; /* the design is balanced */
        near(home->p[2 * i + 1], odds / (1 + odds), 1e-12);
    }
    pv_prediction_free(ctx, home);
    pv_prediction_free(ctx, design);
    pv_classifier_free(ctx, c);
    options.prevalence = NULL;
    c = fit(ctx, &p, &options);
    assert_int_equal(pv_predict(ctx, c, p.data, NULL, NULL, &home), PV_ERR_USAGE);
    assert_null(home);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "the target population is unknown"));
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

static void names_of_populations(void **state) {
    (void)state;
    problem p = nodules(ctx, 30, 2);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    pv_classifier *c = fit(ctx, &p, &options);
    for (size_t i = 0; i < POPULATIONS; i++) {
        pv_population *population;
        ok(pv_population_new(ctx, c, everywhere[i], NULL, &population));
        const char *name = pv_population_kind_name(population->kind);
        assert_int_equal(strncmp(everywhere[i], name, strlen(name)), 0);
        pv_population_free(ctx, population);
    }
    const char *const wrong[] = {"", "known", "known:", "TRUE", "true:", "unknown:1", "0.2", "known:0.1-0.2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pv_population *population;
        assert_int_equal(pv_population_new(ctx, c, wrong[i], NULL, &population), PV_ERR_USAGE);
        assert_null(population);
    }
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_network_goes_forward_once),
                                       cmocka_unit_test(draws_go_forward_once), cmocka_unit_test(plain_is_corrected),
                                       cmocka_unit_test(names_of_populations)};
    return cmocka_run_group_tests_name("predict", tests, setup, teardown);
}
