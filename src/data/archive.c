/* An archive: a file of one or more arrays, whose elements can be read for any byte order and any order of indices. */
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "data/archive.h"
#include "data/data.h"
#include "data/inflate.h"

struct pv_archive {
    char *path;
    pv__source source; /* closed if the archive is in memory */
    bool zip, memory;
    pv__member
        *members; /* zip: in the order of the file; in memory: in the order of addition; otherwise one without a name */
    pv_array *arrays; /* [count] if in memory; NULL: read from a file */
    size_t count;
    atomic_size_t shares; /* owners in addition to the first */
};

static bool is_zip(const pv__bytes *b) {
    return b->size >= 4 && (memcmp(b->data, "PK\3\4", 4) == 0 || memcmp(b->data, "PK\5\6", 4) == 0);
}

static bool is_gzip(const pv__bytes *b) {
    return b->size >= 2 && b->data[0] == 0x1f && b->data[1] == 0x8b;
}

/* Unpacks the first bytes of a gzip file that begins with head. */
static size_t unpacked_head(const unsigned char *head, size_t n,
                            unsigned char *to, // NOLINT(readability-non-const-parameter): it is filled
                            size_t size) {
    pv__inflater z = {.in = head, .in_left = n, .out = to, .out_left = size};
    pv__inflater_begin(&z, true);
    (void)pv__inflater_step(&z); /* whoever reads the file later reports damage */
    return size - z.out_left;
}

bool pv_archive_recognise(const char *path) {
    unsigned char head[1024], within[16];
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false; /* bytes read from a pipe cannot be read again */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    ssize_t n = read(descriptor, head, sizeof head);
    close(descriptor);
    pv__bytes bytes = {.data = head, .size = n > 0 ? (size_t)n : 0};
    if (is_gzip(&bytes)) /* a packed file may also be a table */
        bytes = (pv__bytes){.data = within, .size = unpacked_head(head, bytes.size, within, sizeof within)};
    return is_zip(&bytes) || pv__is_npy(&bytes) || pv__is_idx(&bytes);
}

static pv_status open_single(pv_ctx *ctx, pv_archive *a, const pv__bytes *head) {
    PV_TRY(pv__alloc(ctx, 1, sizeof *a->members, &a->members));
    a->count = 1;
    PV_TRY(pv__strdup(ctx, "", &a->members->name));
    pv__bytes *bytes = &a->members->bytes;
    bool packed = is_gzip(head);
    if (packed)
        PV_TRY(pv__unpack(ctx, &a->source, a->path, PV_PACKED_GZIP, 0, a->source.size, SIZE_MAX, bytes));
    a->members->size = packed ? bytes->size : a->source.size;
    const pv__bytes *start = packed ? bytes : head;
    if (!pv__is_npy(start) && !pv__is_idx(start))
        return pv__fail_at(
            ctx, PV_ERR_FORMAT, a->path, 0, 0,
            "is not an NPZ, NPY or IDX file (numpy.savez writes NPZ); if it is a compressed table, unpack "
            "it");
    return PV_OK;
}

pv_status pv_archive_open(pv_ctx *ctx, const char *path, pv_archive **archive) {
    *archive = NULL;
    pv_archive *a;
    PV_TRY(pv__alloc(ctx, 1, sizeof *a, &a));
    a->source.descriptor = -1;
    unsigned char start[16];
    pv__bytes head = {.data = start};
    pv_status status;
    PV_GOTO(fail, pv__strdup(ctx, path, &a->path));
    PV_GOTO(fail, pv__source_open(ctx, a->path, &a->source));
    head.size = a->source.size < sizeof start ? a->source.size : sizeof start;
    PV_GOTO(fail, pv__source_read(ctx, &a->source, 0, head.size, start));
    a->zip = is_zip(&head);
    if (a->zip)
        PV_GOTO(fail, pv__zip_members(ctx, &a->source, &a->members, &a->count));
    else
        PV_GOTO(fail, open_single(ctx, a, &head));
    if (a->count == 0) {
        status = pv__fail_at(ctx, PV_ERR_INPUT, path, 0, 0, "is an empty archive;\nsave arrays in it (numpy.savez)");
        goto fail;
    }
    *archive = a;
    return PV_OK;
fail:
    pv_archive_free(ctx, a);
    return status;
}

