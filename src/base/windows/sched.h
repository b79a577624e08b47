/* The processors that a program may use are those that there are. */
#ifndef PV_WINDOWS_SCHED_H
#define PV_WINDOWS_SCHED_H

#include_next <sched.h>

typedef struct {
    char unused;
} cpu_set_t;

#define CPU_COUNT(set) 1
#define sched_getaffinity(process, size, set) ((void)(set), -1)

#endif
