/* src/infer/combined.h: the combination of the efficient and the weighted estimate of a linear model (combined.c). */
#ifndef PV_SRC_COMBINED_H
#define PV_SRC_COMBINED_H

#include "infer/side.h"

/* The columns of a linear model that form one term: a column of the table with all its levels, a spline, a product.
 * Fills term [slopes]; returns the number of terms. */
size_t pv__terms_of(const pv_schema *schema, int32_t *term);

/* d^T C^+ d for C [n][n], whose entries count as 0 below 1e-4 scale [n], by a pivoted Cholesky factorisation; destroys
 * C and d. *rank: number of directions that count. */
double pv__quadratic(size_t n, double *C, double *d, const double *scale, int64_t *rank);

/* Number of doubles stored after `weighted`. */
size_t pv__combination_numbers(size_t params, const pv_combination *combination); /* NULL: none */
/* And after those, the results of checks: `tail` and `strata`. */
size_t pv__combination_checks(const pv_combination *combination); /* NULL: none */
pv_status pv__combination_new(pv_ctx *ctx, size_t params, size_t terms, size_t slopes, pv_combination **made);
void pv__combination_free(pv_ctx *ctx, pv_combination *combination); /* NULL is fine */

/* Whether the problem has both estimates. */
bool pv__has_combination(const pv__problem *problem);
/* Whether the fit does without: it is of one fold of many, say, whose estimate is the efficient one. */
bool pv__combination_is_idle(const pv__problem *problem);
/* Whether it takes no longer than a fit or two. */
bool pv__combination_is_cheap(const pv__problem *problem);
/* Whether the weighted estimate is to be found on the way to the efficient one: it is wanted, and minimises the loss of
 * the labelled rows with weights of the labels alone, which are factor [classes] then. */
bool pv__combination_factors(const pv__problem *problem, double *factor);
/* Both estimates from the solution, the efficient one; their combination, tests and covariances. w [params] becomes the
 * estimate that `use` says; found stays NULL where one of the two has no finite optimum. With a sample of the
 * population, and units enough, the weighted estimate has it as control variates and is the one in use. Passes over the
 * rows are added to the solution's. */
PV_MUST_USE pv_status pv__combine(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema, pv_estimate use,
                                  pv__solution *solution, double *w, pv_combination **found);
/* The same for a loss with a single estimate, w: `plain` and `iw`. Its covariance is the sandwich. */
PV_MUST_USE pv_status pv__weigh_alone(pv_ctx *ctx, const pv__problem *problem, const pv_schema *schema,
                                      pv__solution *solution, double *w, pv_combination **found);

#endif
