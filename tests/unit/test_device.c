/* Networks on a GPU compared with the reference engine: layer by layer, for whole steps and for whole fits. Without a
 * GPU all tests but the first are reported as skipped; `make check-cuda` runs them where there is one. */
#include <float.h>

#include "device.h"
#include "problem.h"

#include "compute/device.h"
#include "model/network.h"

/* A device that was requested but is not available is an error; `auto` and `cpu` continue without it. */
static void test_choice(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    const char *text;
    bool found = pv_ctx_device(ctx, &text);
    assert_true(strlen(text) > 10);
    const pv__engine_kind *kind;
    CHECK_OK(ctx, pv__engine_find(ctx, &kind));
    assert_ptr_equal(kind, found ? &pv__engine_device : pv__engine_best());
    CHECK_OK(ctx, pv_ctx_set_device(ctx, PV_DEVICE_CPU, PV_PRECISION_TF32));
    CHECK_OK(ctx, pv__engine_find(ctx, &kind));
    assert_ptr_equal(kind, pv__engine_best());
    pv_status status = pv_ctx_set_device(ctx, PV_DEVICE_CUDA, PV_PRECISION_TF32);
    assert_int_equal(status, found ? PV_OK : PV_ERR_USAGE);
    if (!found)
        assert_non_null(strstr(pv_ctx_error(ctx)->message, "`device=cuda` is not available: "));
    ctx->ranks.calls.size = 2; /* with several ranks, networks run on processors */
    assert_int_equal(pv__engine_find(ctx, &kind), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "in one process, and there are 2 ranks"));
    CHECK_OK(ctx, pv_ctx_set_device(ctx, PV_DEVICE_AUTO, PV_PRECISION_TF32));
    CHECK_OK(ctx, pv__engine_find(ctx, &kind));
    assert_ptr_equal(kind, pv__engine_best());
    ctx->ranks.calls.size = 0;
    pv_ctx_free(ctx);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* |a - b| / |b|. */
static double distance(size_t n, const double *a, const double *b) {
    double away = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        away += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    assert_true(size > 0);
    return sqrt(away / size);
}

typedef struct run {
    double *y, *dw; /* the last tensor, and the gradient with respect to the parameters */
} run;

static run pass(pv_ctx *ctx, const pv__engine_kind *kind, const pv__graph *graph, size_t images, const double *w,
                const double *x, const double *dy, bool low) {
    size_t size = pv__shape_size(pv__graph_shape(graph, graph->nodes));
    run made = {calloc(images * size, sizeof(double)), calloc(graph->params, sizeof(double))};
    pv__engine *engine;
    CHECK_OK(ctx, kind->open(ctx, graph, images, 1, 1, &engine));
    kind->load(engine, w);
    kind->forward(engine, 0, 0, x, &(pv__dropout){true, 7, 1000}, made.y);
    kind->backward(engine, 0, 0, dy, low);
    kind->gather(engine, 0, 1, 1, low, made.dw);
    if (kind->check)
        CHECK_OK(ctx, kind->check(ctx, engine));
    kind->close(ctx, engine);
    return made;
}

static void run_free(run *r) {
    free(r->y);
    free(r->dw);
}

/* Whether all tensors except the last are read by some node, so that a graph ending here is valid. */
static bool is_whole(const pv__graph *graph, int nodes) {
    bool read[PV_NODES_MAX + 1] = {false};
    for (int t = 0; t < nodes; t++)
        for (int i = 0; i < graph->node[t].inputs; i++)
            read[graph->node[t].input[i]] = true;
    int tensor = 0;
    while (tensor < nodes && read[tensor])
        tensor++;
    return tensor == nodes;
}

static const double BOUND[3][2] = {{4e-3, 4e-2}, {3e-2, 0.3}, {1e-5, 1e-5}}; /* tf32, bf16, fp32: values, gradients */

