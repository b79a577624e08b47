/* src/data/archive.h: bytes of files, packed or not, and what NPY and IDX headers say of them. */
#ifndef PV_SRC_ARCHIVE_H
#define PV_SRC_ARCHIVE_H

#include <sys/stat.h>

#include <xxhash.h>

#include "base/base.h"
#include "prevail/images.h"

/* ---- files (source.c) -------------------------------------------------------------------------------------------- */

typedef struct pv__source {
    const char *path; /* borrowed */
    int descriptor;   /* -1: not open */
    size_t size;      /* when it was opened; nothing beyond is asked for */
    struct stat about;
    unsigned char *mapped; /* all of it; NULL: not asked for yet */
} pv__source;

PV_MUST_USE pv_status pv__source_open(pv_ctx *ctx, const char *path, pv__source *source);
void pv__source_close(pv__source *source);
/* n bytes at offset, which lie within the size. */
PV_MUST_USE pv_status pv__source_read(pv_ctx *ctx, const pv__source *source, uint64_t offset, size_t n, void *to);
/* source->mapped. Its bytes may change at any time: for numbers that index nothing and size nothing. */
PV_MUST_USE pv_status pv__source_map(pv_ctx *ctx, pv__source *source);

/* Since it was opened. Doubtful: only what is kept about it has changed, as when it was renamed or given other rights;
 * or it was written to and its time set back. The bytes decide. */
typedef enum pv__source_state { PV_SOURCE_SAME, PV_SOURCE_DOUBTFUL, PV_SOURCE_WRITTEN } pv__source_state;
pv__source_state pv__source_look(const pv__source *source);
pv_status pv__source_changed(pv_ctx *ctx, const pv__source *source); /* the refusal */

/* ---- bytes (bytes.c) --------------------------------------------------------------------------------------------- */

/* Bytes that can be read: a mapped file, a block of memory, or a part of another's (nothing to release). */
typedef struct pv__bytes {
    const unsigned char *data;
    size_t size;
    void *mapped; /* munmap; NULL: not mapped */
    void *block;  /* pv__free; NULL: not ours */
} pv__bytes;

void pv__bytes_release(pv_ctx *ctx, pv__bytes *bytes);

/* Bytes read in order, in pieces; those of a mapped file give their pages back, so that a pass over a file takes no
 * more memory than a piece. */
enum { PV_BYTES_PIECE = 32 << 20 };
/* Gives the pages of mapped bytes back to the system; they are read again when they are asked for. Not for memory. */
void pv__bytes_forget(const unsigned char *from, size_t n);

typedef enum pv__packing { PV_PACKED_DEFLATE, PV_PACKED_GZIP } pv__packing;

/* Unpacks the n bytes of the file at offset. size: what must come out, or SIZE_MAX where unknown. what names the member
 * in messages. */
PV_MUST_USE pv_status pv__unpack(pv_ctx *ctx, const pv__source *file, const char *what, pv__packing packing,
                                 uint64_t offset, size_t n, size_t size, pv__bytes *bytes);

/* The first size bytes of a deflated member, which has at least so many. */
PV_MUST_USE pv_status pv__unpack_start(pv_ctx *ctx, const pv__source *file, const char *what, uint64_t offset, size_t n,
                                       unsigned char *start, size_t size);

/* ---- ZIP (zip.c) ------------------------------------------------------------------------------------------------- */

typedef struct pv__member {
    char *name; /* without .npy */
    uint16_t method, flags;
    uint32_t crc;
    uint64_t packed, size, offset; /* offset of the local header */
    uint64_t begin;                /* of the packed bytes */
    bool known;                    /* its header has been read: array and elements are what it says, for good */
    bool foreign;                  /* there is none that is known here */
    pv_array array;                /* bytes not yet set */
    size_t elements;               /* where they begin */
    pv__bytes bytes;               /* once asked for */
    void *copy;                    /* of bytes that are mapped, where one was asked for */
} pv__member;

