/* ZIP and ZIP64 as NumPy writes them (PKWARE's APPNOTE 6.3.9): the central directory, and members stored or deflated.
 *
 * Written here rather than taken from libzip, which hands out copies: a stored member is used where it lies in the
 * mapped file, so that an archive may be larger than the memory.
 */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "data/archive.h"

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
    INFLATE_MOST = 1032 /* bytes that deflate can make of one */
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

static pv_status damaged(pv_ctx *ctx, const char *path, const char *what) {
    return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0, "is a damaged or truncated NPZ archive: %s; copy it again",
                       what);
}

/* Where the central directory lies, from the record at the archive's end. */
typedef struct directory {
    uint64_t entries, size, offset;
} directory;

static pv_status find_directory(pv_ctx *ctx, const char *path, const pv__bytes *file, directory *d) {
    const unsigned char *data = file->data;
    size_t at = file->size < END_SIZE ? 0 : file->size - END_SIZE, tried = 0;
    bool found = false;
    for (; file->size >= END_SIZE && tried <= COMMENT_MAX && !found; tried++) {
        found = u32(data + at) == 0x06054b50 && at + END_SIZE + u16(data + at + 20) <= file->size;
        if (found || at == 0)
            break;
        at--;
    }
    if (!found)
        return damaged(ctx, path, "its directory, at the end, is missing");
    *d = (directory){u16(data + at + 10), u32(data + at + 12), u32(data + at + 16)};
    bool wide = at >= LOCATOR_SIZE && u32(data + at - LOCATOR_SIZE) == 0x07064b50;
    if (wide) {
        uint64_t end = u64(data + at - LOCATOR_SIZE + 8);
        if (end > file->size || file->size - end < END64_SIZE || u32(data + end) != 0x06064b50)
            return damaged(ctx, path, "its ZIP64 directory is not where it says");
        *d = (directory){u64(data + end + 32), u64(data + end + 40), u64(data + end + 48)};
    }
    if (d->offset > file->size || d->size > file->size - d->offset || d->entries > d->size / ENTRY_SIZE)
        return damaged(ctx, path, "its directory is larger than the file");
    return PV_OK;
}

/* The extra field 1 holds, in this order, those of the sizes and the offset that are all ones in the entry. */
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

/* Each member has bytes of its own, so that all of them unpack to no more than the file's size justifies: an entry that
 * points into another's bytes is how a small archive becomes a huge one. */
static pv_status check_apart(pv_ctx *ctx, const char *path, const pv__bytes *file, const pv__member *members,
                             size_t n) {
    const pv__member **sorted;
    PV_TRY(pv__alloc(ctx, n, sizeof *sorted, &sorted));
    for (size_t i = 0; i < n; i++)
        sorted[i] = &members[i];
    qsort(sorted, n, sizeof *sorted, compare_offsets);
    bool apart = true;
    uint64_t end = 0;
    for (size_t i = 0; i < n && apart; i++) {
        const pv__member *m = sorted[i];
        apart = m->offset >= end && m->offset <= file->size && file->size - m->offset >= LOCAL_SIZE &&
                m->packed <= file->size - m->offset - LOCAL_SIZE;
        end = apart ? m->offset + LOCAL_SIZE + m->packed : 0;
    }
    pv__free(ctx, sorted);
    return apart ? PV_OK : damaged(ctx, path, "its members overlap, or lie outside");
}

