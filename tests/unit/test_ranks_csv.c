/* CSV files read by several ranks together, simulated by threads. Each must get the table, or the error, of a single
 * process. */
#include <stdlib.h>

#include "fixture.h"
#include "ranks.h"

enum { ROWS = 30000, BYTES_LEAST = 4 * 65536 }; /* a file of this size is divided among four */
enum { AT_MOST = 11 };                          /* number of exchanges if each rank reads the whole file */

typedef struct job {
    member who;
    pv_csv_options options;
    pv_status status, ended;
    pv_error error;
    pv_table *table;
    pv_ctx *own;
} job;

static void *run_job(void *state) {
    job *j = state;
    j->own = check_ctx(1);
    j->status = member_joins(j->own, &j->who);
    if (j->status == PV_OK)
        j->status = pv_table_read(j->own, path, &j->options, &j->table);
    j->error = *pv_ctx_error(j->own);
    j->ended = pv_ranks_end(j->own, j->status);
    return NULL;
}

static void clear(job *j) {
    pv_table_free(j->own, j->table);
    pv_ctx_free(j->own);
}

static void same_column(const pv_column *own, const pv_column *other, size_t rows) {
    assert_string_equal(own->name, other->name);
    assert_int_equal(own->type, other->type);
    assert_int_equal(own->levels, other->levels);
    for (int32_t l = 0; l < own->levels; l++)
        assert_string_equal(own->level[l], other->level[l]);
    if (own->type == PV_COLUMN_TEXT)
        assert_memory_equal(own->code, other->code, rows * sizeof *own->code);
    for (size_t i = 0; own->type == PV_COLUMN_NUMBER && i < rows; i++)
        if (own->number[i] != other->number[i] && !(isnan(own->number[i]) && isnan(other->number[i])))
            fail_msg("row %zu of '%s': %g, and %g", i, own->name, own->number[i], other->number[i]);
}

static void same_table(const pv_table *own, const pv_table *other) {
    assert_int_equal(own->rows, other->rows);
    assert_int_equal(own->columns, other->columns);
    assert_true(own->hash == other->hash);
    assert_int_equal(own->line != NULL, other->line != NULL);
    for (size_t i = 0; i < own->rows; i++)
        assert_int_equal(pv_table_line(own, i), pv_table_line(other, i));
    for (size_t c = 0; c < own->columns; c++)
        same_column(&own->column[c], &other->column[c], own->rows);
}

typedef enum how { EACH_THE_WHOLE, SHARED, EITHER } how; /* EITHER: depends on where shares begin */

/* The table of the file at path, or its error, for a single process and for 2 to 4 ranks. how: whether each parses only
 * a part. */
static void same_for_any_number(const pv_csv_options *options, pv_status status, how shared) {
    job alone = {.options = *options};
    run_job(&alone);
    assert_int_equal(alone.status, status);
    for (int size = 2; size <= RANKS_MAX; size++) {
        cluster all = {.size = size, .left = -1};
        job jobs[RANKS_MAX] = {0};
        for (int r = 0; r < size; r++)
            jobs[r] = (job){.who = {&all, r}, .options = *options};
        cluster_run(&all, run_job, jobs, sizeof *jobs);
        if (shared != EITHER)
            assert_int_equal(all.exchanges > AT_MOST, shared == SHARED);
        for (int r = 0; r < size; r++) {
            assert_int_equal(jobs[r].status, status);
            if (status == PV_OK)
                same_table(jobs[r].table, alone.table);
            assert_string_equal(jobs[r].error.message, alone.error.message);
            assert_int_equal(jobs[r].error.line, alone.error.line);
            clear(&jobs[r]);
        }
    }
    clear(&alone);
}

typedef struct form {
    size_t missing_from, missing_to; /* rows with a missing number and level */
    size_t blank;                    /* rows between two blank lines; 0: no blank lines */
    const char *text;                /* another column, the same in every row */
    const char *odd;                 /* replaces the number in the row of that number */
    size_t odd_row;
    const char *end; /* line ending */
    bool cut;        /* the last line has none */
} form;

