/* Packed tables, and memory in files: bit-identical to a table in memory; inconsistent files are rejected. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/base.h"
#include "data/data.h"
#include "fixture.h"

static const char TEXT[] = "a,g,b,y\n1.5,u,3,0\n2,v,1e300,1\nNA,w,-2,0\n\"4\",\"u\",0.1,1\n5.25,,7,1\n";

static char packed_path[64];

static pv_table *pack(const char *text, bool single) {
    pv_table *table = read_text(text), *again = NULL;
    snprintf(packed_path, sizeof packed_path, "%s.pvt", path);
    ok(pv_table_pack(ctx, table, packed_path, single));
    pv_table_free(ctx, table);
    ok(pv_table_read(ctx, packed_path, NULL, &again));
    return again;
}

static void same_cells(const pv_table *a, const pv_table *b, bool single) {
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    assert_string_equal(a->source, b->source);
    for (size_t c = 0; c < a->columns; c++) {
        assert_string_equal(a->column[c].name, b->column[c].name);
        assert_int_equal(a->column[c].type, b->column[c].type);
        for (size_t i = 0; i < a->rows; i++) {
            assert_int_equal(pv_table_line(a, i), pv_table_line(b, i));
            if (a->column[c].type == PV_COLUMN_NUMBER) {
                double x = a->column[c].number[i], y = b->column[c].number[i];
                x = single ? (double)(float)x : x;
                assert_memory_equal(&x, &y, isnan(x) && isnan(y) ? 0 : sizeof x);
                continue;
            }
            const char *x = pv_table_text(a, c, i), *y = pv_table_text(b, c, i);
            assert_int_equal(x == NULL, y == NULL);
            if (x)
                assert_string_equal(x, y);
        }
    }
}

static void the_same_table(void **state) {
    (void)state;
    pv_table *packed = pack(TEXT, false), *table = read_text(TEXT);
    same_cells(table, packed, false);
    assert_int_equal(table->hash, packed->hash);
    pv_table_free(ctx, packed);
    pv_table_free(ctx, table);
    /* several lines per row, and another format */
    const char *odd = "a;y\n1,5;0\n\n\n2,5;1\n";
    put(odd, strlen(odd));
    pv_csv_options csv = {.separator = ";", .decimal = ","};
    table = must_read(&csv);
    ok(pv_table_pack(ctx, table, packed_path, false));
    ok(pv_table_read(ctx, packed_path, NULL, &packed));
    same_cells(table, packed, false);
    assert_string_equal(packed->written.separator, ";");
    assert_string_equal(packed->written.decimal, ",");
    pv_table_free(ctx, packed);
    pv_table_free(ctx, table);
}

static void single_precision(void **state) {
    (void)state;
    pv_table *table = read_text("a,g\n0.1,u\n-3e38,v\nNA,v\n"), *packed = pack("a,g\n0.1,u\n-3e38,v\nNA,v\n", true);
    same_cells(table, packed, true);
    assert_int_not_equal(table->hash, packed->hash);
    pv_table_free(ctx, packed);
    pv_table_free(ctx, table);
    table = read_text("a,g\n0.1,u\n1e39,v\n");
    assert_int_equal(pv_table_pack(ctx, table, packed_path, true), PV_ERR_INPUT);
    says("too large for single precision");
    at(3, 1);
    pv_table_free(ctx, table);
}

/* Texts other than the shortest form of their number are kept from the source, for readers that request text. */
static void spelling_is_kept(void **state) {
    (void)state;
    static const char text[] = "zip,id,label,x,day\n00012,9007199254740993,0.0,1.50,2020-01-05\n"
                               "12,9007199254740992,1.0,2,2021-02-03\n7,-9223372036854775808,1.0,NA,2020-01-05\n"
                               "NA,18446744073709551615,0.0,1e3,2020-01-05\n";
    static const char *const named[] = {"zip", "id", "label", "x", "day"};
    const pv_csv_options spelled = {.spelling = true}, texts = {.text = named, .n_text = 5};
    put(text, strlen(text));
    pv_table *table = must_read(&spelled), *asked = must_read(&texts), *packed;
    for (int single = 0; single < 2; single++) {
        snprintf(packed_path, sizeof packed_path, "%s.pvt", path);
        ok(pv_table_pack(ctx, table, packed_path, single));
        ok(pv_table_read(ctx, packed_path, &texts, &packed));
        same_cells(asked, packed, false);
        pv_table_free(ctx, packed);
        ok(pv_table_read(ctx, packed_path, NULL, &packed));
        same_cells(table, packed, false);
        for (size_t c = 0; c < 5; c++)
            for (size_t i = 0; i < 4; i++) {
                char number[PV__NUMBER_TEXT];
                const char *expected = pv_table_text(asked, c, i);
                if (expected)
                    assert_string_equal(pv__cell_text(&packed->column[c], i, number), expected);
                else
                    assert_true(pv__cell_missing(&packed->column[c], i));
            }
        pv_table_free(ctx, packed);
    }
    pv_table_free(ctx, asked);
    pv_table_free(ctx, table);
}

