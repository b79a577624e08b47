/* src/data/spread.h: the scale of a column whose standard deviation is dominated by a few extreme values. */
#ifndef PV_SRC_DATA_SPREAD_H
#define PV_SRC_DATA_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Bins of the distance from the mean in standard deviations, with the weight and range of their values: 32 bins per
 * power of two, from 2^-12 to 2^6, on both sides. */
enum { PV__SPREAD_FINE = 32, PV__SPREAD_POWERS = 18, PV__SPREAD_SIDE = PV__SPREAD_FINE * PV__SPREAD_POWERS };
typedef struct pv__spread_bins {
    double total;
    struct {
        double weight, least, largest;
    } bin[2 * PV__SPREAD_SIDE + 1];
} pv__spread_bins;

/* Whether the standard deviation could be dominated by a few rows. With fewer people than a normal column needs to
 * reach six standard deviations, it always could. farthest: in standard deviations. */
static inline bool pv__spread_asked(double people, double farthest) {
    return people < 10000 || farthest > 6;
}

void pv__spread_begin(pv__spread_bins *bins);
void pv__spread_add(pv__spread_bins *bins, double z, double weight); /* z must not be NaN */
/* The column's scale in standard deviations, at most 1. */
double pv__spread_scale(const pv__spread_bins *bins);

#endif
