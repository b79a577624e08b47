/* Metrics of ranks: the area under the ROC curve and the expected calibration error. Both walk the rows in order of a
 * score, equal scores together, so that neither depends on the order of the rows.
 *
 *   auc, two classes   P(score of a positive row > score of another) + P(equal)/2, by mass
 *   auc, more          mean over pairs (a,b) of [A(a|b) + A(b|a)]/2, A(a|b) the area for a against b by p(a|x)
 *                      (Hand and Till 2001)
 *   ece                sum over bins of the bin's share times |mean probability - observed share|; rows of equal
 *                      probability fall into the bin of their middle mass, floor(10 (mass below + mass/2) / total)
 */
#include "assess.h"

#include <math.h>
#include <stdlib.h>

enum { BINS = 10 };

typedef struct scored {
    double score;
    size_t row;
} scored;

static int by_score(const void *left, const void *right) {
    const scored *a = left, *b = right;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row); /* a fixed order of summation */
}

/* The rows of equal score from start on end before the row returned. */
static size_t group_end(const scored *order, size_t n, size_t start) {
    size_t end = start + 1;
    while (end < n && order[end].score == order[start].score)
        end++;
    return end;
}

/* ---- areas ------------------------------------------------------------------------------------------------------- */

/* area[b], b != a: the mass of pairs (row of a above row of b), ties half. Scratch: below, here [classes]. */
static void areas_of(const pv_targets *targets, const scored *order, int a, double *below, double *here, double *area) {
    int classes = targets->classes;
    for (int y = 0; y < classes; y++)
        below[y] = area[y] = 0;
    for (size_t start = 0, end; start < targets->n; start = end) {
        end = group_end(order, targets->n, start);
        for (int y = 0; y < classes; y++)
            here[y] = 0;
        for (size_t i = start; i < end; i++) {
            pv__row row = pv__row_labels(targets, order[i].row);
            for (int y = row.first; y < row.last; y++)
                here[y] += pv__row_mass(targets, order[i].row, y);
        }
        for (int y = 0; y < classes; y++) {
            area[y] += here[a] * (below[y] + here[y] / 2);
            below[y] += here[y];
        }
    }
}

static double mean_area(const pv_targets *targets, const double *log_p, scored *order, double *scratch) {
    int classes = targets->classes;
    size_t width = (size_t)classes;
    double *mass = scratch, *below = mass + width, *here = below + width, *area = here + width;
    pv_label_mass(targets, mass);
    double sum = 0;
    for (int a = classes == 2 ? 1 : 0; a < classes; a++) {
        for (size_t n = 0; n < targets->n; n++) {
            const double *row = log_p + n * width;
            /* For two classes the log odds: they tell probabilities apart that round to 1. */
            order[n] = (scored){classes == 2 ? row[1] - row[0] : row[a], n};
        }
        qsort(order, targets->n, sizeof *order, by_score);
        areas_of(targets, order, a, below, here, area);
        for (int b = 0; b < classes; b++)
            if (b != a)
                sum += mass[a] > 0 && mass[b] > 0 ? area[b] / mass[a] / mass[b] : NAN;
    }
    return classes == 2 ? sum : sum / (double)(classes * (classes - 1));
}

/* ---- calibration ------------------------------------------------------------------------------------------------- */

/* The probability judged and the share of the row's mass for which it came true: the positive class for two classes,
 * the decision for more. */
static int judged_class(const pv_targets *targets, const double *row) {
    return targets->classes == 2 ? 1 : pv__decision(targets->classes, row);
}

/* For two classes order comes sorted by the log odds, from mean_area; that of the probability is the same. */
static double calibration_error(const pv_targets *targets, const double *log_p, scored *order) {
    size_t width = (size_t)targets->classes;
    double total = 0, low = 0, promised[BINS] = {0}, kept[BINS] = {0};
    for (size_t n = 0; n < targets->n; n++) {
        const double *row = log_p + n * width;
        if (targets->classes > 2)
            order[n] = (scored){row[judged_class(targets, row)], n};
        total += pv__row_weight(targets, n);
    }
    if (targets->classes > 2)
        qsort(order, targets->n, sizeof *order, by_score);
    for (size_t start = 0, end; start < targets->n; start = end) {
        end = group_end(order, targets->n, start);
        const double *first = log_p + order[start].row * width;
        double mass = 0, came_true = 0;
        for (size_t i = start; i < end; i++) {
            size_t n = order[i].row;
            int y = judged_class(targets, log_p + n * width);
            mass += pv__row_weight(targets, n);
            if (!targets->label || targets->label[n] == y)
                came_true += pv__row_mass(targets, n, y);
        }
        size_t bin = (size_t)(BINS * ((low + mass / 2) / total));
        bin = bin < BINS ? bin : BINS - 1;
        promised[bin] += mass * exp(first[judged_class(targets, first)]);
        kept[bin] += came_true;
        low += mass;
    }
    double error = 0;
    for (int b = 0; b < BINS; b++)
        error += fabs(promised[b] - kept[b]) / total;
    return error;
}

pv_status pv__assess_ranks(pv_ctx *ctx, const pv_targets *targets, const double *log_p, pv_metrics *metrics) {
    scored *order = NULL;
    double *scratch = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, targets->n, sizeof *order, &order));
    PV_GOTO(done, pv__alloc(ctx, 4 * (size_t)targets->classes, sizeof(double), &scratch));
    metrics->auc = mean_area(targets, log_p, order, scratch);
    metrics->ece = calibration_error(targets, log_p, order);
done:
    pv__free(ctx, scratch);
    pv__free(ctx, order);
    return status;
}
