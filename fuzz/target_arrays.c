/* The input as a file of arrays: NPY, IDX, gzip, NPZ. Reads every element, and reads the file as a table. Input that is
 * not an archive is first compressed by gzip.
 */
#include "data/archive.h"
#include "fuzz.h"

/* Deflate expands one byte to at most 1032, and a table has 8 bytes for each of those, twice. */
enum { PER_BYTE = 1032 * 24 };

static void look(pv_ctx *ctx, const char *path) {
    pv_archive *archive;
    pv_status status = pv_archive_open(ctx, path, &archive);
    size_t members = status == PV_OK ? pv_archive_count(archive) : 0;
    for (size_t m = 0; m < members; m++) {
        pv_array array;
        FUZZ_CHECK(pv_archive_find(archive, pv_archive_name(archive, m)) == m, "a member is not found by its name");
        if (pv_archive_array(ctx, archive, m, &array) != PV_OK)
            continue;
        for (size_t i = 0; i < array.count && i < 4096; i++) {
            char text[16], *whole = i < 16 ? fuzz_room(pv__array_text_room(&array), 1) : NULL;
            float single;
            double number = pv_array_number(&array, i);
            pv_array_text(&array, i, text, sizeof text);
            FUZZ_CHECK(memchr(text, '\0', sizeof text), "an element's text does not end");
            if (whole) {
                pv_array_text(&array, i, whole, pv__array_text_room(&array));
                FUZZ_CHECK(strncmp(whole, text, strlen(text)) == 0, "a text begins otherwise where it is whole");
            }
            if (array.type == PV_ARRAY_UNICODE || array.type == PV_ARRAY_BYTES)
                continue;
            pv_array_floats(&array, i, 1, &single);
            FUZZ_CHECK(single == (float)number || isnan(number), "%g is %g", number, (double)single);
        }
    }
    if (status != PV_OK)
        fuzz_refused(ctx, status);
    pv_archive_free(ctx, archive);
}

static void look_as_table(pv_ctx *ctx, const char *path) {
    pv_table *table;
    pv_status status = pv_table_read(ctx, path, NULL, &table);
    if (status == PV_OK)
        fuzz_sound_table(table);
    pv_table_free(ctx, table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file(0, data, size);
    pv_ctx *ctx = fuzz_begin_within(FUZZ_FIXED, PER_BYTE, size);
    fuzz_bytes packed = {0};
    look(ctx, path);
    if (!pv_archive_recognise(path) || (size > 2 && data[0] != 0x1F && data[0] != 'P')) {
        fuzz_gzip(data, size, &packed);
        path = fuzz_file(1, packed.data, packed.size);
        look(ctx, path);
    }
    if (pv_archive_recognise(path))
        look_as_table(ctx, path);
    free(packed.data);
    fuzz_end(ctx);
    return 0;
}
