/* Bytes of files: given back, and unpacked into memory or, where large, into a temporary file without a name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zlib.h>

#include "data/archive.h"

void pv__bytes_forget(const unsigned char *from, size_t n) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)from / page * page;
    /* madvise asks for void *, though it writes nothing here. */
    void *first = (void *)begin; // NOLINT(performance-no-int-to-ptr)
    /* A failure costs memory only, and the pages are clean. */
    (void)madvise(first, (uintptr_t)from + n - begin, MADV_DONTNEED);
}

void pv__bytes_release(pv_ctx *ctx, pv__bytes *bytes) {
    if (bytes->mapped)
        munmap(bytes->mapped, bytes->size);
    pv__free(ctx, bytes->block);
    *bytes = (pv__bytes){0};
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

enum { PIECE = 1 << 20, IN_MEMORY = 256 << 20 };

/* Takes bytes as they come: in memory up to a limit, then in a file. */
typedef struct sink {
    pv_ctx *ctx;
    const char *path;
    unsigned char *block;
    size_t size, room;
    FILE *file;
} sink;

static pv_status spill(sink *s) {
    s->file = tmpfile();
    if (!s->file)
        return pv__fail_at(s->ctx, PV_ERR_WRITE, s->path, 0, 0,
                           "cannot be unpacked: no temporary file (%s);\nstore it uncompressed (numpy.savez)",
                           strerror(errno));
    if (s->size && fwrite(s->block, 1, s->size, s->file) != s->size)
        return pv__fail_at(
            s->ctx, PV_ERR_WRITE, s->path, 0, 0,
            "cannot be unpacked: the disk of temporary files is full;\nstore it uncompressed (numpy.savez)");
    pv__free(s->ctx, s->block);
    s->block = NULL;
    return PV_OK;
}

static pv_status sink_add(sink *s, const unsigned char *data, size_t n) {
    if (n == 0)
        return PV_OK; /* perhaps there is no block yet */
    if (!s->file && s->size + n > IN_MEMORY)
        PV_TRY(spill(s));
    if (s->file) {
        if (fwrite(data, 1, n, s->file) != n)
            return pv__fail_at(
                s->ctx, PV_ERR_WRITE, s->path, 0, 0,
                "cannot be unpacked: the disk of temporary files is full;\nstore it uncompressed (numpy.savez)");
        s->size += n;
        return PV_OK;
    }
    if (s->size + n > s->room) {
        size_t room = s->room ? 2 * s->room : 4096;
        while (room < s->size + n)
            room *= 2;
        PV_TRY(pv__resize(s->ctx, room, 1, &s->block));
        s->room = room;
    }
    memcpy(s->block + s->size, data, n);
    s->size += n;
    return PV_OK;
}

static pv_status sink_finish(sink *s, pv__bytes *bytes) {
    if (s->block)
        PV_TRY(pv__resize(s->ctx, s->size, 1, &s->block));
    *bytes = (pv__bytes){.data = s->block, .size = s->size, .block = s->block};
    s->block = NULL;
    if (!s->file)
        return PV_OK;
    void *mapped = fflush(s->file) == 0 ? mmap(NULL, s->size, PROT_READ, MAP_SHARED, fileno(s->file), 0) : MAP_FAILED;
    if (mapped == MAP_FAILED)
        return pv__fail_at(s->ctx, PV_ERR_WRITE, s->path, 0, 0, "cannot be unpacked: %s", strerror(errno));
    bytes->data = bytes->mapped = mapped;
    return PV_OK;
}

static voidpf zlib_alloc(voidpf ctx, uInt items, uInt size) {
    void *block = NULL;
    return pv__alloc(ctx, items, size, &block) == PV_OK ? block : NULL;
}

static void zlib_free(voidpf ctx, voidpf block) {
    pv__free(ctx, block);
}

static pv_status damaged(pv_ctx *ctx, const char *path, const char *what) {
    return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0,
                       "array '%s' is damaged or cut short: it cannot be unpacked;\ncopy the file again", what);
}

