/* Model files with a valid frame and checksum but invalid contents: each field is checked before it is used. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <xxhash.h>

#include "fixture.h"

static char *header, *payload; /* of a valid file */
static size_t header_size, payload_size;

static void save_with(int infer, const char *terms) {
    static const char text[] = "x,g,y\n1,a,0\n2,b,1\n3,a,0\n4,b,1\n2.5,b,0\n2,a,1\n5,a,1\n0,b,0\n";
    pv_csv_options as_text = {.text = (const char *const[]){"y"}, .n_text = 1};
    put(text, sizeof text - 1);
    pv_table *table = must_read(&as_text);
    pv_roles roles = {.target = "y", .terms = terms};
    pv_schema *schema;
    pv_dataset *data;
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    options.infer = infer;
    options.draws = 100;
    pv_classifier *classifier;
    ok(pv_fit(ctx, schema, data, &options, &classifier));
    ok(pv_classifier_save(ctx, classifier, path));
    pv_classifier_free(ctx, classifier);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
}

static void save_good(int infer) {
    save_with(infer, NULL);
}

static void read_good(void) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned long long sum;
    assert_int_equal(fscanf(file, "prevail-model 1\n%zu %zu %16llx", &header_size, &payload_size, &sum), 3);
    assert_int_equal(fgetc(file), '\n');
    header = calloc(header_size + 1, 1);
    payload = calloc(payload_size + 1, 1);
    assert_int_equal(fread(header, 1, header_size, file), header_size);
    assert_int_equal(fgetc(file), '\n');
    assert_int_equal(fread(payload, 1, payload_size, file), payload_size);
    assert_int_equal(fclose(file), 0);
}

static const char *const plain[4] = {"", " ", " ", ""};

/* Writes a file with this header and the valid payload and checksum; `around`: texts around the numbers in its second
 * line. */
static void write_with(const char *changed, const char *const around[4]) {
    XXH3_state_t *state = XXH3_createState();
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, changed, strlen(changed));
    XXH3_64bits_update(state, payload, payload_size);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "prevail-model 1\n%s%zu%s%zu%s%016llx%s\n%s\n", around[0], strlen(changed), around[1], payload_size,
            around[2], (unsigned long long)XXH3_64bits_digest(state), around[3], changed);
    fwrite(payload, 1, payload_size, file);
    assert_int_equal(fclose(file), 0);
    XXH3_freeState(state);
}

/* A context that counts allocations rejects the file and holds nothing of it. */
static void leaves_nothing(void) {
    pv_ctx_options options = pv_ctx_options_default();
    options.allocator = (pv_allocator){limited_alloc, limited_resize, limited_release, NULL};
    pv_ctx *counting;
    pv_classifier *classifier;
    allowed = SIZE_MAX;
    held = 0;
    ok(pv_ctx_new(&options, &counting));
    long before = held;
    assert_int_equal(pv_classifier_load(counting, path, &classifier), PV_ERR_FORMAT);
    assert_int_equal(held, before);
    pv_ctx_free(counting);
}

/* The header with the first occurrence of `from` replaced is rejected with this part in the message. */
static void refused(const char *from, const char *to, const char *part) {
    const char *at = strstr(header, from);
    if (!at)
        fail_msg("'%s' is not in the header", from);
    char *changed = calloc(header_size + strlen(to) + 1, 1);
    sprintf(changed, "%.*s%s%s", (int)(at - header), header, to, at + strlen(from));
    write_with(changed, plain);
    free(changed);
    pv_classifier *classifier;
    assert_int_equal(pv_classifier_load(ctx, path, &classifier), PV_ERR_FORMAT);
    assert_null(classifier);
    says(part);
    leaves_nothing();
}

static void forget(void) {
    free(header);
    free(payload);
}

