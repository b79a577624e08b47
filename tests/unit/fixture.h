/* tests/unit/fixture.h: a context, a temporary file, checks of its errors, and an allocator that fails on request. */
#ifndef PV_TEST_FIXTURE_H
#define PV_TEST_FIXTURE_H

#include <unistd.h>

#include "check.h"

static pv_ctx *ctx;
static char path[] = "/tmp/prevail-test-XXXXXX";

static inline int setup(void **state) {
    (void)state;
    int descriptor = mkstemp(path);
    if (descriptor < 0 || close(descriptor) != 0)
        return 1;
    return pv_ctx_new(NULL, &ctx) != PV_OK;
}

static inline int teardown(void **state) {
    (void)state;
    pv_ctx_free(ctx);
    return unlink(path);
}

/* Writes exactly these bytes to the temporary file. */
static inline void put(const void *bytes, size_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static inline void ok(pv_status status) {
    if (status != PV_OK)
        print_error("%zu:%zu: %s\n", pv_ctx_error(ctx)->line, pv_ctx_error(ctx)->column, pv_ctx_error(ctx)->message);
    assert_int_equal(status, PV_OK);
}

/* Reads the temporary file as a table. */
static inline pv_table *must_read(const pv_csv_options *options) {
    pv_table *table = NULL;
    ok(pv_table_read(ctx, path, options, &table));
    assert_non_null(table);
    return table;
}

static inline pv_table *read_text(const char *text) {
    put(text, strlen(text));
    return must_read(NULL);
}

/* says: the last error's message contains this part; at: its position. */
static inline void says(const char *part) {
    const char *message = pv_ctx_error(ctx)->message;
    if (!strstr(message, part))
        fail_msg("'%s' is not in '%s'", part, message);
}

static inline void at(size_t line, size_t column) {
    assert_int_equal(pv_ctx_error(ctx)->line, line);
    assert_int_equal(pv_ctx_error(ctx)->column, column);
}

static inline void near(double got, double wanted, double tolerance) {
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%.17g is not %.17g", got, wanted);
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static inline double number(const pv_table *table, size_t row, size_t column) {
    assert_true(column < table->columns && row < table->rows);
    assert_int_equal(table->column[column].type, PV_COLUMN_NUMBER);
    return table->column[column].number[row];
}

/* NULL for a missing cell. */
static inline const char *text_at(const pv_table *table, size_t row, size_t column) {
    assert_true(column < table->columns && row < table->rows);
    const pv_column *c = &table->column[column];
    assert_int_equal(c->type, PV_COLUMN_TEXT);
    assert_true(c->code[row] >= -1 && c->code[row] < c->levels);
    return c->code[row] < 0 ? NULL : c->level[c->code[row]];
}

static inline void same_bits(double a, double b) {
    uint64_t left, right;
    memcpy(&left, &a, sizeof left);
    memcpy(&right, &b, sizeof right);
    if (left != right)
        fail_msg("%.17g (%016llx) is not %.17g (%016llx)", a, (unsigned long long)left, b, (unsigned long long)right);
}

/* ---- random numbers of the tests --------------------------------------------------------------------------------- */

static uint64_t xorshift = 88172645463325252u;

static inline uint64_t random_bits(void) {
    xorshift ^= xorshift << 13;
    xorshift ^= xorshift >> 7;
    return xorshift ^= xorshift << 17;
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static size_t allowed; /* number of allocations that still succeed */
static bool once;      /* only one allocation fails */
static bool failed;    /* an allocation has failed */
static long held;      /* blocks not yet released */

static inline bool memory_refused(void) {
    if (allowed > 0) {
        allowed--;
        return false;
    }
    if (once)
        allowed = SIZE_MAX;
    return failed = true;
}

static inline void *limited_alloc(void *state, size_t size) {
    (void)state;
    if (memory_refused())
        return NULL;
    held++;
    return malloc(size);
}

static inline void *limited_resize(void *state, void *block, size_t size) {
    (void)state;
    if (memory_refused())
        return NULL;
    held += block == NULL;
    return realloc(block, size);
}

static inline void limited_release(void *state, void *block) {
    (void)state;
    held -= block != NULL;
    free(block);
}

/* Lets the n-th allocation fail, alone and with all later ones, for every n. The work must end with PV_ERR_MEMORY or
 * succeed, and release everything. */
static inline void sweep_memory(pv_status (*work)(pv_ctx *poor)) {
    pv_ctx_options options = pv_ctx_options_default();
    options.allocator = (pv_allocator){limited_alloc, limited_resize, limited_release, NULL};
    for (int way = 0; way < 2; way++) {
        once = way == 1;
        failed = true;
        for (size_t limit = 1; failed; limit++) {
            pv_ctx *poor;
            allowed = limit;
            held = 0;
            failed = false;
            assert_int_equal(pv_ctx_new(&options, &poor), PV_OK);
            pv_status status = work(poor);
            assert_true(status == PV_OK || (status == PV_ERR_MEMORY && failed));
            pv_ctx_free(poor);
            assert_int_equal(held, 0);
            assert_true(limit < 10000);
        }
    }
    once = false;
}

#endif
