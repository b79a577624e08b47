/* Linked into the command instead of pv__isa_best: TEST_ISA selects the instruction set of the kernels. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

pv__isa __wrap_pv__isa_best(void);

pv__isa __wrap_pv__isa_best(void) {
    const char *name = getenv("TEST_ISA");
    if (name && strcmp(name, "avx512") == 0)
        return PV_ISA_AVX512;
    return name && strcmp(name, "avx2") == 0 ? PV_ISA_AVX2 : PV_ISA_BASELINE;
}
