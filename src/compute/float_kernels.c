/* Operations of the oneDNN engine between primitives, in single precision; compiled once per instruction set
 * (base/simd.h). They are elementwise, so all instruction sets give bit-identical results. */
#include "base/simd.h"
#include "compute/float_kernels.h"

static void gate(size_t n, float scale, const float *restrict y, float *restrict dy) {
    for (size_t i = 0; i < n; i++) /* vectorised by the compiler at -O3 */
        dy[i] = y[i] > 0 ? dy[i] * scale : 0;
}

static void add(size_t n, const float *restrict x, float *restrict sum) {
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i];
}

static void narrow(size_t n, const double *restrict x, float *restrict y) {
    for (size_t i = 0; i < n; i++)
        y[i] = (float)x[i];
}

extern const pv__float_kernels PV_KERNEL(pv__float_kernels);
const pv__float_kernels PV_KERNEL(pv__float_kernels) = {gate, add, narrow};
