/* Reading CSV: realistic and hostile files. */
#include "fixture.h"

/* Reading must fail at this position (0: none), with a message that contains all parts. */
static void refused_bytes(const void *bytes, size_t n, size_t line, size_t column, const char *part,
                          const char *other) {
    put(bytes, n);
    pv_table *table = (pv_table *)&ctx;
    assert_int_equal(pv_table_read(ctx, path, NULL, &table), PV_ERR_INPUT);
    assert_null(table);
    assert_string_equal(pv_ctx_error(ctx)->file, path);
    says(part);
    says(other);
    at(line, column);
}

static void refused(const char *text, size_t line, size_t column, const char *part, const char *other) {
    refused_bytes(text, strlen(text), line, column, part, other);
}

/* ---- realistic files --------------------------------------------------------------------------------------------- */

static void reads_numbers_and_text(void **state) {
    (void)state;
    pv_table *t = read_text("age,sex,diameter\n61,f,7.5\n70,m,-1e-3\n.5,f,+2.E2\n");
    assert_int_equal(t->rows, 3);
    assert_int_equal(t->columns, 3);
    assert_string_equal(t->source, path);
    assert_string_equal(t->column[0].name, "age");
    assert_string_equal(t->column[2].name, "diameter");
    same_bits(number(t, 0, 0), 61);
    same_bits(number(t, 2, 0), 0.5);
    same_bits(number(t, 1, 2), -1e-3);
    same_bits(number(t, 2, 2), 200);
    assert_string_equal(text_at(t, 0, 1), "f");
    assert_string_equal(text_at(t, 1, 1), "m");
    assert_int_equal(t->column[1].levels, 2);
    assert_null(t->line);
    assert_int_equal(pv_table_line(t, 2), 4);
    pv_table_free(ctx, t);
}

static void reads_quotes(void **state) {
    (void)state;
    pv_table *t = read_text("\"a\",\"b \"\"c\"\"\",d\n\"x, y\",\"1\",\"line one\nline two\"\n"
                            "\" z \" , \"2\" ,\"\"\"\"\n");
    assert_string_equal(t->column[1].name, "b \"c\"");
    assert_string_equal(text_at(t, 0, 0), "x, y");
    assert_string_equal(text_at(t, 1, 0), " z ");
    same_bits(number(t, 0, 1), 1);
    same_bits(number(t, 1, 1), 2);
    assert_string_equal(text_at(t, 0, 2), "line one\nline two");
    assert_string_equal(text_at(t, 1, 2), "\"");
    assert_int_equal(pv_table_line(t, 0), 2);
    assert_int_equal(pv_table_line(t, 1), 4);
    pv_table_free(ctx, t);
    t = read_text("size\n5\" pipe\n6\" pipe\n"); /* a quote inside an unquoted field is text */
    assert_string_equal(text_at(t, 0, 0), "5\" pipe");
    pv_table_free(ctx, t);
}

static void reads_line_ends(void **state) {
    (void)state;
    static const char *const same[] = {"a,b\n1,x\n2,y\n",
                                       "a,b\r\n1,x\r\n2,y\r\n",
                                       "a,b\n1,x\n2,y",
                                       "a,b\r\n1,x\r\n2,y",
                                       ("\xEF\xBB\xBF"
                                        "a,b\n1,x\n2,y\n"),
                                       "a,b\n1,x\n2,y\r",
                                       " a ,\tb\n1 , x\n 2,y \n"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        pv_table *t = read_text(same[i]);
        assert_int_equal(t->rows, 2);
        assert_string_equal(t->column[0].name, "a");
        assert_string_equal(t->column[1].name, "b");
        same_bits(number(t, 1, 0), 2);
        assert_string_equal(text_at(t, 1, 1), "y");
        pv_table_free(ctx, t);
    }
}

