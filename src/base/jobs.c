/* Independent jobs, each in a single-threaded context, several at a time.
 *
 * Warnings of jobs are logged after all jobs are done, in the order of the jobs and without repetition, so that nothing
 * depends on the number of threads.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/jobs.h"
#include "base/reduce.h"

/* State of the log and progress callbacks of a job's context. */
typedef struct worker {
    pv__crew *crew;
    pv_ctx *ctx;
    size_t job;
} worker;

/* ---- messages of a job ------------------------------------------------------------------------------------------- */

/* Without memory a note is lost; the job itself will then fail for the same reason. */
static void add_note(pv_ctx *ctx, pv__note **notes, pv_log_level level, const char *message) {
    for (const pv__note *n = *notes; n; n = n->next)
        if (strcmp(n->text, message) == 0)
            return;
    pv__note *made = ctx->options.allocator.alloc(ctx->options.allocator.state, sizeof *made + strlen(message) + 1);
    if (!made)
        return;
    made->level = level;
    memcpy(made->text, message, strlen(message) + 1);
    made->next = *notes;
    *notes = made;
}

static void on_log(void *state, pv_log_level level, const char *message) {
    const worker *w = state;
    add_note(w->ctx, &w->crew->notes[w->job], level, message); /* each job writes only its own slot */
}

/* Runs on the caller's thread and also reports the jobs of other threads. */
static void tell_progress(pv__crew *c) {
    if (!pthread_equal(pthread_self(), c->caller))
        return;
    size_t finished;
#pragma omp atomic read
    finished = c->finished;
    c->told = finished;
    pv_progress progress = {
        .what = c->what, .step = finished, .steps = c->jobs, .value = (double)NAN, .seconds = pv__seconds() - c->began};
    pv__progress(c->parent, &progress);
    pv__checkpoint_tell_trouble(c->parent);
}

static void on_progress(void *state, const pv_progress *progress) {
    (void)progress;
    const worker *w = state;
    size_t finished;
#pragma omp atomic read
    finished = w->crew->finished;
    if (pthread_equal(pthread_self(), w->crew->caller) && finished > w->crew->told)
        tell_progress(w->crew);
    if (w->crew->interrupt_running && pv__interrupted(w->crew->parent))
        pv_ctx_interrupt(w->ctx);
}

static void done(pv__crew *c, const worker *w, pv_status status) {
#pragma omp critical(pv_jobs_done)
    {
        if (status != PV_OK && w->job < c->failed) {
            c->failed = w->job;
            c->status = status;
            if (w->ctx)
                pv__ctx_adopt(c->parent, w->ctx);
            else
                pv__fail(c->parent, status, "out of memory for a context of a thread");
        }
        if (status == PV_OK) {
            if (c->ran)
                c->ran[w->job] = true;
#pragma omp atomic
            c->finished++;
        }
        if (status != PV_OK || pv__interrupted(c->parent)) {
#pragma omp atomic write
            c->stop = true;
        }
    }
    tell_progress(c);
}

static bool told_before(const pv__crew *c, size_t job, const char *text) {
    for (size_t j = 0; j < job; j++)
        for (const pv__note *n = c->notes[j]; n; n = n->next)
            if (strcmp(n->text, text) == 0)
                return true;
    return false;
}

static void tell(pv__crew *c) {
    for (size_t j = 0; j < c->jobs; j++) {
        pv__note *first = NULL;
        for (pv__note *n = c->notes[j], *next; n; n = next) { /* reverses the list: the earliest first */
            next = n->next;
            n->next = first;
            first = n;
        }
        c->notes[j] = first;
        for (const pv__note *n = first; n; n = n->next)
            if (!told_before(c, j, n->text))
                pv__log(c->parent, n->level, "%s", n->text);
    }
    for (size_t j = 0; j < c->jobs; j++)
        for (pv__note *n = c->notes[j], *next; n; n = next) {
            next = n->next;
            pv__free(c->parent, n);
        }
}

/* ---- jobs in a checkpoint -------------------------------------------------------------------------------------------
 * The entry "job" holds the outcome followed by the job's messages, the earliest first: for each its level (a character
 * counted from '0'), the text and a NUL.
 */

