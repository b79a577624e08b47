/* The scale by which a column is divided, and to which the prior of its slope refers:
 *
 *   scale = min(sd, 1.5 IQR / 1.349),    sd if the quartiles are equal
 *
 * IQR/1.349 is the standard deviation of a normal column with those quartiles. The factor leaves the standard deviation
 * unchanged for tails up to those of an exponential distribution. For a log-normal column (sigma = 2) the standard
 * deviation is 54 while half of the values lie within 3.6: a prior of 2.5 on the slope per standard deviation would
 * rule out any effect among that half. Columns with equal quartiles are rare indicators or counts and keep their
 * standard deviation.
 *
 * The quartiles come from bins within which values are assumed to be spread evenly: one pass, in any order of the rows.
 */
#include <math.h>

#include "data/spread.h"

static const double LEAST = 0x1p-12, NORMAL_IQR = 1.3489795003921634, SLACK = 1.5;

void pv__spread_begin(pv__spread_bins *bins) {
    bins->total = 0;
    for (size_t i = 0; i < sizeof bins->bin / sizeof *bins->bin; i++) {
        bins->bin[i].weight = 0;
        bins->bin[i].least = HUGE_VAL;
        bins->bin[i].largest = -HUGE_VAL;
    }
}

static size_t bin_of(double z) {
    double size = fabs(z);
    if (!(size >= LEAST))
        return PV__SPREAD_SIDE;
    int exponent;
    double fraction = frexp(size / LEAST, &exponent); /* in [0.5, 1), exponent at least 1 */
    size_t at = (size_t)(exponent - 1) * PV__SPREAD_FINE + (size_t)((fraction * 2 - 1) * PV__SPREAD_FINE);
    at = at < PV__SPREAD_SIDE ? at : PV__SPREAD_SIDE - 1;
    return z > 0 ? PV__SPREAD_SIDE + 1 + at : PV__SPREAD_SIDE - 1 - at;
}

void pv__spread_add(pv__spread_bins *bins, double z, double weight) {
    size_t at = bin_of(z);
    bins->total += weight;
    bins->bin[at].weight += weight;
    bins->bin[at].least = fmin(bins->bin[at].least, z);
    bins->bin[at].largest = fmax(bins->bin[at].largest, z);
}

static double quantile(const pv__spread_bins *bins, double share) {
    double before = 0, wanted = share * bins->total, largest = 0;
    for (size_t i = 0; i < sizeof bins->bin / sizeof *bins->bin; i++) {
        double weight = bins->bin[i].weight, least = bins->bin[i].least;
        if (!(weight > 0))
            continue;
        largest = bins->bin[i].largest;
        if (before + weight >= wanted)
            return least + (largest - least) * ((wanted - before) / weight);
        before += weight;
    }
    return largest;
}

double pv__spread_scale(const pv__spread_bins *bins) {
    double robust = SLACK * (quantile(bins, 0.75) - quantile(bins, 0.25)) / NORMAL_IQR;
    return robust > 0 && robust < 1 ? robust : 1;
}
