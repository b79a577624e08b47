/* Limits on the effects of untrusted files (docs/security.md): memory that their size does not justify, endless work,
 * access to other files. Each was possible once, or is an obvious attack. */
#include <sys/stat.h>
#include <xxhash.h>

#include <malloc.h>

#include "fixture.h"

/* ---- peak memory ------------------------------------------------------------------------------------------------- */

static size_t now, most;

static void count(size_t size) {
    now += size;
    most = now > most ? now : most;
}

static void *counting_alloc(void *state, size_t size) {
    (void)state;
    void *block = malloc(size);
    count(malloc_usable_size(block));
    return block;
}

static void *counting_resize(void *state, void *block, size_t size) {
    (void)state;
    now -= block ? malloc_usable_size(block) : 0;
    block = realloc(block, size);
    count(malloc_usable_size(block));
    return block;
}

static void counting_release(void *state, void *block) {
    (void)state;
    now -= block ? malloc_usable_size(block) : 0;
    free(block);
}

static pv_ctx *counting(void) {
    pv_ctx_options options = pv_ctx_options_default();
    options.allocator = (pv_allocator){counting_alloc, counting_resize, counting_release, NULL};
    options.threads = 1;
    pv_ctx *made;
    now = most = 0;
    assert_int_equal(pv_ctx_new(&options, &made), PV_OK);
    return made;
}

static void refused(pv_status status, pv_status wanted, const char *part) {
    assert_int_equal(status, wanted);
    says(part);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Regression test: a column had space for 1,024 rows whatever the number of columns. */
static void test_wide_table(void **state) {
    (void)state;
    enum { COLUMNS = 60000 };
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int row = 0; row < 3; row++)
        for (int c = 0; c < COLUMNS; c++)
            fprintf(file, row ? "%.0s%d%c" : "%s%d%c", "c", row ? row : c, c + 1 < COLUMNS ? ',' : '\n');
    size_t size = (size_t)ftell(file);
    assert_int_equal(fclose(file), 0);
    pv_ctx *own = counting();
    pv_table *table;
    assert_int_equal(pv_table_read(own, path, NULL, &table), PV_OK);
    assert_int_equal(table->columns, COLUMNS);
    assert_int_equal(table->rows, 2);
    if (most > 100 * size)
        fail_msg("%zu bytes were held for a file of %zu", most, size);
    pv_table_free(own, table);
    pv_ctx_free(own);
}

static void test_costs(void **state) {
    (void)state;
    char *labels[] = {"0", "1"};
    pv_costs *costs;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("action,0,1\n", file);
    for (int i = 0; i < 1001; i++)
        fprintf(file, "a%d,0,1\n", i);
    assert_int_equal(fclose(file), 0);
    refused(pv_costs_read(ctx, path, labels, 2, &costs), PV_ERR_INPUT, "at most 1000 are supported");
    put("action,0,1\na,,1\nb,,2\n", 20);
    refused(pv_costs_read(ctx, path, labels, 2, &costs), PV_ERR_INPUT, "is missing");
    put("action,0,1\na,1,1\nb,1,2\na,3,4\n", 29);
    refused(pv_costs_read(ctx, path, labels, 2, &costs), PV_ERR_INPUT, "action 'a' is given twice");
    at(4, 1);
}

static void test_many_probabilities(void **state) {
    (void)state;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int row = 0; row < 2; row++)
        for (int c = 0; c < 1001; c++)
            fprintf(file, row ? "%.0s0%.0d%c" : "%s%d%c", "p__", row ? 0 : c, c < 1000 ? ',' : '\n');
    assert_int_equal(fclose(file), 0);
    pv_probs_options options = {0};
    pv_probs *probs;
    refused(pv_probs_read(ctx, path, &options, &probs), PV_ERR_INPUT, "more than 1000 columns");
}

