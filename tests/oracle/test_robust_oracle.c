/* Fits between profile and iw, the check of a fit in its population, matched biases and sandwich variances against
 * NumPy and SciPy: tests/oracle/robust.txt, made by make_robust.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/oracle_file.h"
#include "prevail/infer.h"

enum { PARAMS = 6, CLASSES = 3 };

typedef struct study {
    pv_ctx *ctx;
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    char prevalence[100], prior[40];
} study;

static study open_study(pv_ctx *ctx, const oracle_case *item) {
    study s = {.ctx = ctx};
    char path[500], name[20];
    oracle_text(item, "table", name, sizeof name);
    snprintf(path, sizeof path, "%s/oracle/robust_%s.csv", PV_TEST_DIR, name);
    pv_roles roles = {.target = "y", .weights = "v"};
    assert_int_equal(pv_table_read(ctx, path, &(pv_csv_options){.roles = &roles}, &s.table), PV_OK);
    assert_int_equal(pv_schema_learn(ctx, s.table, &roles, &s.schema, &s.data), PV_OK);
    const double *pi = oracle_values(item, "prevalence", (size_t)s.data->classes);
    for (int y = 0; y < s.data->classes; y++)
        snprintf(s.prevalence + strlen(s.prevalence), sizeof s.prevalence - strlen(s.prevalence), "%s%.17g",
                 y ? "," : "", pi[y]);
    snprintf(s.prior, sizeof s.prior, "normal:%.17g", oracle_number(item, "prior"));
    return s;
}

static void close_study(study *s) {
    pv_dataset_free(s->ctx, s->data);
    pv_schema_free(s->ctx, s->schema);
    pv_table_free(s->ctx, s->table);
}

static pv_classifier *fit(const study *s, const char *robust, pv_match match, pv_inference infer,
                          const char *strength) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = s->prevalence;
    options.prevalence_n = strength;
    options.robust = robust;
    options.match = (int)match;
    options.infer = (int)infer;
    options.tolerance = 1e-12;
    options.prior = strcmp(s->prior, "normal:0") == 0 ? "none" : s->prior;
    pv_classifier *c;
    assert_int_equal(pv_fit(s->ctx, s->schema, s->data, &options, &c), PV_OK);
    return c;
}

static void check_lines(const study *s, const oracle_case *item) {
    static const char *const exponent[] = {"0", "0.25", "1"};
    for (size_t e = 0; e < 3; e++) {
        char name[20];
        snprintf(name, sizeof name, "w_%s", exponent[e]);
        pv_classifier *c = fit(s, exponent[e], PV_MATCH_NONE, PV_INFER_MAP, "known");
        size_t params = pv_model_params(c->model);
        oracle_compare(item, name, c->w, oracle_values(item, name, params), params, 1e-8, 1);
        pv_classifier_free(s->ctx, c);
    }
}

static void check_agreement(const study *s, const oracle_case *item) {
    pv_classifier *none = fit(s, "0", PV_MATCH_NONE, PV_INFER_MAP, "known");
    pv_classifier *full = fit(s, "0", PV_MATCH_FULL, PV_INFER_MAP, "known");
    pv_classifier *shrunk = fit(s, "0", PV_MATCH_SHRUNK, PV_INFER_MAP, "known");
    const pv_agreement *a = none->agreement;
    size_t k = (size_t)none->schema->classes, size = (size_t)s->data->features + 1;
    assert_non_null(a);
    const double *shift = oracle_values(item, "shift", k), *tests = oracle_values(item, "tests", 3),
                 zero[CLASSES] = {0};
    double got[] = {a->mean_statistic, a->statistic};
    oracle_compare(item, "mean", a->mean, oracle_values(item, "mean", k), k, 1e-9, 0);
    oracle_compare(item, "z", a->z, oracle_values(item, "z", k), k, 1e-7, 0);
    oracle_compare(item, "statistics", got, tests, 2, 1e-7, 0);
    oracle_compare(item, "p_value", &a->p_value, tests + 2, 1, 1e-6, 0);
    oracle_compare(item, "no shift", a->shift, zero, k, 0, 1);
    oracle_compare(item, "shift", full->agreement->shift, shift, k, 1e-8, 0);
    double share = fmax(0, 1 - (double)(k - 1) / tests[0]), moved[CLASSES];
    for (size_t y = 0; y < k; y++) {
        moved[y] = share * shift[y];
        if (y > 0) { /* the output biases, and nothing else */
            double by = full->w[(y - 1) * size] - none->w[(y - 1) * size];
            oracle_compare(item, "bias", &by, shift + y, 1, 1e-8, 1);
            assert_true(full->w[(y - 1) * size + 1] == none->w[(y - 1) * size + 1]);
        }
    }
    oracle_compare(item, "shrunk", shrunk->agreement->shift, moved, k, 1e-7, 1e-3);
    pv_classifier_free(s->ctx, none);
    pv_classifier_free(s->ctx, full);
    pv_classifier_free(s->ctx, shrunk);
}

static void check_sandwich(const study *s, const oracle_case *item) {
    static const struct {
        const char *name, *robust, *strength;
    } how[] = {
        {"covariance", "auto", "known"}, {"covariance_500", "1", "500"}, {"covariance_quarter", "0.25", "known"}};
    for (size_t h = 0; h < 3; h++) {
        pv_classifier *c = fit(s, how[h].robust, PV_MATCH_NONE, PV_INFER_ROBUST, how[h].strength);
        size_t P = pv_model_params(c->model);
        double got[PARAMS * PARAMS] = {0}, *L = c->posterior->mixture.factor;
        assert_true(P <= PARAMS);
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j < P; j++)
                for (size_t l = 0; l <= i && l <= j; l++)
                    got[i * P + j] += L[i * P + l] * L[j * P + l];
        oracle_compare(item, how[h].name, got, oracle_values(item, how[h].name, P * P), P * P, 1e-5, 0);
        const pv_posterior *p = c->posterior; /* and the draws are of it */
        for (size_t i = 0; i < P; i++) {
            double sum = 0, expected = sqrt(got[i * P + i]), sd;
            for (size_t n = 0; n < p->count; n++)
                sum += pow(p->draws[n * P + i] - c->w[i], 2);
            sd = sqrt(sum / (double)p->count);
            oracle_compare(item, "draws", &sd, &expected, 1, 0.07, 0);
        }
        pv_classifier_free(s->ctx, c);
    }
}

static void test_oracle(void **state) {
    (void)state;
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/robust.txt");
    assert_true(file->count >= 3);
    for (size_t i = 0; i < file->count; i++) {
        study s = open_study(ctx, &file->item[i]);
        check_lines(&s, &file->item[i]);
        check_agreement(&s, &file->item[i]);
        check_sandwich(&s, &file->item[i]);
        close_study(&s);
    }
    oracle_file_free(file);
    pv_ctx_free(ctx);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_oracle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
