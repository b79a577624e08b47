/* Image networks: gradients by central differences, engines compared, threads, dropout, specifications. */
#include "fixture.h"

#include "model/network.h"

typedef struct problem {
    pv_ctx *ctx;
    pv_model *model;
    pv_model_work *work;
    size_t n, k, d, params;
    double *w, *x, *loglik, *slope, *dw;
} problem;

static void fill(size_t n, double *x, uint32_t purpose, double scale) {
    pv_rng rng = pv_rng_stream(7, purpose, 0);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * pv_rng_normal(&rng);
}

static problem open_problem(const char *spec, size_t n, int classes, size_t d, int threads,
                            const pv__engine_kind *kind) {
    problem p = {.ctx = check_ctx(threads), .n = n, .k = (size_t)classes, .d = d};
    CHECK_OK(p.ctx, pv_model_new(p.ctx, spec, (int)d, classes, &p.model));
    CHECK_OK(p.ctx, pv__network_work_new(p.ctx, p.model, n, kind, &p.work));
    p.params = pv_model_params(p.model);
    p.w = calloc(2 * p.params + n * d + 2 * n * p.k, sizeof *p.w);
    p.dw = p.w + p.params;
    p.x = p.dw + p.params;
    p.loglik = p.x + n * d;
    p.slope = p.loglik + n * p.k;
    pv_model_start(p.model, 3, NULL, p.w);
    for (size_t i = 0; i < p.params; i++) /* biases such that some ReLUs are active and others are not */
        p.w[i] += 0.05 * sin((double)i);
    fill(n * d, p.x, 1, 1);
    fill(n * p.k, p.slope, 2, 1);
    return p;
}

static void close_problem(problem *p) {
    free(p->w);
    pv_model_work_free(p->ctx, p->work);
    pv_model_free(p->ctx, p->model);
    pv_ctx_free(p->ctx);
}

static double value(problem *p) {
    pv_model_forward(p->model, p->work, p->w, p->n, p->x, p->loglik);
    double sum = 0;
    for (size_t i = 0; i < p->n * p->k; i++)
        sum += p->loglik[i] * p->slope[i];
    return sum;
}

static void gradient(problem *p) {
    value(p);
    memset(p->dw, 0, p->params * sizeof *p->dw);
    pv_model_backward(p->model, p->work, p->w, p->n, p->x, p->loglik, p->slope, p->dw);
}

/* Every parameter on the reference engine, with and without dropout. */
static void check_gradient(const char *spec, size_t d, int classes, bool training) {
    problem p = open_problem(spec, 3, classes, d, 1, &pv__engine_reference);
    if (training)
        pv__model_work_train(p.work, 5, 11, false);
    gradient(&p);
    size_t moving = 0;
    for (size_t i = 0; i < p.params; i++) {
        double before = p.w[i], h = 1e-6;
        p.w[i] = before + h;
        double up = value(&p);
        p.w[i] = before - h;
        double down = value(&p);
        p.w[i] = before;
        CHECK_NEAR(p.dw[i], (up - down) / (2 * h), 2e-7 * (1 + fabs(p.dw[i])));
        moving += p.dw[i] != 0;
    }
    assert_true(moving > p.params / 2);
    close_problem(&p);
}

static void test_gradients(void **state) {
    (void)state;
    check_gradient("convnet:views=2,size=7,low=3,channels=4-3,features=5,dropout=0.3", 2 * 49, 2, false);
    check_gradient("convnet:views=2,size=7,low=3,channels=4-3,features=5,dropout=0.3", 2 * 49, 3, true);
    check_gradient("convnet:views=3,size=6,low=2,channels=3,features=4,pool=mean", 3 * 36, 3, true);
    check_gradient("convnet:views=3,size=6,low=2,channels=3,features=4,pool=min", 3 * 36, 2, false);
    check_gradient("inception:views=2,size=7,low=3,channels=9-8,features=4,dropout=0.2", 2 * 49, 2, false);
    check_gradient("inception:views=2,size=6,low=2,channels=8,features=4,dropout=0.2,pool=mean", 2 * 36, 3, true);
    check_gradient("convnet:views=2,size=7,low=3,channels=4-3,features=5,output=ordinal", 2 * 49, 5, true);
    check_gradient("inception:views=2,size=6,low=2,channels=8,features=4,pool=mean,output=ordinal", 2 * 36, 3, false);
}

