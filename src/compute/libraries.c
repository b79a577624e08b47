/* The libraries that this one was linked with, as they say of themselves when it runs. */
#include <string.h>

#include <jansson.h>
#include <xxhash.h>
#include <zlib.h>

#if PV_ZSTD
#include <zstd.h>
#endif

#include "compute/graph.h"

size_t pv_libraries(pv_library *list, size_t room) {
    unsigned xxh = XXH_versionNumber();
    pv_library found[5] = {{0}};
    size_t count = pv__engine_library(found), size = sizeof found->version;
    found[count].name = "zlib";
    pv__format(found[count++].version, size, "%s", zlibVersion());
#if PV_ZSTD
    found[count].name = "zstd";
    pv__format(found[count++].version, size, "%s", ZSTD_versionString());
#endif
    found[count].name = "xxHash";
    pv__format(found[count++].version, size, "%u.%u.%u", xxh / 10000, xxh / 100 % 100, xxh % 100);
    found[count].name = "jansson";
    pv__format(found[count++].version, size, "%s", jansson_version_str());
    memcpy(list, found, (room < count ? room : count) * sizeof *found);
    return count;
}
