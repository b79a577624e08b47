/* oneDNN as the engine of networks, and its version at run time. */
#include <string.h>

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include "compute/graph.h"

const pv__engine_kind *pv__engine_best(void) {
    return &pv__engine_onednn;
}

/* oneDNN's name without its prefix: "avx512_core". */
const char *pv_convolution_isa(void) {
    static const char prefix[] = "cpu_isa_";
    const char *name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

size_t pv__engine_library(pv_library *library) {
    const dnnl_version_t *dnn = dnnl_version();
    library->name = "oneDNN";
    pv__format(library->version, sizeof library->version, "%d.%d.%d", dnn->major, dnn->minor, dnn->patch);
    return 1;
}
