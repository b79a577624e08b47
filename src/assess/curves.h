/* src/assess/curves.h: what the files of curves share. */
#ifndef PV_SRC_CURVES_H
#define PV_SRC_CURVES_H

#include "assess/assess.h"

typedef struct pv__bounds {
    double lo, hi;
} pv__bounds;

/* Wilson's interval of a share of count in n rows; z: normal quantile. NaN for n = 0. */
pv__bounds pv__share_bounds(double count, double n, double z);
/* Of sigmoid(prior + log(a/b)), a and b shares of n_a and n_b rows: the normal interval of the logarithm of their ratio
 * (Simel et al. 1991). Half a row is added to either side of a share of 0 or 1. */
pv__bounds pv__ratio_bounds(double prior, double a, double n_a, double b, double n_b, double z);

/* Rates at one threshold. */
typedef struct pv__rates {
    double tpr, fpr;
} pv__rates;
pv__rates pv__rates_at(const pv_ranking *ranking, size_t point); /* NaN without rows; point == SIZE_MAX: above all */
double pv__ppv(double prevalence, pv__rates rates);
double pv__npv(double prevalence, pv__rates rates);
/* The last point of at least this probability, SIZE_MAX where there is none. */
size_t pv__point_at(const pv_ranking *ranking, double threshold);
size_t pv__point_at_odds(const pv_ranking *ranking, double least); /* the same, by the logarithm of its odds */
double pv__ranking_prevalence(const pv_ranking *ranking);
/* Thresholds evenly spread over both labels, at most so many (0: all), the first and last always. The caller frees. */
PV_MUST_USE pv_status pv__pick_points(pv_ctx *ctx, const pv_ranking *ranking, size_t most, size_t **picked,
                                      size_t *count);

/* Names the columns and allocates. */
PV_MUST_USE pv_status pv__curve_shape(pv_ctx *ctx, size_t points, const char *const *columns, size_t count,
                                      pv_curve *curve);
#define PV__SHAPE(ctx, points, curve, ...)                                                                             \
    pv__curve_shape(ctx, points, (const char *const[]){__VA_ARGS__},                                                   \
                    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), curve)

/* Kinds that are no walk over thresholds (curves_judged.c). */
PV_MUST_USE pv_status pv__curve_calibration(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                            pv_curve *curve);
PV_MUST_USE pv_status pv__curve_smooth(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                       pv_curve *curve); /* curves_smooth.c */
PV_MUST_USE pv_status pv__curve_net_benefit(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                            pv_curve *curve);
PV_MUST_USE pv_status pv__curve_predictive(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                           pv_curve *curve);

#endif
