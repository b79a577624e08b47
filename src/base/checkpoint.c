/* Checkpoints: what long work has got so far, in one file (docs/formats.md).
 *
 *   prevail-checkpoint 1
 *   ENTRIES BYTES CHECKSUM      (decimal, decimal, XXH3-64 of the bytes in hexadecimal)
 *   entries: length of the name, length of the data (64 bits each, as the machine has them), name, data
 *
 * A checkpoint belongs to a context and to those made of it for threads. Entries are named by the scope of the context
 * that keeps them ("folds/3/") and a key, so that each piece of work has its own and any set of them is a consistent
 * whole. They are in the order of their names: found by halving, and the same file whichever thread was first. An entry
 * `facts` says in words what the work of a scope is; it is compared before any state is taken from the file. The entry
 * `kernels` names the instruction set of the machine that wrote it. Written as every output is: to a file beside it,
 * synced, renamed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base.h"

#define MAGIC "prevail-checkpoint 1\n"
static const char COMMAND[] = "command"; /* among facts: shown, not compared */

typedef struct entry {
    char *name;
    unsigned char *data;
    size_t size;
} entry;

struct pv_checkpoint {
    pv_ctx *owner;
    char *path;
    int held; /* the file as last read or written, locked as long as the checkpoint is open; -1: none yet */
    double every, written; /* seconds; when last */
    entry *entries;        /* by name */
    size_t count, room;
    bool resumed, told;
    int64_t interrupt_after; /* tests: calls of pv_checkpoint_due until an interruption; 0: never */
};

/* ---- entries; callers hold the lock ------------------------------------------------------------------------------ */

enum { NAME_BYTES = PV_SCOPE_SIZE + 64 };

/* A scope that fills its place was cut: another one's states must not be taken for its own. */
static pv_status full_name(pv_ctx *ctx, const char *key, char name[NAME_BYTES]) {
    int length = pv__format(name, NAME_BYTES, "%s%s", ctx->scope, key);
    if (length < 0 || length >= NAME_BYTES || strlen(ctx->scope) + 1 == PV_SCOPE_SIZE)
        return pv__fail(ctx, PV_ERR_USAGE, "the name of a state in a checkpoint is too long: %.40s...", name);
    return PV_OK;
}

/* Where the first entry is whose name does not come before this one. */
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

static entry *find(const pv_checkpoint *c, const char *name) {
    size_t at = position(c, name);
    return at < c->count && strcmp(c->entries[at].name, name) == 0 ? &c->entries[at] : NULL;
}

static void entry_clear(pv_ctx *ctx, entry *e) {
    pv__free(ctx, e->name);
    pv__free(ctx, e->data);
}

static pv_status add(pv_ctx *ctx, pv_checkpoint *c, const char *name, size_t size, entry **added) {
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 16;
        PV_TRY(pv__resize(ctx, room, sizeof *c->entries, &c->entries));
        c->room = room;
    }
    entry made = {.size = size};
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

/* An entry of this name and size, new or anew. */
static pv_status entry_for(pv_ctx *ctx, pv_checkpoint *c, const char *name, size_t size, entry **e) {
    *e = find(c, name);
    if (*e && (*e)->size != size) {
        unsigned char *data;
        PV_TRY(pv__alloc(ctx, size, 1, &data));
        pv__free(ctx, (*e)->data);
        (*e)->data = data;
        (*e)->size = size;
    }
    return *e ? PV_OK : add(ctx, c, name, size, e);
}

