/* Words of the enums of this part. */
#include "base/names.h"
#include "prevail/plan.h"

#define PRIOR(name, word) {PV_PRIOR_##name, word},
#define INFERENCE(name, word) {PV_INFER_##name, word},
#define START(name, word) {PV_START_##name, word},
#define MATCH(name, word) {PV_MATCH_##name, word},
#define ESTIMATE(name, word) {PV_ESTIMATE_##name, word},
#define ERRORS(name, word) {PV_ERRORS_##name, word},
PV__NAMED(prior_kind, PV_PRIOR_KIND_LIST, PRIOR)
PV__NAMED(inference, PV_INFERENCE_LIST, INFERENCE)
PV__NAMED(start, PV_START_LIST, START)
PV__NAMED(match, PV_MATCH_LIST, MATCH)
PV__NAMED(estimate, PV_ESTIMATE_LIST, ESTIMATE)
PV__NAMED(errors, PV_ERRORS_LIST, ERRORS)
