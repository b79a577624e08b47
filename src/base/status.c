/* Names and texts of the codes of this part, from the X-macro lists. */
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
#define LEVEL(name, word) {PV_LOG_##name, word},
#define OPTION(name, word) {PV_OPTION_##name, word},
PV__NAMED(status, PV_STATUS_LIST, STATUS)
PV__NAMED(stop, PV_STOP_LIST, STOP)
PV__NAMED(log_level, PV_LOG_LEVEL_LIST, LEVEL)
PV__NAMED(option_type, PV_OPTION_TYPE_LIST, OPTION)

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
