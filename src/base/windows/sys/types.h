/* pthread_t, which POSIX has here too. */
#ifndef PV_WINDOWS_TYPES_H
#define PV_WINDOWS_TYPES_H

#include_next <sys/types.h>
#include <pthread.h>

#endif