pv_status pv__notes_pack(pv_ctx *ctx, const pv__note *notes, char **packed, size_t *size) {
    *size = 0;
    for (const pv__note *n = notes; n; n = n->next)
        *size += strlen(n->text) + 2;
    PV_TRY(pv__alloc(ctx, *size, 1, packed));
    char *at = *packed + *size;
    for (const pv__note *n = notes; n; n = n->next) { /* the list begins with the latest */
        size_t length = strlen(n->text) + 1;
        at -= length + 1;
        at[0] = (char)('0' + (int)n->level);
        memcpy(at + 1, n->text, length);
    }
    return PV_OK;
}

bool pv__notes_unpack(pv_ctx *ctx, pv__note **notes, const char *packed, size_t size) {
    if (size && packed[size - 1])
        return false;
    for (const char *at = packed; at < packed + size; at += strlen(at) + 1) {
        pv_log_level level = (pv_log_level)(at[0] - '0');
        if (level < PV_LOG_DEBUG || level > PV_LOG_WARNING)
            return false;
        add_note(ctx, notes, level, at + 1);
    }
    return true;
}

static pv_status keep(const worker *w) {
    const pv__crew *c = w->crew;
    pv_field field[PV_JOB_FIELDS + 1];
    char *said;
    size_t size;
    if (!w->ctx->checkpoint)
        return PV_OK;
    PV_TRY(pv__notes_pack(w->ctx, c->notes[w->job], &said, &size));
    size_t n = c->outcome(c->state, w->job, field);
    field[n] = (pv_field){said, size};
    pv_checkpoint_drop(w->ctx, ""); /* deletes the job's intermediate states */
    pv_status status = pv_checkpoint_keep(w->ctx, "job", field, n + 1);
    pv__free(w->ctx, said);
    return status;
}

static pv_status recall(worker *w, bool *found) {
    const pv__crew *c = w->crew;
    pv_field field[PV_JOB_FIELDS + 1];
    char *said;
    size_t size = pv_checkpoint_size(w->ctx, "job"), own = 0;
    *found = false;
    if (!size)
        return PV_OK;
    size_t n = c->outcome(c->state, w->job, field);
    for (size_t i = 0; i < n; i++)
        own += field[i].size;
    if (size < own)
        return pv__checkpoint_damaged(w->ctx, "the result of a job has the wrong size");
    PV_TRY(pv__alloc(w->ctx, size - own, 1, &said));
    field[n] = (pv_field){said, size - own};
    pv_status status = pv_checkpoint_recall(w->ctx, "job", field, n + 1, found);
    if (status == PV_OK && !pv__notes_unpack(w->ctx, &w->crew->notes[w->job], said, size - own))
        status = pv__checkpoint_damaged(w->ctx, "the result of a job is damaged");
    if (status == PV_OK && *found && !c->sound(c->state, w->job))
        status = pv__checkpoint_damaged(w->ctx, "a job returned an impossible result");
    pv__free(w->ctx, said);
    return status;
}