/* The network cut off after each layer: values, and gradients of all parameters up to there. */
static void check_layers(const char *spec, size_t side, pv_precision precision) {
    pv_ctx *device = device_ctx(1, precision), *reference = check_ctx(2); /* the first may skip the test */
    pv_model *model;
    CHECK_OK(reference, pv_model_new(reference, spec, (int)(2 * side * side), 2, &model));
    const size_t images = 3, inputs = images * side * side, params = pv_model_params(model);
    double *w = calloc(params, sizeof *w), *x = calloc(inputs, sizeof *x);
    pv_model_start(model, 3, NULL, w);
    pv_rng rng = pv_rng_stream(7, PV_STREAM_BENCH_VIEWS, 0);
    for (size_t i = 0; i < params; i++)
        w[i] += pv_model_is_bias(model, i) ? 0.05 * pv_rng_normal(&rng) : 0;
    for (size_t i = 0; i < inputs; i++)
        x[i] = pv_rng_normal(&rng);
    pv__graph graph = model->network->graph;
    for (int nodes = 1; nodes <= model->network->graph.nodes; nodes++) {
        if (!is_whole(&model->network->graph, nodes))
            continue;
        graph.nodes = nodes;
        for (int t = 0; t < nodes; t++)
            if (graph.node[t].kind == PV_NODE_CONV)
                graph.params = graph.node[t].bias + graph.node[t].out.channels;
        size_t size = images * pv__shape_size(pv__graph_shape(&graph, nodes));
        double *dy = calloc(size, sizeof *dy);
        for (size_t i = 0; i < size; i++)
            dy[i] = pv_rng_normal(&rng);
        run r = pass(reference, &pv__engine_reference, &graph, images, w, x, dy, true);
        run d = pass(device, &pv__engine_device, &graph, images, w, x, dy, true);
        run again = pass(device, &pv__engine_device, &graph, images, w, x, dy, true);
        double values = distance(size, d.y, r.y), slopes = distance(graph.params, d.dw, r.dw);
        print_message("%.40s, %s, %d nodes: values %.1e, gradient %.1e\n", spec, pv_precision_name(precision), nodes,
                      values, slopes);
        CHECK_NEAR(values, 0, BOUND[precision][0]);
        CHECK_NEAR(slopes, 0, BOUND[precision][1]);
        assert_memory_equal(d.y, again.y, size * sizeof(double));
        assert_memory_equal(d.dw, again.dw, graph.params * sizeof(double));
        run_free(&r);
        run_free(&d);
        run_free(&again);
        free(dy);
    }
    free(w);
    free(x);
    pv_model_free(reference, model);
    pv_ctx_free(reference);
    pv_ctx_free(device);
}

static void test_layers(void **state) {
    (void)state;
    for (int precision = 0; precision < 3; precision++) {
        check_layers("convnet:views=2,size=16,low=16,channels=24-32,features=40", 16, (pv_precision)precision);
        check_layers("convnet:views=2,size=9,low=3,channels=5-7,features=9", 9, (pv_precision)precision);
        check_layers("inception:views=2,size=16,low=16,channels=64-32,features=24", 16, (pv_precision)precision);
        check_layers("inception:views=2,size=12,low=5,channels=11-13,features=7", 12, (pv_precision)precision);
        /* slices of twelve channels and of six, with random bits of dropout in groups of eight */
        check_layers("inception:views=2,size=16,low=16,channels=48-24,features=24", 16, (pv_precision)precision);
    }
}

/* The paper's networks at full width. */
static void test_full_width(void **state) {
    (void)state;
    for (int precision = 0; precision < 3; precision++)
        check_layers("convnet:views=2", 32, (pv_precision)precision);
    check_layers("inception:views=2", 32, PV_PRECISION_BF16);
    /* the kernels of blocks: after another block, and with more channels */
    check_layers("inception:views=2,channels=64-64-64,features=24", 32, PV_PRECISION_BF16);
    check_layers("inception:views=2,size=16,channels=128-128,features=24", 16, PV_PRECISION_BF16);
}

/* More images than the largest layers' kernels process at once: a few images repeated many times have the same values
 * and the sum of their gradients, up to rounding of a long sum in single precision, which grows like a random walk. */