static void skips_blank_lines(void **state) {
    (void)state;
    pv_table *t = read_text("\n  \na,b\n\n1,2\r\n\r\n \t\n3,4\n\n\n");
    assert_int_equal(t->rows, 2);
    same_bits(number(t, 1, 1), 4);
    assert_int_equal(pv_table_line(t, 0), 5);
    assert_int_equal(pv_table_line(t, 1), 8);
    pv_table_free(ctx, t);
}

static void finds_missing(void **state) {
    (void)state;
    pv_table *t = read_text("x,s,none\n,NA,\nNA,,NA\nNaN,null,nan\nnan,.,.\nnull,NULL,\nNULL,NaN,\n.,nan,\n\"\",\"\",\n"
                            "1,word,\n");
    assert_int_equal(t->rows, 9);
    for (size_t row = 0; row < 8; row++) {
        assert_true(isnan(number(t, row, 0)));
        assert_null(text_at(t, row, 1));
    }
    same_bits(number(t, 8, 0), 1);
    assert_string_equal(text_at(t, 8, 1), "word");
    assert_true(isnan(number(t, 0, 2)) && isnan(number(t, 8, 2))); /* nothing but missing cells: a number column */
    pv_table_free(ctx, t);
    t = read_text("s\nna\nNan\nnone\n"); /* these words are not missing values */
    assert_int_equal(t->column[0].levels, 3);
    pv_table_free(ctx, t);
}

static void finds_delimiter(void **state) {
    (void)state;
    static const char *const same[] = {"a;b\n1;2\n", "a\tb\n1\t2\n", "a,b\n1,2\n", "a|b\n1|2\n"};
    for (size_t i = 0; i < 4; i++) {
        pv_table *t = read_text(same[i]);
        assert_int_equal(t->columns, 2);
        same_bits(number(t, 0, 1), 2);
        pv_table_free(ctx, t);
    }
    pv_table *t = read_text("a;b,c\nx;y,1\n"); /* the comma has precedence */
    assert_int_equal(t->columns, 2);
    assert_string_equal(t->column[0].name, "a;b");
    pv_table_free(ctx, t);
    t = read_text("\"a,b\";c\n1;2\n"); /* quoted delimiters do not count */
    assert_int_equal(t->columns, 2);
    assert_string_equal(t->column[0].name, "a,b");
    pv_table_free(ctx, t);
    t = read_text("a\tb\n\t2\n1\t\n"); /* empty fields between tabs are not blanks */
    assert_int_equal(t->rows, 2);
    assert_true(isnan(number(t, 0, 0)) && isnan(number(t, 1, 1)));
    pv_table_free(ctx, t);
    static const char *const words[] = {"|", "bar", "tab", "\t", "semicolon"}, marks[] = "||\t\t;";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[] = "a,b c\n1 2\n"; /* not the delimiter that would be detected */
        text[3] = text[7] = marks[i];
        put(text, strlen(text));
        t = must_read(&(pv_csv_options){.separator = words[i]});
        assert_int_equal(t->columns, 2);
        assert_string_equal(t->column[0].name, "a,b");
        pv_table_free(ctx, t);
    }
    static const char *const bad[] = {"1", "e", ".", "\"", "\n", " ", "+", "-", "", ";;", "\xC3", "tabs"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(pv_table_read(ctx, path, &(pv_csv_options){.separator = bad[i]}, &t), PV_ERR_USAGE);
}

static void decides_types(void **state) {
    (void)state;
    pv_table *t = read_text("a,b,c,d\ninf,0x1F,1_000,1e\n-Infinity,0x20,2_000,e5\nINF,12abc,--1,1e+\n1e999,1 2,+,-\n");
    same_bits(number(t, 0, 0), (double)INFINITY);
    same_bits(number(t, 1, 0), -(double)INFINITY);
    same_bits(number(t, 3, 0), (double)INFINITY);
    assert_string_equal(text_at(t, 0, 1), "0x1F");
    assert_string_equal(text_at(t, 3, 1), "1 2");
    assert_string_equal(text_at(t, 2, 2), "--1");
    assert_string_equal(text_at(t, 0, 3), "1e");
    pv_table_free(ctx, t);
    const char *const text[] = {"y", "absent"};
    static const char mixed[] = "x,y\n1,1\n2,1.0\n3,case\n4,NA\n";
    put(mixed, sizeof mixed - 1);
    t = must_read(&(pv_csv_options){.text = text, .n_text = 2});
    assert_string_equal(text_at(t, 0, 1), "1");
    assert_string_equal(text_at(t, 1, 1), "1.0");
    assert_string_equal(text_at(t, 2, 1), "case");
    assert_null(text_at(t, 3, 1));
    same_bits(number(t, 3, 0), 4);
    pv_table_free(ctx, t);
}

