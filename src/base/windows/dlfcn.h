/* Plug-ins and engines are shared libraries of Linux. */
#include "base/wasi/dlfcn.h"
