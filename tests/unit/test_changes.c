/* Files of arrays that are modified while they are read, and other defences: ZIP members that share bytes, texts that
 * are cut.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fixture.h"

enum { ROWS = 32, SIDE = 4, READS = 400 };

/* images [ROWS][SIDE][SIDE], votes [ROWS][2], labels [ROWS] as an NPZ of stored members. */
static void write_images(void) {
    pv_archive *a;
    uint8_t *pixels, *votes, *labels;
    ok(pv_archive_new(ctx, "made", &a));
    ok(pv_archive_add(ctx, a, "images", PV_ARRAY_U8, 3, (const size_t[]){ROWS, SIDE, SIDE}, &pixels));
    ok(pv_archive_add(ctx, a, "votes", PV_ARRAY_U8, 2, (const size_t[]){ROWS, 2}, &votes));
    ok(pv_archive_add(ctx, a, "labels", PV_ARRAY_U8, 1, (const size_t[]){ROWS}, &labels));
    for (size_t i = 0; i < ROWS * SIDE * SIDE; i++)
        pixels[i] = (uint8_t)(i * 37);
    for (size_t i = 0; i < ROWS; i++) {
        votes[2 * i] = 1;
        votes[2 * i + 1] = 2;
        labels[i] = i % 2;
    }
    ok(pv_archive_write(ctx, a, path));
    pv_archive_free(ctx, a);
}

static void put_npy(const char *descr, const char *shape, const void *bytes, size_t n) {
    char header[256], whole[8192];
    int length =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    memcpy(whole, "\x93NUMPY\1\0", 8);
    whole[8] = (char)length;
    whole[9] = 0;
    memcpy(whole + 10, header, (size_t)length);
    assert_true(10 + (size_t)length + n <= sizeof whole);
    memcpy(whole + 10 + length, bytes, n);
    put(whole, 10 + (size_t)length + n);
}

/* ---- a concurrent writer ----------------------------------------------------------------------------------------- */

/* Writes two texts alternately over the same bytes of the file, until stopped. */
typedef struct flipper {
    unsigned char *bytes;
    size_t size, offset, n;
    const char *text[2];
    atomic_bool stop;
    pthread_t thread;
} flipper;

static void *flip(void *state) {
    flipper *f = state;
    for (unsigned turn = 0; !atomic_load_explicit(&f->stop, memory_order_relaxed); turn++)
        for (size_t i = 0; i < f->n; i++)
            ((volatile unsigned char *)f->bytes)[f->offset + i] = (unsigned char)f->text[turn % 2][i];
    return NULL;
}

/* Starts `skip` bytes after the position of `mark` in the file. */
static void start_flipping(flipper *f, const void *mark, size_t marked, size_t skip) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    struct stat about;
    assert_true(descriptor >= 0 && fstat(descriptor, &about) == 0);
    f->size = (size_t)about.st_size;
    f->bytes = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    assert_true(f->bytes != MAP_FAILED);
    close(descriptor);
    const unsigned char *found = memmem(f->bytes, f->size, mark, marked);
    assert_non_null(found);
    f->offset = (size_t)(found - f->bytes) + skip;
    assert_int_equal(pthread_create(&f->thread, NULL, flip, f), 0);
}

static void stop_flipping(flipper *f) {
    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
    munmap(f->bytes, f->size);
}