static void reads_one_column(void **state) {
    (void)state;
    pv_table *t = read_text("x\n1\n\n2\n\"\"\nNA\n");
    assert_int_equal(t->rows, 4);
    assert_true(isnan(number(t, 2, 0)) && isnan(number(t, 3, 0)));
    pv_table_free(ctx, t);
}

static void passes_bytes_through(void **state) {
    (void)state;
    pv_table *t = read_text("n\xC3\xA4me,b\xFF"
                            "d\n\xE2\x82\xAC,\xFE\xFF\n\xC3,\x80\n");
    assert_string_equal(t->column[0].name, "n\xC3\xA4me");
    assert_string_equal(text_at(t, 0, 0), "\xE2\x82\xAC");
    assert_string_equal(text_at(t, 1, 0), "\xC3");
    assert_string_equal(text_at(t, 0, 1), "\xFE\xFF");
    pv_table_free(ctx, t);
    t = read_text("a,b\nx\ry,1\nz,2\n"); /* a carriage return that does not end a line */
    assert_string_equal(text_at(t, 0, 0), "x\ry");
    pv_table_free(ctx, t);
}

static void hashes_the_bytes(void **state) {
    (void)state;
    pv_table *t = read_text("a\n1\n"), *u = read_text("a\n1"), *v = read_text("a\n1\n");
    assert_true(t->hash == v->hash);
    assert_true(t->hash != u->hash);
    assert_true(t->hash == 0x8d29c2e272b9fc0du);
    pv_table_free(ctx, t);
    pv_table_free(ctx, u);
    pv_table_free(ctx, v);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void refuses_empty(void **state) {
    (void)state;
    refused("", 0, 0, "empty", "header");
    refused("\n \n\r\n", 0, 0, "empty", "header");
    refused("\xEF\xBB\xBF", 0, 0, "empty", "header");
    refused("a,b\n", 0, 0, "no data rows", "header");
    refused("a,b", 0, 0, "no data rows", "header");
    refused("a,b\n\n\n", 0, 0, "no data rows", "header");
}

static void refuses_ragged(void **state) {
    (void)state;
    refused("a,b,c\n1,2,3\n4,5\n", 3, 0, "2 fields", "header 3");
    refused("a,b,c\n1,2,3\n4\n", 3, 0, "1 field,", "header 3");
    refused("a,b\n1,2\n\n3,4,5,6\n", 4, 0, "4 fields", "header 2");
    refused("a,b\n1,2,\n", 2, 0, "3 fields", "header 2");
    refused("a,b\nx,\"y,z\",\"u\nv\",w\n", 2, 0, "4 fields", "double quotes");
    refused("a,b\n\"p\nq\",1\n2\n", 4, 0, "1 field,", "header 2");
}

static void refuses_quotes(void **state) {
    (void)state;
    refused("a,b\n1,x\n2,\"open\n3,y\n4,z\n", 3, 2, "never closed", "double quote");
    refused("\"a,b\n1,2\n", 1, 1, "never closed", "double quote");
    refused("a,b\n1,\"x\"y\n", 2, 2, "after a closing double quote", "'y'");
    refused("a,b\n\"p\nq\" r,2\n", 3, 1, "after a closing double quote", "'r,2'");
    refused("a,b\n1,\"x\n\n", 2, 2, "never closed", "");
}

static void refuses_names(void **state) {
    (void)state;
    refused("a,,c\n1,2,3\n", 1, 2, "no name", "column 2");
    refused("\"\",a\n1,2\n", 1, 1, "no name", "row.names");
    refused("a,b,a,b\n1,2,3,4\n", 1, 3, "columns 1 and 3", "'a'");
    refused("\na,b, a\n1,2,3\n", 2, 3, "columns 1 and 3", "'a'");
    refused("1,2,1\n1,2,3\n", 1, 0, "looks like data", "`no-header`");
}

static void refuses_mixtures(void **state) {
    (void)state;
    refused("id,age\n1,61\n2,NA\n3,old\n", 4, 2, "column 2, 'age'", "`categorical=age`");
    says("'old' is not a number");
    refused("id,g\n1,A\n2,B\n3,3\n", 4, 2, "'3' is a number", "`categorical=g`");
    refused("x\n1\n0x10\n", 3, 1, "'0x10'", "not a number");
    refused("x\n1\n2 3\n", 3, 1, "'2 3'", "not a number");
    refused("x\n1\n1,5\n", 3, 0, "2 fields", "header 1");
    refused("x\n1\n\"bell\a\ttab\"\n", 3, 1, "bell\\x07\\ttab", "x");
    refused("x,y\n\"1\n\",2\n\"p\nq\",3\n5,6\n", 6, 1, "'5' is a number", "`categorical=x`");
    refused("x,y\n1,2\n3,\"a\nb\"\n", 3, 2, "'a\\nb' is not a number", "`categorical=y`");
    refused("x,y\n1,2\na,3,4\n", 3, 0, "3 fields", "header 2"); /* reports the cause rather than the consequence */
}

static void refuses_nul(void **state) {
    (void)state;
    refused_bytes("a,b\n1,2\n3,\0\n", 12, 3, 0, "NUL byte", "UTF-16");
    refused_bytes("\xFF\xFE"
                  "a\0,\0b\0\n\0",
                  10, 1, 0, "NUL byte", "UTF-8");
    refused_bytes("\0", 1, 1, 0, "NUL byte", "CSV");
}

static void refuses_paths(void **state) {
    (void)state;
    pv_table *t;
    assert_int_equal(pv_table_read(ctx, "/tmp", NULL, &t), PV_ERR_PATH);
    says("directory");
    assert_null(t);
    assert_int_equal(pv_table_read(ctx, "/nonexistent/x.csv", NULL, &t), PV_ERR_PATH);
    assert_string_equal(pv_ctx_error(ctx)->file, "/nonexistent/x.csv");
    assert_null(t);
}

/* A large text: head, then unit repeated to at least size bytes, then tail. */
static char *repeated(const char *head, const char *unit, size_t size, const char *tail, size_t *n) {
    size_t step = strlen(unit), times = size / step + 1;
    char *text = malloc(strlen(head) + times * step + strlen(tail) + 1);
    assert_non_null(text);
    char *at = stpcpy(text, head);
    for (size_t i = 0; i < times; i++)
        at = stpcpy(at, unit);
    *n = (size_t)(stpcpy(at, tail) - text);
    return text;
}

static void refuses_long_fields(void **state) {
    (void)state;
    size_t n, mib = (size_t)1 << 20;
    char *text = repeated("a,b\n1,", "x", mib, "\n", &n);
    refused_bytes(text, n, 2, 2, "1 MiB", "");
    free(text);
    text = repeated("a,b\n1,2\n3,\"", "no partner\n", 3 * mib, "", &n);
    refused_bytes(text, n, 3, 2, "1 MiB", "partner");
    free(text);
    text = repeated("a,b\n1,", "9", 2 * mib, "\n", &n);
    refused_bytes(text, n, 2, 2, "1 MiB", "");
    free(text);
    text = repeated("", "x", 3 * mib, "", &n);
    refused_bytes(text, n, 1, 1, "1 MiB", "");
    free(text);
    text = repeated("a,b\n1,", "x", mib - 2, "\n", &n); /* just within the limit */
    put(text, n);
    pv_table *t = must_read(NULL);
    assert_int_equal(strlen(text_at(t, 0, 1)), mib - 1);
    pv_table_free(ctx, t);
    free(text);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Fields, quotes and line ends at every possible position relative to the reader's blocks. */
static void crosses_blocks(void **state) {
    (void)state;
    for (unsigned shift = 0; shift < 24; shift++) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fprintf(file, "id,%.*s,text\r\n", (int)shift + 1, "abcdefghijklmnopqrstuvwxyz");
        const int rows = 20011;
        for (int i = 0; i < rows; i++)
            fprintf(file, "%d,%.17g,\"line %d\r\nof \"\"%d\"\" , here\"\r\n", i, i / 7.0, i % 100, i % 7);
        assert_int_equal(fclose(file), 0);
        pv_table *t = must_read(NULL);
        assert_int_equal(t->rows, rows);
        for (int i = 0; i < rows; i++) {
            char wanted[64];
            snprintf(wanted, sizeof wanted, "line %d\r\nof \"%d\" , here", i % 100, i % 7);
            assert_string_equal(text_at(t, (size_t)i, 2), wanted);
            assert_true(number(t, (size_t)i, 0) == i && number(t, (size_t)i, 1) == i / 7.0);
            assert_int_equal(pv_table_line(t, (size_t)i), 2 + 2 * i);
        }
        pv_table_free(ctx, t);
    }
}

static void reads_wide_rows(void **state) {
    (void)state;
    const size_t columns = 60000;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t c = 0; c < columns; c++)
        fprintf(file, "%sc%zu", c ? "," : "", c);
    for (size_t row = 0; row < 3; row++)
        for (size_t c = 0; c < columns; c++)
            fprintf(file, "%s%zu", c ? "," : "\n", row * columns + c);
    assert_int_equal(fclose(file), 0);
    pv_table *t = must_read(NULL);
    assert_int_equal(t->rows, 3);
    assert_int_equal(t->columns, columns);
    for (size_t c = 0; c < columns; c++)
        assert_true(number(t, 2, c) == (double)(2 * columns + c));
    pv_table_free(ctx, t);
}

