/* src/data/spread.h: the scale of a column whose standard deviation a few extreme values decide. */
#ifndef PV_SRC_DATA_SPREAD_H
#define PV_SRC_DATA_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Weight and range of the values in bins of their distance from the mean, in standard deviations: 32 bins to a power
 * of two, from 2^-12 to 2^6, on both sides. */
enum { PV__SPREAD_FINE = 32, PV__SPREAD_POWERS = 18, PV__SPREAD_SIDE = PV__SPREAD_FINE * PV__SPREAD_POWERS };
typedef struct pv__spread_bins {
    double total;
    struct {
        double weight, least, largest;
    } bin[2 * PV__SPREAD_SIDE + 1];
} pv__spread_bins;

/* Whether the standard deviation might be that of a few rows: of fewer people than a normal column needs for a value of
 * six standard deviations it always might. farthest: in standard deviations. */
static inline bool pv__spread_asked(double people, double farthest) {
    return people < 10000 || farthest > 6;
}

void pv__spread_begin(pv__spread_bins *bins);
void pv__spread_add(pv__spread_bins *bins, double z, double weight); /* z: not NaN */
/* The column's scale in standard deviations, at most 1. */
double pv__spread_scale(const pv__spread_bins *bins);

#endif
