/* Mapped files and pages. A list keeps the handles of mapped files, because a mapping can grow only by being made
 * again. */
#include "layer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct mapping {
    struct mapping *next;
    void *at;
    HANDLE file;
    int protection, flags;
} mapping;

static mapping *mappings;
static SRWLOCK lock = SRWLOCK_INIT;

static void *view(HANDLE file, size_t bytes, int protection, int flags, uint64_t offset) {
    bool writes = protection & PROT_WRITE, own = flags & MAP_PRIVATE;
    DWORD page = !writes ? PAGE_READONLY : own ? PAGE_WRITECOPY : PAGE_READWRITE;
    DWORD rights = !writes ? FILE_MAP_READ : own ? FILE_MAP_COPY : FILE_MAP_READ | FILE_MAP_WRITE;
    HANDLE section = CreateFileMappingW(file, NULL, page, 0, 0, NULL);
    if (!section)
        return NULL;
    void *at = MapViewOfFile(section, rights, (DWORD)(offset >> 32), (DWORD)offset, bytes);
    DWORD error = GetLastError();
    CloseHandle(section); /* the view keeps what it needs */
    SetLastError(error);
    return at;
}

static void remember(mapping *m) {
    AcquireSRWLockExclusive(&lock);
    m->next = mappings;
    mappings = m;
    ReleaseSRWLockExclusive(&lock);
}

/* The entry of a mapped file, which is then no longer in the list, or NULL. */
static mapping *forget(const void *at) {
    AcquireSRWLockExclusive(&lock);
    mapping **m = &mappings;
    while (*m && (*m)->at != at)
        m = &(*m)->next;
    mapping *found = *m;
    if (found)
        *m = found->next;
    ReleaseSRWLockExclusive(&lock);
    return found;
}

static void *map_file(HANDLE file, size_t bytes, int protection, int flags, uint64_t offset) {
    mapping *made = calloc(1, sizeof *made);
    HANDLE self = GetCurrentProcess();
    if (!made)
        return MAP_FAILED;
    made->at = view(file, bytes, protection, flags, offset);
    bool copied = made->at && DuplicateHandle(self, file, self, &made->file, 0, FALSE, DUPLICATE_SAME_ACCESS);
    if (!copied) {
        pv__windows_failed();
        if (made->at)
            UnmapViewOfFile(made->at);
        free(made);
        return MAP_FAILED;
    }
    made->protection = protection;
    made->flags = flags;
    void *at = made->at;
    remember(made);
    return at;
}

void *pv__windows_mmap(void *at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
    (void)at;
    if (flags & MAP_ANONYMOUS) {
        void *pages = VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        if (!pages)
            errno = ENOMEM;
        return pages ? pages : MAP_FAILED;
    }
    HANDLE file = pv__windows_handle(descriptor);
    return file == INVALID_HANDLE_VALUE ? MAP_FAILED : map_file(file, bytes, protection, flags, (uint64_t)offset);
}

int pv__windows_munmap(void *at, size_t bytes) {
    (void)bytes;
    mapping *m = forget(at);
    if (!m)
        return VirtualFree(at, 0, MEM_RELEASE) ? 0 : pv__windows_failed();
    UnmapViewOfFile(at);
    CloseHandle(m->file);
    free(m);
    return 0;
}

void *pv__windows_mremap(void *at, size_t bytes, size_t wanted, int flags) {
    (void)bytes, (void)flags;
    mapping *m = forget(at);
    if (!m) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    void *moved = view(m->file, wanted, m->protection, m->flags, 0);
    if (moved) {
        UnmapViewOfFile(at);
        m->at = moved;
    } else {
        pv__windows_failed();
    }
    remember(m);
    return moved ? moved : MAP_FAILED;
}
