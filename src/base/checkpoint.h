/* src/base/checkpoint.h: a checkpoint's entries (checkpoint.c) and its file (checkpoint_file.c). */
#ifndef PV_SRC_BASE_CHECKPOINT_H
#define PV_SRC_BASE_CHECKPOINT_H

#include "base.h"

enum { PV_NAME_BYTES = PV_SCOPE_SIZE + 64 }; /* size of an entry's full name */

typedef struct pv__entry {
    char *name;
    unsigned char *data;
    size_t size;
} pv__entry;

struct pv_checkpoint {
    pv_ctx *owner;
    char *path, *file;     /* the path as the user gave it; with links resolved */
    bool copy;             /* a copy of rank 0's checkpoint: this rank reads and writes no file */
    int held;              /* descriptor of the locked file; -1: not yet open */
    pv__temporary *empty;  /* registers the file for deletion while it is empty; NULL: it has contents */
    double every, written; /* seconds between writes; time of the last write or attempt */
    size_t writes, failures;
    char trouble[512];  /* why the last write failed; empty: already reported */
    pv__entry *entries; /* sorted by name */
    size_t count, room;
    bool resumed, told;
    int64_t interrupt_after; /* for tests: calls of pv_checkpoint_due until an interruption; 0: never */
};

/* Functions on entries; the caller holds the lock. */
PV_MUST_USE pv_status pv__checkpoint_add(pv_ctx *ctx, pv_checkpoint *c, const char *name, size_t size,
                                         pv__entry **added);

/* Stores the fields [n] in the entry of this name, creating or replacing it. */
PV_MUST_USE pv_status pv__checkpoint_put(pv_ctx *ctx, pv_checkpoint *c, const char *name, const pv_field *field,
                                         size_t n);

/* ---- ranks (checkpoint_ranks.c) ---------------------------------------------------------------------------------- */

/* Packs all entries of a job into bytes, which the caller frees; unpack replaces the job's entries by packed ones. */
PV_MUST_USE pv_status pv__checkpoint_pack(pv_ctx *ctx, const char *what, size_t job, char **packed, size_t *size);
PV_MUST_USE pv_status pv__checkpoint_unpack(pv_ctx *ctx, const char *what, size_t job, const char *packed, size_t size);
/* Sends the entries that rank 0 has read to all ranks. */
PV_MUST_USE pv_status pv__checkpoint_spread(pv_ctx *ctx, pv_checkpoint *c);
/* Writes the file if a write is due. */
PV_MUST_USE pv_status pv__checkpoint_write_due(pv_ctx *ctx);

/* Opens or creates the file and locks it for the lifetime of c. Rejects a file that is in use or is not a regular
 * file. */
PV_MUST_USE pv_status pv__checkpoint_file_take(pv_ctx *ctx, pv_checkpoint *c);
void pv__checkpoint_file_leave(pv_ctx *ctx, pv_checkpoint *c); /* deletes the file if it is empty */
bool pv__checkpoint_file_is_one(const pv_checkpoint *c);       /* the file begins like a checkpoint */
PV_MUST_USE pv_status pv__checkpoint_file_read(pv_ctx *ctx, pv_checkpoint *c);
PV_MUST_USE pv_status pv__checkpoint_file_write(pv_ctx *ctx, pv_checkpoint *c);
PV_MUST_USE pv_status pv__checkpoint_file_remove(pv_ctx *ctx, pv_checkpoint *c);
void pv__checkpoint_file_clean(pv_ctx *ctx, const pv_checkpoint *c); /* deletes leftovers of a killed process */
pv_status pv__checkpoint_file_damaged(pv_ctx *ctx, const pv_checkpoint *c, const char *what);

#endif
