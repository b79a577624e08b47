#ifndef PV_WINDOWS_MALLOC_H
#define PV_WINDOWS_MALLOC_H

#include_next <malloc.h>

#define malloc_usable_size(block) _msize(block)

#endif
