/* A table's rows on a device: passes compared with the processor's. Reported as skipped without a device. `make check`
 * runs them on the simulated device (tests/cuda/pretend_table.c), `make check-cuda` on a GPU. */
#include "compute/device.h"
#include "model/device_table.h"

#include "device.h"

/* ---- passes ------------------------------------------------------------------------------------------------------ */

typedef struct rows {
    size_t n, inputs;
    double *x, *weight; /* x is representable in single precision, so the device has the same values */
    int32_t *label;
} rows;

static double *normals(size_t n, double scale, pv_rng *rng) {
    double *made = calloc(n ? n : 1, sizeof *made);
    for (size_t i = 0; i < n; i++)
        made[i] = scale * pv_rng_normal(rng);
    return made;
}

static rows random_rows(size_t n, size_t inputs, bool weighted) {
    pv_rng rng = pv_rng_stream(11, PV_STREAM_BENCH_ROWS, n * 1000 + inputs);
    rows r = {.n = n, .inputs = inputs, .x = normals(n * inputs, 1, &rng)};
    for (size_t i = 0; i < n * inputs; i++)
        r.x[i] = (double)(float)r.x[i];
    r.label = calloc(n, sizeof *r.label);
    r.weight = weighted ? calloc(n, sizeof *r.weight) : NULL;
    for (size_t i = 0; i < n; i++) {
        r.label[i] = pv_rng_uniform(&rng) < 0.3;
        if (weighted)
            r.weight[i] = 3 * pv_rng_uniform(&rng);
    }
    return r;
}

static void rows_free(rows *r) {
    free(r->x);
    free(r->weight);
    free(r->label);
}

/* Several parameter vectors at once give the processor's results, bit-identical when repeated and when computed
 * alone. */
static void check_logistic(pv_ctx *ctx, size_t n, size_t inputs, bool weighted, size_t count) {
    rows r = random_rows(n, inputs, weighted);
    pv_model *model;
    pv_model_work *work;
    pv__loaded *loaded;
    pv__loaded_passes *passes;
    CHECK_OK(ctx, pv_model_new(ctx, "linear", (int)inputs, 2, &model));
    CHECK_OK(ctx, pv_model_work_new(ctx, model, n, &work));
    CHECK_OK(ctx, pv__loaded_new(ctx, model, n, r.x, true, &loaded));
    assert_non_null(loaded);
    const double factor[2] = {0.7, 2.5};
    const pv__logistic loss = {r.label, r.weight, factor, 0.4};
    CHECK_OK(ctx, pv__loaded_passes_new(ctx, loaded, model, n, &loss, NULL, &passes));
    size_t params = inputs + 1;
    pv_rng rng = pv_rng_stream(5, PV_STREAM_BENCH_WEIGHTS, count);
    double *w = normals(count * params, 2 / sqrt((double)params), &rng), *z = calloc(n, sizeof *z);
    double *value = calloc(2 * count, sizeof *value), *dw = calloc(2 * count * params, sizeof *dw);
    double *alone = calloc(params, sizeof *alone), one;
    CHECK_OK(ctx, pv__loaded_logistic(ctx, passes, count, w, value, dw));
    CHECK_OK(ctx, pv__loaded_logistic(ctx, passes, count, w, value + count, dw + count * params));
    assert_memory_equal(value, value + count, count * sizeof *value);
    assert_memory_equal(dw, dw + count * params, count * params * sizeof *dw);
    for (size_t c = 0; c < count; c++) {
        CHECK_OK(ctx, pv__loaded_logistic(ctx, passes, 1, w + c * params, &one, alone));
        assert_memory_equal(&one, value + c, sizeof one);
        assert_memory_equal(alone, dw + c * params, params * sizeof *alone);
        memset(alone, 0, params * sizeof *alone);
        one = model->architecture->logistic_loss(model, work, w + c * params, n, r.x, r.label, r.weight, factor, 0.4, z,
                                                 alone);
        CHECK_NEAR(value[c], one, 1e-12 * one);
        CHECK_NEAR(away(params, dw + c * params, alone), 0, 1e-11);
    }
    free(w);
    free(z);
    free(value);
    free(dw);
    free(alone);
    pv__loaded_passes_free(ctx, passes);
    pv__loaded_free(ctx, loaded);
    pv_model_work_free(ctx, work);
    pv_model_free(ctx, model);
    rows_free(&r);
}

