/* Writes NPZ files: a ZIP archive (PKWARE's APPNOTE 6.3.9) whose members are uncompressed NPY arrays.
 *
 * Members are stored rather than deflated, so that a reader can map the file and use the arrays in place. The same
 * arrays give a bit-identical file: every member is dated 1 January 1980, the first date that ZIP can represent. ZIP64
 * fields are written if a member, an offset or the directory needs them. An array is written in pieces; its checksum,
 * which precedes it, is filled in afterwards, so the output must be a seekable file.
 */
#include <stdio.h>
#include <string.h>

#include "data/archive.h"
#include "data/inflate.h"

enum { LOCAL_SIZE = 30, CRC_AT = 14, EXTRA64_LOCAL = 20, NPY_EXTENSION = 4, PLAIN_VERSION = 20, ZIP64_VERSION = 45 };

static const uint16_t first_of_january_1980 = 0x21;

/* ---- little-endian fields ---------------------------------------------------------------------------------------- */

typedef struct fields {
    unsigned char bytes[128];
    size_t size;
} fields;

static void put(fields *f, uint64_t value, size_t bytes) {
    for (size_t b = 0; b < bytes; b++)
        f->bytes[f->size++] = (unsigned char)(value >> 8 * b);
}

static bool is_wide(uint64_t value) {
    return value >= UINT32_MAX;
}

static uint64_t narrow(uint64_t value) {
    return is_wide(value) ? UINT32_MAX : value;
}

static pv_status failed(pv__npz *npz) {
    return pv__fail_at(npz->ctx, PV_ERR_WRITE, npz->output.path, 0, 0,
                       "could not be written completely: the disk may be full, or it is a pipe");
}

static pv_status write_bytes(pv__npz *npz, const void *bytes, size_t n) {
    if (n && fwrite(bytes, 1, n, npz->output.stream) != n)
        return failed(npz);
    npz->at += n;
    return PV_OK;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

pv_status pv__npz_open(pv_ctx *ctx, const char *path, pv__npz *npz) {
    *npz = (pv__npz){.ctx = ctx};
    PV_TRY(pv_output_open(ctx, path, &npz->output));
    if (npz->output.temporary)
        return PV_OK;
    pv_output_discard(ctx, &npz->output);
    return pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "is not a regular file; an NPZ archive must be on a disk");
}

/* Version, flags, method, time and date, which are the same in the local header and the directory. */
static void put_common(fields *f, bool wide) {
    put(f, wide ? ZIP64_VERSION : PLAIN_VERSION, 2);
    put(f, 0, 2); /* flags */
    put(f, 0, 2); /* stored */
    put(f, 0, 2); /* midnight */
    put(f, first_of_january_1980, 2);
}

pv_status pv__npz_begin(pv__npz *npz, const pv_array *array) {
    char header[512];
    size_t length = pv__npy_describe(array, header, sizeof header), name = strlen(array->name) + NPY_EXTENSION;
    PV_TRY(pv__resize(npz->ctx, npz->count + 1, sizeof *npz->entry, &npz->entry));
    pv__npz_entry *e = &npz->entry[npz->count++];
    *e = (pv__npz_entry){.offset = npz->at, .size = length + array->count * array->element};
    pv__format(e->name, sizeof e->name, "%s.npy", array->name);
    bool wide = is_wide(e->size);
    fields f = {.size = 0};
    put(&f, 0x04034b50, 4);
    put_common(&f, wide);
    put(&f, 0, 4); /* the checksum is filled in later */
    put(&f, narrow(e->size), 4);
    put(&f, narrow(e->size), 4);
    put(&f, name, 2);
    put(&f, wide ? EXTRA64_LOCAL : 0, 2);
    PV_TRY(write_bytes(npz, f.bytes, f.size));
    PV_TRY(write_bytes(npz, e->name, name));
    if (wide) {
        f.size = 0;
        put(&f, 1, 2);
        put(&f, EXTRA64_LOCAL - 4, 2);
        put(&f, e->size, 8);
        put(&f, e->size, 8);
        PV_TRY(write_bytes(npz, f.bytes, f.size));
    }
    return pv__npz_put(npz, header, length);
}

pv_status pv__npz_put(pv__npz *npz, const void *bytes, size_t n) {
    pv__npz_entry *e = &npz->entry[npz->count - 1];
    e->crc = pv__crc32(e->crc, bytes, n);
    return write_bytes(npz, bytes, n);
}

