/* src/compute/device.h: the device on which a context's networks run, if it is not the processor. */
#ifndef PV_SRC_DEVICE_H
#define PV_SRC_DEVICE_H

#include "compute/graph.h"
#include "compute/plugin.h"

/* The plug-in that runs the context's networks; NULL: the processor runs them. */
const pv__plugin *pv__device_plugin(pv_ctx *ctx);
/* The plug-in that runs tables, which require less of it. */
const pv__plugin *pv__device_for_tables(pv_ctx *ctx);
bool pv__device_asked(const pv_ctx *ctx); /* the user requested a device, so the processor is not a substitute */
/* Fails if a device was requested that cannot run networks. */
PV_MUST_USE pv_status pv__device_networks_check(pv_ctx *ctx);
pv_precision pv__device_precision(const pv_ctx *ctx);
/* Converts a plug-in's return code to a status. */
PV_MUST_USE pv_status pv__device_checked(pv_ctx *ctx, pv__plugin_code code, const char *why);

extern const pv__engine_kind pv__engine_device; /* runs networks on the context's plug-in */

#endif
