/* Words of the enums of this part. */
#include "base/names.h"
#include "prevail/assess.h"

#define CURVE(name, text) {PV_CURVE_##name, #name},
PV__NAMED(curve_kind, PV_CURVE_LIST, CURVE)
