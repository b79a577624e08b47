/* Plug-ins and engines are shared libraries of Linux. */
#include "../wasi/dlfcn.h"
