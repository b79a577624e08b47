/* The libraries this one is linked with, with the versions they report at run time. */
#include <string.h>

#if PV_ZSTD
#include <zstd.h>
#endif

#include "compute/graph.h"

size_t pv_libraries(pv_library *list, size_t room) {
    pv_library found[5] = {{0}};
    size_t count = pv__engine_library(found);
#if PV_ZSTD
    found[count].name = "zstd";
    pv__format(found[count].version, sizeof found->version, "%s", ZSTD_versionString());
    count++;
#endif
    memcpy(list, found, (room < count ? room : count) * sizeof *found);
    return count;
}