/* Fractions with more than 65536 distinct texts are measurements: their texts are not kept, which is logged. */
static void many_spellings_are_lost(void **state) {
    (void)state;
    enum { ROWS = 70000 };
    char *text = malloc(ROWS * 32), *end = text;
    assert_non_null(text);
    end += sprintf(end, "x,n\n");
    for (int i = 0; i < ROWS; i++)
        end += sprintf(end, "%d.50,0%d\n", i, i);
    put(text, (size_t)(end - text));
    const pv_csv_options spelled = {.spelling = true};
    pv_table *table = must_read(&spelled);
    assert_true(table->column[0].respelled && !table->column[0].code);
    assert_int_equal(table->column[1].levels, ROWS);
    pv_table_free(ctx, table);
    free(text);
}

/* ---- inconsistent files ------------------------------------------------------------------------------------------ */

static size_t slurp(unsigned char *bytes, size_t room) {
    FILE *file = fopen(packed_path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, room, file);
    assert_int_equal(fclose(file), 0);
    return n;
}

static pv_status read_bytes(const unsigned char *bytes, size_t n) {
    pv_table *table = NULL;
    put(bytes, n);
    pv_status status = pv_table_read(ctx, path, NULL, &table);
    assert_int_equal(status == PV_OK, table != NULL);
    pv_table_free(ctx, table);
    return status;
}

static void damaged_files(void **state) {
    (void)state;
    static unsigned char bytes[40960];
    pv_table_free(ctx, pack(TEXT, false));
    size_t n = slurp(bytes, sizeof bytes);
    assert_true(n < sizeof bytes);
    assert_int_equal(read_bytes(bytes, n), PV_OK);
    for (size_t cut = 23; cut < n; cut += cut < 700 ? 1 : 997) /* at least the first line is left */
        assert_int_equal(read_bytes(bytes, cut), PV_ERR_FORMAT);
    assert_int_equal(read_bytes(bytes, n + 1), PV_ERR_FORMAT);
    for (size_t i = 23; i < 300; i++) { /* sizes, checksum, header */
        bytes[i] ^= 4;
        assert_int_equal(read_bytes(bytes, n), PV_ERR_FORMAT);
        bytes[i] ^= 4;
    }
    size_t code = 4096 * 2; /* of the second column, the texts */
    assert_int_equal(bytes[code], 0);
    bytes[code] = 3;
    assert_int_equal(read_bytes(bytes, n), PV_ERR_FORMAT);
    says("a level that its column does not have");
    bytes[code] = 0;
}

static pv_status write_and_read(pv_ctx *own) {
    pv_table *table = NULL, *packed = NULL;
    pv_status status = pv_table_read(own, path, NULL, &table);
    if (status == PV_OK)
        status = pv_table_pack(own, table, packed_path, false);
    if (status == PV_OK)
        status = pv_table_read(own, packed_path, NULL, &packed);
    if (status == PV_OK)
        status = pv_table_put_away(own, "/tmp", &table);
    pv_table_free(own, table);
    pv_table_free(own, packed);
    return status;
}

/* Cells, names and source are preserved in a file without a name; a missing folder is reported. */
static void put_away(void **state) {
    (void)state;
    pv_table *table = read_text(TEXT), *whole = read_text(TEXT);
    ok(pv_table_put_away(ctx, "/tmp", &table));
    assert_true(table->packed && table->hash == whole->hash && table->rows == whole->rows);
    assert_string_equal(table->source, whole->source);
    for (size_t i = 0; i < whole->rows; i++)
        for (size_t c = 0; c < whole->columns; c++)
            if (whole->column[c].type == PV_COLUMN_TEXT)
                assert_int_equal(table->column[c].code[i], whole->column[c].code[i]);
            else
                assert_memory_equal(&table->column[c].number[i], &whole->column[c].number[i], sizeof(double));
    assert_int_equal(pv_table_put_away(ctx, "/nowhere", &whole), PV_ERR_PATH);
    says("the table does not fit `memory`, and cannot be stored there: No such file or directory");
    pv_table_free(ctx, table);
    pv_table_free(ctx, whole);
}

static void a_lack_of_memory(void **state) {
    (void)state;
    put(TEXT, strlen(TEXT));
    sweep_memory(write_and_read);
}

/* ---- memory in files --------------------------------------------------------------------------------------------- */

static pv_ctx *limited(size_t bytes) {
    pv_ctx *own = check_ctx(2);
    CHECK_OK(own, pv_ctx_set_memory(own, bytes, NULL));
    return own;
}

