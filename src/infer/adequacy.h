/* src/infer/adequacy.h: what a linear model with two estimates leaves out (adequacy.c). */
#ifndef PV_SRC_ADEQUACY_H
#define PV_SRC_ADEQUACY_H

#include "infer/side.h"

/* tail [size - 1]: the kurtosis of each column, weighted as the side weighs its rows: 3 of a normal one. */
PV_MUST_USE pv_status pv__find_tails(pv_ctx *ctx, pv__side *weighted, double *tail);
/* The score test that strata have no intercepts of their own: test [3] becomes the chi-square, its degrees of freedom
 * and p; the second is 0 where there is no test. chance [cells]: the variance of log pi of each; tied: prevalences of a
 * stratum add up. After pv__side_correct. */
PV_MUST_USE pv_status pv__test_strata(pv_ctx *ctx, pv__side *efficient, const pv__units *units, const double *chance,
                                      bool tied, double *test);

#endif
