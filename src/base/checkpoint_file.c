/* The file of a checkpoint (docs/formats.md).
 *
 *   prevail-checkpoint 1      (with the kind of machine, unless it is 64-bit little-endian)
 *   ENTRIES BYTES CHECKSUM      (decimal, decimal, XXH3-64 of the bytes in hexadecimal)
 *   entries: length of the name, length of the data (64 bits each, in native byte order), name, data
 *
 * As every output, it is written to a temporary file in the same folder, synced and renamed.
 *
 * The file has one owner, which holds a lock (flock) on it from before it is read or created until the end. The file
 * therefore exists, empty, before anything is stored, and an empty file counts as a new checkpoint. A replacement file
 * is locked before it is renamed. After getting the lock, a process checks that the path still names the locked file.
 * If not, the previous owner has replaced or deleted it meanwhile, and the process tries again. The lock ends with its
 * process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "checkpoint.h"

/* Entries hold data in native byte order. The first line names the kind of machine unless it is the usual one. */
#define WORD "prevail-checkpoint 1"
#if !PV_BIG_ENDIAN && SIZE_MAX == UINT64_MAX
#define MAGIC WORD "\n"
#elif SIZE_MAX == UINT64_MAX
#define MAGIC WORD " big-endian 64-bit\n"
#elif PV_BIG_ENDIAN
#define MAGIC WORD " big-endian 32-bit\n"
#else
#define MAGIC WORD " little-endian 32-bit\n"
#endif

pv_status pv__checkpoint_file_damaged(pv_ctx *ctx, const pv_checkpoint *c, const char *what) {
    return pv__fail_at(ctx, PV_ERR_FORMAT, c->path, 0, 0,
                       "is not a usable checkpoint: %s;\nremove it and start again, without `resume`", what);
}

static pv_status in_use(pv_ctx *ctx, const pv_checkpoint *c) {
    return pv__fail_at(ctx, PV_ERR_USAGE, c->path, 0, 0,
                       "is in use by another process;\nwait for it to end, or use another `checkpoint`");
}

static void hold(pv_checkpoint *c, int descriptor) {
    if (c->held >= 0)
        close(c->held);
    c->held = descriptor;
}

/* False if another process has the lock. */
static bool lock(pv_ctx *ctx, const pv_checkpoint *c, int descriptor) {
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno == EWOULDBLOCK)
        return false;
    pv__log(ctx, PV_LOG_WARNING, "%s: cannot be locked here: %s; make sure that no other process uses it", c->path,
            strerror(errno));
    return true;
}

/* Whether the path names the locked file: 1 yes, 0 it names another file, -1 there is no file. */
static int is_named(const pv_checkpoint *c) {
    struct stat named, held;
    if (stat(c->file, &named) != 0)
        return -1;
    return fstat(c->held, &held) == 0 && named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

static pv_status not_plain(pv_ctx *ctx, const pv_checkpoint *c) {
    return pv__fail_at(ctx, PV_ERR_PATH, c->path, 0, 0, "is not a regular file;\ngive `checkpoint` another name");
}

/* Opens or creates the file and locks it. */
pv_status pv__checkpoint_file_take(pv_ctx *ctx, pv_checkpoint *c) {
    enum { ATTEMPTS = 100 }; /* an attempt fails only if another owner ends meanwhile */
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct stat about;
        if (stat(c->file, &about) == 0 && !S_ISREG(about.st_mode)) /* opening a special file could have side effects */
            return not_plain(ctx, c);
        int descriptor = open(c->file, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno == EACCES) /* a file without write permission can still be replaced by rename */
            descriptor = open(c->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0)
            return pv__fail_at(ctx, PV_ERR_PATH, c->path, 0, 0,
                               "cannot be opened: %s;\nchoose another folder or check its permissions",
                               strerror(errno));
        hold(c, descriptor);
        if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode))
            return not_plain(ctx, c);
        if (!lock(ctx, c, descriptor))
            return in_use(ctx, c);
        if (is_named(c) == 1) {
            if (fstat(descriptor, &about) == 0 && about.st_size == 0) {
                PV_TRY(pv__temporary_take(ctx, c->file, &c->empty));
                pv__temporary_there(c->empty, true);
            }
            return PV_OK;
        }
    }
    return in_use(ctx, c);
}

/* The owner deletes the file if it is still empty. */
void pv__checkpoint_file_leave(pv_ctx *ctx, pv_checkpoint *c) {
    if (c->empty) {
        if (is_named(c) == 1)
            unlink(c->file);
        pv__temporary_leave(ctx, c->empty);
        c->empty = NULL;
    }
    hold(c, -1);
}

