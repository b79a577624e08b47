/* src/assess/curves.h: declarations shared by the curves. */
#ifndef PV_SRC_CURVES_H
#define PV_SRC_CURVES_H

#include "assess/assess.h"

typedef struct pv__bounds {
    double lo, hi;
} pv__bounds;

/* Wilson's interval for a proportion of count in n rows; z: normal quantile. NaN if n = 0. */
pv__bounds pv__share_bounds(double count, double n, double z);
/* Interval of sigmoid(prior + log(a/b)), where a and b are proportions of n_a and n_b rows, from the normal interval of
 * log(a/b) (Simel et al. 1991). Half a row is added to both sides of a proportion of 0 or 1. */
pv__bounds pv__ratio_bounds(double prior, double a, double n_a, double b, double n_b, double z);

/* Rates at one threshold. */
typedef struct pv__rates {
    double tpr, fpr;
} pv__rates;
pv__rates pv__rates_at(const pv_ranking *ranking,
                       size_t point); /* NaN without rows; point == SIZE_MAX: a threshold above all rows */
double pv__ppv(double prevalence, pv__rates rates);
double pv__npv(double prevalence, pv__rates rates);
/* The last point of at least this probability, SIZE_MAX if there is none. */
size_t pv__point_at(const pv_ranking *ranking, double threshold);
size_t pv__point_at_odds(const pv_ranking *ranking, double least); /* the same for given log odds */
double pv__ranking_prevalence(const pv_ranking *ranking);
/* Picks at most `most` thresholds (0: all), spread evenly over both labels, always with the first and last. The caller
 * frees. */
PV_MUST_USE pv_status pv__pick_points(pv_ctx *ctx, const pv_ranking *ranking, size_t most, size_t **picked,
                                      size_t *count);

/* Names the columns and allocates the curve. */
PV_MUST_USE pv_status pv__curve_shape(pv_ctx *ctx, size_t points, const char *const *columns, size_t count,
                                      pv_curve *curve);
#define PV__SHAPE(ctx, points, curve, ...)                                                                             \
    pv__curve_shape(ctx, points, (const char *const[]){__VA_ARGS__},                                                   \
                    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), curve)

/* Curves that do not run over thresholds (curves_judged.c). */
PV_MUST_USE pv_status pv__curve_calibration(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                            pv_curve *curve);
PV_MUST_USE pv_status pv__curve_smooth(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                       pv_curve *curve); /* curves_smooth.c */
PV_MUST_USE pv_status pv__curve_net_benefit(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                            pv_curve *curve);
PV_MUST_USE pv_status pv__curve_predictive(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                           pv_curve *curve);

#endif
