/* Known label counts, and the evidence for the joint update of q(w), compared with sums over all assignments of labels:
 * tests/oracle/appendix_g.txt, made by make_appendix_g.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "predict/predict.h"

static char name[] = "label";
static char *labels[] = {name, name, name, name};

static pv_unknown_sample sample_of(const oracle_case *item) {
    size_t n = (size_t)oracle_number(item, "n"), k = (size_t)oracle_number(item, "classes");
    return (pv_unknown_sample){.n = n,
                               .classes = (int)k,
                               .loglik = oracle_values(item, "loglik", n * k),
                               .log_marginal = oracle_values(item, "log_marginal", k),
                               .weight = oracle_values_or_null(item, "weight", n)};
}

static void check_counts(pv_ctx *ctx, const oracle_case *item) {
    pv_unknown_sample sample = sample_of(item);
    size_t k = (size_t)sample.classes, count[4];
    double *p = calloc(sample.n * k, sizeof *p), evidence, alone;
    assert_non_null(p);
    for (size_t y = 0; y < k; y++)
        count[y] = (size_t)oracle_values(item, "count", k)[y];
    pv__label_counts counts;
    assert_int_equal(pv__label_counts_new(ctx, sample.n, sample.classes, count, labels, &counts), PV_OK);
    assert_int_equal(pv__label_counts_rows(ctx, &counts, sample.loglik, sample.log_marginal, p, &evidence), PV_OK);
    assert_int_equal(pv__label_counts_rows(ctx, &counts, sample.loglik, sample.log_marginal, NULL, &alone), PV_OK);
    assert_true(alone == evidence);
    for (size_t i = 0; i < sample.n * k; i++)
        p[i] = exp(p[i]);
    oracle_compare(item, "p", p, oracle_values(item, "p", sample.n * k), sample.n * k, 1e-12, 1);
    oracle_compare(item, "evidence", &evidence, oracle_values(item, "evidence", 1), 1, 1e-11, 1);
    pv__label_counts_clear(ctx, &counts);
    free(p);
}

static double evidence_of(pv_ctx *ctx, const oracle_case *item, const pv_unknown_sample *sample,
                          pv_unknown_method method) {
    char dirichlet[64];
    oracle_text(item, "dirichlet", dirichlet, sizeof dirichlet);
    pv_unknown_options options = pv_unknown_options_default();
    options.method = (int)method;
    options.dirichlet = dirichlet;
    options.max_iter = 100000;
    pv__mixture mixture;
    pv__solver solver;
    double marginal[4] = {0.25, 0.25, 0.25, 0.25};
    assert_int_equal(pv__mixture_init(ctx, sample, true, &mixture), PV_OK);
    assert_int_equal(pv__solver_init(ctx, &options, labels, sample->classes, &solver), PV_OK);
    assert_int_equal(pv__solver_run(ctx, &solver, &mixture, marginal, sample->log_marginal), PV_OK);
    double evidence = pv__row_factors(sample) + pv__solver_evidence(ctx, &solver, &mixture);
    pv__mixture_clear(ctx, &mixture);
    pv__solver_clear(ctx, &solver);
    return evidence;
}

/* More than two labels use Laplace's method. Its error is largest for these nine rows, with one known label each: 0.17
 * in one case and 0.02 in the other, about a tenth of a row's evidence and nearly the same at every draw of w. */
static void check_evidence(pv_ctx *ctx, const oracle_case *item) {
    pv_unknown_sample sample = sample_of(item);
    const double *known = oracle_values(item, "label", sample.n);
    int32_t *label = calloc(sample.n, sizeof *label);
    assert_non_null(label);
    for (size_t i = 0; i < sample.n; i++)
        label[i] = (int32_t)known[i];
    sample.label = label;
    double exact = evidence_of(ctx, item, &sample, PV_UNKNOWN_EXACT),
           vb = evidence_of(ctx, item, &sample, PV_UNKNOWN_VB);
    if (oracle_is(item, "approximate", "1"))
        oracle_compare(item, "exact", &exact, oracle_values(item, "exact", 1), 1, 0.2, 1);
    else
        oracle_compare(item, "exact", &exact, oracle_values(item, "exact", 1), 1, 1e-9, 1);
    oracle_compare(item, "vb", &vb, oracle_values(item, "vb", 1), 1, 1e-8, 1);
    free(label);
}

static void test_appendix_g(void **state) {
    (void)state;
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/appendix_g.txt");
    for (size_t i = 0; i < file->count; i++)
        (oracle_is(&file->item[i], "kind", "counts") ? check_counts : check_evidence)(ctx, &file->item[i]);
    oracle_finish();
    oracle_file_free(file);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_appendix_g)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
