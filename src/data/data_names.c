/* Words of the enums of this part. */
#include "base/names.h"
#include "prevail/data.h"

#define COLUMN(name, word) {PV_COLUMN_##name, word},
#define ARRAY(name, word) {PV_ARRAY_##name, word},
#define LAYOUT(name, word) {PV_IMAGES_##name, word},
#define WEIGHTS(name, word) {PV_WEIGHTS_##name, word},
#define TERM(name, word) {PV_TERM_##name, word},
#define MISSING(name, word) {PV_MISSING_##name, word},
#define UNSEEN(name, word) {PV_UNSEEN_##name, word},
#define COLLINEAR(name, word) {PV_COLLINEAR_##name, word},
#define CONSTANT(name, word) {PV_CONSTANT_##name, word},
PV__NAMED(missing, PV_MISSING_LIST, MISSING)
PV__NAMED(unseen, PV_UNSEEN_LIST, UNSEEN)
PV__NAMED(collinear, PV_COLLINEAR_LIST, COLLINEAR)
PV__NAMED(constant, PV_CONSTANT_LIST, CONSTANT)
PV__NAMED(term_kind, PV_TERM_KIND_LIST, TERM)
PV__NAMED(weights_kind, PV_WEIGHTS_KIND_LIST, WEIGHTS)
PV__NAMED(column_type, PV_COLUMN_TYPE_LIST, COLUMN)
PV__NAMED(array_type, PV_ARRAY_TYPE_LIST, ARRAY)
PV__NAMED(image_layout, PV_IMAGE_LAYOUT_LIST, LAYOUT)