static pv_status run_job(worker *w) {
    const pv__crew *c = w->crew;
    bool found = false;
    if (c->kept)
        PV_TRY(recall(w, &found));
    if (found)
        return PV_OK;
    pv_status status = c->job(w->ctx, c->state, w->job);
    if (!c->kept)
        return status;
    if (pv__interrupted(w->ctx)) /* an interrupted job has neither a result nor an error */
        return pv__fail(w->ctx, PV_ERR_INTERRUPTED, "%s: stopped on request", c->what);
    return status == PV_OK ? keep(w) : status;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void run_team(pv__crew *c, int team) {
    pv_allocator shared = pv__allocator_shared(c->parent);
#pragma omp parallel num_threads(pv_threads_ready(team))
    {
        worker w = {.crew = c};
        pv_ctx_options options = {.allocator = shared,
                                  .log = on_log,
                                  .progress = on_progress,
                                  .state = &w,
                                  .level = c->parent->options.level,
                                  .threads = team > 1 ? 1 : pv_ctx_threads(c->parent)};
        pv_status status = pv_ctx_new(&options, &w.ctx);
        if (w.ctx)
            w.ctx->root = c->parent->root;
#pragma omp for schedule(dynamic, 1)
        for (size_t i = c->from; i < c->to; i++) {
            bool stop;
#pragma omp atomic read
            stop = c->stop;
            w.job = c->rank + i * c->size;
            if (stop || w.job >= c->jobs)
                continue;
            if (w.ctx)
                pv__checkpoint_inherit(w.ctx, c->parent, c->what, w.job);
            done(c, &w, status == PV_OK ? run_job(&w) : status);
        }
        pv_ctx_free(w.ctx);
    }
}

/* Runs all jobs, or with several ranks a share of them per round. A round is long enough to make the cost of exchanges
 * negligible, and short enough that the checkpoint of rank 0 soon has the other ranks' jobs. Each rank can be
 * interrupted between rounds. */
static pv_status run_shares(pv__crew *c, int team) {
    const double long_enough = 5;
    size_t most = (c->jobs + c->size - 1) / c->size, round = most;
    bool begun = c->parent->ranks.begun;
    double seconds = 0, threads = team;
    pv_status status = PV_OK;
    if (c->size > 1 && c->parent->checkpoint) {
        pv__part part = {.shared = true};
        pv__most(c->parent, &part, 1, &threads);
        status = pv__reduce_check(c->parent);
        round = (size_t)threads;
    }
    for (c->from = 0; status == PV_OK && c->from < most && !c->stop; c->from = c->to) {
        c->to = most - c->from < round ? most : c->from + round;
        c->parent->ranks.begun = false;
        c->round_began = pv__seconds();
        run_team(c, team);
        if (c->size > 1)
            status = pv__jobs_exchange(c, &seconds);
        round *= seconds < long_enough ? 2 : 1;
    }
    c->parent->ranks.begun = begun;
    return status;
}

static pv_status run_jobs(pv__crew *c, size_t *finished) {
    pv_ctx *ctx = c->parent;
    int rank = 0;
    *finished = 0;
    c->size = c->outcome && pv__shares(ctx) ? (size_t)pv_ctx_ranks(ctx, &rank) : 1;
    c->rank = c->size > 1 ? (size_t)rank : 0;
    c->failed = c->jobs;
    c->began = pv__seconds();
    c->caller = pthread_self();
    PV_TRY(pv__alloc(ctx, c->jobs, sizeof *c->notes, &c->notes));
    pv_status status = c->size > 1 ? pv__alloc(ctx, c->jobs, sizeof *c->ran, &c->ran) : PV_OK;
    if (status == PV_OK)
        status = run_shares(c, pv__threads_for(ctx, (c->jobs + c->size - 1) / c->size));
    if (c->told < c->finished)
        tell_progress(c);
    pv__checkpoint_tell_trouble(ctx);
    tell(c);
    pv__free(ctx, c->notes);
    pv__free(ctx, c->ran);
    *finished = c->finished;
    if (status != PV_OK || c->status != PV_OK)
        return status != PV_OK ? status : c->status;
    if (c->interrupt_running && pv__interrupted(ctx))
        return pv__fail(ctx, PV_ERR_INTERRUPTED, "%s: stopped on request", c->what);
    return PV_OK;
}

pv_status pv_jobs_run_kept(pv_ctx *ctx, const char *what, size_t jobs, bool interrupt_running, pv_job job,
                           pv_job_outcome outcome, pv_job_sound sound, void *state, size_t *finished) {
    pv__crew c = {.parent = ctx,
                  .what = what,
                  .jobs = jobs,
                  .interrupt_running = interrupt_running,
                  .job = job,
                  .outcome = outcome,
                  .kept = true,
                  .sound = sound,
                  .state = state};
    return run_jobs(&c, finished);
}

pv_status pv__jobs_run_shared(pv_ctx *ctx, const char *what, size_t jobs, pv_job job, pv_job_outcome outcome,
                              void *state, size_t *finished) {
    pv__crew c = {.parent = ctx,
                  .what = what,
                  .jobs = jobs,
                  .interrupt_running = true,
                  .job = job,
                  .outcome = outcome,
                  .state = state};
    return run_jobs(&c, finished);
}

pv_status pv_jobs_run(pv_ctx *ctx, const char *what, size_t jobs, bool interrupt_running, pv_job job, void *state,
                      size_t *finished) {
    pv__crew c = {
        .parent = ctx, .what = what, .jobs = jobs, .interrupt_running = interrupt_running, .job = job, .state = state};
    return run_jobs(&c, finished);
}
