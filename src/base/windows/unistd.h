/* What the C library of Windows leaves out of unistd.h, or does otherwise. */
#ifndef PV_WINDOWS_UNISTD_H
#define PV_WINDOWS_UNISTD_H

#include_next <unistd.h>
#include <errno.h>
#include <sys/types.h>

#define PV_FOLDER_ENDS "/\\" /* what separates folders in the name of a file */

enum { _SC_PAGESIZE, _SC_NPROCESSORS_ONLN, _PC_NAME_MAX };

int pv__windows_access(const char *path, int mode);
int pv__windows_unlink(const char *path);
int pv__windows_isatty(int descriptor); /* a console that obeys escape sequences */
int pv__windows_fsync(int descriptor);
ssize_t pv__windows_pread(int descriptor, void *to, size_t bytes, off_t offset);
long pv__windows_sysconf(int what);
int pv__windows_pause(void);

#define access(path, mode) pv__windows_access(path, mode)
#define unlink(path) pv__windows_unlink(path)
#define isatty(descriptor) pv__windows_isatty(descriptor)
#define fsync(descriptor) pv__windows_fsync(descriptor)
#define pread(descriptor, to, bytes, offset) pv__windows_pread(descriptor, to, bytes, offset)
#define sysconf(what) pv__windows_sysconf(what)
#define pathconf(folder, what) ((void)(folder), 255L)
#define readlink(path, to, size) ((void)(to), errno = EINVAL, (ssize_t)-1) /* realpath follows links */
#define getuid() 0
#define geteuid() 0
#define getgid() 0
#define getegid() 0
#define pause() pv__windows_pause()

#endif