/* Votes alternate between 2 and 200; any result must be consistent. */
static void test_votes_change(void **state) {
    (void)state;
    uint8_t votes[2 * ROWS];
    for (size_t i = 0; i < sizeof votes; i++)
        votes[i] = (uint8_t)(1 + i % 2);
    char shape[32];
    snprintf(shape, sizeof shape, "(%d, 2)", ROWS);
    put_npy("|u1", shape, votes, sizeof votes);
    flipper f = {.n = 1, .text = {"\2", "\310"}};
    start_flipping(&f, "), }", 4, 4 + sizeof votes - 1);
    char images_path[64];
    snprintf(images_path, sizeof images_path, "%s.images", path);
    pv_archive *a;
    void *pixels;
    ok(pv_archive_new(ctx, "made", &a));
    ok(pv_archive_add(ctx, a, "images", PV_ARRAY_U8, 3, (const size_t[]){ROWS, 2, 2}, &pixels));
    ok(pv_archive_write(ctx, a, images_path));
    pv_archive_free(ctx, a);
    pv_image_roles roles = {.votes = path};
    for (int i = 0; i < READS; i++) {
        pv_images *images = NULL;
        if (pv_images_read(ctx, images_path, &roles, &images) == PV_OK)
            for (size_t n = 0; n < ROWS; n++) {
                double sum = 0;
                for (int y = 0; y < images->classes; y++)
                    sum += images->frequency[n * (size_t)images->classes + (size_t)y];
                near(sum, 1, 1e-12);
            }
        pv_images_free(ctx, images);
    }
    stop_flipping(&f);
    assert_int_equal(unlink(images_path), 0);
}

/* A header alternates between 9 rows and 4000, with bytes for 4000. */
static void test_header_changes(void **state) {
    (void)state;
    static const double values[500];
    put_npy("<f8", "(009,)", values, sizeof values);
    flipper f = {.n = 3, .text = {"009", "500"}};
    start_flipping(&f, "(009", 4, 1);
    for (int i = 0; i < READS; i++) {
        pv_table *table = NULL;
        if (pv_table_read(ctx, path, NULL, &table) == PV_OK)
            for (size_t n = 0; n < table->rows; n++)
                near(table->column[0].number[n], 0, 0);
        pv_table_free(ctx, table);
    }
    stop_flipping(&f);
}

/* The sizes in a ZIP directory change. */
static void test_directory_changes(void **state) {
    (void)state;
    write_images();
    flipper f = {.n = 4, .text = {"\x20\1\0\0", "\xFF\xFF\xFF\x7F"}};
    start_flipping(&f, "PK\1\2", 4, 24);
    for (int i = 0; i < READS; i++) {
        pv_images *images = NULL;
        pv_image_roles roles = {.labels = "labels"};
        (void)!pv_images_read(ctx, path, &roles, &images);
        pv_images_free(ctx, images);
    }
    stop_flipping(&f);
}

/* ---- changes after opening --------------------------------------------------------------------------------------- */

static void overwrite(long offset, int byte) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fputc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
}

static void refuses_changed(pv_status status) {
    assert_int_equal(status, PV_ERR_INPUT);
    says("changed while it was in use");
    assert_string_equal(pv_ctx_error(ctx)->file, path);
}

static void test_written_since(void **state) {
    (void)state;
    pv_images *images;
    pv_image_roles roles = {.labels = "labels"};
    write_images();
    ok(pv_images_read(ctx, path, &roles, &images));
    ok(pv_images_unchanged(ctx, images, false));
    overwrite(200, 1); /* within the pixels */
    refuses_changed(pv_images_unchanged(ctx, images, true));
    refuses_changed(pv_images_unchanged(ctx, images, false));
    pv_images_free(ctx, images);
}

static void test_shortened_since(void **state) {
    (void)state;
    pv_images *images;
    pv_image_roles roles = {.labels = "labels"};
    write_images();
    ok(pv_images_read(ctx, path, &roles, &images));
    assert_int_equal(truncate(path, 100), 0);
    refuses_changed(pv_images_unchanged(ctx, images, true));
    pv_images_free(ctx, images);
}

/* Changed permissions, or a replaced file: the bytes in use are the same. */
static void test_same_bytes(void **state) {
    (void)state;
    pv_images *images;
    pv_image_roles roles = {.labels = "labels"};
    write_images();
    ok(pv_images_read(ctx, path, &roles, &images));
    assert_int_equal(chmod(path, 0400), 0);
    ok(pv_images_unchanged(ctx, images, false));
    assert_int_equal(chmod(path, 0600), 0);
    write_images(); /* replaced by a new file of the same name */
    ok(pv_images_unchanged(ctx, images, false));
    pv_images_free(ctx, images);
}

