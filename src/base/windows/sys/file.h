/* Locks of whole files that only those see who ask for one. */
#ifndef PV_WINDOWS_FILE_H
#define PV_WINDOWS_FILE_H

enum { LOCK_SH = 1, LOCK_EX = 2, LOCK_NB = 4, LOCK_UN = 8 };

int pv__windows_flock(int descriptor, int what);
#define flock(descriptor, what) pv__windows_flock(descriptor, what)

#endif
