/* Ordered labels: the output layer compared with its definition, gradients with central differences, and what the
 * biases of a model with coupled labels can and cannot represent. */
#include "unit/check.h"

#include "infer/infer.h"
#include "model/model.h"

enum { N = 9, D = 4, MOST = 7 };

static void fill(size_t n, double *x, uint64_t index, double scale) {
    pv_rng rng = pv_rng_stream(9, 1, index);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * pv_rng_normal(&rng);
}

/* Differences of cumulative probabilities, where doubles resolve them. */
static void test_definition(void **state) {
    (void)state;
    for (size_t k = 2; k <= MOST; k++) {
        double b[MOST], c[MOST], eta[N], loglik[N * MOST], room[64];
        fill(k - 1, b, k, 1);
        fill(N, eta, 20 + k, 2);
        assert_true(pv__ordinal_room(k) <= 64);
        pv__ordinal_thresholds(k, b, room, c);
        pv__ordinal_forward(N, k, b, eta, room, loglik);
        for (size_t j = 0; j + 2 < k; j++)
            assert_true(c[j] < c[j + 1]);
        for (size_t i = 0; i < N; i++) {
            double before = 0, sum = 0;
            for (size_t y = 0; y < k; y++) {
                double up = y + 1 < k ? 1 / (1 + exp(eta[i] - c[y])) : 1;
                CHECK_NEAR(exp(loglik[i * k + y]), up - before, 1e-14);
                sum += exp(loglik[i * k + y]);
                before = up;
            }
            CHECK_NEAR(sum, 1, 1e-14);
        }
        /* softmax of the biases is the prediction at 0 */
        double none[1] = {0}, at[MOST], norm = 1;
        pv__ordinal_forward(1, k, b, none, room, at);
        for (size_t j = 0; j + 1 < k; j++)
            norm += exp(b[j]);
        CHECK_NEAR(exp(at[0]), 1 / norm, 1e-14);
        CHECK_NEAR(exp(at[k - 1]), exp(b[k - 2]) / norm, 1e-14);
    }
}

/* A label with probability 1e-200 and an extreme row lose neither digits nor gradients. */
static void test_extremes(void **state) {
    (void)state;
    const double b[3] = {-460, 1, -700};
    double eta[3] = {0, 900, -900}, loglik[12], room[64], deta[3], db[3] = {0}, ones[12];
    pv__ordinal_forward(3, 4, b, eta, room, loglik);
    double norm = log1p(exp(1.0));
    CHECK_NEAR(loglik[1], -460 - norm, 1e-10);
    CHECK_NEAR(loglik[3], -700 - norm, 1e-10);
    for (int i = 0; i < 12; i++) {
        assert_true(isfinite(loglik[i]) && loglik[i] <= 0);
        ones[i] = 1;
    }
    pv__ordinal_backward(3, 4, b, eta, ones, room, deta, db);
    for (int j = 0; j < 3; j++)
        assert_true(isfinite(db[j]) && isfinite(deta[j]));
}

typedef struct problem {
    pv_ctx *ctx;
    pv_model *model;
    pv_model_work *work;
    size_t k, params;
    double w[400], dw[400], x[N * D], loglik[N * MOST], slope[N * MOST];
} problem;

static double value(problem *p) {
    double sum = 0;
    pv_model_forward(p->model, p->work, p->w, N, p->x, p->loglik);
    for (size_t i = 0; i < N * p->k; i++)
        sum += p->loglik[i] * p->slope[i];
    return sum;
}

