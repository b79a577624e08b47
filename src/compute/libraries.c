/* The libraries that this one was linked with, as they say of themselves when it runs. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <xxhash.h>
#include <zlib.h>

#include "base/base.h"

/* oneDNN's name without its prefix: "avx512_core". */
const char *pv_convolution_isa(void) {
    static const char prefix[] = "cpu_isa_";
    const char *name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

size_t pv_libraries(pv_library *list, size_t room) {
    const dnnl_version_t *dnn = dnnl_version();
    unsigned xxh = XXH_versionNumber();
    pv_library found[] = {{.name = "oneDNN"}, {.name = "zlib"}, {.name = "xxHash"}, {.name = "jansson"}};
    size_t count = sizeof found / sizeof *found, size = sizeof found->version;
    pv__format(found[0].version, size, "%d.%d.%d", dnn->major, dnn->minor, dnn->patch);
    pv__format(found[1].version, size, "%s", zlibVersion());
    pv__format(found[2].version, size, "%u.%u.%u", xxh / 10000, xxh / 100 % 100, xxh % 100);
    pv__format(found[3].version, size, "%s", jansson_version_str());
    memcpy(list, found, (room < count ? room : count) * sizeof *found);
    return count;
}
