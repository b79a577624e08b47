/* Tables built in memory: equal to one read from a CSV file of the same content, including the model's bytes. */
#include "fixture.h"

enum { ROWS = 8, NUMBERS = 3 };

static const double cell[ROWS][NUMBERS] = {{1, 2.5, -3}, {2, 0.25, 4}, {3, 1e-3, 0}, {4, -7, 2},
                                           {2, 8, 1},    {1, 0.1, -2}, {3, 3.75, 5}, {4, -0.5, -1}};
static const char *const group[ROWS] = {"b", "a", "b", "c", "a", "b", "c", "a"};
static const char *const label[ROWS] = {"no", "yes", "no", "yes", "yes", "no", "yes", "no"};
static const double weight[ROWS] = {1, 2, 1, 1, 3, 1, 0.5, 1};
static const char *const names[NUMBERS] = {"age", "size", "score"};

static pv_table *from_csv(void) {
    char text[1024];
    size_t used = (size_t)snprintf(text, sizeof text, "age,size,score,group,ill,weight\n");
    for (size_t i = 0; i < ROWS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.17g,%.17g,%.17g,%s,%s,%.17g\n", cell[i][0],
                                 cell[i][1], cell[i][2], group[i], label[i], weight[i]);
    return read_text(text);
}

static pv_table *new_table(void) {
    pv_table *table;
    ok(pv_table_new(ctx, path, ROWS, &table));
    return table;
}

static void add_rest(pv_table *table) {
    ok(pv_table_add_texts(ctx, table, "group", group, NULL));
    ok(pv_table_add_texts(ctx, table, "ill", label, NULL));
    ok(pv_table_add_numbers(ctx, table, "weight", PV_ARRAY_F64, weight, PV_PACKED, NULL, false));
}

static void same_table(const pv_table *a, const pv_table *b) {
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    for (size_t c = 0; c < a->columns; c++) {
        assert_string_equal(a->column[c].name, b->column[c].name);
        assert_int_equal(a->column[c].type, b->column[c].type);
        assert_int_equal(a->column[c].levels, b->column[c].levels);
        for (size_t i = 0; i < a->rows; i++)
            if (a->column[c].type == PV_COLUMN_NUMBER)
                same_bits(number(a, i, c), number(b, i, c));
            else
                assert_int_equal(a->column[c].code[i], b->column[c].code[i]);
        for (int32_t l = 0; l < a->column[c].levels; l++)
            assert_string_equal(a->column[c].level[l], b->column[c].level[l]);
    }
}

/* The bytes of a model learned from it. */
static unsigned char *model_of(const pv_table *table, size_t *size) {
    pv_roles roles = {.target = "ill", .weights = "weight"};
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *fitted;
    unsigned char *bytes;
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    data->hash = 7; /* that of a file depends on its bytes */
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    ok(pv_fit(ctx, schema, data, &options, &fitted));
    ok(pv_classifier_to_bytes(ctx, fitted, &bytes, size));
    pv_classifier_free(ctx, fitted);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    return bytes;
}

static void same_model(const pv_table *a, const pv_table *b) {
    size_t left_size, right_size;
    unsigned char *left = model_of(a, &left_size), *right = model_of(b, &right_size);
    assert_int_equal(left_size, right_size);
    assert_memory_equal(left, right, left_size);
    pv_bytes_free(ctx, left);
    pv_bytes_free(ctx, right);
}