static void refuses_headers(void **state) {
    (void)state;
    save_good(0);
    read_good();
    write_with(header, plain);
    pv_classifier *classifier;
    ok(pv_classifier_load(ctx, path, &classifier));
    pv_classifier_free(ctx, classifier);
    refused("{", "[", "not JSON");
    refused("\"version\"", "\"labels\"", "not JSON"); /* a duplicate key */
    refused("\"labels\":[\"0\",\"1\"]", "\"labels\":[\"0\"]", "fewer than two labels");
    refused("\"labels\":[\"0\",\"1\"]", "\"labels\":[\"0\",1]", "other than text");
    refused("\"labels\":[\"0\",\"1\"]", "\"labels\":\"01\"", "list is missing");
    static char many[8 * 1001] = "\"labels\":[\"0\",\"1\"";
    for (int i = 2; i < 1001; i++)
        sprintf(many + strlen(many), ",\"%d\"", i);
    strcat(many, "]");
    refused("\"labels\":[\"0\",\"1\"]", many, "more labels than a fit allows");
    refused("\"columns\":", "\"kolumns\":", "columns are missing");
    refused("\"name\":\"x\"", "\"name\":3", "text is missing");
    refused("\"sd\":", "\"sd\":-1e300,\"old\":", "scale is damaged");
    refused("\"levels\":[\"a\",\"b\"]", "\"levels\":[]", "no levels");
    refused("\"loss\":\"ig\"", "\"offset\":true,\"loss\":\"ig\"", "offset is damaged"); /* with a scale other than 1 */
    refused("\"loss\":\"ig\"", "\"loss\":\"log\"", "loss, marginal or stop");
    refused("\"stop\":\"converged\"", "\"stop\":\"tired\"", "stop reason");
    refused("\"target\":\"y\"", "\"target\":null", "text is missing");
    refused("\"record\":{", "\"record\":[],\"old\":{", "record is missing");
    refused("\"model\":\"linear\"", "\"model\":\"mlp:99999999\"", "architecture");
    refused("\"model\":\"linear\"", "\"model\":\"mlp:65536,65536,65536\"", "");
    refused("\"model\":\"linear\"", "\"model\":7", "architecture");
    refused("\"count\":3", "\"count\":4", "size does not fit");
    refused("\"offset\":0", "\"offset\":-8", "size does not fit");
    refused("\"offset\":0", "\"offset\":9223372036854775800", "size does not fit");
    forget();
}

static void refuses_terms(void **state) {
    (void)state;
    save_with(0, "ns(x,2),poly(x,1),x:g");
    read_good();
    write_with(header, plain);
    pv_classifier *classifier;
    ok(pv_classifier_load(ctx, path, &classifier));
    pv_classifier_free(ctx, classifier);
    refused("\"kind\":\"ns\"", "\"kind\":\"plain\"", "no known kind");
    refused("\"kind\":\"ns\"", "\"kind\":\"poly\"", "too few or too many numbers");
    refused("\"kind\":\"ns\"", "\"kind\":\"log\"", "a term is damaged");
    refused("\"degree\":2", "\"degree\":21", "a term is damaged");
    refused("\"degree\":2", "\"degree\":-2", "a term is damaged");
    refused("\"degree\":2", "\"degree\":3", "too few or too many numbers");
    refused("\"columns\":[\"x\"]", "\"columns\":[\"g\"]", "function of a text column");
    refused("\"columns\":[\"x\"]", "\"columns\":[3]", "no column");
    refused("\"columns\":[\"x\",\"g\"]", "\"columns\":[\"x\",\"z\"]", "level that its column does not have");
    refused("\"parameters\":[0.0", "\"parameters\":[9.0", "numbers of a term are damaged");
    refused("\"parameters\":[0.0", "\"parameters\":[null", "numbers of a term are damaged");
    refused("\"parameters\":[0.0", "\"parameters\":[0.0,0.5", "too few or too many numbers");
    refused("\"cells\":[0,1]", "\"cells\":[0,2]", "level that its column does not have");
    refused("\"cells\":[0,1]", "\"cells\":[0,4294967297]", "level that its column does not have");
    refused("\"cells\":[0,1]", "\"cells\":[0,1,0,1,0,1,0,1]", "more columns than it has");
    refused("\"terms\":[", "\"terms\":[7,", "no known kind");
    forget();
}

