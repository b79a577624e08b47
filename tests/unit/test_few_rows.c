/* Linear models with few rows: the learned scale of the prior, and risks averaged over the parameters' uncertainty,
 * compared with independent sums and searches. */
#include "infer/infer.h"
#include "unit/fixture.h"

enum { ROWS = 60, COLUMNS = 6 };

/* ---- the mean of a logistic function ----------------------------------------------------------------------------- */

/* The midpoint rule with 400,000 steps, also around the mode of an exponential. */
static double brute_force(double m, double s) {
    enum { STEPS = 400000 };
    double low = -12, high = 12 + s, sum = 0, step = (high - low) / STEPS;
    for (int i = 0; i < STEPS; i++) {
        double z = low + (i + 0.5) * step;
        sum += exp(-0.5 * z * z) / (1 + exp(-(m + s * z)));
    }
    return sum * step / sqrt(2 * 3.14159265358979323846);
}

static void means_are_integrals(void **state) {
    (void)state;
    static const double logit[] = {0, -0.3, -2, -4.6, -6.9, -13, -30, -60}, sd[] = {0.01, 0.1, 0.5, 1, 2.9, 3.1, 6, 15};
    const double h = 1e-5;
    for (size_t i = 0; i < sizeof logit / sizeof *logit; i++)
        for (size_t j = 0; j < sizeof sd / sizeof *sd; j++) {
            double slope, m = logit[i], s = sd[j], log_mean = pv__log_logistic_mean(m, s, &slope);
            near(exp(log_mean) / brute_force(m, s), 1, 2e-9);
            double up = pv__log_logistic_mean(m - 2 * h, s, NULL), middle = pv__log_logistic_mean(m - h, s, NULL);
            near(slope, (log_mean - up) / (2 * h), 1e-4);
            assert_true(middle < log_mean);
        }
    near(pv__log_logistic_mean(-3, 0, NULL), -log1p(exp(3)), 1e-12);
    assert_true(isfinite(pv__log_logistic_mean(-1e5, 1e3, NULL)) && isfinite(pv__log_logistic_mean(-1e5, 3, NULL)));
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

typedef struct fitted {
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
} fitted;

/* Rows with labels 0 .. classes-1 in turn, in an order given by step (1: original), with copies of each. */
static pv_table *make_table(int classes, size_t step, size_t copies, bool counts) {
    static double value[COLUMNS + 2][4 * ROWS];
    pv_table *table;
    size_t n = ROWS * (counts ? 1 : copies);
    for (size_t i = 0; i < n; i++) {
        size_t row = i % ROWS * step % ROWS;
        pv_rng rng = pv_rng_stream(3, 1, row);
        int y = (int)(row % (size_t)classes);
        for (size_t c = 0; c < COLUMNS; c++)
            value[c][i] = pv_rng_normal(&rng) + (c < 2 ? 0.8 * y : 0);
        value[COLUMNS][i] = y;
        value[COLUMNS + 1][i] = (double)copies;
    }
    ok(pv_table_new(ctx, "rows", n, &table));
    for (size_t c = 0; c < COLUMNS; c++)
        ok(pv_table_add_numbers(ctx, table, ((const char *[]){"a", "b", "c", "d", "e", "f"})[c], PV_ARRAY_F64, value[c],
                                PV_PACKED, NULL, true));
    ok(pv_table_add_numbers(ctx, table, "y", PV_ARRAY_F64, value[COLUMNS], PV_PACKED, NULL, true));
    if (counts)
        ok(pv_table_add_numbers(ctx, table, "n", PV_ARRAY_F64, value[COLUMNS + 1], PV_PACKED, NULL, true));
    return table;
}

static fitted fit_to(pv_table *table, bool counts, const pv_fit_options *options) {
    fitted f = {0};
    ok(pv_schema_learn(ctx, table, &(pv_roles){.target = "y", .weights = counts ? "n" : NULL}, &f.schema, &f.data));
    ok(pv_fit(ctx, f.schema, f.data, options, &f.c));
    pv_table_free(ctx, table);
    return f;
}

static void release(fitted *f) {
    pv_classifier_free(ctx, f->c);
    pv_dataset_free(ctx, f->data);
    pv_schema_free(ctx, f->schema);
}

static double scale_of(const fitted *f) {
    pv_fit_options *used;
    double scale;
    ok(pv_classifier_options(ctx, f->c, &used));
    assert_memory_equal(used->prior, "normal:", 7);
    scale = strtod(used->prior + 7, NULL);
    assert_true(used->prior_chosen);
    pv_fit_options_free(ctx, used);
    return scale;
}

/* ---- scale ------------------------------------------------------------------------------------------------------- */

enum { P = COLUMNS + 1 };

/* log m(s) for two labels and rows x, by Newton's method and elimination. */
static double log_evidence(const pv_dataset *data, double s) {
    double w[P] = {0}, value = 0, log_det = 0;
    for (int step = 0; step < 30; step++) {
        double g[P] = {0}, H[P][P] = {{0}};
        value = -COLUMNS * log(s);
        log_det = 0;
        for (size_t i = 0; i < data->rows; i++) {
            double x[P] = {1}, eta = w[0], y = data->label[i];
            for (size_t c = 0; c < COLUMNS; c++)
                eta += w[c + 1] * (x[c + 1] = data->x[i * COLUMNS + c]);
            double p = 1 / (1 + exp(-eta));
            value += log(y > 0 ? p : 1 - p);
            for (size_t a = 0; a < P; a++) {
                g[a] += (y - p) * x[a];
                for (size_t b = 0; b < P; b++)
                    H[a][b] += p * (1 - p) * x[a] * x[b];
            }
        }
        for (size_t a = 1; a < P; a++) {
            value -= w[a] * w[a] / (2 * s * s);
            g[a] -= w[a] / (s * s);
            H[a][a] += 1 / (s * s);
        }
        for (size_t a = 0; a < P; a++) {
            log_det += log(H[a][a]);
            for (size_t b = a + 1; b < P; b++) {
                double factor = H[b][a] / H[a][a];
                g[b] -= factor * g[a];
                for (size_t c = a; c < P; c++)
                    H[b][c] -= factor * H[a][c];
            }
        }
        for (size_t a = P; a-- > 0;) {
            for (size_t b = a + 1; b < P; b++)
                g[a] -= H[a][b] * g[b];
            w[a] += g[a] /= H[a][a];
        }
    }
    double off = log(s / 0.5) / log(2);
    return value - 0.5 * log_det - 0.5 * off * off;
}

static void rows_choose_the_likeliest(void **state) {
    (void)state;
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    fitted f = fit_to(make_table(2, 1, 1, false), false, &options);
    double chosen = scale_of(&f), best = 0.02;
    for (int i = 0; i < 960; i++) {
        double s = 0.02 * pow(1.005, i);
        best = log_evidence(f.data, s) > log_evidence(f.data, best) ? s : best;
    }
    assert_true(best > 0.1 && best < 2);
    near(chosen / best, 1, 0.02);
    /* giving the scale explicitly gives the same fit */
    char text[32];
    snprintf(text, sizeof text, "normal:%.3g", chosen);
    options.prior = text;
    fitted stated = fit_to(make_table(2, 1, 1, false), false, &options);
    assert_memory_equal(stated.c->combination->efficient, f.c->combination->efficient, P * sizeof(double));
    for (size_t i = 0; i < P; i++) /* the uncertainty of the choice */
        assert_true(f.c->standard_error[i] > stated.c->standard_error[i]);
    release(&stated);
    release(&f);
}

static void order_and_counts_do_not_matter(void **state) {
    (void)state;
    static const struct {
        size_t step, copies;
        bool counts;
    } way[] = {{1, 2, false}, {7, 2, false}, {1, 2, true}};
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.1,0.2,0.7";
    double scale[3];
    for (size_t i = 0; i < 3; i++) {
        fitted f = fit_to(make_table(3, way[i].step, way[i].copies, way[i].counts), way[i].counts, &options);
        scale[i] = scale_of(&f);
        assert_non_null(f.c->averaging);
        release(&f);
    }
    near(scale[1], scale[0], 1e-12);
    near(scale[2], scale[0], 1e-12);
}

/* With many rows per slope: the usual prior, and risks at the estimate. */
static void many_rows_are_left_alone(void **state) {
    (void)state;
    double x[2000], y[2000];
    for (size_t i = 0; i < 2000; i++) {
        pv_rng rng = pv_rng_stream(5, 1, i);
        y[i] = (double)(i % 2);
        x[i] = pv_rng_normal(&rng) + y[i];
    }
    pv_table *table;
    ok(pv_table_new(ctx, "rows", 2000, &table));
    ok(pv_table_add_numbers(ctx, table, "x", PV_ARRAY_F64, x, PV_PACKED, NULL, true));
    ok(pv_table_add_numbers(ctx, table, "y", PV_ARRAY_F64, y, PV_PACKED, NULL, true));
    pv_fit_options options = pv_fit_options_default(), *used;
    options.prevalence = "0.05";
    fitted f = fit_to(table, false, &options);
    ok(pv_classifier_options(ctx, f.c, &used));
    assert_string_equal(used->prior, "normal:2.5");
    assert_false(used->prior_chosen);
    assert_null(f.c->averaging);
    pv_fit_options_free(ctx, used);
    release(&f);
}

/* ---- averages ---------------------------------------------------------------------------------------------------- */

/* The weighted mean risk of the training rows stays the given prevalence; risks are means over the stored
 * distribution. */
static void check_averages(int classes, const char *prevalence, double tolerance) {
    enum { DRAWS = 4000 };
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = prevalence;
    fitted f = fit_to(make_table(classes, 1, 1, false), false, &options);
    size_t k = (size_t)classes, J = k - 1, all = J * P;
    double mean[3] = {0}, factor[2 * P * 2 * P];
    pv_prediction *said;
    assert_non_null(f.c->averaging);
    ok(pv_predict(ctx, f.c, f.data, NULL, NULL, &said));
    for (size_t i = 0; i < ROWS; i++)
        for (size_t y = 0; y < k; y++)
            mean[y] += f.c->prevalence[f.data->label[i]] / (ROWS / (double)k) * said->p[i * k + y];
    for (size_t y = 0; y < k; y++)
        near(mean[y], f.c->prevalence[y], 1e-9);
    memcpy(factor, f.c->spread, all * all * sizeof *factor);
    assert_true(pv__cholesky(all, factor, 0));
    for (size_t i = 0; i < ROWS; i++) {
        double sum[3] = {0};
        for (uint64_t d = 0; d < DRAWS; d++) { /* antithetic */
            pv_rng rng = pv_rng_stream(9, 1, d / 2);
            double z[2 * P], logit[3] = {0}, sign = d % 2 ? -1 : 1;
            for (size_t a = 0; a < all; a++)
                z[a] = sign * pv_rng_normal(&rng);
            for (size_t j = 0; j < J; j++) {
                logit[j + 1] = f.c->averaging[j];
                for (size_t a = 0; a < P; a++) {
                    double w = f.c->w[j * P + a];
                    for (size_t b = 0; b <= j * P + a; b++)
                        w += factor[(j * P + a) * all + b] * z[b];
                    logit[j + 1] += w * (a ? f.data->x[i * COLUMNS + a - 1] : 1);
                }
            }
            pv_log_softmax(classes, logit, logit);
            for (size_t y = 0; y < k; y++)
                sum[y] += exp(logit[y]) / DRAWS;
        }
        for (size_t y = 0; y < k; y++)
            near(said->p[i * k + y], sum[y], tolerance);
    }
    pv_prediction_free(ctx, said);
    release(&f);
}

static void averages_are_means_over_draws(void **state) {
    (void)state;
    check_averages(2, "0.05", 0.01);
    check_averages(3, "0.1,0.2,0.7", 0.02);
}

static void averages_are_kept(void **state) {
    (void)state;
    unsigned char *bytes;
    size_t size;
    double *eta, logit;
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    fitted f = fit_to(make_table(2, 1, 1, false), false, &options);
    pv_classifier *loaded;
    pv_prediction *before, *after;
    ok(pv_classifier_to_bytes(ctx, f.c, &bytes, &size));
    ok(pv_classifier_from_bytes(ctx, "a", bytes, size, &loaded));
    ok(pv_predict_in(ctx, f.c, f.data, "known:0.3", NULL, &before));
    ok(pv_predict_in(ctx, loaded, f.data, "known:0.3", NULL, &after));
    assert_memory_equal(before->p, after->p, 2 * ROWS * sizeof(double));
    assert_non_null(eta = calloc(ROWS, sizeof *eta)); /* still linear */
    ok(pv_linear_predictor(ctx, f.c, f.data, eta));
    for (size_t i = 0; i < ROWS; i++) {
        logit = f.c->w[0];
        for (size_t c = 0; c < COLUMNS; c++)
            logit += f.c->w[c + 1] * f.data->x[i * COLUMNS + c];
        near(eta[i], logit, 1e-9);
    }
    free(eta);
    pv_bytes_free(ctx, bytes);
    pv_prediction_free(ctx, before);
    pv_prediction_free(ctx, after);
    pv_classifier_free(ctx, loaded);
    release(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(means_are_integrals),
                                       cmocka_unit_test(rows_choose_the_likeliest),
                                       cmocka_unit_test(order_and_counts_do_not_matter),
                                       cmocka_unit_test(many_rows_are_left_alone),
                                       cmocka_unit_test(averages_are_means_over_draws),
                                       cmocka_unit_test(averages_are_kept)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