static void test_many_images(void **state) {
    (void)state;
    enum { FEW = 4, TIMES = 40, SIDE = 32, NODES = 3 };
    for (int precision = 0; precision < 3; precision++) {
        pv_ctx *device = device_ctx(1, (pv_precision)precision);
        pv_model *model;
        CHECK_OK(device, pv_model_new(device, "convnet:views=2", 2 * SIDE * SIDE, 2, &model));
        pv__graph graph = model->network->graph;
        graph.nodes = NODES;
        graph.node[NODES - 1].dropout = 0; /* it differs between images */
        graph.params = graph.node[NODES - 1].bias + graph.node[NODES - 1].out.channels;
        size_t in = FEW * SIDE * SIDE, out = FEW * pv__shape_size(pv__graph_shape(&graph, NODES));
        double *w = calloc(pv_model_params(model), sizeof *w), *x = calloc(TIMES * in, sizeof *x);
        double *dy = calloc(TIMES * out, sizeof *dy);
        pv_model_start(model, 3, NULL, w);
        pv_rng rng = pv_rng_stream(7, PV_STREAM_BENCH_VIEWS, 1);
        for (size_t i = 0; i < TIMES * in; i++)
            x[i] = i < in ? pv_rng_normal(&rng) : x[i - in];
        for (size_t i = 0; i < TIMES * out; i++)
            dy[i] = i < out ? pv_rng_normal(&rng) : dy[i - out];
        run few = pass(device, &pv__engine_device, &graph, FEW, w, x, dy, true);
        run many = pass(device, &pv__engine_device, &graph, (size_t)TIMES * FEW, w, x, dy, true);
        for (size_t i = 0; i < TIMES; i++)
            CHECK_NEAR(distance(out, many.y + i * out, few.y), 0, BOUND[precision][0]);
        for (size_t i = 0; i < graph.params; i++)
            few.dw[i] *= TIMES;
        double walk = FLT_EPSILON / 2 * sqrt((double)TIMES * FEW * SIDE * SIDE);
        print_message("%s: gradient of many %.1e\n", pv_precision_name((pv_precision)precision),
                      distance(graph.params, many.dw, few.dw));
        CHECK_NEAR(distance(graph.params, many.dw, few.dw), 0, BOUND[precision][1] + walk);
        run_free(&few);
        run_free(&many);
        free(w);
        free(x);
        free(dy);
        pv_model_free(device, model);
        pv_ctx_free(device);
    }
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

typedef struct way {
    pv_loss loss;
    pv_marginal marginal;
    const char *prior, *design, *prevalence_n;
    bool freeze_low;
    double auxiliary_rate;
    int implementation; /* from 0 */
    bool direct;
} way;

static const way ways[] = {
    {PV_LOSS_IG, PV_MARGINAL_PROFILE, "normal:1", "balanced", "auto", false, 0, 1, false},
    {PV_LOSS_IG, PV_MARGINAL_AUXILIARY_CONSTANT, "student:3", "uniform", "10", false, 0, 1, true},
    {PV_LOSS_IG, PV_MARGINAL_AUXILIARY_LINEAR, "laplace:1", "balanced", "0", false, 0, 2, false},
    {PV_LOSS_IG, PV_MARGINAL_AUXILIARY_LINEAR, "normal:1", "balanced", "10", false, 10, 1, false},
    {PV_LOSS_IG, PV_MARGINAL_AUXILIARY_CONSTANT, "normal:1", "balanced", "auto", false, 10, 0, false},
    {PV_LOSS_IW, PV_MARGINAL_PROFILE, "none", "balanced", "auto", false, 0, 1, false},
    {PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, "normal:0.5", "optimal", "auto", true, 0, 1, false},
};

static pv_fit_options way_options(const way *chosen, int64_t epochs) {
    pv_fit_options options = pv_fit_options_default();
    options.model = "convnet:views=3,size=12,low=8,channels=16-16,features=8";
    options.prevalence = "0.1";
    options.batch = "16";
    options.epochs = epochs;
    options.seed = 1;
    options.rate = 0.003;
    options.loss = (int)chosen->loss;
    options.marginal = (int)chosen->marginal;
    options.prior = chosen->prior;
    options.design = chosen->design;
    options.prevalence_n = chosen->prevalence_n;
    options.freeze_low = chosen->freeze_low;
    options.auxiliary_rate = chosen->auxiliary_rate;
    options.implementation = chosen->implementation;
    options.direct = chosen->direct;
    options.match = PV_MATCH_NONE;
    return options;
}

static pv_classifier *fit_way(pv_ctx *ctx, const problem *p, const way *chosen, int64_t epochs) {
    pv_fit_options options = way_options(chosen, epochs);
    return fit(ctx, p, &options);
}

/* Adam divides a gradient by its size: if the gradient is only rounding, its sign alone decides where the parameter
 * goes. Counts parameters that differ by more than a thousandth of the largest change; all others must agree. */
static size_t count_astray(size_t n, const double *moved, const double *wanted) {
    double longest = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        longest = fmax(longest, fabs(wanted[i]));
    for (size_t i = 0; i < n; i++)
        count += fabs(moved[i] - wanted[i]) <= 1e-3 * longest ? 0 : 1;
    return count;
}

/* One epoch of each loss, marginal, prior and design: the parameters of the reference engine, and bit-identical when
 * repeated.
 */
static void test_fits(void **state) {
    (void)state;
    pv_ctx *device = device_ctx(1, PV_PRECISION_FP32), *reference;
    pv_ctx_options slow = {.threads = 2, .engine = "reference"};
    CHECK_OK(device, pv_ctx_new(&slow, &reference));
    pv_image_options image = {0};
    pv_options_default(pv_image_option_table, &image);
    image.views = 3;
    image.size = 12;
    problem p = discs(reference, &image);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        pv_classifier *r = fit_way(reference, &p, &ways[i], 1), *d = fit_way(device, &p, &ways[i], 1);
        pv_classifier *again = fit_way(device, &p, &ways[i], 1);
        size_t params = pv_model_params(r->model);
        double *start = calloc(2 * params, sizeof *start), *moved = start + params;
        pv_model_start(r->model, 1, (const double[]){log(0.9), log(0.1)}, start);
        for (size_t j = 0; j < params; j++) {
            moved[j] = d->w[j] - start[j];
            start[j] = r->w[j] - start[j];
        }
        double away = distance(params, moved, start);
        size_t astray = count_astray(params, moved, start);
        print_message("way %zu: away by %.1e of what the fit moves, %zu of %zu parameters astray\n", i, away, astray,
                      params);
        CHECK_NEAR(away, 0, 5e-2);
        assert_true(astray * 1000 <= params);
        assert_memory_equal(d->w, again->w, params * sizeof *d->w);
        free(start);
        pv_classifier_free(reference, r);
        pv_classifier_free(device, d);
        pv_classifier_free(device, again);
    }
    problem_free(reference, &p);
    pv_ctx_free(reference);
    pv_ctx_free(device);
}