static void check_gradient(const char *spec, int classes) {
    problem p = {.ctx = check_ctx(1), .k = (size_t)classes};
    CHECK_OK(p.ctx, pv_model_new(p.ctx, spec, D, classes, &p.model));
    CHECK_OK(p.ctx, pv_model_work_new(p.ctx, p.model, N, &p.work));
    p.params = pv_model_params(p.model);
    assert_true(p.params <= 400);
    fill(p.params, p.w, 1, 0.6);
    fill(N * D, p.x, 2, 1);
    fill(N * p.k, p.slope, 3, 1);
    value(&p);
    pv_model_backward(p.model, p.work, p.w, N, p.x, p.loglik, p.slope, p.dw);
    size_t biases = 0;
    for (size_t i = 0; i < p.params; i++) {
        double before = p.w[i], h = 1e-6;
        p.w[i] = before + h;
        double up = value(&p);
        p.w[i] = before - h;
        double down = value(&p);
        p.w[i] = before;
        CHECK_NEAR(p.dw[i], (up - down) / (2 * h), 2e-8 * (1 + fabs(p.dw[i])));
        biases += pv_model_is_bias(p.model, i);
    }
    assert_true(biases >= p.k - 1);
    pv_model_work_free(p.ctx, p.work);
    pv_model_free(p.ctx, p.model);
    pv_ctx_free(p.ctx);
}

static void test_gradients(void **state) {
    (void)state;
    for (int classes = 2; classes <= 6; classes += 2) {
        check_gradient("ordinal", classes);
        check_gradient("mlp:5,ordinal", classes);
        check_gradient("mlp:6,4,ordinal", classes);
    }
}

/* With two labels: logistic regression. */
static void test_two_labels(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    static const char *const specs[] = {"linear", "ordinal"};
    double loglik[2][2 * N], w[1 + D], x[N * D];
    fill(1 + D, w, 5, 1);
    fill(N * D, x, 6, 1);
    for (int s = 0; s < 2; s++) {
        pv_model *model;
        pv_model_work *work;
        CHECK_OK(ctx, pv_model_new(ctx, specs[s], D, 2, &model));
        CHECK_OK(ctx, pv_model_work_new(ctx, model, N, &work));
        assert_int_equal(pv_model_params(model), 1 + D);
        pv_model_forward(model, work, w, N, x, loglik[s]);
        pv_model_work_free(ctx, work);
        pv_model_free(ctx, model);
    }
    for (int i = 0; i < 2 * N; i++)
        CHECK_NEAR(loglik[1][i], loglik[0][i], 1e-13);
    pv_ctx_free(ctx);
}

