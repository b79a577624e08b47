/* Files: opening with clear errors, and atomic output. */
#include "base.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a named pipe and waits until there is something to read; a writer may never come. */
static bool open_pipe(const pv_ctx *ctx, const char *path, FILE **stream) {
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    if (pv__wait_readable(ctx, descriptor) && fcntl(descriptor, F_SETFL, 0) == 0)
        *stream = fdopen(descriptor, "rb");
    if (!*stream)
        close(descriptor);
    return *stream != NULL;
}

pv_status pv__file_open(pv_ctx *ctx, const char *path, FILE **stream) {
    *stream = NULL;
    struct stat about;
    if (!*path)
        return pv__fail(ctx, PV_ERR_PATH, "the file name is empty;\nname the file to read");
    if (stat(path, &about) != 0)
        return pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "cannot be read: %s;\ncheck the name", strerror(errno));
    if (S_ISDIR(about.st_mode))
        return pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "is a directory;\nname a file in it");
    PV_TRY(pv__files_reading(ctx, path));
    pv__waiting(ctx, true); /* waits for a writer of the pipe */
    bool ready = S_ISFIFO(about.st_mode) ? open_pipe(ctx, path, stream) : (*stream = fopen(path, "rb")) != NULL;
    pv__waiting(ctx, false);
    if (!ready && pv__interrupted(ctx))
        return pv__fail_at(ctx, PV_ERR_INTERRUPTED, path, 0, 0, "reading was interrupted");
    if (!*stream && errno == ENOMEM)
        return pv__fail_at(ctx, PV_ERR_MEMORY, path, 0, 0, "out of memory: it could not be opened");
    if (!*stream)
        return pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "cannot be read: %s;\ncheck its permissions", strerror(errno));
    return PV_OK;
}

bool pv__sizes_read(FILE *stream, size_t sizes[2], unsigned long long *sum) {
    char line[PV_SIZES_LINE];
    return fgets(line, sizeof line, stream) && pv__sizes_parse(line, strlen(line), sizes, sum) > 0;
}

size_t pv__sizes_parse(const char *text, size_t n, size_t sizes[2], unsigned long long *sum) {
    char line[PV_SIZES_LINE] = {0}, again[PV_SIZES_LINE], *at = line;
    const char *end = n ? memchr(text, '\n', n) : NULL;
    size_t used = end ? (size_t)(end - text) + 1 : 0;
    if (used == 0 || used >= sizeof line)
        return 0;
    memcpy(line, text, used);
    sizes[0] = strtoull(at, &at, 10);
    sizes[1] = strtoull(at, &at, 10);
    *sum = strtoull(at, &at, 16);
    pv__format(again, sizeof again, PV_SIZES_FORMAT, sizes[0], sizes[1], *sum);
    return strcmp(line, again) == 0 ? used : 0;
}

/* ---- temporary files ----------------------------------------------------------------------------------------------
 * The caller's context lists the existing temporary files, including those of its threads, so that a program that must
 * end at once can delete them. The list only grows while the context lives, and entries are reused, because a signal
 * handler may walk it at any moment.
 */
struct pv__temporary {
    pv__temporary *next;
    size_t room;
    bool taken;
    atomic_bool there; /* path names a file that may exist */
    char path[];
};

static pv_status take_temporary(pv_ctx *ctx, size_t size, pv__temporary **entry) {
    pv_ctx *root = ctx->root;
    pv_status status = PV_OK;
#pragma omp critical(pv_temporaries)
    {
        pv__temporary *found = atomic_load(&root->temporaries);
        while (found && (found->taken || found->room < size))
            found = found->next;
        if (!found && (status = pv__alloc(ctx, sizeof *found + size, 1, &found)) == PV_OK) {
            found->room = size;
            found->next = atomic_load(&root->temporaries);
            atomic_store(&root->temporaries, found);
        }
        if (found)
            found->taken = true;
        *entry = found;
    }
    return status;
}

static void leave_temporary(pv_ctx *ctx, pv_output *output) {
#pragma omp critical(pv_temporaries)
    for (pv__temporary *entry = atomic_load(&ctx->root->temporaries); entry; entry = entry->next)
        if (entry->path == output->temporary) {
            atomic_store(&entry->there, false);
            entry->taken = false;
        }
    output->temporary = NULL;
}

