/* Models and their kernels: every backend compared with the reference, every gradient with central differences. */
#include "unit/check.h"

#include "compute/compute.h"
#include "core/vector.h"
#include "model/model.h"

extern const pv__compute pv__compute_baseline, pv__compute_avx2, pv__compute_avx512;
extern const pv__core_kernels pv__core_kernels_baseline, pv__core_kernels_avx2, pv__core_kernels_avx512;

/* The backends that this processor supports, from the baseline to the best. */
static size_t backends(const pv__compute **list) {
    const pv__compute *all[] = {&pv__compute_baseline, &pv__compute_avx2, &pv__compute_avx512};
    size_t n = 0;
    do
        list[n] = all[n];
    while (list[n++] != pv__compute_best());
    return n;
}

static void fill(size_t n, double *x, uint64_t index, double scale) {
    pv_rng rng = pv_rng_stream(5, 1, index);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * pv_rng_normal(&rng);
}

static void compare(size_t n, const double *got, const double *wanted, double tolerance) {
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(got[i], wanted[i], tolerance * (1 + fabs(wanted[i])));
}

enum { MOST = 70 * 70 };

/* Lower triangles of weighted squares, and quadratic forms of such triangles. */
static void compare_squares(const pv__compute *r, const pv__compute *other, size_t n, size_t d, const double *x,
                            const double *w) {
    static double a[MOST], b[MOST], spare[MOST];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    r->gram(n, d, x, w, a, spare);
    other->gram(n, d, x, w, b, spare);
    for (size_t i = 0; i < d; i++) {
        compare(i + 1, b + i * d, a + i * d, 1e-12);
        for (size_t j = i + 1; j < d; j++)
            a[i * d + j] = 0;
    }
    r->forms(n, d, x, a, b, spare);
    static double z[MOST];
    other->forms(n, d, x, a, z, spare);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(z[i], b[i], 1e-11 * (1 + fabs(b[i])));
}

static void test_backends(void **state) {
    (void)state;
    const pv__compute *list[3], *r = &pv__compute_reference;
    size_t count = backends(list);
    static double a[MOST], b[MOST], c[MOST], d[MOST], e[MOST];
    const size_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 16, 31, 33, 64, 67};
    for (size_t at = 0; at < count; at++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
                size_t n = sizes[i], k = sizes[j];
                fill(n * k, a, i, 1);
                fill(k, b, j, 1);
                fill(n, e, j, 1);
                r->rows_dot(n, k, a, b, 0.3, c);
                list[at]->rows_dot(n, k, a, b, 0.3, d);
                compare(n, d, c, 1e-13);
                memset(c, 0, sizeof c);
                memset(d, 0, sizeof d);
                double sum = r->rows_add(n, k, a, e, c);
                CHECK_NEAR(list[at]->rows_add(n, k, a, e, d), sum, 1e-12);
                compare(k, d, c, 1e-12);
                memcpy(c, a, n * k * sizeof *c);
                memcpy(d, a, n * k * sizeof *d);
                r->relu(n * k, c);
                list[at]->relu(n * k, d);
                compare(n * k, d, c, 0);
                r->relu_backward(n * k, a, c);
                list[at]->relu_backward(n * k, a, d);
                compare(n * k, d, c, 0);
                fill(k * 5, b, j + 100, 1);
                r->matmul(n, 5, k, a, k, 1, b, c, false);
                list[at]->matmul(n, 5, k, a, k, 1, b, d, false);
                compare(n * 5, d, c, 1e-12);
                fill(n * 37, b, j + 200, 1);
                memset(c, 0, sizeof c);
                memset(d, 0, sizeof d);
                r->matmul(k, 37, n, a, 1, k, b, c, true); /* A transposed */
                list[at]->matmul(k, 37, n, a, 1, k, b, d, true);
                compare(k * 37, d, c, 1e-12);
                compare_squares(r, list[at], n, k, a, e);
            }
}