static void check_and_free(pv_table *table) {
    pv_table *read = from_csv();
    same_table(read, table);
    same_model(read, table);
    pv_table_free(ctx, read);
    pv_table_free(ctx, table);
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

static void a_matrix_by_rows(void **state) {
    (void)state;
    pv_table *table = new_table();
    ok(pv_table_add_matrix(ctx, table, names, NUMBERS, PV_ARRAY_F64, cell, PV_PACKED, PV_PACKED, true));
    assert_false(table->column[0].borrowed); /* its numbers are not contiguous */
    add_rest(table);
    check_and_free(table);
}

static void a_matrix_by_columns(void **state) {
    (void)state;
    double turned[NUMBERS][ROWS];
    for (size_t i = 0; i < ROWS; i++)
        for (size_t c = 0; c < NUMBERS; c++)
            turned[c][i] = cell[i][c];
    for (int borrow = 0; borrow < 2; borrow++) {
        pv_table *table = new_table();
        ok(pv_table_add_matrix(ctx, table, names, NUMBERS, PV_ARRAY_F64, turned, sizeof(double), PV_PACKED, borrow));
        for (size_t c = 0; c < NUMBERS; c++)
            assert_int_equal(table->column[c].number == turned[c], borrow);
        add_rest(table);
        check_and_free(table);
    }
}

static void columns_anywhere(void **state) {
    (void)state;
    for (int borrow = 0; borrow < 2; borrow++) {
        pv_table *table = new_table();
        for (size_t c = 0; c < NUMBERS; c++)
            ok(pv_table_add_numbers(ctx, table, names[c], PV_ARRAY_F64, &cell[0][c], sizeof cell[0], NULL, borrow));
        add_rest(table);
        check_and_free(table);
    }
    double backwards[ROWS]; /* the last row first */
    for (size_t i = 0; i < ROWS; i++)
        backwards[i] = cell[ROWS - 1 - i][0];
    pv_table *table = new_table();
    ok(pv_table_add_numbers(ctx, table, "age", PV_ARRAY_F64, backwards + ROWS - 1, -(ptrdiff_t)sizeof(double), NULL,
                            true));
    ok(pv_table_add_matrix(ctx, table, names + 1, 2, PV_ARRAY_F64, &cell[0][1], sizeof cell[0], sizeof(double), false));
    add_rest(table);
    check_and_free(table);
}

/* A stride of 0 repeats one cell: nothing beyond it is read. */
static void one_cell_for_all(void **state) {
    (void)state;
    double *cells = malloc(NUMBERS * sizeof *cells); /* sanitisers detect reads past the end */
    int32_t *code = malloc(sizeof *code);
    assert_non_null(cells);
    assert_non_null(code);
    memcpy(cells, cell[0], sizeof cell[0]);
    *code = 1;
    static const char *const levels[2] = {"a", "b"};
    for (int borrow = 0; borrow < 2; borrow++) {
        pv_table *table = new_table();
        ok(pv_table_add_matrix(ctx, table, names, NUMBERS, PV_ARRAY_F64, cells, 0, sizeof *cells, borrow));
        ok(pv_table_add_numbers(ctx, table, "one", PV_ARRAY_F64, cells, 0, NULL, borrow));
        ok(pv_table_add_codes(ctx, table, "code", PV_ARRAY_I32, code, 0, 0, levels, 2, NULL));
        ok(pv_table_add_matrix(ctx, table, (const char *const[]){"u", "v"}, 2, PV_ARRAY_F64, cells, 0, 0, borrow));
        ok(pv_table_add_matrix(ctx, table, (const char *const[]){"s", "t"}, 2, PV_ARRAY_F64, cell, sizeof cell[0], 0,
                               borrow)); /* the same column twice */
        for (size_t i = 0; i < ROWS; i++) {
            for (size_t c = 0; c < NUMBERS; c++)
                same_bits(number(table, i, c), cell[0][c]);
            same_bits(number(table, i, NUMBERS), cell[0][0]);
            assert_int_equal(table->column[NUMBERS + 1].code[i], 0);
            for (size_t c = 0; c < 2; c++) {
                same_bits(number(table, i, NUMBERS + 2 + c), cell[0][0]);
                same_bits(number(table, i, NUMBERS + 4 + c), cell[i][0]);
            }
        }
        pv_table_free(ctx, table);
    }
    free(cells);
    free(code);
}

/* Whole numbers of every type are converted exactly. */
#define CHECK_TYPE(array_type, c_type)                                                                                 \
    do {                                                                                                               \
        unsigned char packed[ROWS * sizeof(c_type) + 1];                                                               \
        for (size_t i = 0; i < ROWS; i++) {                                                                            \
            c_type value = (c_type)cell[i][0];                                                                         \
            memcpy(packed + 1 + i * sizeof value, &value, sizeof value);                                               \
        }                                                                                                              \
        pv_table *table = new_table();                                                                                 \
        ok(pv_table_add_numbers(ctx, table, "age", array_type, packed + 1, PV_PACKED, NULL, true)); /* not aligned */  \
        ok(pv_table_add_matrix(ctx, table, names + 1, 2, PV_ARRAY_F64, &cell[0][1], sizeof cell[0], sizeof(double),    \
                               false));                                                                                \
        add_rest(table);                                                                                               \
        check_and_free(table);                                                                                         \
    } while (0)

static void every_type(void **state) {
    (void)state;
    CHECK_TYPE(PV_ARRAY_U8, uint8_t);
    CHECK_TYPE(PV_ARRAY_I8, int8_t);
    CHECK_TYPE(PV_ARRAY_U16, uint16_t);
    CHECK_TYPE(PV_ARRAY_I16, int16_t);
    CHECK_TYPE(PV_ARRAY_U32, uint32_t);
    CHECK_TYPE(PV_ARRAY_I32, int32_t);
    CHECK_TYPE(PV_ARRAY_U64, uint64_t);
    CHECK_TYPE(PV_ARRAY_I64, int64_t);
    CHECK_TYPE(PV_ARRAY_F32, float);
    CHECK_TYPE(PV_ARRAY_F64, double);
    const uint8_t truth[ROWS] = {0, 1, 7, 0, 1, 0, 0, 255};
    pv_table *table = new_table();
    ok(pv_table_add_numbers(ctx, table, NULL, PV_ARRAY_BOOL, truth, PV_PACKED, NULL, false));
    assert_string_equal(table->column[0].name, "x1");
    for (size_t i = 0; i < ROWS; i++)
        near(number(table, i, 0), truth[i] != 0, 0);
    pv_table_free(ctx, table);
}

static void codes_with_levels(void **state) {
    (void)state;
    static const char *const levels[] = {"a", "nobody", "b", "c", "b"};
    static const int8_t from_zero[ROWS] = {2, 0, 4, 3, 0, 2, 3, 0};
    static const int32_t from_one[ROWS] = {3, 1, 5, 4, 1, 3, 4, 1};
    for (int way = 0; way < 2; way++) {
        pv_table *table = new_table();
        ok(pv_table_add_matrix(ctx, table, names, NUMBERS, PV_ARRAY_F64, cell, PV_PACKED, PV_PACKED, false));
        if (way == 0)
            ok(pv_table_add_codes(ctx, table, "group", PV_ARRAY_I8, from_zero, PV_PACKED, 0, levels, 5, NULL));
        else
            ok(pv_table_add_codes(ctx, table, "group", PV_ARRAY_I32, from_one, PV_PACKED, 1, levels, 5, NULL));
        ok(pv_table_add_texts(ctx, table, "ill", label, NULL));
        ok(pv_table_add_numbers(ctx, table, "weight", PV_ARRAY_F64, weight, PV_PACKED, NULL, true));
        check_and_free(table);
    }
}

/* The first given level that has rows is the reference, regardless of sorting; also for a part of a table. */
static void levels_keep_their_order(void **state) {
    (void)state;
    static const char *const levels[] = {"nobody", "c", "a", "b"};
    static const int8_t codes[ROWS] = {3, 2, 3, 1, 2, 3, 1, 2};
    static const size_t rows[ROWS] = {7, 6, 5, 4, 3, 2, 1, 0};
    pv_table *table = new_table(), *part;
    ok(pv_table_add_codes(ctx, table, "group", PV_ARRAY_I8, codes, PV_PACKED, 0, levels, 4, NULL));
    ok(pv_table_add_texts(ctx, table, "ill", label, NULL));
    ok(pv_table_take(ctx, table, ROWS, rows, &part));
    const pv_table *both[] = {table, part};
    for (int t = 0; t < 2; t++) {
        pv_schema *schema;
        pv_dataset *data;
        pv_roles roles = {.target = "ill"};
        ok(pv_schema_learn(ctx, both[t], &roles, &schema, &data));
        assert_string_equal(schema->source[0].level[0], "c");
        assert_string_equal(schema->feature[0], "group=a");
        assert_string_equal(schema->feature[1], "group=b");
        near(schema->source[0].rows[0], 2, 0);
        near(data->x[0], t, 0);
        near(data->x[1], 1 - t, 0);
        pv_dataset_free(ctx, data);
        pv_schema_free(ctx, schema);
    }
    pv_table_free(ctx, part);
    pv_table_free(ctx, table);
}

static void parts_by_function(void **state) {
    (void)state;
    pv_table *table = from_csv();
    near(pv_table_number(table, 1, 3), cell[3][1], 0);
    assert_true(isnan(pv_table_number(table, 3, 0)) && isnan(pv_table_number(table, 1, ROWS)));
    assert_string_equal(pv_table_text(table, 3, 3), "c");
    assert_null(pv_table_text(table, 1, 0));
    assert_null(pv_table_text(table, 3, ROWS));
    pv_roles roles = {.target = "ill"};
    pv_schema *schema;
    pv_dataset *data;
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    assert_ptr_equal(pv_dataset_sources(data), data->table_row);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
}

/* ---- missing cells ----------------------------------------------------------------------------------------------- */

static void missing_as_in_a_file(void **state) {
    (void)state;
    static const double numbers[4] = {1, (double)NAN, 3, 4};
    static const uint8_t mask[4] = {0, 0, 1, 0};
    static const char *const texts[4] = {"u", NULL, "NA", ""}, *const levels[2] = {"u", NULL};
    static const int32_t codes[4] = {1, INT32_MIN, 2, 1};
    pv_table *table, *read = read_text("x1,x2,x3,x4\n1,1,u,u\n,,,\n3,NA,NA,.\n4,4,,u\n");
    ok(pv_table_new(ctx, "memory", 4, &table));
    ok(pv_table_add_numbers(ctx, table, NULL, PV_ARRAY_F64, numbers, PV_PACKED, NULL, true));
    ok(pv_table_add_numbers(ctx, table, NULL, PV_ARRAY_F64, numbers, PV_PACKED, mask, true));
    ok(pv_table_add_texts(ctx, table, NULL, texts, NULL));
    ok(pv_table_add_codes(ctx, table, NULL, PV_ARRAY_I32, codes, PV_PACKED, 1, levels, 2, NULL));
    assert_true(table->column[0].borrowed && !table->column[1].borrowed); /* a mask requires a copy */
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(isnan(number(table, i, 0)), isnan(number(read, i, 0)));
        assert_int_equal(isnan(number(table, i, 1)), isnan(number(read, i, 1)));
        for (size_t c = 2; c < 4; c++)
            assert_int_equal(table->column[c].code[i], read->column[c].code[i]);
    }
    pv_table_free(ctx, read);
    pv_table_free(ctx, table);
    ok(pv_table_new(ctx, "memory", 4, &table)); /* masks for texts and codes */
    ok(pv_table_add_texts(ctx, table, "t", (const char *const[]){"u", "v", "w", "u"}, mask));
    ok(pv_table_add_codes(ctx, table, "c", PV_ARRAY_I32, codes, PV_PACKED, 1, levels, 2,
                          (const uint8_t[]){1, 0, 0, 0}));
    assert_null(text_at(table, 2, 0));
    assert_int_equal(table->column[0].levels, 2);
    assert_null(text_at(table, 0, 1));
    assert_string_equal(text_at(table, 3, 1), "u");
    pv_table_free(ctx, table);
}

