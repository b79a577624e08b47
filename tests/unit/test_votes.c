/* Invalid votes and arrays, as seen by fit and eval: the message names the array and the index. */
#include "fixture.h"

enum { ROWS = 12, SIDE = 4, READERS = 3 };

typedef struct made {
    pv_archive *archive;
    float *images;    /* [ROWS][SIDE][SIDE] */
    int8_t *votes;    /* [ROWS][READERS] */
    uint8_t *labels;  /* [ROWS] */
    int32_t *patient; /* [ROWS] */
} made;

static made make(size_t labelled) {
    made m;
    const size_t images[] = {ROWS, SIDE, SIDE}, votes[] = {ROWS, READERS};
    ok(pv_archive_new(ctx, "made", &m.archive));
    ok(pv_archive_add(ctx, m.archive, "images", PV_ARRAY_F32, 3, images, &m.images));
    ok(pv_archive_add(ctx, m.archive, "votes", PV_ARRAY_I8, 2, votes, &m.votes));
    ok(pv_archive_add(ctx, m.archive, "labels", PV_ARRAY_U8, 1, &labelled, &m.labels));
    ok(pv_archive_add(ctx, m.archive, "patient", PV_ARRAY_I32, 1, votes, &m.patient));
    for (size_t i = 0; i < (size_t)ROWS * SIDE * SIDE; i++)
        m.images[i] = (float)(i % 7);
    for (size_t n = 0; n < ROWS; n++)
        for (size_t r = 0; r < READERS; r++)
            m.votes[n * READERS + r] = (int8_t)(1 + (n + r) % 5);
    for (size_t n = 0; n < labelled; n++)
        m.labels[n] = n % 2;
    return m;
}

/* Learns, with votes as the outcome or with labels. */
static pv_status learn(const made *m, const char *votes, bool drop, pv_schema **schema, pv_dataset **data) {
    pv_image_options image;
    pv_options_default(pv_image_option_table, &image);
    image.views = 1;
    image.size = SIDE;
    image.votes = votes;
    pv_roles roles = {.target = votes ? votes : "labels", .image = &image, .missing = drop};
    static const char *const text[] = {"labels"};
    pv_csv_options options = {.text = text, .n_text = votes ? 0 : 1};
    pv_table *table;
    pv_status status = pv_table_of(ctx, m->archive, &options, &table);
    if (status != PV_OK)
        return status;
    status = pv_schema_learn(ctx, table, &roles, schema, data);
    pv_table_free(ctx, table);
    return status;
}

static void refuses(const made *m, const char *votes, const char *why) {
    pv_schema *schema;
    pv_dataset *data;
    assert_int_equal(learn(m, votes, false, &schema, &data), PV_ERR_INPUT);
    says(why);
    assert_string_equal(pv_ctx_error(ctx)->file, "made");
    pv_archive_free(ctx, m->archive);
}

static void wrong_votes_are_named(void **state) {
    (void)state;
    made m = make(ROWS);
    for (size_t r = 0; r < READERS; r++)
        m.votes[7 * READERS + r] = 0;
    refuses(&m, "votes", "array 'votes' has no vote for image [7]");
    m = make(ROWS);
    m.votes[5 * READERS + 2] = -1;
    refuses(&m, "votes", "array 'votes' has -1 at [5][2]");
    m = make(ROWS);
    m.votes[9 * READERS + 1] = 7;
    refuses(&m, "votes", "array 'votes' has a vote of 7 for image [9], but no vote of 6");
    m = make(ROWS);
    m.images[3 * SIDE * SIDE + 2 * SIDE + 1] = NAN;
    refuses(&m, "votes", "array 'images' has a pixel that is NaN at [3][2][1]");
    m = make(ROWS - 2);
    refuses(&m, NULL, "array 'labels' has 10 rows, the images 12");
}

/* Rows without a vote may be dropped; votes of another file must be grades of the model. */
static void votes_are_matched(void **state) {
    (void)state;
    made m = make(ROWS);
    for (size_t r = 0; r < READERS; r++)
        m.votes[7 * READERS + r] = 0;
    pv_schema *schema;
    pv_dataset *data, *other;
    ok(learn(&m, "votes", true, &schema, &data));
    assert_int_equal(data->rows, ROWS - 1);
    assert_int_equal(data->classes, 5);
    assert_string_equal(schema->labels[4], "5");
    near(data->frequency[0], 1.0 / 3, 1e-15);
    made wrong = make(ROWS);
    wrong.votes[4 * READERS + 1] = 6;
    pv_table *table;
    ok(pv_table_of(ctx, wrong.archive, NULL, &table));
    pv_roles roles = {.target = "votes"};
    assert_int_equal(pv_schema_apply(ctx, schema, table, &roles, &other), PV_ERR_INPUT);
    says("array 'votes' has a vote of 6 for image [4]; the model's grades end at 5");
    pv_table_free(ctx, table);
    pv_archive_free(ctx, wrong.archive);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_archive_free(ctx, m.archive);
}

