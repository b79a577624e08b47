/* ZIP and ZIP64 as NumPy writes them (PKWARE's APPNOTE 6.3.9): the central directory, and members stored or deflated.
 *
 * libzip is not used because it returns copies. Here a stored member is used in place in the mapped file, so that an
 * archive may be larger than memory.
 */
#include <stdlib.h>
#include <string.h>

#include "data/archive.h"
#include "data/data.h"
#include "data/inflate.h"

enum {
    END_SIZE = 22,
    LOCATOR_SIZE = 20,
    END64_SIZE = 56,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    COMMENT_MAX = 65535,
    FLAG_ENCRYPTED = 1,
    STORED = 0,
    DEFLATED = 8,
    INFLATE_MOST = 1032 /* maximum expansion factor of deflate */
};

static uint16_t u16(const unsigned char *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const unsigned char *p) {
    return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const unsigned char *p) {
    return (uint64_t)u32(p) | (uint64_t)u32(p + 4) << 32;
}

static pv_status damaged(pv_ctx *ctx, const pv__source *file, const char *what) {
    return pv__fail_at(ctx, PV_ERR_FORMAT, file->path, 0, 0,
                       "is a damaged or truncated NPZ archive: %s;\ncopy it again", what);
}

/* Position of the central directory, from the record at the archive's end. */
typedef struct directory {
    uint64_t entries, size, offset;
} directory;

/* The last bytes of the file: the end record, a comment after it, and the ZIP64 locator before it. */
typedef struct tail {
    unsigned char *data;
    size_t size;
    uint64_t offset; /* position in the file */
} tail;

/* Whether the end record is at `at`. A comment may contain the same four bytes; then the lengths that follow do not
 * match the end of the file, or the directory is not before it. exact: the comment must end with the file. */
static bool is_record(const tail *t, size_t at, bool exact) {
    const unsigned char *p = t->data + at;
    size_t left = t->size - at - END_SIZE, comment = u32(p) == 0x06054b50 ? u16(p + 20) : SIZE_MAX;
    if (comment == SIZE_MAX || (exact ? comment != left : comment > left))
        return false;
    bool wide = at >= LOCATOR_SIZE && u32(p - LOCATOR_SIZE) == 0x07064b50;
    return wide || (uint64_t)u32(p + 16) + u32(p + 12) <= t->offset + at;
}

static bool find_record(const tail *t, size_t *at) {
    for (int exact = 1; exact >= 0; exact--)
        for (size_t i = t->size - END_SIZE + 1; i-- > 0;)
            if (is_record(t, i, exact)) {
                *at = i;
                return true;
            }
    return false;
}

static pv_status read_directory(pv_ctx *ctx, const pv__source *file, const tail *t, directory *d) {
    size_t at;
    if (!find_record(t, &at))
        return damaged(ctx, file, "its directory, at the end, is missing");
    const unsigned char *p = t->data + at;
    *d = (directory){u16(p + 10), u32(p + 12), u32(p + 16)};
    uint64_t before = t->offset + at;
    if (at >= LOCATOR_SIZE && u32(p - LOCATOR_SIZE) == 0x07064b50) {
        unsigned char end64[END64_SIZE] = {0};
        uint64_t end = u64(p - LOCATOR_SIZE + 8);
        if (end <= file->size && file->size - end >= END64_SIZE)
            PV_TRY(pv__source_read(ctx, file, end, END64_SIZE, end64));
        if (u32(end64) != 0x06064b50)
            return damaged(ctx, file, "its ZIP64 directory is not where its header says");
        *d = (directory){u64(end64 + 32), u64(end64 + 40), u64(end64 + 48)};
        before = end;
    }
    if (d->offset > before || d->size > before - d->offset || d->entries > d->size / ENTRY_SIZE)
        return damaged(ctx, file, "its directory is larger than the file");
    return PV_OK;
}

static pv_status find_directory(pv_ctx *ctx, const pv__source *file, directory *d) {
    tail t = {.size = LOCATOR_SIZE + END_SIZE + COMMENT_MAX};
    if (file->size < END_SIZE)
        return damaged(ctx, file, "its directory, at the end, is missing");
    t.size = file->size < t.size ? file->size : t.size;
    t.offset = file->size - t.size;
    PV_TRY(pv__alloc(ctx, t.size, 1, &t.data));
    pv_status status = pv__source_read(ctx, file, t.offset, t.size, t.data);
    if (status == PV_OK)
        status = read_directory(ctx, file, &t, d);
    pv__free(ctx, t.data);
    return status;
}

