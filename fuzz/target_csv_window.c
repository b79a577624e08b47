/* CSV is read through a window of 256 KiB. A blank line before the header shifts the input across the window's end: the
 * table, or the error and its position, must not depend on the shift.
 */
#include "fuzz.h"

enum { WINDOW = 1 << 18 };

static pv_status read_at(pv_ctx *ctx, const uint8_t *data, size_t size, size_t blank, pv_table **table) {
    char *padded = malloc(blank + size + 1);
    FUZZ_CHECK(padded, "out of memory");
    memset(padded, ' ', blank);
    if (blank)
        padded[blank - 1] = '\n';
    memcpy(padded + blank, data, size);
    const char *path = fuzz_file(0, padded, blank + size);
    free(padded);
    return pv_table_read(ctx, path, NULL, table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 4096 || data[0] == 'P' || data[0] < ' ' || data[0] > 0x7E || memchr(data, '\0', size))
        return 0; /* decided by a file's first bytes or by a NUL, so not a table */
    pv_ctx *ctx = fuzz_begin(size + 2 * WINDOW);
    pv_table *here = NULL, *there = NULL;
    pv_status status = read_at(ctx, data, size, 0, &here);
    pv_error error = *pv_ctx_error(ctx);
    size_t seed = 0;
    for (size_t i = 0; i < size; i++)
        seed = 31 * seed + data[i];
    for (int i = 0; i < 2; i++) {
        size_t blank = WINDOW - 1 - (seed + (size_t)i) % size;
        pv_status again = read_at(ctx, data, size, blank, &there);
        const pv_error *moved = pv_ctx_error(ctx);
        FUZZ_CHECK(again == status, "'%s' became '%s' (%s)", pv_status_name(status), pv_status_name(again),
                   moved->message);
        if (status == PV_OK) {
            fuzz_same_table(here, there);
            for (size_t row = 0; row < here->rows; row++)
                FUZZ_CHECK(pv_table_line(there, row) == pv_table_line(here, row) + 1, "line %zu became %zu",
                           pv_table_line(here, row), pv_table_line(there, row));
        } else {
            FUZZ_CHECK(strcmp(error.message, moved->message) == 0, "'%s' became '%s'", error.message, moved->message);
            FUZZ_CHECK(error.line == 0 ? moved->line == 0 : moved->line == error.line + 1, "line %zu became %zu",
                       error.line, moved->line);
            FUZZ_CHECK(error.column == moved->column, "column %zu became %zu", error.column, moved->column);
        }
        pv_table_free(ctx, there);
    }
    pv_table_free(ctx, here);
    fuzz_end(ctx);
    return 0;
}
