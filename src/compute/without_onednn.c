/* Replaces onednn_*.c if the library is built for tables alone (PV_IMAGES=OFF): there is no engine. */
#include "compute/graph.h"

const pv__engine_kind *pv__engine_best(void) {
    return NULL;
}

const char *pv_convolution_isa(void) {
    return "none";
}

size_t pv__engine_library(pv_library *library) {
    (void)library;
    return 0;
}