/* A prediction must not depend on the other rows of the table, bit for bit. */
static void test_rows_alone(void **state) {
    (void)state;
    enum { N = 23, D = 13 };
    pv_ctx *ctx = check_ctx(1);
    const char *specs[] = {"linear", "mlp:9,6", "ordinal", "mlp:9,ordinal"};
    for (int s = 0; s < 4; s++)
        for (int classes = 2; classes <= 3; classes++) {
            pv_model *model;
            pv_model_work *work;
            CHECK_OK(ctx, pv_model_new(ctx, specs[s], D, classes, &model));
            CHECK_OK(ctx, pv_model_work_new(ctx, model, N, &work));
            double x[N * D], together[3 * N], alone[3], *w = calloc(pv_model_params(model), sizeof *w);
            fill(N * D, x, 1, 1);
            fill(pv_model_params(model), w, 2, 0.5);
            pv_model_forward(model, work, w, N, x, together);
            for (size_t i = 0; i < N; i++) {
                pv_model_forward(model, work, w, 1, x + i * D, alone);
                assert_memory_equal(alone, together + i * (size_t)classes, (size_t)classes * sizeof *alone);
            }
            free(w);
            pv_model_work_free(ctx, work);
            pv_model_free(ctx, model);
        }
    pv_ctx_free(ctx);
}

static void test_logistic(void **state) {
    (void)state;
    const pv__compute *list[3], *r = &pv__compute_reference;
    size_t count = backends(list);
    double z[21], f[42], wanted[42], df[42], dz[21], dwanted[21];
    fill(21, z, 1, 3);
    fill(42, df, 2, 1);
    z[0] = 1e4, z[1] = -1e4, z[2] = 0;
    r->logistic(21, z, wanted);
    r->logistic_backward(21, wanted, df, dwanted);
    for (size_t at = 0; at < count; at++)
        for (size_t n = 1; n <= 21; n++) {
            list[at]->logistic(n, z, f);
            compare(2 * n, f, wanted, 1e-14);
            list[at]->logistic_backward(n, f, df, dz);
            compare(n, dz, dwanted, 1e-14);
            CHECK_NEAR(f[0], -1e4, 0);
            int32_t label[21];
            double weight[21], half[2] = {1, 1}, uneven[2] = {0.3, 2};
            for (size_t i = 0; i < 21; i++) {
                label[i] = (int32_t)(i % 2);
                weight[i] = 0.5 + (double)i;
            }
            for (int way = 0; way < 4; way++) {
                const double *v = way & 1 ? weight : NULL, *factor = way & 2 ? uneven : half;
                double loss = r->logistic_loss(n, z, 0.7, label, v, factor, dwanted);
                CHECK_NEAR(list[at]->logistic_loss(n, z, 0.7, label, v, factor, dz), loss, 1e-13 * (1 + fabs(loss)));
                compare(n, dz, dwanted, 1e-14);
            }
            r->logistic_backward(21, wanted, df, dwanted);
        }
}

static void test_core_kernels(void **state) {
    (void)state;
    const pv__core_kernels *all[] = {&pv__core_kernels_baseline, &pv__core_kernels_avx2, &pv__core_kernels_avx512};
    for (size_t at = 0; at < 3; at++) {
        const pv__core_kernels *kernels = all[at];
        for (size_t n = 1; n < 20; n++) {
            double a[20], v[20], x[60], y[60], shift[3] = {-1, 0.5, 2};
            fill(20, a, n, 0.3);
            fill(60, x, n + 50, 1);
            for (size_t i = 0; i < 20; i++) {
                a[i] = exp(a[i]);
                v[i] = 1 + (double)(i % 3);
            }
            for (int k = 1; k <= 3; k++) {
                kernels->exp_rows(n, k, x, shift, y);
                for (size_t i = 0; i < n * (size_t)k; i++)
                    CHECK_NEAR(y[i] / exp(x[i] - shift[i % (size_t)k]), 1, 1e-14);
            }
            double log_sum = 0, weight = 0, r1 = 0, rr = 0, rq = 0, least = HUGE_VAL, scale = 1.1, m = 0.4;
            for (size_t i = 0; i < n; i++) {
                double r = scale * a[i] - 1, q = 1 + m * r;
                log_sum += v[i] * log(a[i]);
                weight += v[i] / q, r1 += v[i] * r / q, rr += v[i] * r * r / (q * q), rq += v[i] * r / (q * q);
                least = fmin(least, q);
            }
            CHECK_NEAR(kernels->log_sum(n, a, v), log_sum, 1e-13 * (double)n);
            pv__profile_sums s = kernels->profile_sums(n, a, v, scale, m);
            CHECK_NEAR(s.weight, weight, 1e-13 * weight);
            CHECK_NEAR(s.r, r1, 1e-12);
            CHECK_NEAR(s.rr, rr, 1e-12);
            CHECK_NEAR(s.rq, rq, 1e-12);
            CHECK_NEAR(s.smallest, least, 1e-15);
            CHECK_NEAR(kernels->profile_sums(n, a, NULL, scale, 0).weight, (double)n, 1e-12);
        }
        if (kernels == pv__core_kernels_get())
            return;
    }
    fail();
}

