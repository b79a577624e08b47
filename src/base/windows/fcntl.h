/* Files by UTF-8 names, in binary mode; copies of descriptors. */
#ifndef PV_WINDOWS_FCNTL_H
#define PV_WINDOWS_FCNTL_H

#include_next <fcntl.h>
#include <sys/types.h>

#define O_CLOEXEC _O_NOINHERIT
#define O_NONBLOCK 0
#define O_DIRECTORY 0x1000000 /* fails: folders are not opened */
#define O_TMPFILE 0x2000000   /* a file in the folder that is named, deleted when it is closed */
#define F_GETFD 1
#define F_SETFL 4
#define F_DUPFD_CLOEXEC 1030
#define POSIX_FADV_SEQUENTIAL 2
#define POSIX_FADV_WILLNEED 3
#define POSIX_FADV_DONTNEED 4

int pv__windows_open(const char *path, int flags, ...);
int pv__windows_fcntl(int descriptor, int what, ...);
int pv__windows_fallocate(int descriptor, off_t offset, off_t bytes);

#define open(...) pv__windows_open(__VA_ARGS__)
#define fcntl(...) pv__windows_fcntl(__VA_ARGS__)
#define posix_fallocate(descriptor, offset, bytes) pv__windows_fallocate(descriptor, offset, bytes)
#define posix_fadvise(descriptor, offset, bytes, advice) ((void)(descriptor), 0)

#endif