static void refuses_numbers(void **state) {
    (void)state;
    save_good(0);
    read_good();
    double *values = (double *)(void *)payload,
           good; /* weights, prevalence, design, log marginal, errors, centre, spread */
    size_t n = payload_size / sizeof *values;
    /* the constant of its averages, the combination and its checks */
    assert_true(n == 3 + 2 + 2 + 2 + 3 + 3 + 9 + 1 + (3 * 3 + 2 + 2 * 9) + (2 + 3));
    const struct {
        size_t at;
        double value;
        const char *part;
    } bad[] = {{0, NAN, "not finite"},    {2, INFINITY, "not finite"},    {3, 1.5, "not between 0 and 1"},
               {3, 0.3, "do not add up"}, {5, -1, "not between 0 and 1"}, {7, 0.5, "above 1"},
               {8, NAN, "not finite"},    {9, -1, "error is negative"},   {10, INFINITY, "not finite"},
               {12, NAN, "not finite"},   {15, INFINITY, "not finite"},   {25, INFINITY, "not finite"},
               {54, NAN, "not finite"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        good = values[bad[i].at];
        values[bad[i].at] = bad[i].value;
        refused("{", "{", bad[i].part);
        values[bad[i].at] = good;
    }
    forget();
}

static void refuses_posteriors(void **state) {
    (void)state;
    save_good(2); /* map, ml, laplace */
    read_good();
    refused("\"posterior\":{\"kind\":\"laplace\",\"count\":100", "\"posterior\":{\"kind\":\"laplace\",\"count\":0",
            "posterior");
    refused("\"posterior\":{\"kind\":\"laplace\",\"count\":100",
            "\"posterior\":{\"kind\":\"laplace\",\"count\":4611686018427387904", "posterior");
    refused("\"posterior\":{\"kind\":\"laplace\",\"count\":100", "\"posterior\":{\"kind\":\"laplace\",\"count\":99",
            "size");
    refused("\"posterior\":{\"kind\":\"laplace\"", "\"posterior\":{\"kind\":null", "posterior");
    forget();
}

/* A model with reference rows, damaged. */
static void refuses_references(void **state) {
    (void)state;
    pv_simulation study = {.cases = 20, .controls = 20, .prevalence = 0.1, .seed = 2};
    pv_roles roles = {.target = "malignant"};
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *classifier;
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.1";
    ok(pv_simulate(ctx, "nodules", &study, &table, NULL));
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    ok(pv_fit(ctx, schema, data, &options, &classifier));
    ok(pv_classifier_save(ctx, classifier, path));
    pv_classifier_free(ctx, classifier);
    read_good();
    const char *entry = strstr(header, "\"reference_score\":{\"offset\":");
    assert_non_null(entry);
    size_t scores = strtoul(strstr(entry, "offset") + strlen("offset\":"), NULL, 10) / sizeof(double);
    refused("\"reference\":[20,20]", "\"reference\":[1,39]", "reference rows");
    refused("\"reference\":[20,20]", "\"reference\":[20,19]", "size");
    refused("\"reference\":[20,20]", "\"reference\":[2000000000000,20]", "reference rows");
    refused("\"reference\":[20,20]", "\"reference\":[20]", "reference rows");
    refused("\"reference\":[20,20]", "\"reference\":\"all\"", "reference rows");
    const struct {
        size_t at;
        double value;
    } numbers[] = {{scores, 100}, {scores + 1, -59}, {scores + 40, 0}, {scores + 45, -1}, {scores + 80 + 14, -1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double before, *place = (double *)(void *)payload + numbers[i].at;
        memcpy(&before, place, sizeof before);
        memcpy(place, &numbers[i].value, sizeof before);
        refused("\"version\"", "\"version\"", "reference rows");
        memcpy(place, &before, sizeof before);
    }
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    forget();
}

/* A mixture with damaged members or damaged records of them. */
static void refuses_mixtures(void **state) {
    (void)state;
    pv_simulation study = {.cases = 20, .controls = 20, .prevalence = 0.1, .seed = 2};
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *classifier;
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.1";
    options.model = "auto";
    options.candidates = "prevalence,iw";
    ok(pv_simulate(ctx, "nodules", &study, &table, NULL));
    ok(pv_schema_learn(ctx, table, &(pv_roles){.target = "malignant"}, &schema, &data));
    ok(pv_fit(ctx, schema, data, &options, &classifier));
    ok(pv_classifier_save(ctx, classifier, path));
    pv_classifier_free(ctx, classifier);
    read_good();
    refused("\"model\":\"auto:", "\"model\":\"auto:linear+", "size");
    refused("\"model\":\"auto:", "\"model\":\"auto:auto:", "architecture");
    refused("\"model\":\"auto:", "\"model\":\"auto:convnet+", "architecture");
    refused("\"model\":\"auto:", "\"model\":\"auto:+", "architecture");
    refused("\"model\":\"auto:", "\"model\":\"auto\",\"old\":\"", "");
    refused("\"member\":true", "\"member\":false", "not those of its members");
    refused("\"candidates\":[", "\"candidates\":[{\"name\":\"x\",\"member\":true},", "not those of its members");
    refused("\"name\":\"prevalence\"", "\"name\":7", "no name");
    refused("\"stacked\":", "\"old\":", "not those of its members");
    refused("\"candidates\":[", "\"candidates\":7,\"old\":[", "not those of its members");
    refused("\"prevalence\":{\"offset\"", "\"old\":{\"offset\"", "members are missing");
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    forget();
}

/* The second line is accepted only in its exact form, not in others that parse to the same numbers. */
static void refuses_frames(void **state) {
    (void)state;
    static const char *const around[][4] = {{" ", " ", " ", ""},
                                            {"+", " ", " ", ""},
                                            {"0", " ", " ", ""},
                                            {"", "  ", " ", ""},
                                            {"", "\t", " ", ""},
                                            {"", " +", " ", ""},
                                            {"", " ", " ", " "},
                                            {"", " ", " 0x", ""},
                                            {"", " ", " 0", ""},
                                            {"", " ", "\v", ""},
                                            {"", " 99999999999999999999", " ", ""}};
    pv_classifier *classifier;
    save_good(0);
    read_good();
    write_with(header, plain);
    ok(pv_classifier_load(ctx, path, &classifier));
    pv_classifier_free(ctx, classifier);
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        write_with(header, around[i]);
        assert_int_equal(pv_classifier_load(ctx, path, &classifier), PV_ERR_FORMAT);
        assert_null(classifier);
        says("its second line is damaged");
    }
    forget();
}

/* A pipe that begins like a model, whose size is unknown. */
static void refuses_pipes(void **state) {
    (void)state;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t writer = fork();
    if (writer == 0) {
        static const char text[] = "prevail-model 1\n1 1 0000000000000000\n";
        int pipe = open(path, O_WRONLY);
        _exit(write(pipe, text, sizeof text - 1) != sizeof text - 1);
    }
    pv_classifier *classifier;
    assert_int_equal(pv_classifier_load(ctx, path, &classifier), PV_ERR_FORMAT);
    says("its size is unknown");
    assert_int_equal(waitpid(writer, NULL, 0), writer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_frames),     cmocka_unit_test(refuses_headers),    cmocka_unit_test(refuses_numbers),
        cmocka_unit_test(refuses_posteriors), cmocka_unit_test(refuses_references), cmocka_unit_test(refuses_terms),
        cmocka_unit_test(refuses_mixtures),   cmocka_unit_test(refuses_pipes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
