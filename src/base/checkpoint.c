/* Checkpoints: the state of long-running work, in one file (checkpoint_file.c).
 *
 * A checkpoint belongs to a context and to the contexts derived from it for threads. An entry is named by the scope of
 * the context that stores it ("folds/3/") and a key, so each piece of work has its own entries, and any set of them is
 * consistent. Entries are sorted by name, so lookup is a binary search and the file does not depend on which thread was
 * first. The entry `facts` describes the work of a scope; it is compared before any state is read from the file. The
 * entry `kernels` names the instruction set of the machine that wrote the file.
 */
#include <math.h>
#include <string.h>

#include "base/reduce.h"
#include "checkpoint.h"

/* ---- entries; the caller holds the lock -------------------------------------------------------------------------- */

/* A scope that fills its buffer was truncated, so its names might match those of another scope: rejected. */
static pv_status full_name(pv_ctx *ctx, const char *key, char name[PV_NAME_BYTES]) {
    int length = pv__format(name, PV_NAME_BYTES, "%s%s", ctx->scope, key);
    if (length < 0 || length >= PV_NAME_BYTES || strlen(ctx->scope) + 1 == PV_SCOPE_SIZE)
        return pv__fail(ctx, PV_ERR_USAGE, "the name of a state in a checkpoint is too long: %.40s...", name);
    return PV_OK;
}

