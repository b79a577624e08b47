/* A table that is read, written and read again must be the same table. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pv_ctx *ctx = fuzz_begin(size);
    pv_table *table, *again = NULL;
    pv_status status = pv_table_read(ctx, fuzz_file(0, data, size), NULL, &table);
    if (status == PV_OK && !table->arrays) { /* a single array has no name */
        char *written = NULL;
        size_t length = 0;
        pv_output output = {.stream = open_memstream(&written, &length)};
        FUZZ_CHECK(output.stream, "no stream");
        FUZZ_CHECK(pv_table_write(ctx, table, &output) == PV_OK, "%s", pv_ctx_error(ctx)->message);
        fclose(output.stream);
        status = pv_table_read(ctx, fuzz_file(1, written, length), NULL, &again);
        FUZZ_CHECK(status == PV_OK, "what was written cannot be read: %s", pv_ctx_error(ctx)->message);
        fuzz_same_table(table, again);
        free(written);
    }
    pv_table_free(ctx, again);
    pv_table_free(ctx, table);
    fuzz_end(ctx);
    return 0;
}
