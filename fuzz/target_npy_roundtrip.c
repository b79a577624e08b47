/* An NPY file written from known numbers must read back, for any type and any order of bytes and indices. */
#include "fuzz.h"

static const struct {
    const char *name;
    size_t element;
    bool swapped;
    char kind;
} types[] = {{"|u1", 1, false, 'u'}, {"|i1", 1, false, 'i'}, {"<u2", 2, false, 'u'}, {">i2", 2, true, 'i'},
             {"<i4", 4, false, 'i'}, {">u4", 4, true, 'u'},  {"<u8", 8, false, 'u'}, {">i8", 8, true, 'i'},
             {"<f4", 4, false, 'f'}, {">f4", 4, true, 'f'},  {"<f8", 8, false, 'f'}, {">f8", 8, true, 'f'},
             {"|b1", 1, false, 'b'}};

/* The number represented by the low bytes of bits in this type. */
static double value_of(size_t type, uint64_t bits) {
    size_t width = 8 * types[type].element;
    if (types[type].kind == 'f' && width == 32) {
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    if (types[type].kind == 'f') {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (width < 64)
        bits &= ((uint64_t)1 << width) - 1;
    if (types[type].kind == 'i' && bits >> (width - 1))
        return -(double)((~bits + 1) & (width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX));
    return (double)bits;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    size_t type = fuzz_byte(&in) % (sizeof types / sizeof *types), shape[3], element = types[type].element;
    bool fortran = fuzz_byte(&in) & 1;
    for (int i = 0; i < 3; i++)
        shape[i] = 1 + fuzz_byte(&in) % 6;
    size_t n = shape[0] * shape[1] * shape[2];
    uint64_t *bits = calloc(n, sizeof *bits);
    uint8_t *body = calloc(n, element);
    FUZZ_CHECK(bits && body, "out of memory");
    for (size_t i = 0; i < n; i++) { /* i: index in C order */
        size_t a = i / (shape[1] * shape[2]), b = i / shape[2] % shape[1], c = i % shape[2];
        size_t place = fortran ? a + shape[0] * (b + shape[1] * c) : i;
        for (size_t k = 0; k < 8; k++)
            bits[i] |= (uint64_t)fuzz_byte(&in) << 8 * k;
        for (size_t k = 0; k < element; k++)
            body[place * element + (types[type].swapped ? element - 1 - k : k)] = (uint8_t)(bits[i] >> 8 * k);
    }
    fuzz_bytes file = {0};
    fuzz_npy(&file, types[type].name, fortran, 3, shape, body, n * element);
    pv_ctx *ctx = fuzz_begin(file.size);
    pv_archive *archive;
    pv_array array;
    FUZZ_CHECK(pv_archive_open(ctx, fuzz_file(0, file.data, file.size), &archive) == PV_OK &&
                   pv_archive_array(ctx, archive, 0, &array) == PV_OK,
               "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(array.count == n && array.dims == 3, "%zu elements in %d dimensions", array.count, array.dims);
    float *single = fuzz_room(n, sizeof *single);
    pv_array_floats(&array, 0, n, single);
    for (size_t i = 0; i < n; i++) {
        double wanted = value_of(type, bits[i]), found = pv_array_number(&array, i);
        FUZZ_CHECK(fuzz_same_bits(wanted, found), "%s: %.17g became %.17g", types[type].name, wanted, found);
        FUZZ_CHECK(single[i] == (float)wanted || isnan(wanted), "%s: %.17g became %.9g", types[type].name, wanted,
                   (double)single[i]);
    }
    pv_archive_free(ctx, archive);
    fuzz_end(ctx);
    free(file.data);
    free(body);
    free(bits);
    return 0;
}
