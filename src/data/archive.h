/* src/data/archive.h: reading of files, compressed or not, and the headers of NPY and IDX files. */
#ifndef PV_SRC_ARCHIVE_H
#define PV_SRC_ARCHIVE_H

#include <sys/stat.h>

#include "base/base.h"
#include "base/hash.h"
#include "prevail/images.h"

/* ---- files (source.c) -------------------------------------------------------------------------------------------- */

typedef struct pv__source {
    const char *path; /* borrowed */
    FILE *stream;     /* NULL: not open */
    int descriptor;   /* of stream, for positioned reads; -1: not open */
    size_t size;      /* size when it was opened; nothing beyond is read */
    struct stat about;
    unsigned char *mapped; /* the whole file; NULL: not mapped yet */
} pv__source;

PV_MUST_USE pv_status pv__source_open(pv_ctx *ctx, const char *path, pv__source *source);
void pv__source_close(pv__source *source);
/* Reads n bytes at offset, which must lie within the size. */
PV_MUST_USE pv_status pv__source_read(pv_ctx *ctx, const pv__source *source, uint64_t offset, size_t n, void *to);
/* Maps the file to source->mapped. The bytes may change at any time, so use them only for numbers that are neither an
 * index nor a size. */
PV_MUST_USE pv_status pv__source_map(pv_ctx *ctx, pv__source *source);

/* Whether the file changed since it was opened. DOUBTFUL: only its metadata changed, as after a rename or a change of
 * permissions, or it was written to and its time set back; then the bytes decide. */
typedef enum pv__source_state { PV_SOURCE_SAME, PV_SOURCE_DOUBTFUL, PV_SOURCE_WRITTEN } pv__source_state;
pv__source_state pv__source_look(const pv__source *source);
pv_status pv__source_changed(pv_ctx *ctx, const pv__source *source); /* reports the change as an error */

/* ---- bytes (bytes.c) --------------------------------------------------------------------------------------------- */

/* Readable bytes: a mapped file, a block of memory, or a part of either that needs no release. */
typedef struct pv__bytes {
    const unsigned char *data;
    size_t size;
    void *mapped; /* release with munmap; NULL: not mapped */
    void *block;  /* release with pv__free; NULL: not owned */
} pv__bytes;

void pv__bytes_release(pv_ctx *ctx, pv__bytes *bytes);

/* The size of pieces for sequential passes. Pages of a mapped file are given back piece by piece, so a pass over a file
 * takes no more memory than a piece. */
enum { PV_BYTES_PIECE = 32 << 20 };
/* Gives pages of mapped bytes back to the system, which reads them again on the next access. Not for allocated
 * memory. */
void pv__bytes_forget(const unsigned char *from, size_t n);

typedef enum pv__packing { PV_PACKED_DEFLATE, PV_PACKED_GZIP } pv__packing;

/* Unpacks the n bytes of the file at offset. size: the unpacked size, or SIZE_MAX if unknown. what: the member's name
 * for messages. */
PV_MUST_USE pv_status pv__unpack(pv_ctx *ctx, const pv__source *file, const char *what, pv__packing packing,
                                 uint64_t offset, size_t n, size_t size, pv__bytes *bytes);

/* The first size bytes of a deflated member, which must have at least that many. */
PV_MUST_USE pv_status pv__unpack_start(pv_ctx *ctx, const pv__source *file, const char *what, uint64_t offset, size_t n,
                                       unsigned char *start, size_t size);

/* ---- ZIP (zip.c) ------------------------------------------------------------------------------------------------- */

typedef struct pv__member {
    char *name; /* without .npy */
    uint16_t method, flags;
    uint32_t crc;
    uint64_t packed, size, offset; /* offset of the local header */
    uint64_t begin;                /* position of the packed bytes */
    bool known;                    /* the header has been read; array and elements do not change any more */
    bool foreign;                  /* it is not in a supported format */
    pv_array array;                /* without bytes yet */
    size_t elements;               /* position of the elements */
    pv__bytes bytes;               /* filled on first use */
    void *copy;                    /* copy of mapped bytes, if one was requested */
} pv__member;

/* The members of a ZIP or ZIP64 archive; of several with one name the last, as in NumPy. The caller frees *members
 * [*n], also on failure. */
PV_MUST_USE pv_status pv__zip_members(pv_ctx *ctx, const pv__source *file, pv__member **members, size_t *n);
/* The first bytes of a member, at most n; *n becomes their number. */
PV_MUST_USE pv_status pv__zip_peek(pv_ctx *ctx, const pv__source *file, const pv__member *member, unsigned char *start,
                                   size_t *n);
