/* Names of the enum values of this part. */
#include "base/names.h"
#include "prevail/plan.h"

#define PRIOR(name, word) {PV_PRIOR_##name, word},
#define INFERENCE(name, word) {PV_INFER_##name, word},
#define ESTIMATE(name, word) {PV_ESTIMATE_##name, word},
PV__NAMED(pv_prior_kind, pv_prior_kind_name, PV_PRIOR_KIND_LIST, PRIOR)
PV__NAMED(pv_inference, pv_inference_name, PV_INFERENCE_LIST, INFERENCE)
PV__NAMED(pv_estimate, pv_estimate_name, PV_ESTIMATE_LIST, ESTIMATE)
PV__FOUND(pv_estimate, pv_estimate_find, PV_ESTIMATE_LIST, ESTIMATE)
