/* Files by UTF-8 names, with an identity (device and number) and times in fractions of seconds. Files have no modes:
 * setting one does nothing. */
#ifndef PV_WINDOWS_STAT_H
#define PV_WINDOWS_STAT_H

#include_next <sys/stat.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#undef stat
#undef fstat
#define ino_t uint64_t

struct pv__windows_stat {
    dev_t st_dev;
    ino_t st_ino;
    unsigned st_mode;
    off_t st_size;
    struct timespec st_mtim, st_ctim;
};

int pv__windows_stat(const char *path, struct pv__windows_stat *about);
int pv__windows_fstat(int descriptor, struct pv__windows_stat *about);
int pv__windows_mkdir(const char *path);

#define stat pv__windows_stat
#define fstat(descriptor, about) pv__windows_fstat(descriptor, about)
#define mkdir(path, mode) pv__windows_mkdir(path)
#define fchmod(descriptor, mode) ((void)(descriptor), (void)(mode), 0)

#endif