/* Starting at log p predicts p at eta = 0, for every kind of output. */
static void test_start(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    const double log_p[3] = {log(0.7), log(0.1), log(0.2)};
    double w[8], x[D] = {0}, loglik[3];
    pv_model *model;
    pv_model_work *work;
    CHECK_OK(ctx, pv_model_new(ctx, "ordinal", D, 3, &model));
    CHECK_OK(ctx, pv_model_work_new(ctx, model, 1, &work));
    pv_model_start(model, 1, log_p, w);
    pv_model_forward(model, work, w, 1, x, loglik);
    for (int y = 0; y < 3; y++)
        CHECK_NEAR(loglik[y], log_p[y], 1e-14);
    pv_model_work_free(ctx, work);
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

/* Grades drawn by label, in equal numbers, from a population with proportional odds. */
static void grades(pv_ctx *ctx, pv_schema **schema, pv_dataset **data) {
    enum { ROWS = 900 };
    static double x[2][ROWS], y[ROWS];
    pv_rng rng = pv_rng_stream(3, 1, 1);
    size_t count[3] = {0};
    for (size_t rows = 0; rows < ROWS;) {
        double a = pv_rng_normal(&rng), b = pv_rng_normal(&rng), u = pv_rng_uniform(&rng);
        double z = a - 0.5 * b + log(u / (1 - u));
        size_t grade = z < 1.5 ? 0 : z < 3 ? 1 : 2;
        if (count[grade] == ROWS / 3)
            continue;
        count[grade]++;
        x[0][rows] = a;
        x[1][rows] = b;
        y[rows++] = (double)grade;
    }
    pv_table *table;
    static const char *const names[] = {"a", "b"};
    CHECK_OK(ctx, pv_table_new(ctx, "grades", ROWS, &table));
    for (int c = 0; c < 2; c++)
        CHECK_OK(ctx, pv_table_add_numbers(ctx, table, names[c], PV_ARRAY_F64, x[c], PV_PACKED, NULL, false));
    CHECK_OK(ctx, pv_table_add_numbers(ctx, table, "grade", PV_ARRAY_F64, y, PV_PACKED, NULL, false));
    CHECK_OK(ctx, pv_schema_learn(ctx, table, &(pv_roles){.target = "grade"}, schema, data));
    pv_table_free(ctx, table);
}

/* Minibatches preserve a known prevalence by grade, exactly with auxiliary marginals; all methods find the linear
 * predictor. */
static void test_known_prevalence(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_schema *schema;
    pv_dataset *data;
    grades(ctx, &schema, &data);
    static const struct {
        pv_marginal marginal;
        const char *batch;
    } ways[] = {{PV_MARGINAL_PROFILE, "full"},
                {PV_MARGINAL_PLUGIN, "full"},
                {PV_MARGINAL_PROFILE, "100"},
                {PV_MARGINAL_AUXILIARY_CONSTANT, "100"}};
    const double truth[3] = {0.7709, 0.1542, 0.0749}; /* P(z < 1.5), P(z < 3), by quadrature */
    for (int i = 0; i < 4; i++) {
        pv_fit_options options = pv_fit_options_default();
        pv_classifier *fit;
        double c[4];
        options.model = "ordinal";
        options.prevalence = "0.7709,0.1542,0.0749";
        options.marginal = (int)ways[i].marginal;
        options.batch = ways[i].batch;
        options.epochs = 60;
        CHECK_OK(ctx, pv_fit(ctx, schema, data, &options, &fit));
        for (int y = 0; y < 3; y++)
            CHECK_NEAR(exp(fit->log_marginal[y]), truth[y], 1e-9);
        CHECK_OK(ctx, pv_classifier_coefficients(ctx, fit, c));
        CHECK_NEAR(c[0], 1.5, 0.25);
        CHECK_NEAR(c[1], 3, 0.35);
        CHECK_NEAR(c[2], 1, 0.25);
        CHECK_NEAR(c[3], -0.5, 0.25);
        pv_classifier_free(ctx, fit);
    }
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_ctx_free(ctx);
}

/* Rows that lie between the thresholds of their own labels have no maximum likelihood estimate. */
static void test_separated(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    static const double x[9] = {-4, -3, -2.5, -1, 0, 1, 2, 3, 5}, y[9] = {0, 0, 0, 1, 1, 1, 2, 2, 2};
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    CHECK_OK(ctx, pv_table_new(ctx, "apart", 9, &table));
    CHECK_OK(ctx, pv_table_add_numbers(ctx, table, "x", PV_ARRAY_F64, x, PV_PACKED, NULL, false));
    CHECK_OK(ctx, pv_table_add_numbers(ctx, table, "y", PV_ARRAY_F64, y, PV_PACKED, NULL, false));
    CHECK_OK(ctx, pv_schema_learn(ctx, table, &(pv_roles){.target = "y"}, &schema, &data));
    pv_fit_options options = pv_fit_options_default();
    pv_classifier *fit;
    options.model = "ordinal";
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ML;
    assert_int_equal(pv_fit(ctx, schema, data, &options, &fit), PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "separate the labels completely"));
    options.infer = PV_INFER_MAP;
    CHECK_OK(ctx, pv_fit(ctx, schema, data, &options, &fit));
    pv_classifier_free(ctx, fit);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition), cmocka_unit_test(test_extremes),
                                       cmocka_unit_test(test_gradients),  cmocka_unit_test(test_two_labels),
                                       cmocka_unit_test(test_start),      cmocka_unit_test(test_known_prevalence),
                                       cmocka_unit_test(test_separated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
