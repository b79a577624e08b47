/* Tables and probabilities in pieces: the same cells, line numbers and errors as the whole. */
#include <stdlib.h>

#include "data/query.h"
#include "data/row_stream.h"

#include "fixture.h"

static const char people[] =
    "y,x,town\n"
    "0,1,north\n1,2,south\n\n0,3,north\n1,5,south\n0,2,\"we\nst\"\n1,4,north\n0,1,south\n1,3,north\n";

static pv_pieces *open_pieces(const pv_csv_options *options) {
    pv_pieces *pieces = NULL;
    ok(pv_pieces_open(ctx, path, options, &pieces));
    return pieces;
}

static pv_table *next_of(pv_pieces *pieces, size_t rows) {
    pv_table *table = NULL;
    ok(pv_pieces_next(ctx, pieces, rows, &table));
    return table;
}

static void test_parts_of_a_file(void **state) {
    (void)state;
    pv_table *whole = read_text(people), *part;
    pv_pieces *pieces = open_pieces(NULL);
    size_t row = 0, count = 0;
    while ((part = next_of(pieces, 3))) {
        assert_int_equal(part->before, row);
        assert_true(part->piece && part->rows <= 3);
        for (size_t i = 0; i < part->rows; i++, row++) {
            assert_int_equal(pv_table_line(part, i), pv_table_line(whole, row));
            near(number(part, i, 1), number(whole, row, 1), 0);
            const char *town = text_at(whole, row, 2);
            assert_string_equal(text_at(part, i, 2), town);
        }
        pv_table_free(ctx, part);
        count++;
    }
    assert_int_equal(row, whole->rows);
    assert_int_equal(count, 3);
    pv_pieces_free(ctx, pieces);
    pieces = open_pieces(NULL); /* the whole table is not a piece */
    part = next_of(pieces, SIZE_MAX);
    assert_true(part && !part->piece && part->rows == whole->rows);
    pv_table_free(ctx, part);
    assert_null(next_of(pieces, SIZE_MAX));
    pv_pieces_free(ctx, pieces);
    pv_table_free(ctx, whole);
}

static void count_notes(void *state, pv_log_level level, const char *message) {
    (void)level;
    *(int *)state += strstr(message, "training data did not have") != NULL;
}

/* A schema learned from people, and pieces of other people. */
static void test_rows_by_a_schema(void **state) {
    (void)state;
    static const char others[] = "x,town\n1,north\n,south\n2,east\n3,south\n4,west\n,north\n,north\n5,far\n";
    const pv_roles roles = {.target = "y"}, drop = {.missing = PV_MISSING_DROP}, refuse = {0};
    pv_table *table = read_text(people), *piece;
    pv_schema *schema;
    pv_dataset *data;
    int notes = 0;
    size_t rows = 0, dropped = 0;
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    put(others, strlen(others));
    pv_ctx_set_log(ctx, count_notes, &notes, PV_LOG_INFO);
    pv_pieces *pieces = open_pieces(NULL);
    while ((piece = next_of(pieces, 2))) {
        ok(pv_schema_apply(ctx, schema, piece, &drop, &data));
        rows += data->rows;
        dropped += data->dropped;
        pv_dataset_free(ctx, data);
        pv_table_free(ctx, piece);
    }
    pv_pieces_free(ctx, pieces);
    assert_int_equal(rows, 5);
    assert_int_equal(dropped, 3);
    assert_int_equal(notes, 1); /* for three pieces with such levels */
    pv_ctx_set_log(ctx, NULL, NULL, PV_LOG_WARNING);
    pieces = open_pieces(NULL);
    pv_table_free(ctx, next_of(pieces, 4));
    piece = next_of(pieces, 4);
    assert_int_equal(pv_schema_apply(ctx, schema, piece, &refuse, &data), PV_ERR_INPUT);
    says("'x' is missing here (rows with missing cells: 2 of 4 from row 5 on)");
    at(7, 1);
    pv_table_free(ctx, piece);
    pv_pieces_free(ctx, pieces);
    pv_schema_free(ctx, schema);
}

