/* Laplace's approximation over a network's last layer: draws compared with the network with its last layer replaced,
 * their covariance with the likelihood's curvature by differences, model files. */
#include "infer/infer.h"
#include "infer/last_layer.h"

#include "model/model.h"
#include "predicting.h"
#include "problem.h"
#include "fixture.h"

static char labels_text[] = "malignant";

typedef struct fitted {
    problem of;
    pv_dataset *target;
    pv_classifier *classifier;
} fitted;

static fitted fit_network(const char *model, const char *prevalence_n, int64_t rows, int64_t draws) {
    pv_simulation study = {.cases = rows, .controls = rows, .prevalence = 0.05, .seed = 2};
    pv_simulation clinic = {.rows = 40, .cases = -1, .controls = -1, .prevalence = 0.3, .seed = 3};
    pv_roles roles = {.target = labels_text}, none = {0};
    pv_table *table, *other;
    ok(pv_simulate(ctx, "nodules", &study, &table, NULL));
    fitted f = {.of = learn(ctx, table, &roles)};
    ok(pv_simulate(ctx, "nodules", &clinic, &other, NULL));
    ok(pv_schema_apply(ctx, f.of.schema, other, &none, &f.target));
    pv_table_free(ctx, other);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.prevalence_n = prevalence_n;
    options.model = model;
    options.prior = "normal:1";
    options.batch = "50";
    options.epochs = 10;
    options.infer = PV_INFER_LAPLACE;
    options.draws = draws;
    ok(pv_fit(ctx, f.of.schema, f.of.data, &options, &f.classifier));
    assert_true(pv__is_last_layer(f.classifier));
    return f;
}

