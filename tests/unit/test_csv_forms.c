/* CSV files in other forms: without a header, with other delimiters and marks, compressed, with dates. */
#include <zlib.h>

#include "fixture.h"

static pv_table *read_as(const char *text, const pv_csv_options *options) {
    put(text, strlen(text));
    return must_read(options);
}

static void refused_as(const char *text, const pv_csv_options *options, const char *part) {
    put(text, strlen(text));
    pv_table *table = (pv_table *)&ctx;
    assert_int_equal(pv_table_read(ctx, path, options, &table), PV_ERR_INPUT);
    assert_null(table);
    says(part);
}

/* ---- headers ----------------------------------------------------------------------------------------------------- */

static void refuses_a_row_as_header(void **state) {
    (void)state;
    static const char *const rows[] = {"5.1,3.5,0\n4.9,3.0,1\n",                         /* all numbers */
                                       "1,male,3.2\n2,female,4.1\n3,male,1.5\n",         /* types, and a level */
                                       "2020-01-02,5\n2020-03-04,6\n",                   /* dates are numbers */
                                       "yes,red\nno,blue\nyes,blue\nno,red\nyes,red\n"}; /* text alone */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        refused_as(rows[i], NULL, "`no-header`");
        says("the first row looks like data");
        assert_int_equal(pv_ctx_error(ctx)->line, 1);
        pv_table *t = must_read(&(pv_csv_options){.no_header = true});
        assert_string_equal(t->column[0].name, "x1");
        assert_string_equal(t->column[1].name, "x2");
        assert_int_equal(pv_table_line(t, 0), 1);
        assert_int_equal(pv_table_line(t, 1), 2);
        pv_table_free(ctx, t);
    }
}

static void keeps_headers(void **state) {
    (void)state;
    static const char *const files[] = {
        "country,1990,1991\nFrance,1,2\nSpain,3,4\n", /* years */
        "0,1,2\n5,6,7\n8,9,1\n",                      /* as pandas writes arrays */
        "name,colour\nAnn,red\nBob,blue\n",
        "age,sex\n61,f\n50,sex\n"}; /* a name occurs among the values, but there are numbers below it */
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        pv_table *t = read_text(files[i]);
        assert_true(t->rows == 2);
        pv_table_free(ctx, t);
    }
    /* Columns that are not requested are ignored. */
    put("5,id\n1,x\n2,y\n", 13);
    static const char *const keep[] = {"5"};
    pv_table *t = NULL;
    assert_int_equal(pv_table_read(ctx, path, &(pv_csv_options){.keep = keep, .n_keep = 1}, &t), PV_OK);
    pv_table_free(ctx, t);
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

static void reads_decimal_commas(void **state) {
    (void)state;
    const pv_csv_options german = {.decimal = ","};
    pv_table *t = read_as("a;b\n1,5;-2\n,25;3,5e2\n", &german);
    same_bits(number(t, 0, 0), 1.5);
    same_bits(number(t, 1, 0), 0.25);
    same_bits(number(t, 1, 1), 350);
    pv_table_free(ctx, t);
    t = read_as("1,5;-2\n2,5;3\n", &(pv_csv_options){.decimal = ",", .no_header = true});
    assert_int_equal(t->columns, 2);
    pv_table_free(ctx, t);
    /* 1.234 may mean a thousand, so it is not accepted as a number. */
    refused_as("a;b\n1,5;2\n1.234;3\n", &german, "not a number");
    t = read_as("a,b\n\"1,5\",2\n", &german); /* the comma may be both if numbers are quoted */
    same_bits(number(t, 0, 0), 1.5);
    same_bits(number(t, 0, 1), 2);
    pv_table_free(ctx, t);
    assert_int_equal(pv_table_read(ctx, path, &(pv_csv_options){.decimal = ";"}, &t), PV_ERR_USAGE);
}

static void knows_missing_texts(void **state) {
    (void)state;
    pv_table *t = read_as("n,s\n?,?\n-9,a\n7,n/a\nNA,b\n", NULL);
    assert_true(isnan(number(t, 0, 0)) && number(t, 1, 0) == -9 && isnan(number(t, 3, 0)));
    assert_null(text_at(t, 0, 1));
    assert_null(text_at(t, 2, 1));
    pv_table_free(ctx, t);
    t = read_as("n,s\n?,?\n-9,a\n7,n/a\nNA,-9\n", &(pv_csv_options){.na = "?,NA,-9"});
    assert_true(isnan(number(t, 0, 0)) && isnan(number(t, 1, 0)) && number(t, 2, 0) == 7 && isnan(number(t, 3, 0)));
    assert_null(text_at(t, 0, 1));
    assert_string_equal(text_at(t, 2, 1), "n/a");
    assert_null(text_at(t, 3, 1));
    pv_table_free(ctx, t);
    refused_as("n\n1\n?\n", &(pv_csv_options){.na = ""}, "not a number");
}

