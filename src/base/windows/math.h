/* lgamma without a global sign; tests that give 1 and vectorise, as on other systems. */
#ifndef PV_WINDOWS_MATH_H
#define PV_WINDOWS_MATH_H

#include_next <math.h>

#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf_sign(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)

double __lgamma_r(double x, int *sign); /* MinGW-w64's, which no header declares */
#define lgamma_r(x, sign) __lgamma_r(x, sign)

#endif
