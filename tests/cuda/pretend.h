/* tests/cuda/pretend.h: what the files of the plug-in that pretends share. */
#ifndef PV_TEST_PRETEND_H
#define PV_TEST_PRETEND_H

#include "compute/plugin.h"

bool pretends(const char *what); /* PRETEND says so */
void pretend_tables(pv__plugin *plugin);

#endif