/* Index of the first entry whose name is not less than `name`. */
static size_t position(const pv_checkpoint *c, const char *name) {
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(c->entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static pv__entry *find(const pv_checkpoint *c, const char *name) {
    size_t at = position(c, name);
    return at < c->count && strcmp(c->entries[at].name, name) == 0 ? &c->entries[at] : NULL;
}

static void entry_clear(pv_ctx *ctx, pv__entry *e) {
    pv__free(ctx, e->name);
    pv__free(ctx, e->data);
}

pv_status pv__checkpoint_add(pv_ctx *ctx, pv_checkpoint *c, const char *name, size_t size, pv__entry **added) {
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 16;
        PV_TRY(pv__resize(ctx, room, sizeof *c->entries, &c->entries));
        c->room = room;
    }
    pv__entry made = {.size = size};
    pv_status status = pv__strdup(ctx, name, &made.name);
    if (status == PV_OK)
        status = pv__alloc(ctx, size, 1, &made.data);
    if (status != PV_OK) {
        entry_clear(ctx, &made);
        return status;
    }
    size_t at = position(c, name);
    memmove(&c->entries[at + 1], &c->entries[at], (c->count++ - at) * sizeof made);
    c->entries[at] = made;
    *added = &c->entries[at];
    return PV_OK;
}

static size_t total_size(const pv_field *field, size_t n) {
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += field[i].size;
    return size;
}

/* Returns the entry of this name and size, creating or replacing it. */
static pv_status entry_for(pv_ctx *ctx, pv_checkpoint *c, const char *name, size_t size, pv__entry **e) {
    *e = find(c, name);
    if (*e && (*e)->size != size) {
        unsigned char *data;
        PV_TRY(pv__alloc(ctx, size, 1, &data));
        pv__free(ctx, (*e)->data);
        (*e)->data = data;
        (*e)->size = size;
    }
    return *e ? PV_OK : pv__checkpoint_add(ctx, c, name, size, e);
}

pv_status pv__checkpoint_put(pv_ctx *ctx, pv_checkpoint *c, const char *name, const pv_field *field, size_t n) {
    pv__entry *e;
    PV_TRY(entry_for(ctx, c, name, total_size(field, n), &e));
    unsigned char *at = e->data;
    for (size_t i = 0; i < n; i++) {
        if (field[i].size)
            memcpy(at, field[i].data, field[i].size);
        at += field[i].size;
    }
    return PV_OK;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Warns if the states were written with another instruction set, which rounds differently. */
static pv_status put_kernels(pv_ctx *ctx, pv_checkpoint *c) {
    const char *ours = pv_kernels();
    const pv__entry *theirs = find(c, "kernels");
    if (theirs && (theirs->size != strlen(ours) || memcmp(theirs->data, ours, theirs->size) != 0))
        pv__log(
            ctx, PV_LOG_WARNING,
            "%s: written with the kernels %.*s and continued with %s; the result may differ in its last digits from "
            "that of one machine alone",
            c->path, theirs->size < 40 ? (int)theirs->size : 40, (const char *)theirs->data, ours);
    char name[40];
    pv__format(name, sizeof name, "%s", ours);
    return pv__checkpoint_put(ctx, c, "kernels", &(pv_field){name, strlen(name)}, 1);
}

/* ---- a checkpoint and its context -------------------------------------------------------------------------------- */

static void checkpoint_free(pv_ctx *ctx, pv_checkpoint *c) {
    for (size_t i = 0; i < c->count; i++)
        entry_clear(ctx, &c->entries[i]);
    pv__checkpoint_file_leave(ctx, c);
    pv__free(ctx, c->entries);
    pv__free(ctx, c->path);
    pv__free(ctx, c->file);
    pv__free(ctx, c);
}

pv_status pv_checkpoint_open(pv_ctx *ctx, const char *path, double every, bool resume) {
    pv_checkpoint *c;
    PV_TRY(pv__alloc(ctx, 1, sizeof *c, &c));
    c->owner = ctx;
    c->held = -1;
    c->every = every;
    c->written = pv__seconds();
    pv_status status;
    PV_GOTO(fail, pv__files_writing(ctx, path));
    PV_GOTO(fail, pv__strdup(ctx, path, &c->path));
    PV_GOTO(fail, pv__resolve(ctx, path, &c->file));
    c->copy = pv__shares(ctx) && ctx->ranks.calls.rank > 0;
    if (c->copy)
        goto spread;
    PV_GOTO(fail, pv__checkpoint_file_take(ctx, c));
    if (!c->empty && !resume) {
        status = pv__fail_at(ctx, PV_ERR_USAGE, path, 0, 0,
                             pv__checkpoint_file_is_one(c)
                                 ? "exists:\nadd `resume` to continue from it, or remove it to start again"
                                 : "exists, and is not a checkpoint;\ngive `checkpoint` another name");
        goto fail;
    }
    if (!c->empty) {
        PV_GOTO(fail, pv__checkpoint_file_read(ctx, c));
        c->resumed = true;
    }
    pv__checkpoint_file_clean(ctx, c);
    PV_GOTO(fail, put_kernels(ctx, c));
spread:
    PV_GOTO(fail, pv__checkpoint_spread(ctx, c));
    ctx->checkpoint = c;
    return PV_OK;
fail:
    checkpoint_free(ctx, c);
    return status;
}

bool pv_checkpoint_resumed(const pv_ctx *ctx) {
    return ctx->checkpoint && ctx->checkpoint->resumed;
}

void pv_checkpoint_tell(pv_ctx *ctx) {
    pv_checkpoint *c = ctx->checkpoint;
    if (!c || c->owner != ctx || !c->resumed || c->told)
        return;
    c->told = true;
    pv__log(ctx, PV_LOG_INFO, "continuing from %s", c->path);
}

void pv_checkpoint_close(pv_ctx *ctx) {
    if (ctx->checkpoint && ctx->checkpoint->owner == ctx)
        checkpoint_free(ctx, ctx->checkpoint);
    ctx->checkpoint = NULL;
}

void pv__checkpoint_tell_trouble(pv_ctx *ctx) {
    pv_checkpoint *c = ctx->checkpoint;
    char trouble[sizeof c->trouble];
    if (!c || c->owner != ctx)
        return;
#pragma omp critical(pv_checkpoint)
    {
        memcpy(trouble, c->trouble, sizeof trouble);
        c->trouble[0] = '\0';
    }
    if (trouble[0])
        pv__log(ctx, PV_LOG_INFO, "%s: %s; the work continues, and saving will be tried again", c->path, trouble);
}

/* Called when the result is complete. Warns if no state was ever stored: the work ran without protection. */
static pv_status judge_writes(pv_ctx *ctx, const pv_checkpoint *c) {
    if (c->failures == 0)
        return PV_OK;
    if (c->writes == 0)
        return pv__fail_at(ctx, PV_ERR_WRITE, c->path, 0, 0,
                           "could not be written; the work finished, but could not have been resumed");
    pv__log(ctx, PV_LOG_WARNING, "%s: could not be written %zu of %zu times; the work is done", c->path, c->failures,
            c->failures + c->writes);
    return PV_OK;
}

pv_status pv_checkpoint_finish(pv_ctx *ctx) {
    pv_checkpoint *c = ctx->checkpoint;
    if (!c)
        return PV_OK;
    pv_status status = judge_writes(ctx, c), removed = pv__checkpoint_file_remove(ctx, c);
    status = removed == PV_OK ? status : removed;
    pv_checkpoint_close(ctx);
    return status;
}

pv_status pv_checkpoint_write(pv_ctx *ctx) {
    pv_status status = PV_OK;
    if (ctx->checkpoint) {
#pragma omp critical(pv_checkpoint)
        status = pv__checkpoint_file_write(ctx, ctx->checkpoint);
    }
    return status;
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

void pv__checkpoint_inherit(pv_ctx *child, const pv_ctx *parent, const char *what, size_t index) {
    child->checkpoint = parent->checkpoint;
    child->kept = pv__seconds();
    if (child->checkpoint) {
        memcpy(child->scope, parent->scope, sizeof child->scope);
        pv_checkpoint_enter(child, what, index);
    }
}

size_t pv_checkpoint_enter(pv_ctx *ctx, const char *what, size_t index) {
    size_t before = strlen(ctx->scope), room = sizeof ctx->scope - before;
    int length = pv__format(ctx->scope + before, room, "%s/%zu/", what, index);
    if (length < 0 || (size_t)length >= room)
        memset(ctx->scope + before, '/', room - 1); /* full: rejected when it is used */
    return before;
}

void pv_checkpoint_leave(pv_ctx *ctx, size_t entered) {
    ctx->scope[entered] = '\0';
}

/* ---- storing and restoring --------------------------------------------------------------------------------------- */

bool pv_checkpoint_due(pv_ctx *ctx) {
    pv_checkpoint *c = ctx->checkpoint;
    if (!c)
        return false;
    int64_t left = 0;
    if (c->interrupt_after > 0) {
#pragma omp atomic capture
        left = --c->interrupt_after;
        if (left == 0) {
            pv_ctx_interrupt(c->owner);
            pv_ctx_interrupt(ctx);
        }
    }
    return pv__interrupted(ctx) || pv__seconds() - ctx->kept >= c->every;
}

void pv__checkpoint_interrupt_after(pv_ctx *ctx, int64_t calls) {
    ctx->checkpoint->interrupt_after = calls;
}

/* A failed write does not stop the work: it is repeated when the next one is due. */
static pv_status write_when_due(pv_ctx *ctx, pv_checkpoint *c) {
    if (c->copy || pv__seconds() - c->written < c->every)
        return PV_OK;
    pv_status status = pv__checkpoint_file_write(ctx, c);
    if (status == PV_OK || status == PV_ERR_MEMORY)
        return status;
    if (c->failures++ == 0)
        pv__format(c->trouble, sizeof c->trouble, "%s", ctx->error.message);
    return PV_OK;
}

pv_status pv__checkpoint_write_due(pv_ctx *ctx) {
    pv_status status = PV_OK;
    if (ctx->checkpoint) {
#pragma omp critical(pv_checkpoint)
        status = write_when_due(ctx, ctx->checkpoint);
    }
    return status;
}

pv_status pv_checkpoint_keep(pv_ctx *ctx, const char *key, const pv_field *field, size_t n) {
    pv_checkpoint *c = ctx->checkpoint;
    if (!c)
        return PV_OK;
    char name[PV_NAME_BYTES];
    PV_TRY(full_name(ctx, key, name));
    ctx->kept = pv__seconds();
    pv_status status;
#pragma omp critical(pv_checkpoint)
    {
        status = pv__checkpoint_put(ctx, c, name, field, n);
        if (status == PV_OK)
            status = write_when_due(ctx, c);
    }
    pv__checkpoint_tell_trouble(ctx);
    return status;
}

size_t pv_checkpoint_size(pv_ctx *ctx, const char *key) {
    size_t size = 0;
    char name[PV_NAME_BYTES];
    if (!ctx->checkpoint || full_name(ctx, key, name) != PV_OK)
        return 0;
#pragma omp critical(pv_checkpoint)
    {
        const pv__entry *e = find(ctx->checkpoint, name);
        size = e ? e->size : 0;
    }
    return size;
}

pv_status pv_checkpoint_recall(pv_ctx *ctx, const char *key, const pv_field *field, size_t n, bool *found) {
    pv_checkpoint *c = ctx->checkpoint;
    *found = false;
    if (!c)
        return PV_OK;
    char name[PV_NAME_BYTES];
    PV_TRY(full_name(ctx, key, name));
    size_t size = total_size(field, n);
    pv_status status = PV_OK;
#pragma omp critical(pv_checkpoint)
    {
        const pv__entry *e = find(c, name);
        if (e && e->size != size) {
            status = pv__checkpoint_file_damaged(ctx, c, "an entry has the wrong size");
        } else if (e) {
            const unsigned char *at = e->data;
            for (size_t i = 0; i < n; at += field[i++].size)
                if (field[i].size)
                    memcpy(field[i].data, at, field[i].size);
            *found = true;
        }
    }
    return status;
}

void pv_checkpoint_drop(pv_ctx *ctx, const char *prefix) {
    pv_checkpoint *c = ctx->checkpoint;
    char name[PV_NAME_BYTES];
    if (!c || full_name(ctx, prefix, name) != PV_OK)
        return;
    size_t length = strlen(name);
#pragma omp critical(pv_checkpoint)
    {
        size_t first = position(c, name), end = first;
        for (; end < c->count && strncmp(c->entries[end].name, name, length) == 0; end++)
            entry_clear(ctx, &c->entries[end]);
        if (end > first)
            memmove(&c->entries[first], &c->entries[end], (c->count - end) * sizeof *c->entries);
        c->count -= end - first;
    }
}

const char *pv__checkpoint_path(const pv_ctx *ctx) {
    return ctx->checkpoint->path;
}

pv_status pv__checkpoint_damaged(pv_ctx *ctx, const char *what) {
    return pv__checkpoint_file_damaged(ctx, ctx->checkpoint, what);
}

pv_status pv__checkpoint_finite(pv_ctx *ctx, const pv_field *field, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double *number = field[i].data;
        for (size_t j = 0; j < field[i].size / sizeof *number; j++)
            if (!isfinite(number[j]))
                return pv__checkpoint_damaged(ctx, "its numbers are not finite");
    }
    return PV_OK;
}
