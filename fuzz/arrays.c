/* Builds NPY, NPZ and gzip files with valid sizes and checksums, so that the code after these checks is reached. */
#include <zlib.h>

#include "fuzz.h"

void fuzz_append(fuzz_bytes *bytes, const void *data, size_t size) {
    if (bytes->size + size > bytes->room) {
        size_t room = 2 * (bytes->size + size) + 256;
        bytes->data = realloc(bytes->data, room);
        FUZZ_CHECK(bytes->data, "out of memory");
        bytes->room = room;
    }
    if (size)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

/* Little-endian, padded with zeros. */
static void append_number(fuzz_bytes *bytes, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++, value >>= 8) {
        uint8_t low = (uint8_t)(value & 0xFF);
        fuzz_append(bytes, &low, 1);
    }
}

void fuzz_npy(fuzz_bytes *to, const char *type, bool fortran, int dims, const size_t *shape, const void *data,
              size_t size) {
    char dict[256];
    int used = snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': %s, 'shape': (", type,
                        fortran ? "True" : "False");
    for (int i = 0; i < dims; i++)
        used += snprintf(dict + used, sizeof dict - (size_t)used, "%zu,", shape[i]);
    used += snprintf(dict + used, sizeof dict - (size_t)used, "), }\n");
    fuzz_append(to, "\x93NUMPY\1", 8); /* followed by a zero, the minor version */
    append_number(to, (uint64_t)used, 2);
    fuzz_append(to, dict, (size_t)used);
    fuzz_append(to, data, size);
}

static void deflate_to(const void *data, size_t size, int window, fuzz_bytes *to) {
    z_stream z = {0};
    FUZZ_CHECK(deflateInit2(&z, 1, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK, "no deflate");
    size_t room = deflateBound(&z, size);
    uint8_t *packed = malloc(room ? room : 1);
    memcpy(&z.next_in, &data, sizeof z.next_in); /* zlib only reads the input */
    z.avail_in = (uInt)size;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    FUZZ_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END, "deflate");
    fuzz_append(to, packed, room - z.avail_out);
    deflateEnd(&z);
    free(packed);
}

void fuzz_gzip(const void *data, size_t size, fuzz_bytes *to) {
    deflate_to(data, size, 16 + MAX_WBITS, to);
}

/* Appends a member, and its entry in the directory. */
static void zip_add(fuzz_bytes *zip, fuzz_bytes *directory, const char *name, bool packed, const fuzz_bytes *content) {
    size_t length = strlen(name), offset = zip->size;
    fuzz_bytes small = {0};
    if (packed)
        deflate_to(content->data, content->size, -MAX_WBITS, &small);
    const fuzz_bytes *body = packed ? &small : content;
    fuzz_bytes common = {0}; /* fields common to both headers */
    append_number(&common, packed ? 8 : 0, 4);
    append_number(&common, 0, 2);
    append_number(&common, crc32_z(0, content->data, content->size), 4);
    append_number(&common, body->size, 4);
    append_number(&common, content->size, 4);
    append_number(&common, length + 4, 2);
    append_number(&common, 0, 2);
    fuzz_append(zip, "PK\3\4\x14", 6);
    append_number(zip, 0, 2);
    fuzz_append(zip, common.data, common.size);
    fuzz_append(zip, name, length);
    fuzz_append(zip, ".npy", 4);
    fuzz_append(zip, body->data, body->size);
    fuzz_append(directory, "PK\1\2\x14\0\x14", 8);
    append_number(directory, 0, 2);
    fuzz_append(directory, common.data, common.size);
    append_number(directory, 0, 10);
    append_number(directory, offset, 4);
    fuzz_append(directory, name, length);
    fuzz_append(directory, ".npy", 4);
    free(common.data);
    free(small.data);
}

static void zip_end(fuzz_bytes *zip, const fuzz_bytes *directory, size_t members) {
    size_t offset = zip->size;
    fuzz_append(zip, directory->data, directory->size);
    fuzz_append(zip, "PK\5\6\0\0\0", 8);
    append_number(zip, members, 2);
    append_number(zip, members, 2);
    append_number(zip, directory->size, 4);
    append_number(zip, offset, 4);
    append_number(zip, 0, 2);
}

/* The next elements of the input; zeros after its end. */
static void elements(fuzz_input *in, size_t size, fuzz_bytes *to) {
    size_t some = size < in->size ? size : in->size;
    fuzz_append(to, in->data, some);
    in->data += some;
    in->size -= some;
    for (; some < size; some++)
        fuzz_append(to, "", 1);
}

void fuzz_npz(fuzz_input *in, const char *const *names, size_t n, fuzz_bytes *to) {
    static const struct {
        const char *name;
        size_t element;
    } types[] = {{"|u1", 1}, {"<i2", 2}, {"<f4", 4}, {"<f8", 8}, {">i4", 4},
                 {"<U2", 8}, {"|S3", 3}, {"|b1", 1}, {"<u8", 8}, {">f8", 8}};
    enum { MOST = 4096 };
    fuzz_bytes directory = {0}, content = {0}, array = {0};
    size_t members = 0;
    while (in->size && members < 8) {
        size_t shape[4], count = 1, type;
        uint8_t name = fuzz_byte(in), kind = fuzz_byte(in), form = fuzz_byte(in);
        int dims = form % 5;
        type = kind % (sizeof types / sizeof *types);
        for (int i = 0; i < dims; i++) {
            shape[i] = fuzz_byte(in) % 33;
            count *= shape[i] && count * shape[i] <= MOST ? shape[i] : (shape[i] = 1);
        }
        content.size = array.size = 0;
        elements(in, count * types[type].element, &content);
        fuzz_npy(&array, types[type].name, form & 0x10, dims, shape, content.data, content.size);
        zip_add(to, &directory, names[name % n], form & 0x20, &array);
        members++;
    }
    zip_end(to, &directory, members);
    free(directory.data);
    free(content.data);
    free(array.data);
}
