/* src/validate/dependence.h: partial dependence, for column importance (dependence.c). */
#ifndef PV_SRC_DEPENDENCE_H
#define PV_SRC_DEPENDENCE_H

#include "validate/validate.h"

typedef struct pv__dependence pv__dependence;
/* Prepares the computation. share [table->rows]: weights of the rows for the population. Everything except share is
 * borrowed. The caller frees *dependence. */
PV_MUST_USE pv_status pv__dependence_new(pv_ctx *ctx, const pv_classifier *classifier, const pv_roles *roles,
                                         const pv_population *population, const pv_table *table, const double *share,
                                         pv__dependence **dependence);
void pv__dependence_free(pv_ctx *ctx, pv__dependence *dependence); /* NULL is allowed */
/* Computes points, x or level, and mean for the column named in `found`. The caller clears *found. */
PV_MUST_USE pv_status pv__dependence_find(pv_ctx *ctx, const pv__dependence *dependence, pv_column_importance *found);
void pv__dependence_clear(pv_ctx *ctx, pv_column_importance *found);

#endif
