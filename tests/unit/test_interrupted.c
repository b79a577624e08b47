/* A network's training interrupted within a step: it stops there and continues from a checkpoint bit-identically.
 */
#include "fixture.h"
#include "looks.h"

static pv_table *table;
static pv_schema *schema;
static pv_dataset *data;

static int setup_images(void **state) {
    if (setup(state) != 0)
        return 1;
    static pv_image_options image = {.views = 1, .size = 8, .shift = 0.05, .scale = 0.1, .rotate = 180};
    const pv_roles roles = {.target = "labels", .image = &image};
    const char *text[] = {"labels"};
    const pv_csv_options options = {.text = text, .n_text = 1};
    ok(pv_table_read(ctx, PV_TEST_DIR "/arrays/discs.npz", &options, &table));
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    return 0;
}

static int teardown_images(void **state) {
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    return teardown(state);
}

static pv_classifier *fit(const char *design, int64_t epochs) {
    pv_fit_options options = pv_fit_options_default();
    options.model = "convnet:views=1,size=8,low=4,channels=8,features=8";
    options.epochs = epochs;
    options.batch = "16";
    options.design = design;
    options.seed = 3;
    options.prevalence = "0.1";
    pv_classifier *classifier;
    ok(pv_fit(ctx, schema, data, &options, &classifier));
    return classifier;
}

/* Interrupted before it begins: not a single batch is processed. */
static void test_no_step(void **state) {
    (void)state;
    pv_ctx_interrupt(ctx);
    pv_classifier *c = fit("uniform", 1);
    pv_ctx_clear_interrupt(ctx);
    assert_int_equal(c->stop, PV_STOP_INTERRUPTED);
    assert_int_equal(c->iterations, 0);
    pv_classifier_free(ctx, c);
}

/* Fits from the checkpoint, interrupted at this poll call. NULL: interrupted, with its state stored. */
static pv_classifier *fit_until(int64_t look, const char *checkpoint, const char *design, int64_t epochs) {
    ok(pv_checkpoint_open(ctx, checkpoint, 1e9, true));
    looks l;
    looks_begin(&l, ctx, look);
    pv_classifier *c = fit(design, epochs);
    looks_end(&l);
    bool stopped = c->stop == PV_STOP_INTERRUPTED;
    ok(stopped ? pv_checkpoint_write(ctx) : pv_checkpoint_finish(ctx));
    pv_checkpoint_close(ctx);
    if (!stopped)
        return c;
    pv_classifier_free(ctx, c);
    return NULL;
}

static void are_same(pv_classifier *c, const pv_classifier *whole) {
    assert_non_null(c);
    assert_int_equal(c->iterations, whole->iterations);
    assert_memory_equal(c->w, whole->w, pv_model_params(whole->model) * sizeof *c->w);
    pv_classifier_free(ctx, c);
}

/* Fits interrupted once, at polls within and between steps; then one in pieces of increasing length. */
static void same_bytes(const char *design, int64_t epochs) {
    char checkpoint[64];
    snprintf(checkpoint, sizeof checkpoint, "%s.checkpoint", path);
    looks l;
    looks_begin(&l, ctx, 0);
    pv_classifier *whole = fit(design, epochs);
    looks_end(&l);
    assert_true(l.seen > 20 * whole->iterations); /* most are within a step */
    for (int64_t look = 1; look <= l.seen * 9 / 10; look += 1 + l.seen / 12) {
        assert_null(fit_until(look, checkpoint, design, epochs));
        are_same(fit_until(0, checkpoint, design, epochs), whole);
    }
    int stops = 0;
    pv_classifier *c = NULL;
    for (int64_t looks_each = l.seen / 8; !c; looks_each += looks_each / 2) {
        c = fit_until(looks_each, checkpoint, design, epochs);
        stops += !c;
    }
    assert_true(stops > 1);
    are_same(c, whole);
    pv_classifier_free(ctx, whole);
}

static void test_uniform(void **state) {
    (void)state;
    same_bytes("uniform", 3);
}

static void test_balanced(void **state) {
    (void)state;
    same_bytes("balanced", 3);
}

static void test_optimal(void **state) {
    (void)state;
    same_bytes("optimal", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_step), cmocka_unit_test(test_uniform),
                                       cmocka_unit_test(test_balanced), cmocka_unit_test(test_optimal)};
    return cmocka_run_group_tests(tests, setup_images, teardown_images);
}
