/* Headers of NPY 1.0 to 3.0 (numpy.lib.format) and IDX files.
 *
 *   NPY   \x93NUMPY, version, length, then a Python dict: {'descr': '<i2', 'fortran_order': False, 'shape': (3, 4), }
 *   IDX   0 0 TYPE DIMS, then each dimension as four bytes, all big-endian
 */
#include <stdlib.h>
#include <string.h>

#include "data/archive.h"
#include "data/data.h"

static const struct {
    char kind;
    size_t element;
    pv_array_type type;
} numpy_types[] = {{'b', 1, PV_ARRAY_BOOL}, {'u', 1, PV_ARRAY_U8},  {'i', 1, PV_ARRAY_I8},  {'u', 2, PV_ARRAY_U16},
                   {'i', 2, PV_ARRAY_I16},  {'u', 4, PV_ARRAY_U32}, {'i', 4, PV_ARRAY_I32}, {'u', 8, PV_ARRAY_U64},
                   {'i', 8, PV_ARRAY_I64},  {'f', 4, PV_ARRAY_F32}, {'f', 8, PV_ARRAY_F64}};

static const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

size_t pv__npy_describe(const pv_array *array, char *header, size_t size) {
    enum { PREFIX = 10, ALIGNMENT = 64 };
    char kind = array->type == PV_ARRAY_UNICODE ? 'U' : 'S';
    size_t element = array->type == PV_ARRAY_UNICODE ? array->element / 4 : array->element;
    for (size_t i = 0; i < sizeof numpy_types / sizeof *numpy_types; i++)
        if (numpy_types[i].type == array->type)
            kind = numpy_types[i].kind;
    bool ordered = array->element > 1 && array->type != PV_ARRAY_BYTES;
    char *dict = header + PREFIX;
    size_t room = size - PREFIX, n;
    n = (size_t)pv__format(dict, room, "{'descr': '%c%c%zu', 'fortran_order': %s, 'shape': (",
                           !ordered         ? '|'
                           : array->swapped ? '>'
                                            : '<',
                           kind, element, array->fortran ? "True" : "False");
    for (int i = 0; i < array->dims; i++)
        n += (size_t)pv__format(dict + n, room - n, "%s%zu%s", i ? " " : "", array->shape[i],
                                i + 1 < array->dims || array->dims == 1 ? "," : "");
    n += (size_t)pv__format(dict + n, room - n, "), }");
    size_t padded = (PREFIX + n + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - PREFIX;
    memset(dict + n, ' ', padded - n - 1);
    dict[padded - 1] = '\n';
    memcpy(header, magic, sizeof magic);
    header[6] = 1; /* version 1.0 */
    header[7] = 0;
    header[8] = (char)(padded & 0xFF);
    header[9] = (char)(padded >> 8);
    return PREFIX + padded;
}

size_t pv__array_element(pv_array_type type) {
    for (size_t i = 0; i < sizeof numpy_types / sizeof *numpy_types; i++)
        if (numpy_types[i].type == type)
            return numpy_types[i].element;
    return 0;
}

bool pv__is_npy(const pv__bytes *bytes) {
    return bytes->size >= 10 && memcmp(bytes->data, magic, sizeof magic) == 0;
}

/* The value of a key of the dict, after its colon and spaces; NULL if the key is absent. */
static const char *value_of(const char *dict, const char *key) {
    const char *at = strstr(dict, key);
    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != ':')
        return NULL;
    return at + 1 + strspn(at + 1, " ");
}

static bool parse_type(const char *text, pv_array *array) {
    if (!text || *text != '\'' || !text[1] || !strchr("<>|=", text[1]) || !text[2])
        return false;
    char *end;
    unsigned long size = strtoul(text + 3, &end, 10);
    if (end == text + 3 || *end != '\'' || size > 1 << 20)
        return false;
    array->swapped = text[1] == '>' || (PV_BIG_ENDIAN && text[1] == '=');
    array->element = size;
    if (text[2] == 'U' || text[2] == 'S') {
        array->type = text[2] == 'U' ? PV_ARRAY_UNICODE : PV_ARRAY_BYTES;
        array->element *= text[2] == 'U' ? 4 : 1;
        return size > 0;
    }
    for (size_t i = 0; i < sizeof numpy_types / sizeof *numpy_types; i++)
        if (numpy_types[i].kind == text[2] && numpy_types[i].element == size) {
            array->type = numpy_types[i].type;
            return true;
        }
    return false;
}

/* NumPy's unsupported types by kind and size: what they are, and which expression converts them. */
static const struct {
    const char *descr, *what, *remedy;
} other_types[] = {
    {"O", "contains Python objects", "a.astype('float32') for numbers, a.astype(str) for texts"},
    {"f2", "is of float16", "a.astype('float32')"},
    {"f1", "is of longdouble", "a.astype('float64')"}, /* also f12 and f16 */
    {"M8", "contains dates or times (datetime64)", "a.astype('int64') for numbers, a.astype(str) for texts"},
    {"m8", "contains durations (timedelta64)", "a.astype('int64')"},
    {"c", "contains complex numbers", "abs(a), a.real or a.imag"},
    {"U0", "has empty texts only", "other texts, or leave it out"},
    {"S0", "has empty texts only", "other texts, or leave it out"},
    {"V", "contains raw bytes (void)", "a.view('uint8')"},
};

