/* src/base/checkpoint.h: a checkpoint's entries (checkpoint.c) and its file (checkpoint_file.c). */
#ifndef PV_SRC_BASE_CHECKPOINT_H
#define PV_SRC_BASE_CHECKPOINT_H

#include "base.h"

enum { PV_NAME_BYTES = PV_SCOPE_SIZE + 64 }; /* of an entry */

typedef struct pv__entry {
    char *name;
    unsigned char *data;
    size_t size;
} pv__entry;

struct pv_checkpoint {
    pv_ctx *owner;
    char *path, *file;     /* as given; links followed */
    bool copy;             /* of rank 0's, whose file it is: nothing is read or written here */
    int held;              /* the file, locked; -1: not yet */
    pv__temporary *empty;  /* the file as long as nothing is in it; NULL: something is */
    double every, written; /* seconds; when last, or last tried */
    size_t writes, failures;
    char trouble[512];  /* why the last of the failures; empty: told */
    pv__entry *entries; /* by name */
    size_t count, room;
    bool resumed, told;
    int64_t interrupt_after; /* tests: calls of pv_checkpoint_due until an interruption; 0: never */
};

/* Entries; the caller holds the lock. */
PV_MUST_USE pv_status pv__checkpoint_add(pv_ctx *ctx, pv_checkpoint *c, const char *name, size_t size,
                                         pv__entry **added);

/* An entry of this name with the fields [n], new or anew. */
PV_MUST_USE pv_status pv__checkpoint_put(pv_ctx *ctx, pv_checkpoint *c, const char *name, const pv_field *field,
                                         size_t n);

/* ---- ranks (checkpoint_ranks.c) ---------------------------------------------------------------------------------- */

/* What the checkpoint has of a job, as bytes, which the caller frees; and in the place of what it had of it. */
PV_MUST_USE pv_status pv__checkpoint_pack(pv_ctx *ctx, const char *what, size_t job, char **packed, size_t *size);
PV_MUST_USE pv_status pv__checkpoint_unpack(pv_ctx *ctx, const char *what, size_t job, const char *packed, size_t size);
/* All ranks get what rank 0 has read. */
PV_MUST_USE pv_status pv__checkpoint_spread(pv_ctx *ctx, pv_checkpoint *c);
/* Writes the file where that is due. */
PV_MUST_USE pv_status pv__checkpoint_write_due(pv_ctx *ctx);

/* Opens the file, or makes it, and locks it, for as long as c is there: refuses what is in use and what is no file. */
PV_MUST_USE pv_status pv__checkpoint_file_take(pv_ctx *ctx, pv_checkpoint *c);
void pv__checkpoint_file_leave(pv_ctx *ctx, pv_checkpoint *c); /* an empty one goes */
bool pv__checkpoint_file_is_one(const pv_checkpoint *c);       /* it begins like a checkpoint */
PV_MUST_USE pv_status pv__checkpoint_file_read(pv_ctx *ctx, pv_checkpoint *c);
PV_MUST_USE pv_status pv__checkpoint_file_write(pv_ctx *ctx, pv_checkpoint *c);
PV_MUST_USE pv_status pv__checkpoint_file_remove(pv_ctx *ctx, pv_checkpoint *c);
void pv__checkpoint_file_clean(pv_ctx *ctx, const pv_checkpoint *c); /* what a killed owner left */
pv_status pv__checkpoint_file_damaged(pv_ctx *ctx, const pv_checkpoint *c, const char *what);

#endif