/* ---- dates ------------------------------------------------------------------------------------------------------- */

static void reads_dates(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double days;
    } dates[] = {{"1970-01-01", 0},
                 {"2000-02-29", 11016},
                 {"2020-04-03", 18355},
                 {"2020/04/03", 18355},
                 {"3.4.2020", 18355},
                 {"03.04.2020", 18355},
                 {"3 Apr 2020", 18355},
                 {"03-Apr-2020", 18355},
                 {"03APR2020", 18355},
                 {"April 3, 2020", 18355},
                 {"Apr 3 2020", 18355},
                 {"2020-04-03T12:00", 18355.5},
                 {"2020-04-03 06:00:00Z", 18355.25},
                 {"1899-12-31", -25568},
                 {"23/4/2020", 18375},
                 {"4/23/2020", 18375},
                 {"23-04-2020", 18375}};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        char text[80];
        snprintf(text, sizeof text, "when\n\"%s\"\n\n\"\"\n", dates[i].text);
        pv_table *t = read_text(text);
        near(number(t, 0, 0), dates[i].days, 1e-9);
        assert_true(isnan(number(t, 1, 0)));
        pv_table_free(ctx, t);
    }
}

static void keeps_what_is_no_date(void **state) {
    (void)state;
    static const char *const texts[] = {"2020-13-01",  "2019-02-29",  "2020-04-03x", "2020-04",
                                        "12:30",       "5-9",         "31.4.2020",   "2020-04-03T25:00",
                                        "Foo 3, 2020", "20200-04-03", "32/13/2020"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[80];
        snprintf(text, sizeof text, "when\n\"%s\"\n2020-01-02\n", texts[i]);
        pv_table *t = read_text(text);
        assert_string_equal(text_at(t, 0, 0), texts[i]);
        pv_table_free(ctx, t);
    }
    /* If requested as text, it stays text. */
    put("when\n2020-01-02\n", 16);
    static const char *const names[] = {"when"};
    pv_table *t = must_read(&(pv_csv_options){.text = names, .n_text = 1});
    assert_string_equal(text_at(t, 0, 0), "2020-01-02");
    pv_table_free(ctx, t);
}

/* One unambiguous date decides the order of day and month for the column. */
static void refuses_unclear_dates(void **state) {
    (void)state;
    refused_as("when\n3/4/2020\n1/2/2020\n", NULL, "may have the day first or the month");
    refused_as("when\n13/4/2020\n1/22/2020\n", NULL, "some with the day first, some with the month");
    pv_table *t = read_text("when\n3/4/2020\n13/4/2020\n");
    near(number(t, 0, 0), 18355, 0);
    pv_table_free(ctx, t);
    t = read_text("when\n3/4/2020\n4/13/2020\n");
    near(number(t, 0, 0), 18325, 0);
    pv_table_free(ctx, t);
}

/* ---- compression ------------------------------------------------------------------------------------------------- */