static void reads_many_levels(void **state) {
    (void)state;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "id,x\n");
    for (int i = 0; i < 50000; i++)
        fprintf(file, "p%d,%d\n", i % 40000, i);
    assert_int_equal(fclose(file), 0);
    pv_table *t = must_read(NULL);
    assert_int_equal(t->column[0].levels, 40000);
    for (int i = 0; i < 50000; i++)
        assert_int_equal(t->column[0].code[i], i % 40000);
    assert_string_equal(t->column[0].level[39999], "p39999");
    pv_table_free(ctx, t);
}

/* The first value of a column may come late, and there may be more rows than estimated from the first block. */
static void decides_late(void **state) {
    (void)state;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "a,b,c\n");
    for (int i = 0; i < 3000; i++)
        fprintf(file, "%0100d,,\n", i);
    for (int i = 0; i < 200000; i++)
        fprintf(file, "1,,\n");
    fprintf(file, "1,7,word\n");
    assert_int_equal(fclose(file), 0);
    pv_table *t = must_read(NULL);
    assert_int_equal(t->rows, 203001);
    assert_true(number(t, 2999, 0) == 2999);
    for (size_t i = 0; i + 1 < t->rows; i++) {
        assert_true(isnan(number(t, i, 1)));
        assert_null(text_at(t, i, 2));
    }
    assert_true(number(t, 203000, 1) == 7);
    assert_string_equal(text_at(t, 203000, 2), "word");
    pv_table_free(ctx, t);
}