pv_status pv__npz_end(pv__npz *npz) {
    const pv__npz_entry *e = &npz->entry[npz->count - 1];
    fields f = {.size = 0};
    put(&f, e->crc, 4);
    FILE *stream = npz->output.stream;
    bool good = fseeko(stream, (off_t)(e->offset + CRC_AT), SEEK_SET) == 0 &&
                fwrite(f.bytes, 1, f.size, stream) == f.size && fseeko(stream, 0, SEEK_END) == 0;
    return good ? PV_OK : failed(npz);
}

/* ---- the directory ----------------------------------------------------------------------------------------------- */

static pv_status write_entry(pv__npz *npz, const pv__npz_entry *e) {
    fields f = {.size = 0}, extra = {.size = 0};
    bool wide = is_wide(e->size), far = is_wide(e->offset);
    if (wide || far) {
        put(&extra, 1, 2);
        put(&extra, (wide ? 16u : 0u) + (far ? 8u : 0u), 2);
        for (int i = 0; wide && i < 2; i++)
            put(&extra, e->size, 8);
        if (far)
            put(&extra, e->offset, 8);
    }
    put(&f, 0x02014b50, 4);
    put(&f, wide || far ? ZIP64_VERSION : PLAIN_VERSION, 2); /* version made by */
    put_common(&f, wide || far);
    put(&f, e->crc, 4);
    put(&f, narrow(e->size), 4);
    put(&f, narrow(e->size), 4);
    put(&f, strlen(e->name), 2);
    put(&f, extra.size, 2);
    put(&f, 0, 2); /* comment */
    put(&f, 0, 2); /* disk */
    put(&f, 0, 2); /* internal attributes */
    put(&f, 0, 4); /* external ones */
    put(&f, narrow(e->offset), 4);
    PV_TRY(write_bytes(npz, f.bytes, f.size));
    PV_TRY(write_bytes(npz, e->name, strlen(e->name)));
    return write_bytes(npz, extra.bytes, extra.size);
}

static pv_status write_end(pv__npz *npz, uint64_t begin) {
    uint64_t end = npz->at, size = end - begin;
    fields f = {.size = 0};
    if (is_wide(begin)) {
        put(&f, 0x06064b50, 4);
        put(&f, 44, 8); /* remaining bytes of this record */
        put(&f, ZIP64_VERSION, 2);
        put(&f, ZIP64_VERSION, 2);
        put(&f, 0, 4);
        put(&f, 0, 4);
        put(&f, npz->count, 8);
        put(&f, npz->count, 8);
        put(&f, size, 8);
        put(&f, begin, 8);
        put(&f, 0x07064b50, 4); /* position of that record */
        put(&f, 0, 4);
        put(&f, end, 8);
        put(&f, 1, 4);
    }
    put(&f, 0x06054b50, 4);
    put(&f, 0, 2);
    put(&f, 0, 2);
    put(&f, npz->count, 2);
    put(&f, npz->count, 2);
    put(&f, size, 4);
    put(&f, narrow(begin), 4);
    put(&f, 0, 2);
    return write_bytes(npz, f.bytes, f.size);
}

pv_status pv__npz_commit(pv__npz *npz) {
    uint64_t begin = npz->at;
    for (size_t i = 0; i < npz->count; i++)
        PV_TRY(write_entry(npz, &npz->entry[i]));
    PV_TRY(write_end(npz, begin));
    return pv_output_commit(npz->ctx, &npz->output);
}

void pv__npz_discard(pv__npz *npz) {
    pv_output_discard(npz->ctx, &npz->output);
    pv__free(npz->ctx, npz->entry);
    npz->entry = NULL;
}

pv_status pv__npz_archive(pv__npz *npz, pv_archive *archive) {
    pv_array array;
    for (size_t m = 0; m < pv_archive_count(archive); m++) {
        PV_TRY(pv_archive_array(npz->ctx, archive, m, &array));
        PV_TRY(pv__npz_begin(npz, &array));
        PV_TRY(pv__npz_put(npz, array.bytes, array.count * array.element));
        PV_TRY(pv__npz_end(npz));
    }
    return PV_OK;
}

pv_status pv_archive_write(pv_ctx *ctx, pv_archive *archive, const char *path) {
    pv__npz npz;
    PV_TRY(pv__npz_open(ctx, path, &npz));
    pv_status status = pv__npz_archive(&npz, archive);
    if (status == PV_OK)
        status = pv__npz_commit(&npz);
    pv__npz_discard(&npz);
    return status;
}