pv_status pv__temporary_take(pv_ctx *ctx, const char *path, pv__temporary **entry) {
    size_t size = strlen(path) + 1;
    PV_TRY(take_temporary(ctx, size, entry));
    memcpy((*entry)->path, path, size);
    return PV_OK;
}

void pv__temporary_there(pv__temporary *entry, bool there) {
    atomic_store(&entry->there, there);
}

void pv__temporary_leave(pv_ctx *ctx, pv__temporary *entry) {
    pv_output output = {.temporary = entry->path};
    leave_temporary(ctx, &output);
}

void pv_outputs_abandon(pv_ctx *ctx) {
    atomic_store(&ctx->root->abandoned, true);
    for (int wait = 0; wait < 200 && atomic_load(&ctx->root->creating) > 0; wait++)
        poll(NULL, 0, 1); /* waits for a file that is being created; useless if this very thread was interrupted while
                             creating it */
    for (pv__temporary *entry = atomic_load(&ctx->root->temporaries); entry; entry = entry->next)
        if (atomic_load(&entry->there))
            unlink(entry->path);
}

void pv__temporaries_free(pv_ctx *ctx) {
    for (pv__temporary *entry = atomic_load(&ctx->temporaries), *next; entry; entry = next) {
        next = entry->next;
        pv__free(ctx, entry);
    }
}