static void reads_pipes(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "mkfifo %s.pipe", path);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "(printf 'a,b\\n'; seq -f '%%g,x' 1 20000) > %s.pipe &", path);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s.pipe", path);
    pv_table *t;
    assert_int_equal(pv_table_read(ctx, command, NULL, &t), PV_OK);
    assert_int_equal(t->rows, 20000);
    assert_true(number(t, 19999, 0) == 20000);
    pv_table_free(ctx, t);
    assert_int_equal(unlink(command), 0);
}

/* ---- columns by name --------------------------------------------------------------------------------------------- */

static void finds_columns(void **state) {
    (void)state;
    pv_table *t = read_text("age,malignant\n1,2\n");
    size_t column;
    assert_int_equal(pv_table_find(ctx, t, "`outcome`", "malignant", &column), PV_OK);
    assert_int_equal(column, 1);
    assert_int_equal(pv_table_find(ctx, t, "`outcome`", "malignnat", &column), PV_ERR_USAGE);
    says("`outcome`");
    says("did you mean 'malignant'");
    assert_int_equal(pv_table_find(ctx, t, "`outcome`", "q", &column), PV_ERR_USAGE);
    says("age, malignant");
    pv_table_free(ctx, t);
    pv_table_free(ctx, NULL);
}

/* ---- failing allocations and damage ------------------------------------------------------------------------------ */

