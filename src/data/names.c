/* Words of the enums of this part. */
#include "base/names.h"
#include "prevail/data.h"

#define COLUMN(name, word) {PV_COLUMN_##name, word},
#define ARRAY(name, word) {PV_ARRAY_##name, word},
#define LAYOUT(name, word) {PV_IMAGES_##name, word},
#define WEIGHTS(name, word) {PV_WEIGHTS_##name, word},
#define TERM(name, word) {PV_TERM_##name, word},
PV__NAMED(term_kind, PV_TERM_KIND_LIST, TERM)
PV__NAMED(weights_kind, PV_WEIGHTS_KIND_LIST, WEIGHTS)
PV__NAMED(column_type, PV_COLUMN_TYPE_LIST, COLUMN)
PV__NAMED(array_type, PV_ARRAY_TYPE_LIST, ARRAY)
PV__NAMED(image_layout, PV_IMAGE_LAYOUT_LIST, LAYOUT)