pv_archive *pv__archive_share(pv_archive *a) {
    atomic_fetch_add(&a->shares, 1);
    return a;
}

void pv_archive_free(pv_ctx *ctx, pv_archive *a) {
    if (!a || atomic_fetch_sub(&a->shares, 1) > 0)
        return;
    for (size_t i = 0; i < a->count; i++) {
        pv__free(ctx, a->members[i].name);
        pv__free(ctx, a->members[i].copy);
        pv__bytes_release(ctx, &a->members[i].bytes);
    }
    pv__free(ctx, a->members);
    pv__free(ctx, a->arrays);
    pv__source_close(&a->source);
    pv__free(ctx, a->path);
    pv__free(ctx, a);
}

pv_status pv_archive_new(pv_ctx *ctx, const char *name, pv_archive **archive) {
    *archive = NULL;
    pv_archive *a;
    PV_TRY(pv__alloc(ctx, 1, sizeof *a, &a));
    a->memory = true;
    a->source.descriptor = -1;
    pv_status status = pv__strdup(ctx, name, &a->path);
    if (status == PV_OK)
        *archive = a;
    else
        pv_archive_free(ctx, a);
    return status;
}

/* Takes the shape from `array`. */
static pv_status name_array(pv_ctx *ctx, const pv_archive *a, const char *name, pv_array_type type, pv_array *array) {
    array->type = type;
    array->element = pv__array_element(type);
    size_t room = sizeof array->name;
    if (!a->memory || !*name || strlen(name) >= room || array->element == 0 || array->dims < 1 ||
        array->dims > PV_ARRAY_DIMS_MAX || pv_archive_find(a, name) < a->count)
        return pv__fail(ctx, PV_ERR_USAGE, "array '%s' cannot be added: %s", pv__show(name).text,
                        !a->memory            ? "the archive is a file"
                        : array->element == 0 ? "it is not an array of numbers"
                                              : "its name is empty, too long or taken, or it has too many dimensions");
    pv__format(array->name, room, "%s", name);
    return pv__array_fit(ctx, a->path, array, SIZE_MAX / 2);
}

pv_status pv_archive_add(pv_ctx *ctx, pv_archive *a, const char *name, pv_array_type type, int dims,
                         const size_t *shape, void *bytes) {
    pv_array array = {.dims = dims, .swapped = PV_BIG_ENDIAN};
    for (int i = 0; i < dims && i < PV_ARRAY_DIMS_MAX; i++)
        array.shape[i] = shape[i];
    PV_TRY(name_array(ctx, a, name, type, &array));
    PV_TRY(pv__resize(ctx, a->count + 1, sizeof *a->members, &a->members));
    PV_TRY(pv__resize(ctx, a->count + 1, sizeof *a->arrays, &a->arrays));
    pv__member m = {.size = array.count * array.element};
    PV_TRY(pv__strdup(ctx, name, &m.name));
    pv_status status = pv__alloc(ctx, array.count, array.element, &m.bytes.block);
    if (status != PV_OK) {
        pv__free(ctx, m.name);
        return status;
    }
    m.bytes.size = (size_t)m.size;
    m.bytes.data = array.bytes = m.bytes.block;
    a->members[a->count] = m;
    a->arrays[a->count++] = array;
    memcpy(bytes, &m.bytes.block, sizeof m.bytes.block);
    return PV_OK;
}

size_t pv_archive_count(const pv_archive *archive) {
    return archive->count;
}

const char *pv_archive_name(const pv_archive *archive, size_t member) {
    return archive->members[member].name;
}

size_t pv_archive_find(const pv_archive *archive, const char *name) {
    size_t i = 0;
    while (i < archive->count && strcmp(archive->members[i].name, name) != 0)
        i++;
    return i;
}

/* An array in a file of its own is named after the file. */
static const char *file_name(const pv_archive *a) {
    return pv__base_name(a->path);
}

/* ---- headers and contents of members ----------------------------------------------------------------------------- */