/* The epochs of a trace: the auxiliary network's q, predictions of all rows, and validation scores equal those of the
 * reference engine. */
static void test_epochs(void **state) {
    (void)state;
    enum { EPOCHS = 3 };
    pv_ctx *device = device_ctx(1, PV_PRECISION_FP32), *reference;
    pv_ctx_options slow = {.threads = 2, .engine = "reference"};
    CHECK_OK(device, pv_ctx_new(&slow, &reference));
    pv_image_options image = {0};
    pv_options_default(pv_image_option_table, &image);
    image.views = 3;
    image.size = 12;
    problem p = discs(reference, &image);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        pv_fit_options options = way_options(&ways[i], EPOCHS);
        if (ways[i].loss != PV_LOSS_IG) /* the trace has its marginal */
            continue;
        options.trace = true;
        options.validation = 0.25;
        options.rate = 0.0003; /* before rounding errors accumulate */
        pv_classifier *r = fit(reference, &p, &options), *d = fit(device, &p, &options);
        assert_non_null(r->trace);
        assert_int_equal(d->trace->count, EPOCHS);
        size_t n = r->trace->count * (size_t)r->trace->classes;
        print_message("way %zu: q off by %.1e, p by %.1e\n", i, distance(n, d->trace->used, r->trace->used),
                      distance(n, d->trace->exact, r->trace->exact));
        CHECK_NEAR(distance(n, d->trace->used, r->trace->used), 0, 1e-3);
        CHECK_NEAR(distance(n, d->trace->exact, r->trace->exact), 0, 1e-3);
        for (size_t e = 0; e < EPOCHS; e++)
            CHECK_NEAR(d->trace->row[e].validation, r->trace->row[e].validation, 1e-3);
        pv_classifier_free(reference, r);
        pv_classifier_free(device, d);
    }
    problem_free(reference, &p);
    pv_ctx_free(reference);
    pv_ctx_free(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice),     cmocka_unit_test(test_layers),
                                       cmocka_unit_test(test_full_width), cmocka_unit_test(test_many_images),
                                       cmocka_unit_test(test_fits),       cmocka_unit_test(test_epochs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
