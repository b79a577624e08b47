/* Drops what a stream has not written yet. */
#ifndef PV_WINDOWS_STDIO_EXT_H
#define PV_WINDOWS_STDIO_EXT_H

#include <stdio.h>

void pv__windows_drop(FILE *stream);
#define __fpurge(stream) pv__windows_drop(stream)

#endif