/* Written to, with the time set back. */
static void test_time_set_back(void **state) {
    (void)state;
    pv_images *images;
    pv_image_roles roles = {.labels = "labels"};
    struct stat about;
    write_images();
    ok(pv_images_read(ctx, path, &roles, &images));
    assert_int_equal(stat(path, &about), 0);
    overwrite(200, 1);
    const struct timespec times[] = {about.st_atim, about.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    ok(pv_images_unchanged(ctx, images, true)); /* the quick check does not detect it */
    refuses_changed(pv_images_unchanged(ctx, images, false));
    pv_images_free(ctx, images);
}

/* The table and its images share one open file until the last is freed. */
static void test_changed_between(void **state) {
    (void)state;
    pv_image_options image = {.views = 1, .size = 4};
    pv_roles roles = {.target = "labels", .image = &image};
    pv_schema *schema = NULL;
    pv_dataset *data = NULL;
    write_images();
    pv_table *table = must_read(NULL);
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    assert_ptr_equal(data->images->archives[0], table->archive);
    pv_table_free(ctx, table);
    write_images();
    ok(pv_images_unchanged(ctx, data->images, false));
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);

    table = must_read(NULL);
    write_images(); /* the same bytes, but that cannot be known */
    refuses_changed(pv_schema_learn(ctx, table, &roles, &schema, &data));
    pv_table_free(ctx, table);
}

/* Votes for fewer images than the table has rows, or for more. */
static void test_images_of_other_length(void **state) {
    (void)state;
    pv_archive *a;
    uint8_t *bytes;
    ok(pv_archive_new(ctx, "made", &a));
    ok(pv_archive_add(ctx, a, "few", PV_ARRAY_U8, 3, (const size_t[]){2, 4, 4}, &bytes));
    ok(pv_archive_add(ctx, a, "many", PV_ARRAY_U8, 3, (const size_t[]){4, 4, 4}, &bytes));
    bytes[0] = 1;
    ok(pv_archive_add(ctx, a, "votes", PV_ARRAY_U8, 2, (const size_t[]){4, 1}, &bytes));
    memcpy(bytes, "\1\2\1\2", 4);
    pv_table *table;
    ok(pv_table_of(ctx, a, NULL, &table));
    assert_int_equal(table->rows, 2);
    pv_image_options image = {.images = "many", .votes = "votes", .views = 1, .size = 4};
    pv_roles roles = {.target = "votes", .image = &image};
    pv_schema *schema = NULL;
    pv_dataset *data = NULL;
    assert_int_equal(pv_schema_learn(ctx, table, &roles, &schema, &data), PV_ERR_INPUT);
    says("array 'many' has 4 rows, the other arrays 2");
    pv_table_free(ctx, table);
    pv_archive_free(ctx, a);
}

/* ---- ZIP --------------------------------------------------------------------------------------------------------- */

/* An NPZ of two arrays of one number, 1 and 2, in memory. */
static size_t two_members(unsigned char *bytes, size_t room) {
    pv_archive *a;
    uint8_t *number;
    ok(pv_archive_new(ctx, "made", &a));
    for (uint8_t i = 0; i < 2; i++) {
        ok(pv_archive_add(ctx, a, i ? "b" : "a", PV_ARRAY_U8, 1, (const size_t[]){1}, &number));
        *number = i + 1;
    }
    ok(pv_archive_write(ctx, a, path));
    pv_archive_free(ctx, a);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, room, file);
    assert_true(n > 0 && n < room && fclose(file) == 0);
    return n;
}

static double only_number(const char *name) {
    pv_archive *a;
    pv_array array;
    ok(pv_archive_open(ctx, path, &a));
    size_t member = pv_archive_find(a, name);
    assert_true(member < pv_archive_count(a));
    ok(pv_archive_array(ctx, a, member, &array));
    double value = pv_array_number(&array, 0);
    pv_archive_free(ctx, a);
    return value;
}

/* The directory says that members are separate, but the first one's local header says that its bytes begin in the
 * second. */
