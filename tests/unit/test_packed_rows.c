/* Rows assembled from a packed table's columns because their matrix does not fit: the same numbers as the matrix, and
 * models and predictions bit-identical to those in memory; a file that changes meanwhile is an error. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/data.h"
#include "fixture.h"

enum { ROWS = 15000, ALLOWED = 1 << 20 }; /* 5 features take 600 kB, and three eighths of the limit are for blocks */

static char packed_path[64];

/* Three number columns, one with missing cells, one text column, weights, and labels of two and of three. */
static void write_rows(void) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("a,b,c,g,v,y,k\n", file);
    for (int i = 0; i < ROWS; i++) {
        int a = i * 37 % 101, b = i * i % 53, sum = a + i * 61 % 97;
        fprintf(file, "%d.%d,%d,", a, i % 10, b);
        fprintf(file, i % 17 == 3 ? "NA" : "%g", 0.1 * (i * 13 % 31));
        fprintf(file, ",%c,%d,%d,%d\n", "uvw"[i * 7 % 3], i % 3 + (i % 5 == 0 ? 0 : 1), sum > 99,
                (sum > 80) + (sum > 120));
    }
    assert_int_equal(fclose(file), 0);
}

/* The packed file: one context reads its numbers, the other leaves them in the file. */
static void pack_rows(bool single) {
    snprintf(packed_path, sizeof packed_path, "%s.pvt", path);
    write_rows();
    pv_table *table = must_read(NULL);
    ok(pv_table_pack(ctx, table, packed_path, single));
    pv_table_free(ctx, table);
}

typedef struct learned {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
} learned;

static pv_ctx *limited(void) {
    pv_ctx *own = check_ctx(2);
    CHECK_OK(own, pv_ctx_set_memory(own, ALLOWED, NULL));
    return own;
}

static learned learn(pv_ctx *own, const char *target, const char *weights, int missing) {
    learned made;
    pv_roles roles = {.target = target,
                      .weights = weights,
                      .exclude = strcmp(target, "y") == 0 ? (weights ? "k" : "k,v") : (weights ? "y" : "y,v"),
                      .missing = missing};
    CHECK_OK(own, pv_table_read(own, packed_path, NULL, &made.table));
    CHECK_OK(own, pv_schema_learn(own, made.table, &roles, &made.schema, &made.data));
    return made;
}

static void forget(pv_ctx *own, learned *made) {
    pv_dataset_free(own, made->data);
    pv_schema_free(own, made->schema);
    pv_table_free(own, made->table);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void compare_rows(bool single, const char *weights, int missing) {
    pv_ctx *own = limited();
    pack_rows(single);
    learned in_memory = learn(ctx, "y", weights, missing), mapped = learn(own, "y", weights, missing);
    assert_non_null(in_memory.data->x);
    assert_null(mapped.data->x);
    assert_non_null(mapped.data->columns);
    assert_int_equal(single, mapped.table->column[0].single != NULL);
    assert_int_equal(in_memory.data->rows, mapped.data->rows);
    pv_table_free(own, mapped.table); /* the data share the file */
    mapped.table = NULL;
    size_t d = (size_t)in_memory.data->features, n = mapped.data->rows;
    static const size_t begin[] = {0, 1, 255, 256, 4095, 10000}, count[] = {1, 255, 256, 257, 1000, 3000};
    double *buffer = malloc(3000 * d * sizeof *buffer);
    assert_non_null(buffer);
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6 && begin[i] + count[j] <= n; j++)
            assert_memory_equal(pv_dataset_rows(own, mapped.data, begin[i], count[j], buffer),
                                in_memory.data->x + begin[i] * d, count[j] * d * sizeof *buffer);
    assert_memory_equal(pv_dataset_rows(own, mapped.data, n - 7, 7, buffer), in_memory.data->x + (n - 7) * d,
                        7 * d * sizeof *buffer);
    double *x;
    CHECK_OK(own, pv__matrix_make(own, mapped.data, &x));
    assert_memory_equal(x, in_memory.data->x, n * d * sizeof *x);
    pv__free(own, x);
    const size_t some[] = {5, 3, n - 1};
    pv_dataset *taken;
    CHECK_OK(own, pv_dataset_take(own, mapped.data, 3, some, &taken));
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(taken->x + i * d, in_memory.data->x + some[i] * d, d * sizeof *x);
    pv_dataset_free(own, taken);
    free(buffer);
    forget(ctx, &in_memory);
    forget(own, &mapped);
    pv_ctx_free(own);
}

static void the_rows_of_the_matrix(void **state) {
    (void)state;
    for (int single = 0; single < 2; single++) {
        compare_rows(single, NULL, PV_MISSING_INDICATOR);
        compare_rows(single, NULL, PV_MISSING_DROP); /* a subset of the rows */
        compare_rows(single, "v", PV_MISSING_IMPUTE);
    }
}

