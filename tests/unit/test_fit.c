/* Fits: errors, bit-identical results for any number of threads, and the contents of model files. */
#include <unistd.h>

#include "model/model.h"
#include "problem.h"

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void test_separation(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    double x[12];
    int32_t label[12];
    for (int i = 0; i < 12; i++) {
        x[i] = i - 5.5;
        label[i] = i >= 6;
    }
    char name[] = "x", zero[] = "0", one[] = "1", *feature[] = {name}, *labels[] = {zero, one};
    pv_source_column source = {.name = name, .type = PV_COLUMN_NUMBER, .mean = 0, .sd = 1};
    pv_schema schema = {
        .labels = labels, .classes = 2, .sources = 1, .source = &source, .features = 1, .feature = feature};
    pv_dataset data = {.rows = 12, .features = 1, .x = x, .label = label, .classes = 2};
    problem p = {.schema = &schema, .data = &data};
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.1";
    for (int loss = 0; loss < 3; loss++) {
        options.loss = loss;
        options.infer = PV_INFER_ML;
        assert_int_equal(try_fit(ctx, &p, &options), PV_ERR_INPUT);
        assert_non_null(strstr(pv_ctx_error(ctx)->message, "`infer=map`"));
        options.infer = PV_INFER_MAP;
        pv_classifier *c = fit(ctx, &p, &options);
        assert_true(isfinite(c->w[1]) && c->w[1] > 0);
        pv_classifier_free(ctx, c);
    }
    options.loss = PV_LOSS_PLAIN; /* without a prior, posteriors do not exist either, with all rows or in minibatches */
    options.prior = "none";
    options.infer = PV_INFER_VI;
    options.epochs = 20;
    for (int i = 0; i < 2; i++) {
        options.batch = i ? "6" : "full";
        assert_int_equal(try_fit(ctx, &p, &options), PV_ERR_INPUT);
        assert_non_null(strstr(pv_ctx_error(ctx)->message, "`infer=map`"));
    }
    options.batch = "full";
    options.prior = "normal:2.5";
    /* Quasi-complete: an indicator seen with one class only. */
    for (int i = 0; i < 12; i++) {
        x[i] = i == 11;
        label[i] = i % 2;
    }
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ML;
    assert_int_equal(try_fit(ctx, &p, &options), PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "'x'"));
    pv_ctx_free(ctx);
}

static void refuses(pv_ctx *ctx, const problem *p, const pv_fit_options *options, pv_status status, const char *part) {
    assert_int_equal(try_fit(ctx, p, options), status);
    if (!strstr(pv_ctx_error(ctx)->message, part)) {
        print_error("'%s' does not say '%s'\n", pv_ctx_error(ctx)->message, part);
        fail();
    }
}