/* Columns of a file: at most a few hundred, and from another file of one array if that is named. */
static void columns_of_other_files(void **state) {
    (void)state;
    made m = make(ROWS);
    pv_table *table;
    const char *text[] = {path};
    pv_csv_options options = {.text = text, .n_text = 1};
    const size_t lengths[] = {ROWS, 5};
    for (int i = 0; i < 2; i++) {
        char bytes[10 + 64 + ROWS];
        int length =
            snprintf(bytes, sizeof bytes, "%cNUMPY%c_@_{'descr': '|i1', 'fortran_order': False, 'shape': (%zu,)}", 0x93,
                     1, lengths[i]);
        memset(bytes + length, ' ', (size_t)(10 + 64 - length));
        bytes[7] = bytes[9] = 0;
        for (int n = 0; n < ROWS; n++)
            bytes[10 + 64 + n] = (char)(n % 3);
        put(bytes, 10 + 64 + lengths[i]);
        if (i == 0) {
            ok(pv_table_of(ctx, m.archive, &options, &table));
            size_t c = table->columns - 1;
            assert_string_equal(table->column[c].name, path);
            assert_string_equal(text_at(table, 5, c), "2");
            pv_table_free(ctx, table);
        } else {
            assert_int_equal(pv_table_of(ctx, m.archive, &options, &table), PV_ERR_INPUT);
            says("has 5 rows and 1 dimension; a column of made has one and 12 rows");
        }
    }
    text[0] = PV_TEST_DIR "/arrays/stored.npz";
    assert_int_equal(pv_table_of(ctx, m.archive, &options, &table), PV_ERR_INPUT);
    says("has several arrays; a column is a file of one");
    for (int i = 0; i < 9; i++) {
        char name[16];
        void *numbers;
        snprintf(name, sizeof name, "wide%d", i);
        ok(pv_archive_add(ctx, m.archive, name, PV_ARRAY_U8, 2, (const size_t[]){ROWS, 64}, &numbers));
    }
    assert_int_equal(pv_table_of(ctx, m.archive, NULL, &table), PV_ERR_INPUT);
    says("has more than 512 columns");
    pv_archive_free(ctx, m.archive);
}

/* A model is applied only to the layout it was fitted to. */
static void layouts_are_matched(void **state) {
    (void)state;
    made m = make(ROWS), other;
    pv_schema *schema, *none;
    pv_dataset *data, *applied;
    pv_table *table;
    ok(learn(&m, NULL, false, &schema, &data));
    ok(pv_table_of(ctx, m.archive, NULL, &table));
    pv_image_options image;
    pv_options_default(pv_image_option_table, &image);
    assert_int_equal(pv_schema_learn(ctx, table, &(pv_roles){.image = &image}, &none, &applied), PV_ERR_USAGE);
    says("`outcome` is missing");
    pv_table_free(ctx, table);
    ok(pv_archive_new(ctx, "other", &other.archive));
    ok(pv_archive_add(ctx, other.archive, "images", PV_ARRAY_F32, 4, (const size_t[]){ROWS, 2, SIDE, SIDE},
                      &other.images));
    ok(pv_table_of(ctx, other.archive, NULL, &table));
    assert_int_equal(pv_schema_apply(ctx, schema, table, &(pv_roles){0}, &applied), PV_ERR_INPUT);
    says("array 'images' contains volumes [N][D][H][W]; the model was fitted to images [N][H][W]");
    schema->image->layout = PV_IMAGES_VIEWS; /* of one view where there are two */
    assert_int_equal(pv_schema_apply(ctx, schema, table, &(pv_roles){0}, &applied), PV_ERR_INPUT);
    says("array 'images' has 2 views of 4 x 4, the model takes 1 of 4 x 4");
    pv_table_free(ctx, table);
    pv_archive_free(ctx, other.archive);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_archive_free(ctx, m.archive);
}

/* A patient with a single class is normal. If one patient has all rows of a class, no fold can learn it. */
static void groups_of_one_class(void **state) {
    (void)state;
    made m = make(ROWS);
    pv_schema *schema;
    pv_dataset *data;
    int32_t group[ROWS], fold[ROWS];
    ok(learn(&m, NULL, false, &schema, &data));
    data->group = group;
    for (int i = 0; i < ROWS; i++)
        group[i] = i % 2 ? 6 + i / 4 : i / 2; /* each with one class */
    ok(pv_folds_make(ctx, schema, data, 2, 1, 0, fold));
    for (int i = 0; i < ROWS; i++)
        group[i] = i % 2 ? 6 : i / 2; /* one patient has all malignant ones */
    assert_int_equal(pv_folds_make(ctx, schema, data, 2, 1, 0, fold), PV_ERR_INPUT);
    says("label '1' is in 1 group");
    data->group = NULL;
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_archive_free(ctx, m.archive);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_votes_are_named), cmocka_unit_test(votes_are_matched),
                                       cmocka_unit_test(groups_of_one_class), cmocka_unit_test(columns_of_other_files),
                                       cmocka_unit_test(layouts_are_matched)};
    return cmocka_run_group_tests_name("votes", tests, setup, teardown);
}