static void fitted_free(fitted *f) {
    pv_classifier_free(ctx, f->classifier);
    pv_dataset_free(ctx, f->target);
    problem_free(ctx, &f->of);
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

/* The mean over draws of the network's probabilities with its last layer replaced by each. target: label proportions to
 * convert to; NULL: no conversion. */
static void replace(const fitted *f, const double *target, double *mean) {
    const pv_classifier *c = f->classifier;
    const pv_posterior *p = c->posterior;
    size_t params = pv_model_params(c->model), n = f->target->rows;
    double *w = calloc(params + 2 * n, sizeof *w), *loglik = w + params;
    assert_non_null(w);
    memcpy(w, c->w, params * sizeof *w);
    memset(mean, 0, 2 * n * sizeof *mean);
    pv_classifier one = *c;
    one.w = w;
    for (size_t s = 0; s < p->count; s++) {
        memcpy(w + params - p->dims, p->draws + s * p->dims, p->dims * sizeof *w);
        ok(pv_predict_loglik(ctx, &one, f->target, loglik));
        if (target)
            pv_adapt(n, 2, loglik, c->draw_log_marginal + 2 * s, target, loglik);
        for (size_t i = 0; i < 2 * n; i++)
            mean[i] += exp(loglik[i]) / (double)p->count;
    }
    free(w);
}

static void compare(const fitted *f, const char *population, const double *target) {
    const pv_predict_options wanted = {.level = 0.9};
    double mean[80];
    pv_prediction *said;
    assert_int_equal(f->target->rows, 40);
    replace(f, target, mean);
    ok(predict_in(ctx, f->classifier, f->target, population, NULL, &wanted, &said));
    for (size_t i = 0; i < 80; i++) {
        near(said->p[i], mean[i], 1e-12);
        assert_true(said->lo[i] < said->p[i] && said->p[i] < said->hi[i]);
    }
    pv_prediction_free(ctx, said);
}

static void test_predictions(void **state) {
    (void)state;
    const double shares[2] = {0.7, 0.3};
    static const char *const models[] = {"mlp:6", "mlp:8,5"}, *const strengths[] = {"known", "60"};
    for (int m = 0; m < 2; m++) {
        fitted f = fit_network(models[m], strengths[m], 60, 100);
        compare(&f, "true", NULL);
        compare(&f, "known:0.3", shares);
        fitted_free(&f);
    }
}

/* A prevalence of 60 observations, with the half counts of Jeffreys' prior, varies over the draws as it should; a known
 * one does not vary. */
static void test_prevalence(void **state) {
    (void)state;
    fitted f = fit_network("mlp:6", "60", 60, 4000);
    const double *log_p = f.classifier->draw_log_marginal;
    double mean = 0, square = 0;
    for (size_t s = 0; s < 4000; s++)
        mean += exp(log_p[2 * s + 1]) / 4000;
    for (size_t s = 0; s < 4000; s++)
        square += pow(exp(log_p[2 * s + 1]) - mean, 2) / 4000;
    near(mean, 3.5 / 61, 0.002);
    near(sqrt(square), sqrt(3.5 / 61 * 57.5 / 61 / 62), 0.002);
    fitted_free(&f);
    f = fit_network("mlp:6", "known", 60, 100);
    for (size_t s = 0; s < 100; s++)
        near(exp(f.classifier->draw_log_marginal[2 * s + 1]), 0.05, 1e-12);
    fitted_free(&f);
}

/* ---- covariance -------------------------------------------------------------------------------------------------- */

enum { WIDTH = 3, PARAMS = WIDTH + 1 };

/* - sum log p_s(y|h) with log odds u_0 + u h in the population, converted to the sample's label proportions of one
 * half.
 */
static double loss(const fitted *f, const double *hidden, const double *u) {
    double sum = 0;
    for (size_t i = 0; i < f->of.data->rows; i++) {
        double z = u[0] - log(0.05 / 0.95);
        for (size_t j = 0; j < WIDTH; j++)
            z += u[1 + j] * hidden[i * WIDTH + j];
        sum -= pv_log_sigmoid(f->of.data->label[i] ? z : -z);
    }
    return sum;
}

/* u = (b_1 - b_0, W_1 - W_0) of a layer W [WIDTH][2], b [2]. */
static void differences(const double *tail, double *u) {
    u[0] = tail[2 * WIDTH + 1] - tail[2 * WIDTH];
    for (size_t j = 0; j < WIDTH; j++)
        u[1 + j] = tail[2 * j + 1] - tail[2 * j];
}

/* With many rows the prior is negligible: the draws' covariance, plus what profile subtracts for the intercept, times
 * the likelihood's curvature is the identity. */
static void test_covariance(void **state) {
    (void)state;
    enum { DRAWS = 10000, ROWS = 1500 };
    const double h = 1e-3;
    fitted f = fit_network("mlp:3", "known", ROWS, DRAWS);
    const pv_posterior *p = f.classifier->posterior;
    double *hidden = calloc((size_t)f.of.data->rows * WIDTH, sizeof *hidden), covariance[PARAMS][PARAMS] = {{0}},
           curvature[PARAMS][PARAMS], centre[PARAMS], u[PARAMS];
    assert_non_null(hidden);
    ok(pv__hidden_rows(ctx, f.classifier->model, f.classifier->w, f.of.data->rows, f.of.data->x, f.of.data, hidden));
    differences(f.classifier->w + pv_model_params(f.classifier->model) - p->dims, centre);
    for (size_t s = 0; s < p->count; s++) {
        differences(p->draws + s * p->dims, u);
        for (size_t i = 0; i < PARAMS; i++)
            for (size_t j = 0; j < PARAMS; j++)
                covariance[i][j] += (u[i] - centre[i]) * (u[j] - centre[j]) / (double)p->count;
    }
    covariance[0][0] += 2.0 / ROWS;
    for (size_t i = 0; i < PARAMS; i++)
        for (size_t j = 0; j < PARAMS; j++) {
            double value = 0;
            for (int corner = 0; corner < 4; corner++) {
                memcpy(u, centre, sizeof u);
                u[i] += corner & 1 ? h : -h;
                u[j] += corner & 2 ? h : -h;
                value += (corner == 0 || corner == 3 ? 1 : -1) * loss(&f, hidden, u) / (4 * h * h);
            }
            curvature[i][j] = value;
        }
    for (size_t i = 0; i < PARAMS; i++) {
        double variance = 0; /* along row i of the curvature: equals its own entry, since covariance is its inverse */
        for (size_t j = 0; j < PARAMS; j++)
            for (size_t l = 0; l < PARAMS; l++)
                variance += curvature[i][j] * covariance[j][l] * curvature[l][i];
        near(variance / curvature[i][i], 1, 0.05);
    }
    free(hidden);
    fitted_free(&f);
}

/* ---- model files and errors -------------------------------------------------------------------------------------- */

static void test_file(void **state) {
    (void)state;
    fitted f = fit_network("mlp:6", "known", 60, 100);
    pv_classifier *back;
    ok(pv_classifier_save(ctx, f.classifier, path));
    ok(pv_classifier_load(ctx, path, &back));
    assert_int_equal(back->posterior->dims, f.classifier->posterior->dims);
    assert_memory_equal(back->posterior->draws, f.classifier->posterior->draws,
                        100 * back->posterior->dims * sizeof(double));
    pv_classifier_free(ctx, back);
    fitted_free(&f);
}

static void test_sound_sizes(void **state) {
    (void)state;
    pv_model *model;
    ok(pv_model_new(ctx, "mlp:6", 7, 2, &model));
    assert_true(pv__posterior_dims_sound(model, pv_model_params(model)));
    assert_true(pv__posterior_dims_sound(model, 14));
    assert_false(pv__posterior_dims_sound(model, 13));
    assert_false(pv__posterior_dims_sound(model, 0));
    pv_model_free(ctx, model);
    ok(pv_model_new(ctx, "mlp:6,ordinal", 7, 3, &model));
    assert_false(pv__posterior_dims_sound(model, 21));
    pv_model_free(ctx, model);
    ok(pv_model_new(ctx, "linear", 7, 2, &model));
    assert_false(pv__posterior_dims_sound(model, 14));
    pv_model_free(ctx, model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_predictions), cmocka_unit_test(test_prevalence),
                                       cmocka_unit_test(test_covariance), cmocka_unit_test(test_file),
                                       cmocka_unit_test(test_sound_sizes)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
