/* Words of the enums of this part. */
#include "base/names.h"
#include "prevail/posterior.h"

#define KIND(name, word) {PV_POSTERIOR_##name, word},
PV__NAMED(posterior_kind, PV_POSTERIOR_KIND_LIST, KIND)
