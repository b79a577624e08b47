/* The image networks on both engines compared with PyTorch (network.txt, made by make_network.py). */
#include "unit/check.h"

#include "model/network.h"
#include "oracle/oracle_file.h"

static oracle_file *file;

static int setup(void **state) {
    (void)state;
    file = oracle_file_read(PV_TEST_DIR "/oracle/network.txt");
    return file ? 0 : 1;
}

static int teardown(void **state) {
    (void)state;
    oracle_file_free(file);
    return 0;
}

static void run_case(const oracle_case *item, const pv__engine_kind *kind, double tolerance) {
    pv_ctx *ctx = check_ctx(2);
    char spec[200];
    oracle_text(item, "spec", spec, sizeof spec);
    size_t n = (size_t)oracle_number(item, "rows"), k = (size_t)oracle_number(item, "classes");
    size_t inputs = (size_t)oracle_number(item, "inputs");
    const double *params = oracle_values(item, "params", 2);
    pv_model *model;
    pv_model_work *work;
    CHECK_OK(ctx, pv_model_new(ctx, spec, (int)inputs, (int)k, &model));
    size_t count = pv_model_params(model), step = (size_t)params[1];
    assert_int_equal(count, (size_t)params[0]);
    CHECK_OK(ctx, pv__network_work_new(ctx, model, n, kind, &work));
    double *w = calloc(2 * count + n * inputs + 2 * n * k, sizeof *w), *dw = w + count, *x = dw + count,
           *loglik = x + n * inputs, *slope = loglik + n * k;
    for (size_t i = 0; i < count; i++)
        w[i] = 0.3 * sin(1.234 * (double)i + 0.5 * (double)(i % 7));
    for (size_t j = 0; j < n * inputs; j++)
        x[j] = cos(0.7 * (double)j + (double)(j % 5));
    for (size_t i = 0; i < n * k; i++)
        slope[i] = sin(1 + (double)i);
    pv_model_forward(model, work, w, n, x, loglik);
    oracle_compare(item, "loglik", loglik, oracle_values(item, "loglik", n * k), n * k, tolerance, 1);
    pv_model_backward(model, work, w, n, x, loglik, slope, dw);
    size_t kept = (count + step - 1) / step;
    for (size_t i = 0; i < kept; i++)
        dw[i] = dw[i * step];
    oracle_compare(item, "gradient", dw, oracle_values(item, "gradient", kept), kept, tolerance, 1);
    free(w);
    pv_model_work_free(ctx, work);
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

static void test_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < file->count; i++)
        run_case(&file->item[i], &pv__engine_reference, 1e-11);
    oracle_finish();
}

/* Single precision: errors of 1e-7 per product, and those of Winograd's transforms. */
static void test_onednn(void **state) {
    (void)state;
    for (size_t i = 0; i < file->count; i++)
        run_case(&file->item[i], &pv__engine_onednn, 2e-5);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_onednn)};
    return cmocka_run_group_tests_name("network oracle", tests, setup, teardown);
}
