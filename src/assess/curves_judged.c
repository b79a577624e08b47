/* Curves over other axes than the thresholds of the rows.
 *
 *   calibration    in bins of p: mean probability, and share of positives, rows counting by their stated mass (the
 *                  paper's beta). Given the number of rows in a bin, those of the positive label are binomial; Wilson's
 *                  interval of their share is moved to the population by the ratio of the two labels' weights.
 *   net benefit    pi tpr - (1-pi) fpr t/(1-t), per row (Vickers and Elkin 2006); its interval from the binomial
 *                  variances of the two rates
 *   predictive values  against pi, the rates at one threshold held (Mercaldo, Lau and Zhou 2007)
 */
#include "curves.h"

#include <math.h>

static const double SMALL_PREVALENCE = 0.1; /* below it, scales of probability are logarithmic */

/* ---- calibration ------------------------------------------------------------------------------------------------- */

typedef struct bin {
    double lo, hi;
    double positive, negative; /* rows */
    double promised;           /* sum of stated mass times p */
} bin;

/* bins + 1 edges, i/bins; for small prevalences in log p, from the smallest p on. */
static void set_edges(const pv_ranking *ranking, int bins, bin *made) {
    double lowest = pv_sigmoid(ranking->log_odds[ranking->points - 1]);
    bool logarithmic = pv__ranking_prevalence(ranking) < SMALL_PREVALENCE;
    double start = log(fmax(lowest, 1e-12)), step = -start / bins;
    for (int b = 0; b < bins; b++) {
        double lo = exp(start + b * step), hi = exp(start + (b + 1) * step);
        made[b].lo = !logarithmic ? (double)b / bins : b == 0 ? fmin(lowest, lo) : lo;
        made[b].hi = b + 1 == bins ? 1 : logarithmic ? hi : (b + 1.0) / bins;
    }
}

/* The number of points above p; right ends belong to a bin, and probabilities that lost a bit do not change it. */
static size_t points_above(const pv_ranking *ranking, double p) {
    size_t low = 0, high = ranking->points;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pv_sigmoid(ranking->log_odds[middle]) > p * (1 + 1e-12))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void fill_bins(const pv_ranking *ranking, int bins, bin *made) {
    double tp = 0, fp = 0, expected = 0;
    size_t before = 0;
    for (int b = bins - 1; b >= 0; b--) {
        size_t points = b > 0 ? points_above(ranking, made[b].lo) : ranking->points;
        if (points == before)
            continue;
        made[b].positive = ranking->tp[points - 1] - tp;
        made[b].negative = ranking->fp[points - 1] - fp;
        made[b].promised = ranking->expected[points - 1] - expected;
        tp = ranking->tp[points - 1];
        fp = ranking->fp[points - 1];
        expected = ranking->expected[points - 1];
        before = points;
    }
}

static double odds_moved(double p, double ratio) {
    return p <= 0 ? 0 : p >= 1 ? 1 : pv_sigmoid(pv_logit(p) + log(ratio));
}

pv_status pv__curve_calibration(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                pv_curve *curve) {
    double z = pv_normal_quantile(0.5 + 0.5 * options->level), all = ranking->stated_p + ranking->stated_n;
    double weight_p = ranking->weight_p, weight_n = ranking->weight_n;
    bin *bins;
    PV_TRY(pv__alloc(ctx, (size_t)options->bins, sizeof *bins, &bins));
    set_edges(ranking, options->bins, bins);
    fill_bins(ranking, options->bins, bins);
    size_t filled = 0;
    for (int b = 0; b < options->bins; b++)
        filled += bins[b].positive + bins[b].negative > 0;
    pv_status status = PV__SHAPE(ctx, filled, curve, "bin_lo", "bin_hi", "mean_p", "observed", "observed_lo",
                                 "observed_hi", "rows", "positives", "share");
    double *to = curve->value;
    for (int b = 0; status == PV_OK && b < options->bins; b++) {
        double rows = bins[b].positive + bins[b].negative, own = weight_p * bins[b].positive;
        double mass = own + weight_n * bins[b].negative;
        if (!(rows > 0))
            continue;
        pv__bounds counted = pv__share_bounds(bins[b].positive, rows, z);
        bool both = weight_p > 0 && weight_n > 0; /* without rows of a label there is nothing to weigh */
        double ratio = both ? weight_p / weight_n : 1;
        const double row[] = {bins[b].lo,
                              bins[b].hi,
                              bins[b].promised / mass,
                              own / mass,
                              odds_moved(counted.lo, ratio),
                              odds_moved(counted.hi, ratio),
                              rows,
                              bins[b].positive,
                              mass / all};
        for (size_t c = 0; c < sizeof row / sizeof *row; c++)
            *to++ = row[c];
    }
    pv__free(ctx, bins);
    return status;
}