/* Sets member->bytes, mapped if the member is stored and unpacked if it is deflated, and checks its CRC. */
PV_MUST_USE pv_status pv__zip_read(pv_ctx *ctx, pv__source *file, pv__member *member);
bool pv__zip_stored(const pv__member *member);
/* Compares the CRC of bytes [member->size] with that of the member. */
PV_MUST_USE pv_status pv__zip_check(pv_ctx *ctx, const pv__source *file, const pv__member *member,
                                    const unsigned char *bytes, bool mapped);

/* ---- headers (npy.c) -------------------------------------------------------------------------------------- */

bool pv__is_npy(const pv__bytes *bytes);
bool pv__is_idx(const pv__bytes *bytes);
/* Size of the header that begins with start [at least 12 bytes, or all there are]: at most slightly above 1 MiB. */
size_t pv__npy_header_size(const pv__bytes *start);
/* Parses the header; *begin is the position of the elements. bytes must contain at least the header, in memory that
 * cannot change. */
PV_MUST_USE pv_status pv__npy_header(pv_ctx *ctx, const char *path, const char *name, const pv__bytes *bytes,
                                     pv_array *array, size_t *begin);
PV_MUST_USE pv_status pv__idx_header(pv_ctx *ctx, const char *path, const char *name, const pv__bytes *bytes,
                                     pv_array *array, size_t *begin);
/* Records that n bytes of mapped pixels were read, and gives all pages back after a large number. Thread-safe. */
void pv__images_touched(const pv_images *images, size_t n);
/* Sets count and checks the size that follows from the shape against the available bytes. */
PV_MUST_USE pv_status pv__array_fit(pv_ctx *ctx, const char *path, pv_array *array, size_t available);

/* Bytes needed for the text of any element, including the NUL. */
size_t pv__array_text_room(const pv_array *array);
size_t pv__array_element(pv_array_type type); /* bytes per number; 0 for text */
/* Writes the header of an array of numbers or text as NumPy does, with a length that is a multiple of 64; size >=
 * 512. */
size_t pv__npy_describe(const pv_array *array, char *header, size_t size);

/* ---- writing NPZ (npz_write.c) ----------------------------------------------------------------------------------- */

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

/* Writing a file of arrays. For each array: begin (which uses its name, type and shape, not its bytes), put its bytes
 * in any number of pieces, end. Then commit. Call discard in any case; after commit it only frees memory. */
PV_MUST_USE pv_status pv__npz_open(pv_ctx *ctx, const char *path, pv__npz *npz);
PV_MUST_USE pv_status pv__npz_begin(pv__npz *npz, const pv_array *array);
PV_MUST_USE pv_status pv__npz_put(pv__npz *npz, const void *bytes, size_t n);
PV_MUST_USE pv_status pv__npz_end(pv__npz *npz);
PV_MUST_USE pv_status pv__npz_archive(pv__npz *npz, pv_archive *archive); /* writes all of its arrays */
PV_MUST_USE pv_status pv__npz_commit(pv__npz *npz);
void pv__npz_discard(pv__npz *npz);

/* ---- archives (archive.c) ---------------------------------------------------------------------------------------- */

/* Adds an owner to the archive; each owner frees it. */
pv_archive *pv__archive_share(pv_archive *archive);
size_t pv__archive_size(const pv_archive *archive, size_t member); /* unpacked size in bytes */
/* Number of dimensions and first length of a member, without unpacking all of it. A member that is not an array of a
 * known type has 0 dimensions, or is an error if `wanted`. The length is checked against the member's size; it is 0 for
 * an array without elements. */
PV_MUST_USE pv_status pv__archive_peek(pv_ctx *ctx, pv_archive *archive, size_t member, bool wanted, int *dims,
                                       size_t *rows);
/* Adds bytes to a hash, piece by piece. */
void pv__hash_pieces(pv__hasher *state, const unsigned char *bytes, size_t size, bool mapped);
/* XXH3-64 of the file, or of the arrays if the archive is in memory. */
PV_MUST_USE pv_status pv__archive_hash(pv_ctx *ctx, const pv_archive *archive, uint64_t *hash);
/* Like pv_archive_array, but with the bytes in the archive's own memory. Use it for everything except large arrays of
 * numbers that are not indices. */
PV_MUST_USE pv_status pv__archive_own(pv_ctx *ctx, pv_archive *archive, size_t member, pv_array *array);
/* The file; NULL if the archive is in memory. */
const pv__source *pv__archive_source(const pv_archive *archive);
/* Fails if the file was written to since it was opened. doubt: how to treat a doubtful state. */
PV_MUST_USE pv_status pv__archive_unchanged(pv_ctx *ctx, const pv_archive *archive, pv__source_state doubt);
const char *pv__archive_path(const pv_archive *archive);

#endif
