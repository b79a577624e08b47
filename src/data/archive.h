/* src/data/archive.h: bytes of files, packed or not, and what NPY and IDX headers say of them. */
#ifndef PV_SRC_ARCHIVE_H
#define PV_SRC_ARCHIVE_H

#include "base/base.h"
#include "prevail/images.h"

/* ---- bytes (bytes.c) --------------------------------------------------------------------------------------------- */

/* Bytes that can be read: a mapped file, a block of memory, or a part of another's (nothing to release). */
typedef struct pv__bytes {
    const unsigned char *data;
    size_t size;
    void *mapped; /* munmap; NULL: not mapped */
    void *block;  /* pv__free; NULL: not ours */
} pv__bytes;

PV_MUST_USE pv_status pv__bytes_map(pv_ctx *ctx, const char *path, pv__bytes *bytes);
void pv__bytes_release(pv_ctx *ctx, pv__bytes *bytes);

typedef enum pv__packing { PV_PACKED_DEFLATE, PV_PACKED_GZIP } pv__packing;

/* Unpacks from [n]. size: what must come out, or SIZE_MAX where unknown. what names the member in messages. */
PV_MUST_USE pv_status pv__unpack(pv_ctx *ctx, const char *path, const char *what, pv__packing packing,
                                 const unsigned char *from, size_t n, size_t size, pv__bytes *bytes);

/* The first size bytes of a deflated member, which has at least so many. */
PV_MUST_USE pv_status pv__unpack_start(pv_ctx *ctx, const char *path, const char *what, const unsigned char *from,
                                       size_t n, unsigned char *start, size_t size);

/* ---- ZIP (zip.c) ------------------------------------------------------------------------------------------------- */

typedef struct pv__member {
    char *name; /* without .npy */
    uint16_t method, flags;
    uint32_t crc;
    uint64_t packed, size, offset; /* offset of the local header */
    pv__bytes bytes;               /* once asked for */
} pv__member;

/* The members of a ZIP or ZIP64 archive. On failure, too, the caller frees what *members and *n say. */
PV_MUST_USE pv_status pv__zip_members(pv_ctx *ctx, const char *path, const pv__bytes *file, pv__member **members,
                                      size_t *n);
/* The first bytes of a member, at most n; *n becomes how many there are. */
PV_MUST_USE pv_status pv__zip_peek(pv_ctx *ctx, const char *path, const pv__bytes *file, const pv__member *member,
                                   unsigned char *start, size_t *n);
/* member->bytes: in place where stored, unpacked where deflated; checked against its CRC. */
PV_MUST_USE pv_status pv__zip_read(pv_ctx *ctx, const char *path, const pv__bytes *file, pv__member *member);

/* ---- headers (npy.c) -------------------------------------------------------------------------------------- */

bool pv__is_npy(const pv__bytes *bytes);
bool pv__is_idx(const pv__bytes *bytes);
/* What the header says; *begin is where the elements do. */
PV_MUST_USE pv_status pv__npy_header(pv_ctx *ctx, const char *path, const char *name, const pv__bytes *bytes,
                                     pv_array *array, size_t *begin);
PV_MUST_USE pv_status pv__npy_parse(pv_ctx *ctx, const char *path, const char *name, const pv__bytes *bytes,
                                    pv_array *array);
PV_MUST_USE pv_status pv__idx_parse(pv_ctx *ctx, const char *path, const pv__bytes *bytes, pv_array *array);
/* count and the size that the shape asks for against what is there. */
PV_MUST_USE pv_status pv__array_fit(pv_ctx *ctx, const char *path, pv_array *array, size_t available);

/* ---- archives (archive.c) ---------------------------------------------------------------------------------------- */

size_t pv__archive_size(const pv_archive *archive, size_t member); /* bytes, unpacked */
/* Dimensions and first length of a member, without unpacking all of it. What is no array has 0 dimensions. A length is
 * one that the member's size justifies; 0 where the array has no elements. */
PV_MUST_USE pv_status pv__archive_peek(pv_ctx *ctx, const pv_archive *archive, size_t member, int *dims, size_t *rows);
uint64_t pv__archive_hash(const pv_archive *archive); /* XXH3-64 of the file */

#endif
