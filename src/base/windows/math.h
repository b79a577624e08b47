/* lgamma without a global sign. */
#ifndef PV_WINDOWS_MATH_H
#define PV_WINDOWS_MATH_H

#include_next <math.h>

double __lgamma_r(double x, int *sign); /* MinGW-w64's, which no header declares */
#define lgamma_r(x, sign) __lgamma_r(x, sign)

#endif