static pv_status put(pv_ctx *ctx, pv_checkpoint *c, const char *name, const pv_field *field, size_t n) {
    entry *e;
    PV_TRY(entry_for(ctx, c, name, total_size(field, n), &e));
    unsigned char *at = e->data;
    for (size_t i = 0; i < n; i++) {
        if (field[i].size)
            memcpy(at, field[i].data, field[i].size);
        at += field[i].size;
    }
    return PV_OK;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static pv_status damaged(pv_ctx *ctx, const pv_checkpoint *c, const char *what) {
    return pv__fail_at(ctx, PV_ERR_FORMAT, c->path, 0, 0,
                       "is not a usable checkpoint: %s; remove it and begin anew, without --resume", what);
}

static pv_status in_use(pv_ctx *ctx, const pv_checkpoint *c) {
    return pv__fail_at(ctx, PV_ERR_USAGE, c->path, 0, 0,
                       "is in use by another process; wait for it, or give this one another --checkpoint");
}

/* False where another process has it. A system without locks costs only that. */
static bool lock(int descriptor) {
    return descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static void hold(pv_checkpoint *c, int descriptor) {
    if (c->held >= 0)
        close(c->held);
    c->held = descriptor;
}

static pv_status write_file(pv_ctx *ctx, pv_checkpoint *c) {
    size_t bytes = 0;
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    XXH3_64bits_reset(state);
    for (size_t i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        uint64_t sizes[2] = {strlen(e->name), e->size};
        XXH3_64bits_update(state, sizes, sizeof sizes);
        XXH3_64bits_update(state, e->name, sizes[0]);
        XXH3_64bits_update(state, e->data, sizes[1]);
        bytes += sizeof sizes + sizes[0] + sizes[1];
    }
    unsigned long long sum = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    pv_output output;
    PV_TRY(pv_output_open(ctx, c->path, &output));
    pv__print(output.stream, MAGIC PV_SIZES_FORMAT, c->count, bytes, sum);
    for (size_t i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        uint64_t sizes[2] = {strlen(e->name), e->size};
        fwrite(sizes, 1, sizeof sizes, output.stream);
        fwrite(e->name, 1, sizes[0], output.stream);
        fwrite(e->data, 1, sizes[1], output.stream);
    }
    c->written = pv__seconds();
    if (c->held < 0 && access(c->path, F_OK) == 0) { /* another process has begun meanwhile */
        pv_output_discard(ctx, &output);
        return in_use(ctx, c);
    }
    int next = fcntl(fileno(output.stream), F_DUPFD_CLOEXEC, 0); /* locked before it has the name */
    bool locked = lock(next);
    pv_status status = pv_output_commit(ctx, &output);
    if (status == PV_OK && locked)
        hold(c, next);
    else if (next >= 0)
        close(next);
    return status;
}

/* Names and data of the bytes read, in their order; every length is checked against what is left. */
static pv_status take_entries(pv_ctx *ctx, pv_checkpoint *c, size_t entries, const unsigned char *at, size_t left) {
    for (size_t i = 0; i < entries; i++) {
        uint64_t sizes[2];
        if (left < sizeof sizes)
            return damaged(ctx, c, "an entry is cut short");
        memcpy(sizes, at, sizeof sizes);
        at += sizeof sizes;
        left -= sizeof sizes;
        char name[NAME_BYTES] = {0};
        if (sizes[0] >= NAME_BYTES || sizes[0] > left || sizes[1] > left - sizes[0])
            return damaged(ctx, c, "the size of an entry is wrong");
        memcpy(name, at, sizes[0]);
        if (strlen(name) != sizes[0] || (i > 0 && strcmp(c->entries[i - 1].name, name) >= 0))
            return damaged(ctx, c, "the name of an entry is wrong");
        entry *e;
        PV_TRY(add(ctx, c, name, sizes[1], &e));
        if (sizes[1])
            memcpy(e->data, at + sizes[0], sizes[1]);
        at += sizes[0] + sizes[1];
        left -= sizes[0] + sizes[1];
    }
    return left == 0 ? PV_OK : damaged(ctx, c, "something is added to it");
}

static pv_status read_stream(pv_ctx *ctx, pv_checkpoint *c, FILE *stream) {
    char magic[sizeof MAGIC] = {0};
    struct stat about;
    if (fread(magic, 1, sizeof MAGIC - 1, stream) != sizeof MAGIC - 1 || memcmp(magic, MAGIC, sizeof MAGIC - 1) != 0)
        return pv__fail_at(ctx, PV_ERR_FORMAT, c->path, 0, 0,
                           "is no checkpoint: it does not begin with 'prevail-checkpoint 1'; check the name");
    size_t sizes[2];
    unsigned long long sum;
    if (!pv__sizes_read(stream, sizes, &sum))
        return damaged(ctx, c, "its second line is damaged");
    size_t entries = sizes[0], bytes = sizes[1];
    long at = ftell(stream);
    if (at < 0 || fstat(fileno(stream), &about) != 0 || !S_ISREG(about.st_mode))
        return damaged(ctx, c, "it is no plain file");
    if (about.st_size < at || bytes != (size_t)(about.st_size - at))
        return damaged(ctx, c, "it is cut short, or has something added");
    unsigned char *data;
    PV_TRY(pv__alloc(ctx, bytes, 1, &data));
    pv_status status = PV_OK;
    if (fread(data, 1, bytes, stream) != bytes)
        status = damaged(ctx, c, "it cannot be read to its end");
    else if (XXH3_64bits(data, bytes) != sum)
        status = damaged(ctx, c, "its checksum is wrong");
    else
        status = take_entries(ctx, c, entries, data, bytes);
    pv__free(ctx, data);
    return status;
}

/* What a process that was killed while it wrote has left beside the file. */
static void remove_leftovers(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strlen(base), folder_length = slash ? (size_t)(slash - path) + 1 : 0;
    char name[4096];
    if (folder_length + length + sizeof ".partial.XXXXXX" > sizeof name)
        return;
    memcpy(name, path, folder_length);
    pv__format(name + folder_length, sizeof name - folder_length, ".");
    DIR *folder = opendir(name);
    for (const struct dirent *found; folder && (found = readdir(folder));)
        if (strncmp(found->d_name, base, length) == 0 && strncmp(found->d_name + length, ".partial.", 9) == 0 &&
            strlen(found->d_name) == length + 15) {
            pv__format(name + folder_length, sizeof name - folder_length, "%s", found->d_name);
            unlink(name);
        }
    if (folder)
        closedir(folder);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Another processor goes on with the states, and rounds otherwise. */
static pv_status put_kernels(pv_ctx *ctx, pv_checkpoint *c) {
    const char *ours = pv_kernels();
    const entry *theirs = find(c, "kernels");
    if (theirs && (theirs->size != strlen(ours) || memcmp(theirs->data, ours, theirs->size) != 0))
        pv__log(
            ctx, PV_LOG_WARNING,
            "%s: written with the kernels %.*s and continued with %s; the result may differ in its last digits from "
            "that of one machine alone",
            c->path, theirs->size < 40 ? (int)theirs->size : 40, (const char *)theirs->data, ours);
    char name[40];
    pv__format(name, sizeof name, "%s", ours);
    return put(ctx, c, "kernels", &(pv_field){name, strlen(name)}, 1);
}

/* A file that is something else is not to be removed for a slip of the hand. */
static bool begins_like_one(const char *path) {
    char magic[sizeof MAGIC] = {0};
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t got = descriptor >= 0 ? read(descriptor, magic, sizeof MAGIC - 1) : 0;
    if (descriptor >= 0)
        close(descriptor);
    return got > 0 && memcmp(magic, MAGIC, (size_t)got) == 0;
}

/* ---- a checkpoint and its context -------------------------------------------------------------------------------- */

static void checkpoint_free(pv_ctx *ctx, pv_checkpoint *c) {
    for (size_t i = 0; i < c->count; i++)
        entry_clear(ctx, &c->entries[i]);
    hold(c, -1);
    pv__free(ctx, c->entries);
    pv__free(ctx, c->path);
    pv__free(ctx, c);
}

pv_status pv_checkpoint_open(pv_ctx *ctx, const char *path, double every, bool resume) {
    pv_checkpoint *c;
    PV_TRY(pv__alloc(ctx, 1, sizeof *c, &c));
    c->owner = ctx;
    c->held = -1;
    c->every = every;
    c->written = pv__seconds();
    struct stat about;
    bool exists = stat(path, &about) == 0;
    FILE *stream = NULL;
    pv_status status;
    PV_GOTO(fail, pv__strdup(ctx, path, &c->path));
    if (exists && !resume) {
        status =
            pv__fail_at(ctx, PV_ERR_USAGE, path, 0, 0,
                        begins_like_one(path) ? "exists: add --resume to continue from it, or remove it to begin anew"
                                              : "exists, and is no checkpoint; give --checkpoint another name");
        goto fail;
    }
    if (exists) {
        hold(c, open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        if (!lock(c->held)) {
            status = in_use(ctx, c);
            goto fail;
        }
        PV_GOTO(fail, pv__file_open(ctx, path, &stream));
        status = read_stream(ctx, c, stream);
        fclose(stream);
        if (status != PV_OK)
            goto fail;
        remove_leftovers(path);
        c->resumed = true;
    }
    PV_GOTO(fail, put_kernels(ctx, c));
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

pv_status pv_checkpoint_finish(pv_ctx *ctx) {
    pv_checkpoint *c = ctx->checkpoint;
    if (!c)
        return PV_OK;
    pv_status status = PV_OK;
    remove_leftovers(c->path);
    if (unlink(c->path) != 0 && errno != ENOENT)
        status = pv__fail_at(ctx, PV_ERR_WRITE, c->path, 0, 0,
                             "could not be removed: %s; remove it before the same work begins anew", strerror(errno));
    pv_checkpoint_close(ctx);
    return status;
}

pv_status pv_checkpoint_write(pv_ctx *ctx) {
    pv_status status = PV_OK;
    if (ctx->checkpoint) {
#pragma omp critical(pv_checkpoint)
        status = write_file(ctx, ctx->checkpoint);
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
        memset(ctx->scope + before, '/', room - 1); /* full: refused where it is used */
    return before;
}

void pv_checkpoint_leave(pv_ctx *ctx, size_t entered) {
    ctx->scope[entered] = '\0';
}

/* ---- keeping and recalling --------------------------------------------------------------------------------------- */

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

pv_status pv_checkpoint_keep(pv_ctx *ctx, const char *key, const pv_field *field, size_t n) {
    pv_checkpoint *c = ctx->checkpoint;
    if (!c)
        return PV_OK;
    char name[NAME_BYTES];
    PV_TRY(full_name(ctx, key, name));
    ctx->kept = pv__seconds();
    pv_status status;
#pragma omp critical(pv_checkpoint)
    {
        status = put(ctx, c, name, field, n);
        if (status == PV_OK && pv__seconds() - c->written >= c->every)
            status = write_file(ctx, c);
    }
    return status;
}

size_t pv_checkpoint_size(pv_ctx *ctx, const char *key) {
    size_t size = 0;
    char name[NAME_BYTES];
    if (!ctx->checkpoint || full_name(ctx, key, name) != PV_OK)
        return 0;
#pragma omp critical(pv_checkpoint)
    {
        const entry *e = find(ctx->checkpoint, name);
        size = e ? e->size : 0;
    }
    return size;
}

pv_status pv_checkpoint_recall(pv_ctx *ctx, const char *key, const pv_field *field, size_t n, bool *found) {
    pv_checkpoint *c = ctx->checkpoint;
    *found = false;
    if (!c)
        return PV_OK;
    char name[NAME_BYTES];
    PV_TRY(full_name(ctx, key, name));
    size_t size = total_size(field, n);
    pv_status status = PV_OK;
#pragma omp critical(pv_checkpoint)
    {
        const entry *e = find(c, name);
        if (e && e->size != size) {
            status = damaged(ctx, c, "an entry has not the size of what it is for");
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
    char name[NAME_BYTES];
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

pv_status pv__checkpoint_damaged(pv_ctx *ctx, const char *what) {
    return damaged(ctx, ctx->checkpoint, what);
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* The value of a line NAME=VALUE among such lines, and its length; NULL: there is none of that name. */
static const char *value_of(const char *facts, const char *name, size_t length, size_t *size) {
    for (const char *line = facts; *line;) {
        size_t whole = strcspn(line, "\n");
        if (whole > length && strncmp(line, name, length) == 0 && line[length] == '=') {
            *size = whole - length - 1;
            return line + length + 1;
        }
        line += whole + (line[whole] == '\n');
    }
    return NULL;
}

enum { SHOWN = 120 }; /* of a value */

static pv_status refuse(pv_ctx *ctx, const char *theirs, const char *what) {
    size_t size = 0;
    const char *command = value_of(theirs, COMMAND, strlen(COMMAND), &size);
    return pv__fail_at(ctx, PV_ERR_USAGE, ctx->checkpoint->path, 0, 0,
                       "is a checkpoint of other work: %s; repeat its options and data, or begin anew with another "
                       "--checkpoint%s%.*s",
                       what, command ? "; it was begun by: " : "", (int)(size < SHOWN ? size : SHOWN),
                       command ? command : "");
}

/* Names the first line of one that the other has not alike; swapped: one is theirs. Of options, or of all else but the
 * command, by which it is not compared: the same data may come from another file, by other options. */
static pv_status compare(pv_ctx *ctx, const char *one, const char *other, bool swapped, bool options) {
    for (const char *line = one; *line;) {
        size_t whole = strcspn(line, "\n"), name = strcspn(line, "="), size = 0;
        const char *there = value_of(other, line, name, &size), *own = line + name + 1;
        size_t own_size = whole > name ? whole - name - 1 : 0;
        bool same = there && (swapped || (size == own_size && memcmp(own, there, size) == 0));
        bool command = name == strlen(COMMAND) && strncmp(line, COMMAND, name) == 0;
        char what[3 * SHOWN + 64];
        if (!same && !command && (strncmp(line, "--", 2) == 0) == options) {
            int shown = (int)(own_size < SHOWN ? own_size : SHOWN), theirs = (int)(size < SHOWN ? size : SHOWN);
            if (swapped)
                pv__format(what, sizeof what, "%.*s was %.*s there and is not given here", (int)name, line, shown, own);
            else
                pv__format(what, sizeof what, "%.*s is %.*s here and was %.*s there", (int)name, line, shown, own,
                           there ? theirs : 9, there ? there : "not given");
            return refuse(ctx, swapped ? one : other, what);
        }
        line += whole + (line[whole] == '\n');
    }
    return PV_OK;
}

/* Options first: those that change the data too are named rather than the data. */
static pv_status compare_all(pv_ctx *ctx, const char *ours, const char *theirs) {
    for (int options = 1; options >= 0; options--) {
        PV_TRY(compare(ctx, ours, theirs, false, options));
        PV_TRY(compare(ctx, theirs, ours, true, options));
    }
    return PV_OK;
}

pv_status pv_checkpoint_facts(pv_ctx *ctx, const char *facts) {
    if (!ctx->checkpoint)
        return PV_OK;
    size_t size = pv_checkpoint_size(ctx, "facts");
    if (size == 0) {
        char *copy;
        PV_TRY(pv__strdup(ctx, facts, &copy));
        pv_field field = {copy, strlen(copy) + 1};
        pv_status status = pv_checkpoint_keep(ctx, "facts", &field, 1);
        pv__free(ctx, copy);
        return status;
    }
    char *theirs;
    bool found;
    PV_TRY(pv__alloc(ctx, size + 1, 1, &theirs));
    pv_status status = pv_checkpoint_recall(ctx, "facts", &(pv_field){theirs, size}, 1, &found);
    if (status == PV_OK)
        status = compare_all(ctx, facts, theirs);
    pv__free(ctx, theirs);
    return status;
}