static size_t inputs_most(pv_ctx *ctx) {
    return pv__device_for_tables(ctx)->inputs_most;
}

static void test_logistic(void **state) {
    (void)state;
    static const struct {
        size_t n, inputs, count;
        bool weighted;
    } cases[] = {{1, 1, 1, false},      {32, 3, 2, true},      {33, 8, 1, false},   {1000, 31, 3, true},
                 {2011, 33, 40, false}, {4099, 50, 1, true},   {999, 64, 5, true},  {777, 65, 2, false},
                 {300, 130, 7, true},   {1500, 200, 1, false}, {257, 511, 3, true}, {100, 512, 1, false},
                 {20011, 5, 1, true}};
    pv_ctx *ctx = device_ctx(2, PV_PRECISION_TF32);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].inputs <= inputs_most(ctx))
            check_logistic(ctx, cases[i].n, cases[i].inputs, cases[i].weighted, cases[i].count);
    pv_ctx_free(ctx);
}

/* The sums and derivatives of coupled rows at w, row by row, as described in compute/plugin.h. */
static void tied_here(const rows *r, const double *target, const double *rho, const double *w,
                      const pv__tied_slope *slope, double *sums, pv__tied_sums *inner, double *dw) {
    *inner = (pv__tied_sums){.smallest = HUGE_VAL};
    memset(sums, 0, 3 * sizeof *sums);
    memset(dw, 0, (1 + r->inputs) * sizeof *dw);
    for (size_t i = 0; i < r->n; i++) {
        double z = w[0], v = r->weight[i];
        for (size_t j = 0; j < r->inputs; j++)
            z += w[1 + j] * r->x[i * r->inputs + j];
        double p1 = 1 / (1 + exp(-z)), p0 = 1 / (1 + exp(z)), away = slope->scale * p1 - 1, q = 1 + slope->m * away;
        sums[0] += v * (fmax(z, 0) + log1p(exp(-fabs(z)))) - target[i] * z;
        sums[1] += rho[i] * p0;
        sums[2] += rho[i] * p1;
        if (v > 0) {
            inner->weight += v / q;
            inner->r += v * away / q;
            inner->rr += v * away * away / (q * q);
            inner->rq += v * away / (q * q);
            inner->logs += v * log(q);
            inner->smallest = fmin(inner->smallest, q);
        }
        double e = slope->profile ? v / q : rho[i], dz = v * p1 - target[i] + slope->factor * e * p0 * p1;
        dw[0] += dz;
        for (size_t j = 0; j < r->inputs; j++)
            dw[1 + j] += dz * r->x[i * r->inputs + j];
    }
}

typedef struct tied_results {
    double *sums, *dw; /* [count][3], [count][params] */
    pv__tied_sums *inner;
} tied_results;

static tied_results tied_room(size_t count, size_t params) {
    return (tied_results){calloc(3 * count, sizeof(double)), calloc(count * params, sizeof(double)),
                          calloc(count, sizeof(pv__tied_sums))};
}

static void tied_free(tied_results *t) {
    free(t->sums);
    free(t->dw);
    free(t->inner);
}

