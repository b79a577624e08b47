/* Bytes of files: releasing pages, and unpacking to memory or, if large, to an unnamed temporary file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/archive.h"
#include "data/inflate.h"

void pv__bytes_forget(const unsigned char *from, size_t n) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)from / page * page;
    /* madvise takes void * although it writes nothing here. */
    void *first = (void *)begin; // NOLINT(performance-no-int-to-ptr)
    /* Failure only costs memory, and the pages are clean, so no data are lost. */
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

/* Collects bytes in memory up to a limit, then in a file. */
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
        return PV_OK; /* there may be no block yet */
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

static pv_status damaged(pv_ctx *ctx, const char *path, const char *what) {
    return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0,
                       "array '%s' is damaged or truncated: it cannot be unpacked;\ncopy the file again", what);
}

/* The packed input and the position reached in it. */
typedef struct packed {
    const pv__source *file;
    const char *what;
    uint64_t offset;
    size_t n, given;
    unsigned char *in, *out; /* [PIECE] each */
} packed;

/* Reads from a private copy, because the file may change. */
static pv_status feed(pv_ctx *ctx, packed *p, pv__inflater *z) {
    size_t some = p->n - p->given < PIECE ? p->n - p->given : PIECE;
    PV_TRY(pv__source_read(ctx, p->file, p->offset + p->given, some, p->in));
    z->in = p->in;
    z->in_left = some;
    p->given += some;
    return PV_OK;
}

static pv_status inflate_all(pv__inflater *z, sink *s, packed *p, size_t size) {
    pv__inflate_state state = PV_INFLATE_MORE;
    while (state != PV_INFLATE_END) {
        if (z->in_left == 0 && p->given < p->n)
            PV_TRY(feed(s->ctx, p, z));
        z->out = p->out;
        z->out_left = PIECE;
        state = pv__inflater_step(z);
        size_t made = PIECE - z->out_left;
        bool stuck = made == 0 && z->in_left == 0 && p->given == p->n && state == PV_INFLATE_MORE;
        if (state == PV_INFLATE_DAMAGED || stuck || made > size - s->size)
            return damaged(s->ctx, s->path, p->what);
        PV_TRY(sink_add(s, p->out, made));
        if (state == PV_INFLATE_END && z->gzip && (z->in_left > 0 || p->given < p->n)) { /* another member follows */
            pv__inflater_begin(z, true);
            state = PV_INFLATE_MORE;
        }
    }
    return size != SIZE_MAX && s->size != size ? damaged(s->ctx, s->path, p->what) : PV_OK;
}

pv_status pv__unpack(pv_ctx *ctx, const pv__source *file, const char *what, pv__packing packing, uint64_t offset,
                     size_t n, size_t size, pv__bytes *bytes) {
    *bytes = (pv__bytes){0};
    sink s = {.ctx = ctx, .path = file->path};
    packed p = {.file = file, .what = what, .offset = offset, .n = n};
    pv__inflater *z = NULL;
    PV_TRY(pv__alloc(ctx, 2, PIECE, &p.in));
    p.out = p.in + PIECE;
    pv_status status = PV_OK;
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *z, &z));
    pv__inflater_begin(z, packing == PV_PACKED_GZIP);
    PV_GOTO(done, inflate_all(z, &s, &p, size));
    status = sink_finish(&s, bytes);
done:
    pv__free(ctx, z);
    if (s.file)
        fclose(s.file);
    pv__free(ctx, s.block);
    pv__free(ctx, p.in);
    return status;
}

pv_status pv__unpack_start(pv_ctx *ctx, const pv__source *file, const char *what, uint64_t offset, size_t n,
                           unsigned char *start, size_t size) {
    packed p = {.file = file, .offset = offset, .n = n};
    pv__inflater *z = NULL;
    PV_TRY(pv__alloc(ctx, n < PIECE ? n : PIECE, 1, &p.in)); /* more than enough for a header */
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *z, &z));
    PV_GOTO(done, feed(ctx, &p, z));
    pv__inflater_begin(z, false);
    z->out = start;
    z->out_left = size;
    if (pv__inflater_step(z) == PV_INFLATE_DAMAGED || z->out_left != 0)
        status = damaged(ctx, file->path, what);
done:
    pv__free(ctx, z);
    pv__free(ctx, p.in);
    return status;
}
