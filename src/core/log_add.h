/* src/core/log_add.h: sums of two numbers of which the logarithms are known. */
#ifndef PV_SRC_LOG_ADD_H
#define PV_SRC_LOG_ADD_H

#include <math.h>

/* log(exp(a) + exp(b)) */
static inline double pv__log_add(double a, double b) {
    double top = fmax(a, b);
    return isfinite(top) ? top + log1p(exp(-fabs(a - b))) : top;
}

#endif
