/* src/compute/float_kernels.h: loops over single-precision tensors, with one function table per instruction set. */
#ifndef PV_SRC_FLOAT_KERNELS_H
#define PV_SRC_FLOAT_KERNELS_H

#include <stddef.h>

typedef struct pv__float_kernels {
    /* dy = scale dy where y > 0, else 0: backward through ReLU and dropout, whose dropped elements have y = 0 */
    void (*gate)(size_t n, float scale, const float *y, float *dy);
    /* sum += x */
    void (*add)(size_t n, const float *x, float *sum);
    /* y = (float)x */
    void (*narrow)(size_t n, const double *x, float *y);
} pv__float_kernels;

const pv__float_kernels *pv__float_kernels_get(void); /* the best kernels that this processor supports */

#endif
