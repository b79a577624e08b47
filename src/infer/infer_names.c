/* Words of the enums of this part. */
#include "base/names.h"
#include "prevail/infer.h"

#define FACT(name, word) {PV_CLASSIFIER_##name, word},
PV__NAMED(classifier_fact, PV_CLASSIFIER_FACT_LIST, FACT)