/* Both engines, also with dropout: the same elements are dropped. */
static void test_engines_agree(void **state) {
    (void)state;
    static const char *const specs[] = {"convnet:views=3,size=16,low=32,channels=32-48,features=32",
                                        "inception:views=3,size=16,low=16,channels=64-32,features=20,pool=mean",
                                        "inception:views=3,size=16,low=5,channels=11-13,features=7,pool=min"};
    for (int s = 0; s < 3; s++)
        for (int training = 0; training < 2; training++) {
            problem r = open_problem(specs[s], 7, 3, 3 * 256, 2, &pv__engine_reference);
            problem o = open_problem(specs[s], 7, 3, 3 * 256, 2, &pv__engine_onednn);
            if (training) {
                pv__model_work_train(r.work, 5, 2, false);
                pv__model_work_train(o.work, 5, 2, false);
            }
            gradient(&r);
            gradient(&o);
            double largest = 0;
            for (size_t i = 0; i < r.n * r.k; i++)
                CHECK_NEAR(o.loglik[i], r.loglik[i], 2e-5 * (1 + fabs(r.loglik[i])));
            for (size_t i = 0; i < r.params; i++)
                largest = fmax(largest, fabs(r.dw[i]));
            assert_true(largest > 0.1);
            for (size_t i = 0; i < r.params; i++)
                CHECK_NEAR(o.dw[i], r.dw[i], 1e-4 * largest);
            close_problem(&r);
            close_problem(&o);
        }
}

/* One, two and three threads: bit-identical; and a row's value does not depend on the rows around it. */
static void test_threads(void **state) {
    (void)state;
    const char *spec = "convnet:views=9,size=16,low=32,channels=32-48,features=32";
    problem one = open_problem(spec, 13, 2, 9 * 256, 1, &pv__engine_onednn);
    pv__model_work_train(one.work, 5, 2, false);
    gradient(&one);
    for (int threads = 2; threads <= 3; threads++) {
        problem more = open_problem(spec, 13, 2, 9 * 256, threads, &pv__engine_onednn);
        pv__model_work_train(more.work, 5, 2, false);
        gradient(&more);
        assert_memory_equal(one.loglik, more.loglik, 13 * 2 * sizeof(double));
        assert_memory_equal(one.dw, more.dw, one.params * sizeof(double));
        close_problem(&more);
    }
    close_problem(&one);
    one = open_problem(spec, 13, 2, 9 * 256, 2, &pv__engine_onednn);
    value(&one);
    for (size_t i = 0; i < 13; i++) {
        double alone[2];
        pv_model_forward(one.model, one.work, one.w, 1, one.x + i * one.d, alone);
        assert_memory_equal(alone, one.loglik + 2 * i, sizeof alone);
    }
    close_problem(&one);
}

static void test_freeze_low(void **state) {
    (void)state;
    const pv__engine_kind *kinds[] = {&pv__engine_reference, &pv__engine_onednn};
    for (int e = 0; e < 2; e++) {
        problem p = open_problem("inception:views=2,size=8,low=4,channels=8,features=5", 3, 2, 2 * 64, 1, kinds[e]);
        pv__model_work_train(p.work, 5, 2, false);
        gradient(&p);
        double *whole = malloc(p.params * sizeof *whole);
        memcpy(whole, p.dw, p.params * sizeof *whole);
        pv__model_work_train(p.work, 5, 2, true);
        gradient(&p);
        size_t low = pv__model_low_params(p.model);
        assert_int_equal(low, 4 * 9 + 4 + 4 * 4 * 9 + 4);
        for (size_t i = 0; i < p.params; i++)
            CHECK_NEAR(p.dw[i], i < low ? 0 : whole[i], 0);
        free(whole);
        close_problem(&p);
    }
}

/* The fraction that is dropped, and its independence of image, node and step. */
static void test_dropout(void **state) {
    (void)state;
    enum { SIZE = 4099, IMAGES = 40 };
    static bool keep[2][SIZE];
    size_t kept = 0, both = 0;
    for (size_t image = 0; image < IMAGES; image++) {
        pv__dropout dropout = {true, 9, 1000};
        pv__dropout_mask(&dropout, image, 3, 0.1, SIZE, keep[0]);
        pv__dropout_mask(&dropout, image, 4, 0.1, SIZE, keep[1]);
        for (size_t i = 0; i < SIZE; i++) {
            kept += keep[0][i];
            both += keep[0][i] && keep[1][i];
        }
        dropout.first = 1000 + image; /* the same image with another starting number */
        pv__dropout_mask(&dropout, 0, 4, 0.1, SIZE, keep[0]);
        assert_memory_equal(keep[0], keep[1], SIZE);
    }
    double n = (double)SIZE * IMAGES;
    CHECK_NEAR((double)kept / n, 0.9, 4 * sqrt(0.09 / n));
    CHECK_NEAR((double)both / n, 0.81, 4 * sqrt(0.81 * 0.19 / n));
}

static void refuses(const char *spec, int inputs, const char *part) {
    pv_ctx *own = check_ctx(1);
    pv_model *model;
    assert_int_equal(pv_model_new(own, spec, inputs, 2, &model), PV_ERR_USAGE);
    assert_null(model);
    if (!strstr(pv_ctx_error(own)->message, part))
        fail_msg("'%s' is not in '%s'", part, pv_ctx_error(own)->message);
    pv_ctx_free(own);
}