static size_t pack(const char *text, size_t n, unsigned char *to, size_t room) {
    static unsigned char from[1 << 18];
    assert_true(n <= sizeof from);
    memcpy(from, text, n);
    z_stream z = {.avail_in = (uInt)n, .avail_out = (uInt)room};
    z.next_in = from;
    z.next_out = to;
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static void same_small_table(void) {
    pv_table *t = must_read(NULL);
    assert_int_equal(t->rows, 2);
    same_bits(number(t, 1, 0), 2);
    assert_string_equal(text_at(t, 1, 1), "y");
    pv_table_free(ctx, t);
}

static void reads_gzip(void **state) {
    (void)state;
    unsigned char packed[4096];
    size_t n = pack("a,b\n1,x\n2,y\n", 12, packed, sizeof packed);
    put(packed, n);
    same_small_table();
    /* Two concatenated members are one file. */
    n = pack("a,b\n1,", 6, packed, sizeof packed);
    n += pack("x\n2,y\n", 6, packed + n, sizeof packed - n);
    put(packed, n);
    same_small_table();
    /* The hash is that of the unpacked contents. */
    pv_table *t = must_read(NULL), *plain = read_text("a,b\n1,x\n2,y\n");
    assert_true(t->hash == plain->hash);
    pv_table_free(ctx, t);
    pv_table_free(ctx, plain);
}

static const unsigned char zstd_table[] = {0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x68, 0x61, 0x00, 0x00, 0x61, 0x2c, 0x62, 0x0a,
                                           0x31, 0x2c, 0x78, 0x0a, 0x32, 0x2c, 0x79, 0x0a, 0x2e, 0x9f, 0x21, 0x46};

static bool has_zstd(void) {
    put(zstd_table, sizeof zstd_table);
    pv_table *t = NULL;
    bool reads = pv_table_read(ctx, path, NULL, &t) == PV_OK;
    pv_table_free(ctx, t);
    if (!reads)
        says("compressed by zstd, which this build");
    return reads;
}

static void reads_zstd(void **state) {
    (void)state;
    if (!has_zstd())
        return;
    same_small_table();
    unsigned char twice[2 * sizeof zstd_table];
    memcpy(twice, zstd_table, sizeof zstd_table);
    memcpy(twice + sizeof zstd_table, zstd_table, sizeof zstd_table);
    put(twice, sizeof twice); /* the header is repeated: text among numbers */
    pv_table *t = NULL;
    assert_int_equal(pv_table_read(ctx, path, NULL, &t), PV_ERR_INPUT);
    says("'a' is not a number");
}

static void refuses_damaged_ones(void **state) {
    (void)state;
    static char text[200000];
    static unsigned char packed[400000];
    size_t used = (size_t)snprintf(text, sizeof text, "a,b\n");
    while (used < sizeof text - 40)
        used += (size_t)snprintf(text + used, sizeof text - used, "%u,%u\n", (unsigned)random_bits(),
                                 (unsigned)random_bits());
    size_t n = pack(text, used, packed, sizeof packed);
    pv_table *t = NULL;
    for (int round = 0; round < 200; round++) { /* truncated at many positions */
        put(packed, 20 + (n - 21) * (size_t)round / 200);
        assert_int_equal(pv_table_read(ctx, path, NULL, &t), PV_ERR_INPUT);
        says("truncated");
    }
    packed[n / 2] ^= 0x55;
    put(packed, n);
    assert_int_equal(pv_table_read(ctx, path, NULL, &t), PV_ERR_INPUT);
    packed[n / 2] ^= 0x55;
    memcpy(packed + n, (const char[]){1, 2, 3}, 3); /* after the end */
    put(packed, n + 3);
    assert_int_equal(pv_table_read(ctx, path, NULL, &t), PV_ERR_INPUT);
    says("damaged");
    for (size_t cut = 5; has_zstd() && cut < sizeof zstd_table; cut++) {
        put(zstd_table, cut);
        assert_int_equal(pv_table_read(ctx, path, NULL, &t), PV_ERR_INPUT);
    }
}

/* zstd blocks that repeat one byte expand from four bytes to 128 KiB each. */
static void refuses_bombs(void **state) {
    (void)state;
    if (!has_zstd())
        return;
    enum { BLOCKS = 4000 };
    static unsigned char bomb[9 + 4 * BLOCKS] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38}; /* a window of 128 KiB */
    size_t n = 6;
    for (int b = 0; b < BLOCKS; b++) {
        unsigned block = (unsigned)(b + 1 == BLOCKS) | 1u << 1 | 131072u << 3;
        bomb[n++] = (unsigned char)block;
        bomb[n++] = (unsigned char)(block >> 8);
        bomb[n++] = (unsigned char)(block >> 16);
        bomb[n++] = '\n';
    }
    put(bomb, n);
    pv_table *t = NULL;
    assert_int_equal(pv_table_read(ctx, path, NULL, &t), PV_ERR_INPUT);
    says("more than 1032 times its size");
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static pv_csv_options sweep_options;

static pv_status read_once(pv_ctx *poor) {
    pv_table *t = NULL;
    pv_status status = pv_table_read(poor, path, &sweep_options, &t);
    assert_true((t != NULL) == (status == PV_OK));
    pv_table_free(poor, t);
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    static const char text[] = "1|2020-04-03|x\n?|2020-04-04|y\n-9||z\n";
    put(text, sizeof text - 1);
    sweep_options = (pv_csv_options){.no_header = true, .na = "?,-9", .separator = "bar"};
    sweep_memory(read_once);
    unsigned char packed[400];
    put(packed, pack(text, sizeof text - 1, packed, sizeof packed));
    sweep_memory(read_once);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refuses_a_row_as_header),
                                       cmocka_unit_test(keeps_headers),
                                       cmocka_unit_test(reads_decimal_commas),
                                       cmocka_unit_test(knows_missing_texts),
                                       cmocka_unit_test(reads_dates),
                                       cmocka_unit_test(keeps_what_is_no_date),
                                       cmocka_unit_test(refuses_unclear_dates),
                                       cmocka_unit_test(reads_gzip),
                                       cmocka_unit_test(reads_zstd),
                                       cmocka_unit_test(refuses_damaged_ones),
                                       cmocka_unit_test(refuses_bombs),
                                       cmocka_unit_test(survives_lack_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
