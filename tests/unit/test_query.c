/* Parsing names of sources, and rows of databases as streams of batches. */
#include <math.h>
#include <stdlib.h>

#include "data/query.h"
#include "data/row_stream.h"

#include "fixture.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void means(const char *source, pv__engine engine, const char *database, const char *text) {
    pv__query query;
    ok(pv__query_parse(ctx, source, &query));
    if (query.engine != engine)
        fail_msg("%s: engine %d, not %d", source, (int)query.engine, (int)engine);
    assert_string_equal(query.name, source);
    assert_true(!query.database == !database && (!database || strcmp(query.database, database) == 0));
    if (!query.text != !text || (text && strcmp(query.text, text) != 0))
        fail_msg("%s: %s, not %s", source, query.text ? query.text : "nothing", text ? text : "nothing");
    pv__query_free(ctx, &query);
}

static void test_names(void **state) {
    (void)state;
    means("study.csv", PV__ENGINE_NONE, NULL, NULL);
    means("study.csv.gz", PV__ENGINE_NONE, NULL, NULL);
    means("-", PV__ENGINE_NONE, NULL, NULL);
    means("", PV__ENGINE_NONE, NULL, NULL);
    means("selection.csv", PV__ENGINE_NONE, NULL, NULL);
    means("from", PV__ENGINE_NONE, NULL, NULL);
    means("images*.npz", PV__ENGINE_NONE, NULL, NULL);
    means(".parquet", PV__ENGINE_NONE, NULL, NULL);
    means("a.parquet", PV__ENGINE_DUCKDB, NULL, "SELECT * FROM read_parquet('a.parquet')");
    means("it's.PARQUET", PV__ENGINE_DUCKDB, NULL, "SELECT * FROM read_parquet('it''s.PARQUET')");
    means("d/*.parquet", PV__ENGINE_DUCKDB, NULL, "SELECT * FROM read_parquet('d/*.parquet')");
    means("d/*.csv.gz", PV__ENGINE_DUCKDB, NULL, "SELECT * FROM read_csv('d/*.csv.gz', header = true)");
    means("select * from 'a.csv' ; ", PV__ENGINE_DUCKDB, NULL, "select * from 'a.csv'");
    means("FROM 'a.csv'", PV__ENGINE_DUCKDB, NULL, "FROM 'a.csv'");
    means(" WITH a AS (SELECT 1) FROM a", PV__ENGINE_DUCKDB, NULL, " WITH a AS (SELECT 1) FROM a");
    means("duckdb:a.db?t", PV__ENGINE_DUCKDB, "a.db", "SELECT * FROM \"t\"");
    means("sqlite:a.db?my \"t\"", PV__ENGINE_SQLITE, "a.db", "SELECT * FROM \"my \"\"t\"\"\"");
    means("sqlite:a.db?SELECT 1 AS a", PV__ENGINE_SQLITE, "a.db", "SELECT 1 AS a");
    means("postgresql://u@h:5/d?sslmode=require#s.t", PV__ENGINE_POSTGRES, "postgresql://u@h:5/d?sslmode=require",
          "SELECT * FROM \"s\".\"t\"");
    means("postgresql://h:5/d?application_name=50%25#t", PV__ENGINE_POSTGRES,
          "postgresql://h:5/d?application_name=50%25", "SELECT * FROM \"t\"");
    means("postgresql://h:5/d#SELECT 'password=' AS a", PV__ENGINE_POSTGRES, "postgresql://h:5/d",
          "SELECT 'password=' AS a");
}

static void refused(const char *source, const char *part) {
    pv__query query;
    assert_int_equal(pv__query_parse(ctx, source, &query), PV_ERR_USAGE);
    assert_null(query.name);
    says(part);
}