/* ---- models and predictions -------------------------------------------------------------------------------------- */

typedef struct outcome {
    unsigned char *model;
    size_t size, numbers;
    double *p;
} outcome;

static outcome fit(pv_ctx *own, learned *from, pv_fit_options options, const char *population) {
    outcome made;
    unsigned char *bytes;
    pv_classifier *model;
    pv_prediction *said;
    options.prevalence = from->data->classes == 2 ? "0.2" : "0.5,0.3,0.2";
    CHECK_OK(own, pv_fit(own, from->schema, from->data, &options, &model));
    CHECK_OK(own, pv_classifier_to_bytes(own, model, &bytes, &made.size));
    CHECK_OK(own, pv_predict_in(own, model, from->data, population, NULL, &said));
    made.numbers = said->rows * (size_t)said->classes;
    made.model = malloc(made.size);
    made.p = malloc(made.numbers * sizeof *made.p);
    assert_true(made.model && made.p);
    memcpy(made.model, bytes, made.size);
    memcpy(made.p, said->p, made.numbers * sizeof *made.p);
    pv_prediction_free(own, said);
    pv_bytes_free(own, bytes);
    pv_classifier_free(own, model);
    return made;
}

static void same_outcome(pv_ctx *own, learned *in_memory, learned *mapped, pv_fit_options options,
                         const char *population) {
    outcome one = fit(ctx, in_memory, options, population), other = fit(own, mapped, options, population);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.model, other.model, one.size);
    assert_int_equal(one.numbers, other.numbers);
    assert_memory_equal(one.p, other.p, one.numbers * sizeof *one.p);
    free(one.model);
    free(one.p);
    free(other.model);
    free(other.p);
}

