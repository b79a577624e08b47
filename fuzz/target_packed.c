/* A packed table. Input that begins like one is used as the file. Other input is a header up to the first NUL, whose
 * sizes and checksum are corrected, followed by the columns, so that the header's claims are reached. */
#include <xxhash.h>

#include "base/base.h"
#include "fuzz.h"

static const char MAGIC[] = "prevail packed table 1\n";

/* Reads columns of numbers that keep their spelling with it, without it, and as text. */
static void read_one(const void *bytes, size_t size) {
    static const char *const text[] = {"a"};
    static const pv_roles roles = {.target = "g"};
    const pv_csv_options options[] = {{.spelling = true}, {.roles = &roles}, {.text = text, .n_text = 1}};
    const char *path = fuzz_file(0, bytes, size);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        pv_ctx *ctx = fuzz_begin(size);
        pv_table *table;
        pv_status status = pv_table_read(ctx, path, &options[i], &table);
        if (status == PV_OK)
            fuzz_sound_table(table);
        else
            fuzz_refused(ctx, status);
        pv_table_free(ctx, table);
        fuzz_end(ctx);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { ALIGN = 4096 };
    size_t magic = sizeof MAGIC - 1;
    if (size >= magic && memcmp(data, MAGIC, magic) == 0) {
        read_one(data, size);
        return 0;
    }
    size_t length = strnlen((const char *)data, size), rest = size > length ? size - length - 1 : 0;
    char line[PV_SIZES_LINE];
    int used =
        snprintf(line, sizeof line, PV_SIZES_FORMAT, length, rest, (unsigned long long)XXH3_64bits(data, length));
    size_t header = magic + (size_t)used + length, begin = (header + ALIGN - 1) / ALIGN * ALIGN;
    char *file = calloc(begin + rest + 1, 1);
    FUZZ_CHECK(file, "no memory");
    memcpy(file, MAGIC, magic);
    memcpy(file + magic, line, (size_t)used);
    memcpy(file + magic + used, data, length);
    if (rest)
        memcpy(file + begin, data + length + 1, rest);
    read_one(file, begin + rest);
    free(file);
    return 0;
}