static void write_file(const form *f) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "n,x,level,text%s", f->end);
    for (size_t i = 0; i < ROWS; i++) {
        bool missing = i >= f->missing_from && i < f->missing_to;
        char x[32] = "";
        if (!missing)
            snprintf(x, sizeof x, "%.6g", sin((double)i));
        if (f->blank && i % f->blank == 0)
            fputs(f->end, file);
        fprintf(file, "%zu,%s,%s%zu,%s%s", i, f->odd && i == f->odd_row ? f->odd : x, missing ? "" : "l",
                missing ? 0 : (i * 7) / 1000, f->text, f->cut && i + 1 == ROWS ? "" : f->end);
    }
    assert_true(ftell(file) >= BYTES_LEAST);
    assert_int_equal(fclose(file), 0);
}

static const pv_csv_options usual = {0};

static void plain_rows(void **state) {
    (void)state;
    write_file(&(form){.text = "some words", .end = "\n"});
    same_for_any_number(&usual, PV_OK, SHARED);
    write_file(&(form){.text = "some words", .end = "\r\n", .cut = true});
    same_for_any_number(&usual, PV_OK, SHARED);
    const char *const keep[] = {"x"};
    same_for_any_number(&(pv_csv_options){.keep = keep, .n_keep = 1}, PV_OK, SHARED);
}

/* A share may contain only missing cells of a column, whose type then comes from other shares. */
static void missing_cells(void **state) {
    (void)state;
    write_file(&(form){.missing_to = ROWS * 2 / 3, .text = "?", .end = "\n"});
    const char *const text[] = {"level"};
    same_for_any_number(&(pv_csv_options){.text = text, .n_text = 1}, PV_OK, SHARED);
    write_file(&(form){.missing_from = ROWS / 4, .missing_to = ROWS, .text = "2020-03-04", .end = "\n"});
    same_for_any_number(&(pv_csv_options){.text = text, .n_text = 1}, PV_OK, SHARED);
    write_file(&(form){.missing_to = ROWS, .text = "", .end = "\n"});
    same_for_any_number(&(pv_csv_options){.text = text, .n_text = 1, .na = "0"}, PV_OK, SHARED);
}

static void lines_that_have_no_row(void **state) {
    (void)state;
    write_file(&(form){.blank = 100, .text = "some more words", .end = "\n", .cut = true});
    same_for_any_number(&usual, PV_OK, SHARED);
    write_file(&(form){.blank = ROWS - 3, .text = "some more words", .end = "\n"});
    same_for_any_number(&usual, PV_OK, SHARED);
}

/* Line breaks within quotes, at which a share may begin; even complete rows inside quotes. */
static void quotes(void **state) {
    (void)state;
    write_file(&(form){.text = "\"one\ntwo \"\"three\"\"\"", .end = "\n"});
    same_for_any_number(&usual, PV_OK, EITHER);
    write_file(&(form){.text = "\"1,2,l0,words\n1,2,l0,words\n1,2,l0,words\n\"", .end = "\n"});
    same_for_any_number(&usual, PV_OK, EITHER);
}

/* Errors are reported as in a single process, with the line. */
static void what_is_wrong(void **state) {
    (void)state;
    write_file(&(form){.text = "some words", .odd = "none", .odd_row = ROWS - 5, .end = "\n"});
    same_for_any_number(&usual, PV_ERR_INPUT, EACH_THE_WHOLE);
    write_file(&(form){.text = "some words", .odd = "1,2", .odd_row = ROWS / 2, .end = "\n"});
    same_for_any_number(&usual, PV_ERR_INPUT, EACH_THE_WHOLE);
    write_file(
        &(form){.text = "some words", .end = "\n"}); /* a NUL before the position at which a rank begins to read */
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    assert_int_equal(fseek(file, ftell(file) / 2 + 100, SEEK_SET), 0);
    assert_int_equal(fputc(0, file), 0);
    assert_int_equal(fclose(file), 0);
    same_for_any_number(&usual, PV_ERR_INPUT, EACH_THE_WHOLE);
    /* within each rank's share all cells are of one type, but the shares differ */
    write_file(&(form){
        .missing_from = 1, .missing_to = ROWS - 1, .text = "words", .odd = "none", .odd_row = ROWS - 1, .end = "\n"});
    const char *const text[] = {"level"};
    same_for_any_number(&(pv_csv_options){.text = text, .n_text = 1}, PV_ERR_INPUT, EACH_THE_WHOLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_rows), cmocka_unit_test(missing_cells),
                                       cmocka_unit_test(lines_that_have_no_row), cmocka_unit_test(quotes),
                                       cmocka_unit_test(what_is_wrong)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
