/* From a file to a classifier in one call: equals the individual steps, with errors reported before any work. */
#include "fixture.h"

static const char study[] = "age,dose,town,ill\n50,1,a,case\n61,2,b,case\n47,2,a,control\n58,1,c,control\n66,3,b,case\n"
                            "39,1,c,control\n44,3,a,control\n71,2,c,case\n";

static pv_settings *settings_of(const char *const (*pairs)[2], size_t n) {
    pv_settings *settings;
    ok(pv_fit_settings_new(ctx, &settings));
    for (size_t i = 0; i < n; i++)
        ok(pv_settings_set(ctx, settings, pairs[i][0], pairs[i][1]));
    return settings;
}

/* `prevalence` control=0.9 makes control the positive label, although "case" suggests itself. */
static void is_the_same_as_by_steps(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"outcome", "ill"}, {"prevalence", "control=0.9"}, {"categorical", "dose"}, {"exclude", "town"}};
    put(study, sizeof study - 1);
    pv_settings *settings = settings_of(pairs, 4);
    pv_classifier *learned, *fitted;
    ok(pv_learn(ctx, path, settings, &learned));
    assert_string_equal(learned->schema->labels[1], "control");
    assert_string_equal(learned->source, path);
    pv_roles roles = {.target = "ill", .positive = "control", .categorical = "dose", .exclude = "town"};
    pv_table *table = must_read(&(pv_csv_options){.roles = &roles});
    pv_schema *schema;
    pv_dataset *data;
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    ok(pv_fit(ctx, schema, data, pv_fit_options_of(settings), &fitted));
    unsigned char *left, *right;
    size_t left_size, right_size;
    ok(pv_classifier_to_bytes(ctx, learned, &left, &left_size));
    ok(pv_classifier_to_bytes(ctx, fitted, &right, &right_size));
    assert_int_equal(left_size, right_size);
    assert_memory_equal(left, right, left_size);
    pv_bytes_free(ctx, left);
    pv_bytes_free(ctx, right);

    /* The same file read by the classifier alone is the training data set. */
    pv_dataset *again;
    pv_roles as_learned = pv_schema_roles(learned->schema);
    ok(pv_dataset_read(ctx, pv_classifier_schema(learned), path, &as_learned, NULL, &again));
    assert_int_equal(again->rows, data->rows);
    assert_memory_equal(again->x, data->x, data->rows * (size_t)data->features * sizeof *data->x);
    assert_memory_equal(again->label, data->label, data->rows * sizeof *data->label);
    pv_dataset_free(ctx, again);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    pv_classifier_free(ctx, learned);
    pv_classifier_free(ctx, fitted);
    pv_settings_free(ctx, settings);
}

/* A table in memory: the prevalence names the positive label there too, and errors have positions. */
static void learns_from_memory(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"outcome", "y"}, {"prevalence", "b=0.1"}};
    static const char *const labels[] = {"b", "a", "b", "a", "b", "a"};
    const double x[6][2] = {{1, 2}, {3, 1}, {2, 2}, {4, 5}, {1, 7}, {2, 3}};
    pv_settings *settings = settings_of(pairs, 2);
    pv_table *table;
    pv_classifier *learned;
    ok(pv_table_new(ctx, "mine", 6, &table));
    ok(pv_table_add_matrix(ctx, table, NULL, 2, PV_ARRAY_F64, x, PV_PACKED, PV_PACKED, false));
    ok(pv_table_add_texts(ctx, table, "y", labels, NULL));
    ok(pv_learn_table(ctx, table, settings, &learned));
    assert_string_equal(learned->schema->labels[1], "b");
    assert_string_equal(learned->source, "mine");
    near(learned->prevalence[1], 0.1, 1e-15);
    pv_classifier_free(ctx, learned);
    ok(pv_settings_set(ctx, settings, "outcome", "z"));
    assert_int_equal(pv_learn_table(ctx, table, settings, &learned), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_message(ctx), "mine: `outcome`: there is no column 'z'"));
    ok(pv_settings_set(ctx, settings, "model", "convnet"));
    assert_int_equal(pv_learn_table(ctx, table, settings, &learned), PV_ERR_USAGE);
    says("takes images");
    pv_table_free(ctx, table);
    put("a,y\n1,0\nx,1\n", 12);
    ok(pv_settings_set(ctx, settings, "model", NULL));
    ok(pv_settings_set(ctx, settings, "outcome", "y"));
    assert_int_equal(pv_learn(ctx, path, settings, &learned), PV_ERR_INPUT);
    const char *line = pv_ctx_message(ctx);
    assert_memory_equal(line, path, strlen(path));
    assert_memory_equal(line + strlen(path), ":3:1: ", 6);
    pv_settings_free(ctx, settings);
}