/* Requests sums from the last vector to the first: they must be those of the named vectors. */
static void tied_there(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, const double *w,
                       const pv__tied_slope *slope, tied_results *to) {
    size_t *which = calloc(count, sizeof *which);
    double *scale = calloc(2 * count, sizeof *scale), *m = scale + count;
    pv__tied_sums *turned = calloc(count, sizeof *turned);
    for (size_t c = 0; c < count; c++) {
        which[c] = count - 1 - c;
        scale[c] = slope[count - 1 - c].scale;
        m[c] = slope[count - 1 - c].m;
    }
    CHECK_OK(ctx, pv__loaded_tied(ctx, passes, count, w, to->sums));
    CHECK_OK(ctx, pv__loaded_tied_sums(ctx, passes, count, which, scale, m, turned));
    CHECK_OK(ctx, pv__loaded_tied_slopes(ctx, passes, count, slope, to->dw));
    for (size_t c = 0; c < count; c++)
        to->inner[which[c]] = turned[c];
    free(which);
    free(scale);
    free(turned);
}

static void check_one_tied(const tied_results *got, size_t c, size_t params, const tied_results *here) {
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(got->sums[3 * c + (size_t)i], here->sums[i], 1e-11 * fabs(here->sums[i]) + 1e-12);
    const double *a = &got->inner[c].weight, *b = &here->inner->weight; /* six numbers in a row */
    for (size_t i = 0; i < sizeof(pv__tied_sums) / sizeof(double); i++)
        CHECK_NEAR(a[i], b[i], 1e-10 * (fabs(b[i]) + here->inner->weight));
    CHECK_NEAR(away(params, got->dw + c * params, here->dw), 0, 1e-10);
}

/* The mixture's sums, at several points of the first vector. */
static void check_mixed(pv_ctx *ctx, pv__loaded_passes *passes, const rows *r, const double *w) {
    enum { PLACES = 64 };
    static const double shift = -1.3;
    double pi[2 * PLACES], sums[3 * PLACES], alone[3];
    for (int c = 0; c < PLACES; c++) {
        pi[2 * c + 1] = c == 0 ? 1e-300 : (c + 0.5) / PLACES;
        pi[2 * c] = 1 - pi[2 * c + 1];
    }
    CHECK_OK(ctx, pv__loaded_tied(ctx, passes, 1, w, alone));
    CHECK_OK(ctx, pv__loaded_mixed(ctx, passes, PLACES, shift, pi, sums));
    for (int c = 0; c < PLACES; c += 9) {
        double rho = 0, square = 0, logs = 0, size = 0;
        for (size_t i = 0; i < r->n; i++) {
            double z = w[0], v = r->weight[i];
            for (size_t j = 0; j < r->inputs; j++)
                z += w[1 + j] * r->x[i * r->inputs + j];
            double one = pi[2 * c + 1] / (1 + exp(shift - z)), q = one + pi[2 * c] / (1 + exp(z - shift));
            rho += v * one / q;
            square += v * one / q * (one / q);
            logs += v > 0 ? v * log(q) : 0;
            size += v > 0 ? v * fabs(log(q)) : 0;
        }
        CHECK_NEAR(sums[3 * c], rho, 1e-12 * rho);
        CHECK_NEAR(sums[3 * c + 1], square, 1e-12 * square);
        CHECK_NEAR(sums[3 * c + 2], logs, 1e-12 * size);
        CHECK_OK(ctx, pv__loaded_mixed(ctx, passes, 1, shift, pi + 2 * c, alone));
        assert_memory_equal(alone, sums + 3 * c, sizeof alone);
    }
}

