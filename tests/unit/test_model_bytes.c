/* Models in memory: the same bytes and errors as for files. */

#include "base/value.h"
#include "fixture.h"

enum { FITS = 4 };
static pv_classifier *fitted[FITS]; /* linear; with draws; hidden layers without prevalence; a mixture */

static int prepare(void **state) {
    if (setup(state))
        return 1;
    pv_table *table = read_text("x,g,y\n1,a,0\n2,b,1\n3,a,0\n4,b,1\n2,a,1\n1,b,0\n3,b,1\n4,a,0\n");
    pv_roles roles = {.target = "y"};
    pv_schema *schema;
    pv_dataset *data;
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    for (int i = 0; i < FITS; i++) {
        pv_fit_options options = pv_fit_options_default();
        options.prevalence = i == 2 ? NULL : "0.2";
        options.loss = i == 2 ? PV_LOSS_PLAIN : PV_LOSS_IG;
        options.model = i == 2 ? "mlp:3" : i == 3 ? "auto" : "linear";
        options.candidates = i == 3 ? "prevalence,iw,mlp" : "all";
        options.infer = i == 1 ? PV_INFER_HMC : PV_INFER_MAP;
        options.draws = 100;
        options.warmup = 50;
        options.max_iter = 20;
        ok(pv_fit(ctx, schema, data, &options, &fitted[i]));
    }
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    return 0;
}

static int tidy(void **state) {
    for (int i = 0; i < FITS; i++)
        pv_classifier_free(ctx, fitted[i]);
    return teardown(state);
}

static unsigned char *slurp(size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void the_bytes_of_the_file(void **state) {
    (void)state;
    for (int i = 0; i < FITS; i++) {
        unsigned char *bytes, *again, *file;
        size_t size, again_size, file_size;
        pv_classifier *back;
        ok(pv_classifier_save(ctx, fitted[i], path));
        ok(pv_classifier_to_bytes(ctx, fitted[i], &bytes, &size));
        file = slurp(&file_size);
        assert_int_equal(size, file_size);
        assert_memory_equal(bytes, file, size);
        ok(pv_classifier_from_bytes(ctx, NULL, bytes, size, &back));
        memset(bytes, 0, size); /* must not be needed afterwards */
        ok(pv_classifier_to_bytes(ctx, back, &again, &again_size));
        assert_int_equal(again_size, file_size);
        assert_memory_equal(again, file, file_size);
        pv_classifier_free(ctx, back);
        pv_bytes_free(ctx, bytes);
        pv_bytes_free(ctx, again);
        free(file);
    }
}

/* From memory and from a file: the same status and message. */
static void refused_alike(const unsigned char *bytes, size_t size) {
    pv_classifier *c;
    char message[512];
    put(bytes, size);
    pv_status from_file = pv_classifier_load(ctx, path, &c);
    assert_int_equal(from_file, PV_ERR_FORMAT);
    snprintf(message, sizeof message, "%s", pv_ctx_error(ctx)->message);
    unsigned char *exact = malloc(size ? size : 1); /* so that sanitisers detect accesses past the end */
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    assert_int_equal(pv_classifier_from_bytes(ctx, "in memory", exact, size, &c), PV_ERR_FORMAT);
    free(exact);
    assert_null(c);
    assert_string_equal(pv_ctx_error(ctx)->message, message);
    assert_string_equal(pv_ctx_error(ctx)->file, "in memory");
}

static void hostile_bytes(void **state) {
    (void)state;
    unsigned char *bytes;
    size_t size;
    ok(pv_classifier_to_bytes(ctx, fitted[0], &bytes, &size));
    for (size_t n = 0; n < size; n++) /* truncated anywhere */
        refused_alike(bytes, n);
    for (size_t n = 0; n < size; n += 1 + n / 64) { /* a flipped bit */
        bytes[n] ^= 4;
        refused_alike(bytes, size);
        bytes[n] ^= 4;
    }
    unsigned char *longer = malloc(size + 1);
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    longer[size] = 0;
    refused_alike(longer, size + 1);
    free(longer);
    pv_bytes_free(ctx, bytes);
    pv_classifier *c;
    assert_int_equal(pv_classifier_from_bytes(ctx, NULL, NULL, 0, &c), PV_ERR_FORMAT);
    assert_string_equal(pv_ctx_error(ctx)->file, "the model");
}

static void parts_by_function(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        const pv_classifier *c = fitted[i];
        size_t draws;
        pv_column_type type;
        assert_int_equal(pv_classifier_classes(c), 2);
        assert_string_equal(pv_classifier_label(c, 1), "1");
        assert_null(pv_classifier_label(c, 2));
        assert_null(pv_classifier_label(c, -1));
        assert_ptr_equal(pv_classifier_labels(c), c->schema->labels);
        assert_int_equal(pv_classifier_features(c), 2);
        assert_string_equal(pv_classifier_feature(c, 1), "g=b");
        assert_null(pv_classifier_feature(c, 2));
        assert_int_equal(pv_classifier_columns(c), 2);
        assert_string_equal(pv_classifier_column(c, 1, &type), "g");
        assert_int_equal(type, PV_COLUMN_TEXT);
        assert_null(pv_classifier_column(c, 2, NULL));
        assert_ptr_equal(pv_classifier_schema(c), c->schema);
        assert_ptr_equal(pv_classifier_model(c), c->model);
        assert_ptr_equal(pv_classifier_prevalence(c), c->prevalence);
        assert_ptr_equal(pv_classifier_design(c), c->design);
        assert_int_equal(pv_classifier_draws(c, &draws) != NULL, i == 1);
        assert_int_equal(draws, i == 1 ? 100 : 0);
        static const char *const model[] = {"linear", "linear", "mlp:3"}, *const loss[] = {"ig", "ig", "plain"};
        assert_string_equal(pv_classifier_text(c, PV_CLASSIFIER_MODEL), model[i]);
        assert_string_equal(pv_classifier_text(c, PV_CLASSIFIER_LOSS), loss[i]);
        assert_string_equal(pv_classifier_text(c, PV_CLASSIFIER_OUTCOME), "y");
        near(pv_classifier_number(c, PV_CLASSIFIER_ROWS), 8, 0);
        for (int f = PV_CLASSIFIER_OUTCOME; f <= PV_CLASSIFIER_SECONDS; f++) { /* either a text or a number */
            bool text = pv_classifier_text(c, (pv_classifier_fact)f) != NULL;
            bool number = !isnan(pv_classifier_number(c, (pv_classifier_fact)f));
            assert_true(text != number || (f == PV_CLASSIFIER_POSTERIOR && !text && !number));
        }
    }
}

static void *value_resize(void *block, size_t size) {
    return limited_resize(NULL, block, size);
}

static void value_release(void *block) {
    limited_release(NULL, block);
}

static pv_status bytes_poorly(pv_ctx *poor) {
    unsigned char *bytes = NULL;
    size_t size;
    pv_classifier *back = NULL;
    pv__value_memory(value_resize, value_release);
    pv_status status = pv_classifier_to_bytes(poor, fitted[1], &bytes, &size);
    if (status == PV_OK)
        status = pv_classifier_from_bytes(poor, "poor", bytes, size, &back);
    pv_classifier_free(poor, back);
    pv_bytes_free(poor, bytes);
    pv__value_memory(NULL, NULL);
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(bytes_poorly);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_bytes_of_the_file), cmocka_unit_test(hostile_bytes),
                                       cmocka_unit_test(parts_by_function), cmocka_unit_test(survives_lack_of_memory)};
    return cmocka_run_group_tests(tests, prepare, tidy);
}
