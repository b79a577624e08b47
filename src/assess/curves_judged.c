/* Curves whose horizontal axis is not the threshold.
 *
 *   calibration    in bins of equal numbers of rows, ordered by p: mean probability and proportion of positives, with
 *                  rows counting by their stated mass (the paper's beta). Given the number of rows in a bin, the
 *                  number of positive ones is binomial; Wilson's interval of their proportion is converted to the
 *                  population by the ratio of the two labels' weights.
 *   net benefit    pi tpr - (1-pi) fpr t/(1-t), per row (Vickers and Elkin 2006); its interval uses the binomial
 *                  variances of the two rates
 *   predictive values  against pi, with the rates at one threshold fixed (Mercaldo, Lau and Zhou 2007)
 */
#include "curves.h"

#include <math.h>

static const double SMALL_PREVALENCE = 0.1; /* below it, probability axes are logarithmic */

/* ---- calibration ------------------------------------------------------------------------------------------------- */

typedef struct bin {
    double lo, hi; /* range of probabilities: above lo (in the first bin from lo) up to hi, the largest in the bin */
    double least;  /* the smallest in the bin */
    double positive, negative; /* rows */
    double promised;           /* sum of stated mass times p */
} bin;

/* Fills at most `bins` bins with equal numbers of rows as far as ties allow, from the lowest probability. Returns their
 * number. */
static int fill_bins(const pv_ranking *ranking, int bins, bin *made) {
    size_t last = ranking->points - 1;
    double all = ranking->tp[last] + ranking->fp[last], enough = 0, before = 0, tp = 0, fp = 0;
    int used = 0;
    for (size_t i = ranking->points; i-- > 0;) {
        double own = i > 0 ? ranking->tp[i - 1] : 0, other = i > 0 ? ranking->fp[i - 1] : 0;
        double positive = ranking->tp[i] - own, negative = ranking->fp[i] - other, p = pv_sigmoid(ranking->log_odds[i]);
        double below = all - ranking->tp[i] - ranking->fp[i]; /* rows of lower points */
        if (!(positive + negative > 0))
            continue;
        if (used == 0 || (below >= enough * (1 - 1e-12) && used < bins)) {
            made[used] = (bin){.lo = used == 0 ? p : before, .least = p};
            enough = all * (floor(below / all * bins * (1 + 1e-12)) + 1) / bins;
            tp = ranking->tp[i];
            fp = ranking->fp[i];
            used++;
        }
        bin *b = &made[used - 1];
        b->hi = before = p;
        b->positive = tp - own; /* differences of cumulative sums keep whole numbers exact */
        b->negative = fp - other;
        b->promised += (ranking->weight_p * positive + ranking->weight_n * negative) * p;
    }
    return used;
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
    int filled = fill_bins(ranking, options->bins, bins);
    pv_status status = PV__SHAPE(ctx, (size_t)filled, curve, "bin_lo", "bin_hi", "mean_p", "observed", "observed_lo",
                                 "observed_hi", "rows", "positives", "share");
    double *to = curve->value;
    for (int b = 0; status == PV_OK && b < filled; b++) {
        double rows = bins[b].positive + bins[b].negative, own = weight_p * bins[b].positive;
        double mass = own + weight_n * bins[b].negative;
        double mean = fmin(fmax(bins[b].promised / mass, bins[b].least), bins[b].hi); /* clamps rounding errors */
        pv__bounds counted = pv__share_bounds(bins[b].positive, rows, z);
        bool both = weight_p > 0 && weight_n > 0; /* without rows of one label there are no weights */
        double ratio = both ? weight_p / weight_n : 1;
        const double row[] = {bins[b].lo,
                              bins[b].hi,
                              mean,
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

/* For a small nonzero prevalence: evenly spaced in the log odds from a tenth of it on, with the same end points. */
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
