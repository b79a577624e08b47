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
    size_t jobs, finished, failed; /* failed: index of the first failed job; `jobs` if none failed */
    bool stop, interrupt_running;
    pv_job job;
    pv_job_outcome outcome; /* NULL: outcomes are neither stored nor shared */
    bool kept;              /* outcomes are stored in the checkpoint */
    pv_job_sound sound;
    void *state;
    pv_status status;
    pv__note **notes; /* [jobs], lists beginning with the latest note */
    double began;
    pthread_t caller; /* the only thread that may call the caller's callbacks */
    size_t told;      /* number of finished jobs already reported as progress */
    /* Ranks that share the jobs: this rank has jobs rank, rank + size, ...; in this round those among from .. to-1. */
    size_t rank, size, from, to;
    double round_began;
    bool *ran; /* [jobs], whether the job ran here successfully */
} pv__crew;

/* Sends what each rank did in the round to all ranks: outcomes, messages and checkpoint entries of its jobs among from
 * .. to-1. *seconds: the longest time of any rank. A failure or interruption on one rank becomes that of the crew. */
PV_MUST_USE pv_status pv__jobs_exchange(pv__crew *crew, double *seconds);
/* (jobs.c) Converts a job's notes to bytes, the earliest first, and back. */
PV_MUST_USE pv_status pv__notes_pack(pv_ctx *ctx, const pv__note *notes, char **packed, size_t *size);
bool pv__notes_unpack(pv_ctx *ctx, pv__note **notes, const char *packed,
                      size_t size); /* false: the bytes are damaged */

#endif