/* 1 - P must be a probability too, or a model with that prevalence could not be loaded. */
static void test_prevalence(void **state) {
    (void)state;
    char *labels[] = {"0", "1"};
    double p[2], low, high;
    refused(pv_prevalence_parse(ctx, "`prevalence`", "1e-17", labels, 2, p, &low, &high), PV_ERR_USAGE,
            "leaves label '0' a prevalence of 1");
    refused(pv_prevalence_parse(ctx, "`prevalence`", "1e-300-1e-30", labels, 2, p, &low, &high), PV_ERR_USAGE,
            "leaves label '0' a prevalence of 1");
    ok(pv_prevalence_parse(ctx, "`prevalence`", "1e-15", labels, 2, p, &low, &high));
    assert_true(p[0] < 1 && p[1] > 0);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static void put_npy_header(const char *shape) {
    char file[256] = "\x93NUMPY\1";
    int used =
        snprintf(file + 10, sizeof file - 10, "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }\n", shape);
    file[8] = (char)used;
    put(file, 10 + (size_t)used);
}

static void test_rows_claimed(void **state) {
    (void)state;
    pv_table *table;
    put_npy_header("(1000000000000, 1, 1)");
    refused(pv_table_read(ctx, path, NULL, &table), PV_ERR_FORMAT, "truncated");
    put_npy_header("(4294967296, 4294967296, 4294967296)");
    refused(pv_table_read(ctx, path, NULL, &table), PV_ERR_FORMAT, "truncated");
    put_npy_header("(1000000000000, 0, 1)"); /* many rows without elements */
    ok(pv_table_read(ctx, path, NULL, &table));
    assert_int_equal(table->rows, 0);
    pv_table_free(ctx, table);
}

static void refuses_archive(const char *name, const char *part) {
    char file[512];
    pv_archive *archive;
    pv_array array;
    snprintf(file, sizeof file, "%s/../fuzz/regressions/arrays/%s", PV_TEST_DIR, name);
    pv_status status = pv_archive_open(ctx, file, &archive);
    if (status == PV_OK)
        status = pv_archive_array(ctx, archive, 0, &array);
    refused(status, PV_ERR_FORMAT, part);
    pv_archive_free(ctx, archive);
}

/* 200 entries for the same 3 kB, which unpack to 3 MB each; a size of 2^60. */
static void test_bombs(void **state) {
    (void)state;
    refuses_archive("overlapping-members.npz", "overlap");
    refuses_archive("size-claimed.npz", "more than is possible");
}

/* Opening a pipe waits for a writer, so a name in a file must not lead to that. */
static void test_pipe(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "%s.pipe", path);
    assert_int_equal(mkfifo(name, 0600), 0);
    pv_archive *archive;
    refused(pv_archive_open(ctx, name, &archive), PV_ERR_PATH, "not a regular file");
    assert_int_equal(unlink(name), 0);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static void test_networks(void **state) {
    (void)state;
    pv_model *model;
    refused(pv_model_new(ctx, "inception:channels=4-4-4-4-4-4-4-4", 9 * 32 * 32, 2, &model), PV_ERR_USAGE,
            "at most 7 blocks");
    ok(pv_model_new(ctx, "inception:channels=4-4-4-4-4-4-4", 9 * 32 * 32, 2, &model));
    pv_model_free(ctx, model);
    refused(pv_model_new(ctx, "convnet:views=255,size=512,low=64,channels=1-1-1-1-1,features=1", 255 * 512 * 512, 2,
                         &model),
            PV_ERR_USAGE, "GiB for one image");
    refused(pv_model_new(ctx, "convnet:views=9,size=512", 9 * 512 * 512, 2, &model), PV_ERR_USAGE,
            "leaves a plane of 64 x 64");
    ok(pv_model_new(ctx, "convnet:views=9,size=512,channels=64-128-256-256-256", 9 * 512 * 512, 2, &model));
    pv_model_free(ctx, model);
}

/* A file of fuzz/regressions/model, framed as in the fuzz target. */
static void put_model(const char *name) {
    char file[512];
    snprintf(file, sizeof file, "%s/../fuzz/regressions/model/%s", PV_TEST_DIR, name);
    static unsigned char data[1 << 17];
    FILE *stream = fopen(file, "rb");
    assert_non_null(stream);
    size_t size = fread(data, 1, sizeof data, stream);
    assert_int_equal(fclose(stream), 0);
    unsigned char *end = memchr(data, '\n', size);
    assert_non_null(end);
    size_t header = (size_t)(end - data), payload = size - header - 1;
    memmove(end, end + 1, payload);
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    fprintf(to, "prevail-model 1\n%zu %zu %016llx\n", header, payload,
            (unsigned long long)XXH3_64bits(data, header + payload));
    fwrite(data, 1, header, to);
    fputc('\n', to);
    fwrite(end, 1, payload, to);
    assert_int_equal(fclose(to), 0);
}

static void test_model_files(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"levels-times-name", "more levels than a fit allows"}, {"posterior-of-a-network", "its posterior is damaged"},
        {"unknown-posterior", "its posterior is damaged"},      {"no-chains", "its posterior is damaged"},
        {"minus-one-chain", "its posterior is damaged"},        {"network-over-columns", "is not one for its columns"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pv_classifier *classifier;
        put_model(cases[i][0]);
        refused(pv_classifier_load(ctx, path, &classifier), PV_ERR_FORMAT, cases[i][1]);
        assert_null(classifier);
    }
}

/* Nested lists: the JSON parser limits the depth. */
static void test_nesting(void **state) {
    (void)state;
    enum { DEEP = 100000 };
    static char header[2 * DEEP];
    memset(header, '[', DEEP);
    memset(header + DEEP, ']', DEEP);
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    fprintf(to, "prevail-model 1\n%d 0 %016llx\n", 2 * DEEP, (unsigned long long)XXH3_64bits(header, 2 * DEEP));
    fwrite(header, 1, 2 * DEEP, to);
    fputc('\n', to);
    assert_int_equal(fclose(to), 0);
    pv_classifier *classifier;
    refused(pv_classifier_load(ctx, path, &classifier), PV_ERR_FORMAT, "its header is not JSON");
}

/* The name of an array in a model is not opened as a file. */
static void test_named_file(void **state) {
    (void)state;
    char archive[512], other[512];
    snprintf(archive, sizeof archive, "%s/arrays/stored.npz", PV_TEST_DIR);
    snprintf(other, sizeof other, "%s/arrays/labels.idx", PV_TEST_DIR);
    pv_image_roles roles = {.labels = other, .members_only = true};
    pv_images *images;
    assert_int_equal(pv_images_read(ctx, archive, &roles, &images), PV_ERR_INPUT);
    says("has no array");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_table), cmocka_unit_test(test_costs),     cmocka_unit_test(test_many_probabilities),
        cmocka_unit_test(test_prevalence), cmocka_unit_test(test_bombs),     cmocka_unit_test(test_rows_claimed),
        cmocka_unit_test(test_pipe),       cmocka_unit_test(test_networks),  cmocka_unit_test(test_model_files),
        cmocka_unit_test(test_nesting),    cmocka_unit_test(test_named_file)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