/* A loss with a constant gradient with respect to loglik: sum of dloglik * loglik. */
static double linear_loss(pv_ctx *ctx, const pv_model *model, const double *w, size_t n, const double *x,
                          const double *dloglik) {
    double loglik[64], loss = 0;
    pv_model_work *work;
    CHECK_OK(ctx, pv_model_work_new(ctx, model, n, &work));
    pv_model_forward(model, work, w, n, x, loglik);
    for (size_t i = 0; i < n * (size_t)pv_model_classes(model); i++)
        loss += dloglik[i] * loglik[i];
    pv_model_work_free(ctx, work);
    return loss;
}

static void check_gradient(const char *spec, int classes) {
    enum { N = 9, INPUTS = 5 };
    pv_ctx *ctx = check_ctx(1);
    pv_model *model;
    CHECK_OK(ctx, pv_model_new(ctx, spec, INPUTS, classes, &model));
    size_t params = pv_model_params(model), k = (size_t)classes;
    double x[N * INPUTS], dloglik[64], loglik[64], log_p[8];
    double *w = calloc(params, sizeof *w), *dw = calloc(params, sizeof *dw);
    fill(N * INPUTS, x, 3, 1);
    fill(N * k, dloglik, 4, 1);
    for (size_t y = 0; y < k; y++)
        log_p[y] = -log((double)k) + 0.1 * (double)y;
    pv_model_start(model, 9, log_p, w);
    for (size_t i = 0; i < params; i++)
        w[i] += 0.2 * sin((double)(3 * i + 1));
    pv_model_work *work;
    CHECK_OK(ctx, pv_model_work_new(ctx, model, N, &work));
    pv_model_forward(model, work, w, N, x, loglik);
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t y = 0; y < k; y++)
            sum += exp(loglik[i * k + y]);
        CHECK_NEAR(sum, 1, 1e-14);
    }
    pv_model_backward(model, work, w, N, x, loglik, dloglik, dw);
    for (size_t i = 0; i < params; i++) {
        double held = w[i], e = 1e-6;
        w[i] = held + e;
        double up = linear_loss(ctx, model, w, N, x, dloglik);
        w[i] = held - e;
        double down = linear_loss(ctx, model, w, N, x, dloglik);
        w[i] = held;
        CHECK_NEAR((up - down) / (2 * e), dw[i], 1e-7 * (1 + fabs(dw[i])));
    }
    pv_model_work_free(ctx, work);
    free(w);
    free(dw);
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

static void test_gradients(void **state) {
    (void)state;
    const char *specs[] = {"linear", "mlp:4", "mlp:6,3", "mlp:17,9,5"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int classes = 2; classes <= 5; classes += 3)
            check_gradient(specs[i], classes);
}

static void test_start_and_shift(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    double log_p[3] = {log(0.9), log(0.09), log(0.01)}, x[2] = {0, 0}, loglik[3];
    pv_model *model;
    CHECK_OK(ctx, pv_model_new(ctx, "linear", 2, 3, &model));
    double w[6];
    pv_model_work *work;
    CHECK_OK(ctx, pv_model_work_new(ctx, model, 1, &work));
    pv_model_start(model, 1, log_p, w);
    pv_model_forward(model, work, w, 1, x, loglik);
    compare(3, loglik, log_p, 1e-14);
    const double shift[3] = {0.3, 0.3, 0.3};
    pv_model_shift(model, shift, w); /* the same for all logits: no effect */
    pv_model_forward(model, work, w, 1, x, loglik);
    compare(3, loglik, log_p, 1e-14);
    pv_model_work_free(ctx, work);
    pv_model_free(ctx, model);
    const char *wrong[] = {"", "mlp", "mlp:", "mlp:0", "mlp:3,", "mlp:3,x", "mlp:-4", "mlp:99999999", "lineal"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pv_model_new(ctx, wrong[i], 2, 2, &model), PV_ERR_USAGE);
        assert_null(model);
    }
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_backends),  cmocka_unit_test(test_rows_alone),
                                       cmocka_unit_test(test_logistic),  cmocka_unit_test(test_core_kernels),
                                       cmocka_unit_test(test_gradients), cmocka_unit_test(test_start_and_shift)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
