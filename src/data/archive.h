/* src/data/archive.h: bytes of files, packed or not, and what NPY and IDX headers say of them. */
#ifndef PV_SRC_ARCHIVE_H
#define PV_SRC_ARCHIVE_H

#include <xxhash.h>

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

/* Bytes read in order, in pieces; those of a mapped file give their pages back, so that a pass over a file takes no
 * more memory than a piece. */
enum { PV_BYTES_PIECE = 32 << 20 };
/* Gives the pages of mapped bytes back to the system; they are read again when they are asked for. Not for memory. */
void pv__bytes_forget(const unsigned char *from, size_t n);

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
/* Notes that n bytes of mapped pixels were read, and gives all pages back where many were. Any thread may call it. */
void pv__images_touched(const pv_images *images, size_t n);
/* count and the size that the shape asks for against what is there. */
PV_MUST_USE pv_status pv__array_fit(pv_ctx *ctx, const char *path, pv_array *array, size_t available);

size_t pv__array_element(pv_array_type type); /* bytes of a number; 0 for text */
/* The header of an array of numbers or text as NumPy writes it, its length a multiple of 64; size >= 512. */
size_t pv__npy_describe(const pv_array *array, char *header, size_t size);

/* ---- NPZ out (npz_write.c) --------------------------------------------------------------------------------------- */

typedef struct pv__npz_entry {
    char name[72];
    uint64_t offset, size;
    uint32_t crc;
} pv__npz_entry;

typedef struct pv__npz {
    pv_ctx *ctx;
    pv_output output;
    pv__npz_entry *entry; /* [count] */
    size_t count;
    uint64_t at; /* bytes written */
} pv__npz;

/* A file of arrays: begin (name, type and shape of array; its bytes are not looked at), put its bytes in as many pieces
 * as is convenient, end; then commit. discard in any case; after commit it only frees. */
PV_MUST_USE pv_status pv__npz_open(pv_ctx *ctx, const char *path, pv__npz *npz);
PV_MUST_USE pv_status pv__npz_begin(pv__npz *npz, const pv_array *array);
PV_MUST_USE pv_status pv__npz_put(pv__npz *npz, const void *bytes, size_t n);
PV_MUST_USE pv_status pv__npz_end(pv__npz *npz);
PV_MUST_USE pv_status pv__npz_archive(pv__npz *npz, pv_archive *archive); /* all of its arrays */
PV_MUST_USE pv_status pv__npz_commit(pv__npz *npz);
void pv__npz_discard(pv__npz *npz);

/* ---- archives (archive.c) ---------------------------------------------------------------------------------------- */

size_t pv__archive_size(const pv_archive *archive, size_t member); /* bytes, unpacked */
/* Dimensions and first length of a member, without unpacking all of it. What is no array has 0 dimensions. A length is
 * one that the member's size justifies; 0 where the array has no elements. */
PV_MUST_USE pv_status pv__archive_peek(pv_ctx *ctx, const pv_archive *archive, size_t member, int *dims, size_t *rows);
/* Adds bytes to a hash, piece by piece. */
void pv__hash_pieces(XXH3_state_t *state, const unsigned char *bytes, size_t size, bool mapped);
uint64_t pv__archive_hash(const pv_archive *archive); /* XXH3-64 of the file; in memory, of the arrays */
const char *pv__archive_path(const pv_archive *archive);

#endif