static void blocks_keep_their_bytes(void **state) {
    (void)state;
    enum { BLOCKS = 12, SIZE = 700001 };
    pv_ctx *own = limited(1 << 20);
    unsigned char *block[BLOCKS] = {0};
    for (size_t b = 0; b < BLOCKS; b++) {
        CHECK_OK(own, pv__alloc(own, SIZE, 1, &block[b]));
        for (size_t i = 0; i < SIZE; i += 99)
            assert_int_equal(block[b][i], 0);
        memset(block[b], (int)b + 1, SIZE);
    }
    for (int round = 0; round < 3; round++) /* grown, shrunk, grown */
        for (size_t b = 0; b < BLOCKS; b++) {
            size_t size = round == 1 ? 1000 : 3 * (size_t)SIZE, kept = round == 0 ? SIZE : 1000;
            CHECK_OK(own, pv__resize(own, size, 1, &block[b]));
            for (size_t i = 0; i < kept; i += 7)
                assert_int_equal(block[b][i], b + 1);
            memset(block[b], (int)b + 1, size);
        }
    unsigned char *small = NULL; /* a small block that becomes large */
    for (size_t size = 100; size < 5000000; size *= 3) {
        CHECK_OK(own, pv__resize(own, size, 1, &small));
        for (size_t i = 0; size > 100 && i < size / 3; i += 11)
            assert_int_equal(small[i], 77);
        memset(small, 77, size);
    }
    pv__free(own, small);
    for (size_t b = 0; b < BLOCKS; b++)
        pv__free(own, block[b]);
    pv_ctx_free(own);
}

/* A folder without enough space is an error with a remedy. */
static void no_room_for_them(void **state) {
    (void)state;
    unsigned char *block;
    struct rlimit before, small = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    pv_ctx *own = limited(1 << 20);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(pv__alloc(own, 4 << 20, 1, &block), PV_ERR_WRITE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(pv_ctx_error(own)->message, "TMPDIR"));
    pv_ctx_free(own);
    own = check_ctx(1);
    CHECK_OK(own, pv_ctx_set_memory(own, 1 << 20, "/nowhere"));
    assert_int_equal(pv__alloc(own, 4 << 20, 1, &block), PV_ERR_WRITE);
    assert_non_null(strstr(pv_ctx_error(own)->message, "/nowhere"));
    pv_ctx_free(own);
}

/* A fit of the packed table in a megabyte gives the same bytes as in memory. */
static unsigned char *fit_bytes(pv_ctx *own, const char *from, size_t *size) {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *made;
    unsigned char *bytes, *copy;
    pv_roles roles = {.target = "y"};
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    CHECK_OK(own, pv_table_read(own, from, NULL, &table));
    CHECK_OK(own, pv_schema_learn(own, table, &roles, &schema, &data));
    CHECK_OK(own, pv_fit(own, schema, data, &options, &made));
    CHECK_OK(own, pv_classifier_to_bytes(own, made, &bytes, size));
    copy = malloc(*size);
    assert_non_null(copy);
    memcpy(copy, bytes, *size);
    pv_bytes_free(own, bytes);
    pv_classifier_free(own, made);
    pv_dataset_free(own, data);
    pv_schema_free(own, schema);
    pv_table_free(own, table);
    return copy;
}

static void fits_of_both(void **state) {
    (void)state;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("a,b,g,y\n", file);
    for (int i = 0; i < 30000; i++)
        fprintf(file, "%d.%d,%d,%c,%d\n", i * 37 % 101, i % 10, i * i % 53, "uvw"[i * 7 % 3],
                (i * 37 % 101 + i * 61 % 97) > 99);
    assert_int_equal(fclose(file), 0);
    pv_table *table = must_read(NULL);
    ok(pv_table_pack(ctx, table, packed_path, false));
    pv_table_free(ctx, table);
    size_t size, other;
    unsigned char *one = fit_bytes(ctx, path, &size);
    pv_ctx *own = limited(1 << 20);
    const char *const from[] = {packed_path, path};
    for (int i = 0; i < 2; i++) {
        unsigned char *bytes = fit_bytes(own, from[i], &other);
        assert_int_equal(size, other);
        assert_memory_equal(one, bytes, size);
        free(bytes);
    }
    pv_ctx_free(own);
    free(one);
    unlink(packed_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_table),   cmocka_unit_test(single_precision),
                                       cmocka_unit_test(damaged_files),    cmocka_unit_test(a_lack_of_memory),
                                       cmocka_unit_test(put_away),         cmocka_unit_test(blocks_keep_their_bytes),
                                       cmocka_unit_test(no_room_for_them), cmocka_unit_test(fits_of_both),
                                       cmocka_unit_test(spelling_is_kept), cmocka_unit_test(many_spellings_are_lost)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