/* Reads the first *n bytes of a member, or all if it has fewer. */
static pv_status read_start(pv_ctx *ctx, const pv_archive *a, const pv__member *m, unsigned char *start, size_t *n) {
    if (a->zip)
        return pv__zip_peek(ctx, &a->source, m, start, n);
    *n = m->size < *n ? (size_t)m->size : *n;
    if (!m->bytes.data)
        return pv__source_read(ctx, &a->source, 0, *n, start);
    memcpy(start, m->bytes.data, *n);
    return PV_OK;
}

static pv_status parse_start(pv_ctx *ctx, const pv_archive *a, const pv__bytes *start, pv__member *m) {
    const char *name = a->zip ? m->name : file_name(a);
    if (!a->zip && pv__is_idx(start))
        return pv__idx_header(ctx, a->path, name, start, &m->array, &m->elements);
    return pv__npy_header(ctx, a->path, name, start, &m->array, &m->elements);
}

/* Reads a member's header only once, because the file could change before a second read. */
static pv_status learn(pv_ctx *ctx, const pv_archive *a, pv__member *m) {
    enum { START = 4096 };
    if (m->known)
        return PV_OK;
    unsigned char *block;
    size_t n = START;
    PV_TRY(pv__alloc(ctx, n, 1, &block));
    pv_status status;
    PV_GOTO(done, read_start(ctx, a, m, block, &n));
    pv__bytes start = {.data = block, .size = n};
    if (pv__is_npy(&start) && pv__npy_header_size(&start) > n && n < m->size) {
        n = pv__npy_header_size(&start);
        PV_GOTO(done, pv__resize(ctx, n, 1, &block));
        PV_GOTO(done, read_start(ctx, a, m, block, &n));
        start = (pv__bytes){.data = block, .size = n};
    }
    status = parse_start(ctx, a, &start, m);
    m->foreign = status == PV_ERR_FORMAT;
    if (status != PV_OK)
        goto done;
    PV_GOTO(done, pv__array_fit(ctx, a->path, &m->array, (size_t)m->size - m->elements));
    m->known = true;
done:
    pv__free(ctx, block);
    return status;
}

pv_status pv_archive_array(pv_ctx *ctx, pv_archive *a, size_t member, pv_array *array) {
    pv__member *m = &a->members[member];
    if (a->memory) {
        *array = a->arrays[member];
        return PV_OK;
    }
    PV_TRY(learn(ctx, a, m));
    if (!m->bytes.data && a->zip) {
        PV_TRY(pv__zip_read(ctx, &a->source, m));
    } else if (!m->bytes.data) {
        PV_TRY(pv__source_map(ctx, &a->source));
        m->bytes = (pv__bytes){.data = a->source.mapped, .size = a->source.size};
    }
    *array = m->array;
    array->bytes = m->bytes.data + m->elements;
    array->mapped = !m->bytes.block; /* it is part of the file or of a temporary file */
    return PV_OK;
}

pv_status pv__archive_own(pv_ctx *ctx, pv_archive *a, size_t member, pv_array *array) {
    pv__member *m = &a->members[member];
    if (a->memory)
        return pv_archive_array(ctx, a, member, array);
    PV_TRY(learn(ctx, a, m));
    bool stored = a->zip ? pv__zip_stored(m) : !m->bytes.data || m->bytes.data == a->source.mapped;
    if (!stored)
        return pv_archive_array(ctx, a, member, array);
    if (!m->copy) {
        unsigned char *copy;
        PV_TRY(pv__alloc(ctx, (size_t)m->size, 1, &copy));
        pv_status status = pv__source_read(ctx, &a->source, m->begin, (size_t)m->size, copy);
        if (status == PV_OK && a->zip)
            status = pv__zip_check(ctx, &a->source, m, copy, false);
        if (status != PV_OK) {
            pv__free(ctx, copy);
            return status;
        }
        m->copy = copy;
    }
    *array = m->array;
    array->bytes = (const unsigned char *)m->copy + m->elements;
    return PV_OK;
}

size_t pv__archive_size(const pv_archive *archive, size_t member) {
    return (size_t)archive->members[member].size;
}

const char *pv__archive_path(const pv_archive *archive) {
    return archive->path;
}

const pv__source *pv__archive_source(const pv_archive *archive) {
    return archive->memory ? NULL : &archive->source;
}

