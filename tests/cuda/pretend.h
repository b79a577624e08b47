/* tests/cuda/pretend.h: declarations shared by the files of the simulated plug-in. */
#ifndef PV_TEST_PRETEND_H
#define PV_TEST_PRETEND_H

#include "compute/plugin.h"

bool pretends(const char *what); /* whether PRETEND selects it */
void pretend_tables(pv__plugin *plugin);

#endif
