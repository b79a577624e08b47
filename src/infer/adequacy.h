/* src/infer/adequacy.h: checks on what a linear model with two estimates leaves out (adequacy.c). */
#ifndef PV_SRC_ADEQUACY_H
#define PV_SRC_ADEQUACY_H

#include "infer/side.h"

/* tail [size - 1]: the kurtosis of each column, weighted as the side weighs its rows: 3 of a normal one. Of sums
 * [_width] that _add adds blocks of the side to. */
size_t pv__tails_width(const pv__side *weighted);
void pv__tails_add(const pv__side *weighted, size_t begin, const pv__block *block, double *sums);
void pv__tails_take(const pv__side *weighted, const double *sums, double *tail);
/* Score test that strata have no intercepts of their own: test [3] becomes the chi-square, its degrees of freedom and
 * p; the second is 0 if there is no test. chance [cells]: the variance of log pi of each; tied: the prevalences of a
 * stratum sum to 1. Call after pv__sides_correct. */
PV_MUST_USE pv_status pv__test_strata(pv_ctx *ctx, pv__side *efficient, const pv__units *units, const double *chance,
                                      bool tied, double *test);

#endif