pv_status pv__zip_members(pv_ctx *ctx, const char *path, const pv__bytes *file, pv__member **members, size_t *n) {
    directory d = {0};
    *members = NULL;
    *n = 0;
    PV_TRY(find_directory(ctx, path, file, &d));
    PV_TRY(pv__alloc(ctx, (size_t)d.entries, sizeof **members, members));
    uint64_t left = d.size;
    for (const unsigned char *at = file->data + d.offset; *n < d.entries;) {
        if (left < ENTRY_SIZE || u32(at) != 0x02014b50)
            return damaged(ctx, path, "an entry of its directory is damaged");
        size_t name = u16(at + 28), extra = u16(at + 30), comment = u16(at + 32);
        if (left - ENTRY_SIZE < name + extra + comment)
            return damaged(ctx, path, "an entry of its directory is damaged");
        pv__member *m = &(*members)[(*n)++];
        m->flags = u16(at + 8);
        m->method = u16(at + 10);
        m->crc = u32(at + 16);
        m->packed = u32(at + 20);
        m->size = u32(at + 24);
        m->offset = u32(at + 42);
        PV_TRY(read_name(ctx, at + ENTRY_SIZE, name, m));
        if (!widen(at + ENTRY_SIZE + name, extra, m))
            return damaged(ctx, path, "an entry's ZIP64 sizes are missing");
        left -= ENTRY_SIZE + name + extra + comment;
        at += ENTRY_SIZE + name + extra + comment;
    }
    return check_apart(ctx, path, file, *members, *n);
}

static bool crc_right(const pv__bytes *bytes, bool mapped, uint32_t crc) {
    uLong sum = 0;
    for (size_t at = 0; at < bytes->size; at += PV_BYTES_PIECE) {
        size_t n = bytes->size - at < PV_BYTES_PIECE ? bytes->size - at : PV_BYTES_PIECE;
        sum = crc32_z(sum, bytes->data + at, n);
        if (mapped)
            pv__bytes_forget(bytes->data + at, n);
    }
    return sum == crc;
}

/* The member's packed bytes in the file. */
static pv_status locate(pv_ctx *ctx, const char *path, const pv__bytes *file, const pv__member *m, size_t *begin) {
    if (m->flags & FLAG_ENCRYPTED)
        return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0, "array '%s' is encrypted; write the archive without",
                           m->name);
    if (m->method != STORED && m->method != DEFLATED)
        return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0,
                           "array '%s' is packed by method %d; numpy.savez and savez_compressed write those that are "
                           "known",
                           m->name, m->method);
    if (m->offset > file->size || file->size - m->offset < LOCAL_SIZE || u32(file->data + m->offset) != 0x04034b50)
        return damaged(ctx, path, "a member is not where the directory says");
    const unsigned char *local = file->data + m->offset;
    *begin = (size_t)m->offset + LOCAL_SIZE + u16(local + 26) + u16(local + 28);
    if (*begin > file->size || m->packed > file->size - *begin || (m->method == STORED && m->packed != m->size) ||
        m->size == 0)
        return damaged(ctx, path, "a member is larger than the file, or empty");
    if (m->size / INFLATE_MOST > m->packed)
        return damaged(ctx, path, "a member claims to unpack to more than is possible");
    return PV_OK;
}

pv_status pv__zip_peek(pv_ctx *ctx, const char *path, const pv__bytes *file, const pv__member *m, unsigned char *start,
                       size_t *n) {
    size_t begin, wanted = m->size < *n ? (size_t)m->size : *n;
    PV_TRY(locate(ctx, path, file, m, &begin));
    *n = wanted;
    if (m->method == STORED) {
        memcpy(start, file->data + begin, wanted);
        return PV_OK;
    }
    return pv__unpack_start(ctx, path, m->name, file->data + begin, (size_t)m->packed, start, wanted);
}

pv_status pv__zip_read(pv_ctx *ctx, const char *path, const pv__bytes *file, pv__member *m) {
    size_t begin;
    if (m->bytes.data)
        return PV_OK;
    PV_TRY(locate(ctx, path, file, m, &begin));
    if (m->method == STORED)
        m->bytes = (pv__bytes){.data = file->data + begin, .size = (size_t)m->size};
    else
        PV_TRY(pv__unpack(ctx, path, m->name, PV_PACKED_DEFLATE, file->data + begin, (size_t)m->packed, (size_t)m->size,
                          &m->bytes));
    if (!crc_right(&m->bytes, m->method == STORED || m->bytes.mapped, m->crc)) {
        pv__bytes_release(ctx, &m->bytes);
        return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0,
                           "array '%s' is damaged: its checksum is wrong; copy it again", m->name);
    }
    return PV_OK;
}
