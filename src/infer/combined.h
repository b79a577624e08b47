/* src/infer/combined.h: the combination of the efficient and the weighted estimate of a linear model (combined.c). */
#ifndef PV_SRC_COMBINED_H
#define PV_SRC_COMBINED_H

#include "infer/side.h"

/* Which columns of a linear model belong to one term: a column of the table with all its levels, a spline, a product.
 * term [slopes] is filled; returns how many terms there are. */
size_t pv__terms_of(const pv_schema *schema, int32_t *term);

/* d^T C^+ d for C [n][n] whose entries count as 0 below 1e-4 scale [n], by Cholesky's method with pivots; destroys C
 * and d. rank: how many directions count. */
double pv__quadratic(size_t n, double *C, double *d, const double *scale, int64_t *rank);

/* Numbers that lie behind `weighted`. */
size_t pv__combination_numbers(size_t params, const pv_combination *combination); /* NULL: none */
/* And behind those, what was checked: `tail` and `strata`. */
size_t pv__combination_checks(const pv_combination *combination); /* NULL: none */
pv_status pv__combination_new(pv_ctx *ctx, size_t params, size_t terms, size_t slopes, pv_combination **made);
void pv__combination_free(pv_ctx *ctx, pv_combination *combination); /* NULL is fine */

/* Whether the problem has both estimates. */
bool pv__has_combination(const pv__problem *problem);
/* Whether that takes no longer than a fit or two. */
bool pv__combination_is_cheap(const pv__problem *problem);
/* Both estimates from the efficient one's w [params], their combination, tests and covariances. w becomes the estimate
 * that `use` says; found stays NULL where one of the two has no finite optimum. With a sample of the population, and
 * units enough, the weighted estimate has it as control variates and is the one in use. */
PV_MUST_USE pv_status pv__combine(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, pv_estimate use,
                                  double *w, pv_combination **found);
/* The same of a loss that has one estimate, w: `plain` and `iw`. Its covariance is the sandwich. */
PV_MUST_USE pv_status pv__weigh_alone(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, double *w,
                                      pv_combination **found);

#endif
