/* Labels recorded with errors: derivatives of the likelihood, its limits, what it agrees with, and model files. */
#include <math.h>

#include "core/label_error.h"

#include "fixture.h"

static pv_label_error error_of(double specificity, double sensitivity) {
    pv_label_error e = {.value = {specificity, sensitivity}, .units = {HUGE_VAL, HUGE_VAL}};
    assert_true(pv__label_error_complete(&e, 0.2));
    return e;
}

static void loglik_of(double eta, double *loglik) {
    loglik[1] = -log1p(exp(-eta));
    loglik[0] = -log1p(exp(eta));
}

/* log p of the recorded label, in terms of probabilities. */
static double log_p(const pv_label_error *e, double ratio, double eta, int y) {
    double p = 1 / (1 + exp(-eta)), q = e->correct[1] * p + (1 - e->correct[0]) * (1 - p);
    double odds = q / (1 - q) * exp(ratio);
    return log(y == 1 ? odds / (1 + odds) : 1 / (1 + odds));
}

static void derivatives_are_differences(void **state) {
    (void)state;
    static const double etas[] = {-6, -1.3, 0, 0.4, 5}, rates[][2] = {{0.95, 0.85}, {1, 0.7}, {0.6, 1}, {1, 1}};
    const double h = 1e-4, ratio = 1.7;
    for (size_t r = 0; r < 4; r++)
        for (size_t i = 0; i < 5; i++)
            for (int y = 0; y < 2; y++) {
                pv_label_error e = error_of(rates[r][0], rates[r][1]);
                double loglik[2], d[2], eta = etas[i], weight = 2.5;
                int32_t label = y;
                const pv_targets t = {.n = 1, .classes = 2, .label = &label, .weight = &weight};
                loglik_of(eta, loglik);
                pv__recorded row = pv__recorded_of(&e, ratio, loglik);
                double value = pv__label_error_rows(&t, &e, ratio, loglik, d);
                double up = log_p(&e, ratio, eta + h, y), down = log_p(&e, ratio, eta - h, y);
                near(value, -weight * log_p(&e, ratio, eta, y), 1e-12);
                near(row.log_p[y], log_p(&e, ratio, eta, y), 1e-12);
                /* the derivative with respect to eta, of log-likelihoods that sum to 1 as probabilities */
                near(d[1] * exp(loglik[0]) - d[0] * exp(loglik[1]), -weight * (up - down) / (2 * h), 1e-6);
                double above[2], below[2];
                loglik_of(eta + h, above);
                loglik_of(eta - h, below);
                near(row.bend,
                     (pv__recorded_of(&e, ratio, above).slope - pv__recorded_of(&e, ratio, below).slope) / (2 * h),
                     1e-6);
            }
}

static void far_rows_are_finite(void **state) {
    (void)state;
    for (double eta = -700; eta <= 700; eta += 350) {
        double loglik[2];
        loglik_of(eta, loglik);
        pv_label_error sure = error_of(1, 1), unsure = error_of(0.9, 0.8);
        pv__recorded row = pv__recorded_of(&sure, 0, loglik);
        near(row.slope, 1, 1e-12);
        near(row.log_p[1] - row.log_p[0], eta, 1e-9);
        row = pv__recorded_of(&unsure, 0, loglik);
        assert_true(isfinite(row.log_p[0]) && isfinite(row.log_p[1]) && row.slope >= 0 && isfinite(row.bend));
    }
}

static void predictive_values_agree(void **state) {
    (void)state;
    pv_label_error e = error_of(0.95, 0.85), back = {.predictive = true};
    double share = 0.85 * 0.2 + 0.05 * 0.8;
    near(e.share, share, 1e-15);
    back.value[1] = 0.85 * 0.2 / share;
    back.value[0] = 0.95 * 0.8 / (1 - share);
    assert_true(pv__label_error_complete(&back, 0.2));
    near(back.correct[0], 0.95, 1e-12);
    near(back.correct[1], 0.85, 1e-12);
    near(back.share, share, 1e-12);
    assert_false(pv__label_error_complete(&back, 0.95)); /* above the positive predictive value */
    back.predictive = false;
    back.value[0] = 0.1;
    assert_false(pv__label_error_complete(&back, 0.2));
}

static pv_classifier *fit(const char *label_error, int loss) {
    const pv_roles roles = {.target = "y", .features = "x"};
    char text[3000], *end = text + sprintf(text, "x,y\n");
    for (int i = 0; i < 100; i++)
        end += sprintf(end, "%.3f,%d\n", sin(1.7 * i) + 0.4 * (i % 2), i % 2);
    put(text, (size_t)(end - text));
    pv_table *table = must_read(&(pv_csv_options){.roles = &roles});
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    pv_fit_options o = pv_fit_options_default();
    o.loss = loss;
    o.infer = PV_INFER_ML;
    o.tolerance = 1e-12;
    o.weighting = "0";
    o.errors = loss == PV_LOSS_PLAIN ? PV_ERRORS_HC0 : PV_ERRORS_AUTO;
    o.label_error = label_error;
    o.prevalence = loss == PV_LOSS_PLAIN ? NULL : "0.1";
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    ok(pv_fit(ctx, schema, data, &o, &c));
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    return c;
}

/* Without errors: the ordinary fit, and nearly so with errors that are nearly none. */
static void no_errors_change_nothing(void **state) {
    (void)state;
    for (int loss = PV_LOSS_IG; loss <= PV_LOSS_PLAIN; loss += PV_LOSS_PLAIN - PV_LOSS_IG) {
        pv_classifier *plain = fit(NULL, loss), *sure = fit("sensitivity=1,specificity=1", loss);
        pv_classifier *nearly = fit("sensitivity=1,specificity=0.999999", loss);
        for (int i = 0; i < 2; i++) {
            near(sure->w[i], plain->w[i], 1e-6);
            near(nearly->w[i], plain->w[i], 1e-3);
        }
        near(sure->design[1], plain->design[1], 1e-9);
        pv_classifier_free(ctx, plain);
        pv_classifier_free(ctx, sure);
        pv_classifier_free(ctx, nearly);
    }
}

static void model_files_have_the_errors(void **state) {
    (void)state;
    unsigned char *bytes, *again;
    size_t size, same;
    pv_classifier *c = fit("ppv=30/40,npv=0.97-0.995", PV_LOSS_IG), *read;
    ok(pv_classifier_to_bytes(ctx, c, &bytes, &size));
    ok(pv_classifier_from_bytes(ctx, "bytes", bytes, size, &read));
    assert_non_null(read->label_error);
    assert_true(read->label_error->predictive);
    for (int y = 0; y < 2; y++) {
        assert_true(read->label_error->value[y] == c->label_error->value[y]);
        assert_true(read->label_error->units[y] == c->label_error->units[y]);
        assert_true(read->label_error->correct[y] == c->label_error->correct[y]);
    }
    assert_null(c->reference); /* recorded labels tell nothing about scores of true ones */
    ok(pv_classifier_to_bytes(ctx, read, &again, &same));
    assert_int_equal(same, size);
    assert_memory_equal(again, bytes, size);
    pv_bytes_free(ctx, bytes);
    pv_bytes_free(ctx, again);
    pv_classifier_free(ctx, read);
    pv_classifier_free(ctx, c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(derivatives_are_differences),
                                       cmocka_unit_test(far_rows_are_finite), cmocka_unit_test(predictive_values_agree),
                                       cmocka_unit_test(no_errors_change_nothing),
                                       cmocka_unit_test(model_files_have_the_errors)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
