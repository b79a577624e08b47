/* A CSV file, possibly compressed, read in several ways: with defaults, as text, with other delimiters and marks,
 * without a header, and with columns left out. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const a[] = {"a", "x"}, *const b[] = {"b", "x"};
    const pv_csv_options ways[] = {{0},
                                   {.separator = ";", .number_prefix = ""},
                                   {.separator = "tab", .decimal = ",", .na = "?,-9,NA"},
                                   {.no_header = true, .na = ""},
                                   {.keep = a, .n_keep = 2, .text = b, .n_text = 2, .number_prefix = "x"}};
    const char *path = fuzz_file(0, data, size);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        pv_ctx *ctx = fuzz_begin(size);
        pv_table *table;
        pv_status status = pv_table_read(ctx, path, &ways[i], &table);
        if (status == PV_OK)
            fuzz_sound_table(table);
        else
            fuzz_refused(ctx, status);
        pv_table_free(ctx, table);
        fuzz_end(ctx);
    }
    return 0;
}
