/* Two labels: calibration in the large and its slope, and average precision, from a ladder whose masses count as factor
 * times themselves.
 *
 *   calibration_ratio   sum of the positive label's probabilities over its mass (E/O)
 *   calibration_slope   b of the logistic regression of the label on the log odds l, log odds = a + b l (Cox 1958)
 *   average_precision   sum over scores, from the highest, of the share of positives there times the precision so far
 */
#include "assess.h"

#include <math.h>

/* Log odds beyond this are those of a probability that rounds to 0 or 1. */
static const double FARTHEST = 36;

/* Newton's method on the concave likelihood of line = (a, b), from what it holds; false where there is no maximum. */
static bool find_line(const pv__ladder *ladder, const double *mass, const double *factor, double tolerance,
                      double *line) {
    for (int step = 0; step < 50; step++) {
        double g0 = 0, g1 = 0, h00 = 0, h01 = 0, h11 = 0;
        for (size_t i = 0; i < ladder->points; i++) {
            double one = factor[1] * mass[2 * i + 1], all = factor[0] * mass[2 * i] + one;
            if (all == 0)
                continue;
            double l = fmax(-FARTHEST, fmin(FARTHEST, ladder->score[i])), q = pv_sigmoid(line[0] + line[1] * l);
            double r = one - all * q, h = all * q * (1 - q);
            g0 += r;
            g1 += r * l;
            h00 += h;
            h01 += h * l;
            h11 += h * l * l;
        }
        double determinant = h00 * h11 - h01 * h01;
        if (!(determinant > 1e-12 * h00 * h11))
            return false;
        double da = (h11 * g0 - h01 * g1) / determinant, db = (h00 * g1 - h01 * g0) / determinant;
        double most = fmax(fabs(da), fabs(db)), damp = most > 2 ? 2 / most : 1;
        line[0] += damp * da;
        line[1] += damp * db;
        if (most < tolerance * (1 + fabs(line[1])))
            return true;
    }
    return false;
}

void pv__ladder_judge(const pv__case *judged, const pv__ladder *ladder, const double *mass, double tolerance,
                      double *line, pv_metrics *metrics) {
    const double *factor = judged->factor;
    int positive = judged->positive;
    double expected = 0, everything = 0, total = 0, tp = 0, fp = 0, sum = 0;
    for (size_t i = 0; i < ladder->points; i++) {
        double all = factor[0] * mass[2 * i] + factor[1] * mass[2 * i + 1], p = ladder->p[i];
        everything += all;
        expected += all * (positive ? p : 1 - p);
        total += factor[positive] * mass[2 * i + (size_t)positive];
    }
    for (size_t r = 0; r < ladder->points; r++) {
        size_t i = positive ? ladder->points - 1 - r : r;
        double here = factor[positive] * mass[2 * i + (size_t)positive];
        tp += here;
        fp += factor[1 - positive] * mass[2 * i + (size_t)(1 - positive)];
        sum += here > 0 ? here * (tp / (tp + fp)) : 0;
    }
    double share = (positive ? total : everything - total) / everything;
    if (isnan(line[0])) { /* no start: the share, without a slope */
        line[0] = pv_logit(share);
        line[1] = 0;
    }
    metrics->calibration_ratio = total > 0 ? expected / total : NAN;
    metrics->average_precision = total > 0 ? sum / total : NAN;
    bool found = share > 0 && share < 1 && find_line(ladder, mass, factor, tolerance, line);
    metrics->calibration_slope = found ? line[1] : NAN;
    if (!found)
        line[0] = line[1] = NAN;
}
