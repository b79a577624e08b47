/* Words of the enums of this part. */
#include "base/names.h"
#include "prevail/report.h"

#define INK(name, word, light, dark) {PV_INK_##name, word},
#define MARK(name, word) {PV_MARK_##name, word},
#define NOTE(name, word) {PV_NOTE_##name, word},
PV__NAMED(ink, PV_INK_LIST, INK)
PV__NAMED(mark, PV_MARK_LIST, MARK)
PV__NAMED(note, PV_NOTE_LIST, NOTE)