static void the_same_models(void **state) {
    (void)state;
    pack_rows(true);
    pv_ctx *own = limited();
    learned in_memory = learn(ctx, "y", NULL, PV_MISSING_INDICATOR),
            mapped = learn(own, "y", NULL, PV_MISSING_INDICATOR);
    pv_fit_options options = pv_fit_options_default();
    same_outcome(own, &in_memory, &mapped, options, "unknown");
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ML;
    same_outcome(own, &in_memory, &mapped, options, "true");
    options = pv_fit_options_default();
    options.marginal = PV_MARGINAL_PLUGIN; /* forward, then backward */
    same_outcome(own, &in_memory, &mapped, options, "true");
    options = pv_fit_options_default();
    options.infer = PV_INFER_ROBUST;
    same_outcome(own, &in_memory, &mapped, options, "true");
    options = pv_fit_options_default(); /* work that needs the matrix */
    options.infer = PV_INFER_LAPLACE;
    options.draws = 4;
    same_outcome(own, &in_memory, &mapped, options, "known:0.1");
    options = pv_fit_options_default();
    options.batch = "256";
    options.epochs = 1;
    same_outcome(own, &in_memory, &mapped, options, "true");
    forget(ctx, &in_memory);
    forget(own, &mapped);
    in_memory = learn(ctx, "k", "v", PV_MISSING_DROP);
    mapped = learn(own, "k", "v", PV_MISSING_DROP);
    options = pv_fit_options_default();
    same_outcome(own, &in_memory, &mapped, options, "true");
    options.model = "ordinal";
    same_outcome(own, &in_memory, &mapped, options, "true");
    forget(ctx, &in_memory);
    forget(own, &mapped);
    pv_ctx_free(own);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void touch(void) {
    int file = open(packed_path, O_WRONLY);
    assert_true(file >= 0);
    struct timespec other[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(futimens(file, other), 0);
    assert_int_equal(close(file), 0);
}

static void a_file_that_changes(void **state) {
    (void)state;
    pack_rows(true);
    pv_ctx *own = limited();
    learned mapped = learn(own, "y", NULL, PV_MISSING_DROP);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    pv_classifier *model, *none;
    pv_prediction *said;
    CHECK_OK(own, pv_fit(own, mapped.schema, mapped.data, &options, &model));
    touch();
    assert_int_equal(pv_fit(own, mapped.schema, mapped.data, &options, &none), PV_ERR_INPUT);
    assert_null(none);
    assert_non_null(strstr(pv_ctx_error(own)->message, "changed while it was in use"));
    assert_int_equal(pv_predict_in(own, model, mapped.data, "true", NULL, &said), PV_ERR_INPUT);
    options.batch = "256";
    assert_int_equal(pv_fit(own, mapped.schema, mapped.data, &options, &none), PV_ERR_INPUT);
    pv_classifier_free(own, model);
    forget(own, &mapped);
    pv_ctx_free(own);
}

/* A file that is truncated: mapped pages would raise a signal, but reads report it. */
static void a_file_that_shrinks(void **state) {
    (void)state;
    for (int single = 0; single < 2; single++) {
        pack_rows(single);
        pv_ctx *own = limited();
        learned mapped = learn(own, "y", NULL, PV_MISSING_IMPUTE);
        assert_non_null(mapped.data->columns);
        struct stat before;
        assert_int_equal(stat(packed_path, &before), 0);
        assert_int_equal(truncate(packed_path, before.st_size / 3), 0);
        pv_fit_options options = pv_fit_options_default();
        pv_classifier *model;
        options.prevalence = "0.1";
        for (int infer = PV_INFER_MAP; infer <= PV_INFER_LAPLACE; infer += PV_INFER_LAPLACE - PV_INFER_MAP) {
            options.infer = infer; /* block by block, and with a matrix */
            assert_int_equal(pv_fit(own, mapped.schema, mapped.data, &options, &model), PV_ERR_INPUT);
            assert_null(model);
            assert_non_null(strstr(pv_ctx_error(own)->message, "changed while it was in use"));
        }
        forget(own, &mapped);
        pv_ctx_free(own);
        unlink(packed_path);
    }
}

static void was_changed(const pv_ctx *own, pv_status status) {
    assert_int_equal(status, PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(own)->message, "changed while it was in use"));
}

/* Nothing is learned, subset or predicted from data that could not be read, and no warnings refer to them.
 */
static void a_table_that_shrinks(void **state) {
    (void)state;
    pack_rows(false);
    pv_ctx *own = limited();
    learned mapped = learn(own, "y", NULL, PV_MISSING_IMPUTE);
    assert_non_null(mapped.data->columns);
    pv_fit_options options = pv_fit_options_default();
    pv_classifier *model;
    options.prevalence = "0.1";
    options.infer = PV_INFER_LAPLACE;
    options.draws = 20;
    CHECK_OK(own, pv_fit(own, mapped.schema, mapped.data, &options, &model));
    struct stat before;
    assert_int_equal(stat(packed_path, &before), 0);
    pv_table *table;
    CHECK_OK(own, pv_table_read(own, packed_path, NULL, &table));
    assert_int_equal(truncate(packed_path, before.st_size - 8), 0); /* its pages stay mapped */
    const pv_predict_options interval = {.level = 0.9};
    pv_prediction *said;
    was_changed(own, pv_predict_in(own, model, mapped.data, "known:0.1", &interval, &said));
    was_changed(own, pv_predict_in(own, model, mapped.data, "unknown", &interval, &said));
    const pv_roles roles = {.target = "y", .missing = PV_MISSING_IMPUTE};
    pv_schema *schema;
    pv_dataset *data;
    was_changed(own, pv_schema_learn(own, table, &roles, &schema, &data));
    assert_true(!schema && !data);
    was_changed(own, pv_schema_apply(own, mapped.schema, table, &roles, &data));
    assert_null(data);
    pv_classifier_free(own, model);
    pv_table_free(own, table);
    forget(own, &mapped);
    pv_ctx_free(own);
}

/* A cell too far from the training mean is reported with its position. */
static void a_cell_that_is_too_far(void **state) {
    (void)state;
    pack_rows(false);
    pv_ctx *own = limited();
    learned mapped = learn(own, "y", NULL, PV_MISSING_DROP);
    pv_table *table = must_read(NULL), *again;
    table->column[1].number[777] = 1e200;
    ok(pv_table_pack(ctx, table, packed_path, false));
    pv_table_free(ctx, table);
    CHECK_OK(own, pv_table_read(own, packed_path, NULL, &again));
    pv_dataset *data;
    pv_roles roles = {.missing = PV_MISSING_DROP};
    assert_int_equal(pv_schema_apply(own, mapped.schema, again, &roles, &data), PV_ERR_INPUT);
    assert_null(data);
    assert_int_equal(pv_ctx_error(own)->line, 779);
    assert_non_null(strstr(pv_ctx_error(own)->message, "too far from the mean"));
    pv_table_free(own, again);
    forget(own, &mapped);
    pv_ctx_free(own);
}

static int remove_packed(void **state) {
    (void)state;
    unlink(packed_path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(the_rows_of_the_matrix, remove_packed),
                                       cmocka_unit_test_teardown(the_same_models, remove_packed),
                                       cmocka_unit_test_teardown(a_file_that_changes, remove_packed),
                                       cmocka_unit_test_teardown(a_file_that_shrinks, remove_packed),
                                       cmocka_unit_test_teardown(a_table_that_shrinks, remove_packed),
                                       cmocka_unit_test_teardown(a_cell_that_is_too_far, remove_packed)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
