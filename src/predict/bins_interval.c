/* The interval of a prevalence from binned scores (bins.c), its posterior, and the test of label shift.
 *
 * A prevalence pi_0 is in the interval if 2 (l(pi^) - l(pi_0)) is at most the `level` quantile of its distribution over
 * resampled counts of all three samples, drawn from the bin probabilities f^(pi_0) that are most likely at pi_0. That
 * is the chi-square distribution if there are many rows; the quantile is larger if reference rows are few compared to
 * target rows, and smaller at a bound. Starting from each end of the chi-square interval, the quantile is computed
 * there, then where the ratio reaches that value, and is interpolated linearly between the two. The same random numbers
 * are used for each pi_0.
 *
 * Counts of a bin are binomial given the bins before it: drawn by inversion if fewer than 30 are expected, else from a
 * rounded normal distribution.
 *
 * The test of label shift compares 2 (l_saturated - l(pi^)), where in l_saturated every sample has its own bin
 * probabilities, with its value for samples drawn from f^(pi^), until ENOUGH values were as large or TESTS were drawn.
 * p is ENOUGH over the number drawn, or (1 + number as large)/(1 + TESTS) (Besag and Clifford 1991).
 */
#include <math.h>

#include "core/core.h"
#include "predict/bins.h"

enum { REPLICATES = 400, TESTS = 399, ENOUGH = 20, HALVINGS = 40, SCAN = 240, POINTS = 160 };
static const double Z_MOST = 30, DROP = 30;

/* ---- resampled counts -------------------------------------------------------------------------------------------- */

static double binomial(pv_rng *rng, double n, double p) {
    if (!(n > 0) || !(p > 0) || p >= 1)
        return p >= 1 ? n : 0;
    if (p > 0.5)
        return n - binomial(rng, n, 1 - p);
    if (n * p >= 30)
        return fmin(fmax(floor(n * p + sqrt(n * p * (1 - p)) * pv_rng_normal(rng) + 0.5), 0), n);
    double odds = p / (1 - p), term = exp(n * log1p(-p)), left = pv_rng_uniform(rng), count = 0;
    while (left > term && count < n) {
        left -= term;
        term *= odds * (n - count) / (count + 1);
        count++;
    }
    return count;
}

double pv__multinomial(pv_rng *rng, size_t bins, double total, const double *p, double *count) {
    double rest = 1, n = floor(total + 0.5), all = n;
    for (size_t k = 0; k < bins; k++) {
        count[k] = k + 1 < bins ? binomial(rng, n, rest > p[k] ? p[k] / rest : 1) : n;
        n -= count[k];
        rest -= p[k];
    }
    return all;
}

static void draw(const pv__counts *of, const pv__bins_fit *fit, pv_rng *rng, pv__counts *to) {
    double mixed[PV__BINS_MOST], told = of->told[0] + of->told[1];
    to->bins = of->bins;
    for (int y = 0; y < 2; y++)
        to->mass[y] = pv__multinomial(rng, of->bins, of->mass[y], fit->f[y], to->known[y]);
    for (size_t k = 0; k < of->bins; k++)
        mixed[k] = fit->pi * fit->f[1][k] + (1 - fit->pi) * fit->f[0][k];
    to->targets = pv__multinomial(rng, of->bins, of->targets, mixed, to->target);
    to->told[1] = binomial(rng, floor(told + 0.5), fit->pi);
    to->told[0] = floor(told + 0.5) - to->told[1];
}

/* ---- the interval ------------------------------------------------------------------------------------------------ */

static double ratio_at(const pv__counts *c, const pv__bins_fit *mode, double pi) {
    pv__bins_fit fit;
    pv__bins_profile(c, pi, &fit);
    return fmax(0, 2 * (mode->value - fit.value));
}

/* The quantile of the ratio if the prevalence is pi. */
static pv_status quantile_at(pv_ctx *ctx, const pv__counts *c, double pi, double level, int64_t seed, double *value) {
    double ratio[REPLICATES];
    pv__bins_fit fit, mode;
    pv__counts drawn;
    pv__bins_profile(c, pi, &fit);
    for (size_t i = 0; i < REPLICATES; i++) {
        pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_TARGET_FIT, i);
        PV_TRY(pv__go_on(ctx));
        draw(c, &fit, &rng, &drawn);
        pv__bins_mode(&drawn, &mode);
        ratio[i] = ratio_at(&drawn, &mode, pi);
    }
    *value = pv_quantile(REPLICATES, ratio, level);
    return PV_OK;
}

/* A quantile of the ratio as a function of the prevalence: linear between two points and constant beyond. */
typedef struct limit {
    double from, at_from, to, at_to;
} limit;

static double limit_at(const limit *l, double pi) {
    double share = l->to != l->from ? fmin(fmax((pi - l->from) / (l->to - l->from), 0), 1) : 0;
    return l->at_from + share * (l->at_to - l->at_from);
}

