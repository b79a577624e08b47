/* Two labels: calibration-in-the-large, calibration slope and average precision, from a ladder whose masses are
 * multiplied by `factor`.
 *
 *   calibration_ratio   sum of the positive label's probabilities over its mass (E/O)
 *   calibration_slope   b of the logistic regression of the label on the log odds l, log odds = a + b l (Cox 1958)
 *   average_precision   sum over scores, from the highest, of the fraction of positives there times the precision so
 * far
 */
#include "assess.h"

#include <math.h>

#include "core/vector.h"

/* Log odds beyond this belong to probabilities that round to 0 or 1. */
static const double FARTHEST = 36;

/* Sums over points begin, begin + every, ... below end: gradient and curvature of the likelihood at (a, b).
 */
typedef struct sums {
    double g0, g1, h00, h01, h11;
} sums;

enum { BLOCK = 512 };

static void add_points(const pv__ladder *ladder, const double *mass, const double *factor, const double *line,
                       size_t begin, size_t end, size_t every, sums *to) {
    const pv__core_kernels *kernels = pv__core_kernels_get();
    double l[BLOCK], tail[BLOCK];
    sums s = *to;
    while (begin < end) {
        size_t left = (end - begin + every - 1) / every, rows = left < BLOCK ? left : BLOCK;
        for (size_t r = 0; r < rows; r++) {
            double score = ladder->score[begin + r * every];
            score = score < FARTHEST ? score : FARTHEST;
            l[r] = score > -FARTHEST ? score : -FARTHEST;
            tail[r] = -fabs(line[0] + line[1] * l[r]);
        }
        kernels->exp_all(rows, tail);
        for (size_t r = 0; r < rows; r++) {
            const double *own = mass + 2 * (begin + r * every);
            double one = factor[1] * own[1], all = factor[0] * own[0] + one, least = tail[r] / (1 + tail[r]);
            double q = line[0] + line[1] * l[r] > 0 ? 1 - least : least, residual = one - all * q;
            double h = all * least * (1 - least);
            s.g0 += residual;
            s.g1 += residual * l[r];
            s.h00 += h;
            s.h01 += h * l[r];
            s.h11 += h * l[r] * l[r];
        }
        begin += rows * every;
    }
    *to = s;
}

/* Sums over all points, in fixed groups that are added in order. ctx NULL: on this thread alone. */
static sums sum_points(pv_ctx *ctx, const pv__ladder *ladder, const double *mass, const double *factor,
                       const double *line, size_t every) {
    enum { GROUPS = 64, MANY = 1 << 16 };
    sums group[GROUPS] = {{0}};
    size_t points = ladder->points, groups = points / every < MANY ? 1 : GROUPS;
    int team = ctx ? pv__threads_for(ctx, groups) : 1;
    PV__EACH_CHUNK_BY(team, groups, g, {
        size_t step = every * GROUPS, per = groups == 1 ? points : (points + step - 1) / step * every;
        size_t begin = g * per < points ? g * per : points, end = points - begin < per ? points : begin + per;
        add_points(ladder, mass, factor, line, begin, end, every, &group[g]);
    });
    for (size_t g = 1; g < groups; g++) {
        group[0].g0 += group[g].g0;
        group[0].g1 += group[g].g1;
        group[0].h00 += group[g].h00;
        group[0].h01 += group[g].h01;
        group[0].h11 += group[g].h11;
    }
    return group[0];
}

/* Maximises the concave likelihood of line = (a, b) by Newton's method from its present value, using every `every`-th
 * point. False if there is no maximum. */
static bool climb_line(pv_ctx *ctx, const pv__ladder *ladder, const double *mass, const double *factor, size_t every,
                       double tolerance, double *line) {
    for (int step = 0; step < 50; step++) {
        sums s = sum_points(ctx, ladder, mass, factor, line, every);
        double determinant = s.h00 * s.h11 - s.h01 * s.h01;
        if (!(determinant > 1e-12 * s.h00 * s.h11))
            return false;
        double da = (s.h11 * s.g0 - s.h01 * s.g1) / determinant, db = (s.h00 * s.g1 - s.h01 * s.g0) / determinant;
        double most = fmax(fabs(da), fabs(db)), damp = most > 2 ? 2 / most : 1;
        line[0] += damp * da;
        line[1] += damp * db;
        if (most < tolerance * (1 + fabs(line[1])))
            return true;
    }
    return false;
}

/* With many points, finds a starting value from evenly spaced ones first. */
static bool find_line(pv_ctx *ctx, const pv__ladder *ladder, const double *mass, const double *factor, double tolerance,
                      double *line) {
    enum { SOME = 1 << 14 };
    size_t every = ladder->points / SOME;
    double start[2] = {line[0], line[1]};
    if (every > 1 && climb_line(ctx, ladder, mass, factor, every, 1e-3, start)) {
        line[0] = start[0];
        line[1] = start[1];
    }
    return climb_line(ctx, ladder, mass, factor, 1, tolerance, line);
}

void pv__ladder_judge(pv_ctx *ctx, const pv__case *judged, const pv__ladder *ladder, const double *mass,
                      double tolerance, double *line, pv_metrics *metrics) {
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
    if (isnan(line[0])) { /* no starting value: begin at the overall proportion with slope 0 */
        line[0] = pv_logit(share);
        line[1] = 0;
    }
    metrics->calibration_ratio = total > 0 ? expected / total : NAN;
    metrics->average_precision = total > 0 ? sum / total : NAN;
    bool found = share > 0 && share < 1 && find_line(ctx, ladder, mass, factor, tolerance, line);
    metrics->calibration_slope = found ? line[1] : NAN;
    if (!found)
        line[0] = line[1] = NAN;
}