/* Extra field 1 holds, in this order, those of the sizes and the offset that are all ones in the entry. */
static bool widen(const unsigned char *extra, size_t length, pv__member *m) {
    uint64_t *fields[] = {&m->size, &m->packed, &m->offset};
    bool wanted = m->size == UINT32_MAX || m->packed == UINT32_MAX || m->offset == UINT32_MAX;
    for (size_t at = 0; wanted && length - at >= 4;) {
        size_t part = u16(extra + at + 2);
        if (part > length - at - 4)
            return false;
        const unsigned char *value = extra + at + 4, *end = value + part;
        for (int i = 0; u16(extra + at) == 1 && i < 3; i++)
            if (*fields[i] == UINT32_MAX) {
                if (end - value < 8)
                    return false;
                *fields[i] = u64(value);
                value += 8;
            }
        if (u16(extra + at) == 1)
            return true;
        at += 4 + part;
    }
    return !wanted;
}

static pv_status read_name(pv_ctx *ctx, const unsigned char *from, size_t length, pv__member *m) {
    PV_TRY(pv__alloc(ctx, length + 1, 1, &m->name));
    memcpy(m->name, from, length);
    if (length > 4 && memcmp(m->name + length - 4, ".npy", 4) == 0)
        m->name[length - 4] = '\0';
    return PV_OK;
}