static void test_probabilities(void **state) {
    (void)state;
    static const char probs[] = "who,p__no,p__yes\na,0.1,0.9\nb,0.5,0.5\nc,0.25,0.75\nd,0.2,0.8\ne,1,0\n",
                      bad[] = "who,p__no,p__yes\na,0.1,0.9\nb,0.5,0.5\nc,0.25,0.5\n";
    const pv_probs_options options = {0};
    pv_probs_pieces *pieces;
    pv_probs *whole, *piece;
    size_t row = 0;
    put(probs, strlen(probs));
    ok(pv_probs_read(ctx, path, &options, &whole));
    ok(pv_probs_pieces_open(ctx, path, &options, &pieces));
    for (;;) {
        ok(pv_probs_pieces_next(ctx, pieces, 2, &piece));
        if (!piece)
            break;
        assert_string_equal(piece->labels[1], "yes");
        for (size_t i = 0; i < piece->data->rows; i++, row++)
            assert_memory_equal(piece->p + 2 * i, whole->p + 2 * row, 2 * sizeof(double));
        pv_probs_free(ctx, piece);
    }
    assert_int_equal(row, 5);
    pv_probs_pieces_free(ctx, pieces);
    pv_probs_free(ctx, whole);
    put(bad, strlen(bad));
    ok(pv_probs_pieces_open(ctx, path, &options, &pieces));
    ok(pv_probs_pieces_next(ctx, pieces, 2, &piece));
    pv_probs_free(ctx, piece);
    assert_int_equal(pv_probs_pieces_next(ctx, pieces, 2, &piece), PV_ERR_INPUT);
    says("the probabilities of row 3 add up to 0.75");
    at(4, 0);
    assert_null(piece);
    pv_probs_pieces_free(ctx, pieces);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static const char *name_of(void *state, size_t column) {
    (void)state;
    return column ? "town" : "x";
}

static pv__cell_kind declared(void *state, size_t column) {
    (void)state;
    return column ? PV__CELL_TEXT : PV__CELL_NUMBER;
}

/* 5,000 rows. */
static int next_row(void *state) {
    return ++*(size_t *)state <= 5000;
}

static pv__cell cell(void *state, size_t column) {
    size_t row = *(size_t *)state;
    return column ? (pv__cell){.kind = PV__CELL_TEXT, .text = row % 3 ? "north" : "south", .length = 5}
                  : (pv__cell){.kind = PV__CELL_NUMBER, .number = (double)row};
}

static const char *no_error(void *state) {
    (void)state;
    return "";
}

static void close_it(void *state) {
    (void)state;
}

static void test_a_stream(void **state) {
    (void)state;
    size_t at_row = 0, row = 0, pieces = 0;
    const pv__rows rows = {&at_row, 2, name_of, declared, next_row, cell, no_error, close_it};
    struct ArrowArrayStream stream;
    pv__arrow *arrow;
    ok(pv__rows_stream(ctx, "base", &rows, NULL, &stream));
    ok(pv__arrow_open(ctx, "base", NULL, &stream, &arrow));
    assert_null(stream.release);
    for (;; pieces++) {
        pv_table *piece;
        ok(pv__arrow_next(arrow, 1500, &piece));
        if (!piece)
            break;
        assert_int_equal(piece->before, row);
        assert_int_equal(pv_table_line(piece, 0), row + 2);
        for (size_t i = 0; i < piece->rows; i++, row++) {
            near(number(piece, i, 0), (double)row + 1, 0);
            assert_string_equal(text_at(piece, i, 1), (row + 1) % 3 ? "north" : "south");
        }
        pv_table_free(ctx, piece);
    }
    assert_int_equal(row, 5000);
    assert_true(pieces > 1);
    pv__arrow_close(arrow);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static pv_status read_poorly(pv_ctx *poor) {
    const pv_probs_options options = {.columns = "yes=p__yes,no=p__no"};
    pv_pieces *pieces = NULL;
    pv_probs_pieces *said = NULL;
    pv_table *table = NULL;
    pv_probs *probs = NULL;
    pv_status status = pv_pieces_open(poor, path, NULL, &pieces);
    if (status == PV_OK)
        status = pv_pieces_next(poor, pieces, 2, &table);
    if (status == PV_OK)
        status = pv_probs_pieces_open(poor, path, &options, &said);
    if (status == PV_OK)
        status = pv_probs_pieces_next(poor, said, 2, &probs);
    pv_table_free(poor, table);
    pv_pieces_free(poor, pieces);
    pv_probs_free(poor, probs);
    pv_probs_pieces_free(poor, said);
    return status;
}

static void test_lack_of_memory(void **state) {
    (void)state;
    static const char probs[] = "who,p__no,p__yes\na,0.1,0.9\nb,0.5,0.5\nc,0.25,0.75\n";
    put(probs, strlen(probs));
    sweep_memory(read_poorly);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts_of_a_file), cmocka_unit_test(test_rows_by_a_schema),
                                       cmocka_unit_test(test_probabilities), cmocka_unit_test(test_a_stream),
                                       cmocka_unit_test(test_lack_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
