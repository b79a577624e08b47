/* pv_unknown_infer and pv_unknown_predict compared with quadrature and plain loops: tests/oracle/target.txt, made by
 * make_target.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "prevail/predict.h"

static char zero[] = "0", one[] = "1", two[] = "2";
static char *labels[] = {zero, one, two};

typedef struct solved {
    pv_unknown_sample sample;
    int32_t *label;
    pv_unknown_prevalence *prevalence;
    double *p, *lo, *hi; /* [n][classes]; lo NULL: the method has no intervals */
} solved;

static solved solve(pv_ctx *ctx, const oracle_case *item) {
    size_t n = (size_t)oracle_number(item, "n"), k = (size_t)oracle_number(item, "classes");
    char dirichlet[64];
    oracle_text(item, "dirichlet", dirichlet, sizeof dirichlet);
    pv_unknown_options options = pv_unknown_options_default();
    options.level = 0.9;
    options.method = oracle_is(item, "method", "exact") ? PV_UNKNOWN_EXACT
                     : oracle_is(item, "method", "vb")  ? PV_UNKNOWN_VB
                                                        : PV_UNKNOWN_EM;
    options.dirichlet = dirichlet;
    options.draws = 20000;
    options.max_iter = 100000;
    solved s = {.sample = {.n = n,
                           .classes = (int)k,
                           .loglik = oracle_values(item, "loglik", n * k),
                           .log_marginal = oracle_values(item, "log_marginal", k),
                           .weight = oracle_values_or_null(item, "weight", n)}};
    const double *known = oracle_values_or_null(item, "label", n);
    s.label = calloc(n, sizeof *s.label);
    for (size_t i = 0; known && i < n; i++)
        s.label[i] = (int32_t)known[i];
    s.sample.label = known ? s.label : NULL;
    s.p = calloc(3 * n * k, sizeof *s.p);
    assert_non_null(s.p);
    if (options.method != PV_UNKNOWN_EM) {
        s.lo = s.p + n * k;
        s.hi = s.lo + n * k;
    }
    if (pv_unknown_infer(ctx, &s.sample, labels, &options, &s.prevalence) != PV_OK)
        fail_msg("%s: %s", item->name, pv_ctx_error(ctx)->message);
    assert_int_equal(pv_unknown_predict(ctx, &s.sample, s.prevalence, s.p, NULL, s.lo, s.hi), PV_OK);
    return s;
}

static void release(pv_ctx *ctx, solved *s) {
    pv_unknown_prevalence_free(ctx, s->prevalence);
    free(s->label);
    free(s->p);
}

static size_t count_of(const oracle_case *item, const char *array) {
    for (size_t a = 0; a < item->arrays; a++)
        if (strcmp(item->array[a].name, array) == 0)
            return item->array[a].count;
    return 0;
}

/* Compares the rows listed in `row`, for the last class. */
static void compare_rows(const oracle_case *item, const char *what, const solved *s, const double *p,
                         double tolerance) {
    size_t rows = count_of(item, "row"), k = (size_t)s->sample.classes;
    const double *row = oracle_values(item, "row", rows), *expected = oracle_values(item, what, rows);
    double *got = calloc(rows, sizeof *got);
    assert_non_null(got);
    for (size_t i = 0; i < rows; i++)
        got[i] = p[(size_t)row[i] * k + k - 1];
    oracle_compare(item, what, got, expected, rows, tolerance, 1);
    free(got);
}

static void compare_if(const oracle_case *item, const char *what, const double *got, double tolerance) {
    size_t k = (size_t)oracle_number(item, "classes");
    if (oracle_has(item, what))
        oracle_compare(item, what, got, oracle_values(item, what, k), k, tolerance, 1);
}

/* Two classes by quadrature, and the iterations of vb and em: 1e-10. */
static void check_exactly(const oracle_case *item, const solved *s) {
    double tolerance = oracle_is(item, "method", "exact") ? 1e-10 : 2e-9; /* iterations stop within 1e-9 of the limit */
    compare_if(item, "value", s->prevalence->value, tolerance);
    compare_if(item, "sd", s->prevalence->sd, tolerance);
    compare_if(item, "lo", s->prevalence->lo, tolerance);
    compare_if(item, "hi", s->prevalence->hi, tolerance);
    compare_rows(item, "p", s, s->p, tolerance);
    if (oracle_has(item, "p_lo")) {
        compare_rows(item, "p_lo", s, s->lo, tolerance);
        compare_rows(item, "p_hi", s, s->hi, tolerance);
    }
}

/* Three classes by draws: within five of their own standard errors, which must be small. */
static void check_draws(const oracle_case *item, const solved *s) {
    const double *sd = oracle_values(item, "sd", 3);
    if (!(s->prevalence->effective > 2000))
        oracle_mismatch(item, "too few effective draws");
    double widest = fmax(fmax(sd[0], sd[1]), sd[2]), error = s->prevalence->error;
    if (!(error > 0 && error < 0.03 * widest))
        oracle_mismatch(item, "the standard error stated is not that of so many draws");
    compare_if(item, "value", s->prevalence->value, 5 * error);
    compare_if(item, "sd", s->prevalence->sd, 5 * error);
    compare_if(item, "lo", s->prevalence->lo, 10 * error); /* a tail quantile has about twice the error of a mean */
    compare_if(item, "hi", s->prevalence->hi, 10 * error);
    compare_rows(item, "p", s, s->p, 5 * error / 0.3); /* d p / d pi is at most 1/(4 pi (1 - pi)) */
}

/* Eq. likelihood with selection, computed in two ways. */
static void check_known(pv_ctx *ctx, const oracle_case *item) {
    size_t n = (size_t)oracle_number(item, "n"), k = (size_t)oracle_number(item, "classes");
    double *p = calloc(n * k, sizeof *p), prevalence[3];
    assert_non_null(p);
    solved s = {.sample = {.n = n,
                           .classes = (int)k,
                           .loglik = oracle_values(item, "loglik", n * k),
                           .log_marginal = oracle_values(item, "log_marginal", k)}};
    memcpy(prevalence, oracle_values(item, "prevalence", k), k * sizeof *prevalence);
    pv_adapt(n, (int)k, s.sample.loglik, s.sample.log_marginal, prevalence, p);
    for (size_t i = 0; i < n * k; i++)
        p[i] = exp(p[i]);
    compare_rows(item, "p", &s, p, 1e-13);
    const pv_unknown_prevalence known = {.classes = (int)k, .plugin = prevalence};
    assert_int_equal(pv_unknown_predict(ctx, &s.sample, &known, p, NULL, NULL, NULL), PV_OK);
    compare_rows(item, "p", &s, p, 1e-13);
    free(p);
}

static void test_against_file(void **state) {
    (void)state;
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/target.txt");
    assert_int_equal(file->count, 27);
    for (size_t i = 0; i < file->count; i++) {
        const oracle_case *item = &file->item[i];
        if (oracle_is(item, "method", "known")) {
            check_known(ctx, item);
            continue;
        }
        solved s = solve(ctx, item);
        if (s.sample.classes == 3 && s.prevalence->method == PV_UNKNOWN_EXACT)
            check_draws(item, &s);
        else
            check_exactly(item, &s);
        release(ctx, &s);
    }
    oracle_finish();
    oracle_file_free(file);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
