/* Names of the enum values of this part. */
#include "base/names.h"
#include "prevail/assess.h"

#define CURVE(name, text) {PV_CURVE_##name, #name},
PV__FOUND(pv_curve_kind, pv_curve_kind_find, PV_CURVE_LIST, CURVE)