/* Replaces the locked file by the new one, which is locked before it is renamed. */
static pv_status name_file(pv_ctx *ctx, pv_checkpoint *c, pv_output *output) {
    int next = fcntl(fileno(output->stream), F_DUPFD_CLOEXEC, 0);
    if (next < 0 || is_named(c) == 0) {
        pv_status status =
            next < 0
                ? pv__fail_at(ctx, PV_ERR_WRITE, c->path, 0, 0, "could not be written completely: %s", strerror(errno))
                : in_use(ctx, c); /* the file was deleted and another process has created a new one */
        pv_output_discard(ctx, output);
        if (next >= 0)
            close(next);
        return status;
    }
    flock(next,
          LOCK_EX |
              LOCK_NB); /* cannot fail: no other process knows the file; missing lock support was reported earlier */
    if (c->empty)
        pv__temporary_there(c->empty, false);
    pv_status status = pv_output_commit(ctx, output);
    if (status != PV_OK) {
        if (c->empty)
            pv__temporary_there(c->empty, true);
        close(next);
        return status;
    }
    if (c->empty)
        pv__temporary_leave(ctx, c->empty);
    c->empty = NULL;
    c->writes++;
    hold(c, next);
    return PV_OK;
}

pv_status pv__checkpoint_file_write(pv_ctx *ctx, pv_checkpoint *c) {
    size_t bytes = 0;
    if (c->copy)
        return PV_OK;
    pv__hasher state;
    pv__hasher_begin(&state);
    for (size_t i = 0; i < c->count; i++) {
        const pv__entry *e = &c->entries[i];
        uint64_t sizes[2] = {strlen(e->name), e->size};
        pv__hasher_add(&state, sizes, sizeof sizes);
        pv__hasher_add(&state, e->name, sizes[0]);
        pv__hasher_add(&state, e->data, sizes[1]);
        bytes += sizeof sizes + sizes[0] + sizes[1];
    }
    unsigned long long sum = pv__hasher_end(&state);
    pv_output output;
    c->written = pv__seconds();
    PV_TRY(pv_output_open(ctx, c->file, &output));
    pv__print(output.stream, MAGIC PV_SIZES_FORMAT, c->count, bytes, sum);
    for (size_t i = 0; i < c->count; i++) {
        const pv__entry *e = &c->entries[i];
        uint64_t sizes[2] = {strlen(e->name), e->size};
        fwrite(sizes, 1, sizeof sizes, output.stream);
        fwrite(e->name, 1, sizes[0], output.stream);
        fwrite(e->data, 1, sizes[1], output.stream);
    }
    c->written = pv__seconds();
    return name_file(ctx, c, &output);
}

/* Parses names and data of the entries in their order. Every length is checked against the bytes left. */
static pv_status take_entries(pv_ctx *ctx, pv_checkpoint *c, size_t entries, const unsigned char *at, size_t left) {
    for (size_t i = 0; i < entries; i++) {
        uint64_t sizes[2];
        if (left < sizeof sizes)
            return pv__checkpoint_file_damaged(ctx, c, "an entry is cut short");
        memcpy(sizes, at, sizeof sizes);
        at += sizeof sizes;
        left -= sizeof sizes;
        char name[PV_NAME_BYTES] = {0};
        if (sizes[0] >= PV_NAME_BYTES || sizes[0] > left || sizes[1] > left - sizes[0])
            return pv__checkpoint_file_damaged(ctx, c, "the size of an entry is wrong");
        memcpy(name, at, sizes[0]);
        if (strlen(name) != sizes[0] || (i > 0 && strcmp(c->entries[i - 1].name, name) >= 0))
            return pv__checkpoint_file_damaged(ctx, c, "the name of an entry is wrong");
        pv__entry *e;
        PV_TRY(pv__checkpoint_add(ctx, c, name, sizes[1], &e));
        if (sizes[1])
            memcpy(e->data, at + sizes[0], sizes[1]);
        at += sizes[0] + sizes[1];
        left -= sizes[0] + sizes[1];
    }
    return left == 0 ? PV_OK : pv__checkpoint_file_damaged(ctx, c, "it has extra data at the end");
}

