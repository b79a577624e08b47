/* src/base/jobs.h: jobs (jobs.c) and the ranks that share them (jobs_ranks.c). */
#ifndef PV_SRC_BASE_JOBS_H
#define PV_SRC_BASE_JOBS_H

#include <pthread.h>

#include "base.h"

typedef struct pv__note {
    struct pv__note *next;
    pv_log_level level;
    char text[];
} pv__note;

typedef struct pv__crew {
    pv_ctx *parent;
    const char *what;
    size_t jobs, finished, failed; /* failed: index of the first that did; jobs: none */
    bool stop, interrupt_running;
    pv_job job;
    pv_job_outcome outcome; /* NULL: neither kept nor shared */
    bool kept;              /* in the checkpoint */
    pv_job_sound sound;
    void *state;
    pv_status status;
    pv__note **notes; /* [jobs], the latest first */
    double began;
    pthread_t caller; /* whose callbacks are called by no other */
    size_t told;      /* finished jobs that progress was told of */
    /* Ranks that share the jobs: this one's are rank, rank + size ..., of which it runs from .. to-1 now. */
    size_t rank, size, from, to;
    double round_began;
    bool *ran; /* [jobs], here, and with success */
} pv__crew;

/* A job that one of the ranks has done, told to the others: its outcome, what it said, and what the checkpoint has of
 * it. Jobs from .. to-1 of every rank are exchanged; *seconds: the longest that any took. A failure anywhere is the
 * crew's, an interruption anywhere its end. */
PV_MUST_USE pv_status pv__jobs_exchange(pv__crew *crew, double *seconds);
/* (jobs.c) What a job said as bytes, the earliest first; and back. */
PV_MUST_USE pv_status pv__notes_pack(pv_ctx *ctx, const pv__note *notes, char **packed, size_t *size);
bool pv__notes_unpack(pv_ctx *ctx, pv__note **notes, const char *packed, size_t size); /* false: they are damaged */

#endif