static void test_bad_names(void **state) {
    (void)state;
    refused("sqlite:a.db", "does not name a table");
    refused("sqlite:?t", "does not name a table");
    refused("duckdb:a.db?", "does not name a table");
    refused("postgres://h/d", "does not name a table");
    refused("postgres://u:p@h/d#t", "not contain a password");
    refused("postgresql:///d?password=p#t", "not contain a password");
    refused("postgresql://u:se#cret@h/d#t", "not contain a password");
    refused("postgresql:///d?p%61ssw%6Frd=p#t", "not contain a password");
    refused("postgresql:///d?%70%61%73%73%77%6f%72%64=p#t", "not contain a password");
    refused("postgresql://u:se/cret@h/d#t", "not contain a password");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* A simulated database: x counts rows, town is north or south, odd is missing, then a number, or text from a row on.
 */
typedef struct database {
    size_t rows, at;
    size_t odd_from; /* the first row in which odd is a text */
    size_t fails;    /* the row at which it fails */
    bool other;      /* town has other values */
    int closed;
} database;

static const char *name_of(void *state, size_t column) {
    (void)state;
    static const char *const names[] = {"x", "town", "odd"};
    return names[column];
}

static pv__cell_kind declared(void *state, size_t column) {
    (void)state;
    return column == 1 ? PV__CELL_TEXT : PV__CELL_NUMBER;
}

static int next(void *state) {
    database *d = state;
    if (d->at == d->fails)
        return -1;
    if (d->at > d->rows) /* some databases do this */
        d->at = 0;
    return d->at++ < d->rows;
}

static pv__cell cell(void *state, size_t column) {
    const database *d = state;
    size_t row = d->at - 1;
    if (column == 0)
        return (pv__cell){.kind = PV__CELL_NUMBER, .number = (double)row / 2};
    if (column == 1 && d->other)
        return (pv__cell){.kind = PV__CELL_OTHER};
    if (column == 1)
        return (pv__cell){.kind = PV__CELL_TEXT, .text = row % 2 ? "northern" : "southern", .length = 5};
    if (row >= d->odd_from)
        return (pv__cell){.kind = PV__CELL_TEXT, .text = "high", .length = 4};
    return row % 2 ? (pv__cell){.kind = PV__CELL_NUMBER, .number = 7.5} : (pv__cell){.kind = PV__CELL_MISSING};
}

static const char *error(void *state) {
    (void)state;
    return "the server\n  is gone\n   ^";
}

static void close_it(void *state) {
    ((database *)state)->closed++;
}

static pv_status take(pv_ctx *own, database *d, pv_table **table) {
    const pv__rows rows = {d, 3, name_of, declared, next, cell, error, close_it};
    struct ArrowArrayStream stream;
    *table = NULL;
    pv_status status = pv__rows_stream(own, "base", &rows, NULL, &stream);
    if (status == PV_OK)
        status = pv__table_of_stream(own, "base", NULL, &stream, table);
    assert_int_equal(d->closed, 1);
    return status;
}

static pv_table *must_take(database d) {
    pv_table *table;
    ok(take(ctx, &d, &table));
    if (!table)
        abort();
    return table;
}

static void test_rows(void **state) {
    (void)state;
    for (size_t rows = 1; rows <= 4096; rows *= 2) { /* within a batch, a whole one, and more */
        pv_table *table = must_take((database){.rows = rows, .odd_from = SIZE_MAX, .fails = SIZE_MAX});
        assert_int_equal(table->rows, rows);
        near(number(table, rows - 1, 0), (double)(rows - 1) / 2, 0);
        assert_string_equal(text_at(table, 0, 1), "south");
        assert_true(isnan(number(table, 0, 2)));
        if (rows > 1)
            near(number(table, rows - 1, 2), 7.5, 0);
        pv_table_free(ctx, table);
    }
    /* a text in the first batch makes the column text */
    pv_table *table = must_take((database){.rows = 1500, .odd_from = 5, .fails = SIZE_MAX});
    assert_string_equal(text_at(table, 3, 2), "7.5");
    assert_null(text_at(table, 2, 2));
    assert_string_equal(text_at(table, 1499, 2), "high");
    pv_table_free(ctx, table);
}

static void fails(database d, const char *part) {
    pv_table *table;
    assert_int_equal(take(ctx, &d, &table), PV_ERR_INPUT);
    assert_null(table);
    says(part);
}

static void test_failures(void **state) {
    (void)state;
    fails((database){.rows = 3000, .odd_from = 2000, .fails = SIZE_MAX}, "column 'odd': 'high' is not a number");
    fails((database){.rows = 3000, .odd_from = SIZE_MAX, .fails = 10}, "the server is gone");
    fails((database){.rows = 3000, .odd_from = SIZE_MAX, .fails = 2000}, "the server is gone");
    fails((database){.rows = 30, .odd_from = SIZE_MAX, .fails = SIZE_MAX, .other = true}, "column 'town' is neither");
    fails((database){.odd_from = SIZE_MAX, .fails = SIZE_MAX}, "has no rows");
}

static pv_status take_poorly(pv_ctx *poor) {
    pv_table *table;
    pv__query query;
    database d = {.rows = 1100, .odd_from = 3, .fails = SIZE_MAX};
    PV_TRY(pv__query_parse(poor, "sqlite:a.db?s.t", &query));
    pv__query_free(poor, &query);
    PV_TRY(pv__query_parse(poor, "a.parquet", &query));
    pv__query_free(poor, &query);
    pv_status status = take(poor, &d, &table);
    pv_table_free(poor, table);
    return status;
}

static void test_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(take_poorly);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),    cmocka_unit_test(test_bad_names),      cmocka_unit_test(test_rows),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