/* Where the ratio reaches the limit, going from the mode towards `bound`; `bound` if it does not. */
static double reach(const pv__counts *c, const pv__bins_fit *mode, double bound, const limit *l) {
    double in = mode->pi, out = bound;
    if (ratio_at(c, mode, bound) <= limit_at(l, bound))
        return bound;
    for (int i = 0; i < HALVINGS; i++) {
        double pi = 0.5 * (in + out);
        *(ratio_at(c, mode, pi) <= limit_at(l, pi) ? &in : &out) = pi;
    }
    return in;
}

pv_status pv__bins_interval(pv_ctx *ctx, const pv__counts *c, double level, int64_t seed, double ends[2],
                            double *scale) {
    double usual = pv_normal_quantile(0.5 + 0.5 * level), sum = 0;
    pv__bins_fit mode;
    usual *= usual;
    pv__bins_mode(c, &mode);
    for (int end = 0; end < 2; end++) {
        limit l = {.at_from = usual};
        l.from = l.to = reach(c, &mode, end, &l);
        PV_TRY(quantile_at(ctx, c, l.from, level, seed, &l.at_from));
        l.to = reach(c, &mode, end, &l);
        l.at_to = l.at_from;
        if (l.to != l.from)
            PV_TRY(quantile_at(ctx, c, l.to, level, seed, &l.at_to));
        ends[end] = reach(c, &mode, end, &l);
        sum += fmax(l.at_to, 0.25 * usual);
    }
    *scale = fmin(1, 2 * usual / sum);
    return PV_OK;
}

/* ---- the posterior ----------------------------------------------------------------------------------------------- */

static double log_density(const pv__counts *c, const double *alpha, double scale, double z) {
    pv__bins_fit fit;
    pv__bins_profile(c, pv_sigmoid(z), &fit);
    double told = c->told[1] * pv_log_sigmoid(z) + c->told[0] * pv_log_sigmoid(-z); /* already included in alpha */
    return scale * (fit.value - told) + alpha[0] * pv_log_sigmoid(-z) + alpha[1] * pv_log_sigmoid(z);
}

pv_status pv__bins_posterior(pv_ctx *ctx, const pv__counts *c, const double *alpha, double scale, pv__pair *pair) {
    double z[SCAN + 1], value[SCAN + 1], most = -HUGE_VAL, low = Z_MOST, high = -Z_MOST;
    for (size_t j = 0; j <= SCAN; j++) {
        z[j] = Z_MOST * (2.0 * (double)j / SCAN - 1);
        most = fmax(most, value[j] = log_density(c, alpha, scale, z[j]));
    }
    for (size_t j = 0; j <= SCAN; j++)
        if (value[j] > most - DROP) {
            low = fmin(low, z[j > 0 ? j - 1 : 0]);
            high = fmax(high, z[j < SCAN ? j + 1 : SCAN]);
        }
    for (size_t j = 0; j < POINTS; j++) {
        z[j] = low + (high - low) * (double)j / (POINTS - 1);
        value[j] = log_density(c, alpha, scale, z[j]);
    }
    return pv__pair_fill(ctx, pair, POINTS, z, value);
}

/* ---- label shift ------------------------------------------------------------------------------------------------- */

static double own_log_likelihood(size_t bins, double total, const double *count) {
    double sum = 0;
    for (size_t k = 0; k < bins; k++)
        sum += count[k] > 0 ? count[k] * log(count[k] / total) : 0;
    return sum;
}

/* The distance from the saturated model. Leaves out rows of known label, which do not affect it. */
static double distance(const pv__counts *of, pv__bins_fit *mode) {
    pv__counts c = *of;
    c.told[0] = c.told[1] = 0;
    pv__bins_mode(&c, mode);
    double own = own_log_likelihood(c.bins, c.mass[0], c.known[0]) + own_log_likelihood(c.bins, c.mass[1], c.known[1]) +
                 own_log_likelihood(c.bins, c.targets, c.target);
    return fmax(0, 2 * (own - mode->value));
}

pv_status pv__bins_test(pv_ctx *ctx, const pv__counts *c, int64_t seed, double *statistic, double *p) {
    size_t larger = 0, made = 0;
    pv__bins_fit mode, other;
    pv__counts drawn;
    *statistic = distance(c, &mode);
    for (; made < TESTS && larger < ENOUGH; made++) {
        PV_TRY(pv__go_on(ctx));
        pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_TARGET_FIT, REPLICATES + made);
        draw(c, &mode, &rng, &drawn);
        larger += distance(&drawn, &other) < *statistic ? 0 : 1;
    }
    *p = larger == ENOUGH ? ENOUGH / (double)made : (double)(1 + larger) / (1 + TESTS);
    return PV_OK;
}