static void test_refusals(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    problem p = nodules(ctx, 40, 1);
    const struct {
        const char *name, *value, *name2, *value2, *message;
    } wrong[] = {{"prevalence", NULL, "loss", "iw", "needs `prevalence=P`"},
                 {"prevalence", "1.5", NULL, NULL, "1.5"},
                 {"prevalence", "0", NULL, NULL, "0"},
                 {"prevalence-n", "-3", NULL, NULL, "`prevalence-n=-3`"},
                 {"prevalence-n", "lots", NULL, NULL, "'known'"},
                 {"prior", "normal:-1", NULL, NULL, "`prior=normal:-1`"},
                 {"model", "forest", NULL, NULL, "`model=forest`"},
                 {"batch", "0", NULL, NULL, "`batch=0`"},
                 {"batch", "81", NULL, NULL, "only 80 rows"},
                 {"batch", "16", "marginal", "plugin", "`batch=full`"},
                 {"marginal", "auxiliary:linear", NULL, NULL, "`batch=256`"},
                 {"marginal", "plugin", "loss", "iw", "`loss=ig`"},
                 {"batch", "16", "design", "counts:8,9", "sum to 17"},
                 {"batch", "16", "design", "counts:16", "2 counts"},
                 {"batch", "16", "design", "fair", "`design=fair`"},
                 {"batch", "1", NULL, NULL, "too small"},
                 {"infer", "ml", "prevalence-n", "0", "undetermined"},
                 {"prevalence", "0.01-0.02", "prevalence-n", "5", "leave `prevalence-n` out"},
                 {"prevalence", "0.02-0.01", NULL, NULL, "0.02-0.01"},
                 {"prevalence", "0.5-0.500000001", NULL, NULL, "no Beta distribution"},
                 {"intercept-prior", "laplace:1", NULL, NULL, "`intercept-prior=laplace` is not smooth"},
                 {"model", "mlp:9000,9000,9000", NULL, NULL, "parameters are too many"},
                 {"model", "mlp:9000", "infer", "laplace", "over the last layer is for at most"},
                 {"model", "convnet", NULL, NULL, "`model=convnet` takes images"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pv_fit_options options = pv_fit_options_default();
        options.prevalence = "0.01";
        if (wrong[i].value)
            CHECK_OK(ctx, pv_option_set(ctx, pv_fit_option_table, &options, wrong[i].name, wrong[i].value));
        else
            options.prevalence = NULL;
        if (wrong[i].name2)
            CHECK_OK(ctx, pv_option_set(ctx, pv_fit_option_table, &options, wrong[i].name2, wrong[i].value2));
        refuses(ctx, &p, &options, PV_ERR_USAGE, wrong[i].message);
    }
    /* A rare class missing from a uniform batch under counted weights. */
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    options.batch = "1";
    options.design = "uniform";
    options.marginal = PV_MARGINAL_AUXILIARY_CONSTANT;
    refuses(ctx, &p, &options, PV_ERR_INPUT, "expected weights");
    options = pv_fit_options_default();
    options.prevalence = "0.01";
    options.prevalence_n = "0";
    options.intercept_prior = "none";
    options.marginal = PV_MARGINAL_PLUGIN;
    options.infer = PV_INFER_LAPLACE;
    refuses(ctx, &p, &options, PV_ERR_USAGE, "the posterior has no finite integral");
    options = pv_fit_options_default();
    options.prevalence = "0.01";
    p.data->x[3] = (double)NAN; /* a data set built by the caller */
    refuses(ctx, &p, &options, PV_ERR_NUMERIC, "a column has extreme values");
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* Rows cannot be held out from a single group; balanced batches need rows of every label. */
static void test_refused_rows(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    problem p = nodules(ctx, 20, 1);
    size_t n = p.data->rows;
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    options.batch = "8";
    options.validation = 0.25;
    int32_t *group = calloc(n, sizeof *group);
    double *frequency = calloc(2 * n, sizeof *frequency);
    assert_true(group && frequency);
    pv_classifier *c;
    p.data->group = group; /* all in one group */
    assert_int_equal(pv_fit(ctx, p.schema, p.data, &options, &c), PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "`validation=0.25`: "));
    p.data->group = NULL;
    for (size_t i = 0; i < n; i++) {
        frequency[2 * i] = 0.8;
        frequency[2 * i + 1] = 0.2;
    }
    int32_t *label = p.data->label;
    p.data->label = NULL;
    p.data->frequency = frequency;
    options.validation = 0;
    options.design = "balanced";
    refuses(ctx, &p, &options, PV_ERR_INPUT, "label 2 has the most votes in no row");
    p.data->label = label;
    p.data->frequency = NULL;
    free(frequency);
    free(group);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* Models for tables reject images; frozen parameters do not change, others do. */
static void test_images(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_image_options image = {0};
    pv_options_default(pv_image_option_table, &image);
    image.views = 1;
    image.size = 8;
    problem p = discs(ctx, &image);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.1";
    options.batch = "16";
    options.marginal = PV_MARGINAL_AUXILIARY_CONSTANT;
    refuses(ctx, &p, &options, PV_ERR_USAGE, "`model=linear` takes tables");
    options.model = "convnet:views=1,size=8,low=4,channels=8,features=4";
    pv_simulation pixels = {
        .rows = 200, .cases = -1, .controls = -1, .prevalence = 0.4, .dimensions = 64, .separation = 2, .seed = 1};
    pv_table *table; /* with as many columns as the network has pixels */
    CHECK_OK(ctx, pv_simulate(ctx, "gaussian", &pixels, &table, NULL));
    problem q = learn(ctx, table, &(pv_roles){.target = "y"});
    refuses(ctx, &q, &options, PV_ERR_USAGE, "takes images; for tables choose linear, additive, ordinal or mlp");
    problem_free(ctx, &q);
    options.freeze_low = true;
    options.epochs = 1;
    pv_classifier *once = fit(ctx, &p, &options);
    options.epochs = 3;
    pv_classifier *more = fit(ctx, &p, &options);
    size_t same = 0, params = pv_model_params(once->model);
    while (same < params && once->w[same] == more->w[same])
        same++;
    assert_int_equal(same, pv__model_low_params(once->model));
    assert_true(same > 0 && same < params);
    pv_classifier_free(ctx, once);
    pv_classifier_free(ctx, more);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* ---- threads and model files ------------------------------------------------------------------------------------- */

static void test_threads(void **state) {
    (void)state;
    const char *batches[] = {"full", "64"}, *models[] = {"linear", "mlp:8"};
    for (int b = 0; b < 2; b++)
        for (int m = 0; m < 2; m++) {
            double kept[128];
            size_t params = 0;
            for (int threads = 1; threads <= 3; threads++) {
                pv_ctx *ctx = check_ctx(threads);
                problem p = nodules(ctx, 20000, 4);
                pv_fit_options options = pv_fit_options_default();
                options.prevalence = "0.01";
                options.batch = batches[b];
                options.model = models[m];
                options.epochs = 1;
                options.max_iter = 30;
                pv_classifier *c = fit(ctx, &p, &options);
                params = pv_model_params(c->model);
                assert_true(params <= 128);
                if (threads == 1)
                    memcpy(kept, c->w, params * sizeof *kept);
                assert_memory_equal(kept, c->w, params * sizeof *kept);
                pv_classifier_free(ctx, c);
                problem_free(ctx, &p);
                pv_ctx_free(ctx);
            }
        }
}

static void test_model_file(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    problem p = nodules(ctx, 50, 6);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    pv_classifier *c = fit(ctx, &p, &options), *again;
    char folder[] = "/tmp/prevail-infer-XXXXXX", path[64], copy[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a", folder);
    snprintf(copy, sizeof copy, "%s/b", folder);
    CHECK_OK(ctx, pv_classifier_save(ctx, c, path));
    CHECK_OK(ctx, pv_classifier_load(ctx, path, &again));
    assert_memory_equal(again->w, c->w, pv_model_params(c->model) * sizeof *c->w);
    assert_memory_equal(again->log_marginal, c->log_marginal, 2 * sizeof(double));
    assert_string_equal(again->schema->labels[1], c->schema->labels[1]);
    assert_string_equal(again->schema->feature[6], c->schema->feature[6]);
    CHECK_NEAR(again->schema->source[0].mean, c->schema->source[0].mean, 0);
    CHECK_NEAR(again->loss_value, c->loss_value, 0);
    CHECK_OK(ctx, pv_classifier_save(ctx, again, copy));
    check_same_files(path, copy);
    size_t size;
    unsigned char *bytes = read_all(path, &size);
    pv_classifier_free(ctx, again);
    /* Truncated anywhere, or with any byte changed, the file is rejected. */
    for (size_t cut = 0; cut < size; cut += 7) {
        write_all(copy, bytes, cut);
        assert_int_equal(pv_classifier_load(ctx, copy, &again), PV_ERR_FORMAT);
        assert_null(again);
    }
    for (size_t at = 0; at < size; at += 5) {
        bytes[at] ^= 0x20;
        write_all(copy, bytes, size);
        bytes[at] ^= 0x20;
        pv_status status = pv_classifier_load(ctx, copy, &again);
        if (status == PV_OK) /* a capital digit in the hexadecimal checksum has the same value */
            pv_classifier_free(ctx, again);
        else
            assert_int_equal(status, PV_ERR_FORMAT);
        assert_true(status != PV_OK || (at > 16 && at < 64));
    }
    free(bytes);
    unlink(path);
    unlink(copy);
    rmdir(folder);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* Options without effect are rejected if given, even at their defaults; also before the data are read. */
static void test_idle_options(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    const struct {
        const char *given, *name, *value, *what; /* what NULL: it has an effect */
    } rows[] = {{"epochs", NULL, NULL, "minibatches"},
                {"epochs", "batch", "16", NULL},
                {"max-iter", "batch", "16", "`batch=full`"},
                {"prior", "infer", "ml", "`infer=map`"},
                {"draws", "infer", "ml", "`infer=laplace`, vi and hmc"},
                {"draws", "infer", "hmc", NULL},
                {"chains", "infer", "vi", "`infer=hmc`"},
                {"steps", "infer", "vi", NULL},
                {"marginal", "loss", "plain", "as ig"},
                {"prevalence-n", "loss", "iw", "as ig"},
                {"prevalence-n", NULL, NULL, NULL},
                {"pretrained", NULL, NULL, "convnet"},
                {"pretrained", "model", "convnet", NULL},
                {"epochs", "model", "convnet", NULL},
                {"seed", NULL, NULL, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pv_fit_options options = pv_fit_options_default();
        options.prevalence = "0.01";
        if (rows[i].name)
            CHECK_OK(ctx, pv_option_set(ctx, pv_fit_option_table, &options, rows[i].name, rows[i].value));
        CHECK_OK(ctx, pv_fit_check(ctx, &options, false, NULL, 0));
        pv_status status = pv_fit_check(ctx, &options, false, &rows[i].given, 1);
        assert_int_equal(status, rows[i].what ? PV_ERR_USAGE : PV_OK);
        if (rows[i].what && !strstr(pv_ctx_error(ctx)->message, rows[i].what))
            fail_msg("'%s' does not say '%s'", pv_ctx_error(ctx)->message, rows[i].what);
    }
    /* Settings know which options were set; pv_learn checks them before opening the file. */
    pv_settings *settings;
    pv_classifier *none;
    CHECK_OK(ctx, pv_fit_settings_new(ctx, &settings));
    CHECK_OK(ctx, pv_settings_set(ctx, settings, "outcome", "y"));
    CHECK_OK(ctx, pv_fit_settings_check(ctx, settings, false));
    CHECK_OK(ctx, pv_settings_set(ctx, settings, "chains", "4"));
    assert_int_equal(pv_fit_settings_check(ctx, settings, false), PV_ERR_USAGE);
    assert_int_equal(pv_learn(ctx, "/nothing/there.csv", settings, &none), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "`chains` is only for `infer=hmc`"));
    CHECK_OK(ctx, pv_settings_set(ctx, settings, "chains", NULL));
    CHECK_OK(ctx, pv_fit_settings_check(ctx, settings, false));
    pv_settings_free(ctx, settings);
    pv_fit_options options = pv_fit_options_default(), usual = options;
    options.loss = PV_LOSS_PLAIN;
    options.marginal = PV_MARGINAL_PLUGIN;
    options.epochs = 3;
    options.draws = 500;
    options.max_iter = 7;
    pv_fit_options used = pv_fit_options_used(&options, false);
    assert_int_equal(used.marginal, usual.marginal);
    assert_int_equal(used.epochs, usual.epochs);
    assert_int_equal(used.draws, usual.draws);
    assert_int_equal(used.max_iter, 7);
    assert_int_equal(used.loss, PV_LOSS_PLAIN);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_options), cmocka_unit_test(test_separation), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refused_rows), cmocka_unit_test(test_images),     cmocka_unit_test(test_threads),
        cmocka_unit_test(test_model_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
