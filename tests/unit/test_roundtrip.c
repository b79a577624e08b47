/* Round trips of numbers and texts: every double and every text is preserved. */
#include "fixture.h"

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Compared with the C library, which rounds correctly. */
static void reads_numbers_exactly(void **state) {
    (void)state;
    static const char *const hard[] = {"0",
                                       "-0",
                                       "0.0",
                                       "-0.0e5",
                                       "1",
                                       "9007199254740992",
                                       "9007199254740993",
                                       "9007199254740995",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "9999999999999999999",
                                       "99999999999999999999",
                                       "1e22",
                                       "1e23",
                                       "-1e27",
                                       "1e28",
                                       "8.5e-27",
                                       "1e-22",
                                       "1e-23",
                                       "3e-27",
                                       "7e-28",
                                       "2.2250738585072014e-308",
                                       "2.2250738585072011e-308",
                                       "4.9406564584124654e-324",
                                       "2.4703282292062327e-324",
                                       "2.4703282292062328e-324",
                                       "1.7976931348623157e308",
                                       "1.7976931348623158e308",
                                       "1.7976931348623159e308",
                                       "1e400",
                                       "1e-400",
                                       "0.1",
                                       "0.3",
                                       "123456789012345678",
                                       "0.000001",
                                       "1234567890123456789e-27",
                                       "9223372036854775807e27",
                                       "0.500000000000000166533453693773481063544750213623046875",
                                       "1.00000000000000011102230246251565404",
                                       "1.00000000000000011102230246251565405",
                                       "6.02214076e23",
                                       "000000000000000000000000000000001.5",
                                       "0.00000000000000000000000000000000000000000000015",
                                       "1e0000000000000000001",
                                       "1e-0",
                                       "5.",
                                       ".5",
                                       "1E5",
                                       "1e+5",
                                       "9007199254740993e1",
                                       "4503599627370497.5",
                                       "4503599627370496.5",
                                       "72057594037927937",
                                       "1e99999999999999999999",
                                       "0e99999999999999999999",
                                       "1e-99999999999999999999",
                                       "8.98846567431158e307",
                                       "12345678.87654321",
                                       "1.2345678",
                                       "1.23456789",
                                       "1.234567890123456",
                                       "123456789.123456789"};
    char text[4096] = "x\n";
    size_t n = sizeof hard / sizeof *hard;
    for (size_t i = 0; i < n; i++)
        strcat(strcat(text, hard[i]), "\n");
    pv_table *t = read_text(text);
    assert_int_equal(t->rows, n);
    for (size_t i = 0; i < n; i++)
        same_bits(number(t, i, 0), strtod(hard[i], NULL));
    pv_table_free(ctx, t);
}

static void reads_random_decimals_exactly(void **state) {
    (void)state;
    enum { ROWS = 200000 };
    char(*given)[48] = malloc(ROWS * sizeof *given);
    assert_non_null(given);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "x\n");
    for (size_t i = 0; i < ROWS; i++) {
        uint64_t digits = random_bits() >> (random_bits() % 64);
        int exponent = (int)(random_bits() % 70) - 35;
        if (i % 3 == 0)
            snprintf(given[i], sizeof *given, "%s%llu.%llu", i % 2 ? "-" : "", (unsigned long long)(digits % 1000),
                     (unsigned long long)(random_bits() >> (random_bits() % 64)));
        else
            snprintf(given[i], sizeof *given, "%s%llue%d", i % 2 ? "-" : "", (unsigned long long)digits, exponent);
        fprintf(file, "%s\n", given[i]);
    }
    assert_int_equal(fclose(file), 0);
    pv_table *t = must_read(NULL);
    assert_int_equal(t->rows, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        same_bits(number(t, i, 0), strtod(given[i], NULL));
    pv_table_free(ctx, t);
    free(given);
}

static void formats_shortest(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } wanted[] = {{0, "0"},
                  {-0.0, "-0"},
                  {1, "1"},
                  {-1, "-1"},
                  {100, "100"},
                  {0.1, "0.1"},
                  {0.3, "0.3"},
                  {3.14, "3.14"},
                  {1234.5, "1234.5"},
                  {0.00012, "0.00012"},
                  {0.1 + 0.2, "0.30000000000000004"},
                  {1.0 / 3, "0.3333333333333333"},
                  {2.0 / 3, "0.6666666666666666"},
                  {1e15, "1000000000000000"},
                  {9007199254740993.0, "9007199254740992"},
                  {1e-7, "1e-07"},
                  {1.5e-10, "1.5e-10"},
                  {5e-324, "5e-324"},
                  {1e300, "1e+300"},
                  {1.7976931348623157e308, "1.7976931348623157e+308"},
                  {(double)INFINITY, "inf"},
                  {-(double)INFINITY, "-inf"}};
    char text[32];
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int length = pv_format_double(wanted[i].value, text, sizeof text);
        assert_string_equal(text, wanted[i].text);
        assert_int_equal(length, strlen(text));
    }
    assert_int_equal(pv_format_double((double)NAN, text, sizeof text), 3);
}