/* Rows coupled by the marginal: equal to direct sums, bit-identical when repeated, alone or together. */
static void check_tied(pv_ctx *ctx, size_t n, size_t inputs, size_t count) {
    rows r = random_rows(n, inputs, true);
    size_t params = inputs + 1;
    pv_rng rng = pv_rng_stream(8, PV_STREAM_BENCH_WEIGHTS, inputs);
    double *target = calloc(2 * n, sizeof *target), *rho = target + n,
           *w = normals(count * params, 1.5 / sqrt((double)params), &rng);
    pv__tied_slope *slope = calloc(count, sizeof *slope);
    for (size_t i = 0; i < n; i++) {
        if (i % 17 == 3)
            r.weight[i] = 0;
        target[i] = r.weight[i] * (i % 5 == 0 ? 0.25 : r.label[i]);
        rho[i] = r.weight[i] / (double)n;
    }
    for (size_t c = 0; c < count; c++)
        slope[c] = (pv__tied_slope){c % 2 == 0, 0.7 + 0.1 * (double)c, 1.5 + 0.3 * (double)c, 0.3};
    pv_model *model;
    pv__loaded *loaded;
    pv__loaded_passes *passes;
    CHECK_OK(ctx, pv_model_new(ctx, "linear", (int)inputs, 2, &model));
    CHECK_OK(ctx, pv__loaded_new(ctx, model, n, r.x, true, &loaded));
    const pv__tied tied = {r.weight, target, rho};
    CHECK_OK(ctx, pv__loaded_passes_new(ctx, loaded, model, n, NULL, &tied, &passes));
    tied_results all = tied_room(count, params), one = tied_room(1, params);
    tied_there(ctx, passes, count, w, slope, &all);
    for (size_t c = 0; c < count; c++) {
        tied_there(ctx, passes, 1, w + c * params, slope + c, &one);
        assert_memory_equal(one.sums, all.sums + 3 * c, 3 * sizeof *one.sums);
        assert_memory_equal(one.inner, all.inner + c, sizeof *one.inner);
        assert_memory_equal(one.dw, all.dw + c * params, params * sizeof *one.dw);
        tied_here(&r, target, rho, w + c * params, slope + c, one.sums, one.inner, one.dw);
        check_one_tied(&all, c, params, &one);
    }
    check_mixed(ctx, passes, &r, w);
    tied_free(&all);
    tied_free(&one);
    free(target);
    free(w);
    free(slope);
    pv__loaded_passes_free(ctx, passes);
    pv__loaded_free(ctx, loaded);
    pv_model_free(ctx, model);
    rows_free(&r);
}

static void test_tied(void **state) {
    (void)state;
    static const struct {
        size_t n, inputs, count;
    } cases[] = {{40, 1, 1},   {1000, 7, 5},  {4099, 33, 3}, {2500, 64, 2},
                 {777, 65, 6}, {300, 130, 4}, {20011, 5, 9}, {1000, 512, 2}};
    pv_ctx *ctx = device_ctx(2, PV_PRECISION_TF32);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].inputs <= inputs_most(ctx))
            check_tied(ctx, cases[i].n, cases[i].inputs, cases[i].count);
    pv_ctx_free(ctx);
}

/* Log-likelihoods from the device's outputs, and the gradient from their derivatives, compared with the model's own. */
static void check_model(pv_ctx *ctx, const char *spec, size_t n, size_t inputs, int classes) {
    rows r = random_rows(n, inputs, false);
    pv_model *model;
    pv_model_work *work;
    pv__loaded *loaded;
    pv__loaded_passes *passes;
    CHECK_OK(ctx, pv_model_new(ctx, spec, (int)inputs, classes, &model));
    CHECK_OK(ctx, pv_model_work_new(ctx, model, n, &work));
    CHECK_OK(ctx, pv__loaded_new(ctx, model, n, r.x, true, &loaded));
    CHECK_OK(ctx, pv__loaded_passes_new(ctx, loaded, model, n, NULL, NULL, &passes));
    size_t params = pv_model_params(model), k = (size_t)classes, outputs = pv__loaded_outputs(passes);
    pv_rng rng = pv_rng_stream(6, PV_STREAM_BENCH_WEIGHTS, inputs);
    double *w = normals(params, 2 / sqrt((double)inputs), &rng), *dloglik = normals(n * k, 1, &rng);
    double *out = calloc(2 * n * outputs, sizeof *out), *dout = out + n * outputs;
    double *loglik = calloc(2 * n * k, sizeof *loglik), *dw = calloc(3 * params, sizeof *dw);
    CHECK_OK(ctx, pv__loaded_forward(ctx, passes, w, out));
    model->architecture->link_forward(model, work, w, n, out, loglik);
    model->architecture->link_backward(model, work, w, n, out, loglik, dloglik, dout, dw);
    memcpy(dw + params, dw, params * sizeof *dw);
    CHECK_OK(ctx, pv__loaded_backward(ctx, passes, w, dout, dw));
    CHECK_OK(ctx, pv__loaded_backward(ctx, passes, w, dout, dw + params));
    assert_memory_equal(dw, dw + params, params * sizeof *dw);
    pv_model_forward(model, work, w, n, r.x, loglik + n * k);
    pv_model_backward(model, work, w, n, r.x, loglik + n * k, dloglik, dw + 2 * params);
    CHECK_NEAR(away(n * k, loglik, loglik + n * k), 0, 1e-12);
    CHECK_NEAR(away(params, dw, dw + 2 * params), 0, 1e-11);
    free(w);
    free(dloglik);
    free(out);
    free(loglik);
    free(dw);
    pv__loaded_passes_free(ctx, passes);
    pv__loaded_free(ctx, loaded);
    pv_model_work_free(ctx, work);
    pv_model_free(ctx, model);
    rows_free(&r);
}

