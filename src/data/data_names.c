/* Names of the enum values of this part. */
#include "base/names.h"
#include "prevail/data.h"

#define COLUMN(name, word) {PV_COLUMN_##name, word},
#define ARRAY(name, word) {PV_ARRAY_##name, word},
#define TERM(name, word) {PV_TERM_##name, word},
#define MISSING(name, word) {PV_MISSING_##name, word},
PV__NAMED(pv_missing, pv_missing_name, PV_MISSING_LIST, MISSING)
PV__FOUND(pv_missing, pv_missing_find, PV_MISSING_LIST, MISSING)
PV__NAMED(pv_term_kind, pv_term_kind_name, PV_TERM_KIND_LIST, TERM)
PV__FOUND(pv_term_kind, pv_term_kind_find, PV_TERM_KIND_LIST, TERM)
PV__NAMED(pv_column_type, pv_column_type_name, PV_COLUMN_TYPE_LIST, COLUMN)
PV__NAMED(pv_array_type, pv_array_type_name, PV_ARRAY_TYPE_LIST, ARRAY)
PV__FOUND(pv_array_type, pv_array_type_find, PV_ARRAY_TYPE_LIST, ARRAY)