/* Like mkstemp, but with the mode that new files usually have. */
static int create_unique(pv__temporary *entry) {
    char *end = entry->path + strlen(entry->path) - 6;
    uint64_t state = (uint64_t)getpid() << 32 ^ (uint64_t)(1e9 * pv__seconds()) ^ (uint64_t)(uintptr_t)entry;
    for (int attempt = 0; attempt < 1000; attempt++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        for (int i = 0; i < 6; i++)
            end[i] = "abcdefghijklmnopqrstuvwxyz012345"[state >> (20 + 5 * i) & 31];
        atomic_store(&entry->there, true); /* set before creation, because a signal may arrive in between */
        int descriptor = open(entry->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0)
            return descriptor;
        atomic_store(&entry->there, false);
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

pv_status pv__partial_prefix(pv_ctx *ctx, const char *path, char **prefix) {
    enum { OWN = sizeof ".partial.XXXXXX" - 1, HASH = 9 };
    const char *base = pv__base_name(path);
    char *folder, hash[HASH + 1] = "";
    PV_TRY(pv__folder_name(ctx, path, &folder));
    size_t length = strlen(base), most = pv__name_most(folder), room = most > OWN + HASH ? most - OWN - HASH : 0;
    pv__free(ctx, folder);
    if (length + OWN > most && room > 0) {
        pv__format(hash, sizeof hash, "~%08x", (unsigned)(pv__hash(base, length) & 0xffffffffu));
        for (length = room; length > 1 && ((unsigned char)base[length] & 0xC0) == 0x80;)
            length--; /* does not cut a character in two */
    }
    size_t size = (size_t)(base - path) + length + HASH + OWN + 1;
    PV_TRY(pv__alloc(ctx, size, 1, prefix));
    pv__format(*prefix, size, "%.*s%s.partial.", (int)((size_t)(base - path) + length), path, hash);
    return PV_OK;
}

static pv_status make_temporary(pv_ctx *ctx, pv_output *output, int *descriptor) {
    pv__temporary *entry;
    char *prefix;
    PV_TRY(pv__partial_prefix(ctx, output->path, &prefix));
    size_t size = strlen(prefix) + sizeof "XXXXXX";
    pv_status status = take_temporary(ctx, size, &entry);
    if (status == PV_OK)
        pv__format(entry->path, size, "%sXXXXXX", prefix);
    pv__free(ctx, prefix);
    PV_TRY(status);
    output->temporary = entry->path;
    atomic_fetch_add(&ctx->root->creating, 1);
    bool abandoned = atomic_load(
        &ctx->root->abandoned); /* either this thread sees the flag, or the abandoning thread waits for the file */
    *descriptor = abandoned ? -1 : create_unique(entry);
    int cause = abandoned ? ECANCELED : errno;
    atomic_fetch_sub(&ctx->root->creating, 1);
    if (*descriptor < 0) {
        leave_temporary(ctx, output);
        return pv__fail_at(ctx, PV_ERR_PATH, output->path, 0, 0,
                           "cannot be written: %s;\nchoose another folder or check its permissions", strerror(cause));
    }
    output->temporary = entry->path;
    /* Users who may read and write the existing file keep that right on the new one, without set-user-ID bits. A
     * failure here affects only the mode. */
    struct stat existing;
    if (stat(output->path, &existing) == 0 && fchmod(*descriptor, existing.st_mode & 0777) != 0)
        pv__log(ctx, PV_LOG_WARNING, "%s: the mode could not be set: %s", output->path, strerror(errno));
    return PV_OK;
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

pv_status pv_output_open(pv_ctx *ctx, const char *path, pv_output *output) {
    *output = (pv_output){0};
    struct stat about;
    if (!path[0])
        return pv__fail(ctx, PV_ERR_PATH, "the file name is empty;\nname the file to write");
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "is a directory;\nname a file in it");
    bool special = stat(path, &about) == 0 && !S_ISREG(about.st_mode);
    int rank;
    (void)pv_ctx_ranks(ctx, &rank);
    if (rank > 0) { /* rank 0 alone writes the file */
        path = "/dev/null";
        special = true;
    }
    pv_status status;
    PV_TRY(pv__files_writing(ctx, path));
    PV_GOTO(fail, pv__resolve(ctx, path, &output->path)); /* replaces the file that a link points to, not the link */
    if (special) {                                        /* a pipe or a device such as /dev/null cannot be replaced */
        output->stream = fopen(path, "wb");
    } else {
        int descriptor;
        PV_GOTO(fail, make_temporary(ctx, output, &descriptor));
        output->stream = fdopen(descriptor, "wb");
        if (!output->stream) {
            int cause = errno;
            close(descriptor);
            errno = cause;
        }
    }
    if (!output->stream) {
        status = errno == ENOMEM ? pv__fail_at(ctx, PV_ERR_MEMORY, path, 0, 0, "out of memory: it could not be opened")
                                 : pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0,
                                               "cannot be written: %s;\ngive another name", strerror(errno));
        goto fail;
    }
    return PV_OK;
fail:
    pv_output_discard(ctx, output);
    return status;
}

/* A new name survives a power failure only after its folder is synced. If syncing fails, the file is still complete.
 */
static void sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    int length = slash == path ? 1 : slash ? (int)(slash - path) : 0;
    if ((size_t)length >= sizeof folder)
        return;
    pv__format(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    fsync(descriptor);
    close(descriptor);
}

pv_status pv_output_commit(pv_ctx *ctx, pv_output *output) {
    FILE *stream = output->stream;
    errno = 0;
    bool good = fflush(stream) == 0 && !ferror(stream);
    if (good && output->temporary)
        good = fsync(fileno(stream)) == 0;
    int cause = errno;
    good = (fclose(stream) == 0) && good;
    output->stream = NULL;
    if (good && output->temporary && rename(output->temporary, output->path) != 0) {
        cause = errno;
        good = false;
    }
    pv_status status = PV_OK;
    if (good && output->temporary) {
        leave_temporary(ctx, output);
        sync_folder(output->path);
        pv__files_written(ctx, output->path);
    } else if (!good) {
        status = pv__fail_at(ctx, PV_ERR_WRITE, output->path, 0, 0,
                             "could not be written completely: %s; what was there before is unchanged",
                             cause ? strerror(cause) : "the disk may be full");
    }
    pv_output_discard(ctx, output);
    return status;
}

void pv_output_discard(pv_ctx *ctx, pv_output *output) {
    if (output->stream)
        fclose(output->stream);
    if (output->temporary) {
        unlink(output->temporary);
        leave_temporary(ctx, output);
    }
    pv__free(ctx, output->path);
    *output = (pv_output){0};
}