static pv_status read_once(pv_ctx *poor) {
    pv_table *t = NULL;
    pv_status status = pv_table_read(poor, path, NULL, &t);
    assert_true((t != NULL) == (status == PV_OK));
    pv_table_free(poor, t);
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    static const char text[] = "\na,\"b\"\"c\",d,e\n1,x,,\n2,\"y\"\"z\",,7\n\n,w,,8\n";
    put(text, sizeof text - 1);
    sweep_memory(read_once);
}

/* Random damage to a valid file must give a table or an error (run under sanitisers). */
static void survives_damage(void **state) {
    (void)state;
    static const char valid[] = "id,age,sex,\"no\"\"te\"\n1,61.5,f,\"a, b\"\n2,70,m,\"line\nbreak\"\n3,1e-3,f,NA\n";
    static const char bytes[] = "\",\n\r;\t 0e-.xN";
    for (int round = 0; round < 6000; round++) {
        char text[sizeof valid];
        memcpy(text, valid, sizeof valid);
        size_t n = sizeof valid - 1;
        for (uint64_t k = 1 + random_bits() % 4; k > 0; k--)
            text[random_bits() % n] = bytes[random_bits() % (sizeof bytes - 1)];
        n = random_bits() % 3 == 0 ? random_bits() % n : n;
        put(text, n);
        pv_table *t = NULL;
        pv_status status = pv_table_read(ctx, path, NULL, &t);
        assert_true(status == PV_OK || status == PV_ERR_INPUT);
        assert_true((t != NULL) == (status == PV_OK));
        if (t)
            assert_true(t->rows > 0 && t->columns > 0);
        pv_table_free(ctx, t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_numbers_and_text),
        cmocka_unit_test(reads_quotes),
        cmocka_unit_test(reads_line_ends),
        cmocka_unit_test(skips_blank_lines),
        cmocka_unit_test(finds_missing),
        cmocka_unit_test(finds_delimiter),
        cmocka_unit_test(decides_types),
        cmocka_unit_test(reads_one_column),
        cmocka_unit_test(passes_bytes_through),
        cmocka_unit_test(hashes_the_bytes),
        cmocka_unit_test(refuses_empty),
        cmocka_unit_test(refuses_ragged),
        cmocka_unit_test(refuses_quotes),
        cmocka_unit_test(refuses_names),
        cmocka_unit_test(refuses_mixtures),
        cmocka_unit_test(refuses_nul),
        cmocka_unit_test(refuses_paths),
        cmocka_unit_test(refuses_long_fields),
        cmocka_unit_test(crosses_blocks),
        cmocka_unit_test(reads_wide_rows),
        cmocka_unit_test(reads_many_levels),
        cmocka_unit_test(decides_late),
        cmocka_unit_test(reads_pipes),
        cmocka_unit_test(finds_columns),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(survives_damage),
    };
    return cmocka_run_group_tests_name("csv", tests, setup, teardown);
}