static void test_members_share_bytes(void **state) {
    (void)state;
    unsigned char bytes[4096];
    pv_archive *a;
    size_t n = two_members(bytes, sizeof bytes);
    assert_memory_equal(bytes, "PK\3\4", 4);
    bytes[28] = (unsigned char)(bytes[28] + 64);
    put(bytes, n);
    assert_int_equal(pv_archive_open(ctx, path, &a), PV_ERR_FORMAT);
    says("members overlap");
}

/* According to its local header, the last member extends into the directory. */
static void test_member_in_directory(void **state) {
    (void)state;
    unsigned char bytes[4096];
    pv_archive *a;
    size_t n = two_members(bytes, sizeof bytes);
    unsigned char *second = memmem(bytes + 4, n - 4, "PK\3\4", 4);
    assert_non_null(second);
    second[28] = (unsigned char)(second[28] + 16);
    put(bytes, n);
    assert_int_equal(pv_archive_open(ctx, path, &a), PV_ERR_FORMAT);
    says("larger than the file");
}

static void test_comment(void **state) {
    (void)state;
    static const char comment[] = "PK\5\6 is how the record begins, PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0 too";
    unsigned char bytes[4096];
    size_t n = two_members(bytes, sizeof bytes - sizeof comment);
    bytes[n - 2] = sizeof comment;
    memcpy(bytes + n, comment, sizeof comment);
    put(bytes, n + sizeof comment);
    near(only_number("a"), 1, 0);
    near(only_number("b"), 2, 0);
}

/* numpy.load returns the last. */
static void test_same_name(void **state) {
    (void)state;
    unsigned char bytes[4096];
    size_t n = two_members(bytes, sizeof bytes);
    unsigned char *entry = memmem(bytes, n, "PK\1\2", 4), *name = NULL;
    assert_non_null(entry);
    for (unsigned char *at = entry; (at = memmem(at, n - (size_t)(at - bytes), "b.npy", 5)); at++)
        name = at;
    assert_non_null(name);
    *name = 'a';
    put(bytes, n);
    near(only_number("a"), 2, 0);
    pv_archive *a;
    ok(pv_archive_open(ctx, path, &a));
    assert_int_equal(pv_archive_count(a), 1);
    pv_archive_free(ctx, a);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

enum { LONG = 300 };

/* Three texts of 300 characters; the second differs from the others in the last. */
static void put_long_texts(void) {
    static char texts[3][LONG];
    memset(texts, 'x', sizeof texts);
    texts[1][LONG - 1] = 'y';
    put_npy("|S300", "(3,)", texts, sizeof texts);
}

static void test_long_texts(void **state) {
    (void)state;
    put_long_texts();
    pv_table *table = must_read(NULL);
    assert_int_equal(table->column[0].levels, 2);
    assert_int_equal(strlen(table->column[0].level[0]), LONG);
    assert_int_equal(table->column[0].code[1], 1);
    assert_int_equal(table->column[0].code[2], 0);
    pv_table_free(ctx, table);
}

static void test_long_labels_and_groups(void **state) {
    (void)state;
    put_long_texts();
    pv_images *images;
    pv_image_roles roles = {.labels = path, .group = path};
    ok(pv_images_read(ctx, PV_TEST_DIR "/arrays/stored.npz", &roles, &images));
    assert_int_equal(images->classes, 2);
    assert_int_equal(images->groups, 2);
    assert_int_equal(strlen(images->labels[0]), LONG);
    pv_images_free(ctx, images);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_votes_change),
                                       cmocka_unit_test(test_header_changes),
                                       cmocka_unit_test(test_directory_changes),
                                       cmocka_unit_test(test_written_since),
                                       cmocka_unit_test(test_shortened_since),
                                       cmocka_unit_test(test_same_bytes),
                                       cmocka_unit_test(test_time_set_back),
                                       cmocka_unit_test(test_changed_between),
                                       cmocka_unit_test(test_images_of_other_length),
                                       cmocka_unit_test(test_members_share_bytes),
                                       cmocka_unit_test(test_member_in_directory),
                                       cmocka_unit_test(test_comment),
                                       cmocka_unit_test(test_same_name),
                                       cmocka_unit_test(test_long_texts),
                                       cmocka_unit_test(test_long_labels_and_groups)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
