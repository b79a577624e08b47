/* A file of arrays on disk, to which others may write while it is read.
 *
 * Everything that affects memory safety (directories, headers, sizes, texts, votes) is read once into our own memory
 * and checked there. The file is mapped only for large arrays of plain numbers. After using the file, callers check
 * whether it is still the one that was opened.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/archive.h"

pv_status pv__source_open(pv_ctx *ctx, const char *path, pv__source *source) {
    *source = (pv__source){.path = path, .descriptor = -1};
    struct stat *about = &source->about;
    if (stat(path, about) == 0 && S_ISFIFO(about->st_mode)) /* opening a named pipe would wait for a writer */
        return pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "is not a regular file; arrays must be on a disk");
    PV_TRY(pv__file_open(ctx, path, &source->stream));
    source->descriptor = fileno(source->stream);
    pv_status status = PV_OK;
    if (fstat(source->descriptor, about) != 0 || !S_ISREG(about->st_mode))
        status = pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "is not a regular file; arrays must be on a disk");
    else if (about->st_size == 0)
        status = pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0, "is empty;\ncopy it again");
    else if ((uintmax_t)about->st_size > PTRDIFF_MAX)
        status = pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "is too large for a machine of %zu bits;\nsplit it",
                             8 * sizeof(size_t));
    if (status == PV_OK)
        source->size = (size_t)about->st_size;
    else
        pv__source_close(source);
    return status;
}

void pv__source_close(pv__source *source) {
    if (source->mapped)
        munmap(source->mapped, source->size);
    if (source->stream)
        fclose(source->stream);
    *source = (pv__source){.descriptor = -1};
}

pv_status pv__source_changed(pv_ctx *ctx, const pv__source *source) {
    return pv__fail_at(ctx, PV_ERR_INPUT, source->path, 0, 0,
                       "changed while it was in use;\nrun the command again when nothing writes to it");
}

pv_status pv__source_read(pv_ctx *ctx, const pv__source *source, uint64_t offset, size_t n, void *to) {
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(source->descriptor, (char *)to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return pv__fail_at(ctx, PV_ERR_PATH, source->path, 0, 0, "cannot be read: %s", strerror(errno));
        if (got == 0) /* the caller stays within the size that the file had, so it has become shorter */
            return pv__source_changed(ctx, source);
        done += (size_t)got;
    }
    return PV_OK;
}

pv_status pv__source_map(pv_ctx *ctx, pv__source *source) {
    if (source->mapped)
        return PV_OK;
    void *mapped = mmap(NULL, source->size, PROT_READ, MAP_SHARED, source->descriptor, 0);
    if (mapped == MAP_FAILED)
        return pv__fail_at(ctx, PV_ERR_PATH, source->path, 0, 0, "cannot be mapped: %s;\ncopy it to another disk",
                           strerror(errno));
    source->mapped = mapped;
    return PV_OK;
}

static bool same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

pv__source_state pv__source_look(const pv__source *source) {
    struct stat now;
    const struct stat *then = &source->about;
    if (fstat(source->descriptor, &now) != 0 || now.st_size != then->st_size || !same_time(now.st_mtim, then->st_mtim))
        return PV_SOURCE_WRITTEN;
    return same_time(now.st_ctim, then->st_ctim) ? PV_SOURCE_SAME : PV_SOURCE_DOUBTFUL;
}