static pv_status unknown_type(pv_ctx *ctx, const char *path, const char *name, const char *descr) {
    if (descr && *descr == '[')
        return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0,
                           "array '%s' is a structured array;\nsave each of its fields as an array of its own, a['x']",
                           pv__show(name).text);
    for (size_t i = 0; descr && strlen(descr) > 2 && i < sizeof other_types / sizeof *other_types; i++)
        if (strncmp(descr + 2, other_types[i].descr, strlen(other_types[i].descr)) == 0)
            return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0, "array '%s' %s;\nsave %s", pv__show(name).text,
                               other_types[i].what, other_types[i].remedy);
    return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0,
                       "array '%s' has an unknown type;\nsave it as integers, float32, float64 or text",
                       pv__show(name).text);
}

static bool parse_shape(const char *text, pv_array *array) {
    if (!text || *text != '(')
        return false;
    const char *at = text + 1;
    array->dims = 0;
    for (;;) {
        at += strspn(at, " ,");
        if (*at == ')')
            return true;
        char *end;
        unsigned long long size = strtoull(at, &end, 10);
        if (end == at || *at == '-' || array->dims == PV_ARRAY_DIMS_MAX)
            return false;
        array->shape[array->dims++] = (size_t)size;
        at = end;
    }
}

pv_status pv__array_fit(pv_ctx *ctx, const char *path, pv_array *array, size_t available) {
    size_t count = 1, bytes;
    bool fits = true;
    for (int i = 0; i < array->dims; i++)
        fits = fits && !__builtin_mul_overflow(count, array->shape[i], &count);
    if (!fits || __builtin_mul_overflow(count, array->element, &bytes) || bytes > available)
        return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0,
                           "array '%s' is truncated: its shape needs more than its %zu bytes;\ncopy it again",
                           pv__show(array->name).text, available);
    array->count = count;
    return PV_OK;
}

enum { HEADER_MAX = 1 << 20 };

size_t pv__npy_header_size(const pv__bytes *start) {
    size_t wide = start->size >= 12 && start->data[6] >= 2 ? 4 : 2, length = 0;
    for (size_t i = 0; start->size >= 12 && i < wide; i++)
        length |= (size_t)start->data[8 + i] << 8 * i;
    return 8 + wide + (length > HEADER_MAX ? HEADER_MAX : length);
}

pv_status pv__npy_header(pv_ctx *ctx, const char *path, const char *name, const pv__bytes *bytes, pv_array *array,
                         size_t *begin) {
    *array = (pv_array){0};
    pv__format(array->name, sizeof array->name, "%s", name);
    size_t wide = bytes->size >= 10 && bytes->data[6] >= 2 ? 4 : 2, length = 0;
    if (!pv__is_npy(bytes) || bytes->size < 8 + wide)
        return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0,
                           "member '%s' is not an NPY array;\nsave it with numpy.save or numpy.savez",
                           pv__show(name).text);
    for (size_t i = 0; i < wide; i++)
        length |= (size_t)bytes->data[8 + i] << 8 * i;
    *begin = 8 + wide + length;
    if (length > bytes->size - 8 - wide || length > HEADER_MAX)
        return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0, "array '%s' is truncated in its header;\ncopy it again",
                           pv__show(name).text);
    char *dict;
    PV_TRY(pv__alloc(ctx, length + 1, 1, &dict));
    memcpy(dict, bytes->data + 8 + wide, length);
    const char *order = value_of(dict, "'fortran_order'"), *descr = value_of(dict, "'descr'");
    bool shape = parse_shape(value_of(dict, "'shape'"), array);
    array->fortran = order && strncmp(order, "True", 4) == 0;
    bool ordered = order && (array->fortran || strncmp(order, "False", 5) == 0);
    pv_status status = PV_OK;
    if (!parse_type(descr, array))
        status = unknown_type(ctx, path, name, descr);
    else if (!shape || !ordered)
        status = pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0,
                             "array '%s' has a damaged header, or more than %d dimensions;\nsave it again",
                             pv__show(name).text, PV_ARRAY_DIMS_MAX);
    pv__free(ctx, dict);
    return status;
}

/* ---- IDX --------------------------------------------------------------------------------------------------------- */

static bool idx_type(unsigned char code, pv_array *array) {
    static const struct {
        unsigned char code;
        pv_array_type type;
        size_t element;
    } types[] = {{0x08, PV_ARRAY_U8, 1},  {0x09, PV_ARRAY_I8, 1},  {0x0B, PV_ARRAY_I16, 2},
                 {0x0C, PV_ARRAY_I32, 4}, {0x0D, PV_ARRAY_F32, 4}, {0x0E, PV_ARRAY_F64, 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) {
            array->type = types[i].type;
            array->element = types[i].element;
            return true;
        }
    return false;
}

bool pv__is_idx(const pv__bytes *bytes) {
    pv_array ignored;
    return bytes->size >= 8 && bytes->data[0] == 0 && bytes->data[1] == 0 && idx_type(bytes->data[2], &ignored) &&
           bytes->data[3] >= 1 && bytes->data[3] <= PV_ARRAY_DIMS_MAX;
}

pv_status pv__idx_header(pv_ctx *ctx, const char *path, const char *name, const pv__bytes *bytes, pv_array *array,
                         size_t *begin) {
    *array = (pv_array){.swapped = true, .dims = bytes->data[3]};
    pv__format(array->name, sizeof array->name, "%s", name);
    idx_type(bytes->data[2], array);
    *begin = 4 + 4 * (size_t)array->dims;
    if (*begin > bytes->size)
        return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0, "is truncated in its header;\ncopy it again");
    for (int i = 0; i < array->dims; i++) {
        const unsigned char *p = bytes->data + 4 + 4 * i;
        array->shape[i] = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
    }
    return PV_OK;
}