/* The members of a ZIP or ZIP64 archive, of several of one name the last, as in NumPy. On failure, too, the caller
 * frees what *members and *n say. */
PV_MUST_USE pv_status pv__zip_members(pv_ctx *ctx, const pv__source *file, pv__member **members, size_t *n);
/* The first bytes of a member, at most n; *n becomes how many there are. */
PV_MUST_USE pv_status pv__zip_peek(pv_ctx *ctx, const pv__source *file, const pv__member *member, unsigned char *start,
                                   size_t *n);
/* member->bytes: mapped where stored, unpacked where deflated; checked against its CRC. */
PV_MUST_USE pv_status pv__zip_read(pv_ctx *ctx, pv__source *file, pv__member *member);
bool pv__zip_stored(const pv__member *member);
/* Holds bytes [member->size] of a member against its CRC. */
PV_MUST_USE pv_status pv__zip_check(pv_ctx *ctx, const pv__source *file, const pv__member *member,
                                    const unsigned char *bytes, bool mapped);

/* ---- headers (npy.c) -------------------------------------------------------------------------------------- */

bool pv__is_npy(const pv__bytes *bytes);
bool pv__is_idx(const pv__bytes *bytes);
/* Bytes of the header that begins with start [at least 12, or all there are], at most a little above 1 MiB. */
size_t pv__npy_header_size(const pv__bytes *start);
/* What the header says; *begin is where the elements do. bytes: the header at least, in memory of our own. */
PV_MUST_USE pv_status pv__npy_header(pv_ctx *ctx, const char *path, const char *name, const pv__bytes *bytes,
                                     pv_array *array, size_t *begin);
PV_MUST_USE pv_status pv__idx_header(pv_ctx *ctx, const char *path, const char *name, const pv__bytes *bytes,
                                     pv_array *array, size_t *begin);
/* Notes that n bytes of mapped pixels were read, and gives all pages back where many were. Any thread may call it. */
void pv__images_touched(const pv_images *images, size_t n);
/* count and the size that the shape asks for against what is there. */
PV_MUST_USE pv_status pv__array_fit(pv_ctx *ctx, const char *path, pv_array *array, size_t available);

/* Bytes that the text of any element takes, its end included. */
size_t pv__array_text_room(const pv_array *array);
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

/* The same archive for one more owner, who frees it as well. */
pv_archive *pv__archive_share(pv_archive *archive);
size_t pv__archive_size(const pv_archive *archive, size_t member); /* bytes, unpacked */
/* Dimensions and first length of a member, without unpacking all of it. What is no array, or of a type that is not
 * known, has 0 dimensions; where it is wanted, it is refused. A length is one that the member's size justifies; 0 where
 * the array has no elements. */
PV_MUST_USE pv_status pv__archive_peek(pv_ctx *ctx, pv_archive *archive, size_t member, bool wanted, int *dims,
                                       size_t *rows);
/* Adds bytes to a hash, piece by piece. */
void pv__hash_pieces(XXH3_state_t *state, const unsigned char *bytes, size_t size, bool mapped);
/* XXH3-64 of the file; in memory, of the arrays. */
PV_MUST_USE pv_status pv__archive_hash(pv_ctx *ctx, const pv_archive *archive, uint64_t *hash);
/* As pv_archive_array, its bytes in memory of the archive's own: for all but large numbers that index nothing. */
PV_MUST_USE pv_status pv__archive_own(pv_ctx *ctx, pv_archive *archive, size_t member, pv_array *array);
/* The file; NULL: the archive is in memory. */
const pv__source *pv__archive_source(const pv_archive *archive);
/* Refuses where the file was written to since it was opened. doubt: what a doubtful state means. */
PV_MUST_USE pv_status pv__archive_unchanged(pv_ctx *ctx, const pv_archive *archive, pv__source_state doubt);
const char *pv__archive_path(const pv_archive *archive);

#endif
