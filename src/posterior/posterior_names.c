/* Names of the enum values of this part. */
#include "base/names.h"
#include "prevail/posterior.h"

#define KIND(name, word) {PV_POSTERIOR_##name, word},
PV__NAMED(pv_posterior_kind, pv_posterior_kind_name, PV_POSTERIOR_KIND_LIST, KIND)
PV__FOUND(pv_posterior_kind, pv_posterior_kind_find, PV_POSTERIOR_KIND_LIST, KIND)