pv_status pv__archive_unchanged(pv_ctx *ctx, const pv_archive *archive, pv__source_state doubt) {
    pv__source_state state = archive->memory ? PV_SOURCE_SAME : pv__source_look(&archive->source);
    state = state == PV_SOURCE_DOUBTFUL ? doubt : state;
    return state == PV_SOURCE_SAME ? PV_OK : pv__source_changed(ctx, &archive->source);
}

static pv_status hash_file(pv_ctx *ctx, const pv__source *file, uint64_t *hash) {
    enum { PIECE = 1 << 20 };
    unsigned char *piece;
    size_t room = file->size < PIECE ? file->size : PIECE;
    PV_TRY(pv__alloc(ctx, room, 1, &piece));
    pv__hasher state;
    pv__hasher_begin(&state);
    pv_status status = PV_OK;
    for (size_t at = 0; at < file->size && status == PV_OK; at += room) {
        size_t n = file->size - at < room ? file->size - at : room;
        status = pv__source_read(ctx, file, at, n, piece);
        if (status == PV_OK)
            pv__hasher_add(&state, piece, n);
    }
    *hash = pv__hasher_end(&state);
    pv__free(ctx, piece);
    return status;
}

pv_status pv__archive_hash(pv_ctx *ctx, const pv_archive *archive, uint64_t *hash) {
    if (!archive->memory)
        return hash_file(ctx, &archive->source, hash);
    *hash = 0;
    for (size_t i = 0; i < archive->count; i++) {
        const pv__member *m = &archive->members[i];
        *hash = pv__hash_seeded(m->name, strlen(m->name), *hash);
        *hash = pv__hash_seeded(m->bytes.data, m->bytes.size, *hash);
    }
    return PV_OK;
}

void pv__hash_pieces(pv__hasher *state, const unsigned char *bytes, size_t size, bool mapped) {
    for (size_t at = 0; at < size; at += PV_BYTES_PIECE) {
        size_t n = size - at < PV_BYTES_PIECE ? size - at : PV_BYTES_PIECE;
        pv__hasher_add(state, bytes + at, n);
        if (mapped)
            pv__bytes_forget(bytes + at, n);
    }
}