static double random_double(size_t i) {
    double value;
    uint64_t bits = random_bits();
    switch (i % 8) {
    case 0: /* arbitrary bits: all exponents, including subnormal numbers */
        memcpy(&value, &bits, sizeof value);
        return isfinite(value) ? value : 1;
    case 1: /* subnormal */
        bits = (bits & 0x800FFFFFFFFFFFFFu);
        memcpy(&value, &bits, sizeof value);
        return value;
    case 2: /* integers beyond 2^53 */
        return (double)bits;
    case 3: /* 17 digits near 1 */
        return (double)bits / 1.8446744073709552e19;
    case 4: /* few digits */
        return (double)(bits % 100000) / 1000;
    case 5:
        return -(double)(bits % 1000000);
    case 6: /* powers of two and their neighbours */
        value = ldexp(1, (int)(bits % 2000) - 1000);
        return bits >> 63 ? nextafter(value, 0) : value;
    default:
        return (double)(int64_t)bits * pow(10, (double)(bits % 40) - 30);
    }
}

/* Property: what pv_table_write writes reads back bit for bit. */
static void numbers_survive(void **state) {
    (void)state;
    enum { ROWS = 80000 };
    double *value = malloc(ROWS * sizeof *value);
    assert_non_null(value);
    for (size_t i = 0; i < ROWS; i++)
        value[i] = random_double(i);
    value[0] = (double)INFINITY;
    value[1] = -0.0;
    value[2] = 2.2250738585072014e-308;
    value[3] = 1.7976931348623157e308;
    value[4] = (double)NAN;
    char name[] = "x";
    pv_column column = {.name = name, .type = PV_COLUMN_NUMBER, .number = value};
    pv_table table = {.rows = ROWS, .columns = 1, .column = &column};
    pv_output output;
    assert_int_equal(pv_output_open(ctx, path, &output), PV_OK);
    assert_int_equal(pv_table_write(ctx, &table, &output), PV_OK);
    assert_int_equal(pv_output_commit(ctx, &output), PV_OK);
    pv_table *t = must_read(NULL);
    assert_int_equal(t->rows, ROWS);
    assert_true(isnan(number(t, 4, 0)));
    for (size_t i = 0; i < ROWS; i++)
        if (i != 4)
            same_bits(number(t, i, 0), value[i]);
    char text[32];
    for (size_t i = 0; i < ROWS; i++)
        assert_true(pv_format_double(value[i], text, sizeof text) < (int)sizeof text);
    pv_table_free(ctx, t);
    free(value);
}

/* Property: texts of hostile characters are preserved, with missing cells between them. */
static void texts_survive(void **state) {
    (void)state;
    enum { ROWS = 5000, COLUMNS = 3 };
    static const char alphabet[] = "ab\",;\t\n\r '|=\xC3\xA4\xEF#";
    char names[COLUMNS][16] = {"\"q\",x", " lead", "\xEF\xBB\xBFmark"};
    pv_column column[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) {
        column[c] = (pv_column){.name = names[(c + 2) % COLUMNS], .type = PV_COLUMN_TEXT, .levels = ROWS};
        column[c].level = calloc(ROWS, sizeof *column[c].level);
        column[c].code = calloc(ROWS, sizeof *column[c].code);
        assert_non_null(column[c].level);
        assert_non_null(column[c].code);
        for (int32_t i = 0; i < ROWS; i++) {
            char text[24] = "_"; /* never a number or a word for missing */
            size_t n = 1 + random_bits() % 12, at = random_bits() % 2;
            for (size_t k = at; k < n + at; k++)
                text[k] = alphabet[random_bits() % (sizeof alphabet - 1)];
            text[n + at] = '\0';
            column[c].level[i] = strdup(text);
            column[c].code[i] = random_bits() % 5 == 0 ? -1 : i;
        }
    }
    pv_table table = {.rows = ROWS, .columns = COLUMNS, .column = column};
    pv_output output;
    assert_int_equal(pv_output_open(ctx, path, &output), PV_OK);
    assert_int_equal(pv_table_write(ctx, &table, &output), PV_OK);
    assert_int_equal(pv_output_commit(ctx, &output), PV_OK);
    pv_table *t = must_read(NULL);
    assert_int_equal(t->rows, ROWS);
    assert_int_equal(t->columns, COLUMNS);
    for (size_t c = 0; c < COLUMNS; c++) {
        assert_string_equal(t->column[c].name, column[c].name);
        for (size_t i = 0; i < ROWS; i++) {
            const char *got = text_at(t, i, c);
            if (column[c].code[i] < 0)
                assert_null(got);
            else
                assert_string_equal(got, column[c].level[i]);
        }
        for (size_t i = 0; i < ROWS; i++)
            free(column[c].level[i]);
        free(column[c].level);
        free(column[c].code);
    }
    pv_table_free(ctx, t);
}

static void reports_write_errors(void **state) {
    (void)state;
    pv_table *t = read_text("a\n1\n");
    pv_output output = {.stream = fopen("/dev/full", "wb"), .path = NULL};
    if (!output.stream) {
        pv_table_free(ctx, t);
        skip();
    }
    char name[] = "/dev/full";
    output.path = name;
    assert_int_equal(pv_table_write(ctx, t, &output), PV_ERR_WRITE);
    fclose(output.stream);
    pv_table_free(ctx, t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_numbers_exactly), cmocka_unit_test(reads_random_decimals_exactly),
        cmocka_unit_test(formats_shortest),      cmocka_unit_test(numbers_survive),
        cmocka_unit_test(texts_survive),         cmocka_unit_test(reports_write_errors),
    };
    return cmocka_run_group_tests_name("roundtrip", tests, setup, teardown);
}