/* What is unpacked, and how far. */
typedef struct packed {
    const pv__source *file;
    const char *what;
    uint64_t offset;
    size_t n, given;
    unsigned char *in, *out; /* [PIECE] each */
} packed;

/* zlib reads from memory of our own: the file may change. */
static pv_status feed(pv_ctx *ctx, packed *p, z_stream *z) {
    size_t some = p->n - p->given < PIECE ? p->n - p->given : PIECE;
    PV_TRY(pv__source_read(ctx, p->file, p->offset + p->given, some, p->in));
    z->next_in = p->in;
    z->avail_in = (uInt)some;
    p->given += some;
    return PV_OK;
}

static pv_status inflate_all(z_stream *z, sink *s, packed *p, size_t size) {
    int code = Z_OK;
    while (code != Z_STREAM_END) {
        if (z->avail_in == 0 && p->given < p->n)
            PV_TRY(feed(s->ctx, p, z));
        z->next_out = p->out;
        z->avail_out = PIECE;
        code = inflate(z, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR)
            return pv__fail(s->ctx, PV_ERR_MEMORY, "out of memory for unpacking");
        size_t made = PIECE - z->avail_out;
        bool stuck = code == Z_BUF_ERROR || (made == 0 && z->avail_in == 0 && p->given == p->n && code != Z_STREAM_END);
        if ((code != Z_OK && code != Z_STREAM_END) || stuck || made > size - s->size)
            return damaged(s->ctx, s->path, p->what);
        PV_TRY(sink_add(s, p->out, made));
        if (code == Z_STREAM_END && size == SIZE_MAX && (z->avail_in > 0 || p->given < p->n)) /* gzip: another part */
            code = inflateReset(z);
    }
    return size != SIZE_MAX && s->size != size ? damaged(s->ctx, s->path, p->what) : PV_OK;
}

pv_status pv__unpack(pv_ctx *ctx, const pv__source *file, const char *what, pv__packing packing, uint64_t offset,
                     size_t n, size_t size, pv__bytes *bytes) {
    *bytes = (pv__bytes){0};
    sink s = {.ctx = ctx, .path = file->path};
    packed p = {.file = file, .what = what, .offset = offset, .n = n};
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = ctx};
    PV_TRY(pv__alloc(ctx, 2, PIECE, &p.in));
    p.out = p.in + PIECE;
    pv_status status = PV_OK;
    if (inflateInit2(&z, packing == PV_PACKED_GZIP ? 16 + MAX_WBITS : -MAX_WBITS) != Z_OK) {
        pv__free(ctx, p.in);
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory for unpacking");
    }
    PV_GOTO(done, inflate_all(&z, &s, &p, size));
    status = sink_finish(&s, bytes);
done:
    inflateEnd(&z);
    if (s.file)
        fclose(s.file);
    pv__free(ctx, s.block);
    pv__free(ctx, p.in);
    return status;
}

pv_status pv__unpack_start(pv_ctx *ctx, const pv__source *file, const char *what, uint64_t offset, size_t n,
                           unsigned char *start, size_t size) {
    packed p = {.file = file, .offset = offset, .n = n};
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = ctx};
    PV_TRY(pv__alloc(ctx, n < PIECE ? n : PIECE, 1, &p.in)); /* more than enough for a header */
    pv_status status = feed(ctx, &p, &z);
    if (status == PV_OK && inflateInit2(&z, -MAX_WBITS) != Z_OK)
        status = pv__fail(ctx, PV_ERR_MEMORY, "out of memory for unpacking");
    if (status == PV_OK) {
        z.next_out = start;
        z.avail_out = (uInt)size;
        int code = inflate(&z, Z_SYNC_FLUSH);
        inflateEnd(&z);
        if (code == Z_MEM_ERROR)
            status = pv__fail(ctx, PV_ERR_MEMORY, "out of memory for unpacking");
        else if (z.avail_out != 0)
            status = damaged(ctx, file->path, what);
    }
    pv__free(ctx, p.in);
    return status;
}