static void hashes_tell_contents_apart(void **state) {
    (void)state;
    uint64_t seen[4];
    for (int i = 0; i < 4; i++) {
        pv_table *table = new_table();
        ok(pv_table_add_matrix(ctx, table, i == 1 ? NULL : names, NUMBERS, PV_ARRAY_F64, i == 2 ? cell[1] : cell[0],
                               i == 2 ? (ptrdiff_t)sizeof(double) : PV_PACKED,
                               i == 2 ? (ptrdiff_t)sizeof(double) : PV_PACKED, false));
        if (i == 3)
            add_rest(table);
        seen[i] = table->hash;
        for (int j = 0; j < i; j++)
            assert_true(seen[i] != seen[j]);
        pv_table_free(ctx, table);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void refusals_leave_the_table(void **state) {
    (void)state;
    static const char *const twice[NUMBERS] = {"size", "age", "size"}, *const levels[1] = {"a"};
    static const int32_t codes[ROWS] = {0, 0, 1, 0, 0, 0, 0, 0};
    static const double broken[ROWS] = {0, 0.5, 0, 0, 0, 0, 0, 0};
    pv_table *table;
    assert_int_equal(pv_table_new(ctx, "memory", 0, &table), PV_ERR_INPUT);
    assert_null(table);
    table = new_table();
    ok(pv_table_add_numbers(ctx, table, "age", PV_ARRAY_F64, weight, PV_PACKED, NULL, true));
    uint64_t hash = table->hash;
    assert_int_equal(pv_table_add_numbers(ctx, table, "age", PV_ARRAY_F64, weight, PV_PACKED, NULL, true),
                     PV_ERR_INPUT);
    says("columns 1 and 2 are both named 'age'");
    assert_int_equal(pv_table_add_numbers(ctx, table, "", PV_ARRAY_F64, weight, PV_PACKED, NULL, true), PV_ERR_INPUT);
    says("has no name");
    assert_int_equal(pv_table_add_numbers(ctx, table, "t", PV_ARRAY_UNICODE, weight, PV_PACKED, NULL, true),
                     PV_ERR_USAGE);
    says("unicode is not a type of number");
    assert_int_equal(pv_table_add_matrix(ctx, table, twice, NUMBERS, PV_ARRAY_F64, cell, PV_PACKED, PV_PACKED, false),
                     PV_ERR_INPUT);
    says("columns 1 and 3 are both named 'age'");
    assert_int_equal(pv_table_add_codes(ctx, table, "c", PV_ARRAY_I32, codes, PV_PACKED, 0, levels, 1, NULL),
                     PV_ERR_INPUT);
    says("not one of its 1 levels");
    at(4, 2);
    assert_int_equal(pv_table_add_codes(ctx, table, "c", PV_ARRAY_F64, broken, PV_PACKED, 0, levels, 1, NULL),
                     PV_ERR_INPUT);
    assert_int_equal(table->columns, 1);
    assert_true(table->hash == hash);
    pv_table_free(ctx, table);
}

static pv_status made_poorly(pv_ctx *poor) {
    static const char *const levels[2] = {"a", "b"};
    static const uint8_t codes[ROWS] = {0, 1, 1, 0, 0, 1, 0, 1};
    pv_table *table = NULL;
    pv_status status = pv_table_new(poor, "memory", ROWS, &table);
    if (status == PV_OK)
        status = pv_table_add_matrix(poor, table, names, NUMBERS, PV_ARRAY_F64, cell, PV_PACKED, PV_PACKED, false);
    if (status == PV_OK)
        status = pv_table_add_numbers(poor, table, "weight", PV_ARRAY_F64, weight, PV_PACKED, NULL, true);
    if (status == PV_OK)
        status = pv_table_add_numbers(poor, table, "again", PV_ARRAY_F64, weight, PV_PACKED, NULL, false);
    if (status == PV_OK)
        status = pv_table_add_texts(poor, table, "group", group, NULL);
    if (status == PV_OK)
        status = pv_table_add_codes(poor, table, "code", PV_ARRAY_U8, codes, PV_PACKED, 0, levels, 2, NULL);
    if (status == PV_OK)
        assert_int_equal(table->columns, NUMBERS + 4);
    pv_table_free(poor, table);
    return status;
}

/* Integers that doubles cannot distinguish, by rows and by columns. */
static void digits_in_a_matrix(void **state) {
    (void)state;
    const int64_t cells[3][2] = {{9007199254740992, 1}, {9007199254740993, -9007199254740993}, {9007199254740994, 3}};
    const int64_t turned[2][3] = {{9007199254740992, 9007199254740993, 9007199254740994}, {1, -9007199254740993, 3}};
    for (int i = 0; i < 2; i++) {
        pv_table *table;
        ok(pv_table_new(ctx, "digits", 3, &table));
        ok(pv_table_add_matrix(ctx, table, (const char *const[]){"u", "v"}, 2, PV_ARRAY_I64,
                               i ? &turned[0][0] : &cells[0][0], i ? (ptrdiff_t)sizeof(int64_t) : PV_PACKED, PV_PACKED,
                               true));
        const pv_column *column = table->column;
        assert_string_equal(column[0].level[column[0].code[1]], "9007199254740993");
        assert_string_equal(column[1].level[column[1].code[1]], "-9007199254740993");
        assert_int_equal(column[0].levels, 3);
        pv_table_free(ctx, table);
    }
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(made_poorly);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_matrix_by_rows),
                                       cmocka_unit_test(a_matrix_by_columns),
                                       cmocka_unit_test(columns_anywhere),
                                       cmocka_unit_test(one_cell_for_all),
                                       cmocka_unit_test(every_type),
                                       cmocka_unit_test(codes_with_levels),
                                       cmocka_unit_test(levels_keep_their_order),
                                       cmocka_unit_test(parts_by_function),
                                       cmocka_unit_test(missing_as_in_a_file),
                                       cmocka_unit_test(hashes_tell_contents_apart),
                                       cmocka_unit_test(refusals_leave_the_table),
                                       cmocka_unit_test(digits_in_a_matrix),
                                       cmocka_unit_test(survives_lack_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
