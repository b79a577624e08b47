/* Mapped files and pages. */
#ifndef PV_WINDOWS_MMAN_H
#define PV_WINDOWS_MMAN_H

#include <stddef.h>
#include <sys/types.h>

enum { PROT_READ = 1, PROT_WRITE = 2 };
enum { MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32, MREMAP_MAYMOVE = 1 };
enum { MADV_SEQUENTIAL = 2, MADV_WILLNEED = 3, MADV_DONTNEED = 4, MADV_HUGEPAGE = 14 };
#define MAP_FAILED ((void *)-1)

void *pv__windows_mmap(void *at, size_t bytes, int protection, int flags, int descriptor, off_t offset);
void *pv__windows_mremap(void *at, size_t bytes, size_t wanted, int flags); /* of files; the block moves */
int pv__windows_munmap(void *at, size_t bytes);

#define mmap(at, bytes, protection, flags, descriptor, offset)                                                         \
    pv__windows_mmap(at, bytes, protection, flags, descriptor, offset)
#define mremap(at, bytes, wanted, flags) pv__windows_mremap(at, bytes, wanted, flags)
#define munmap(at, bytes) pv__windows_munmap(at, bytes)
#define madvise(at, bytes, advice) ((void)(at), (void)(bytes), 0)

#endif
