/* src/base/openmp.h: OpenMP, or a substitute with one thread for compilers without it. */
#ifndef PV_SRC_BASE_OPENMP_H
#define PV_SRC_BASE_OPENMP_H

#ifdef _OPENMP
#include <omp.h>
#else
static inline int omp_get_thread_num(void) {
    return 0;
}
#endif

#endif