static void test_specs(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(1);
    pv_model *model;
    CHECK_OK(own, pv_model_new(own, "convnet", 9 * 32 * 32, 2, &model));
    /* as counted by bench/peers/torch_convnet.py */
    assert_int_equal(pv_model_params(model), 1492866);
    size_t biases = 0;
    for (size_t i = 0; i < pv_model_params(model); i++)
        biases += pv_model_is_bias(model, i);
    assert_int_equal(biases, 64 + 64 + 64 + 128 + 256 + 256 + 2);
    pv_model_free(own, model);
    CHECK_OK(own, pv_model_new(own, "inception:size=64,views=3", 3 * 64 * 64, 5, &model));
    pv_model_free(own, model);
    pv_ctx_free(own);
    refuses("convnet", 10, "takes images: 9 views of 32 x 32 pixels");
    refuses("convnets", 10, "choose linear, additive, ordinal, mlp");
    refuses("convnet:views=0", 10, "views= is a whole number from 1 to 255");
    refuses("convnet:size=9x", 10, "size= is a whole number");
    refuses("convnet:channels=64--32", 10, "channels are one to eight numbers");
    refuses("convnet:dropout=1", 10, "dropout is at least 0 and below 1");
    refuses("convnet:pool=median", 10, "pool is max, min or mean");
    refuses("convnet:depth=3", 10, "its options are");
    refuses("convnet:", 10, "its options are");
    refuses("inception:channels=3", 9 * 32 * 32, "at least 4 channels");
}

enum { MESSAGE = sizeof((pv_error *)NULL)->message };

/* Log-likelihoods from a context with this engine; returns the status of creating the work. */
static pv_status run_engine(const char *engine, const pv__engine_kind *added, double *loglik, char *message) {
    pv_ctx_options options = {.threads = 1, .engine = engine};
    pv_ctx *own;
    pv_model *model;
    pv_model_work *work;
    assert_int_equal(pv_ctx_new(&options, &own), PV_OK);
    if (added)
        CHECK_OK(own, pv__engine_add(own, added));
    CHECK_OK(own, pv_model_new(own, "convnet:views=2,size=8,low=4,channels=8,features=5", 2 * 64, 2, &model));
    double *w = calloc(pv_model_params(model), sizeof *w), x[3 * 2 * 64];
    pv_model_start(model, 3, NULL, w);
    fill(3 * 2 * 64, x, 1, 1);
    pv_status status = pv_model_work_new(own, model, 3, &work);
    if (status == PV_OK)
        pv_model_forward(model, work, w, 3, x, loglik);
    else
        snprintf(message, MESSAGE, "%s", pv_ctx_error(own)->message);
    pv_model_work_free(own, work);
    pv_model_free(own, model);
    pv_ctx_free(own);
    free(w);
    return status;
}

/* The context selects the engine for networks; plug-ins add theirs. */
static void test_engine_choice(void **state) {
    (void)state;
    double usual[6] = {0}, onednn[6] = {0}, reference[6] = {0}, plugged[6] = {0};
    char message[MESSAGE] = "";
    assert_int_equal(run_engine(NULL, NULL, usual, message), PV_OK);
    assert_int_equal(run_engine("onednn", NULL, onednn, message), PV_OK);
    assert_int_equal(run_engine("reference", NULL, reference, message), PV_OK);
    assert_memory_equal(usual, onednn, sizeof usual);
    for (size_t i = 0; i < 6; i++)
        CHECK_NEAR(reference[i], onednn[i], 1e-5);
    assert_memory_not_equal(reference, onednn, sizeof reference); /* single precision differs from double */
    assert_int_equal(run_engine("cuda", NULL, plugged, message), PV_ERR_USAGE);
    assert_string_equal(message, "there is no engine 'cuda' for networks: choose one of onednn, reference");
    pv__engine_kind added = pv__engine_reference;
    added.name = "cuda";
    assert_int_equal(run_engine("cuda", &added, plugged, message), PV_OK);
    assert_memory_equal(plugged, reference, sizeof plugged);
}

static pv_status make_work(pv_ctx *poor) {
    const pv__engine_kind *kinds[] = {&pv__engine_reference, &pv__engine_onednn};
    pv_status status = PV_OK;
    for (int e = 0; e < 2 && status == PV_OK; e++) {
        pv_model *model = NULL;
        pv_model_work *work = NULL;
        status = pv_model_new(poor, "inception:views=2,size=8,low=4,channels=8,features=5", 2 * 64, 2, &model);
        if (status == PV_OK)
            status = pv__network_work_new(poor, model, 3, kinds[e], &work);
        pv_model_work_free(poor, work);
        pv_model_free(poor, model);
    }
    return status;
}

static void test_memory(void **state) {
    (void)state;
    sweep_memory(make_work);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients),     cmocka_unit_test(test_engines_agree),
                                       cmocka_unit_test(test_threads),       cmocka_unit_test(test_freeze_low),
                                       cmocka_unit_test(test_dropout),       cmocka_unit_test(test_specs),
                                       cmocka_unit_test(test_engine_choice), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