/* ---- net benefit ------------------------------------------------------------------------------------------------- */

enum { GRID = 99 };

/* Where a prevalence is small and not 0: evenly in the log odds from a tenth of it on, the ends as they are. */
static double threshold_at(int i, double prevalence) {
    double low = pv_logit(prevalence / 10), high = pv_logit(0.99);
    if (!(prevalence > 0 && prevalence < SMALL_PREVALENCE))
        return (i + 1) / 100.0;
    return i == 0 ? prevalence / 10 : i == GRID - 1 ? 0.99 : pv_sigmoid(low + (high - low) * i / (GRID - 1));
}

pv_status pv__curve_net_benefit(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                                pv_curve *curve) {
    double z = pv_normal_quantile(0.5 + 0.5 * options->level), prevalence = pv__ranking_prevalence(ranking);
    PV_TRY(PV__SHAPE(ctx, GRID, curve, "threshold", "net_benefit", "net_benefit_lo", "net_benefit_hi", "treat_all",
                     "treat_none"));
    double *to = curve->value;
    for (int i = 0; i < GRID; i++) {
        double t = threshold_at(i, prevalence);
        pv__rates at = pv__rates_at(ranking, pv__point_at(ranking, t));
        double price = (1 - prevalence) * t / (1 - t), benefit = prevalence * at.tpr - price * at.fpr;
        double sd = sqrt(prevalence * prevalence * at.tpr * (1 - at.tpr) / ranking->rows_p +
                         price * price * at.fpr * (1 - at.fpr) / ranking->rows_n);
        const double row[] = {t, benefit, benefit - z * sd, benefit + z * sd, prevalence - price, 0};
        for (size_t c = 0; c < sizeof row / sizeof *row; c++)
            *to++ = row[c];
    }
    return PV_OK;
}

/* ---- predictive values ------------------------------------------------------------------------------------------- */

pv_status pv__curve_predictive(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options,
                               pv_curve *curve) {
    double z = pv_normal_quantile(0.5 + 0.5 * options->level);
    pv__rates at = pv__rates_at(ranking, pv__point_at(ranking, options->threshold));
    PV_TRY(PV__SHAPE(ctx, GRID, curve, "prevalence", "ppv", "ppv_lo", "ppv_hi", "npv", "npv_lo", "npv_hi"));
    double *to = curve->value;
    for (int i = 0; i < GRID; i++) {
        double log_odds = pv_logit(0.001) * (1 - 2.0 * i / (GRID - 1)), pi = pv_sigmoid(log_odds);
        pi = i == 0 ? 0.001 : i == GRID - 1 ? 0.999 : pi;
        pv__bounds ppv = pv__ratio_bounds(log_odds, at.tpr, ranking->rows_p, at.fpr, ranking->rows_n, z);
        pv__bounds npv = pv__ratio_bounds(-log_odds, 1 - at.fpr, ranking->rows_n, 1 - at.tpr, ranking->rows_p, z);
        const double row[] = {pi, pv__ppv(pi, at), ppv.lo, ppv.hi, pv__npv(pi, at), npv.lo, npv.hi};
        for (size_t c = 0; c < sizeof row / sizeof *row; c++)
            *to++ = row[c];
    }
    return PV_OK;
}
