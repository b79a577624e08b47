/* Jobs shared by several ranks: each rank sends what its jobs produced to all others, as bytes.
 *
 *   told     which of its jobs a rank has done, the first that failed, with its error, and how long they took
 *   done     for each finished job: its number, the sizes of what follows, its outcome, its messages
 *   entries  for each job: its checkpoint entries, preceded by their size in bytes (checkpoint_ranks.c)
 *
 * All ranks know the sizes of the outcome's blocks, and no data here come from a file.
 */
#include <string.h>

#include "base/checkpoint.h"
#include "base/jobs.h"
#include "base/reduce.h"

typedef struct told {
    uint64_t done, failed; /* number of finished jobs; index of the first failed job, or the number of jobs */
    double seconds;
    pv_error error;
} told;

/* A growing byte buffer. */
typedef struct parcel {
    pv_ctx *ctx;
    char *bytes;
    size_t size, room;
    pv_status status;
} parcel;

static void put(parcel *p, const void *bytes, size_t size) {
    if (p->status == PV_OK && p->size + size > p->room) {
        size_t room = 2 * (p->size + size);
        p->status = pv__resize(p->ctx, room, 1, &p->bytes);
        p->room = p->status == PV_OK ? room : p->room;
    }
    if (p->status != PV_OK)
        return;
    if (size)
        memcpy(p->bytes + p->size, bytes, size);
    p->size += size;
}

static void put_job(pv__crew *c, parcel *p, size_t job) {
    pv_field field[PV_JOB_FIELDS + 1];
    size_t n = c->outcome(c->state, job, field), said_size;
    char *said;
    if (p->status == PV_OK)
        p->status = pv__notes_pack(p->ctx, c->notes[job], &said, &said_size);
    if (p->status != PV_OK)
        return;
    uint64_t about[2] = {job, said_size};
    put(p, about, sizeof about);
    for (size_t i = 0; i < n; i++)
        put(p, field[i].data, field[i].size);
    put(p, said, said_size);
    pv__free(p->ctx, said);
}

static void put_entries(const pv__crew *c, parcel *p, size_t job) {
    char *packed = NULL;
    size_t size = 0;
    if (p->status == PV_OK)
        p->status = pv__checkpoint_pack(p->ctx, c->what, job, &packed, &size);
    uint64_t bytes = size;
    put(p, &bytes, sizeof bytes);
    put(p, packed, size);
    pv__free(p->ctx, packed);
}

/* Packs this rank's part of the round. */
static pv_status pack(pv__crew *c, double seconds, parcel *p) {
    told mine = {.failed = c->failed, .seconds = seconds};
    if (c->failed < c->jobs) {
        mine.error = c->parent->error;
        mine.error.status = c->status;
    }
    for (size_t i = c->from; i < c->to && c->rank + i * c->size < c->jobs; i++)
        mine.done += c->ran[c->rank + i * c->size];
    put(p, &mine, sizeof mine);
    for (size_t i = c->from; i < c->to && c->rank + i * c->size < c->jobs; i++)
        if (c->ran[c->rank + i * c->size])
            put_job(c, p, c->rank + i * c->size);
    for (size_t i = c->from; c->parent->checkpoint && i < c->to && c->rank + i * c->size < c->jobs; i++)
        put_entries(c, p, c->rank + i * c->size);
    return p->status;
}

static void take(const char **at, void *to, size_t size) {
    if (size)
        memcpy(to, *at, size);
    *at += size;
}

/* Unpacks another rank's part. */
static pv_status unpack(pv__crew *c, size_t rank, const char **at, told *theirs) {
    take(at, theirs, sizeof *theirs);
    for (uint64_t d = 0; d < theirs->done; d++) {
        uint64_t about[2];
        pv_field field[PV_JOB_FIELDS + 1];
        take(at, about, sizeof about);
        size_t n = c->outcome(c->state, (size_t)about[0], field);
        for (size_t i = 0; i < n; i++)
            take(at, field[i].data, field[i].size);
        if (!pv__notes_unpack(c->parent, &c->notes[about[0]], *at, (size_t)about[1]))
            return pv__fail(c->parent, PV_ERR_INTERNAL, "the results sent by rank %zu are damaged", rank);
        *at += about[1];
        c->finished++;
    }
    for (size_t i = c->from; c->parent->checkpoint && i < c->to && rank + i * c->size < c->jobs; i++) {
        uint64_t bytes;
        take(at, &bytes, sizeof bytes);
        PV_TRY(pv__checkpoint_unpack(c->parent, c->what, rank + i * c->size, *at, (size_t)bytes));
        *at += bytes;
    }
    return PV_OK;
}

pv_status pv__jobs_exchange(pv__crew *c, double *seconds) {
    parcel own = {.ctx = c->parent};
    void *all = NULL;
    size_t size;
    told first = {.failed = c->jobs};
    pv_status status;
    *seconds = 0;
    PV_GOTO(done, pack(c, pv__seconds() - c->round_began, &own));
    PV_GOTO(done, pv__collect(c->parent, true, own.bytes, own.size, &all, &size));
    const char *at = all;
    for (size_t r = 0; r < c->size; r++) {
        told theirs;
        if (r != c->rank) {
            PV_GOTO(done, unpack(c, r, &at, &theirs));
        } else { /* own jobs are already in place */
            memcpy(&theirs, at, sizeof theirs);
            at += own.size;
        }
        if (theirs.failed < first.failed)
            first = theirs;
        *seconds = theirs.seconds > *seconds ? theirs.seconds : *seconds;
    }
    if (first.failed < c->jobs) {
        c->failed = first.failed;
        c->status = first.error.status;
        c->parent->error = first.error;
    }
    c->stop |= first.failed < c->jobs || c->parent->ranks.stop;
    status = pv__checkpoint_write_due(c->parent);
done:
    pv__free(c->parent, own.bytes);
    pv__free(c->parent, all);
    return status;
}
