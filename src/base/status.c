/* Names and texts of status and stop codes, from the X-macro lists. */
#include "base.h"

const char *pv_status_name(pv_status status) {
    switch (status) {
#define CASE(name, word, text)                                                                                         \
    case PV_##name:                                                                                                    \
        return word;
        PV_STATUS_LIST(CASE)
#undef CASE
    }
    return "unknown";
}

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

const char *pv_stop_name(pv_stop stop) {
    switch (stop) {
#define CASE(name, word)                                                                                               \
    case PV_STOP_##name:                                                                                               \
        return word;
        PV_STOP_LIST(CASE)
#undef CASE
    }
    return "unknown";
}