static int compare_offsets(const void *a, const void *b) {
    const pv__member *left = *(const pv__member *const *)a, *right = *(const pv__member *const *)b;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Position of a member's packed bytes, after its local header, which is read only once. */
static pv_status find_begin(pv_ctx *ctx, const pv__source *file, const directory *d, pv__member *m) {
    unsigned char local[LOCAL_SIZE] = {0};
    if (m->offset <= d->offset && d->offset - m->offset >= LOCAL_SIZE)
        PV_TRY(pv__source_read(ctx, file, m->offset, LOCAL_SIZE, local));
    if (u32(local) != 0x04034b50)
        return damaged(ctx, file, "a member is not where the directory says");
    m->begin = m->offset + LOCAL_SIZE + u16(local + 26) + u16(local + 28);
    if (m->begin > d->offset || m->packed > d->offset - m->begin)
        return damaged(ctx, file, "a member is larger than the file");
    return PV_OK;
}

/* Checks that members do not overlap, local headers included, which bounds the total unpacked size by the file's size:
 * overlapping members are how a small archive can unpack to a huge one. */
static pv_status check_apart(pv_ctx *ctx, const pv__source *file, const directory *d, pv__member *members, size_t n) {
    const pv__member **sorted;
    for (size_t i = 0; i < n; i++)
        PV_TRY(find_begin(ctx, file, d, &members[i]));
    PV_TRY(pv__alloc(ctx, n, sizeof *sorted, &sorted));
    for (size_t i = 0; i < n; i++)
        sorted[i] = &members[i];
    qsort(sorted, n, sizeof *sorted, compare_offsets);
    bool apart = true;
    for (size_t i = 1; i < n && apart; i++)
        apart = sorted[i]->offset >= sorted[i - 1]->begin + sorted[i - 1]->packed;
    pv__free(ctx, sorted);
    return apart ? PV_OK : damaged(ctx, file, "its members overlap");
}

static int compare_names(const void *a, const void *b) {
    const pv__member *left = *(const pv__member *const *)a, *right = *(const pv__member *const *)b;
    int order = strcmp(left->name, right->name);
    return order ? order : (left > right) - (left < right);
}

/* Of several members with one name, keeps the last. */
static pv_status keep_last(pv_ctx *ctx, pv__member *members, size_t *n) {
    pv__member **sorted;
    size_t kept = 0;
    PV_TRY(pv__alloc(ctx, *n, sizeof *sorted, &sorted));
    for (size_t i = 0; i < *n; i++)
        sorted[i] = &members[i];
    qsort(sorted, *n, sizeof *sorted, compare_names);
    for (size_t i = 0; i + 1 < *n; i++)
        if (strcmp(sorted[i]->name, sorted[i + 1]->name) == 0) {
            pv__free(ctx, sorted[i]->name);
            sorted[i]->name = NULL;
        }
    for (size_t i = 0; i < *n; i++)
        if (members[i].name)
            members[kept++] = members[i];
    *n = kept;
    pv__free(ctx, sorted);
    return PV_OK;
}

static pv_status read_entries(pv_ctx *ctx, const pv__source *file, const directory *d, const unsigned char *at,
                              pv__member *members, size_t *n) {
    uint64_t left = d->size;
    while (*n < d->entries) {
        if (left < ENTRY_SIZE || u32(at) != 0x02014b50)
            return damaged(ctx, file, "an entry of its directory is damaged");
        size_t name = u16(at + 28), extra = u16(at + 30), comment = u16(at + 32);
        if (left - ENTRY_SIZE < name + extra + comment)
            return damaged(ctx, file, "an entry of its directory is damaged");
        pv__member *m = &members[(*n)++];
        m->flags = u16(at + 8);
        m->method = u16(at + 10);
        m->crc = u32(at + 16);
        m->packed = u32(at + 20);
        m->size = u32(at + 24);
        m->offset = u32(at + 42);
        PV_TRY(read_name(ctx, at + ENTRY_SIZE, name, m));
        if (!widen(at + ENTRY_SIZE + name, extra, m))
            return damaged(ctx, file, "an entry's ZIP64 sizes are missing");
        left -= ENTRY_SIZE + name + extra + comment;
        at += ENTRY_SIZE + name + extra + comment;
    }
    return PV_OK;
}

pv_status pv__zip_members(pv_ctx *ctx, const pv__source *file, pv__member **members, size_t *n) {
    directory d = {0};
    unsigned char *entries;
    *members = NULL;
    *n = 0;
    PV_TRY(find_directory(ctx, file, &d));
    PV_TRY(pv__alloc(ctx, (size_t)d.entries, sizeof **members, members));
    PV_TRY(pv__alloc(ctx, (size_t)d.size, 1, &entries));
    pv_status status;
    PV_GOTO(done, pv__source_read(ctx, file, d.offset, (size_t)d.size, entries));
    PV_GOTO(done, read_entries(ctx, file, &d, entries, *members, n));
    PV_GOTO(done, check_apart(ctx, file, &d, *members, *n));
    status = keep_last(ctx, *members, n);
done:
    pv__free(ctx, entries);
    return status;
}

static bool crc_right(const unsigned char *bytes, size_t size, bool mapped, uint32_t crc) {
    uint32_t sum = 0;
    for (size_t at = 0; at < size; at += PV_BYTES_PIECE) {
        size_t n = size - at < PV_BYTES_PIECE ? size - at : PV_BYTES_PIECE;
        sum = pv__crc32(sum, bytes + at, n);
        if (mapped)
            pv__bytes_forget(bytes + at, n);
    }
    return sum == crc;
}

/* Checks that a member can be read and that its local header agrees with the directory. */
static pv_status check_member(pv_ctx *ctx, const pv__source *file, const pv__member *m) {
    if (m->flags & FLAG_ENCRYPTED)
        return pv__fail_at(ctx, PV_ERR_FORMAT, file->path, 0, 0, "array '%s' is encrypted;\nwrite the archive without",
                           pv__show(m->name).text);
    if (m->method != STORED && m->method != DEFLATED)
        return pv__fail_at(ctx, PV_ERR_FORMAT, file->path, 0, 0,
                           "array '%s' is compressed by method %d, which is not supported; write it with numpy.savez "
                           "or savez_compressed",
                           pv__show(m->name).text, m->method);
    if ((m->method == STORED && m->packed != m->size) || m->size == 0)
        return damaged(ctx, file, "a member is larger than the file, or empty");
    if (m->size / INFLATE_MOST > m->packed)
        return damaged(ctx, file, "a member claims to unpack to more than is possible");
    return PV_OK;
}

pv_status pv__zip_peek(pv_ctx *ctx, const pv__source *file, const pv__member *m, unsigned char *start, size_t *n) {
    size_t wanted = m->size < *n ? (size_t)m->size : *n;
    PV_TRY(check_member(ctx, file, m));
    *n = wanted;
    if (m->method == STORED)
        return pv__source_read(ctx, file, m->begin, wanted, start);
    return pv__unpack_start(ctx, file, m->name, m->begin, (size_t)m->packed, start, wanted);
}

bool pv__zip_stored(const pv__member *m) {
    return m->method == STORED;
}

pv_status pv__zip_check(pv_ctx *ctx, const pv__source *file, const pv__member *m, const unsigned char *bytes,
                        bool mapped) {
    return crc_right(bytes, (size_t)m->size, mapped, m->crc)
               ? PV_OK
               : pv__fail_at(ctx, PV_ERR_FORMAT, file->path, 0, 0,
                             "array '%s' is damaged: its checksum is wrong;\ncopy it again", pv__show(m->name).text);
}

pv_status pv__zip_read(pv_ctx *ctx, pv__source *file, pv__member *m) {
    PV_TRY(check_member(ctx, file, m));
    if (m->method == STORED) {
        PV_TRY(pv__source_map(ctx, file));
        m->bytes = (pv__bytes){.data = file->mapped + m->begin, .size = (size_t)m->size};
    } else {
        PV_TRY(
            pv__unpack(ctx, file, m->name, PV_PACKED_DEFLATE, m->begin, (size_t)m->packed, (size_t)m->size, &m->bytes));
    }
    pv_status status = pv__zip_check(ctx, file, m, m->bytes.data, m->method == STORED || m->bytes.mapped);
    if (status != PV_OK)
        pv__bytes_release(ctx, &m->bytes);
    return status;
}