/* The file's format is a setting as well, and later files are read the same way. */
static void reads_as_told(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"outcome", "y"}, {"prevalence", "1=0.1"}, {"na", "-9"}, {"missing", "drop"}};
    static const char text[] = "x,y\n1,0\n3,1\n-9,0\n2,0\n5,1\n-9,1\n";
    put(text, sizeof text - 1);
    pv_settings *settings = settings_of(pairs, 4);
    pv_classifier *learned;
    pv_dataset *data;
    ok(pv_learn(ctx, path, settings, &learned));
    assert_int_equal(learned->dropped, 2);
    pv_roles roles = {.missing = PV_MISSING_DROP};
    ok(pv_dataset_read(ctx, learned->schema, path, &roles, pv_csv_options_of(settings), &data));
    assert_int_equal(data->rows, 4);
    pv_dataset_free(ctx, data);
    pv_classifier_free(ctx, learned);
    pv_settings_free(ctx, settings);
}

/* The outcome of images is what their file contains. */
static void finds_what_images_are_called(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"model", "convnet:views=1,size=6,low=4,channels=8,features=8"}, {"prevalence", "0.1"}, {"epochs", "1"}};
    pv_settings *settings = settings_of(pairs, 3);
    pv_classifier *learned;
    ok(pv_learn(ctx, PV_TEST_DIR "/arrays/discs.npz", settings, &learned));
    assert_string_equal(learned->schema->target, "labels");
    assert_int_equal(learned->schema->image->size, 6);
    pv_dataset *data;
    pv_prediction *said;
    ok(pv_dataset_read(ctx, learned->schema, PV_TEST_DIR "/arrays/discs.npz", NULL, NULL, &data));
    ok(pv_predict_in(ctx, learned, data, "true", NULL, &said));
    assert_int_equal(said->rows, learned->rows);
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, data);
    pv_classifier_free(ctx, learned);
    pv_settings_free(ctx, settings);
}

static void refuses(const pv_settings *settings, const char *file, pv_status why, const char *part) {
    pv_classifier *learned;
    assert_int_equal(pv_learn(ctx, file, settings, &learned), why);
    assert_null(learned);
    says(part);
}

static void says_what_is_wrong(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"prevalence", "0.1"}};
    pv_settings *settings = settings_of(pairs, 1), *other;
    put(study, sizeof study - 1);
    refuses(settings, path, PV_ERR_USAGE, "`outcome` is missing");
    refuses(settings, PV_TEST_DIR "/arrays/discs.npz", PV_ERR_USAGE, "is a file of arrays, and `model=linear`");
    ok(pv_settings_set(ctx, settings, "model", "convnet"));
    refuses(settings, path, PV_ERR_USAGE, "is not a file of arrays, and `model=convnet`");
    refuses(settings, "/nowhere/at.all", PV_ERR_PATH, "cannot be read");
    put("", 0);
    refuses(settings, path, PV_ERR_FORMAT, "is empty");
    ok(pv_settings_set(ctx, settings, "outcome", "labels"));
    ok(pv_settings_set(ctx, settings, "votes", "votes"));
    refuses(settings, PV_TEST_DIR "/arrays/discs.npz", PV_ERR_USAGE, "not both");
    pv_settings_free(ctx, settings);
    ok(pv_assess_settings_new(ctx, &other));
    refuses(other, path, PV_ERR_USAGE, "not the settings of a fit");
    pv_settings_free(ctx, other);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_same_as_by_steps), cmocka_unit_test(learns_from_memory),
                                       cmocka_unit_test(reads_as_told), cmocka_unit_test(finds_what_images_are_called),
                                       cmocka_unit_test(says_what_is_wrong)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
