/* Compressed CSV files, unpacked while they are read: gzip, and zstd if the library was built with it. Several
 * concatenated streams count as one file.
 *
 * A few compressed bytes can unpack to any number of rows. Deflate reaches at most a factor of 1,032; a file beyond
 * that is rejected as a decompression bomb, whatever its format. Memory is allocated as rows arrive.
 */
#include <string.h>

#include "data/csv.h"
#include "data/inflate.h"

#if PV_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

enum { PIECE = 1 << 17, MOST = 1032 };

struct pv__unpacker {
    const char *name;
    int descriptor;
    bool gzip;
    bool within; /* inside a stream that has not ended */
    bool final;  /* the whole file has been read */
    uint64_t packed, unpacked;
    size_t at, end; /* range of unused bytes in `in` */
    pv__inflater z;
#if PV_ZSTD
    ZSTD_DCtx *zstd;
#endif
    char in[]; /* [PIECE], or more if more was read before */
};

static bool is_gzip(const char *head, size_t n) {
    return n >= 2 && memcmp(head, "\x1f\x8b", 2) == 0;
}

static bool is_zstd(const char *head, size_t n) {
    return n >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0;
}

bool pv__is_packed(const char *head, size_t n) {
    return is_gzip(head, n) || is_zstd(head, n);
}

#if PV_ZSTD
static pv_status no_memory(pv_ctx *ctx) {
    return pv__fail(ctx, PV_ERR_MEMORY, "out of memory for unpacking");
}
#endif

static pv_status damaged(pv_ctx *ctx, const pv__unpacker *u) {
    return pv__fail_at(ctx, PV_ERR_INPUT, u->name, 0, 0, "is compressed and damaged;\ncopy it again");
}

static pv_status begin_zstd(pv_ctx *ctx, pv__unpacker *u) {
#if PV_ZSTD
    u->zstd = ZSTD_createDCtx(); /* limits windows to 128 MiB by default */
    return u->zstd ? PV_OK : no_memory(ctx);
#else
    return pv__fail_at(ctx, PV_ERR_INPUT, u->name, 0, 0,
                       "is compressed by zstd, which this build of prevail cannot read; unpack it (zstd -d)");
#endif
}

pv_status pv__unpacker_new(pv_ctx *ctx, const char *name, int descriptor, const char *head, size_t n,
                           pv__unpacker **unpacker) {
    pv__unpacker *u;
    *unpacker = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *u + (n > PIECE ? n : PIECE), &u));
    u->name = name;
    u->descriptor = descriptor;
    u->gzip = is_gzip(head, n);
    pv__inflater_begin(&u->z, true);
    memcpy(u->in, head, n);
    u->end = n;
    u->packed = n;
    pv_status status = u->gzip ? PV_OK : begin_zstd(ctx, u);
    if (status == PV_OK)
        *unpacker = u;
    else
        pv__free(ctx, u);
    return status;
}

void pv__unpacker_free(pv_ctx *ctx, pv__unpacker *u) {
    if (!u)
        return;
#if PV_ZSTD
    ZSTD_freeDCtx(u->zstd);
#endif
    pv__free(ctx, u);
}

/* One step: unpacks from in to to [size]; *got bytes were produced. */
static pv_status inflate_some(pv_ctx *ctx, pv__unpacker *u, char *to, size_t size, size_t *got) {
    u->z.in = (const unsigned char *)u->in + u->at;
    u->z.in_left = u->end - u->at;
    u->z.out = (unsigned char *)to;
    u->z.out_left = size;
    pv__inflate_state state = pv__inflater_step(&u->z);
    u->at = u->end - u->z.in_left;
    *got = size - u->z.out_left;
    u->within = state != PV_INFLATE_END;
    if (state == PV_INFLATE_END)
        pv__inflater_begin(&u->z, true);
    return state == PV_INFLATE_DAMAGED ? damaged(ctx, u) : PV_OK;
}

static pv_status zstd_some(pv_ctx *ctx, pv__unpacker *u, char *to, size_t size, size_t *got) {
#if PV_ZSTD
    ZSTD_inBuffer in = {u->in, u->end, u->at};
    ZSTD_outBuffer out = {.size = size};
    out.dst = to;
    size_t code = ZSTD_decompressStream(u->zstd, &out, &in);
    u->at = in.pos;
    *got = out.pos;
    u->within = code != 0;
    if (ZSTD_isError(code) && ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
        return no_memory(ctx);
    return ZSTD_isError(code) ? damaged(ctx, u) : PV_OK;
#else
    (void)to, (void)size, (void)got;
    return damaged(ctx, u);
#endif
}

pv_status pv__unpacker_read(pv_ctx *ctx, pv__unpacker *u, char *to, size_t size, size_t *got) {
    *got = 0;
    while (*got == 0 && size > 0) {
        if (u->at == u->end && !u->final) {
            size_t n;
            PV_TRY(pv__read_some(ctx, u->name, u->descriptor, u->in, PIECE, &n));
            u->at = 0;
            u->end = n;
            u->packed += n;
            u->final = n == 0;
        }
        if (u->at == u->end && !u->within)
            return PV_OK;
        size_t before = u->at;
        PV_TRY(u->gzip ? inflate_some(ctx, u, to, size, got) : zstd_some(ctx, u, to, size, got));
        if (*got == 0 && u->at == before && u->final && u->within)
            return pv__fail_at(ctx, PV_ERR_INPUT, u->name, 0, 0, "is compressed, and truncated;\ncopy it again");
        u->unpacked += *got;
        if (u->unpacked > MOST * u->packed + PIECE)
            return pv__fail_at(ctx, PV_ERR_INPUT, u->name, 0, 0,
                               "unpacks to more than %d times its size, which is implausible for a table; if it is "
                               "one, unpack it first",
                               MOST);
    }
    return PV_OK;
}
