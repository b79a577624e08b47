/* Exports of models: errors, hostile names, failing allocations. tests/export verifies that exported models compute
 * what pv_predict does. */
#include "fixture.h"

static pv_classifier *fitted(const char *const (*pairs)[2], size_t n) {
    pv_settings *settings;
    pv_classifier *made;
    /* the quote within the quoted name is doubled */
    static const char text[] = "age,dose,\"town a*/\\\"\"'?"
                               "?/-- ;\",ill\n50,1,a,case\n61,2,b,case\n47,2,a,control\n"
                               "58,1,c,control\n66,3,b,case\n39,1,c,control\n44,3,a,control\n71,2,c,case\n";
    put(text, sizeof text - 1);
    ok(pv_fit_settings_new(ctx, &settings));
    ok(pv_settings_set(ctx, settings, "outcome", "ill"));
    for (size_t i = 0; i < n; i++)
        ok(pv_settings_set(ctx, settings, pairs[i][0], pairs[i][1]));
    ok(pv_learn(ctx, path, settings, &made));
    pv_settings_free(ctx, settings);
    return made;
}

static const char *const usual[][2] = {{"prevalence", "0.1"}, {"terms", "ns(age,2),dose:age"}};
static char to[512];

static const char *file(const char *suffix) {
    snprintf(to, sizeof to, "%s.export%s", path, suffix);
    return to;
}

/* The message must contain the part. */
static void refuses(const pv_classifier *c, const char *suffix, const char *name, const char *value, const char *part) {
    pv_settings *settings;
    pv_result *about = NULL;
    ok(pv_export_settings_new(ctx, &settings));
    if (name)
        ok(pv_settings_set(ctx, settings, name, value));
    assert_int_equal(pv_export(ctx, c, settings, file(suffix), &about), PV_ERR_USAGE);
    assert_null(about);
    assert_non_null(strstr(pv_ctx_message(ctx), part));
    assert_int_equal(access(to, F_OK), -1);
    pv_settings_free(ctx, settings);
}

static void refuses_with_the_remedy(void **state) {
    (void)state;
    static const char *const plain[][2] = {{"loss", "plain"}};
    pv_classifier *c = fitted(usual, 2), *bare = fitted(plain, 1);
    refuses(c, ".txt", NULL, NULL, "MODEL.onnx");
    refuses(c, "", NULL, NULL, "MODEL.onnx");
    refuses(c, ".onnx", "population", "unknown", "one row at a time");
    refuses(c, ".onnx", "population", "counts:1,2", "one row at a time");
    refuses(c, ".onnx", "population", "elsewhere", "choose one of");
    refuses(c, ".onnx", "table", "t", "leave it out");
    refuses(c, ".c", "table", "t", "leave it out");
    refuses(c, ".sql", "table", "", "name the table");
    refuses(bare, ".c", "population", "true", "without `prevalence`");
    pv_classifier_free(ctx, c);
    pv_classifier_free(ctx, bare);
}

/* The contents of a file; the caller frees. */
static char *bytes_of(const char *name, size_t *size) {
    FILE *in = fopen(name, "rb");
    char *bytes = malloc(1 << 20);
    assert_non_null(in);
    assert_non_null(bytes);
    *size = fread(bytes, 1, (1 << 20) - 1, in);
    bytes[*size] = '\0';
    fclose(in);
    return bytes;
}

/* A hostile name must not leave anything that a compiler or database could interpret. */
static void names_stand_in_quotes(void **state) {
    (void)state;
    pv_classifier *c = fitted(usual, 2);
    size_t size;
    ok(pv_export(ctx, c, NULL, file(".c"), NULL));
    char *text = bytes_of(to, &size);
    assert_non_null(strstr(text, "\"town a*/\\134\\042\\047\\077\\077/-- ;\""));
    assert_null(strstr(text, "/-- ;*"));
    free(text);
    remove(to);
    ok(pv_export(ctx, c, NULL, file(".sql"), NULL));
    text = bytes_of(to, &size);
    assert_non_null(strstr(text, "t.\"town a*/\\\"\"'?"
                                 "?/-- ;\""));
    free(text);
    remove(to);
    pv_classifier_free(ctx, c);
}

/* Exports are bit-identical when repeated, and replace existing outputs completely. */
static void is_reproducible(void **state) {
    (void)state;
    static const char *const suffix[] = {".onnx", ".c", ".sql"};
    pv_classifier *c = fitted(usual, 2);
    for (int i = 0; i < 3; i++) {
        size_t first_size, size;
        ok(pv_export(ctx, c, NULL, file(suffix[i]), NULL));
        char *first = bytes_of(to, &first_size);
        ok(pv_export(ctx, c, NULL, to, NULL));
        char *again = bytes_of(to, &size);
        assert_int_equal(first_size, size);
        assert_memory_equal(first, again, size);
        free(first);
        free(again);
        remove(to);
    }
    pv_classifier_free(ctx, c);
}

static const pv_classifier *swept;
static const char *swept_suffix;

static pv_status export_once(pv_ctx *poor) {
    pv_settings *settings = NULL;
    pv_result *about = NULL;
    pv_status status = pv_export_settings_new(poor, &settings);
    if (status == PV_OK)
        status = pv_settings_set(poor, settings, "population", "known:0.3");
    if (status == PV_OK)
        status = pv_export(poor, swept, settings, file(swept_suffix), &about);
    pv_result_free(about);
    pv_settings_free(poor, settings);
    remove(to);
    return status;
}

static void survives_failing_allocations(void **state) {
    (void)state;
    static const char *const suffix[] = {".onnx", ".c", ".sql"};
    static const char *const drawn[][2] = {{"prevalence", "0.1"}, {"infer", "laplace"}, {"draws", "100"}};
    pv_classifier *averaged = fitted(usual, 2), *posterior = fitted(drawn, 3);
    for (int i = 0; i < 3; i++) {
        swept_suffix = suffix[i];
        swept = averaged;
        sweep_memory(export_once);
        swept = posterior;
        sweep_memory(export_once);
    }
    pv_classifier_free(ctx, averaged);
    pv_classifier_free(ctx, posterior);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refuses_with_the_remedy),
                                       cmocka_unit_test(names_stand_in_quotes), cmocka_unit_test(is_reproducible),
                                       cmocka_unit_test(survives_failing_allocations)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
