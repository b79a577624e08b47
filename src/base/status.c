/* Names and texts of status codes and other enums of this part, from their X-macro lists. */
#include <string.h>

#include "base/names.h"

const char *pv__word_of(const pv__word *words, size_t count, int value) {
    for (size_t i = 0; i < count; i++)
        if (words[i].value == value)
            return words[i].word;
    return "unknown";
}

bool pv__word_find(const pv__word *words, size_t count, const char *word, int *value) {
    for (size_t i = 0; word && i < count; i++)
        if (strcmp(words[i].word, word) == 0) {
            *value = words[i].value;
            return true;
        }
    return false;
}

#define STATUS(name, word, text) {PV_##name, word},
#define STOP(name, word) {PV_STOP_##name, word},
PV__NAMED(pv_status, pv_status_name, PV_STATUS_LIST, STATUS)
PV__NAMED(pv_stop, pv_stop_name, PV_STOP_LIST, STOP)
PV__FOUND(pv_stop, pv_stop_find, PV_STOP_LIST, STOP)

const char *pv_status_text(pv_status status) {
    switch (status) {
#define CASE(name, word, text)                                                                                         \
    case PV_##name:                                                                                                    \
        return text;
        PV_STATUS_LIST(CASE)
#undef CASE
    }
    return "unknown status";
}
