/* src/compute/device.h: the device that a context's networks run on, where it is not the processor. */
#ifndef PV_SRC_DEVICE_H
#define PV_SRC_DEVICE_H

#include "compute/graph.h"
#include "compute/plugin.h"

/* The plug-in that runs the context's networks; NULL: the processor does. */
const pv__plugin *pv__device_plugin(pv_ctx *ctx);
/* The same for tables, which need less of it. */
const pv__plugin *pv__device_for_tables(pv_ctx *ctx);
bool pv__device_asked(const pv_ctx *ctx); /* for, and no other will do */
/* Refuses where a device was asked for, and it has no networks. */
PV_MUST_USE pv_status pv__device_networks_check(pv_ctx *ctx);
pv_precision pv__device_precision(const pv_ctx *ctx);
/* What a plug-in's code means to the caller. */
PV_MUST_USE pv_status pv__device_checked(pv_ctx *ctx, pv__plugin_code code, const char *why);

extern const pv__engine_kind pv__engine_device; /* networks by the context's plug-in */

#endif