static void test_models(void **state) {
    (void)state;
    pv_ctx *ctx = device_ctx(2, PV_PRECISION_TF32);
    check_model(ctx, "linear", 1003, 7, 2);
    check_model(ctx, "linear", 1003, 33, 3);
    check_model(ctx, "linear", 70, 40, 30);
    check_model(ctx, "ordinal", 500, 12, 4);
    check_model(ctx, "mlp:5", 333, 3, 2);
    check_model(ctx, "mlp:70,33", 1003, 20, 3);
    check_model(ctx, "mlp:8,4,ordinal", 100, 9, 4);
    if (inputs_most(ctx) > 300) {
        check_model(ctx, "mlp:300,130,64", 2000, 70, 2);
        check_model(ctx, "mlp:1024,1024", 20000, 10, 2); /* in several pieces */
    }
    if (inputs_most(ctx) > 300)
        check_model(ctx, "linear", 601, 300, 25);
    pv_ctx_free(ctx);
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

/* Log odds of rows at draws, with shifts, one of them far below what a mean of doubles can represent. */
static void check_spreads(pv_ctx *ctx, size_t n, size_t inputs, size_t draws) {
    rows r = random_rows(n, inputs, false);
    size_t params = inputs + 1;
    pv_rng rng = pv_rng_stream(9, PV_STREAM_BENCH_WEIGHTS, draws);
    double *w = normals(draws * params, 1 / sqrt((double)params), &rng), *shift = normals(2 * draws, 1, &rng);
    double *p1 = calloc(draws, sizeof *p1), last = (double)(draws - 1);
    for (size_t s = 0; s < draws; s++)
        shift[draws + s] -= 700;
    pv_model *model;
    pv__loaded *loaded;
    pv__loaded_passes *passes;
    CHECK_OK(ctx, pv_model_new(ctx, "linear", (int)inputs, 2, &model));
    CHECK_OK(ctx, pv__loaded_new(ctx, model, n, r.x, true, &loaded));
    CHECK_OK(ctx, pv__loaded_passes_new(ctx, loaded, model, n, NULL, NULL, &passes));
    const bool ends[2] = {true, false};
    const pv__spread_spec spec = {draws, w, 2, shift, ends, 0.05 * last, 0.95 * last};
    pv__spread_of_row *of = calloc(8 * n, sizeof *of), *again = of + 4 * n;
    CHECK_OK(ctx, pv__loaded_spreads(ctx, passes, &spec, 0, n, of));
    CHECK_OK(ctx, pv__loaded_spreads(ctx, passes, &spec, 0, n, again));
    assert_memory_equal(of, again, 4 * n * sizeof *of);
    for (size_t i = 0; i < n; i++) {
        double mean = 0, deep = 0;
        for (size_t s = 0; s < draws; s++) {
            double z = w[s * params];
            for (size_t j = 0; j < inputs; j++)
                z += w[s * params + 1 + j] * r.x[i * inputs + j];
            p1[s] = 1 / (1 + exp(-z - shift[s]));
            mean += p1[s] / (double)draws;
            deep += exp(z + shift[draws + s] + 700) / (double)draws; /* p0 rounds to 1 */
        }
        const pv__spread_of_row *zero = of + 2 * i, *one = zero + 1;
        CHECK_NEAR(one->mean, mean, 1e-12);
        CHECK_NEAR(zero->mean, 1 - mean, 1e-12);
        CHECK_NEAR(one->log_mean, log(mean), 1e-11 * (1 + fabs(log(mean))));
        CHECK_NEAR(of[2 * n + 2 * i + 1].log_mean, log(deep) - 700, 1e-10);
        double low = pv_quantile(draws, p1, 0.05), high = pv_quantile(draws, p1, 0.95);
        CHECK_NEAR(one->low, low, 1e-11);
        CHECK_NEAR(one->high, high, 1e-11);
        CHECK_NEAR(zero->low, 1 - high, 1e-11);
        CHECK_NEAR(zero->high, 1 - low, 1e-11);
    }
    free(w);
    free(shift);
    free(p1);
    free(of);
    pv__loaded_passes_free(ctx, passes);
    pv__loaded_free(ctx, loaded);
    pv_model_free(ctx, model);
    rows_free(&r);
}

typedef struct spread_case {
    size_t n, inputs, draws;
} spread_case;

static void check_cases(size_t count, const spread_case *cases) {
    pv_ctx *ctx = device_ctx(2, PV_PRECISION_TF32);
    for (size_t i = 0; i < count; i++)
        if (cases[i].inputs <= inputs_most(ctx) && cases[i].draws <= pv__device_for_tables(ctx)->draws_most)
            check_spreads(ctx, cases[i].n, cases[i].inputs, cases[i].draws);
    pv_ctx_free(ctx);
}

static void test_spreads(void **state) {
    (void)state;
    static const spread_case cases[] = {{1, 1, 1}, {33, 3, 2}, {100, 10, 200}, {70, 40, 257}, {65, 130, 1000}};
    check_cases(sizeof cases / sizeof *cases, cases);
}

/* In several pieces, with the maximum number of draws and columns. */
static void test_many_draws(void **state) {
    (void)state;
    static const spread_case cases[] = {{40, 512, 4097}, {1100, 5, 8192}};
    check_cases(sizeof cases / sizeof *cases, cases);
}

/* Unsupported work is an error if a device was requested. */
static void test_refused(void **state) {
    (void)state;
    pv_ctx *ctx = device_ctx(2, PV_PRECISION_TF32);
    pv_model *model;
    pv__loaded *loaded;
    double nothing = 0;
    CHECK_OK(ctx, pv_model_new(ctx, "linear", (int)inputs_most(ctx) + 1, 2, &model));
    assert_int_equal(pv__loaded_new(ctx, model, 1, &nothing, true, &loaded), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "more columns than the device's kernels take"));
    pv_model_free(ctx, model);
    const double far[3] = {1, 1e60, 2};
    CHECK_OK(ctx, pv_model_new(ctx, "linear", 1, 2, &model));
    assert_int_equal(pv__loaded_new(ctx, model, 3, far, true, &loaded), PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "beyond single precision"));
    assert_null(loaded);
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

/* usage: test_device_tables [PATTERN] runs only tests whose names match, for tools under which all would take too
 * long */
int main(int argc, char **argv) {
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_logistic),   cmocka_unit_test(test_models),
                                       cmocka_unit_test(test_tied),       cmocka_unit_test(test_spreads),
                                       cmocka_unit_test(test_many_draws), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