pv_status pv__archive_peek(pv_ctx *ctx, pv_archive *a, size_t member, bool wanted, int *dims, size_t *rows) {
    const pv_array *array = a->memory ? &a->arrays[member] : &a->members[member].array;
    *dims = 0;
    *rows = 0;
    if (!a->memory) {
        pv_status status = learn(ctx, a, &a->members[member]);
        if (a->members[member].foreign && a->zip && !wanted)
            return PV_OK;
        PV_TRY(status);
    }
    *dims = array->dims;
    *rows = array->dims && array->count ? array->shape[0]
                                        : 0; /* if another dimension is 0, this length could be anything */
    return PV_OK;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* Position in the file of element i, counted in C order. */
static size_t place(const pv_array *a, size_t i) {
    if (!a->fortran || a->dims < 2)
        return i;
    size_t index[PV_ARRAY_DIMS_MAX] = {0}, at = 0;
    for (int d = a->dims - 1; d >= 0; d--) {
        index[d] = i % a->shape[d];
        i /= a->shape[d];
    }
    for (int d = a->dims - 1; d >= 0; d--)
        at = at * a->shape[d] + index[d];
    return at;
}

/* The bits of an element, least significant byte first. */
static uint64_t bits_at(const pv_array *a, size_t at) {
    const unsigned char *p = a->bytes + at * a->element;
    uint64_t bits = 0;
    for (size_t b = 0; b < a->element; b++)
        bits |= (uint64_t)p[a->swapped ? a->element - 1 - b : b] << 8 * b;
    return bits;
}

static double number_at(const pv_array *a, size_t at) {
    if (a->type == PV_ARRAY_UNICODE || a->type == PV_ARRAY_BYTES)
        return NAN;
    uint64_t bits = bits_at(a, at);
    uint32_t low = (uint32_t)bits;
    float single;
    double twice;
    switch (a->type) {
    case PV_ARRAY_I8:
        return (int8_t)low;
    case PV_ARRAY_I16:
        return (int16_t)low;
    case PV_ARRAY_I32:
        return (int32_t)low;
    case PV_ARRAY_I64:
        return (double)(int64_t)bits;
    case PV_ARRAY_F32:
        memcpy(&single, &low, sizeof single);
        return single;
    case PV_ARRAY_F64:
        memcpy(&twice, &bits, sizeof twice);
        return twice;
    default:
        return (double)bits;
    }
}

double pv_array_number(const pv_array *array, size_t i) {
    return number_at(array, place(array, i));
}

/* Native byte order: a loop that compilers vectorise. */
#define NATIVE(type)                                                                                                   \
    do {                                                                                                               \
        type value;                                                                                                    \
        const unsigned char *from = a->bytes + first * sizeof value;                                                   \
        for (size_t i = 0; i < n; i++) {                                                                               \
            memcpy(&value, from + i * sizeof value, sizeof value);                                                     \
            values[i] = (float)value;                                                                                  \
        }                                                                                                              \
        return;                                                                                                        \
    } while (0)

void pv_array_floats(const pv_array *a, size_t first, size_t n, float *values) {
    bool plain = (!a->fortran || a->dims < 2) && (a->swapped == PV_BIG_ENDIAN || a->element == 1);
    if (plain)
        switch (a->type) {
        case PV_ARRAY_U8:
            NATIVE(uint8_t);
        case PV_ARRAY_I16:
            NATIVE(int16_t);
        case PV_ARRAY_U16:
            NATIVE(uint16_t);
        case PV_ARRAY_F32:
            NATIVE(float);
        default:
            break;
        }
    for (size_t i = 0; i < n; i++)
        values[i] = (float)pv_array_number(a, first + i);
}

/* Appends a code point as UTF-8 if it fits. An invalid code point becomes '?'. */
static size_t append(char *text, size_t at, size_t size, uint32_t c) {
    unsigned char out[4];
    size_t n = 1;
    if (c < 0x80) {
        out[0] = (unsigned char)c;
    } else if (c < 0x800) {
        out[0] = (unsigned char)(0xC0 | c >> 6);
        n = 2;
    } else if (c < 0x10000 && !(c >= 0xD800 && c < 0xE000)) {
        out[0] = (unsigned char)(0xE0 | c >> 12);
        n = 3;
    } else if (c >= 0x10000 && c < 0x110000) {
        out[0] = (unsigned char)(0xF0 | c >> 18);
        n = 4;
    } else {
        out[0] = '?';
    }
    for (size_t i = 1; i < n; i++)
        out[i] = (unsigned char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3F));
    if (at + n >= size)
        return at;
    memcpy(text + at, out, n);
    return at + n;
}

enum { NUMBER_ROOM = 40 };

size_t pv__array_text_room(const pv_array *a) {
    if (a->type == PV_ARRAY_UNICODE)
        return a->element + 1;                                           /* 4 bytes per code point suffice in UTF-8 */
    return a->type == PV_ARRAY_BYTES ? 2 * a->element + 1 : NUMBER_ROOM; /* bytes from 0x80 take 2 */
}

void pv_array_text(const pv_array *a, size_t i, char *text, size_t size) {
    size_t at = place(a, i), end = 0;
    if (a->type != PV_ARRAY_UNICODE && a->type != PV_ARRAY_BYTES) {
        char number[NUMBER_ROOM];
        if (a->type == PV_ARRAY_I64)
            pv__format(number, sizeof number, "%lld", (long long)bits_at(a, at));
        else if (a->type == PV_ARRAY_U64)
            pv__format(number, sizeof number, "%llu", (unsigned long long)bits_at(a, at));
        else
            pv_format_double(number_at(a, at), number, sizeof number);
        pv__format(text, size, "%s", number);
        return;
    }
    size_t wide = a->type == PV_ARRAY_UNICODE ? 4 : 1;
    pv_array points = *a; /* the same bytes seen as single characters */
    points.element = wide;
    for (size_t c = 0; c < a->element / wide; c++) {
        uint32_t point = (uint32_t)bits_at(&points, at * (a->element / wide) + c);
        if (point == 0)
            break;
        size_t next = append(text, end, size, point);
        if (next == end)
            break; /* stop here rather than skip to a shorter character */
        end = next;
    }
    text[end] = '\0';
}