static pv_status read_stream(pv_ctx *ctx, pv_checkpoint *c, FILE *stream) {
    char magic[sizeof MAGIC] = {0};
    struct stat about;
    size_t got = fread(magic, 1, sizeof MAGIC - 1, stream), word = sizeof WORD - 1;
    if (got > word && memcmp(magic, WORD, word) == 0 && (magic[word] == ' ' || magic[word] == '\n') &&
        memcmp(magic, MAGIC, got) != 0)
        return pv__fail_at(ctx, PV_ERR_USAGE, c->path, 0, 0,
                           "was written on another kind of machine (byte order or word size):\ncontinue it there, or "
                           "start again here, without `resume`");
    if (got != sizeof MAGIC - 1 || memcmp(magic, MAGIC, sizeof MAGIC - 1) != 0)
        return pv__fail_at(ctx, PV_ERR_FORMAT, c->path, 0, 0,
                           "is not a checkpoint: it does not begin with 'prevail-checkpoint 1';\ncheck the name");
    size_t sizes[2];
    unsigned long long sum;
    if (!pv__sizes_read(stream, sizes, &sum))
        return pv__checkpoint_file_damaged(ctx, c, "its second line is damaged");
    size_t entries = sizes[0], bytes = sizes[1];
    long at = ftell(stream);
    if (at < 0 || fstat(fileno(stream), &about) != 0 || !S_ISREG(about.st_mode))
        return pv__checkpoint_file_damaged(ctx, c, "it is not a regular file");
    if (about.st_size < at || bytes != (size_t)(about.st_size - at))
        return pv__checkpoint_file_damaged(ctx, c, "it is truncated, or has extra data at the end");
    unsigned char *data;
    PV_TRY(pv__alloc(ctx, bytes, 1, &data));
    pv_status status = PV_OK;
    if (fread(data, 1, bytes, stream) != bytes)
        status = pv__checkpoint_file_damaged(ctx, c, "it cannot be read to its end");
    else if (pv__hash(data, bytes) != sum)
        status = pv__checkpoint_file_damaged(ctx, c, "its checksum is wrong");
    else
        status = take_entries(ctx, c, entries, data, bytes);
    pv__free(ctx, data);
    return status;
}

/* Deletes temporary files left by an owner that was killed during a write. Without memory they stay. */
void pv__checkpoint_file_clean(pv_ctx *ctx, const pv_checkpoint *c) {
    enum { RANDOM = 6 };
    char *prefix, *folder = NULL;
    if (pv__partial_prefix(ctx, c->file, &prefix) != PV_OK)
        return;
    const char *base = pv__base_name(prefix);
    size_t length = strlen(base);
    DIR *opened = pv__folder_name(ctx, c->file, &folder) == PV_OK ? opendir(folder) : NULL;
    for (const struct dirent *found; opened && (found = readdir(opened));)
        if (strncmp(found->d_name, base, length) == 0 && strlen(found->d_name) == length + RANDOM)
            unlinkat(dirfd(opened), found->d_name, 0);
    if (opened)
        closedir(opened);
    pv__free(ctx, folder);
    pv__free(ctx, prefix);
}

pv_status pv__checkpoint_file_read(pv_ctx *ctx, pv_checkpoint *c) {
    int descriptor = fcntl(c->held, F_DUPFD_CLOEXEC, 0);
    FILE *stream = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
    if (!stream) {
        pv_status status = pv__fail_at(ctx, errno == ENOMEM ? PV_ERR_MEMORY : PV_ERR_PATH, c->path, 0, 0,
                                       "cannot be read: %s", strerror(errno));
        if (descriptor >= 0)
            close(descriptor);
        return status;
    }
    pv_status status = read_stream(ctx, c, stream);
    fclose(stream);
    return status;
}

/* Only a file that is a checkpoint may be deleted, so that a mistyped path does no harm. */
bool pv__checkpoint_file_is_one(const pv_checkpoint *c) {
    char magic[sizeof MAGIC] = {0};
    ssize_t got = pread(c->held, magic, sizeof MAGIC - 1, 0);
    return got > 0 && memcmp(magic, MAGIC, (size_t)got) == 0;
}

pv_status pv__checkpoint_file_remove(pv_ctx *ctx, pv_checkpoint *c) {
    if (c->copy)
        return PV_OK;
    pv__checkpoint_file_clean(ctx, c);
    if (c->empty || is_named(c) != 1 || unlink(c->file) == 0 || errno == ENOENT)
        return PV_OK;
    return pv__fail_at(ctx, PV_ERR_WRITE, c->path, 0, 0,
                       "could not be removed: %s;\nremove it before you start the same work again", strerror(errno));
}
