/* Memory blocks placed in files, for contexts with a memory limit (pv_ctx_set_memory).
 *
 * Large blocks are ordinary memory while together they fit three eighths of the limit. Further ones are unnamed mapped
 * files: the system writes their pages out and reads them back, and the program uses them as memory. Their disk space
 * is reserved on creation, so that a full disk is an error here and not a signal later. A thread watches how much of
 * the process is resident and, when that comes near the limit, gives pages of the mapped files back. The pages stay in
 * the system's cache until the memory is needed elsewhere, and can be read from there without disk access.
 *
 * Results do not depend on any of this.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

typedef struct block {
    void *at;
    size_t bytes;
    int file; /* -1: ordinary memory; -2: a mapping owned by other code, only watched */
} block;

enum { MEMORY = -1, WATCHED = -2 };

struct pv__spill {
    pthread_mutex_t lock;
    size_t allowed, large, held; /* held: bytes of large blocks in ordinary memory */
    char *folder;
    block *blocks;
    size_t count, room;
    pthread_t watcher;
    pthread_cond_t wake;
    bool watching, stop;
    int about; /* /proc/self/statm; -1: not available, and pages are left to the system */
};

/* ---- giving pages back ------------------------------------------------------------------------------------------- */

/* The resident size of the process, from a file that stays open because it is read often. */
static size_t resident(const pv__spill *s) {
    char text[128];
    ssize_t n = s->about >= 0 ? pread(s->about, text, sizeof text - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    char *end = text;
    (void)strtoull(text, &end, 10); /* skips the total size; the resident size comes second */
    return (size_t)strtoull(end, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* The caller holds the lock. */
static void give_back(const pv__spill *s) {
    if (resident(s) <= s->allowed / 16 * 11)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->blocks[i].file != MEMORY)
            madvise(s->blocks[i].at, s->blocks[i].bytes, MADV_DONTNEED); /* the block is a file, so nothing is lost */
}

void pv__spill_breathe(const pv_ctx *ctx) {
    pv__spill *s = ctx->root->spill;
    if (!s || !s->watching || resident(s) <= s->allowed / 16 * 11)
        return;
    pthread_mutex_lock(&s->lock);
    give_back(s);
    pthread_mutex_unlock(&s->lock);
}

static void *watch(void *state) {
    pv__spill *s = state;
    const long pause = 2000000; /* ns; little of a gigabyte can be read in that time */
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        give_back(s);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += pause;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&s->wake, &s->lock, &until);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Starts the watching thread with the first file. If no thread can be created, pages are left to the system. */
static void start_watching(pv__spill *s) {
    if (!s->watching)
        s->watching = pthread_create(&s->watcher, NULL, watch, s) == 0;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static block *find(const pv__spill *s, const void *at) {
    for (size_t i = s->count; i-- > 0;)
        if (s->blocks[i].at == at)
            return &s->blocks[i];
    return NULL;
}

static bool add(pv__spill *s, void *at, size_t bytes, int file) {
    if (s->count == s->room) {
        size_t room = 2 * s->room + 64;
        block *grown = reallocarray(s->blocks, room, sizeof *grown);
        if (!grown)
            return false;
        s->blocks = grown;
        s->room = room;
    }
    s->blocks[s->count++] = (block){at, bytes, file};
    s->held += file == MEMORY ? bytes : 0;
    if (file != MEMORY)
        start_watching(s);
    return true;
}

/* Removes the block from the list. `unmap` frees a file later without the lock, because it may take the system long and
 * the watcher must not wait. */
static block drop(pv__spill *s, block *b) {
    block dropped = *b;
    s->held -= b->file == MEMORY ? b->bytes : 0;
    *b = s->blocks[--s->count];
    return dropped;
}

static void unmap(const block *b) {
    if (b->file < 0)
        return;
    munmap(b->at, b->bytes);
    close(b->file);
}

int pv__file_without_name(const char *folder) {
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return file;
    char path[4096];
    int length = pv__format(path, sizeof path, "%s/prevail-XXXXXX", folder);
    if (length < 0 || length >= (int)sizeof path)
        return -1;
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    return file;
}

static pv_status no_room(pv_ctx *ctx, const pv__spill *s, size_t bytes, int cause) {
    return pv__fail(ctx, PV_ERR_WRITE,
                    "`memory`: %.3g GB of rows do not fit, and cannot be written to %s: %s;\nallow more, or name a "
                    "folder with enough space in TMPDIR",
                    1e-9 * (double)bytes, s->folder, strerror(cause));
}

static pv_status map_file(pv_ctx *ctx, pv__spill *s, size_t bytes, void **made) {
    int file = pv__file_without_name(s->folder), cause = errno;
    if (file >= 0)
        cause = posix_fallocate(file, 0, (off_t)bytes);
    void *at = file >= 0 && cause == 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        cause = cause ? cause : errno;
        if (file >= 0)
            close(file);
        return no_room(ctx, s, bytes, cause);
    }
    pthread_mutex_lock(&s->lock);
    bool added = add(s, at, bytes, file);
    pthread_mutex_unlock(&s->lock);
    if (!added) {
        unmap(&(block){at, bytes, file});
        return no_room(ctx, s, bytes, ENOMEM);
    }
    *made = at;
    return PV_OK;
}

/* ---- called by pv__alloc and related functions ------------------------------------------------------------------- */

size_t pv__spill_room(const pv_ctx *ctx) {
    pv__spill *s = ctx->root->spill;
    if (!s)
        return SIZE_MAX;
    pthread_mutex_lock(&s->lock);
    size_t room = s->held < s->allowed / 8 * 3 ? s->allowed / 8 * 3 - s->held : 0;
    pthread_mutex_unlock(&s->lock);
    return room;
}

/* The caller holds the lock. */
static bool fits(const pv__spill *s, size_t bytes) {
    return s->held < s->allowed / 8 * 3 && bytes <= s->allowed / 8 * 3 - s->held;
}

bool pv__spill_wanted(const pv_ctx *ctx, size_t bytes) {
    pv__spill *s = ctx->root->spill;
    if (!s || bytes < s->large)
        return false;
    pthread_mutex_lock(&s->lock);
    bool wanted = !fits(s, bytes);
    pthread_mutex_unlock(&s->lock);
    return wanted;
}

pv_status pv__spill_alloc(pv_ctx *ctx, size_t bytes, void **made) {
    pv__spill *s = ctx->root->spill;
    *made = NULL;
    if (!s || bytes < s->large)
        return PV_OK;
    pthread_mutex_lock(&s->lock);
    bool held = fits(s, bytes);
    if (held) {
        *made = calloc(bytes, 1);
        if (*made && !add(s, *made, bytes, MEMORY)) {
            free(*made);
            *made = NULL;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return held ? PV_OK : map_file(ctx, s, bytes, made);
}

/* Resizes a mapped file, or moves the content of ordinary memory to a new block. */
static pv_status regrow(pv_ctx *ctx, pv__spill *s, block *b, size_t bytes, void **held) {
    int cause = bytes > b->bytes ? posix_fallocate(b->file, 0, (off_t)bytes) : 0;
    void *at = cause == 0 ? mremap(b->at, b->bytes, bytes, MREMAP_MAYMOVE) : MAP_FAILED;
    if (at == MAP_FAILED)
        return no_room(ctx, s, bytes, cause ? cause : errno);
    if (bytes < b->bytes && ftruncate(b->file, (off_t)bytes) != 0)
        errno = 0; /* harmless: the surplus is freed with the file */
    b->at = *held = at;
    b->bytes = bytes;
    return PV_OK;
}

pv_status pv__spill_resize(pv_ctx *ctx, size_t bytes, void **held, bool *done) {
    pv__spill *s = ctx->root->spill;
    *done = false;
    if (!s)
        return PV_OK;
    pthread_mutex_lock(&s->lock);
    block *b = *held ? find(s, *held) : NULL;
    pv_status status = PV_OK;
    if (b && b->file >= 0) {
        status = regrow(ctx, s, b, bytes, held);
        *done = true;
    } else if (b || bytes >= s->large) {
        size_t old = *held ? malloc_usable_size(*held) : 0;
        void *made = NULL;
        pthread_mutex_unlock(&s->lock);
        status = pv__spill_alloc(ctx, bytes < s->large ? s->large : bytes, &made);
        if (status == PV_OK && made) {
            if (*held)
                memcpy(made, *held, old < bytes ? old : bytes);
            pv__free(ctx, *held);
            *held = made;
            *done = true;
        }
        return status;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Returns whether the block was a mapped file, which is then gone. */
bool pv__spill_free(pv_ctx *ctx, void *at) {
    pv__spill *s = ctx->root->spill;
    if (!s)
        return false;
    pthread_mutex_lock(&s->lock);
    block *b = find(s, at), dropped = {.file = MEMORY};
    if (b && b->file != WATCHED)
        dropped = drop(s, b);
    pthread_mutex_unlock(&s->lock);
    unmap(&dropped);
    return dropped.file >= 0;
}

void pv__spill_watch(pv_ctx *ctx, void *at, size_t bytes, bool on) {
    pv__spill *s = ctx->root->spill;
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    block *b = find(s, at);
    if (on && !b)
        (void)add(s, at, bytes, WATCHED);
    else if (!on && b)
        (void)drop(s, b);
    pthread_mutex_unlock(&s->lock);
}

/* ---- spilling of a context --------------------------------------------------------------------------------------- */

static const char *folder_for(const char *folder) {
    const char *named = folder ? folder : secure_getenv("TMPDIR");
    return named && *named ? named : "/var/tmp"; /* /tmp may itself be in memory */
}

pv_status pv_ctx_set_memory(pv_ctx *ctx, size_t bytes, const char *folder) {
    enum { LEAST = 1 << 20 };
    if (ctx->root != ctx || ctx->spill)
        return pv__fail(ctx, PV_ERR_USAGE, "`memory` must be set once, before any work");
    if (!pv__allocates_plainly(ctx))
        return pv__fail(ctx, PV_ERR_USAGE, "`memory` is for contexts without an allocator of their own");
    if (bytes < LEAST)
        return pv__fail(ctx, PV_ERR_USAGE, "`memory`: %zu bytes are too few;\nallow at least 1M", bytes);
    pv__spill *s = calloc(1, sizeof *s);
    char *name = strdup(folder_for(folder));
    pthread_condattr_t attributes;
    if (!s || !name) {
        free(s);
        free(name);
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    }
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&s->lock, NULL);
    s->allowed = bytes;
    s->about = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    s->large = bytes / 256 > 65536 ? bytes / 256 : 65536;
    s->folder = name;
    ctx->spill = s;
    return PV_OK;
}

void pv__spill_end(pv_ctx *ctx) {
    pv__spill *s = ctx->spill;
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (s->watching)
        pthread_join(s->watcher, NULL);
    while (s->count) {
        block dropped = drop(s, &s->blocks[s->count - 1]);
        unmap(&dropped);
    }
    if (s->about >= 0)
        close(s->about);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s->blocks);
    free(s->folder);
    free(s);
    ctx->spill = NULL;
}
